//! `cargo x generate`: pages that are made from tables and code, so that they cannot drift from them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::built;
use crate::coverage;
use crate::tree::Tree;

/// Everything below it is generated; what no table makes any more is removed.
const FOLDER: &str = "docs/generated/";
const REPAIR: &str = "run `cargo x generate` and commit what it writes";

/// Writes the pages below `root`, or with `check` fails when one differs.
pub(crate) fn run(root: &Path, check: bool) -> Result<String, String> {
    let tree = Tree::read(root)?;
    let specification = root.parent().map(|beside| beside.join("shared/spec/coverage.md"));
    let specification = specification.and_then(|path| std::fs::read_to_string(path).ok());
    let mut pages = made_by_the_product(root)?;
    pages.insert(coverage::PAGE.to_owned(), coverage::page(&tree, specification.as_deref())?);
    let changes = changes(&tree, &pages);
    if check && !changes.is_empty() {
        let lines: Vec<String> = changes.iter().map(|change| change.sentence()).collect();
        return Err(format!("{}\n{REPAIR}", lines.join("\n")));
    }
    for change in &changes {
        change.carry_out(root)?;
    }
    Ok(format!("generate: {} pages, {} changed", pages.len(), changes.len()))
}

/// A page that is not as it should be.
#[derive(Debug, PartialEq, Eq)]
enum Change<'a> {
    Write { path: &'a str, text: &'a str },
    Remove { path: &'a str },
}

impl Change<'_> {
    fn sentence(&self) -> String {
        match self {
            Change::Write { path, .. } => format!("{path} is not up to date"),
            Change::Remove { path } => format!("{path} is made by nothing any more"),
        }
    }

    fn carry_out(&self, root: &Path) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.sentence());
        match self {
            Change::Write { path, text } => {
                let file = root.join(path);
                std::fs::create_dir_all(file.parent().unwrap_or(root)).map_err(failed)?;
                std::fs::write(file, text).map_err(failed)
            }
            Change::Remove { path } => std::fs::remove_file(root.join(path)).map_err(failed),
        }
    }
}

fn changes<'a>(tree: &'a Tree, pages: &'a BTreeMap<String, String>) -> Vec<Change<'a>> {
    let written = pages.iter().filter(|(path, text)| tree.text(path) != Some(text.as_str()));
    let written = written.map(|(path, text)| Change::Write { path, text });
    let stale = tree.files().filter(|(path, _)| path.starts_with(FOLDER) && !pages.contains_key(*path));
    written.chain(stale.map(|(path, _)| Change::Remove { path })).collect()
}

/// Pages of the program `pages`, which knows the product's tables.
fn made_by_the_product(root: &Path) -> Result<BTreeMap<String, String>, String> {
    let pages = ["--package", "xtask", "--features", "xtask/pages", "--bin", "pages"];
    let program = built::build(root, &[&pages[..], &built::AS_IN_TESTS].concat())?.program("pages")?;
    let mut command = Command::new(&program);
    let output = command.current_dir(root).stderr(std::process::Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    if !output.status.success() {
        return Err(format!("{} failed ({})", program.display(), output.status));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("the program `pages` answered something else: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_written_and_what_nothing_makes_is_removed() {
        let tree = Tree::of(&[
            ("docs/generated/a.md", "a"),
            ("docs/generated/b.md", "old"),
            ("docs/generated/c.md", "c"),
        ]);
        let pages: BTreeMap<String, String> =
            [("docs/generated/a.md", "a"), ("docs/generated/b.md", "b"), ("docs/x.md", "x")]
                .map(|(path, text)| (path.to_owned(), text.to_owned()))
                .into();
        let expected = [
            Change::Write { path: "docs/generated/b.md", text: "b" },
            Change::Write { path: "docs/x.md", text: "x" },
            Change::Remove { path: "docs/generated/c.md" },
        ];
        assert_eq!(changes(&tree, &pages), expected);
    }

    #[test]
    fn changes_reach_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        Change::Write { path: "docs/generated/n/a.md", text: "a" }.carry_out(folder.path()).unwrap();
        assert_eq!(std::fs::read_to_string(folder.path().join("docs/generated/n/a.md")).unwrap(), "a");
        Change::Remove { path: "docs/generated/n/a.md" }.carry_out(folder.path()).unwrap();
        assert!(!folder.path().join("docs/generated/n/a.md").exists());
    }
}
