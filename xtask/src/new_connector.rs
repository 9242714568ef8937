//! `cargo x new-connector`: writes a small connector that works, and its two lines in the table of contents.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::built;

mod templates;

const FOLDER: &str = "crates/connectors/src";
const LIST: &str = "crates/connectors/src/lib.rs";
/// Where connectors are begun for a try; below a folder that no tool of ours reads.
const TRY_FOLDER: &str = "target/new-connector";
/// Words that cannot name a module.
const RESERVED: &[&str] = &[
    "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern", "false",
    "fn", "for", "gen", "if", "impl", "in", "let", "lib", "loop", "match", "mod", "move", "mut", "pub",
    "ref", "return", "self", "static", "struct", "super", "trait", "true", "type", "unsafe", "use", "where",
    "while", "abstract", "become", "box", "do", "final", "macro", "override", "priv", "try", "typeof",
    "unsized", "virtual", "yield",
];

/// A role, its constant in a connector's file, the list of its constants, and its text.
struct Role {
    name: &'static str,
    constant: &'static str,
    list: &'static str,
    template: &'static str,
}

const ROLES: &[Role] = &[
    Role {
        name: "repository",
        constant: "REPOSITORY",
        list: "REPOSITORIES",
        template: templates::REPOSITORY,
    },
    Role { name: "transform", constant: "TRANSFORM", list: "TRANSFORMS", template: templates::TRANSFORM },
    Role { name: "output", constant: "OUTPUT", list: "OUTPUTS", template: templates::OUTPUT },
    Role { name: "authority", constant: "AUTHORITY", list: "AUTHORITIES", template: templates::AUTHORITY },
];

/// Begins a connector in the workspace below `root`.
pub(crate) fn run(root: &Path, name: &str, role: &str) -> Result<String, String> {
    let role = ROLES.iter().find(|r| r.name == role).ok_or_else(|| {
        let names: Vec<&str> = ROLES.iter().map(|role| role.name).collect();
        format!("there is no role {role}: take one of {}", names.join(", "))
    })?;
    let first = name.starts_with(|c: char| c.is_ascii_lowercase());
    let plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !first || !plain || RESERVED.contains(&name) {
        return Err(format!(
            "{name:?} is no name for a connector: take lower-case letters, digits and _, such as rss"
        ));
    }
    let file = root.join(FOLDER).join(format!("{name}.rs"));
    if file.exists() || root.join(FOLDER).join(name).exists() {
        return Err(format!("{FOLDER}/{name}.rs exists already: change it, or take another name"));
    }
    let failed = |error: std::io::Error| format!("cannot write the connector: {error}");
    let list = std::fs::read_to_string(root.join(LIST)).map_err(failed)?;
    let list = listed(&list, name, role)?;
    // How lines break depends on the length of the name.
    let connector = role.template.replace("__name__", name).replace("__Type__", &type_name(name));
    let (connector, list) = (formatted(root, &connector)?, formatted(root, &list)?);
    std::fs::write(&file, connector).map_err(failed)?;
    std::fs::write(root.join(LIST), list).map_err(failed)?;
    Ok(format!(
        "wrote {FOLDER}/{name}.rs and its two lines in {LIST}\n\
         next: give it your settings and your calls, then `cargo test -p ingather-connectors {name}`,\n      \
         `cargo x generate` for its manual page, `cargo x ci`"
    ))
}

/// The table of contents with the new connector's `mod` line and its place in the list of its role.
fn listed(text: &str, name: &str, role: &Role) -> Result<String, String> {
    let text = with_module(text, name)?;
    let begin = format!("pub const {}: ", role.list);
    let missing = || format!("{LIST} has no line `{begin}…`: put it back");
    let start = text.find(&begin).ok_or_else(missing)?;
    let assigned = start + text[start..].find('=').ok_or_else(missing)?;
    let open = assigned + text[assigned..].find("&[").ok_or_else(missing)? + 2;
    let close = open + text[open..].find("];").ok_or_else(missing)?;
    let mut items = items(&text[open..close]);
    let at = items.iter().position(|item| connector_of(item) > name).unwrap_or(items.len());
    items.insert(at, format!("&{name}::{}", role.constant));
    let body = items.iter().fold("\n".to_owned(), |body, item| format!("{body}    {item},\n"));
    Ok(format!("{}{body}{}", &text[..open], &text[close..]))
}

/// The text as rustfmt has it under the rules of the workspace. The text alone, by its standard input: given a file, it
/// would also rewrite the modules that the file names.
fn formatted(root: &Path, text: &str) -> Result<String, String> {
    let failed = |error: std::io::Error| {
        format!("cannot run rustfmt: {error}: install it (`rustup component add rustfmt`)")
    };
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024"])
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut input = rustfmt.stdin.take().ok_or("rustfmt has no standard input")?;
    // It reads all before it writes: neither waits for the other.
    input.write_all(text.as_bytes()).map_err(failed)?;
    drop(input);
    let output = rustfmt.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        return Err(
            "rustfmt refuses the new connector: put xtask/src/new_connector/templates.rs right".to_owned()
        );
    }
    String::from_utf8(output.stdout).map_err(|_| "rustfmt wrote no UTF-8".to_owned())
}

/// Entries of a list, each with the attributes and comments above it.
fn items(body: &str) -> Vec<String> {
    let mut items = Vec::new();
    let mut rest = body.trim();
    while let Some(at) = rest.find('&') {
        let end = rest[at..].find(',').map_or(rest.len(), |n| at + n);
        items.push(rest[..end].trim().to_owned());
        rest = rest[(end + 1).min(rest.len())..].trim_start();
    }
    items
}

/// The module that an entry of a list is from.
fn connector_of(item: &str) -> &str {
    item.split('&').nth(1).and_then(|path| path.split("::").next()).unwrap_or_default()
}

/// The text with `mod name;` among its like, by name.
fn with_module(text: &str, name: &str) -> Result<String, String> {
    let lines: Vec<&str> = text.lines().collect();
    let module = |line: &str| {
        let rest = line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod ")?;
        rest.strip_suffix(';').map(str::to_owned)
    };
    let found: Vec<(usize, String)> =
        lines.iter().enumerate().filter_map(|(at, line)| module(line).map(|name| (at, name))).collect();
    let (last, _) = found.last().ok_or_else(|| format!("{LIST} has no `mod` line: put them back"))?;
    let at = match found.iter().find(|(_, other)| other.as_str() > name) {
        Some((at, _)) => {
            let above = lines[..*at]
                .iter()
                .rev()
                .take_while(|line| line.starts_with(['#', '/']) && !line.starts_with("//!"));
            at - above.count()
        }
        None => last + 1,
    };
    let new = format!("mod {name};");
    let mut out: Vec<&str> = lines[..at].to_vec();
    out.push(&new);
    out.extend(&lines[at..]);
    Ok(out.join("\n") + "\n")
}

/// `sql_table` → `SqlTable`.
fn type_name(name: &str) -> String {
    let parts = name.split('_').filter(|part| !part.is_empty());
    parts.map(|part| part[..1].to_uppercase() + &part[1..]).collect()
}

/// Begins one connector of each role in a copy of the workspace, and formats, lints, compiles and tests them there.
pub(crate) fn try_all(root: &Path) -> Result<String, String> {
    let copy = root.join(TRY_FOLDER);
    if copy.exists() {
        std::fs::remove_dir_all(&copy).map_err(|error| format!("cannot empty {TRY_FOLDER}: {error}"))?;
    }
    for name in ["Cargo.toml", "Cargo.lock", "clippy.toml", "rustfmt.toml", "bench", "crates", "xtask"] {
        copy_all(&root.join(name), &copy.join(name))
            .map_err(|error| format!("cannot copy {name}: {error}"))?;
    }
    // The check below is about the new lines, not about those that stand there.
    try_cargo(root, &copy, &["fmt", "--package", "ingather-connectors"])?;
    for role in ROLES {
        run(&copy, &format!("trial_{}", role.name), role.name)?;
    }
    try_cargo(root, &copy, &["fmt", "--package", "ingather-connectors", "--check"])?;
    // The program beside it has no library: it only chooses the features of other people's.
    let library = ["--quiet", "--package", "ingather-connectors", "--lib"];
    let library = [&library[..], &built::AS_IN_TESTS].concat();
    let lint = |more: &[&str]| {
        try_cargo(root, &copy, &[&["clippy"], &library[..], more, &["--", "-D", "warnings"]].concat())
    };
    lint(&[])?;
    lint(&["--profile", "test"])?;
    try_cargo(root, &copy, &[&["test"], &library[..], &["trial_"]].concat())?;
    std::fs::remove_dir_all(&copy).map_err(|error| format!("cannot remove {TRY_FOLDER}: {error}"))?;
    Ok(format!("new-connector: {} roles compile and keep their contracts", ROLES.len()))
}

/// Runs cargo in the copy; libraries from elsewhere were compiled in the project's own folder already.
fn try_cargo(root: &Path, copy: &Path, arguments: &[&str]) -> Result<(), String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| root.join("target").into());
    let mut command = Command::new("cargo");
    let status = built::as_by_a_shell(&mut command)
        .args(arguments)
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", target)
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if status.success() {
        return Ok(());
    }
    let advice = "put xtask/src/new_connector/templates.rs right";
    Err(format!("`cargo {}` fails in {TRY_FOLDER}: {advice}", arguments.join(" ")))
}

fn copy_all(from: &Path, to: &Path) -> std::io::Result<()> {
    if from.is_dir() {
        std::fs::create_dir_all(to)?;
        for entry in std::fs::read_dir(from)? {
            let name = entry?.file_name();
            copy_all(&from.join(&name), &to.join(&name))?;
        }
    } else {
        std::fs::create_dir_all(to.parent().unwrap_or(to))?;
        std::fs::copy(from, to)?;
        // As old as what was compiled from it: cargo compiles only what is new in the copy.
        std::fs::File::options().write(true).open(to)?.set_modified(from.metadata()?.modified()?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENTS: &str = "//! Contents.\n\nuse x;\n\nmod filesystem;\n#[cfg(feature = \"index\")]\nmod index;\nmod null;\n\n\
        /// R.\npub const REPOSITORIES: &[&RepositoryKind] = &[&filesystem::REPOSITORY];\n\
        pub const TRANSFORMS: &[&TransformKind] = &[];\n\
        pub const OUTPUTS: &[&OutputKind] = &[\n    #[cfg(feature = \"index\")]\n    &index::OUTPUT,\n    &null::OUTPUT,\n];\n";

    fn role(name: &str) -> &'static Role {
        ROLES.iter().find(|role| role.name == name).unwrap()
    }

    /// [`super::listed`] as it is written.
    fn listed(text: &str, name: &str, role: &Role) -> Result<String, String> {
        formatted(&crate::root(), &super::listed(text, name, role)?)
    }

    #[test]
    fn lines_go_where_the_alphabet_wants_them() {
        let text = listed(CONTENTS, "rss", role("repository")).unwrap();
        assert!(text.contains("mod null;\nmod rss;\n\n"), "{text}");
        assert!(text.contains("= &[&filesystem::REPOSITORY, &rss::REPOSITORY];"), "{text}");
        let text = listed(CONTENTS, "fields", role("transform")).unwrap();
        assert!(text.contains("\n\nmod fields;\nmod filesystem;"), "{text}");
        assert!(text.contains("TRANSFORMS: &[&TransformKind] = &[&fields::TRANSFORM];"), "{text}");
    }

    #[test]
    fn attributes_stay_with_what_they_belong_to() {
        let text = listed(CONTENTS, "gone", role("output")).unwrap();
        assert!(
            text.contains("mod filesystem;\nmod gone;\n#[cfg(feature = \"index\")]\nmod index;"),
            "{text}"
        );
        let list = "= &[\n    &gone::OUTPUT,\n    #[cfg(feature = \"index\")]\n    &index::OUTPUT,\n    &null::OUTPUT,\n];";
        assert!(text.contains(list), "{text}");
        let text = listed(CONTENTS, "journal", role("output")).unwrap();
        assert!(text.contains("    &index::OUTPUT,\n    &journal::OUTPUT,\n    &null::OUTPUT,\n"), "{text}");
    }

    #[test]
    fn a_list_that_gets_too_long_for_a_line_is_broken() {
        let mut text = CONTENTS.to_owned();
        for name in ["imap", "sharepoint", "wiki", "sql_table"] {
            text = listed(&text, name, role("repository")).unwrap();
        }
        assert!(
            text.contains("= &[\n    &filesystem::REPOSITORY,\n    &imap::REPOSITORY,\n    &sharepoint"),
            "{text}"
        );
    }

    #[test]
    fn a_list_that_fits_below_its_name_goes_there() {
        let text = listed(CONTENTS, "sharepoint_online_folders", role("repository")).unwrap();
        let list = "=\n    &[&filesystem::REPOSITORY, &sharepoint_online_folders::REPOSITORY];";
        assert!(text.contains(list), "{text}");
    }

    #[test]
    fn names_that_cannot_be_are_refused_and_nothing_is_written() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(FOLDER)).unwrap();
        std::fs::write(folder.path().join(LIST), CONTENTS).unwrap();
        for name in ["Rss", "", "7z", "a-b", "../x", "type", "lib"] {
            assert!(run(folder.path(), name, "repository").is_err(), "{name}");
        }
        assert!(run(folder.path(), "rss", "reader").is_err());
        assert_eq!(std::fs::read_to_string(folder.path().join(LIST)).unwrap(), CONTENTS);
        run(folder.path(), "sql_table", "repository").unwrap();
        let written = std::fs::read_to_string(folder.path().join(FOLDER).join("sql_table.rs")).unwrap();
        assert!(written.contains("name: \"sql_table\"") && written.contains("struct SqlTable"), "{written}");
        assert!(!written.contains("__"), "{written}");
        assert!(run(folder.path(), "sql_table", "output").is_err(), "it exists already");
    }
}
