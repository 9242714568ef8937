//! What Markdown says of itself.

use ingather_model::limits;

use crate::{decode, page};

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
                    .map(|title| page::clean(&title[..decode::boundary(title, limits::TITLE_BYTES_MAX)]));
                if let Some(title) = title.filter(|title| !title.trim().is_empty()) {
                    return Some(title.trim().to_owned());
                }
            }
            _ => {}
        }
    }
    None
}
