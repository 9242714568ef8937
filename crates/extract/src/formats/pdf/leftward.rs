//! Lines with words of Hebrew, Arabic and other scripts that run from right to left: a page says what stands where, people
//! and indexes want the order of reading.

use unicode_normalization::UnicodeNormalization;

/// A glyph of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// Where it stands along the line.
    pub(super) from: f64,
    pub(super) to: f64,
    /// A gap above this sets words apart.
    pub(super) gap: f64,
    /// Its text in the line.
    pub(super) begin: u32,
    pub(super) end: u32,
}

/// Whether a character belongs to a script from right to left.
pub(super) fn is_strong(c: char) -> bool {
    matches!(c,
        '\u{5be}' | '\u{5c0}' | '\u{5c3}' | '\u{5c6}' | '\u{5d0}'..='\u{5ff}' | '\u{608}' | '\u{60b}' | '\u{60d}'
        | '\u{61b}'..='\u{64a}' | '\u{66d}'..='\u{66f}' | '\u{671}'..='\u{6d5}' | '\u{6e5}'..='\u{6e6}'
        | '\u{6ee}'..='\u{6ef}' | '\u{6fa}'..='\u{710}' | '\u{712}'..='\u{72f}' | '\u{74d}'..='\u{7a5}'
        | '\u{7b1}'..='\u{7ea}' | '\u{7f4}'..='\u{815}' | '\u{840}'..='\u{858}' | '\u{860}'..='\u{8c9}'
        | '\u{fb1d}' | '\u{fb1f}'..='\u{fb28}' | '\u{fb2a}'..='\u{fd3d}' | '\u{fd50}'..='\u{fdfc}'
        | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// Whether a character is written above or below the one before it.
fn is_attached(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}'..='\u{5c2}' | '\u{5c4}'..='\u{5c5}'
        | '\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{6d6}'..='\u{6dc}'
        | '\u{6df}'..='\u{6e4}' | '\u{6e7}'..='\u{6e8}' | '\u{6ea}'..='\u{6ed}' | '\u{711}' | '\u{730}'..='\u{74a}'
        | '\u{8d3}'..='\u{8ff}' | '\u{fb1e}')
}

/// Adds a character; of Hebrew and Arabic the letter itself and not its form at that place of a word.
pub(super) fn plain(c: char, out: &mut String) {
    match c {
        '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' => out.extend(std::iter::once(c).nfkc()),
        c => out.push(c),
    }
}

/// What cannot be cut: a letter with the signs above and below it, or a space.
struct Piece {
    text: String,
    from: f64,
    to: f64,
    gap: f64,
}

impl Piece {
    fn is_leftward(&self) -> bool {
        self.text.chars().any(is_strong)
    }

    /// Whether a sign at that place can belong to it.
    fn holds(&self, place: f64) -> bool {
        let near = (self.to - self.from) / 4.0;
        (self.from - near..=self.to + near).contains(&place)
    }

    /// Whether it is of a script that runs to the right, or a number.
    fn is_rightward(&self) -> bool {
        !self.is_leftward() && self.text.chars().any(|c| c.is_alphanumeric() && !is_attached(c))
    }
}

/// The text of a line in the order of reading, on a page most of whose words run from right to left or not.
pub(super) fn logical(line: &str, marks: Vec<Mark>, mostly_leftward: bool) -> String {
    let pieces = pieces(line, marks);
    let mut out = String::with_capacity(line.len() + 8);
    if mostly_leftward {
        let mut end = pieces.len();
        while end > 0 {
            let begin = pieces[..end].iter().rposition(Piece::is_rightward).map_or(0, |at| at + 1);
            reversed(&pieces[begin..end], &mut out);
            end = begin;
            // Signs beside words that run to the right belong to the text around them.
            let edge = pieces[..end].iter().rposition(Piece::is_leftward).map_or(0, |at| at + 1);
            let begin = edge + pieces[edge..end].iter().position(Piece::is_rightward).unwrap_or(end - edge);
            pieces[begin..end].iter().for_each(|piece| out.push_str(&piece.text));
            end = begin;
        }
    } else {
        let mut begin = 0;
        while begin < pieces.len() {
            let end =
                pieces[begin..].iter().position(Piece::is_leftward).map_or(pieces.len(), |at| begin + at);
            pieces[begin..end].iter().for_each(|piece| out.push_str(&piece.text));
            begin = end;
            let edge =
                pieces[begin..].iter().position(Piece::is_rightward).map_or(pieces.len(), |at| begin + at);
            let end =
                pieces[begin..edge].iter().rposition(Piece::is_leftward).map_or(begin, |at| begin + at + 1);
            reversed(&pieces[begin..end], &mut out);
            begin = end;
        }
    }
    out
}

/// The pieces of a line from left to right, with spaces where there are gaps.
fn pieces(line: &str, marks: Vec<Mark>) -> Vec<Piece> {
    let text = |mark: &Mark| line.get(mark.begin as usize..mark.end as usize).unwrap_or_default().trim();
    let mut drawn: Vec<Piece> = Vec::with_capacity(marks.len());
    let mut signs: Vec<(f64, &str)> = Vec::new();
    let mut waiting: Vec<(f64, &str)> = Vec::new();
    for mark in marks.iter().filter(|mark| !text(mark).is_empty()) {
        let text = text(mark);
        if text.chars().all(is_attached) {
            signs.push((f64::midpoint(mark.from, mark.to), text));
            continue;
        }
        let mut piece = Piece { text: text.to_owned(), from: mark.from, to: mark.to, gap: mark.gap };
        for (place, sign) in std::mem::take(&mut signs) {
            // In the order of reading a sign is drawn behind its letter; in the order of places, before it.
            let mut last = drawn.last_mut().filter(|last| last.holds(place));
            if piece.holds(place) && last.as_ref().is_none_or(|last| last.from < piece.from) {
                piece.text.push_str(sign);
            } else if let Some(last) = last.take() {
                last.text.push_str(sign);
            } else {
                waiting.push((place, sign));
            }
        }
        drawn.push(piece);
    }
    waiting.extend(signs);
    drawn.sort_by(|a, b| a.from.total_cmp(&b.from));
    for (place, sign) in waiting {
        let away = |piece: &Piece| (f64::midpoint(piece.from, piece.to) - place).abs();
        if let Some(nearest) = drawn.iter_mut().min_by(|a, b| away(a).total_cmp(&away(b))) {
            nearest.text.push_str(sign);
        }
    }
    let mut pieces: Vec<Piece> = Vec::with_capacity(drawn.len() + 8);
    for piece in drawn {
        if let Some(last) = pieces.last().filter(|last| piece.from - last.to > piece.gap.min(last.gap)) {
            let (from, to) = (last.to, piece.from);
            pieces.push(Piece { text: " ".to_owned(), from, to, gap: piece.gap });
        }
        pieces.push(piece);
    }
    pieces
}

/// Adds pieces from right to left; brackets then open where they closed.
fn reversed(pieces: &[Piece], out: &mut String) {
    for piece in pieces.iter().rev() {
        match piece.text.as_str() {
            "(" => out.push(')'),
            ")" => out.push('('),
            "[" => out.push(']'),
            "]" => out.push('['),
            "{" => out.push('}'),
            "}" => out.push('{'),
            "<" => out.push('>'),
            ">" => out.push('<'),
            "\u{ab}" => out.push('\u{bb}'),
            "\u{bb}" => out.push('\u{ab}'),
            text => out.push_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A line as a page shows it, each character one unit wide; spaces are gaps, signs stand on the letter before them.
    fn read(shown: &str, mostly_leftward: bool) -> String {
        let (mut line, mut marks, mut from) = (String::new(), Vec::new(), 0.0);
        for c in shown.chars() {
            let begin = line.len() as u32;
            line.push(c);
            let place = if is_attached(c) { from - 1.0 } else { from };
            marks.push(Mark { from: place, to: place + 1.0, gap: 0.1, begin, end: line.len() as u32 });
            from = place + 1.0;
        }
        logical(&line, marks, mostly_leftward)
    }

    #[test]
    fn words_come_in_the_order_of_reading() {
        for (shown, mostly_leftward, read_as) in [
            ("םולש", true, "שלום"),
            ("םלוע םולש", true, "שלום עולם"),
            // Numbers and words of other scripts run to the right in between, and spaces stay where they were.
            ("ב 12 abc א", true, "א 12 abc ב"),
            ("12-15 ב 2024", true, "2024 ב 12-15"),
            ("(.בא) ד", true, "ד (אב.)"),
            ("one בא two", false, "one אב two"),
            ("one דג בא, 2", false, "one אב גד, 2"),
            // Signs follow their letter.
            ("ב\u{5b8}א", true, "אב\u{5b8}"),
        ] {
            assert_eq!(read(shown, mostly_leftward), read_as, "{shown}");
        }
        let mut letters = String::new();
        plain('\u{fefb}', &mut letters);
        assert_eq!(letters, "\u{644}\u{627}", "forms of letters are letters");
    }

    proptest! {
        #[test]
        fn nothing_is_lost(shown in "[אבل\u{64b}12a.( ]{0,30}", mostly_leftward in any::<bool>()) {
            let letters = |text: &str| {
                let mut all: Vec<char> = text.chars().filter(|c| c.is_alphanumeric()).collect();
                all.sort_unstable();
                all
            };
            let read = read(&shown, mostly_leftward);
            // A sign without any letter belongs to nothing.
            if shown.chars().any(|c| !is_attached(c) && c != ' ') {
                prop_assert_eq!(letters(&read), letters(&shown));
            }
        }
    }
}
