//! `ingather history`: how runs ended, and what became of single documents.

use ingather_operations::in_words;
use ingather_operations::jobs::history::{HistoryOfWord, LIST, ListHistory, PastDocument, PastRun};

use super::super::pages;
use crate::arguments::{Global, History, Time};
use crate::exit::{self, Failure, Result};
use crate::show;
use crate::wiring::{self, Program, caller};

/// A part of time as it is typed, in milliseconds since 1970 UTC.
pub(super) fn times(time: &Time) -> Result<(Option<i64>, Option<i64>)> {
    let read = |text: &Option<String>| {
        let at = text.as_ref().map(|text| in_words::moment(text, wiring::now()));
        at.transpose().map_err(Failure::usage)
    };
    Ok((read(&time.since)?, read(&time.until)?))
}

enum Row {
    Run(PastRun),
    Document(PastDocument),
}

pub(crate) fn run(global: &Global, history: History) -> Result<u8> {
    let program = Program::of(global)?;
    let History { job, documents, time, outcome, matching, code, limit } = history;
    let of = if documents { HistoryOfWord::Documents } else { HistoryOfWord::Runs };
    let (since, until) = times(&time)?;
    let request = ListHistory { job, of, since, until, outcome, name: matching, code, limit, cursor: None };
    let mut says = String::new();
    let mut rows = Vec::new();
    let ask = |limit: u32, cursor: Option<String>| {
        let request = ListHistory { limit, cursor, ..request.clone() };
        let page = LIST.call(&program.context(), &caller(), request)?;
        says = page.says;
        let runs = page.runs.into_iter().map(Row::Run);
        Ok((runs.chain(page.documents.into_iter().map(Row::Document)).collect(), page.next))
    };
    let more = pages::each(limit, ask, |row| match (global.json, &row) {
        (true, Row::Run(run)) => show::answer(run),
        (true, Row::Document(document)) => show::answer(document),
        (false, _) => rows.push(cells(row)),
    })?;
    if global.json {
        return Ok(exit::DONE);
    }
    let headings: &[&str] = match of {
        HistoryOfWord::Runs => &["STARTED", "JOB", "RUN", "KIND", "BY", "TOOK", "RESULT"],
        HistoryOfWord::Documents => &["WHEN", "JOB", "RUN", "OUTCOME", "DOCUMENT", "BYTES", "WHY"],
    };
    show::table(headings, &rows);
    if !global.quiet {
        let more = if more { "; there is more, see --limit" } else { "" };
        show::stderr(&format!("{says}{more}"));
    }
    Ok(exit::DONE)
}

fn cells(row: Row) -> Vec<String> {
    match row {
        Row::Run(PastRun { job, run, sentence }) => {
            let took = run.ended_at.map_or(String::new(), |end| show::seconds(end - run.started_at));
            let by = run.begun_by.unwrap_or_default();
            vec![
                show::time(run.started_at),
                job,
                run.run.to_string(),
                run.kind.to_string(),
                by,
                took,
                sentence,
            ]
        }
        Row::Document(past) => {
            let PastDocument { job, at, run, document, outcome, code, reason, bytes } = past;
            let why = reason.or(code).unwrap_or_default();
            let bytes = in_words::bytes(u64::try_from(bytes).unwrap_or_default());
            vec![show::time(at), job, run.to_string(), outcome.to_string(), document, bytes, why]
        }
    }
}
