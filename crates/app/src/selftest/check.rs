//! What outputs hold and who may read what, without the engine: the index is searched, the journal is read as a file, and who
//! may open a file is judged here from its bits alone.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::history::{Entries, Key};
use super::tree::Tree;
use crate::show;

/// A sentence that says what differs.
pub(super) type Difference = String;

/// Somebody whose view is compared.
pub(super) struct Person {
    /// As the system knows them.
    pub(super) name: String,
    uid: u32,
    groups: Vec<u32>,
}

impl Person {
    /// An account of this machine; none when there is none of that name.
    pub(super) fn named(name: &str) -> Option<Person> {
        let ask = |what: &str| -> Option<Vec<u32>> {
            let output = Command::new("id").args([what, name]).output().ok()?;
            let text = String::from_utf8(output.stdout).ok()?;
            text.split_whitespace().map(|number| number.parse().ok()).collect()
        };
        Some(Person { name: name.to_owned(), uid: *ask("-u")?.first()?, groups: ask("-G")? })
    }

    /// Whether the bits of a file and of all folders above it let them read it: the first class that they are in decides.
    pub(super) fn reads(&self, path: &Path) -> std::io::Result<bool> {
        if self.uid == 0 {
            return Ok(true);
        }
        for (at, path) in path.ancestors().enumerate() {
            let facts = std::fs::metadata(path)?;
            let bit = if at == 0 { 0o4 } else { 0o1 };
            let shift = if facts.uid() == self.uid {
                6
            } else if self.groups.contains(&facts.gid()) {
                3
            } else {
                0
            };
            if facts.mode() >> shift & bit == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The entries of the index, as `search --json` tells them.
pub(super) fn index(hits: &[Value]) -> Result<Entries, Difference> {
    let text = |hit: &Value, field: &str| hit[field].as_str().unwrap_or_default().to_owned();
    let entries: Entries = hits.iter().map(|hit| (key(hit), words(&text(hit, "snippet")))).collect();
    match hits.len() - entries.len() {
        0 => Ok(entries),
        twice => Err(format!("there twice: {}", show::counted(twice as u64, "entry"))),
    }
}

/// Which entry a hit is.
pub(super) fn key(hit: &Value) -> Key {
    let text = |field: &str| hit[field].as_str().unwrap_or_default().to_owned();
    (text("document"), text("component"))
}

/// A text as words: outputs keep lines, and show them as they like.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a journal adds up to.
#[derive(Default)]
pub(super) struct Journal {
    /// Version and text by address.
    held: BTreeMap<String, (String, String)>,
    /// Addresses of which a line said once more what was held already.
    pub(super) repeated: Vec<String>,
    /// Lines that tell of anything but the beginning and the end of a run.
    pub(super) changes: u64,
}

impl Journal {
    /// Takes in what stands in the file behind `from`; where it ends.
    pub(super) fn read(&mut self, path: &Path, from: usize) -> Result<usize, Difference> {
        let bytes = std::fs::read(path).map_err(|error| format!("the journal: {error}"))?;
        let behind = bytes.get(from..).ok_or("the journal became shorter")?;
        self.take(behind)?;
        Ok(bytes.len())
    }

    /// The same when whoever wrote was killed: a torn last line is cut off by the next one who opens the file.
    pub(super) fn read_whole_lines(&mut self, path: &Path, from: usize) -> Result<usize, Difference> {
        let bytes = std::fs::read(path).map_err(|error| format!("the journal: {error}"))?;
        let behind = bytes.get(from..).ok_or("the journal became shorter")?;
        let whole = behind.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.take(&behind[..whole])?;
        Ok(from + whole)
    }

    fn take(&mut self, lines: &[u8]) -> Result<(), Difference> {
        let text = std::str::from_utf8(lines).map_err(|error| format!("the journal: {error}"))?;
        for line in text.lines() {
            let line: Value =
                serde_json::from_str(line).map_err(|_| format!("a torn line in the journal: {line}"))?;
            let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let id = word(&line["id"]);
            match line["op"].as_str().unwrap_or_default() {
                "put" => {
                    let entry = (word(&line["version"]), word(&line["fields"]["body"]));
                    let before = self.held.insert(id.clone(), entry.clone());
                    self.repeated.extend((before.as_ref() == Some(&entry)).then_some(id));
                }
                "delete" => {
                    let before = self.held.remove(&id);
                    self.repeated.extend(before.is_none().then_some(id));
                }
                "access" | "acl" | "container" | "also" => {}
                "run" | "run_end" => continue,
                other => return Err(format!("a line of the journal that says `{other}`")),
            }
            self.changes += 1;
        }
        Ok(())
    }

    /// The entries that it adds up to.
    pub(super) fn entries(&self, tree: &Tree) -> Entries {
        let entry = |(id, (_, text)): (&String, &(String, String))| (key_of(tree, id), words(text));
        self.held.iter().map(entry).collect()
    }
}

/// Which entry is at an address; the names of this test need no escaping.
pub(super) fn key_of(tree: &Tree, id: &str) -> Key {
    let name = id.strip_prefix(&format!("file://{}/", tree.root.display())).unwrap_or(id);
    let (document, component) = name.split_once('#').unwrap_or((name, ""));
    (document.to_owned(), component.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use serde_json::json;

    use super::*;

    fn tree() -> (tempfile::TempDir, Tree) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("tree");
        let tree = Tree::make(root, &mut fastrand::Rng::with_seed(3)).unwrap();
        (folder, tree)
    }

    #[test]
    fn an_entry_that_an_index_holds_twice_is_noticed() {
        let hit = |part: &str| json!({"document": "a.zip", "component": part, "snippet": "one\ntwo"});
        let entries = index(&[hit(""), hit("m.txt")]).unwrap();
        assert_eq!(entries[&("a.zip".to_owned(), "m.txt".to_owned())], "one two");
        assert_eq!(entries.len(), 2);
        assert!(index(&[hit(""), hit("m.txt"), hit("m.txt")]).unwrap_err().contains("there twice: 1 entry"));
    }

    #[test]
    fn a_journal_tells_what_was_said_twice_and_what_is_torn() {
        let (folder, tree) = tree();
        let entries = |journal: &Journal| journal.entries(&tree).into_iter().collect::<Vec<_>>();
        let one = [(("a".to_owned(), String::new()), "one".to_owned())];
        let path = folder.path().join("journal");
        let id = format!("file://{}/a", tree.root.display());
        let put =
            json!({"op": "put", "id": id, "version": "1", "fields": {"body": "one"}}).to_string() + "\n";
        let mut journal = Journal::default();
        std::fs::write(&path, &put).unwrap();
        let end = journal.read(&path, 0).unwrap();
        assert_eq!((entries(&journal).as_slice(), journal.repeated.len()), (one.as_slice(), 0));
        std::fs::write(&path, put.repeat(2)).unwrap();
        journal.read(&path, end).unwrap();
        assert_eq!((entries(&journal).as_slice(), &journal.repeated), (one.as_slice(), &vec![id.clone()]));
        assert_eq!(key_of(&tree, &format!("{id}#m/n.txt")), ("a".to_owned(), "m/n.txt".to_owned()));
        std::fs::write(&path, &put[..20]).unwrap();
        assert!(Journal::default().read(&path, 0).unwrap_err().contains("torn"));
        assert_eq!(Journal::default().read_whole_lines(&path, 0), Ok(0));
        assert!(journal.read(&path, put.len()).unwrap_err().contains("shorter"));
    }

    #[test]
    fn bits_of_a_file_and_of_the_folders_above_it_decide() {
        let (_folder, tree) = tree();
        let file = tree.root.join(tree.files.keys().next().unwrap());
        let facts = std::fs::metadata(&file).unwrap();
        let set =
            |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        let reads = |uid, groups: &[u32]| {
            let person = Person { name: String::new(), uid, groups: groups.to_vec() };
            // The folder of the test itself is closed to others; what is above the tree is not asked here.
            std::fs::set_permissions(tree.root.parent().unwrap(), PermissionsExt::from_mode(0o755)).unwrap();
            person.reads(&file).unwrap()
        };
        let (owner, group, other) = (facts.uid(), facts.gid(), 54_321);
        set(&file, 0o604);
        assert!(reads(other, &[]) && !reads(other, &[group]));
        set(&file, 0o640);
        assert!(!reads(other, &[]) && reads(other, &[group]));
        assert!(reads(owner, &[]) && reads(0, &[]));
        set(&file, 0o644);
        set(file.parent().unwrap(), 0o700);
        assert!(!reads(other, &[]) && !reads(other, &[group]));
    }
}
