//! `ingather report …`: documents counted by part of the source. Pages of an inventory are added up here, so that people have one table.

use std::collections::BTreeMap;

use ingather_operations::in_words;
use ingather_operations::jobs::history::reports::{
    ACTIVITY, Activity, AskActivity, AskDocuments, AskResults, QUEUE, QueueBucket, RESULTS, ResultGroup,
    STATUS, StatusBucket,
};
use serde::Serialize;

use super::history::times;
use crate::arguments::{Global, OfHistory, OfInventory, Report};
use crate::exit::{self, Result};
use crate::show;
use crate::wiring::{Program, caller};

/// Documents that are counted by one question.
const AT_ONCE: u32 = 100_000;

pub(crate) fn run(global: &Global, report: Report) -> Result<u8> {
    let program = Program::of(global)?;
    match report {
        Report::Queue(of) => queue(&program, of),
        Report::Status(of) => status(&program, of),
        Report::Activity { job, window, part } => activity(&program, job, window, part),
        Report::Results { job, matching, part } => results(&program, job, matching, part),
    }
}

/// Asks for the pages of a report of an inventory, one after the other.
fn pages<T>(
    of: &OfInventory,
    mut ask: impl FnMut(AskDocuments) -> Result<(Vec<T>, Option<String>)>,
    mut add: impl FnMut(T),
) -> Result<()> {
    let mut cursor = None;
    loop {
        let request = AskDocuments { job: of.job.clone(), levels: of.levels, limit: AT_ONCE, cursor };
        let (buckets, next) = ask(request)?;
        buckets.into_iter().for_each(&mut add);
        match next {
            Some(next) => cursor = Some(next),
            None => return Ok(()),
        }
    }
}

fn queue(program: &Program<'_>, of: OfInventory) -> Result<u8> {
    let mut all: BTreeMap<String, QueueBucket> = BTreeMap::new();
    let ask = |request| {
        let page = QUEUE.call(&program.context(), &caller(), request)?;
        Ok((page.buckets, page.next))
    };
    pages(&of, ask, |found: QueueBucket| {
        let sum = all.entry(found.bucket.clone()).or_default();
        let soonest = [sum.soonest, found.soonest].into_iter().flatten().min();
        *sum = QueueBucket {
            bucket: found.bucket,
            waiting: sum.waiting + found.waiting,
            due: sum.due + found.due,
            later: sum.later + found.later,
            next_run: sum.next_run + found.next_run,
            soonest,
            reasons: std::mem::take(&mut sum.reasons),
        };
        for (reason, n) in found.reasons {
            *sum.reasons.entry(reason).or_default() += n;
        }
    })?;
    let row = |one: &QueueBucket| {
        let reasons = one.reasons.iter().map(|(reason, n)| format!("{reason} {}", show::number(*n)));
        let numbers = [one.waiting, one.due, one.later, one.next_run].map(show::number);
        let soonest = one.soonest.map_or(String::new(), show::time);
        let told = [soonest, reasons.collect::<Vec<_>>().join(", ")];
        [place(&one.bucket)].into_iter().chain(numbers).chain(told).collect()
    };
    let headings = ["FOLDER", "WAITING", "DUE", "LATER", "NEXT RUN", "SOONEST", "WHY"];
    tell(program, &headings, &all.into_values().collect::<Vec<_>>(), row)
}

fn status(program: &Program<'_>, of: OfInventory) -> Result<u8> {
    let mut all: BTreeMap<String, StatusBucket> = BTreeMap::new();
    let ask = |request| {
        let page = STATUS.call(&program.context(), &caller(), request)?;
        Ok((page.buckets, page.next))
    };
    pages(&of, ask, |found: StatusBucket| {
        let sum = all.entry(found.bucket.clone()).or_default();
        *sum = StatusBucket {
            bucket: found.bucket,
            documents: sum.documents + found.documents,
            settled: sum.settled + found.settled,
            waiting: sum.waiting + found.waiting,
            failed: sum.failed + found.failed,
            skipped: sum.skipped + found.skipped,
        };
    })?;
    let row = |one: &StatusBucket| {
        let numbers = [one.documents, one.settled, one.waiting, one.failed, one.skipped].map(show::number);
        [place(&one.bucket)].into_iter().chain(numbers).collect()
    };
    let headings = ["FOLDER", "DOCUMENTS", "DONE", "WAITING", "FAILED", "SKIPPED"];
    tell(program, &headings, &all.into_values().collect::<Vec<_>>(), row)
}

fn activity(program: &Program<'_>, job: Option<String>, window: u32, part: OfHistory) -> Result<u8> {
    let OfHistory { time, levels, limit } = part;
    let (since, until) = times(&time)?;
    let window_ms = i64::from(window) * 1_000;
    let request = AskActivity { job, since, until, window_ms, levels, limit, cursor: None };
    let report = ACTIVITY.call(&program.context(), &caller(), request)?;
    let row = |one: &Activity| {
        let bytes_from = if one.bytes > 0 { show::time(one.bytes_from) } else { String::new() };
        let documents = [show::number(one.documents), show::time(one.documents_from)];
        let bytes = [in_words::bytes(one.bytes), bytes_from];
        [one.job.clone(), place(&one.bucket)].into_iter().chain(documents).chain(bytes).collect()
    };
    let headings = ["JOB", "FOLDER", "MOST DOCUMENTS", "FROM", "MOST BYTES", "FROM"];
    let code = tell(program, &headings, &report.buckets, row)?;
    says(program, &report.says, report.next.is_some());
    Ok(code)
}

fn results(program: &Program<'_>, job: Option<String>, name: Option<String>, part: OfHistory) -> Result<u8> {
    let OfHistory { time, levels, limit } = part;
    let (since, until) = times(&time)?;
    let request = AskResults { job, since, until, name, levels, limit, cursor: None };
    let report = RESULTS.call(&program.context(), &caller(), request)?;
    let row = |one: &ResultGroup| {
        let what = [
            one.job.clone(),
            place(&one.bucket),
            one.outcome.to_string(),
            one.code.clone().unwrap_or_default(),
        ];
        let how_much = [show::number(one.count), in_words::bytes(one.bytes), show::time(one.last_at)];
        what.into_iter().chain(how_much).collect()
    };
    let headings = ["JOB", "FOLDER", "OUTCOME", "WHY", "COUNT", "BYTES", "LAST"];
    let code = tell(program, &headings, &report.groups, row)?;
    says(program, &report.says, report.next.is_some());
    Ok(code)
}

/// What has no folder, or all, where nothing is counted apart.
fn place(bucket: &str) -> String {
    if bucket.is_empty() { ".".to_owned() } else { bucket.to_owned() }
}

fn tell<T: Serialize>(
    program: &Program<'_>,
    headings: &[&str],
    all: &[T],
    row: impl Fn(&T) -> Vec<String>,
) -> Result<u8> {
    match program.global.json {
        true => all.iter().for_each(show::answer),
        false => show::table(headings, &all.iter().map(row).collect::<Vec<_>>()),
    }
    Ok(exit::DONE)
}

fn says(program: &Program<'_>, says: &str, more: bool) {
    if !program.global.json && !program.global.quiet {
        let more = if more { "; there is more, see --limit" } else { "" };
        show::stderr(&format!("counted {says}{more}"));
    }
}
