//! A file says what it is for: by its name, and by its first sentence.

use super::{Finding, World, finding};

/// Names that say nothing about what is inside; such files become attics.
const FORBIDDEN: &[&str] = &[
    "util", "utils", "common", "helper", "helpers", "manager", "misc", "types", "traits", "shared", "stuff",
];

/// Every Rust file begins with a sentence about itself.
pub(super) fn first_sentences(world: &World) -> Vec<Finding> {
    let silent = |(path, text): (&str, &str)| {
        let paragraph: Vec<&str> = text
            .lines()
            .map_while(|line| line.strip_prefix("//!"))
            .map(str::trim)
            .take_while(|line| !line.is_empty())
            .collect();
        let sentence = paragraph.join(" ");
        let is_one = sentence.contains(' ') && sentence.ends_with(['.', '!', '?', ':']);
        (!is_one)
            .then(|| finding(path, 1, "begin the file with `//!` and a sentence that says why it exists"))
    };
    world.tree.ending(".rs").filter_map(silent).collect()
}

/// No file or folder of code has a name that says nothing.
pub(super) fn file_names(world: &World) -> Vec<Finding> {
    let unnamed = |(path, _): (&str, &str)| {
        let stems = path.split('/').map(|part| part.split('.').next().unwrap_or_default());
        let word = stems.into_iter().find(|stem| FORBIDDEN.contains(stem))?;
        Some(finding(
            path,
            0,
            format!("`{word}` says nothing: name the file after what it is responsible for"),
        ))
    };
    world
        .tree
        .files()
        .filter(|(path, _)| path.ends_with(".rs") || path.ends_with(".sql"))
        .filter_map(unnamed)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::examples::refuses;
    use super::*;

    #[test]
    fn a_file_without_a_first_sentence_is_refused() {
        refuses(
            first_sentences,
            ("a.rs", "use b;\n"),
            ("a.rs", "//! What a thing is:\n//! two lines.\n\nuse b;\n"),
        );
        refuses(first_sentences, ("a.rs", "//! placeholder\n"), ("a.rs", "//! Reads a thing.\n"));
    }

    #[test]
    fn a_name_that_says_nothing_is_refused() {
        refuses(file_names, ("crates/a/src/util.rs", ""), ("crates/a/src/utility_bill.rs", ""));
        refuses(file_names, ("crates/a/src/common/x.rs", ""), ("docs/common/x.md", ""));
    }
}
