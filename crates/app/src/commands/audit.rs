//! `ingather audit`: changes that the service was asked for.

use ingather_operations::audit::{Change, LIST, ListChanges};

use super::pages;
use crate::arguments::Global;
use crate::exit::{self, Result};
use crate::show;
use crate::wiring::{Program, caller};

pub(crate) fn run(global: &Global, limit: u32) -> Result<u8> {
    let program = Program::of(global)?;
    let ask = |limit: u32, cursor: Option<String>| {
        let page = LIST.call(&program.context(), &caller(), ListChanges { limit, cursor })?;
        Ok((page.changes, page.next))
    };
    let mut changes = Vec::new();
    pages::each(limit, ask, |change| changes.push(change))?;
    if global.json {
        changes.iter().for_each(show::answer);
        return Ok(exit::DONE);
    }
    let row = |change: &Change| {
        let Change { number: _, at, caller, operation, job, api_key, person, outcome } = change;
        let about = [job, api_key, person].into_iter().find(|about| !about.is_empty()).unwrap_or(job);
        vec![show::time(*at), caller.clone(), operation.clone(), about.clone(), outcome.clone()]
    };
    let rows: Vec<Vec<String>> = changes.iter().map(row).collect();
    show::table(&["WHEN", "WHO", "OPERATION", "ABOUT", "OUTCOME"], &rows);
    Ok(exit::DONE)
}
