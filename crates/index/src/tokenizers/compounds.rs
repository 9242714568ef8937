//! Words that are put together from others, and into which ones (decision 0020): `Haustürschlüssel` is `haus`, `tür` and `schlüssel`,
//! too, so that a question for one of them finds it.
//!
//! A word is cut into words of a shipped list, so that as few and as common ones as possible cover it without a rest but what the
//! language puts between them.

use std::io::Read;
use std::sync::OnceLock;

use flate2::read::GzDecoder;
use tantivy_fst::Map;
use tantivy_fst::raw::Output;

use crate::stemming::Stemming;

/// How words are put together in a language.
struct Rules {
    /// ISO 639-1.
    code: &'static str,
    /// Words with what they may be, one on a line; where they come from and under which licence stands beside them.
    list: &'static [u8],
    /// What may stand between two parts.
    links: &'static [&'static str],
    /// Words that always have an `s` behind them.
    ends_with_s: &'static [&'static str],
    /// Ends of verbs that look like a word behind what is left of another: `machtest`.
    ends_of_verbs: &'static [&'static str],
}

const RULES: [Rules; 2] = [
    Rules {
        code: "de",
        list: include_bytes!("../../data/compounds/de.txt.gz"),
        links: &["s", "es", "n", "en", "er", "e", "ns", "ens"],
        ends_with_s: &["ung", "heit", "keit", "schaft", "ion", "tät", "ling"],
        ends_of_verbs: &["test", "tests"],
    },
    Rules {
        code: "nl",
        list: include_bytes!("../../data/compounds/nl.txt.gz"),
        links: &["s", "en", "e", "er"],
        ends_with_s: &["heid"],
        ends_of_verbs: &[],
    },
];
/// Bytes that a list unpacks to at most.
const LIST_BYTES_MAX: u64 = 4 << 20;

// What a word of the list may be.
/// Any part but the last.
const FIRST: u64 = 1;
/// The last part.
const LAST: u64 = 2;
/// It is rare: other cuts go before.
const RARE: u64 = 4;
/// It is not cut itself.
const WHOLE: u64 = 8;
/// It is what is left of a verb or of a word that loses its last letter: `miet` of `Miete`.
const CUT: u64 = 16;
/// As the last part it needs something in between: `Wochenende` and no `lobende`.
const LINKED: u64 = 32;

/// Shorter words are not cut, letters.
pub(crate) const LETTERS_MIN: usize = 6;
/// Parts from this length on are cut once more, letters.
const LETTERS_AGAIN: usize = 8;
/// How often parts of parts are cut.
const DEPTH_MAX: usize = 3;

/// The words of one language.
pub(crate) struct Compounds {
    rules: &'static Rules,
    words: Map<Vec<u8>>,
}

/// How the beginning of a word is cut best.
#[derive(Clone, Copy)]
struct Cut {
    cost: u32,
    /// Where its last part begins and ends.
    from: usize,
    to: usize,
    /// What that part may be.
    kind: u64,
}

impl Compounds {
    /// The list for texts in a language, if there is one. It is unpacked when it is first asked for.
    pub(crate) fn of(stemming: Stemming) -> Option<&'static Compounds> {
        static LISTS: [OnceLock<Compounds>; RULES.len()] = [const { OnceLock::new() }; RULES.len()];
        let at = RULES.iter().position(|rules| Stemming::of_code(rules.code) == stemming)?;
        Some(LISTS[at].get_or_init(|| Compounds::read(&RULES[at]).expect("the list is part of the program")))
    }

    fn read(rules: &'static Rules) -> Result<Compounds, String> {
        let mut text = String::new();
        let read = GzDecoder::new(rules.list).take(LIST_BYTES_MAX).read_to_string(&mut text);
        read.map_err(|error| error.to_string())?;
        let words = text.lines().filter_map(|line| {
            let (word, kind) = line.split_once(' ')?;
            Some((word, kind.parse().ok()?))
        });
        Ok(Compounds { rules, words: Map::from_iter(words).map_err(|error| error.to_string())? })
    }

    /// The parts of a word in lower case, and parts of these; none when it is no compound.
    pub(crate) fn parts(&self, word: &str) -> Vec<String> {
        let mut parts = Vec::new();
        self.collect(word, DEPTH_MAX, &mut parts);
        parts
    }

    fn collect(&self, word: &str, depth: usize, parts: &mut Vec<String>) {
        for part in self.cut(word) {
            if !parts.iter().any(|known| known == part) {
                parts.push(part.to_owned());
            }
            if depth > 0 && part.chars().count() >= LETTERS_AGAIN {
                self.collect(part, depth - 1, parts);
            }
        }
    }

    /// The parts that a word is put together from, in order.
    pub(crate) fn cut<'w>(&self, word: &'w str) -> Vec<&'w str> {
        let length = word.len();
        if word.chars().count() < LETTERS_MIN || self.kind(word) & WHOLE != 0 {
            return Vec::new();
        }
        let mut best: Vec<Option<Cut>> = vec![None; length + 1];
        best[0] = Some(Cut { cost: 0, from: 0, to: 0, kind: 0 });
        for from in 0..length {
            let Some(before) = best[from] else { continue };
            self.each(word, from, |to, kind| {
                let cost = before.cost + cost(&word[from..to], kind);
                if to == length {
                    if from > 0 && self.may_be_last(word, kind, from, before) {
                        put(&mut best[to], Cut { cost, from, to, kind });
                    }
                } else if kind & FIRST != 0 {
                    self.go_on(word, Cut { cost, from, to, kind }, &mut best);
                }
            });
        }
        let mut parts = Vec::new();
        let mut at = length;
        while let Some(cut) = best[at].filter(|_| at > 0) {
            parts.push(&word[cut.from..cut.to]);
            at = cut.from;
        }
        parts.reverse();
        parts
    }

    /// Notes where the next part can begin behind this one.
    fn go_on(&self, word: &str, cut: Cut, best: &mut [Option<Cut>]) {
        let (part, rest) = (&word[cut.from..cut.to], &word[cut.to..]);
        let lacks_s = rest.starts_with('s') && self.rules.ends_with_s.iter().any(|end| part.ends_with(end));
        put(&mut best[cut.to], Cut { cost: cut.cost + if lacks_s { 6 } else { 0 }, ..cut });
        if cut.kind & CUT != 0 {
            return;
        }
        let dear = if is_short(part) { 4 } else { 2 };
        for link in self.rules.links.iter().filter(|link| rest.starts_with(**link) && rest.len() > link.len())
        {
            put(&mut best[cut.to + link.len()], Cut { cost: cut.cost + dear, ..cut });
        }
    }

    /// Tells where words of the list end that begin at a place, and what they may be.
    fn each(&self, word: &str, from: usize, mut tell: impl FnMut(usize, u64)) {
        let words = self.words.as_fst();
        let (mut node, mut kind) = (words.root(), Output::zero());
        for (at, byte) in word.as_bytes()[from..].iter().enumerate() {
            let Some(next) = node.find_input(*byte) else { return };
            let next = node.transition(next);
            kind = kind.cat(next.out);
            node = words.node(next.addr);
            if node.is_final() {
                tell(from + at + 1, kind.cat(node.final_output()).value());
            }
        }
    }

    /// Whether a word may end with what begins at `from`, behind what was cut before.
    fn may_be_last(&self, word: &str, kind: u64, from: usize, before: Cut) -> bool {
        // What is in between may be part of a form that the list has, such as `wochen`.
        let is_linked = before.to < from || ["en", "s"].iter().any(|end| word[..from].ends_with(end));
        let ends_verb = before.kind & CUT != 0 && self.rules.ends_of_verbs.contains(&&word[from..]);
        kind & LAST != 0 && (kind & LINKED == 0 || is_linked) && !ends_verb
    }

    fn kind(&self, word: &str) -> u64 {
        self.words.get(word).unwrap_or(0)
    }
}

/// What a part costs: the fewer the better, and rare, cut and short ones last.
fn cost(part: &str, kind: u64) -> u32 {
    let dear = |is_so: bool, by: u32| if is_so { by } else { 0 };
    10 + dear(kind & RARE != 0, 4) + dear(kind & CUT != 0, 4) + dear(is_short(part), 3)
}

fn is_short(part: &str) -> bool {
    part.len() <= 6 && part.chars().count() <= 3
}

fn put(best: &mut Option<Cut>, cut: Cut) {
    if best.is_none_or(|known| cut.cost < known.cost) {
        *best = Some(cut);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::tokenizers;

    fn german() -> &'static Compounds {
        Compounds::of(Stemming::of_code("de")).unwrap()
    }

    /// Each language with its compounds and the parts by which they are to be found, and with words that are none.
    const TRIED: [(&str, &str, usize, &str); 2] = [
        (
            "de",
            include_str!("../../data/compounds/test/compounds.tsv"),
            501,
            include_str!("../../data/compounds/test/words.txt"),
        ),
        (
            "nl",
            include_str!("../../data/compounds/test/nl-compounds.tsv"),
            326,
            include_str!("../../data/compounds/test/nl-words.txt"),
        ),
    ];

    fn stems(code: &str, words: impl IntoIterator<Item = String>) -> BTreeSet<String> {
        let mut analyzer = tokenizers::for_queries(Stemming::of_code(code));
        words
            .into_iter()
            .flat_map(|word| tokenizers::terms(&mut analyzer, &word))
            .map(|(_, term)| term)
            .collect()
    }

    #[test]
    fn words_are_cut_into_as_few_and_as_common_parts_as_possible() {
        for (word, parts) in [
            ("haustürschlüssel", "haus tür schlüssel"),
            ("gerichtstag", "gericht tag"),
            ("prüfungsamt", "prüfung amt"),
            ("wochenenden", "wochen enden"),
            ("mietvertrag", "miet vertrag"),
            ("strassenbahn", "strassen bahn"),
            ("donaudampfschifffahrt", "donau dampf schiff fahrt"),
            ("lobende", ""),
            ("machtest", ""),
            ("generation", ""),
            ("tür", ""),
            ("", ""),
        ] {
            assert_eq!(german().cut(word).join(" "), parts, "{word}");
        }
        assert_eq!(german().parts("autobahnbrücke"), ["autobahn", "auto", "bahn", "brücke"]);
    }

    #[test]
    fn of_listed_compounds_95_in_100_are_found_by_their_parts() {
        for (code, listed, size, _) in TRIED {
            let compounds = Compounds::of(Stemming::of_code(code)).unwrap();
            let (mut count, mut lost) = (0, Vec::new());
            for line in listed.lines() {
                let (word, parts) = line.split_once('\t').unwrap();
                let found = stems(code, compounds.parts(&word.to_lowercase()));
                count += 1;
                if !stems(code, parts.split(' ').map(str::to_owned)).is_subset(&found) {
                    lost.push(word);
                }
            }
            assert_eq!(count, size, "{code}");
            assert!(lost.len() * 100 <= count * 5, "{code}: {} of {count}: {lost:?}", lost.len());
        }
    }

    #[test]
    fn of_words_that_are_none_no_more_than_one_in_100_is_cut() {
        for (code, .., listed) in TRIED {
            let compounds = Compounds::of(Stemming::of_code(code)).unwrap();
            let words: Vec<&str> = listed.lines().collect();
            let cut: Vec<_> =
                words.iter().filter(|word| !compounds.cut(&word.to_lowercase()).is_empty()).collect();
            assert!(words.len() > 1_000, "{code}");
            assert!(cut.len() * 100 <= words.len(), "{code}: {} of {}: {cut:?}", cut.len(), words.len());
        }
    }

    #[test]
    fn the_lists_are_of_words_in_order_and_within_their_bounds() {
        for rules in &RULES {
            let mut text = String::new();
            GzDecoder::new(rules.list).read_to_string(&mut text).unwrap();
            assert!((text.len() as u64) < LIST_BYTES_MAX && rules.list.len() < 1_500_000);
            let lines: Vec<(&str, u64)> = text
                .lines()
                .map(|line| line.split_once(' ').unwrap())
                .map(|(word, kind)| (word, kind.parse().unwrap()))
                .collect();
            let compounds = Compounds::of(Stemming::of_code(rules.code)).unwrap();
            assert!(lines.is_sorted() && lines.len() == compounds.words.len());
            assert!(lines.iter().all(|(word, kind)| *kind < 64 && word.chars().all(char::is_lowercase)));
            assert!(compounds.words.as_fst().size() < 2 << 20);
            assert!(Stemming::has_compounds(Stemming::of_code(rules.code)));
        }
    }

    proptest::proptest! {
        #[test]
        fn any_word_is_cut_into_parts_that_it_holds_in_order(word in "[a-zäöüß]{0,40}|(haus|tür|arbeit|s|zeit|en|straße){0,8}") {
            let mut rest = word.as_str();
            for part in german().cut(&word) {
                let at = rest.find(part).unwrap();
                proptest::prop_assert!(at <= 3, "{} in {}", part, word);
                rest = &rest[at + part.len()..];
            }
        }
    }
}
