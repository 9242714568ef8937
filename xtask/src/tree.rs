//! The source tree as rules see it: paths and texts in memory, so that a test can make one up.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Folders that hold nothing hand-written.
const SKIPPED: &[&str] = &[".git", "target", ".test", "demo-data", "node_modules"];
/// Endings of the files whose text is looked at; of others only the name counts.
const TEXTS: &[&str] = &[
    "rs", "md", "toml", "sql", "sh", "py", "ts", "mjs", "tsv", "txt", "yml", "yaml", "json", "run",
    "Makefile",
];
/// Longest text that is looked at, bytes; longer files are data.
const TEXT_BYTES_MAX: u64 = 4 << 20;

/// Files by path below the root, with `/`.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// Reads the tree below `root`.
    pub(crate) fn read(root: &Path) -> Result<Tree, String> {
        let mut tree = Tree::default();
        tree.read_folder(root, "")?;
        Ok(tree)
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type().map_err(failed)?;
            let path = format!("{prefix}{name}");
            if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
                self.read_folder(&entry.path(), &format!("{path}/"))?;
            } else if kind.is_file() && !SKIPPED.contains(&name.as_str()) {
                let wanted = TEXTS.contains(&name.rsplit('.').next().unwrap_or_default())
                    && entry.metadata().map_err(failed)?.len() <= TEXT_BYTES_MAX;
                let bytes = if wanted { std::fs::read(entry.path()).map_err(failed)? } else { Vec::new() };
                self.files.insert(path, String::from_utf8(bytes).unwrap_or_default());
            }
        }
        Ok(())
    }

    /// A tree made of `(path, text)`.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Tree {
        Tree { files: files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect() }
    }

    /// All files.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Files with one of the endings `(".rs")`.
    pub(crate) fn ending<'a>(&'a self, ending: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files().filter(move |(path, _)| path.ends_with(ending))
    }

    /// The text of a file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Whether a file or folder of that name exists.
    pub(crate) fn exists(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        self.files.contains_key(path)
            || self
                .files
                .range(format!("{path}/")..)
                .next()
                .is_some_and(|(next, _)| next.starts_with(&format!("{path}/")))
    }

    /// Names of the folders at the top.
    pub(crate) fn top(&self) -> BTreeSet<&str> {
        self.files.keys().filter_map(|path| path.split_once('/')).map(|(top, _)| top).collect()
    }

    /// Entries (files and folders) of each folder that has any; the root is "".
    pub(crate) fn folders(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut folders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for path in self.files.keys() {
            let mut rest = path.as_str();
            while let Some((folder, name)) = rest.rsplit_once('/') {
                folders.entry(folder).or_default().insert(name);
                rest = folder;
            }
            folders.entry("").or_default().insert(rest);
        }
        folders
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_exist_by_what_is_in_them() {
        let tree = Tree::of(&[("a/b/c.rs", ""), ("a/bd.rs", "")]);
        assert!(tree.exists("a/b/") && tree.exists("a/b") && tree.exists("a/bd.rs"));
        assert!(!tree.exists("a/bd") && !tree.exists("b"));
        assert_eq!(tree.folders()["a"], BTreeSet::from(["b", "bd.rs"]));
        assert_eq!(tree.top(), BTreeSet::from(["a"]));
    }

    #[test]
    fn what_is_built_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("target/debug")).unwrap();
        std::fs::write(folder.path().join("target/debug/x.rs"), "x").unwrap();
        std::fs::write(folder.path().join("y.rs"), "y").unwrap();
        let tree = Tree::read(folder.path()).unwrap();
        assert_eq!(tree.files().collect::<Vec<_>>(), [("y.rs", "y")]);
    }
}
