//! A large site that is known, of which one page has changed, and a run that looks at where it begins alone.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ingather_model::limits;
use serde_json::json;

use super::hosts::page;
use super::{count, crawl, figures, forget};
use crate::measure::{Cost, median, middle, pause, run};
use crate::page::{Goal, Line};
use crate::rows::inventory::synthetic;
use crate::rows::{thousands, told};
use crate::sites::lists;
use crate::sites::made_up::{Said, Server};
use crate::{Bench, Result};

/// Lists of the site, which make a million pages.
const LISTS: usize = 1_000;
const LISTS_SMALL: usize = 16;
/// Edition of the site in which its first page leads nowhere.
const BEGUN: usize = usize::MAX;
/// Time after which the right to write is free that a process of the bench had: it does not give it back.
const LEASE: Duration = Duration::from_millis(limits::LEASE_MS as u64 + 1_000);

pub(in crate::rows) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let lists = if bench.small { LISTS_SMALL } else { LISTS };
    let edition = Arc::new(AtomicUsize::new(BEGUN));
    let now = Arc::clone(&edition);
    let server = Server::at(&[Ipv4Addr::LOCALHOST], Duration::ZERO, move |asked| {
        let edition = now.load(Ordering::Relaxed);
        let links = match edition {
            BEGUN => lists::links(asked.path, 0).map(|_| Vec::new()),
            _ => lists::links(asked.path, edition),
        };
        let Some(links) = links else { return Said::Missing };
        let tag = format!("\"{edition}\"");
        match asked.unless {
            Some(unless) if unless == tag => Said::Unchanged,
            _ => Said::Page(tag, page(asked.path, &links)),
        }
    })?;
    // The program defines the job; what it would find in minutes, the engine is given in its place.
    let root = format!("http://127.0.0.1:{}{}", server.port(), lists::beginning(lists));
    let crawl = crawl(bench, &root).and(["--set", r#"traps={"alike_max":0,"names_max":0}"#]);
    forget(&bench.path("data"))?;
    run(&crawl)?;
    let (filled, said) = synthetic("run", &bench.path("data"), "-", "null", &json!({ "job": "site" }))?;
    let pages = lists::pages(lists);
    if count(&said, "added") + 1 != pages {
        return Err(format!("the site was to have {pages} pages: {said}").into());
    }
    pause(LEASE);
    let minimal = crawl.and(["--minimal"]);
    let (mut starts, mut costs): (Vec<f64>, Vec<Cost>) = (Vec::new(), Vec::new());
    for round in 1..=bench.pairs {
        edition.store(round, Ordering::Relaxed);
        server.looked();
        let begun = Instant::now();
        let cost = run(&minimal)?;
        let (seen, first) = server.looked();
        let said = told(&cost)?;
        if [count(&said, "updated"), count(&said, "added")] != [1, 1] {
            return Err(format!("one page was changed and one is new: {said}").into());
        }
        // robots.txt, the page where it begins, a sitemap that is not there, and what is new.
        if seen[0].requests > 5 {
            return Err(format!("{} requests for two pages: {said}", seen[0].requests).into());
        }
        starts.push((first.ok_or("nothing was asked for")? - begun).as_secs_f64() * 1_000.0);
        costs.push(cost);
    }
    forget(&bench.path("data"))?;
    let line = |what, value, unit, bound| Line {
        work: format!(
            "minimal run of a site of {} known pages, of which the first has changed and leads to a new one",
            thousands(pages - 1)
        ),
        ours: figures(&middle(&costs)),
        beside: format!("the first run of it, made up without a server, once: {}", figures(&filled)),
        what,
        value,
        unit,
        goal: Goal::Most(bound),
    };
    Ok(vec![
        line("start of the program to its first request, median", median(starts), "ms", 100.0),
        line("memory", middle(&costs).memory, "MiB", 150.0),
    ])
}
