//! Where a text is cut. The places depend on the text around them and not on how much stands before, so that the same places
//! are found again soon after something was inserted.

use ingather_kit::language::is_unspaced;

/// Longest piece without a space, characters: what is longer is no word and is cut.
const WORD_CHARACTERS_MAX: usize = 100;
/// Pieces before a place that decide whether it is taken.
const AROUND: usize = 4;

/// How well a text can be cut behind a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Behind {
    Word,
    Sentence,
    Paragraph,
}

/// The smallest piece that is not cut: a word, or a character of a script without spaces.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Where it ends in the text, white space behind it not included.
    end: u32,
    /// Where the next one begins.
    next: u32,
    /// Characters up to `next`.
    characters: u16,
    behind: Behind,
}

/// The passages of a text, trimmed; each has at most `size` words or characters, of which up to `overlap` are the end of the
/// one before. `overlap` is at most half of `size`.
pub(super) fn passages(text: &str, size: usize, overlap: usize, by_characters: bool) -> Vec<&str> {
    let fresh = size - overlap;
    let longest = if by_characters { fresh.min(WORD_CHARACTERS_MAX) } else { WORD_CHARACTERS_MAX };
    let pieces = pieces(text, longest);
    let weight = |piece: &Piece| if by_characters { usize::from(piece.characters) } else { 1 };
    let begin = |at: usize| at.checked_sub(1).map_or(0, |before| pieces[before].next as usize);
    let mut passages = Vec::new();
    let mut at = 0;
    while at < pieces.len() {
        let end = next_cut(text, &pieces, at, fresh, weight);
        let mut from = at;
        let mut shared = 0;
        while from > 0 && shared + weight(&pieces[from - 1]) <= overlap {
            from -= 1;
            shared += weight(&pieces[from]);
        }
        let passage = text[begin(from)..pieces[end - 1].end as usize].trim();
        if !passage.is_empty() {
            passages.push(passage);
        }
        at = end;
    }
    passages
}

/// The end of the passage that begins at `at`: the best place in the second half of what fits; among equally good ones
/// the one whose surroundings have the smallest hash, which another passage that reaches so far would choose, too.
fn next_cut(text: &str, pieces: &[Piece], at: usize, fits: usize, weight: impl Fn(&Piece) -> usize) -> usize {
    let mut taken = 0;
    let mut end = at;
    let mut best: Option<((Behind, std::cmp::Reverse<u32>), usize)> = None;
    while end < pieces.len() && (end == at || taken + weight(&pieces[end]) <= fits) {
        taken += weight(&pieces[end]);
        end += 1;
        if taken * 2 > fits {
            let from = end.saturating_sub(AROUND);
            let around = &text
                [from.checked_sub(1).map_or(0, |b| pieces[b].next as usize)..pieces[end - 1].end as usize];
            let place = (pieces[end - 1].behind, std::cmp::Reverse(hash(around)));
            if best.is_none_or(|(other, _)| place > other) {
                best = Some((place, end));
            }
        }
    }
    if end == pieces.len() { end } else { best.map_or(end, |(_, end)| end) }
}

/// FNV-1a: it need not be secret, only the same everywhere.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn pieces(text: &str, longest: usize) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::with_capacity(text.len() / 6);
    let mut rest = text.char_indices().peekable();
    while let Some((_, first)) = rest.peek().copied() {
        let mut characters = 0u16;
        let mut last = ' ';
        let mut end = 0;
        // What a piece consists of.
        while let Some((at, c)) = rest.next_if(|(_, c)| !c.is_whitespace()) {
            characters += 1;
            (last, end) = (if is_closing(c) { last } else { c }, at + c.len_utf8());
            let next = rest.peek().map(|(_, next)| *next);
            // Signs stay with the character before them.
            let goes_on = next.is_some_and(|next| !next.is_alphanumeric());
            if usize::from(characters) >= longest
                || !goes_on && (is_unspaced(c) || is_unspaced(first) || next.is_some_and(is_unspaced))
            {
                break;
            }
        }
        let mut lines = 0;
        while let Some((_, c)) = rest.next_if(|(_, c)| c.is_whitespace()) {
            characters = characters.saturating_add(1);
            lines += u32::from(c == '\n');
        }
        let next = rest.peek().map_or(text.len(), |(at, _)| *at);
        let ends_sentence =
            matches!(last, '。' | '！' | '？') || matches!(last, '.' | '!' | '?' | '…') && next > end;
        let behind = match lines {
            2.. => Behind::Paragraph,
            1 => Behind::Sentence,
            _ if ends_sentence => Behind::Sentence,
            _ => Behind::Word,
        };
        // A text is at most `limits::BODY_BYTES_MAX` long, so its places fit.
        pieces.push(Piece { end: end as u32, next: next as u32, characters, behind });
    }
    pieces
}

fn is_closing(c: char) -> bool {
    matches!(c, '"' | '\'' | ')' | ']' | '»' | '”' | '’' | '」' | '）')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str, size: usize, overlap: usize) -> Vec<&str> {
        passages(text, size, overlap, false)
    }

    #[test]
    fn a_text_is_cut_at_paragraphs_then_sentences_then_words() {
        let text = "One two three. Four five six.\n\nSeven eight nine ten. Eleven twelve thirteen fourteen.";
        assert_eq!(words(text, 10, 0)[0], "One two three. Four five six.");
        assert_eq!(
            words("One two three four five. Six seven eight nine ten eleven.", 9, 0)[0],
            "One two three four five."
        );
        assert_eq!(words("a b c d e f g h i j k l", 100, 10), ["a b c d e f g h i j k l"]);
        assert!(words(&"word ".repeat(100), 10, 0).iter().all(|passage| passage.split(' ').count() >= 2));
        assert_eq!(words(" \n\t ", 10, 0), Vec::<&str>::new());
        assert_eq!(words("", 10, 0), Vec::<&str>::new());
    }

    #[test]
    fn a_passage_begins_with_the_end_of_the_one_before() {
        let text = (0..100).map(|n| n.to_string()).collect::<Vec<_>>().join(" ");
        let found = words(&text, 20, 5);
        for pair in found.windows(2) {
            let (first, second): (Vec<&str>, Vec<&str>) =
                (pair[0].split(' ').collect(), pair[1].split(' ').collect());
            assert_eq!(first[first.len() - 5..], second[..5]);
            assert!(second.len() <= 20);
        }
    }

    #[test]
    fn scripts_without_spaces_are_cut_by_characters_and_at_their_full_stops() {
        let sentence = "東京都は日本の首都です。";
        let text = sentence.repeat(10);
        let found = words(&text, 30, 0);
        assert!(found.len() >= 4 && found.iter().all(|passage| passage.ends_with('。')), "{found:?}");
    }

    #[test]
    fn what_has_no_spaces_at_all_is_cut_nevertheless() {
        let text = "x".repeat(10_000);
        let found = passages(&text, 500, 0, true);
        assert!(found.len() >= 20 && found.iter().all(|passage| passage.len() <= 500));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_no_passage_is_too_long(text in "[a-c.。語 \n]{0,400}", size in 10usize..60, half in any::<bool>()) {
            let overlap = if half { size / 2 } else { 0 };
            for by_characters in [false, true] {
                let found = passages(&text, size, overlap, by_characters);
                let whole: String = text.split_whitespace().collect();
                let joined: String = found.iter().flat_map(|passage| passage.split_whitespace()).collect();
                if half {
                    prop_assert!(found.iter().all(|passage| text.contains(passage)));
                    prop_assert!(joined.len() >= whole.len());
                } else {
                    prop_assert_eq!(&joined, &whole);
                }
                prop_assert!(!by_characters || found.iter().all(|passage| passage.chars().count() <= size));
            }
        }
    }
}
