//! Documents of jobs that were moved: a query names where they are, and their entries have the addresses from before.

use std::borrow::Cow;

use ingather_contract::search::MovedJob;
use ingather_kit::file_uri;
use ingather_model::document::INSIDE;
use ingather_model::names;

use crate::query::{Node, TextField};

/// What was written of a path or a URI, and what has other addresses there.
pub(super) fn also(moved: &[MovedJob], field: TextField, text: String, prefix: bool, bare: bool) -> Node {
    let found: Vec<Node> = moved
        .iter()
        .filter_map(|job| {
            let all = Node::Jobs(vec![job.job]);
            let address = match &field {
                TextField::Uri => by_uri(job, &text, prefix)?,
                _ => by_path(job, &text, prefix)?,
            };
            let Some(text) = address else { return Some(all) };
            Some(Node::And(vec![all, Node::Text { field: field.clone(), text, prefix, bare }]))
        })
        .collect();
    let written = Node::Text { field, text, prefix, bare };
    match found.is_empty() {
        true => written,
        false => Node::Or(std::iter::once(written).chain(found).collect()),
    }
}

/// What a URI of a place is as an address of this job; none of it for all that the job has.
fn by_uri(job: &MovedJob, text: &str, prefix: bool) -> Option<Option<String>> {
    let (place, address) = (job.place.trim_end_matches('/'), job.address.trim_end_matches('/'));
    match text.strip_prefix(place) {
        Some("") => Some((!prefix).then(|| address.to_owned())),
        Some(below) => below.starts_with(['/', '#']).then(|| Some(format!("{address}{below}"))),
        None => (prefix && place.starts_with(text)).then_some(None),
    }
}

/// The same for a path, which means what is at it or below it.
fn by_path(job: &MovedJob, text: &str, prefix: bool) -> Option<Option<String>> {
    if !text.starts_with('/') {
        return None;
    }
    let shown = |uri: &str| {
        let path = file_uri::path_of(uri)?;
        Some(names::escape(&path).trim_end_matches('/').to_owned())
    };
    let (place, address) = (shown(&job.place)?, shown(&job.address)?);
    let bytes = names::unescape(text).unwrap_or(Cow::Borrowed(text.as_bytes()));
    let text = names::escape(&bytes);
    let text = if prefix { &text } else { text.trim_end_matches('/') };
    match text.strip_prefix(&place) {
        Some("") => Some(None),
        Some(below) if below.starts_with('/') || below.starts_with(INSIDE) => {
            Some(Some(format!("{address}{below}")))
        }
        Some(_) => None,
        None => {
            let rest = place.strip_prefix(text)?;
            (prefix || rest.starts_with('/')).then_some(None)
        }
    }
}
