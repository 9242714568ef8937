//! `cargo x tidy`: refuses what the project's rules forbid and no compiler sees. Each refusal says what to do instead.

use std::path::Path;

use crate::packages::{self, Package};
use crate::tree::Tree;

mod circle;
mod cited;
mod clock;
mod edges;
mod leftovers;
mod listed;
mod markdown;
mod messages;
mod naming;
mod retired;
mod size;
mod sql;
mod test_features;
mod unused;

/// Everything that rules look at.
#[derive(Debug, Default)]
pub(crate) struct World {
    /// The files.
    pub(crate) tree: Tree,
    /// The packages.
    pub(crate) packages: Vec<Package>,
}

/// One refusal.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// File or folder.
    pub(crate) path: String,
    /// Line, from 1; 0 when the whole is meant.
    pub(crate) line: usize,
    /// What is wrong and what to do instead.
    pub(crate) message: String,
}

type Rule = fn(&World) -> Vec<Finding>;

/// The rules, each with the word that its findings carry.
const RULES: &[(&str, Rule)] = &[
    ("file-length", size::files),
    ("function-length", size::functions),
    ("folder-size", size::folders),
    ("first-sentence", naming::first_sentences),
    ("file-name", naming::file_names),
    ("edge", edges::edges),
    ("heavy-library", edges::heavy),
    ("circle", circle::circles),
    ("markdown-path", markdown::paths),
    ("map", markdown::map),
    ("expect-not-allow", leftovers::allows),
    ("left-over", leftovers::left_overs),
    ("machine-path", leftovers::machine_paths),
    ("ignored-test", leftovers::ignored_tests),
    ("sleeping-test", leftovers::sleeps),
    ("log-message", messages::log_messages),
    ("terminal", messages::terminals),
    ("citation", cited::citations),
    ("plural", messages::plurals),
    ("clock", clock::clock),
    ("turns", clock::turns),
    ("wait", clock::wait),
    ("sql-twin", sql::twins),
    ("sql-move", sql::moves),
    ("sql-literal", sql::literals),
    ("unlisted-connector", listed::connectors),
    ("unchecked-connector", listed::suites),
    ("feature-of-tests", test_features::features),
    ("retired-word", retired::words),
    ("unused-dependency", unused::dependencies),
];

/// Checks the workspace below `root`.
pub(crate) fn run(root: &Path) -> Result<String, String> {
    let world = World { tree: Tree::read(root)?, packages: packages::read(root)? };
    let mut lines: Vec<String> = RULES
        .iter()
        .flat_map(|(name, rule)| rule(&world).into_iter().map(move |finding| (name, finding)))
        .map(|(name, f)| match f.line {
            0 => format!("{}: [{name}] {}", f.path, f.message),
            line => format!("{}:{line}: [{name}] {}", f.path, f.message),
        })
        .collect();
    lines.sort();
    match lines.len() {
        0 => Ok(format!("tidy: {} rules, {} files, nothing to say", RULES.len(), world.tree.files().count())),
        count => Err(format!("{}\ntidy: {count} to put right", lines.join("\n"))),
    }
}

/// A finding.
fn finding(path: &str, line: usize, message: impl Into<String>) -> Finding {
    Finding { path: path.to_owned(), line, message: message.into() }
}

/// Whether the file holds tests or what tests are made of.
fn for_tests(path: &str) -> bool {
    path.contains("/tests/")
        || path.contains("/benches/")
        || path.starts_with("crates/testkit/")
        || path.starts_with("crates/simulator/")
}

#[cfg(test)]
mod examples {
    //! What the tests of rules share: a world made up of a few files.

    use super::{Finding, Rule, World};
    use crate::tree::Tree;

    /// What `rule` finds in the files.
    pub(super) fn found(rule: Rule, files: &[(&str, &str)]) -> Vec<Finding> {
        rule(&World { tree: Tree::of(files), packages: Vec::new() })
    }

    /// Asserts that the rule refuses the first file, once, and takes the second.
    #[track_caller]
    pub(super) fn refuses(rule: Rule, bad: (&str, &str), good: (&str, &str)) {
        let findings = found(rule, &[bad]);
        assert_eq!(findings.len(), 1, "{bad:?} should be refused once: {findings:?}");
        assert_eq!(findings[0].path, bad.0);
        assert!(findings[0].message.len() > 20, "says what to do: {}", findings[0].message);
        assert_eq!(found(rule, &[good]), [], "{good:?} should be taken");
    }

    #[test]
    fn rules_have_names_of_their_own() {
        let names: std::collections::BTreeSet<&str> = super::RULES.iter().map(|(name, _)| *name).collect();
        assert_eq!(names.len(), super::RULES.len());
    }
}
