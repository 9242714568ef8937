//! Files, functions and folders stay small enough to be read at once.

use super::{Finding, World, finding};
use crate::scan;

const FILE_LINES_MAX: usize = 500;
/// Endings of the files that people read as code.
const CODE: &[&str] = &[".rs", ".py", ".ts", ".mjs"];
const FUNCTION_LINES_MAX: usize = 70;
const FOLDER_ENTRIES_MAX: usize = 20;
/// What the lines say that a generated part stands between.
const GENERATED: (&str, &str) = (" generated: ", " end of what is generated");
/// How a file that is a table says so in its first line.
const TABLE: &str = "//! table:";

/// Folders that may be long, by a part of their path: each entry is one of a list, not a part of a design.
const LONG_FOLDERS: &[(&str, &str)] = &[
    ("sql", "one statement each"),
    ("migrations", "one step each"),
    ("crates/connectors/src", "one connector each"),
    ("docs/generated/connectors", "one connector each"),
    ("scenarios", "one case each"),
    ("migrations", "one step each, and none is taken away"),
    ("decisions", "one decision each"),
];

/// No file over 500 lines.
pub(super) fn files(world: &World) -> Vec<Finding> {
    let long = |(path, text): (&str, &str)| {
        let lines = text.lines().count() - generated(text);
        (lines > FILE_LINES_MAX && !text.starts_with(TABLE)).then(|| {
            let advice = "split it by responsibility; a table says `//! table:` in its first line";
            finding(path, 0, format!("{lines} lines, {FILE_LINES_MAX} at most: {advice}"))
        })
    };
    CODE.iter().flat_map(|ending| world.tree.ending(ending)).filter_map(long).collect()
}

/// Lines of a part that `cargo x generate` writes: nobody reads them as code.
fn generated(text: &str) -> usize {
    let begin = text.lines().position(|line| line.contains(GENERATED.0));
    let end = text.lines().position(|line| line.ends_with(GENERATED.1));
    begin.zip(end).map_or(0, |(begin, end)| end.saturating_sub(begin))
}

/// No function over 70 lines.
pub(super) fn functions(world: &World) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in world.tree.ending(".rs").filter(|(_, text)| !text.starts_with(TABLE)) {
        let code = scan::mask(text);
        for function in scan::functions(&code).iter().filter(|f| f.lines > FUNCTION_LINES_MAX) {
            let advice = "give its steps names of their own";
            let message = format!(
                "function {} has {} lines, {FUNCTION_LINES_MAX} at most: {advice}",
                function.name, function.lines
            );
            findings.push(finding(path, scan::line_of(text, function.at), message));
        }
    }
    findings
}

/// No folder with over 20 entries.
pub(super) fn folders(world: &World) -> Vec<Finding> {
    let listed = |folder: &str| {
        LONG_FOLDERS.iter().any(|(part, _)| format!("/{folder}/").contains(&format!("/{part}/")))
    };
    let folders = world.tree.folders();
    let long =
        folders.iter().filter(|(folder, entries)| entries.len() > FOLDER_ENTRIES_MAX && !listed(folder));
    long.map(|(folder, entries)| {
        let name = if folder.is_empty() { "." } else { folder };
        let advice = "group what belongs together in folders";
        finding(name, 0, format!("{} entries, {FOLDER_ENTRIES_MAX} at most: {advice}", entries.len()))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::super::examples::{found, refuses};
    use super::*;

    #[test]
    fn a_long_file_is_refused_unless_it_is_a_table() {
        let long = "x\n".repeat(501);
        let table = format!("//! table: of things.\n{long}");
        refuses(files, ("a.rs", &long), ("a.rs", &table));
        assert_eq!(found(files, &[("a.rs", &"x\n".repeat(500))]), []);
        assert_eq!(found(files, &[("a.py", &long), ("a.ts", &long)]).len(), 2);
        let made = format!("# generated: types\n{long}# end of what is generated\n{}", "x\n".repeat(499));
        assert_eq!(found(files, &[("a.py", &made)]), []);
    }

    #[test]
    fn a_long_function_is_refused() {
        let of = |lines: usize| format!("//! A.\nfn long() {{\n{}}}\n", "x();\n".repeat(lines - 2));
        refuses(functions, ("a.rs", &of(71)), ("a.rs", &of(70)));
        assert_eq!(found(functions, &[("a.rs", &of(71))])[0].line, 2);
    }

    #[test]
    fn a_crowded_folder_is_refused_unless_it_is_a_list() {
        let names: Vec<String> = (0..21).map(|n| format!("crates/a/{n}.rs")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
        assert_eq!(found(folders, &files).len(), 1);
        assert_eq!(found(folders, &files[1..]), []);
        let names: Vec<String> = (0..21).map(|n| format!("crates/store/sql/job/{n}.sql")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
        assert_eq!(found(folders, &files), []);
    }
}
