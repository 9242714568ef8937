//! Compares what outputs hold with the tree, without the engine: the index is searched, the journal is read as a file, and
//! who may open a file is judged here from its bits alone.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::tree::Tree;

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
    fn reads(&self, path: &Path) -> std::io::Result<bool> {
        if self.uid == 0 {
            return Ok(true);
        }
        for (at, path) in path.ancestors().enumerate() {
            let facts = std::fs::metadata(path)?;
            let bit = if at == 0 { 0o4 } else { 0o1 };
            let shift = match () {
                () if facts.uid() == self.uid => 6,
                () if self.groups.contains(&facts.gid()) => 3,
                () => 0,
            };
            if facts.mode() >> shift & bit == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The entries of the index by name, as `search --json` tells them, against the tree.
pub(super) fn index(tree: &Tree, hits: &[Value]) -> Result<(), Difference> {
    let text = |hit: &Value, field: &str| hit[field].as_str().unwrap_or_default().to_owned();
    equals(tree, hits.iter().map(|hit| (text(hit, "document"), text(hit, "snippet"))).collect())
}

fn equals(tree: &Tree, found: Vec<(String, String)>) -> Result<(), Difference> {
    let count = found.len();
    let held: BTreeMap<String, String> = found.into_iter().collect();
    if held.len() != count {
        return Err(format!("{} entries are there twice", count - held.len()));
    }
    let lost: Vec<&String> = tree.files.keys().filter(|name| !held.contains_key(*name)).collect();
    let left: Vec<&String> = held.keys().filter(|name| !tree.files.contains_key(*name)).collect();
    let old: Vec<&String> = tree
        .files
        .iter()
        .filter(|(name, text)| held.get(*name).is_some_and(|held| held != *text))
        .map(|(name, _)| name)
        .collect();
    for (what, names) in [("lost", lost), ("left over", left), ("not up to date", old)] {
        if !names.is_empty() {
            return Err(format!("{} {what}, among them {:?}", names.len(), &names[..names.len().min(3)]));
        }
    }
    Ok(())
}

/// What somebody finds, against what they may read.
pub(super) fn access(tree: &Tree, person: &Person, found: &BTreeSet<String>) -> Result<(), Difference> {
    for name in tree.files.keys() {
        let reads = person.reads(&tree.root.join(name)).map_err(|error| format!("{name}: {error}"))?;
        if reads != found.contains(name) {
            let (does, may) = if reads { ("does not find", "may") } else { ("finds", "may not") };
            return Err(format!("{} {does} {name}, which they {may} read", person.name));
        }
    }
    Ok(())
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

    /// Against the tree.
    pub(super) fn equals(&self, tree: &Tree) -> Result<(), Difference> {
        let found = self.held.iter().map(|(id, (_, text))| (name_of(tree, id), text.clone()));
        equals(tree, found.collect())
    }
}

/// Name of the document at an address; the names of this test need no escaping.
pub(super) fn name_of(tree: &Tree, id: &str) -> String {
    id.strip_prefix(&format!("file://{}/", tree.root.display())).unwrap_or(id).to_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use serde_json::json;

    use super::*;

    fn tree() -> (tempfile::TempDir, Tree) {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::make(folder.path().canonicalize().unwrap().join("tree")).unwrap();
        (folder, tree)
    }

    fn hits(tree: &Tree) -> Vec<Value> {
        tree.files.iter().map(|(name, text)| json!({"document": name, "snippet": text})).collect()
    }

    #[test]
    fn an_index_that_differs_in_one_entry_is_noticed() {
        let (_folder, tree) = tree();
        let sound = hits(&tree);
        assert_eq!(index(&tree, &sound), Ok(()));
        let told = |entries: &[Value]| index(&tree, entries).unwrap_err();
        assert!(told(&sound[1..]).contains("1 lost"));
        assert!(told(&[&sound[..], &sound[..1]].concat()).contains("twice"));
        let foreign = json!({"document": "other", "snippet": ""});
        assert!(told(&[&sound[..], &[foreign]].concat()).contains("1 left over"));
        let old = json!({"document": sound[0]["document"], "snippet": "earlier"});
        assert!(told(&[&sound[1..], &[old]].concat()).contains("1 not up to date"));
    }

    #[test]
    fn a_journal_tells_what_was_said_twice_and_what_is_torn() {
        let (folder, mut tree) = tree();
        tree.files = BTreeMap::from([("a".to_owned(), "one".to_owned())]);
        let path = folder.path().join("journal");
        let id = format!("file://{}/a", tree.root.display());
        let put =
            json!({"op": "put", "id": id, "version": "1", "fields": {"body": "one"}}).to_string() + "\n";
        let mut journal = Journal::default();
        std::fs::write(&path, &put).unwrap();
        let end = journal.read(&path, 0).unwrap();
        assert_eq!((journal.equals(&tree), journal.repeated.len()), (Ok(()), 0));
        std::fs::write(&path, put.repeat(2)).unwrap();
        journal.read(&path, end).unwrap();
        assert_eq!((journal.equals(&tree), journal.repeated.as_slice()), (Ok(()), [id.clone()].as_slice()));
        assert_eq!(name_of(&tree, &id), "a");
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
