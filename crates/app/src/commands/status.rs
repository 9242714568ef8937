//! `ingather status`: one screen that says whether all is well.

use ingather_operations::system::{AskStatus, JobStatus, STATUS_OF_JOBS};

use super::{job, pages};
use crate::arguments::Global;
use crate::exit::{self, Result};
use crate::show;
use crate::wiring::{Program, caller};

/// Needs of one job that are told; `doctor` tells all.
const NEEDS_MAX: usize = 5;

pub(crate) fn run(global: &Global) -> Result<u8> {
    let program = Program::of(global)?;
    let (mut works, mut jobs) = (false, Vec::new());
    let ask = |limit: u32, cursor: Option<String>| {
        let page = STATUS_OF_JOBS.call(&program.context(), &caller(), AskStatus { limit, cursor })?;
        works = page.works;
        Ok((page.jobs, page.next))
    };
    pages::each(u32::MAX, ask, |found: JobStatus| jobs.push(found))?;
    let needed = jobs.iter().filter(|job| !job.well).count();
    if global.json {
        jobs.iter().for_each(show::answer);
    } else if jobs.is_empty() {
        show::stderr("there are no jobs yet; begin with `ingather sync FOLDER`");
    } else {
        tell(&jobs, works, needed);
    }
    Ok(if needed > 0 { exit::HAS_FAILURES } else { exit::DONE })
}

fn tell(jobs: &[JobStatus], works: bool, needed: usize) {
    let row = |job: &JobStatus| {
        let when = |at: Option<i64>| at.map_or_else(|| "–".to_owned(), show::time);
        vec![
            job.job.clone(),
            if job.well { "well" } else { "somebody is needed" }.to_owned(),
            job::state_in_words(job.state, works, job.paused),
            show::number(job.documents),
            when(job.ended_at),
            when(job.next),
        ]
    };
    let rows: Vec<Vec<String>> = jobs.iter().map(row).collect();
    show::table(&["JOB", "STATUS", "STATE", "DOCUMENTS", "LAST ENDED", "NEXT"], &rows);
    for job in jobs {
        if let Some(unwatched) = &job.unwatched {
            show::line(&format!("job {} {unwatched}", job.job));
        }
    }
    for job in jobs.iter().filter(|job| !job.well) {
        show::line("");
        for need in job.needs.iter().take(NEEDS_MAX) {
            show::line(&need.says);
            show::line(&format!("  {}", need.advice));
        }
        if job.needs.len() > NEEDS_MAX {
            show::line("  and more; `ingather doctor` tells all");
        }
    }
    if needed == 0 {
        show::line("all is well");
    }
}
