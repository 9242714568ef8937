//! What a listing has proven: the ranges that it covered completely, and the blind spots in between (design 4.5, 4.11).

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::ops::Bound;

use serde::{Deserialize, Serialize};

/// A part of a source's names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The direct children of a folder; the name ends with `/`, the root is empty.
    Folder(String),
    /// The names after `from` up to and including `until`, in the source's own order; `until` none: to the end.
    Interval {
        /// Last name before the interval.
        from: String,
        /// Last name in the interval.
        until: Option<String>,
    },
}

impl Scope {
    /// The scope as a person reads it.
    pub fn label(&self) -> String {
        match self {
            Scope::Folder(name) if name.is_empty() => "/".to_owned(),
            Scope::Folder(name) => name.clone(),
            Scope::Interval { from, until } => format!("{from:?}..{}", until.as_deref().unwrap_or("end")),
        }
    }
}

/// A scope that could not be read, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlindSpot {
    /// What could not be looked at.
    pub scope: Scope,
    /// Stable word, such as `unreadable`, `vanished`, `changing`, `other_device`.
    pub cause: String,
    /// What happened, for a person.
    pub message: String,
}

/// What a listing tells about a name that it did not report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// Its place was looked at completely and it was not there.
    Proven,
    /// Its place could not be read: kept.
    Blind,
    /// Nothing was said about its place: kept.
    Unknown,
}

/// Ranges proven and blind spots of one listing, collected while it goes on.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// Hash of a folder's name → read completely (true) or blind (false). Names would take ten times the memory. Two that hash alike
    /// are one in 10¹⁹, by a key that nobody knows; and what is judged absent is probed singly before it is removed.
    folders: HashMap<u64, bool>,
    hasher: RandomState,
    /// Merged intervals that were covered: from → until.
    intervals: BTreeMap<String, Option<String>>,
    /// Intervals that could not be read.
    blind: Vec<(String, Option<String>)>,
    /// The listing came to its end.
    ended: bool,
}

impl Coverage {
    /// Takes note that `scope` was listed completely. A blind spot of the same scope stays one.
    pub fn prove(&mut self, scope: &Scope) {
        match scope {
            Scope::Folder(name) => {
                self.folders.entry(self.hasher.hash_one(name.as_str())).or_insert(true);
            }
            Scope::Interval { from, until } => self.join(from.clone(), until.clone()),
        }
    }

    /// Takes note that `scope` could not be read.
    pub fn blind(&mut self, scope: &Scope) {
        match scope {
            Scope::Folder(name) => {
                self.folders.insert(self.hasher.hash_one(name.as_str()), false);
            }
            Scope::Interval { from, until } => self.blind.push((from.clone(), until.clone())),
        }
    }

    /// Takes note that the listing came to its end: whatever folder it did not speak of is not there.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Whether the folder itself was listed completely.
    pub fn folder_proven(&self, name: &str) -> bool {
        self.folder(name) == Some(true)
    }

    /// Judges the absence of the document named `key`.
    ///
    /// The deepest folder above it that the listing speaks of decides: a folder that is gone was named by its parent
    /// before, and is not any more. Before the end of the listing it may still come to that folder, so that only the folder
    /// itself proves anything. Without folders, the intervals decide.
    pub fn judge(&self, key: &str) -> Absence {
        let above = key.match_indices('/').rev().map(|(at, _)| &key[..=at]).chain([""]);
        for (n, folder) in above.enumerate() {
            match self.folder(folder) {
                Some(false) => return Absence::Blind,
                Some(true) if n == 0 || self.ended => return Absence::Proven,
                Some(true) => return Absence::Unknown,
                None => {}
            }
        }
        let inside = |from: &str, until: &Option<String>| {
            from < key && until.as_deref().is_none_or(|until| key <= until)
        };
        if self.blind.iter().any(|(from, until)| inside(from, until)) {
            return Absence::Blind;
        }
        match self.intervals.range::<str, _>((Bound::Unbounded, Bound::Excluded(key))).next_back() {
            Some((from, until)) if inside(from, until) => Absence::Proven,
            _ => Absence::Unknown,
        }
    }

    fn folder(&self, name: &str) -> Option<bool> {
        self.folders.get(&self.hasher.hash_one(name)).copied()
    }

    fn join(&mut self, mut from: String, mut until: Option<String>) {
        let ends_before = |end: &Option<String>, other: &str| end.as_deref().is_some_and(|end| end < other);
        // An earlier interval that reaches into this one swallows it.
        if let Some((earlier, end)) =
            self.intervals.range::<str, _>((Bound::Unbounded, Bound::Included(from.as_str()))).next_back()
            && !ends_before(end, &from)
        {
            let (earlier, end) = (earlier.clone(), end.clone());
            self.intervals.remove(&earlier);
            from = earlier;
            until = later(until, end);
        }
        // Later intervals that begin inside this one are swallowed by it.
        while let Some((next, end)) =
            self.intervals.range::<str, _>((Bound::Included(from.as_str()), Bound::Unbounded)).next()
        {
            if ends_before(&until, next) {
                break;
            }
            let (next, end) = (next.clone(), end.clone());
            self.intervals.remove(&next);
            until = later(until, end);
        }
        self.intervals.insert(from, until);
    }
}

fn later(a: Option<String>, b: Option<String>) -> Option<String> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn folder(name: &str) -> Scope {
        Scope::Folder(name.to_owned())
    }

    #[test]
    fn the_deepest_folder_decides() {
        let mut coverage = Coverage::default();
        coverage.prove(&folder(""));
        coverage.prove(&folder("a/"));
        coverage.blind(&folder("a/closed/"));
        assert_eq!(coverage.judge("x.txt"), Absence::Proven);
        assert_eq!(coverage.judge("a/x.txt"), Absence::Proven);
        assert_eq!(coverage.judge("a/closed/deep/x.txt"), Absence::Blind);
        assert_eq!(coverage.judge("a/gone/deep/x.txt"), Absence::Unknown, "the listing may still come to it");
        coverage.end();
        assert_eq!(
            coverage.judge("a/gone/deep/x.txt"),
            Absence::Proven,
            "its parent was read and names it no more"
        );
    }

    #[test]
    fn folders_speak_for_what_is_below_them_and_intervals_for_the_rest() {
        let folders = ["a/b/", "a/", ""];
        // What is said of each: nothing, proven, blind; then whether the listing ended and intervals cover all names.
        for said in 0..27usize {
            let said: Vec<usize> = (0..3).map(|n| said / 3usize.pow(n) % 3).collect();
            for (ended, covered) in [(false, false), (false, true), (true, false), (true, true)] {
                let mut coverage = Coverage::default();
                for (name, said) in folders.iter().zip(&said) {
                    match said {
                        1 => coverage.prove(&folder(name)),
                        2 => coverage.blind(&folder(name)),
                        _ => {}
                    }
                    assert_eq!(coverage.folder_proven(name), *said == 1, "{name:?} {said}");
                }
                if covered {
                    coverage.prove(&Scope::Interval { from: String::new(), until: None });
                }
                if ended {
                    coverage.end();
                }
                for (key, above) in [("a/b/x", 0), ("a/x", 1), ("x", 2)] {
                    let deepest = (above..3).find(|n| said[*n] != 0);
                    let expected = match deepest {
                        Some(n) if said[n] == 2 => Absence::Blind,
                        Some(n) if n == above || ended => Absence::Proven,
                        None if covered => Absence::Proven,
                        _ => Absence::Unknown,
                    };
                    assert_eq!(coverage.judge(key), expected, "{key} {said:?} {ended} {covered}");
                }
            }
        }
    }

    #[test]
    fn intervals_end_with_their_last_name_and_blind_ones_win() {
        let bounds = ["", "b", "d"]
            .into_iter()
            .flat_map(|from| [None, Some("b"), Some("d")].map(|until| (from, until)));
        let told: Vec<(bool, &str, Option<&str>)> =
            bounds.flat_map(|(from, until)| [true, false].map(|proven| (proven, from, until))).collect();
        for (one, other) in told.iter().flat_map(|one| told.iter().map(move |other| (one, other))) {
            let mut coverage = Coverage::default();
            for (proven, from, until) in [one, other] {
                let scope = Scope::Interval { from: (*from).to_owned(), until: until.map(str::to_owned) };
                if *proven { coverage.prove(&scope) } else { coverage.blind(&scope) }
            }
            for key in ["a", "b", "c", "d", "e"] {
                let says = |wanted: bool| {
                    [one, other].into_iter().any(|(proven, from, until)| {
                        *proven == wanted && *from < key && until.is_none_or(|until| key <= until)
                    })
                };
                let expected = match (says(false), says(true)) {
                    (true, _) => Absence::Blind,
                    (false, true) => Absence::Proven,
                    (false, false) => Absence::Unknown,
                };
                assert_eq!(coverage.judge(key), expected, "{key} in {one:?} {other:?}");
            }
        }
    }

    /// Else a listing in intervals would keep one for each of its pages.
    #[test]
    fn intervals_that_touch_are_one_and_others_stay_apart() {
        let kept = |told: &[(&str, Option<&str>)]| {
            let mut coverage = Coverage::default();
            for (from, until) in told {
                coverage
                    .prove(&Scope::Interval { from: (*from).to_owned(), until: until.map(str::to_owned) });
            }
            coverage.intervals.into_iter().collect::<Vec<_>>()
        };
        let owned = |from: &str, until: Option<&str>| (from.to_owned(), until.map(str::to_owned));
        let (low, high, end) = (("a", Some("c")), ("c", Some("e")), ("e", None));
        for told in [
            [low, high, end],
            [low, end, high],
            [high, low, end],
            [high, end, low],
            [end, low, high],
            [end, high, low],
        ] {
            assert_eq!(kept(&told), [owned("a", None)], "{told:?}");
        }
        for told in [[low, end], [end, low]] {
            assert_eq!(kept(&told), [owned("a", Some("c")), owned("e", None)], "{told:?}");
        }
        assert_eq!(kept(&[("a", Some("e")), ("b", Some("c"))]), [owned("a", Some("e"))]);
    }

    #[test]
    fn a_person_reads_a_scope_by_its_name_or_its_ends() {
        let interval =
            |until: Option<&str>| Scope::Interval { from: "a".to_owned(), until: until.map(str::to_owned) };
        assert_eq!([folder(""), folder("a/b/")].map(|scope| scope.label()), ["/", "a/b/"]);
        assert_eq!(
            [interval(Some("c")), interval(None)].map(|scope| scope.label()),
            ["\"a\"..c", "\"a\"..end"]
        );
    }

    #[test]
    fn nothing_said_is_nothing_proven() {
        assert_eq!(Coverage::default().judge("a/x"), Absence::Unknown);
        let mut coverage = Coverage::default();
        coverage.prove(&folder("a/"));
        assert_eq!(coverage.judge("b/x"), Absence::Unknown);
    }

    #[test]
    fn a_blind_spot_is_not_undone_by_a_later_page() {
        let mut coverage = Coverage::default();
        coverage.blind(&folder("a/"));
        coverage.prove(&folder("a/"));
        assert_eq!(coverage.judge("a/x"), Absence::Blind);
    }

    proptest! {
        /// Merged intervals answer exactly like the list of those that were told.
        #[test]
        fn merged_intervals_equal_the_naive_answer(
            told in proptest::collection::vec(("[a-e]{0,2}", proptest::option::of("[a-f]{1,2}")), 0..8),
            keys in proptest::collection::vec("[a-f]{1,3}", 1..20),
        ) {
            let mut coverage = Coverage::default();
            for (from, until) in &told {
                coverage.prove(&Scope::Interval { from: from.clone(), until: until.clone() });
            }
            for key in keys {
                let naive = told.iter().any(|(from, until)| *from < key && until.as_ref().is_none_or(|u| key <= *u));
                prop_assert_eq!(coverage.judge(&key) == Absence::Proven, naive, "{} in {:?}", key, told);
            }
        }
    }
}
