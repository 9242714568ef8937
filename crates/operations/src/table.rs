//! table: all operations. What is not a row here, nobody can ask for; what is a row, every way in offers with one meaning.

use crate::operation::{Effect, Operation, Rest, Words};
use crate::problem::{ALWAYS, Code, ROWS};
use crate::{access, backup, declaration, documents, jobs, pipeline, search, system, verify};

/// Every operation, by noun.
pub static OPERATIONS: &[&Operation] = &[
    &jobs::sync::SYNC.operation,
    &jobs::LIST.operation,
    &jobs::SHOW.operation,
    &jobs::RUNS.operation,
    &jobs::HELD.operation,
    &jobs::CONFIRM.operation,
    &jobs::DELETE.operation,
    &documents::LIST.operation,
    &documents::EXPLAIN.operation,
    &pipeline::STAGES.operation,
    &pipeline::TRY.operation,
    &search::SEARCH.operation,
    &access::TOKENS.operation,
    &access::WHY.operation,
    &verify::VERIFY.operation,
    &system::DOCTOR.operation,
    &declaration::EXPORT.operation,
    &backup::BACKUP.operation,
    &backup::RESTORE.operation,
];

/// Commands that are no operations, each with the reason.
pub const COMMANDS_WITHOUT: &[(&str, &str)] = &[
    ("completions", "it is about the shell that the program is typed into"),
    ("extract-worker", "it is a part of this program, not a question"),
    ("picture-worker", "it is a part of this program, not a question"),
    ("selftest kill", "it tries the program itself, in a folder of its own"),
    ("journal snapshot", "it reads journals that are named, which are somebody's own, and no inventory"),
    ("extract", "it reads files that are named, as they come, and no inventory"),
];

/// The page of the manual.
pub fn markdown() -> String {
    let rows: String = OPERATIONS.iter().map(|one| row(one)).collect();
    let commands: String =
        COMMANDS_WITHOUT.iter().map(|(words, why)| format!("| `ingather {words}` | {why} |\n")).collect();
    let problems: String = ROWS
        .iter()
        .map(|row| {
            format!("| `{}` | {} | {} | {} | {} |\n", row.word, row.status, row.exit, row.says, row.next)
        })
        .collect();
    format!(
        "# Operations\n\n\
         What people and programs can ask for. The table is `OPERATIONS` of `crates/operations/src/table.rs`; the command line \
         parses into these requests and prints these answers, `--json` as they are (a list as a line for each of its members). \
         Paths of HTTP are below `/api/v1` and are what a service will offer; this version has none.\n\n\
         | Operation | Does | Role | Effect | HTTP | Command | Request → answer | Tool | Problems of its own |\n\
         |---|---|---|---|---|---|---|---|---|\n{rows}\n\
         ## Commands that are no operations\n\n| Command | Why |\n|---|---|\n{commands}\n\
         ## Problems\n\n\
         Any operation may answer {}.\n\n\
         | Code | HTTP status | Exit code | What it means | What to do |\n|---|---|---|---|---|\n{problems}",
        codes(ALWAYS)
    )
}

fn row(operation: &Operation) -> String {
    let effect = match operation.effect {
        Effect::Reads => "reads",
        Effect::Changes => "changes",
    };
    let streams = if operation.item.is_some() { ", streams" } else { "" };
    let rest = match operation.rest {
        Rest::At(verb, path) => format!("`{} {path}`", verb.as_str()),
        Rest::Not(why) => format!("none: {why}"),
    };
    let words = match operation.words {
        Words::Are(words) => format!("`{words}`"),
        Words::Not(why) => format!("none: {why}"),
    };
    let item = operation.item.map_or(String::new(), |item| format!("`{}`…, ", item.name));
    let problems = if operation.problems.is_empty() { "none".to_owned() } else { codes(operation.problems) };
    format!(
        "| `{}` | {} | {} | {effect}{streams} | {rest} | {words} | `{}` → {item}`{}` | {} | {problems} |\n",
        operation.name,
        operation.summary,
        operation.role.as_str(),
        operation.request.name,
        operation.answer.name,
        if operation.tool { "yes" } else { "no" },
    )
}

fn codes(codes: &[Code]) -> String {
    codes.iter().map(|code| format!("`{}`", code.row().word)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn parts_in_braces(path: &str) -> impl Iterator<Item = &str> {
        path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }

    #[test]
    fn every_operation_says_all_that_its_callers_need() {
        for one in OPERATIONS {
            let said = one.name.split('.').all(|word| !word.is_empty()) && one.summary.ends_with('.');
            assert!(said, "{}", one.name);
            match one.rest {
                Rest::At(_, path) => assert!(path.starts_with('/'), "{}", one.name),
                Rest::Not(why) => assert!(why.len() > 10, "{} has no path and no reason", one.name),
            }
            if let Words::Not(why) = one.words {
                assert!(why.len() > 10, "{} has no words and no reason", one.name);
            }
            assert!(one.problems.iter().all(|code| !ALWAYS.contains(code)), "{} repeats a problem", one.name);
        }
    }

    #[test]
    fn names_paths_and_words_are_each_of_one_operation() {
        let (mut names, mut paths, mut words) = (HashSet::new(), HashSet::new(), HashSet::new());
        for one in OPERATIONS {
            assert!(names.insert(one.name), "{}", one.name);
            if let Rest::At(verb, path) = one.rest {
                let shape: Vec<&str> =
                    path.split('/').map(|part| if part.starts_with('{') { "{}" } else { part }).collect();
                assert!(paths.insert((verb.as_str(), shape.join("/"))), "{}", one.name);
            }
            if let Words::Are(said) = one.words {
                assert!(words.insert(said), "{}", one.name);
                assert!(COMMANDS_WITHOUT.iter().all(|(other, _)| *other != said), "{}", one.name);
            }
        }
    }

    #[test]
    fn the_example_of_a_request_is_one_and_comes_back_as_it_was() {
        for one in OPERATIONS {
            let read = one.request.round_trip.expect("requests are read");
            let given: serde_json::Value = serde_json::from_str(one.example).unwrap();
            let back = read(one.example).unwrap_or_else(|why| panic!("{}: {why}", one.name));
            for (name, value) in given.as_object().unwrap() {
                assert_eq!(back.get(name), Some(value), "{}: {name}", one.name);
            }
            // What was written can be read again, and means the same.
            assert_eq!(read(&back.to_string()).unwrap(), back, "{}", one.name);
            let unknown = read(r#"{"no_such_field": 1}"#);
            assert!(unknown.is_err(), "{} takes fields that it does not know", one.name);
        }
    }

    #[test]
    fn what_a_path_names_is_a_field_of_the_request_that_must_be_given() {
        for one in OPERATIONS {
            let schema = (one.request.schema)().to_value();
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            if let Rest::At(_, path) = one.rest {
                for part in parts_in_braces(path) {
                    assert!(required.contains(&part.into()), "{}: {part}", one.name);
                }
            }
            // Descriptions of the API are made of these.
            let told =
                |shape: &crate::operation::Shape| (shape.schema)().to_value()["description"].is_string();
            let item = one.item.as_ref().is_none_or(told);
            assert!(told(&one.request) && told(&one.answer) && item, "{} has an untold type", one.name);
        }
    }

    #[test]
    fn the_page_names_every_operation_and_every_problem() {
        let page = markdown();
        for one in OPERATIONS {
            assert!(page.contains(&format!("| `{}` |", one.name)), "{}", one.name);
        }
        for row in ROWS {
            assert!(page.contains(&format!("| `{}` |", row.word)), "{}", row.word);
        }
    }
}
