//! A first crawl that is killed when half of it was answered, and run again.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{clear, count, crawl, documentation, forget};
use crate::measure::{Cost, Line as Command, median, middle, pause, run};
use crate::page::{Goal, Line};
use crate::rows::{figures, thousands, told};
use crate::sites::documentation::Logged;
use crate::{Bench, Result};

/// Between two looks at the log.
const LOOK: Duration = Duration::from_millis(2);

/// What the server saw of one killed crawl and the run after it.
struct Killed {
    fetches: usize,
    /// How old the oldest answer was that was not settled, milliseconds.
    oldest_ms: f64,
    rest: Cost,
}

pub(in crate::rows) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let Some((site, server)) = documentation(bench, true)? else { return Ok(Vec::new()) };
    let log = server.log.clone().ok_or("the server has no log")?;
    let line = crawl(bench, &server.root());
    let (mut shares, mut oldest, mut whole, mut rest) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.pairs {
        forget(&bench.path("data"))?;
        let before = server.logged()?.len();
        let undisturbed = run(&line)?;
        let fetches = server.logged()?.len() - before;
        forget(&bench.path("data"))?;
        let killed = kill(&line, &log, fetches / 2, || server.logged())?;
        let said = told(&killed.rest)?;
        if count(&said, "failed") > 0 {
            return Err(format!("the run after it failed at something: {said}").into());
        }
        shares.push(killed.fetches as f64 / fetches as f64);
        oldest.push(killed.oldest_ms);
        whole.push(undisturbed);
        rest.push(killed.rest);
    }
    let line = |what, value, unit, bound| Line {
        work: format!(
            "crawl of {} pages to `null`, killed when half of them was answered, run again",
            thousands(site.pages)
        ),
        ours: format!("the run after it: {}", figures(&middle(&rest))),
        beside: format!("undisturbed: {}", figures(&middle(&whole))),
        what,
        value,
        unit,
        goal: Goal::Most(bound),
    };
    let lines = vec![
        line("requests in all", median(shares), "×", 1.05),
        line(
            "age of the oldest answer that was lost",
            oldest.iter().copied().fold(0.0, f64::max),
            "ms",
            500.0,
        ),
    ];
    clear(bench, &site, &[])?;
    Ok(lines)
}

fn now() -> Result<f64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64())
}

fn kill(
    line: &Command,
    log: &Path,
    after: usize,
    logged: impl Fn() -> Result<Vec<Logged>>,
) -> Result<Killed> {
    let before = logged()?.len();
    let mut lines = File::open(log)?;
    let mut piece = Vec::new();
    lines.read_to_end(&mut piece)?;
    let mut child = Process::new(&line.0[0])
        .args(&line.0[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let mut seen = 0;
    while seen < after && child.try_wait()?.is_none() {
        piece.clear();
        lines.read_to_end(&mut piece)?;
        seen += piece.iter().filter(|byte| **byte == b'\n').count();
        pause(LOOK);
    }
    let killed = now()?;
    child.kill()?;
    child.wait()?;
    let first = logged()?.split_off(before);
    let rest = run(line)?;
    let second = logged()?.split_off(before + first.len());
    let is_page = |answer: &&Logged| matches!(answer.status, 200 | 304);
    let again: HashSet<&str> = second.iter().filter(is_page).map(|answer| answer.path.as_str()).collect();
    let answered: HashMap<&str, f64> =
        first.iter().filter(is_page).map(|answer| (answer.path.as_str(), answer.at)).collect();
    let lost = answered.iter().filter(|(path, _)| again.contains(*path)).map(|(_, at)| killed - at);
    Ok(Killed { fetches: first.len() + second.len(), oldest_ms: lost.fold(0.0, f64::max) * 1_000.0, rest })
}
