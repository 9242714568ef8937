//! `ingather notices`: what notifiers are told of ends of runs.

use ingather_operations::jobs::notices::{ListNotices, NOTICES, RunNotice};

use super::super::pages;
use crate::arguments::Global;
use crate::exit::{self, Result};
use crate::show;
use crate::wiring::{Program, caller};

pub(crate) fn run(global: &Global, limit: u32) -> Result<u8> {
    let program = Program::of(global)?;
    let ask = |limit: u32, cursor: Option<String>| {
        let page = NOTICES.call(&program.context(), &caller(), ListNotices { limit, cursor })?;
        Ok((page.notices, page.next))
    };
    let mut notices = Vec::new();
    pages::each(limit, ask, |notice| notices.push(notice))?;
    if global.json {
        notices.iter().for_each(show::answer);
        return Ok(exit::DONE);
    }
    let row = |notice: &RunNotice| {
        let RunNotice { id: _, at, job, run, event, notifier, state, attempts, due, error } = notice;
        let again = if state == "waiting" { show::time(*due) } else { String::new() };
        let told = [job.clone(), run.to_string(), event.to_string(), notifier.clone(), state.clone()];
        let tried = [attempts.to_string(), again, error.clone().unwrap_or_default()];
        [show::time(*at)].into_iter().chain(told).chain(tried).collect()
    };
    let rows: Vec<Vec<String>> = notices.iter().map(row).collect();
    show::table(&["WHEN", "JOB", "RUN", "EVENT", "NOTIFIER", "STATE", "ATTEMPTS", "AGAIN", "WHY"], &rows);
    Ok(exit::DONE)
}
