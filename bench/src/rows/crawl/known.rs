//! A large site that is known, of which one page has changed, and a run that looks at where it begins alone.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::hosts::page;
use super::{count, crawl, figures, forget};
use crate::measure::{Cost, median, middle, run};
use crate::page::{Goal, Line};
use crate::rows::{thousands, told};
use crate::sites::made_up::{Said, Server};
use crate::{Bench, Result};

/// Pages of the site: those of each list, and as many lists.
const EACH: usize = 1_000;
const EACH_SMALL: usize = 16;

/// The links of a page of the site in one of its editions; none where there is no such page.
fn links(path: &str, each: usize, edition: usize) -> Option<Vec<String>> {
    if path == "/" {
        let new = (1..=edition).map(|edition| format!("/new-{edition}"));
        return Some((0..each).map(|list| format!("/list-{list}/")).chain(new).collect());
    }
    if path.starts_with("/new-") {
        return Some(vec!["/".to_owned()]);
    }
    let (list, page) = path.strip_prefix("/list-")?.split_once('/')?;
    list.parse::<usize>().ok()?;
    Some(match page {
        "" => (1..each).map(|page| format!("page-{page}")).collect(),
        _ => vec!["/".to_owned(), "./".to_owned()],
    })
}

pub(in crate::rows) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let each = if bench.small { EACH_SMALL } else { EACH };
    let edition = Arc::new(AtomicUsize::new(0));
    let now = Arc::clone(&edition);
    let server = Server::at(&[Ipv4Addr::LOCALHOST], Duration::ZERO, move |asked| {
        let edition = now.load(Ordering::Relaxed);
        let Some(links) = links(asked.path, each, edition) else { return Said::Missing };
        let tag = format!("\"{}\"", if asked.path == "/" { edition } else { 0 });
        match asked.unless {
            Some(unless) if unless == tag => Said::Unchanged,
            _ => Said::Page(tag, page(asked.path, &links)),
        }
    })?;
    let crawl = crawl(bench, &format!("http://127.0.0.1:{}/", server.port()))
        .and(["--set", r#"traps={"alike_max":0,"names_max":0}"#]);
    let pages = each * each + 1;
    forget(&bench.path("data"))?;
    let filled = run(&crawl)?;
    let said = told(&filled)?;
    if count(&said, "added") != pages {
        return Err(format!("the crawl did not find all {pages} pages: {said}").into());
    }
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
        beside: format!("the first crawl of it, once: {}", figures(&filled)),
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
