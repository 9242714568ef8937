//! `ingather verify`: what outputs really hold, beside what the books say.

use std::sync::Arc;

use ingather_connector::model::job::RunKind;
use ingather_engine::inspect::verify::{Difference, Verified};
use ingather_engine::progress::Progress;
use ingather_engine::{Engine, Mode, Options};
use ingather_store::connections::{self, Connection, Role};
use ingather_store::{Reader, jobs};
use serde_json::json;

use super::repository_kind;
use crate::arguments::Global;
use crate::data::{DataDirectory, Writing};
use crate::exit::{self, Failure, Result};
use crate::{interrupt, show, wiring};

pub(crate) fn run(global: &Global, output: Option<&str>, repair: bool, limit: u32) -> Result<u8> {
    let data = DataDirectory::of(global)?;
    let chosen = chosen(&data.existing()?, output)?;
    let writing = data.write("verify", wiring::now())?;
    let reader = writing.store.reader().clone();
    let engine = wiring::engine(global, &data, reader, Some(&writing), &[]);
    let mut differs = false;
    for connection in &chosen {
        differs |= !one(global, &data, &writing, &engine, connection, repair, limit)?;
        if interrupt::cancel().cancelled() {
            return Ok(exit::STOPPED);
        }
    }
    Ok(if differs { exit::TROUBLED } else { exit::DONE })
}

fn can_list(connection: &Connection) -> bool {
    ingather_connectors::ALL.output(&connection.kind).is_some_and(|kind| kind.can.list)
}

/// The outputs to look at; those that cannot list are told.
fn chosen(reader: &Reader, output: Option<&str>) -> Result<Vec<Connection>> {
    let names: Vec<String> = reader
        .read(connections::list)?
        .into_iter()
        .filter(|(role, ..)| role == Role::Output.word())
        .map(|(_, _, name, _)| name)
        .collect();
    let mut found = Vec::new();
    for name in names.iter().filter(|name| output.is_none_or(|output| output == *name)) {
        found.extend(reader.read(|sql| connections::find(sql, Role::Output, name))?);
    }
    match output {
        Some(output) if found.is_empty() => Err(Failure::usage(format!(
            "there is no output `{output}`; there is {}",
            if names.is_empty() { "none yet".to_owned() } else { names.join(", ") }
        ))),
        Some(output) if !can_list(&found[0]) => {
            Err(Failure::usage(format!("output {output} cannot list what it holds, so nobody can verify it")))
        }
        _ => {
            for connection in found.iter().filter(|connection| !can_list(connection)) {
                show::stderr(&format!("{}: cannot list what it holds, and is left out", connection.name));
            }
            found.retain(can_list);
            Ok(found)
        }
    }
}

/// Looks at one output; whether it agrees with the books, or was made to.
fn one(
    global: &Global,
    data: &DataDirectory,
    writing: &Writing,
    engine: &Engine,
    connection: &Connection,
    repair: bool,
    limit: u32,
) -> Result<bool> {
    let mut told = 0;
    let mut tell = |difference: &Difference| {
        if global.json {
            json_line(&connection.name, difference);
        } else if told < limit {
            tell_one(difference);
        }
        told = told.saturating_add(1);
    };
    let found = engine.verify(connection, repair, &mut tell)?;
    let differences = found.missing + found.stale + found.orphaned + found.foreign;
    if !global.json && u64::from(limit) < differences {
        let more = show::number(differences - u64::from(limit));
        show::line(&format!("  … and {more} more; a larger --limit or --json names them"));
    }
    let mut sent = true;
    for id in &found.to_send {
        sent &= send(global, data, writing, *id)?;
    }
    summary(global, &connection.name, &found, repair, sent);
    Ok(if repair {
        sent && found.foreign == 0 && found.removed == found.orphaned
    } else {
        found.agrees() && found.mismatch.is_none()
    })
}

/// Sends what a job has to send again; whether all of it was sent.
fn send(
    global: &Global,
    data: &DataDirectory,
    writing: &Writing,
    id: ingather_connector::model::ids::JobId,
) -> Result<bool> {
    let reader = writing.store.reader();
    let Some(job) = reader.read(|sql| jobs::get(sql, id))? else { return Ok(true) };
    let kind = repository_kind(reader, &job)?;
    let engine =
        wiring::engine(global, data, reader.clone(), Some(writing), &wiring::journals(&job.definition));
    let options =
        Options { kind: RunKind::Minimal, mode: Mode::Write, guard_off: false, accepts_devices: false };
    let report = engine.run(&job, &kind, options, Arc::new(Progress::default()))?;
    let waits = reader.read(|sql| ingather_store::work::waiting(sql, job.id))?.len();
    if waits > 0 {
        show::stderr(&format!(
            "job {}: {} documents wait to be sent again; `ingather sync` of {} goes on with them",
            job.name,
            show::number(waits as u64),
            job.root
        ));
    }
    Ok(waits == 0 && report.error.is_none())
}

fn json_line(output: &str, difference: &Difference) {
    let (job, document) = difference.document.clone().unzip();
    let line = json!({
        "output": output, "difference": difference.kind.word(), "id": difference.id, "job": job, "document": document,
    });
    show::json(&line);
}

fn tell_one(difference: &Difference) {
    let of = match &difference.document {
        Some((job, name)) => format!("  (job {job}: {name})"),
        None => String::new(),
    };
    show::line(&format!("  {:<9} {}{of}", difference.kind.word(), difference.id));
}

fn summary(global: &Global, output: &str, found: &Verified, repair: bool, sent: bool) {
    if global.json {
        let line = json!({
            "output": output, "entries": found.entries, "deliveries": found.deliveries, "missing": found.missing,
            "stale": found.stale, "orphaned": found.orphaned, "foreign": found.foreign,
            "on_their_way": found.on_their_way, "mismatch": found.mismatch, "removed": found.removed,
            "repaired": repair && sent,
        });
        show::json(&line);
        return;
    }
    let number = show::number;
    show::line(&format!(
        "{output}: {} entries, {} deliveries: {} missing, {} stale, {} orphaned, {} foreign",
        number(found.entries),
        number(found.deliveries),
        number(found.missing),
        number(found.stale),
        number(found.orphaned),
        number(found.foreign)
    ));
    if global.quiet {
        return;
    }
    if let Some(mismatch) = &found.mismatch {
        show::stderr(&format!("{output}: {mismatch}"));
    }
    if found.on_their_way > 0 {
        let n = number(found.on_their_way);
        show::stderr(&format!(
            "{n} are on their way or were refused, and are not compared; the next run settles them"
        ));
    }
    let put_right = found.missing + found.stale + found.orphaned;
    match (repair, put_right, found.foreign) {
        (_, 0, 0) => {}
        (false, 0, _) => show::stderr(
            "what is foreign was put there by somebody else; remove it there, if it is not wanted",
        ),
        (false, ..) => show::stderr("`ingather verify --repair` puts this right"),
        (true, 0, _) => show::stderr("what is foreign is left as it is"),
        (true, n, 0) => show::stderr(&format!("{} were put right", number(n))),
        (true, n, _) => {
            show::stderr(&format!("{} were put right; what is foreign is left as it is", number(n)))
        }
    }
}
