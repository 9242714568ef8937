//! What outputs may hold of the tree after a run: what a reader finds in it now; and of what could not be read, what they
//! held before, for those who might see it then.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Result as Told;
use std::os::unix::fs::MetadataExt;

use super::check::{Difference, Person};
use super::containers::Found;
use super::tree::Tree;

/// A document, and the name of what is in it; empty for itself.
pub(super) type Key = (String, String);
/// Texts of entries.
pub(super) type Entries = BTreeMap<Key, String>;

/// The tree as a run meets it.
pub(super) struct Met {
    found: BTreeMap<String, Found>,
    /// What decides about access, of each document and of the folders above it.
    facts: BTreeMap<String, Vec<[u64; 4]>>,
    /// The documents that each person may read.
    reads: Vec<BTreeSet<String>>,
}

impl Met {
    pub(super) fn of(tree: &Tree, people: &[Person]) -> Told<Met> {
        let mut met = Met {
            found: tree.files.iter().map(|(name, content)| (name.clone(), content.found())).collect(),
            facts: BTreeMap::new(),
            reads: vec![BTreeSet::new(); people.len()],
        };
        for name in tree.files.keys() {
            let path = tree.root.join(name);
            let above = path.ancestors().enumerate().map(|(at, path)| {
                let facts = std::fs::metadata(path)?;
                // A folder that was made anew is another one.
                let folder = if at == 0 { 0 } else { facts.ino() };
                Ok([u64::from(facts.mode()), u64::from(facts.uid()), u64::from(facts.gid()), folder])
            });
            met.facts.insert(name.clone(), above.collect::<Told<_>>()?);
            for (person, reads) in people.iter().zip(&mut met.reads) {
                if person.reads(&path)? {
                    reads.insert(name.clone());
                }
            }
        }
        Ok(met)
    }

    fn text(&self, key: &Key) -> Option<&String> {
        self.found.get(&key.0)?.made.get(&key.1)
    }

    fn is_unread(&self, key: &Key) -> bool {
        self.found.get(&key.0).is_some_and(|found| found.is_unread(&key.1))
    }
}

/// What was seen when a run had ended by itself, and every difference had been ruled out.
#[derive(Default)]
pub(super) struct Settled {
    met: Option<Met>,
    pub(super) index: Entries,
    pub(super) journal: Entries,
    /// What each person found.
    seen: Vec<BTreeSet<Key>>,
}

/// What came since: what a run that was killed may have sent, and what the tree is now.
pub(super) struct Since<'m> {
    pub(super) settled: &'m Settled,
    pub(super) killed: Option<&'m Met>,
    pub(super) now: &'m Met,
}

impl Since<'_> {
    /// Compares what an output holds; `before`: what it held when all was settled.
    pub(super) fn entries(&self, before: &Entries, held: &Entries) -> Result<(), Difference> {
        let (mut lost, mut left, mut old) = (Vec::new(), Vec::new(), Vec::new());
        for (name, found) in &self.now.found {
            for (part, text) in &found.made {
                let key = (name.clone(), part.clone());
                match held.get(&key) {
                    None => lost.push(key),
                    Some(held) if held != text => old.push(key),
                    Some(_) => {}
                }
            }
        }
        for (key, text) in held.iter().filter(|(key, _)| self.now.text(key).is_none()) {
            let sent = self.killed.and_then(|met| met.text(key));
            if !self.now.is_unread(key) {
                left.push(key.clone());
            } else if before.get(key) != Some(text) && sent != Some(text) {
                old.push(key.clone());
            }
        }
        let kept = before.iter().filter(|(key, _)| self.now.is_unread(key) && !held.contains_key(*key));
        lost.extend(kept.filter(|(key, text)| !self.may_be_gone(key, text)).map(|(key, _)| key.clone()));
        for (what, keys) in [("lost", lost), ("left over", left), ("not up to date", old)] {
            if !keys.is_empty() {
                return Err(format!("{} {what}, among them {:?}", keys.len(), &keys[..keys.len().min(3)]));
            }
        }
        Ok(())
    }

    /// Whether a run that was killed may have begun to change an entry that cannot be read now: nobody can say what an output
    /// holds of it then, so it is taken out.
    fn may_be_gone(&self, key: &Key, text: &String) -> bool {
        self.killed.is_some_and(|met| match met.text(key) {
            Some(sent) => sent != text,
            None => !met.is_unread(key),
        })
    }

    /// Whether a folder changed above something that cannot be read: what outputs hold of it was never meant for whom the
    /// folder opens to, so it opens only with the run behind, which hides that.
    pub(super) fn opens_late(&self) -> bool {
        let changed = |name: &String| {
            let now = self.now.facts.get(name).map(|facts| &facts[1..]);
            let mut runs = self.settled.met.iter().chain(self.killed).filter_map(|met| met.facts.get(name));
            runs.any(|facts| Some(&facts[1..]) != now)
        };
        self.now.found.iter().any(|(name, found)| found.is_partial() && changed(name))
    }

    /// Compares what a person finds. `settled`: what opened is open by now, so that nothing may be missing.
    pub(super) fn seen(
        &self,
        person: usize,
        name: &str,
        found: &BTreeSet<Key>,
        index: &Entries,
        settled: bool,
    ) -> Result<(), Difference> {
        for key in index.keys() {
            let reads = self.now.reads[person].contains(&key.0);
            let (least, most) = match self.now.text(key) {
                Some(_) => (reads, reads),
                None => self.kept(person, key, index.get(key), reads),
            };
            let finds = found.contains(key);
            if finds && !most {
                return Err(format!("{name} finds {key:?}, which they may not read"));
            }
            if !finds && least && settled {
                return Err(format!("{name} does not find {key:?}, which they may read"));
            }
        }
        match found.iter().find(|key| !index.contains_key(*key)) {
            Some(key) => Err(format!("{name} finds {key:?}, which the owner does not find")),
            None => Ok(()),
        }
    }

    /// How many entries of what cannot be read an index holds, and how many of them nobody finds who was asked.
    pub(super) fn kept_and_hidden(&self, index: &Entries, seen: &[BTreeSet<Key>]) -> (u64, u64) {
        let kept: Vec<&Key> = index.keys().filter(|key| self.now.text(key).is_none()).collect();
        let hidden = kept.iter().filter(|key| !seen.iter().any(|seen| seen.contains(**key))).count();
        (kept.len() as u64, hidden as u64)
    }

    /// Whether a person has to find what stays of an earlier day, and whether they may: only who might read the document
    /// then and may now. It is hidden from all when access changed since, and stays so until it is read.
    fn kept(&self, person: usize, key: &Key, text: Option<&String>, reads: bool) -> (bool, bool) {
        let saw = self.settled.seen.get(person).is_some_and(|seen| seen.contains(key));
        let is_of_before = self.settled.index.get(key) == text;
        let sent = self.killed.filter(|met| met.text(key) == text);
        let might = is_of_before && saw || sent.is_some_and(|met| met.reads[person].contains(&key.0));
        let mut runs = self.settled.met.iter().chain(self.killed).map(|met| met.facts.get(&key.0));
        let is_steady = runs.all(|facts| facts == self.now.facts.get(&key.0));
        (is_of_before && saw && is_steady, might && reads)
    }
}

impl Settled {
    /// All is settled once more.
    pub(super) fn new(met: Met, index: Entries, journal: Entries, seen: Vec<BTreeSet<Key>>) -> Settled {
        Settled { met: Some(met), index, journal, seen }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive with a member that can be read, one that cannot, and one in something that cannot.
    fn archive(text: &str) -> Found {
        let mut found = Found::plain("m1.txt");
        found.made.insert("m1.txt".to_owned(), text.to_owned());
        found.close("m2.txt");
        found.close("in.zip");
        found
    }

    fn met(archive: Found, mode: u64, reads: bool) -> Met {
        let found = [("a.zip".to_owned(), archive), ("b.txt".to_owned(), Found::plain("b"))];
        let facts = ["a.zip", "b.txt"].map(|name| (name.to_owned(), vec![[0o644, 0, 0, 0], [mode, 0, 0, 7]]));
        let reads =
            if reads { BTreeSet::from(["a.zip".to_owned(), "b.txt".to_owned()]) } else { BTreeSet::new() };
        Met { found: found.into(), facts: facts.into(), reads: vec![reads] }
    }

    fn key(part: &str) -> Key {
        ("a.zip".to_owned(), part.to_owned())
    }

    /// What outputs held when all could be read.
    fn before() -> Entries {
        let parts = [
            ("", "names"),
            ("m1.txt", "one"),
            ("m2.txt", "two"),
            ("in.zip", "n"),
            ("in.zip!/m3.txt", "three"),
        ];
        let mut entries: Entries = parts.map(|(part, text)| (key(part), text.to_owned())).into();
        entries.insert(("b.txt".to_owned(), String::new()), "b".to_owned());
        entries
    }

    /// What they hold now that much cannot be read.
    fn sound() -> Entries {
        let mut entries = before();
        entries.insert(key(""), "m1.txt".to_owned());
        entries
    }

    fn settled(seen: bool) -> Settled {
        let seen = if seen { before().into_keys().collect() } else { BTreeSet::new() };
        Settled::new(met(archive("one"), 0o755, true), before(), before(), vec![seen])
    }

    #[track_caller]
    fn told(since: &Since<'_>, change: impl FnOnce(&mut Entries)) -> String {
        let mut held = sound();
        change(&mut held);
        since.entries(&since.settled.index, &held).err().unwrap_or_default()
    }

    #[test]
    fn each_member_that_is_lost_left_over_or_old_is_noticed() {
        let (settled, now) = (settled(true), met(archive("one"), 0o755, true));
        let since = Since { settled: &settled, killed: None, now: &now };
        assert_eq!(told(&since, |_| {}), "");
        for part in ["", "m1.txt", "m2.txt", "in.zip", "in.zip!/m3.txt"] {
            assert!(told(&since, |held| drop(held.remove(&key(part)))).contains("1 lost"), "{part}");
            let old = told(&since, |held| drop(held.insert(key(part), "earlier".to_owned())));
            assert!(old.contains("1 not up to date"), "{part}: {old}");
        }
        for gone in [key("m9.txt"), key("m1.txt!/x"), ("c.zip".to_owned(), "m2.txt".to_owned())] {
            let left = told(&since, |held| drop(held.insert(gone, String::new())));
            assert!(left.contains("1 left over"), "{left}");
        }
    }

    #[test]
    fn what_a_killed_run_may_have_begun_to_change_may_be_gone_and_nothing_else() {
        let (settled, now) = (settled(true), met(archive("one"), 0o755, true));
        let mut sent = archive("one");
        sent.made.insert("m2.txt".to_owned(), "new".to_owned());
        let killed = met(sent, 0o755, true);
        let since = Since { settled: &settled, killed: Some(&killed), now: &now };
        assert_eq!(told(&since, |_| {}), "");
        assert_eq!(told(&since, |held| drop(held.remove(&key("m2.txt")))), "");
        assert_eq!(told(&since, |held| drop(held.insert(key("m2.txt"), "new".to_owned()))), "");
        assert!(told(&since, |held| drop(held.remove(&key("in.zip")))).contains("1 lost"));
        // A member that was gone when it met the archive.
        let killed = met(Found::plain("m1.txt"), 0o755, true);
        let since = Since { killed: Some(&killed), ..since };
        assert_eq!(told(&since, |held| drop(held.remove(&key("in.zip!/m3.txt")))), "");
    }

    #[test]
    fn what_stays_of_an_earlier_day_is_found_by_whom_it_was_meant_for_and_by_nobody_else() {
        let of_now = ["", "m1.txt"];
        let of_before = ["m2.txt", "in.zip", "in.zip!/m3.txt"];
        let judge = |saw: bool, mode: u64, reads: bool, found: &[&str]| {
            let (settled, now) = (settled(saw), met(archive("one"), mode, reads));
            let since = Since { settled: &settled, killed: None, now: &now };
            let mut found: BTreeSet<Key> = found.iter().map(|part| key(part)).collect();
            if reads {
                found.insert(("b.txt".to_owned(), String::new()));
            }
            since.seen(0, "anna", &found, &sound(), true).err().unwrap_or_default()
        };
        let all = [&of_now[..], &of_before].concat();
        assert_eq!(judge(true, 0o755, true, &all), "");
        assert!(judge(true, 0o755, true, &of_now).contains("does not find"), "nothing of its access changed");
        // A folder above was opened or closed meanwhile.
        assert_eq!(judge(true, 0o750, true, &of_now), "");
        assert_eq!(judge(true, 0o750, true, &all), "");
        assert!(judge(true, 0o750, false, &of_before).contains("may not read"));
        assert!(judge(false, 0o750, true, &all).contains("may not read"), "it was never meant for them");
        assert_eq!(judge(false, 0o750, true, &of_now), "");
        assert!(judge(false, 0o750, true, &[]).contains("does not find"));
    }

    #[test]
    fn a_folder_opens_late_only_above_what_cannot_be_read() {
        let settled = settled(true);
        let opens = |archive: Found, mode| {
            let now = met(archive, mode, true);
            Since { settled: &settled, killed: None, now: &now }.opens_late()
        };
        assert!(opens(archive("one"), 0o711) && !opens(archive("one"), 0o755));
        assert!(!opens(Found::plain("m1.txt"), 0o711));
    }
}
