//! The piece of a body that shows best why it matched.

use std::collections::HashSet;
use std::ops::Range;

use super::build::Highlights;
use super::search::Snippet;
use super::tongue::Tongue;
use super::words;

/// Length of a snippet, bytes.
const SNIPPET_BYTES: usize = 240;
/// Text that is looked through for the best container, bytes.
const LOOKED_BYTES: usize = 256 << 10;

/// The snippet of a stored body, which begins with the mark of its tongue; the beginning when nothing in it matched.
pub(super) fn of(stored: &str, wanted: &Highlights) -> Snippet {
    let tongue = Tongue::of_marked(stored);
    let body = stored.strip_prefix(tongue.mark()).unwrap_or(stored);
    let looked = &body[..floor(body, LOOKED_BYTES)];
    let matches = matches(looked, tongue, wanted);
    let window = best(&matches);
    let from = window.first().map_or(0, |first| start(looked, first.range.start));
    let to = floor(looked, from + SNIPPET_BYTES);
    // Whole words only, unless the piece is one long word.
    let cut = |to: usize| looked[from..to].rfind(char::is_whitespace).map_or(to, |space| from + space);
    let to = if to < looked.len() { cut(to).max(floor(looked, from + SNIPPET_BYTES / 2)) } else { to };
    let inside = window.iter().map(|found| found.range.clone()).filter(|range| range.end <= to);
    on_one_line(looked, from..to, inside)
}

struct Match {
    range: Range<usize>,
    term: String,
}

fn matches(text: &str, tongue: Tongue, wanted: &Highlights) -> Vec<Match> {
    let mut found = Vec::new();
    if wanted.terms.is_empty() && wanted.prefixes.is_empty() {
        return found;
    }
    let mut analyzer = words::for_queries(tongue);
    let mut stream = analyzer.token_stream(text);
    while stream.advance() {
        let token = stream.token();
        let hit = wanted.terms.contains(&token.text)
            || wanted.prefixes.iter().any(|prefix| token.text.starts_with(prefix.as_str()));
        if hit {
            found.push(Match { range: token.offset_from..token.offset_to, term: token.text.clone() });
        }
    }
    found
}

/// The matches of the window with the most different terms, then the most matches, then the first.
fn best(matches: &[Match]) -> &[Match] {
    let mut best = (0, 0);
    let mut chosen: &[Match] = &[];
    let mut to = 0;
    for from in 0..matches.len() {
        let end = matches[from].range.start + SNIPPET_BYTES * 3 / 4;
        to = to.max(from + 1);
        while to < matches.len() && matches[to].range.end <= end {
            to += 1;
        }
        let window = &matches[from..to];
        let different = window.iter().map(|found| found.term.as_str()).collect::<HashSet<_>>().len();
        if (different, window.len()) > best {
            best = (different, window.len());
            chosen = window;
        }
    }
    chosen
}

/// Where the snippet begins so that some words stand before the first match.
fn start(text: &str, first: usize) -> usize {
    let earliest = first.saturating_sub(SNIPPET_BYTES / 4);
    if earliest == 0 {
        return 0;
    }
    let from = floor(text, earliest);
    text[from..first].find(char::is_whitespace).map_or(from, |space| from + space)
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
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
    use crate::index::entry::marked;

    fn snippet(text: &str, terms: &[&str]) -> String {
        let terms = terms.iter().map(|term| (*term).to_owned()).collect();
        of(&marked(Tongue::of_code("en"), text), &Highlights { terms, prefixes: Vec::new() }).marked("[", "]")
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
            let snippet = of(&marked(Tongue::PLAIN, &text), &highlights);
            assert!(snippet.highlights.iter().all(|range| snippet.text.get(range.clone()).is_some()));
        }
    }
}
