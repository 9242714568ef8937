//! Where what was typed for a document leads: as the shell completes it where a person stands.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ingather_model::names;

use crate::arguments::values;

/// The name that was typed, and the path that it leads to from the current folder, written as names are; none for an address.
pub(super) fn typed(typed: &OsStr) -> (String, Option<String>) {
    let name = values::name(typed).into_owned();
    let path = (!name.contains("://")).then(|| real(&name)).flatten();
    let path = path.map(|path| names::escape(path.as_os_str().as_bytes()).into_owned());
    (name, path)
}

/// What was typed taken byte by byte, where that is something else than what [`typed`] reads in it: a name may have what `\xE9` is typed for.
pub(super) fn literally(typed: &OsStr) -> Option<(String, Option<String>)> {
    let text = typed.to_str().filter(|text| text.contains('\\') && !text.contains("://"))?;
    let literal = names::escape(text.as_bytes());
    let is_other = names::unescape(text).map_or(true, |bytes| bytes != text.as_bytes());
    is_other.then(|| self::typed(OsStr::new(literal.as_ref())))
}

/// The path that a name leads to from the current folder: links in the folders above it are resolved as far as there are
/// folders, the name itself is taken as it is.
fn real(name: &str) -> Option<PathBuf> {
    let bytes = names::unescape(name).unwrap_or_else(|_| name.as_bytes().into());
    let path = std::path::absolute(Path::new(OsStr::from_bytes(&bytes))).ok()?;
    let Some(last) = path.file_name() else { return std::fs::canonicalize(&path).ok() };
    let above = path.parent()?;
    let (there, folder) =
        above.ancestors().find_map(|folder| Some((folder, std::fs::canonicalize(folder).ok()?)))?;
    Some(folder.join(above.strip_prefix(there).ok()?).join(last))
}
