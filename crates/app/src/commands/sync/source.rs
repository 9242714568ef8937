//! What a `sync` names: the own path of a folder or file, or the one spelling of an address.

use std::path::{Path, PathBuf};

use ingather_web::urls::UrlRules;

use crate::exit::{Failure, Result};

/// Beginnings of addresses that sources are read from.
const ADDRESSES: &[&str] =
    &["http://", "https://", "feed+http://", "feed+https://", "wiki+http://", "wiki+https://"];

/// The source's own path: links in it are resolved, so that one folder has one name. An address has one spelling.
pub(in crate::commands) fn canonical(source: &Path) -> Result<PathBuf> {
    let text = source.to_string_lossy();
    if text.contains("://") {
        return address(&text).map(PathBuf::from);
    }
    match std::fs::canonicalize(source) {
        Ok(path) => Ok(path),
        // A root that is missing now may be that of a job; its parent gives the name.
        Err(error) => {
            let absolute =
                std::path::absolute(source).map_err(|_| Failure::usage(format!("{text}: {error}")))?;
            let parent = absolute.parent().and_then(|parent| std::fs::canonicalize(parent).ok());
            Ok(match (parent, absolute.file_name()) {
                (Some(parent), Some(name)) => parent.join(name),
                _ => absolute,
            })
        }
    }
}

fn address(text: &str) -> Result<String> {
    if !ADDRESSES.iter().any(|begin| text.starts_with(begin)) {
        let sentence = format!(
            "{text}: this version reads folders and files, web sites (https://…, http://…), feeds (feed+https://…, feed+http://…) and wikis (wiki+https://…/api.php)"
        );
        return Err(Failure::usage(sentence));
    }
    let kinds = ["feed+", "wiki+"];
    let kind = kinds.into_iter().find(|kind| text.starts_with(kind)).unwrap_or_default();
    let address = &text[kind.len()..];
    let url = UrlRules::default()
        .normalise(address)
        .map_err(|why| Failure::usage(format!("{text}: {}", why.message)))?;
    Ok(format!("{kind}{url}"))
}
