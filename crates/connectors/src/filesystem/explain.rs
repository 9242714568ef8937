//! Answers to people who ask about one name: the verdict of the rules and of the kernel, in words.

use ingather_contract::call::CallContext;
use ingather_contract::repository::{Named, SourceStatus};
use ingather_kit::file_uri;
use ingather_model::fault::Reason;
use ingather_model::names;
use rustix::io::Errno;

use super::root::{self, RootPath, Stop};
use super::{Source, read};

/// The document that `text` names: below the root, by its absolute path, or by its URI.
pub(super) fn named(source: &Source, text: &str) -> Result<Named, Reason> {
    let refuse = |sentence: String| Err(Reason::new("key", sentence));
    let path = match text.strip_prefix("file://") {
        Some(_) => match file_uri::path_of(text) {
            Some(path) => path.into(),
            None => return refuse(format!("`{text}` is no URI of a file")),
        },
        // The name of a document never begins with a slash; an absolute path is taken by its bytes.
        None if text.starts_with('/') => match names::unescape(text) {
            Ok(path) => path,
            Err(_) => text.as_bytes().into(),
        },
        None => {
            let name = text.strip_prefix("./").unwrap_or(text);
            // What was made visible for a terminal names the same bytes.
            let plain = names::unescape(name).map_or(name.into(), |bytes| names::escape(&bytes).into_owned());
            return Ok(Named::of(plain));
        }
    };
    // Where it is goes before where outputs know it.
    let roots = [Some(&source.root), source.addresses.as_ref()];
    roots.into_iter().flatten().find_map(|root| below(source, root, &path)).ok_or_else(|| {
        Reason::new("outside", format!("`{text}` lies outside the source `{}`", source.root.text()))
    })
}

/// The document that a path below a root names.
fn below(source: &Source, root: &RootPath, path: &[u8]) -> Option<Named> {
    let mut above = root.bytes().to_vec();
    let is_file = source.base().is_some_and(|base| base.is_file);
    if path == above && is_file {
        return Some(Named::of(names::escape(source.root.name()).into_owned()));
    }
    if above.last() != Some(&b'/') {
        above.push(b'/');
    }
    let below = path.strip_prefix(above.as_slice()).filter(|below| !below.is_empty() && !is_file)?;
    Some(Named::of(names::escape(below).into_owned()))
}

/// How the name `key` stands now.
pub(super) fn explain(source: &Source, call: &CallContext, key: &str) -> SourceStatus {
    let root = match source.standing() {
        Ok(root) => root,
        Err(fault) => return SourceStatus::of_fault(fault, key),
    };
    let listed_by_name = root.is_file;
    let spot = match root::descend(source, root, key) {
        Ok(spot) => spot,
        Err(Stop::Left(reason)) => return SourceStatus::Left(reason),
        Err(Stop::Key(reason)) => return SourceStatus::Absent(reason),
        Err(Stop::Kernel(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG, _)) => {
            return absent(source, key);
        }
        Err(Stop::Kernel(errno, folder)) => {
            return SourceStatus::of_fault(
                root::fault(errno, &format!("folder `{folder}` above `{key}`")),
                key,
            );
        }
    };
    match spot.facts(source, key) {
        Ok((_, Some(reason))) => return SourceStatus::Left(reason),
        Ok((_, None)) => {}
        Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => return absent(source, key),
        Err(errno) => {
            let what = format!("{} above `{key}`", source.folder_of(key));
            return SourceStatus::of_fault(root::fault(errno, &what), key);
        }
    }
    // A listing meets the name only where it may list the folder.
    if !listed_by_name && let Err(errno) = root::open_folder(&spot.folder, b".") {
        return SourceStatus::of_fault(
            root::fault(errno, &format!("{} above `{key}`", source.folder_of(key))),
            key,
        );
    }
    if let Err(errno) = root::open_file(&spot.folder, &spot.name) {
        return SourceStatus::of_fault(root::fault(errno, &format!("`{key}`")), key);
    }
    match read::look(source, call, key) {
        Ok(observed) => SourceStatus::Taken(Box::new(observed)),
        Err(fault) => SourceStatus::of_fault(fault, key),
    }
}

/// With the path that was looked at: a person may have meant a name below another folder than the root.
fn absent(source: &Source, key: &str) -> SourceStatus {
    let path = source.path(key);
    let sentence = format!("`{key}` is not there: there is nothing at `{}`", names::escape(&path));
    SourceStatus::Absent(Reason::new("absent", sentence))
}
