//! What people crawl with today.

use std::process::Command as Process;

use super::forget;
use crate::measure::{Cost, Line as Command, run};
use crate::page::Goal;
use crate::{Bench, Result};

/// A spider that follows all links of a site and takes the title of each page.
const SPIDER: &str = include_str!("spider.py");

/// One of them.
pub(super) struct Peer {
    pub(super) name: &'static str,
    pub(super) cost: Cost,
    pub(super) goal: Goal,
}

/// Those that can be had, each once: they take minutes, and are far from one. In small nothing is installed for them.
pub(super) fn all(bench: &Bench, root: &str, pages: usize) -> Result<Vec<Peer>> {
    let mut peers = Vec::new();
    let into = bench.path("mirror");
    let wget = Command::new("wget").and(["--mirror", "--no-verbose", "--accept", "html"]);
    let wget = wget.and(["--execute", "robots=off", "--output-file", "/dev/null", "--directory-prefix"]);
    if Process::new("wget").arg("--version").output().is_ok() {
        // Where a page is missing, it ends with an error of its own.
        let ended = Command::new("sh").and(["-c", "\"$@\"; exit 0", "wget"]);
        let cost = run(&ended.and(wget.and([&into]).and([root]).0))?;
        let written = count(&into)?;
        forget(&into)?;
        if written < pages {
            return Err(format!("wget wrote only {written} of {pages} pages").into());
        }
        peers.push(Peer { name: "`wget --mirror`", cost, goal: Goal::None });
    } else {
        println!("left out: wget is not installed");
    }
    if !bench.small {
        peers.extend(scrapy(bench, root, pages)?);
    }
    Ok(peers)
}

fn count(folder: &std::path::Path) -> Result<usize> {
    let mut files = 0;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        files += if path.is_dir() { count(&path)? } else { 1 };
    }
    Ok(files)
}

/// Scrapy, in an environment of Python of its own.
fn scrapy(bench: &Bench, root: &str, pages: usize) -> Result<Option<Peer>> {
    let place = bench.path("scrapy");
    let made = Process::new("/usr/bin/python3").args(["-m", "venv"]).arg(&place).output()?;
    let installed = Process::new(place.join("bin/pip")).args(["install", "--quiet", "scrapy"]).output();
    let said =
        installed.map(|done| (done.status.success(), String::from_utf8_lossy(&done.stderr).into_owned()));
    match said {
        Ok((true, _)) => {}
        Ok((false, why)) => {
            println!("left out: Scrapy cannot be installed: {why}");
            return Ok(None);
        }
        Err(error) => {
            let why = String::from_utf8_lossy(&made.stderr);
            println!("left out: there is no pip for Scrapy: {error} {why}");
            return Ok(None);
        }
    }
    let spider = bench.path("spider.py");
    std::fs::write(&spider, SPIDER)?;
    let cost = run(&Command::new(place.join("bin/python")).and([&spider]).and([root]))?;
    let read: usize = cost.out.trim().parse().map_err(|_| format!("Scrapy said {:?}", cost.out))?;
    forget(&spider)?;
    forget(&place)?;
    match read >= pages {
        true => Ok(Some(Peer { name: "Scrapy", cost, goal: Goal::Least(10.0) })),
        false => Err(format!("Scrapy read only {read} of {pages} pages").into()),
    }
}
