//! Lines of a page become its text: words that a line cuts are joined, and where marks are wanted, larger lines are headings.

use super::lines::Row;
use crate::page::TextSink;

/// A line is a heading when its font is larger than that of most letters by these factors; each is the next lower level.
const HEADINGS: &[(f64, u8)] = &[(1.8, 1), (1.4, 2), (1.15, 3)];
/// Letters of a heading.
const HEADING_LETTERS_MAX: usize = 200;
/// Sizes of letters on one page that are told apart.
const SIZES_MAX: usize = 1_000;
/// A line that stands so many sizes of its font below the one before begins a paragraph.
const PARAGRAPH_STEP: f64 = 1.7;
/// The same below a heading.
const HEADING_STEP: f64 = 1.4;

/// Writes the lines of a page.
pub(super) fn write(rows: &[Row], page: &mut TextSink<'_>) {
    if !page.is_marked() {
        let mut text = String::new();
        rows.iter().for_each(|row| join(&mut text, row.text.trim_end()));
        page.line_break();
        page.text(&text);
        return page.line_break();
    }
    let usual = usual_size(rows);
    let level = |row: &Row| {
        let short =
            row.text.chars().count() <= HEADING_LETTERS_MAX && row.text.chars().any(char::is_alphabetic);
        HEADINGS.iter().find(|(factor, _)| short && row.size >= usual * factor).map(|(_, level)| *level)
    };
    let mut at = 0;
    while at < rows.len() {
        let begin = at;
        let own = level(&rows[begin]);
        at += 1;
        // A heading may have several lines, and a paragraph has.
        let step = if own.is_some() { HEADING_STEP } else { PARAGRAPH_STEP };
        while at < rows.len() && level(&rows[at]) == own && rows[at].above < rows[at].size.max(0.1) * step {
            at += 1;
        }
        let mut text = String::new();
        rows[begin..at].iter().for_each(|row| join(&mut text, row.text.trim_end()));
        match own {
            Some(level) => page.title_line(level, &text.replace('\n', " ")),
            None => {
                page.paragraph();
                page.text(&text);
                page.line_break();
            }
        }
    }
}

/// The size in which most letters of a page are set.
fn usual_size(rows: &[Row]) -> f64 {
    let mut sizes: Vec<(f64, usize)> = Vec::new();
    for row in rows {
        let letters = row.text.chars().count();
        let known = sizes.iter().position(|(size, _)| (size - row.size).abs() < size.max(0.1) * 0.02);
        match known {
            Some(at) => sizes[at].1 += letters,
            None if sizes.len() < SIZES_MAX => sizes.push((row.size, letters)),
            None => {}
        }
    }
    sizes.into_iter().max_by_key(|(_, count)| *count).map_or(0.0, |(size, _)| size)
}

/// Adds a line to a text. A word that is cut by the end of its line is one word.
fn join(text: &mut String, line: &str) {
    let mut before = text.chars().rev();
    let cut =
        matches!(before.next(), Some('-' | '\u{2010}')) && before.next().is_some_and(char::is_lowercase);
    if cut && line.starts_with(char::is_lowercase) {
        text.pop();
    } else if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}
