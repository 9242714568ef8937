//! What tests of outputs share that are servers: a tree of files, their declarations, and what has to be in them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::files;
use crate::sandbox::{Answer, Sandbox};

/// A sandbox with so many files in five folders.
pub(super) fn with_files(count: usize) -> Sandbox {
    let sandbox = Sandbox::sqlite();
    (0..count).for_each(|n| sandbox.write(&format!("d{}/f{n:03}.txt", n % 5), &format!("text {n}")));
    files::settle(&sandbox.root());
    sandbox
}

/// Declares outputs, which are named `KIND:NAME`, with their settings.
pub(super) fn declare(sandbox: &Sandbox, all: &[(&str, Value)]) -> Answer {
    let file = sandbox.path().join("declaration.json");
    let declared = |(name, settings): &(&str, Value)| {
        let kind = name.split(':').next();
        ((*name).to_owned(), json!({"kind": kind, "settings": settings}))
    };
    let outputs: serde_json::Map<String, Value> = all.iter().map(declared).collect();
    std::fs::write(&file, json!({"version": 1, "outputs": outputs}).to_string()).unwrap();
    sandbox.run(&["apply", "-f", file.to_str().unwrap()])
}

/// What a run says of documents, by name.
pub(super) fn counted(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
    pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

/// The texts of the tree below a folder, by address.
pub(super) fn tree(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(tree(&path)),
            false => drop(
                found.insert(format!("file://{}", path.display()), std::fs::read_to_string(&path).unwrap()),
            ),
        }
    }
    found
}
