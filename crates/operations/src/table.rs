//! table: all operations. What is not a row here, nobody can ask for; what is a row, every way in offers with one meaning.

use ingather_model::limits;

use crate::callers::{api_keys, audit, links};
use crate::operation::{Callable, Effect, Operation, Rest, Words};
use crate::problem::{ALWAYS, Code, ROWS, sources};
use crate::{access, backup, declaration, documents, jobs, pipeline, search, secrets, system, verify};

/// Every operation, by noun.
pub static OPERATIONS: &[&dyn Callable] = &[
    &jobs::sync::SYNC,
    &jobs::DEFINE,
    &jobs::LIST,
    &jobs::SHOW,
    &jobs::RUNS,
    &jobs::HELD,
    &jobs::CONFIRM,
    &jobs::DELETE,
    &jobs::MOVE,
    &jobs::START,
    &jobs::ABORT,
    &jobs::RESTART,
    &jobs::RESET_SEEDING,
    &jobs::RESEND,
    &jobs::PAUSE,
    &jobs::RESUME,
    &documents::LIST,
    &documents::EXPLAIN,
    &documents::ERASE,
    &documents::ERASED,
    &documents::READMIT,
    &documents::push::RECORDS,
    &documents::push::TICKET_OF,
    &documents::push::REPORTS_OF,
    &documents::push::BEGIN,
    &documents::push::CHECK,
    &documents::push::TOUCH,
    &documents::push::VISIT,
    &documents::push::FINISH,
    &documents::push::ROLL_BACK,
    &documents::push::RUN,
    &documents::push::UNLOCK,
    &documents::push::SOURCES,
    &documents::push::OBSOLETE,
    &documents::push::DELETE_OBSOLETE,
    &documents::push::CLEAR,
    &documents::push::CLEAR_ALL,
    &documents::push::PURGE,
    &documents::push::channels::CAPABILITIES_OF,
    &documents::push::channels::OPEN,
    &documents::push::channels::LIST,
    &documents::push::channels::SHOW,
    &documents::push::channels::PUSH,
    &documents::push::channels::REPORTS_OF,
    &documents::push::channels::ACKNOWLEDGE,
    &documents::push::channels::HEARTBEAT,
    &documents::push::channels::FLUSH,
    &documents::push::channels::TERMINATE,
    &documents::push::channels::ABORT,
    &pipeline::STAGES,
    &pipeline::TRY,
    &search::SEARCH,
    &access::TOKENS,
    &access::WHY,
    &access::filter::FILTER,
    &access::authorities::LIST,
    &access::authorities::FORGET,
    &access::authorities::DELETE,
    &access::people::LOOK,
    &access::people::LIST,
    &access::people::SHOW,
    &access::people::CREATE,
    &access::people::REPLACE,
    &access::people::CHANGE,
    &access::people::DELETE,
    &verify::VERIFY,
    &system::STATUS_OF_JOBS,
    &system::DOCTOR,
    &system::events::LIST,
    &system::events::FREE,
    &declaration::EXPORT,
    &declaration::APPLY,
    &api_keys::CREATE,
    &api_keys::LIST,
    &api_keys::DELETE,
    &links::LOGIN_LINK,
    &audit::LIST,
    &jobs::notices::NOTICES,
    &jobs::history::LIST,
    &jobs::history::reports::QUEUE,
    &jobs::history::reports::STATUS,
    &jobs::history::reports::ACTIVITY,
    &jobs::history::reports::RESULTS,
    &backup::BACKUP,
    &backup::RESTORE,
    &secrets::ROTATE,
];

/// Commands that are no operations, each with the reason.
pub const COMMANDS_WITHOUT: &[(&str, &str)] = &[
    ("job wait", "it asks `jobs.show` again and again, until no run is under way"),
    ("serve", "it is the way in which others ask for operations"),
    ("completions", "it is about the shell that the program is typed into"),
    ("extract-worker", "it is a part of this program, not a question"),
    ("picture-worker", "it is a part of this program, not a question"),
    ("selftest kill", "it tries the program itself, in a folder of its own"),
    ("journal snapshot", "it reads journals that are named, which are somebody's own, and no inventory"),
    ("extract", "it reads files that are named, as they come, and no inventory"),
    ("robots", "it reads a file of rules that is named, and no inventory"),
];

/// The page of the manual.
pub fn markdown() -> String {
    let rows: String = OPERATIONS.iter().map(|one| row(one)).collect();
    let commands: String =
        COMMANDS_WITHOUT.iter().map(|(words, why)| format!("| `ingather {words}` | {why} |\n")).collect();
    let problems: String = ROWS
        .iter()
        .map(|row| {
            let from =
                sources(row.code).iter().map(|source| format!("`{source}`")).collect::<Vec<_>>().join(", ");
            format!(
                "| `{}` | {} | {} | {} | {} | {from} |\n",
                row.word, row.status, row.exit, row.says, row.next
            )
        })
        .collect();
    format!(
        "# Operations\n\n\
         What people and programs can ask for. The table is `OPERATIONS` of `crates/operations/src/table.rs`; the command line \
         parses into these requests and prints these answers: with `--json` one line of an answer, or of each member of a list. \
         Lists come in pages of at most {} members: `next` of one is the `cursor` of the request for the one behind it, and the last \
         one has none. \
         Paths of HTTP are below `/api/v1` of `ingather serve`; `docs/manual/service.md` says how a request and an answer look.\n\n\
         | Operation | Does | Role | Effect | HTTP | Command | Request → answer | Tool | Problems of its own |\n\
         |---|---|---|---|---|---|---|---|---|\n{rows}\n\
         ## Commands that are no operations\n\n| Command | Why |\n|---|---|\n{commands}\n\
         ## Problems\n\n\
         Any operation may answer {}.\n\n\
         | Code | HTTP status | Exit code | What it means | What to do | Code of store, engine or connector |\n|---|---|---|---|---|---|\n{problems}",
        limits::LIST_PAGE_MAX,
        codes(ALWAYS)
    )
}

fn row(operation: &Operation) -> String {
    let effect = match operation.effect {
        Effect::Reads => "reads",
        Effect::Changes => "changes",
        Effect::Pushes => "pushes",
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

    use serde_json::Value;

    use super::*;
    use crate::operation::Shape;

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

    /// All types of an operation that cross the border.
    fn shapes(one: &'static dyn Callable) -> impl Iterator<Item = &'static Shape> {
        [Some(&one.request), one.item.as_ref(), Some(&one.answer)].into_iter().flatten()
    }

    #[test]
    fn every_request_and_every_answer_comes_back_as_it_was_and_fits_its_schema() {
        for (one, shape) in OPERATIONS.iter().flat_map(|one| shapes(*one).map(move |shape| (one.name, shape)))
        {
            let schema = (shape.schema)().to_value();
            let validator = ingather_testkit::suites::schema::of(&schema);
            assert!(!shape.examples.is_empty(), "{one}: {} has no example", shape.name);
            for example in shape.examples {
                let given: Value =
                    serde_json::from_str(example).unwrap_or_else(|why| panic!("{one}: {why} in {example}"));
                let back =
                    (shape.round_trip)(example).unwrap_or_else(|why| panic!("{one}: {why}: {example}"));
                for said in [&given, &back] {
                    let wrong: Vec<String> =
                        validator.iter_errors(said).map(|wrong| wrong.to_string()).collect();
                    assert!(wrong.is_empty(), "{one}: {} does not fit its schema: {wrong:?}", shape.name);
                }
                assert_eq!((shape.round_trip)(&back.to_string()), Ok(back.clone()), "{one}");
            }
        }
    }

    #[test]
    fn the_examples_of_an_answer_show_all_that_it_holds() {
        for (one, shape) in
            OPERATIONS.iter().flat_map(|one| shapes(*one).skip(1).map(move |shape| (one.name, shape)))
        {
            let given: Vec<Value> =
                shape.examples.iter().map(|example| serde_json::from_str(example).unwrap()).collect();
            let back = shape.examples.iter().map(|example| (shape.round_trip)(example).unwrap());
            assert_eq!(given, back.collect::<Vec<_>>(), "{one}: {}", shape.name);
            let schema = (shape.schema)().to_value();
            let of_schema = |schema: &Value| -> Vec<String> {
                schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
            };
            let forms = ["anyOf", "oneOf"].iter().filter_map(|word| schema[word].as_array()).flatten();
            let forms = forms.map(|form| match form["$ref"].as_str() {
                Some(place) => schema.pointer(place.trim_start_matches('#')).unwrap(),
                None => form,
            });
            let named: HashSet<String> =
                of_schema(&schema).into_iter().chain(forms.flat_map(of_schema)).collect();
            let shown: HashSet<String> =
                given.iter().flat_map(|given| given.as_object().unwrap().keys().cloned()).collect();
            assert_eq!(shown, named, "{one}: {}", shape.name);
        }
    }

    #[test]
    fn a_request_keeps_what_was_given_and_takes_no_field_that_it_does_not_know() {
        for one in OPERATIONS {
            let mut given: Value = serde_json::from_str(one.request.examples[0]).unwrap();
            let back = (one.request.round_trip)(one.request.examples[0]).unwrap();
            for (name, value) in given.as_object().unwrap() {
                assert_eq!(back.get(name), Some(value), "{}: {name}", one.name);
            }
            given["no_such_field"] = 1.into();
            assert!((one.request.round_trip)(&given.to_string()).is_err(), "{}", one.name);
        }
    }

    #[test]
    fn whatever_takes_a_cursor_takes_a_limit_and_tells_where_the_next_page_begins() {
        let has = |shape: &Shape, name: &str| (shape.schema)().to_value()["properties"].get(name).is_some();
        let lists: Vec<&&dyn Callable> =
            OPERATIONS.iter().filter(|one| has(&one.request, "cursor")).collect();
        for one in &lists {
            assert!(has(&one.request, "limit") && has(&one.answer, "next"), "{}", one.name);
            // At the end there is none.
            let required = (one.answer.schema)().to_value()["required"].clone();
            assert!(!required.as_array().unwrap().contains(&"next".into()), "{}", one.name);
        }
        let names: Vec<&str> = lists.iter().map(|one| one.name).collect();
        let paged = [
            "jobs.list",
            "jobs.runs",
            "jobs.held",
            "documents.list",
            "documents.erased",
            "system.status",
            "audit.list",
        ];
        let of_history = [
            "notices.list",
            "history.list",
            "reports.queue",
            "reports.status",
            "reports.activity",
            "reports.results",
        ];
        assert_eq!(names, [&paged[..], &of_history].concat());
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
