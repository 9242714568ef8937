//! In which order people want their hits.

use ingather_model::fault::Fault;

/// Order of hits; entries without what orders them come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// What orders.
    pub by: SortBy,
    /// Smallest, oldest or first by letters first.
    pub ascending: bool,
}

/// What hits can be ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortBy {
    /// Last change.
    Modified,
    /// Creation.
    Created,
    /// Size.
    Size,
    /// Title, or file name where there is none.
    Title,
    /// Path as it is shown.
    Path,
}

impl Sort {
    /// Reads the name of a field, such as `modified`: newest or largest first, titles and paths by letters; `+` before it
    /// puts the smallest first, `-` the largest. None: by score.
    ///
    /// # Errors
    /// `Refused` with the names that there are.
    pub fn read(text: &str) -> Result<Option<Sort>, Fault> {
        let name = text.strip_prefix(['+', '-']).unwrap_or(text);
        let by = match name {
            "modified" => SortBy::Modified,
            "created" => SortBy::Created,
            "size" => SortBy::Size,
            "title" => SortBy::Title,
            "path" => SortBy::Path,
            "score" if name == text => return Ok(None),
            _ => {
                let message = format!(
                    "cannot sort by `{text}`; there are score, modified, created, size, title and path, with `+` before \
                     the last five for the smallest first, with `-` for the largest"
                );
                return Err(Fault::refused("query", message));
            }
        };
        let ascending = match text.as_bytes().first() {
            Some(b'+') => true,
            Some(b'-') => false,
            _ => matches!(by, SortBy::Title | SortBy::Path),
        };
        Ok(Some(Sort { by, ascending }))
    }
}
