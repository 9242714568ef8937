//! Log messages read alike: lower case, no full stop. What the program says is made safe for a terminal first.

use super::{Finding, World, finding};
use crate::scan::{line_of, mask, words};

const MACROS: &[&str] = &["error!(", "warn!(", "info!(", "debug!(", "trace!("];

/// The message of every log call.
pub(super) fn log_messages(world: &World) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in world.tree.ending(".rs") {
        let code = mask(text);
        for at in
            MACROS.iter().flat_map(|call| words(&code, call).map(|at| at + call.len()).collect::<Vec<_>>())
        {
            let Some(message) = message(text, &code, at) else { continue };
            let name = message.split([' ', '(']).next().unwrap_or_default();
            // A word with more than one capital is a name, such as SQLite.
            let capital = name.starts_with(char::is_uppercase)
                && name.chars().filter(|c| c.is_uppercase()).count() == 1;
            if capital || message.ends_with('.') {
                findings.push(finding(
                    path,
                    line_of(text, at),
                    "write log messages in lower case and without a full stop",
                ));
            }
        }
    }
    findings
}

/// Ways to a terminal.
const TERMINAL: &[&str] =
    &["print!(", "println!(", "eprint!(", "eprintln!(", "stdout()", "stderr()", ".print()"];

/// What the program writes to a terminal goes through its one door, which makes text from documents safe.
pub(super) fn terminals(world: &World) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in world.tree.ending(".rs") {
        let door = path == "crates/app/src/show.rs" || path.starts_with("crates/app/src/show/");
        let speaks =
            ["crates/app/src/", "crates/operations/src/"].iter().any(|folder| path.starts_with(folder));
        if !speaks || door {
            continue;
        }
        let code = mask(text);
        for at in TERMINAL.iter().flat_map(|way| words(&code, way).collect::<Vec<_>>()) {
            findings.push(finding(
                path,
                line_of(text, at),
                "write with `show::line`, `show::json` or `show::stderr`: they make text from documents safe for a terminal",
            ));
        }
    }
    findings
}

/// Things that the program counts.
const COUNTED: &[&str] = &[
    "documents",
    "removals",
    "entries",
    "files",
    "folders",
    "jobs",
    "runs",
    "parts",
    "problems",
    "scopes",
    "paths",
];

/// Crates whose sentences reach people.
const SPEAK: &[&str] = &["app", "connectors", "engine", "extract", "model", "operations", "store"];

/// Numbers before what they count: one of something is not several. Limits are never one.
pub(super) fn plurals(world: &World) -> Vec<Finding> {
    let mut findings = Vec::new();
    let speaks = |path: &str| SPEAK.iter().any(|name| path.starts_with(&format!("crates/{name}/src/")));
    for (path, text) in
        world.tree.ending(".rs").filter(|(path, _)| speaks(path) && !path.ends_with("tests.rs"))
    {
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        for (at, line) in code.lines().enumerate().filter(|(_, line)| !line.contains("more than {")) {
            let counts = line.split("} ").skip(1).any(|rest| {
                let word = rest.split(|c: char| !c.is_ascii_lowercase()).next().unwrap_or_default();
                COUNTED.contains(&word)
            });
            if counts && line.contains('"') && !line.trim_start().starts_with("//") {
                findings.push(finding(
                    path,
                    at + 1,
                    "count with `balance::counted` of the model: one of something is not several",
                ));
            }
        }
    }
    findings
}

/// The string of a log call that is no field's value: the last one that follows the opening bracket or a comma.
fn message<'a>(text: &'a str, code: &str, at: usize) -> Option<&'a str> {
    let mut depth = 1usize;
    let end = code.as_bytes()[at..].iter().position(|byte| {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    let call = &text[at..at + end];
    let mut found = None;
    let mut start = 0;
    while let Some(open) = call[start..].find('"').map(|n| start + n) {
        let close = call[open + 1..].find('"').map(|n| open + 1 + n)?;
        if call[..open].trim_end().is_empty() || call[..open].trim_end().ends_with(',') {
            found = found.or(Some(&call[open + 1..close]));
        }
        start = close + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::examples::{found, refuses};
    use super::*;

    #[test]
    fn a_message_in_another_tone_is_refused() {
        refuses(
            log_messages,
            ("a.rs", "info!(job = 5, \"Started the run\")"),
            ("a.rs", "info!(job = \"A.\", \"run started\")"),
        );
        refuses(
            log_messages,
            ("a.rs", "tracing::warn!(\"it failed.\")"),
            ("a.rs", "warn!(\"SQLite is busy {}\", f(x))"),
        );
    }
    #[test]
    fn writing_past_the_door_is_refused() {
        let plain = "fn a() { writeln!(std::io::stdout(), \"{title}\") }";
        refuses(terminals, ("crates/app/src/a.rs", plain), ("crates/app/src/show.rs", plain));
        refuses(
            terminals,
            ("crates/app/src/commands/a.rs", "fn a() { println!(\"{title}\") }"),
            ("crates/app/src/commands/a.rs", "fn a() { show::line(\"println!(\") }"),
        );
        assert_eq!(found(terminals, &[("crates/store/src/a.rs", plain)]), []);
        refuses(
            plurals,
            ("crates/app/src/a.rs", "fn a() { line(&format!(\"{} documents failed\", n)) }"),
            ("crates/app/src/a.rs", "fn a() { line(&format!(\"{} failed\", counted(n, \"document\"))) }"),
        );
    }
}
