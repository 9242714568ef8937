//! Many hosts, each asked once a second: together they take no longer than one of them.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::{count, forget, politely};
use crate::measure::run;
use crate::page::{Goal, Line};
use crate::rows::{figures, thousands, told};
use crate::sites::made_up::{Said, Server};
use crate::{Bench, Result};

/// Hosts, and pages of each.
const HOSTS: usize = 2_000;
const PAGES: usize = 200;
/// How long each answer takes, so that two requests at once are seen.
const LATENCY: Duration = Duration::from_millis(2);
/// Threads: enough to wait for the answers that are on their way at any time.
const THREADS: &str = "16";

/// Once: it takes as long as it must.
pub(in crate::rows) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let (hosts, pages) = (bench.size(HOSTS), bench.size(PAGES));
    let host = |number: usize| Ipv4Addr::new(127, 1, (number / 250) as u8, (number % 250) as u8 + 1);
    // The one that leads to all others comes first.
    let mut addresses = vec![Ipv4Addr::LOCALHOST];
    addresses.extend((0..hosts).map(host));
    let all = addresses.clone();
    let server = Server::at(&addresses, LATENCY, move |asked| {
        let links: Vec<String> = match (asked.host, asked.path) {
            (_, "/robots.txt" | "/sitemap.xml") => return Said::Missing,
            // They have the port of the page that leads to them, which this does not know.
            (0, path) => {
                let port = path.trim_start_matches("/begin-");
                all[1..].iter().map(|host| format!("http://{host}:{port}/page-0")).collect()
            }
            (_, "/page-0") => (1..pages).map(|page| format!("page-{page}")).collect(),
            _ => vec!["page-0".to_owned()],
        };
        Said::Page(format!("\"{}\"", asked.host), page(asked.path, &links))
    })?;
    let root = format!("http://127.0.0.1:{0}/begin-{0}", server.port());
    let crawl = politely(bench, &root).and(["--set", "reach=anywhere", "--set", r#"paths=["/"]"#]);
    let crawl = crawl.and(["--set", r#"traps={"alike_max":0}"#, "--threads", THREADS]);
    server.looked();
    let cost = run(&crawl)?;
    forget(&bench.path("data"))?;
    let said = told(&cost)?;
    let (seen, _) = server.looked();
    let asked: usize = seen[1..].iter().map(|host| host.requests).sum();
    if count(&said, "added") != hosts * pages + 1 || asked != hosts * (pages + 1) {
        return Err(format!("{asked} requests for {hosts} hosts with {pages} pages: {said}").into());
    }
    let at_once = seen.iter().map(|host| host.at_once).max().unwrap_or_default();
    let shortest = seen.iter().filter_map(|host| host.shortest).min().unwrap_or_default();
    // Rules and page of the first host before there is a job, and once more in its run; then, at once, the rules of all others, and their pages.
    let limit = (3 + pages) as f64;
    let line = |what, value, unit, goal| Line {
        work: format!(
            "crawl of {} hosts with {pages} pages each to `null`, one request a second to each, {THREADS} threads, once",
            thousands(hosts)
        ),
        ours: figures(&cost),
        beside: format!("what the pace allows: wall {limit:.0} s"),
        what,
        value,
        unit,
        goal,
    };
    Ok(vec![
        line("wall", cost.wall / limit, "×", Goal::Most(1.1)),
        line("memory", cost.memory, "MiB", Goal::Most(200.0)),
        line("requests to one host at once, at most", at_once as f64, "", Goal::Most(1.0)),
        line(
            "shortest time between two requests",
            shortest.as_secs_f64() * 1_000.0,
            "ms",
            Goal::Least(1_000.0),
        ),
    ])
}

/// A page with some text and these links.
pub(super) fn page(title: &str, links: &[String]) -> String {
    let mut text = format!(
        "<!DOCTYPE html><html><head><title>{title}</title></head><body><p>What stands at {title}.</p><ul>"
    );
    for link in links {
        text.push_str(&format!("<li><a href=\"{link}\">{link}</a></li>"));
    }
    text + "</ul></body></html>"
}
