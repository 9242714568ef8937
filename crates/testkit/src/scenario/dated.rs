//! Dates of files and pages, and when their documents are looked at next.
//!
//! ```text
//! job docs dates=recrawl=10,expire=60   minutes, of a job with schedule=continuous
//! site a origin:-60                     it was written a minute before the world began; of a file as well
//! site a revisit:60.. | revisit:..60 | expires:60..90 | undated
//!                                       bounds, seconds after the world began
//! run docs pass                         a pass that asks seeds; `run docs pass minimal`: one that looks at what is due alone
//! expect dates docs: a recrawl 600s     when documents are looked at next, or expire, seconds from now
//! ```

use ingather_contract::call::Clock as _;
use ingather_model::job::dates::Dates;
use ingather_store::documents::{self, dates};

use super::Play;
use super::steps::number;

/// When worlds begin, milliseconds since 1970 UTC.
pub(super) const BEGAN: i64 = 1_700_000_000_000;

pub(super) fn at(seconds: &str) -> Result<i64, String> {
    Ok(BEGAN + number::<i64>(seconds)? * 1_000)
}

fn bounds(text: &str) -> Result<(Option<i64>, Option<i64>), String> {
    let (from, to) = text.split_once("..").ok_or("bounds are FROM..TO")?;
    let bound = |text: &str| if text.is_empty() { Ok(None) } else { at(text).map(Some) };
    Ok((bound(from)?, bound(to)?))
}

/// Changes dates by a word; false when it is none of them.
pub(super) fn change(dates: &mut Dates, word: &str) -> Result<bool, String> {
    match word.split_once(':') {
        Some(("origin", seconds)) => dates.origin_at = Some(at(seconds)?),
        Some(("revisit", text)) => (dates.revisit_not_before, dates.revisit_not_after) = bounds(text)?,
        Some(("expires", text)) => (dates.expires_not_before, dates.expires_not_after) = bounds(text)?,
        None if word == "undated" => *dates = Dates::default(),
        _ => return Ok(false),
    }
    Ok(true)
}

impl Play {
    /// When documents of a job are looked at next, by name.
    pub(super) fn dates(&self, job: &str) -> Result<Vec<String>, String> {
        let job = self.world.find(job).ok_or("there is no such job")?;
        let now = self.world.clock.now();
        let read = self.world.engine().reader.read(|sql| {
            let due = dates::due(sql, job.id, ((i64::MIN, i64::MIN), i64::MAX), 10_000)?;
            let ids: Vec<i64> = due.iter().map(|(_, id, _)| *id).collect();
            let names: std::collections::HashMap<i64, String> =
                documents::names(sql, &ids)?.into_iter().collect();
            Ok((due, names))
        });
        let (due, names) = read.map_err(|error: ingather_store::StoreError| error.to_string())?;
        let told = |(at, id, action): (i64, i64, ingather_model::job::dates::Action)| {
            format!("{} {action} {}s", names[&id], (at - now) as f64 / 1_000.0)
        };
        let mut told: Vec<String> = due.into_iter().map(told).collect();
        told.sort();
        Ok(told)
    }
}
