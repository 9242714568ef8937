//! `ingather doctor`: whether the inventory is sound, and whether the surroundings let the program work.

use std::collections::HashMap;

use ingather_store::doctor::{self, About, Fault};
use ingather_store::{Durability, Reader, documents, jobs};
use serde_json::json;

use crate::arguments::Global;
use crate::data::DataDirectory;
use crate::exit::{self, Result};
use crate::system_checks::{self, Look};
use crate::{show, wiring};

/// Rows of one check that are looked for, and repaired at once.
const ROWS_MAX: usize = 10_000;
/// Rows of one check that are named.
const NAMED_MAX: usize = 5;
/// Rounds of repair: what one puts right may show what was behind it.
const ROUNDS_MAX: usize = 1_000;

pub(crate) fn run(global: &Global, repair: bool) -> Result<u8> {
    let data = DataDirectory::of(global)?;
    let reader = data.existing()?;
    let writing = if repair { Some(data.write("doctor", wiring::now())?) } else { None };
    let mut bad = 0;
    let mut tell = |looks: Vec<Look>| {
        bad += looks.iter().filter(|look| !look.good).count();
        looks.iter().for_each(|look| tell_look(global, look));
    };
    tell(system_checks::of_machine(&data.path, repair));
    tell(system_checks::of_own_files(data.own_files()));
    tell(system_checks::of_store(&reader)?);
    let engine = wiring::engine(global, &data, reader.clone(), writing.as_ref(), &[]);
    let holder = if repair { None } else { data.holder() };
    let jobs = reader.read(jobs::list)?;
    tell(system_checks::of_outputs(&engine, &jobs)?);
    for job in &jobs {
        tell(system_checks::of_job(&engine, job, holder.as_deref())?);
    }
    let faults = reader.read(|sql| doctor::examine(sql, ROWS_MAX))?;
    let mut left = faults.clone();
    if let Some(writing) = &writing {
        for _ in 0..ROUNDS_MAX {
            let before: Vec<(&str, usize)> =
                left.iter().map(|fault| (fault.check.name, fault.rows.len())).collect();
            if left.is_empty() {
                break;
            }
            writing.store.write(Durability::Synced, |sql| {
                writing.lease.fence(sql)?;
                left.iter().try_for_each(|fault| doctor::repair(sql, fault, wiring::now()).map(|_| ()))
            })?;
            left = reader.read(|sql| doctor::examine(sql, ROWS_MAX))?;
            let after: Vec<(&str, usize)> =
                left.iter().map(|fault| (fault.check.name, fault.rows.len())).collect();
            // A full page of rows may hide as many others.
            if before == after && after.iter().all(|(_, rows)| *rows < ROWS_MAX) {
                break;
            }
        }
    }
    for fault in &faults {
        let repaired = repair && !left.iter().any(|other| other.check.name == fault.check.name);
        tell_fault(global, &reader, fault, repaired)?;
    }
    bad += left.len();
    if !global.json && !global.quiet {
        show::stderr(&match (bad, faults.len() - left.len()) {
            (0, 0) => "no problems found".to_owned(),
            (0, n) => format!("{}; the next run sends what has to be sent", problems(n, "repaired")),
            (n, 0) => problems(n, "found"),
            (n, repaired) => format!("{}, {}", problems(n, "found"), problems(repaired, "repaired")),
        });
    }
    Ok(if bad == 0 { exit::DONE } else { exit::TROUBLED })
}

fn problems(count: usize, what: &str) -> String {
    format!("{} {what}", show::counted(count as u64, "problem"))
}

fn tell_look(global: &Global, look: &Look) {
    if global.json {
        let line =
            json!({"check": look.check, "ok": look.good, "says": look.sentence, "advice": look.advice});
        show::json(&line);
    } else if !look.advice.is_empty() {
        show::line(&format!("{}: {}", look.check, look.sentence));
        show::line(&format!("  {}", look.advice));
    } else if global.verbose > 0 {
        show::line(&format!("good  {}: {}", look.check, look.sentence));
    }
}

fn tell_fault(global: &Global, reader: &Reader, fault: &Fault, repaired: bool) -> Result<()> {
    let check = fault.check;
    let examples = examples(reader, fault)?;
    let more = fault.rows.len() == ROWS_MAX;
    if global.json {
        let line = json!({
            "check": check.name, "number": check.number, "ok": repaired, "repaired": repaired, "count": fault.rows.len(),
            "more": more, "says": check.found, "advice": check.advice, "examples": examples,
        });
        show::json(&line);
        return Ok(());
    }
    let count = check.sentence(fault.rows.len() as u64);
    let at_least = if more { "at least " } else { "" };
    show::line(&format!(
        "{} ({}): {at_least}{count}, such as {}",
        check.name,
        check.number,
        examples.join(", ")
    ));
    let what_now = if repaired { "was repaired" } else { check.advice };
    show::line(&format!("  {what_now}"));
    Ok(())
}

/// Some rows as a person reads them: documents by their names.
fn examples(reader: &Reader, fault: &Fault) -> Result<Vec<String>> {
    let rows = &fault.rows[..fault.rows.len().min(NAMED_MAX)];
    let ids: Vec<i64> = rows.iter().map(|(id, _)| *id).collect();
    let names: HashMap<i64, String> = match fault.check.about {
        About::Document | About::Delivery => {
            reader.read(|sql| documents::names(sql, &ids))?.into_iter().collect()
        }
        About::Job => reader.read(jobs::list)?.into_iter().map(|job| (job.id.0, job.name)).collect(),
        About::Other => HashMap::new(),
    };
    Ok(rows
        .iter()
        .map(|(id, other)| match (names.get(id), other) {
            (Some(name), _) => format!("`{name}`"),
            (None, Some(other)) => format!("{id} ({other})"),
            (None, None) => id.to_string(),
        })
        .collect())
}
