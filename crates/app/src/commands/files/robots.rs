//! `ingather robots`: whether a robots.txt lets a robot read an address, and which of its lines decides.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ingather_model::limits;
use ingather_web::robots::explain_file;
use serde_json::json;

use crate::arguments::{Global, Robots};
use crate::exit::{self, Failure, Result};
use crate::show;

pub(crate) fn run(global: &Global, robots: &Robots) -> Result<u8> {
    let file = read(&robots.file)
        .map_err(|error| Failure::usage(format!("{}: {}", robots.file.display(), exit::in_words(&error))))?;
    let explained = explain_file(&file, &robots.url, &robots.agent)
        .map_err(|reason| Failure::usage(format!("{}: {}", robots.url, reason.message)))?;
    match global.json {
        true => show::json(&json!({ "allowed": explained.allowed, "why": explained.sentence })),
        false => show::line(&explained.sentence),
    }
    Ok(if explained.allowed { exit::DONE } else { exit::HAS_FAILURES })
}

/// The file as far as it counts, and one byte more, which tells that there is more.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let from: Box<dyn Read> = match path.as_os_str() == "-" {
        true => Box::new(io::stdin()),
        false => Box::new(File::open(path)?),
    };
    let mut bytes = Vec::new();
    from.take(limits::ROBOTS_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
