//! What Markdown says of itself, and the marks that readers write.

use ingather_model::limits;

use crate::decode;

/// What stands before and after the number of a page.
const PAGE: (&str, &str) = ("<!-- page ", " -->");

/// The line that says which page of a document begins.
pub fn page_mark(number: usize) -> String {
    format!("{}{number}{}", PAGE.0, PAGE.1)
}

/// The page that begins at a line, if it says so.
pub fn page_of(line: &str) -> Option<usize> {
    line.trim().strip_prefix(PAGE.0)?.strip_suffix(PAGE.1)?.parse().ok()
}

/// Level and words of the heading that a line is.
pub fn heading(line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    let words = rest.strip_prefix(' ').filter(|_| (1..=6).contains(&level))?;
    Some((level, words.trim_end().trim_end_matches('#').trim()))
}

/// The first heading of the first level that is not inside a block of code, at most [`limits::TITLE_BYTES_MAX`] bytes of it,
/// without control characters.
pub fn title(text: &str) -> Option<String> {
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let line = line.trim_end();
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => {
                let title = line.strip_prefix("# ").map(|title| title.trim_end_matches('#').trim());
                let title = title
                    .map(|title| decode::clean(&title[..decode::boundary(title, limits::TITLE_BYTES_MAX)]));
                if let Some(title) = title.filter(|title| !title.trim().is_empty()) {
                    return Some(title.trim().to_owned());
                }
            }
            _ => {}
        }
    }
    None
}
