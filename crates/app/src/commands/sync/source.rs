//! What a `sync` names: the own path of a folder or file, or the one spelling of an address.

use std::path::{Path, PathBuf};

use ingather_web::urls::UrlRules;

use crate::exit::{Failure, Result};

/// Beginnings of addresses that sources are read from.
const ADDRESSES: &[&str] =
    &["http://", "https://", "feed+http://", "feed+https://", "wiki+http://", "wiki+https://"];

/// Beginning of names of sources that applications push into. A folder of such a name is written as `./push:…`.
const PUSHED: &str = "push:";

/// The source's own path: links in it are resolved, so that one folder has one name. An address has one spelling.
pub(in crate::commands) fn canonical(source: &Path) -> Result<PathBuf> {
    let text = source.to_string_lossy();
    if text.contains("://") {
        return address(&text).map(PathBuf::from);
    }
    if text.starts_with(PUSHED) {
        return Ok(source.to_owned());
    }
    match std::fs::canonicalize(source) {
        Ok(path) => Ok(path),
        // A root that is missing now may be that of a job; its parent gives the name.
        Err(error) => {
            refuse_without_scheme(&text)?;
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

/// Refuses what is no folder and reads like an address whose scheme was left out.
fn refuse_without_scheme(text: &str) -> Result<()> {
    let (feed, address) = text.strip_prefix("feed+").map_or(("", text), |address| ("feed+", address));
    let host = address.split('/').next().unwrap_or_default();
    let bare = host.split(':').next().unwrap_or_default();
    let has_port = host.split_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let is_address = !feed.is_empty()
        || (bare.starts_with("www.") && bare.len() > "www.".len())
        || bare.parse::<std::net::Ipv4Addr>().is_ok()
        || (bare == "localhost" && has_port);
    match is_address {
        false => Ok(()),
        true => Err(Failure::usage(format!(
            "there is no folder {text}; where a site or feed is meant, name it with its scheme: {feed}https://{address}"
        ))),
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
    let authority = address.split_once("://").and_then(|(_, rest)| rest.split(['/', '?', '#']).next());
    if authority.is_some_and(|authority| authority.contains('@')) {
        return Err(Failure::usage(
            "an address holds no name and no password; leave them out, and give them in the setting `credentials` (docs/manual/web.md)",
        ));
    }
    let url = UrlRules::default()
        .normalise(address)
        .map_err(|why| Failure::usage(format!("{text}: {}", why.message)))?;
    Ok(format!("{kind}{url}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_its_scheme_is_told_from_a_folder_that_is_not_there() {
        for (text, meant) in [
            ("www.example.org/a", Some("https://www.example.org/a")),
            ("127.0.0.1:18080/a/", Some("https://127.0.0.1:18080/a/")),
            ("localhost:8080", Some("https://localhost:8080")),
            ("feed+127.0.0.1:18080/a", Some("feed+https://127.0.0.1:18080/a")),
            ("absent.folder", None),
            ("docs/www.example.org", None),
            ("localhost", None),
        ] {
            let said = canonical(Path::new(text)).err().map(|failure| failure.to_string());
            match meant {
                Some(meant) => {
                    assert!(said.as_ref().is_some_and(|said| said.contains(meant)), "{text}: {said:?}")
                }
                None => assert_eq!(said, None, "{text}"),
            }
        }
    }

    #[test]
    fn a_password_in_an_address_is_refused_and_not_told() {
        let said = canonical(Path::new("https://ann:narwhal@example.org/")).unwrap_err().to_string();
        assert!(said.contains("`credentials`") && !said.contains("narwhal"), "{said}");
        assert!(canonical(Path::new("https://example.org/@ann")).is_ok());
    }
}
