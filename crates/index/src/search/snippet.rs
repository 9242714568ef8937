//! The passage of a body that shows best why it matched: the one with the most of the words, in whole sentences where they
//! fit.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use ingather_kit::language::{beginning, is_unspaced};

use crate::query::build::Highlights;
use crate::stemming::Stemming;
use crate::tokenizers;
use crate::tokenizers::{compounds, folding};
use ingather_contract::search::Snippet;

/// Length of a snippet, bytes.
const SNIPPET_BYTES: usize = 240;
/// Length of a piece that is looked for matches; the rest of a snippet stands around it, bytes.
const WINDOW_BYTES: usize = SNIPPET_BYTES * 3 / 4;
/// Different words whose terms are remembered while a text is read.
const WORDS_KEPT: usize = 16_384;

/// The snippet of a stored body, which begins with the mark of its stemming; the beginning when nothing in it matched.
pub(crate) fn of(stored: &str, wanted: &Highlights) -> Snippet {
    let stemming = Stemming::of_marked(stored);
    let body = stored.strip_prefix(stemming.mark()).unwrap_or(stored);
    let looked = Looked::of(wanted);
    let window = best(matches(body, stemming, &looked));
    let from = window.as_ref().map_or(0, |window| start(body, window.start));
    let to = end(body, from, window.map_or(from, |window| window.end));
    let inside = matches(&body[from..to], stemming, &looked);
    on_one_line(body, from..to, inside.map(|found| from + found.range.start..from + found.range.end))
}

struct Match {
    range: Range<usize>,
    /// Number of what was wanted.
    term: usize,
}

/// What is wanted, with a number for each.
struct Looked<'a> {
    terms: HashMap<&'a str, usize>,
    prefixes: Vec<&'a str>,
    /// Letters of ASCII with which a match can begin.
    firsts: [bool; 128],
}

impl<'a> Looked<'a> {
    fn of(wanted: &'a Highlights) -> Looked<'a> {
        let terms: HashMap<&str, usize> =
            wanted.terms.iter().enumerate().map(|(number, term)| (term.as_str(), number)).collect();
        let prefixes: Vec<&str> = wanted.prefixes.iter().map(String::as_str).collect();
        let mut firsts = [false; 128];
        for text in terms.keys().chain(&prefixes) {
            match text.bytes().next() {
                Some(first) if first.is_ascii() => firsts[usize::from(first)] = true,
                Some(_) => {}
                None => firsts = [true; 128],
            }
        }
        Looked { terms, prefixes, firsts }
    }

    fn number(&self, term: &str) -> Option<usize> {
        let prefix = || self.prefixes.iter().position(|prefix| term.starts_with(prefix));
        self.terms.get(term).copied().or_else(|| prefix().map(|number| self.terms.len() + number))
    }
}

/// Everything that matches, in order; one after the other, so that memory does not grow with the text.
fn matches<'a>(
    text: &'a str,
    stemming: Stemming,
    looked: &'a Looked<'_>,
) -> impl Iterator<Item = Match> + 'a {
    let mut all: Vec<std::iter::Peekable<Box<dyn Iterator<Item = Match> + 'a>>> = Vec::new();
    if !looked.terms.is_empty() || !looked.prefixes.is_empty() {
        all.push((Box::new(spaced(text, stemming, looked)) as Box<dyn Iterator<Item = Match>>).peekable());
    }
    // Where words have no spaces, what is wanted stands in the text as it is, or in another spelling.
    for (term, wanted) in looked.terms.keys().chain(&looked.prefixes).enumerate() {
        if !wanted.starts_with(is_unspaced) {
            continue;
        }
        for spelling in folding::spellings(wanted) {
            let mut from = 0;
            let places = std::iter::from_fn(move || {
                let begin = from + text[from..].find(&spelling)?;
                from = begin + spelling.len();
                Some(Match { range: begin..from, term })
            });
            all.push((Box::new(places) as Box<dyn Iterator<Item = Match>>).peekable());
        }
    }
    std::iter::from_fn(move || {
        let starts = all.iter_mut().enumerate().filter_map(|(at, one)| Some((one.peek()?.range.start, at)));
        let (_, next) = starts.min()?;
        all[next].next()
    })
}

/// Words that match. Stems keep the first letter of a word, so that most words need only one look at it; each other one is
/// reduced once.
fn spaced<'a>(text: &'a str, stemming: Stemming, looked: &'a Looked<'_>) -> impl Iterator<Item = Match> + 'a {
    let mut analyzer = tokenizers::for_snippets(stemming);
    let mut known: HashMap<&str, Option<usize>> = HashMap::new();
    // What begins with other letters may still be put together from what is wanted; letters have a byte at least.
    let shortest_compound = if stemming.has_compounds() { compounds::LETTERS_MIN } else { usize::MAX };
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let word = tokenizers::next_spaced(text, at)?;
            at = word.end;
            let first = text.as_bytes()[word.start].to_ascii_lowercase();
            if first.is_ascii() && !looked.firsts[usize::from(first)] && word.len() < shortest_compound {
                continue;
            }
            let written = &text[word.clone()];
            if known.len() >= WORDS_KEPT {
                known.clear();
            }
            let number = *known.entry(written).or_insert_with(|| {
                let reduced = tokenizers::terms(&mut analyzer, written);
                reduced.iter().find_map(|(_, term)| looked.number(term))
            });
            if let Some(term) = number {
                return Some(Match { range: word, term });
            }
        }
    })
}

/// The piece with the most different terms, then the most matches, then the first.
fn best(matches: impl Iterator<Item = Match>) -> Option<Range<usize>> {
    let (mut best, mut chosen) = ((0, 0), None);
    let mut counts: HashMap<usize, usize> = HashMap::new();
    let mut window: VecDeque<Match> = VecDeque::new();
    for found in matches {
        while window.front().is_some_and(|first| first.range.start + WINDOW_BYTES < found.range.end) {
            let Some(gone) = window.pop_front() else { break };
            if let Some(count) = counts.get_mut(&gone.term) {
                *count -= 1;
            }
            counts.retain(|_, count| *count > 0);
        }
        let end = found.range.end;
        *counts.entry(found.term).or_default() += 1;
        window.push_back(found);
        if (counts.len(), window.len()) > best {
            best = (counts.len(), window.len());
            chosen = window.front().map(|first| first.range.start..end);
        }
    }
    chosen
}

/// Where the snippet begins: with the sentence of the first match, or so that some words stand before it.
fn start(text: &str, first: usize) -> usize {
    let before = beginning(text, first.saturating_sub(SNIPPET_BYTES / 2)).len();
    if let Some(from) = sentence_ends(&text[before..first]).last() {
        return before + from;
    }
    if before == 0 {
        return 0;
    }
    let from = beginning(text, first.saturating_sub(SNIPPET_BYTES / 4)).len();
    text[from..first].find(char::is_whitespace).map_or(from, |space| from + space)
}

/// Where the snippet that begins at `from` ends: with the last sentence that fits behind what matched, else with a word.
fn end(text: &str, from: usize, matched: usize) -> usize {
    let longest = beginning(text, from + SNIPPET_BYTES).len().max(from);
    if longest == text.len() {
        return longest;
    }
    let shortest = matched.clamp(from, longest);
    // What follows tells whether a sentence ends here.
    let next = beginning(text, longest + 8).len();
    let ends = sentence_ends(&text[from..next]).map(|end| from + end);
    let half = from + SNIPPET_BYTES / 2;
    if let Some(end) = ends.filter(|end| *end >= shortest.max(half) && *end <= longest).last() {
        return end;
    }
    // Whole words only, unless the piece is one long word.
    let word = text[from..longest].rfind(char::is_whitespace).map_or(longest, |space| from + space);
    word.max(beginning(text, half).len()).max(shortest)
}

/// Where sentences and paragraphs end: behind their last sign, before what follows.
fn sentence_ends(text: &str) -> impl Iterator<Item = usize> + '_ {
    text.char_indices().filter_map(|(at, sign)| {
        let after = at + sign.len_utf8();
        let rest = &text[after..];
        let mut next = rest.chars();
        match sign {
            '。' | '！' | '？' => Some(after),
            '.' | '!' | '?' | '…' => {
                let is_apart = next.next().is_some_and(char::is_whitespace);
                let begins = rest.trim_start().chars().next();
                (is_apart && begins.is_some_and(|first| !first.is_lowercase())).then_some(after)
            }
            '\n' => (next.next() == Some('\n')).then_some(after),
            _ => None,
        }
    })
}

/// Copies a piece, turning every run of white space and control characters into one space.
fn on_one_line(text: &str, piece: Range<usize>, inside: impl Iterator<Item = Range<usize>>) -> Snippet {
    let mut snippet = Snippet::default();
    let mut at = piece.start;
    let copy = |out: &mut String, part: &str| {
        for character in part.chars() {
            if !character.is_whitespace() && !character.is_control() {
                out.push(character);
            } else if !out.is_empty() && !out.ends_with(' ') {
                out.push(' ');
            }
        }
    };
    for range in inside {
        // Pairs of characters overlap.
        let from = range.start.max(at);
        if from >= range.end {
            continue;
        }
        copy(&mut snippet.text, &text[at..from]);
        let begin = snippet.text.len();
        copy(&mut snippet.text, &text[from..range.end]);
        let end = snippet.text.len();
        match snippet.highlights.last_mut() {
            Some(last) if last.end == begin => last.end = end,
            _ => snippet.highlights.push(begin..end),
        }
        at = range.end;
    }
    copy(&mut snippet.text, &text[at..piece.end]);
    snippet.text.truncate(snippet.text.trim_end().len());
    snippet
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::marked;

    fn snippet(text: &str, terms: &[&str]) -> String {
        let terms = terms.iter().map(|term| (*term).to_owned()).collect();
        of(&marked(Stemming::of_code("en"), text), &Highlights { terms, prefixes: Vec::new() })
            .marked("[", "]")
    }

    #[test]
    fn the_densest_place_is_shown_on_one_line() {
        let text = format!(
            "first houses. {} the\thouse\n was  running away {}",
            "x y ".repeat(200),
            "z ".repeat(200)
        );
        let shown = snippet(&text, &["hous", "run"]);
        assert!(shown.contains("the [house] was [running] away"), "{shown}");
        assert!(shown.len() < SNIPPET_BYTES + 20, "{shown}");
    }

    #[test]
    fn whole_sentences_are_shown_where_they_fit() {
        let filling = "Nothing is said here. ".repeat(40);
        let text = format!(
            "{filling}The house stands at a lake. It was built in 1901 by Dr. Ito! Is it old? {filling}"
        );
        let shown = snippet(&text, &["hous", "built"]);
        assert!(shown.starts_with("The [house] stands at a lake. It was [built] in 1901"), "{shown}");
        assert!(shown.ends_with('.') && shown.len() > SNIPPET_BYTES / 2, "{shown}");
        let text =
            format!("{}東京は大きい。京都は古い。{}", "他の文です。".repeat(50), "他の文です。".repeat(50));
        assert!(snippet(&text, &["京都"]).starts_with("[京都]は古い。"), "{}", snippet(&text, &["京都"]));
        let paragraphs = format!("{filling}\n\nheading with a house\n\n{filling}");
        assert!(snippet(&paragraphs, &["hous"]).starts_with("heading with a [house]"));
    }

    #[test]
    fn the_best_passage_is_found_wherever_it_stands() {
        let text = format!("a house. {} Houses run. {}", "house x ".repeat(40_000), "word ".repeat(100_000));
        assert!(snippet(&text, &["hous", "run"]).contains("[Houses] [run]."));
        let far = format!("{}The été house.", "x ".repeat(1 << 19));
        assert!(snippet(&far, &["hous", "ete"]).contains("The [été] [house]."));
    }

    #[test]
    fn without_a_match_the_beginning_is_shown() {
        assert_eq!(snippet("Some words.\u{7}\r\n More.", &["other"]), "Some words. More.");
        assert_eq!(snippet("", &["other"]), "");
        assert!(snippet(&"long words ".repeat(100), &[]).starts_with("long words long"));
    }

    #[test]
    fn overlapping_pairs_are_one_highlight() {
        assert_eq!(snippet("これは東京都です", &["東京", "京都"]), "これは[東京都]です");
    }

    proptest::proptest! {
        #[test]
        fn every_text_has_a_snippet(text in "\\PC{0,400}", term in "[a-c]") {
            let highlights = Highlights { terms: [term].into(), prefixes: vec!["d".to_owned()] };
            let snippet = of(&marked(Stemming::PLAIN, &text), &highlights);
            assert!(snippet.highlights.iter().all(|range| snippet.text.get(range.clone()).is_some()));
        }
    }
}
