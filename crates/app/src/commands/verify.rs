//! `ingather verify`: what outputs really hold, beside what the inventory says.

use std::sync::Arc;

use ingather_engine::inspect::verify::{Difference, Verified};
use ingather_engine::progress::Progress;
use ingather_engine::{Engine, Mode, Options};
use ingather_model::job::RunKind;
use ingather_store::connections::{self, Connection, Role};
use ingather_store::{Reader, jobs};
use serde_json::json;

use crate::arguments::Global;
use crate::data::{DataDirectory, Writing};
use crate::exit::{self, Failure, Result};
use crate::{interrupt, show, wiring};

pub(crate) fn run(global: &Global, output: Option<&str>, repair: bool, limit: u32) -> Result<u8> {
    let data = DataDirectory::of(global)?;
    let reader = data.existing()?;
    let chosen = chosen(&reader, output)?;
    // Who only looks needs no right to write, and is not in a writer's way.
    let writing = if repair { Some(data.write("verify", wiring::now())?) } else { None };
    let engine = wiring::engine(global, &data, reader, writing.as_ref(), &[]);
    let mut differs = false;
    for connection in &chosen {
        let good = one(global, &data, writing.as_ref(), &engine, connection, limit);
        if interrupt::cancel().cancelled() {
            show::stderr("stopped; nothing more was looked at");
            return Ok(interrupt::code());
        }
        differs |= !good?;
    }
    Ok(if differs { exit::TROUBLED } else { exit::DONE })
}

fn can_list(connection: &Connection) -> bool {
    ingather_connectors::ALL.output(&connection.kind).is_some_and(|kind| kind.look.is_some())
}

/// The outputs to look at; those that cannot list are told.
fn chosen(reader: &Reader, output: Option<&str>) -> Result<Vec<Connection>> {
    let names: Vec<String> = reader
        .read(connections::list)?
        .into_iter()
        .filter(|connection| connection.role == Role::Output)
        .map(|connection| connection.name)
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
            Err(Failure::usage(format!("output {output} is append-only and cannot be verified")))
        }
        _ => {
            for connection in found.iter().filter(|connection| !can_list(connection)) {
                show::stderr(&format!(
                    "{}: is append-only and cannot be verified; it is left out",
                    connection.name
                ));
            }
            found.retain(can_list);
            Ok(found)
        }
    }
}

/// Looks at one output; whether it agrees with the delivery log, or was made to.
fn one(
    global: &Global,
    data: &DataDirectory,
    writing: Option<&Writing>,
    engine: &Engine,
    connection: &Connection,
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
    let found = engine.verify(connection, writing.is_some(), &mut tell)?;
    let differences = found.missing + found.stale + found.orphaned + found.foreign;
    if !global.json && u64::from(limit) < differences {
        let more = show::number(differences - u64::from(limit));
        show::line(&format!("  … and {more} more; a larger --limit or --json names them"));
    }
    let mut sent = true;
    for id in &found.to_send {
        sent &= writing.is_none_or(|writing| {
            send(global, data, writing, *id).unwrap_or_else(|failure| {
                show::stderr(&format!("ingather: {failure}"));
                false
            })
        });
    }
    summary(global, &connection.name, &found, writing.is_some(), sent);
    Ok(if writing.is_some() { sent && found.foreign == 0 && found.left_over == 0 } else { found.agrees() })
}

/// Sends what a job has to send again; whether all of it was sent.
fn send(
    global: &Global,
    data: &DataDirectory,
    writing: &Writing,
    id: ingather_model::ids::JobId,
) -> Result<bool> {
    let reader = writing.store.reader();
    let Some(job) = reader.read(|sql| jobs::get(sql, id))? else { return Ok(true) };
    let engine =
        wiring::engine(global, data, reader.clone(), Some(writing), &wiring::journals(&job.definition));
    let options = Options {
        kind: RunKind::Minimal,
        mode: Mode::Write,
        guard_off: false,
        accepts_devices: false,
        rereads: false,
    };
    let report = engine.run(&job, options, Arc::new(Progress::default()))?;
    let waits = reader.read(|sql| ingather_store::queue::waiting(sql, job.id))?.len();
    if waits > 0 {
        show::stderr(&format!(
            "job {}: {} {} still to be sent again; `ingather sync` of {} goes on",
            job.name,
            show::counted(waits as u64, "document"),
            show::are(waits as u64),
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
            "on_their_way": found.on_their_way, "held_and_lost": found.held_and_lost, "mismatch": found.mismatch, "removed": found.removed,
            "damage": found.damage, "made_anew": found.made_anew,
            "repaired": repair && sent,
        });
        show::json(&line);
        return;
    }
    let number = show::number;
    for damage in &found.damage {
        show::line(&format!("{output}: {damage}"));
    }
    if found.made_anew {
        show::line(&match sent {
            true => format!("{output}: was made anew, and everything was sent again"),
            false => format!(
                "{output}: was made anew; not everything could be sent again yet, `ingather sync` goes on"
            ),
        });
        return;
    }
    // What could not be opened was compared with nothing: the damage says so, and no number of differences does.
    if !found.damage.is_empty() && found.entries + found.deliveries == 0 {
        show::stderr(&format!("{output}: nothing could be compared"));
        return;
    }
    show::line(&format!(
        "{output}: {} held, {} expected: {} missing, {} stale, {} orphaned, {} foreign",
        show::counted(found.entries, "entry"),
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
    tell_not_compared(found);
    if !found.damage.is_empty() {
        show::stderr(&format!(
            "`ingather verify {output} --repair` makes it anew and sends everything again"
        ));
        return;
    }
    let differences = found.missing + found.stale + found.orphaned;
    match (repair, differences, found.foreign) {
        (_, 0, 0) => {}
        (true, ..) => tell_repaired(output, found, differences, sent),
        (false, 0, _) => show::stderr(
            "what is foreign was put there by somebody else; remove it there, if it is not wanted",
        ),
        (false, ..) => show::stderr("`ingather verify --repair` repairs this"),
    }
}

/// What the inventory does not expect in the output for now.
fn tell_not_compared(found: &Verified) {
    if found.on_their_way > 0 {
        show::stderr(&format!(
            "{} {} on the way or refused, and not compared; the next run decides",
            show::counted(found.on_their_way, "entry"),
            show::are(found.on_their_way)
        ));
    }
    if found.held_and_lost > 0 {
        show::stderr(&format!(
            "{} of documents whose removal is held {} not there any more; `ingather job held JOB` lists them, and says how to \
             confirm the removal",
            show::counted(found.held_and_lost, "entry"),
            show::are(found.held_and_lost)
        ));
    }
}

fn tell_repaired(output: &str, found: &Verified, differences: u64, sent: bool) {
    let repaired = match differences {
        0 => None,
        n if sent => Some(format!("{} repaired", show::number(n.saturating_sub(found.left_over)))),
        // It is not found until then: what its entry named may mean other people by now.
        _ => Some("what differed was removed; not all of it could be sent again yet".to_owned()),
    };
    let more = (found.left_over > 0).then(|| {
        let more = show::counted(found.left_over, "more entry");
        format!("{more} still to be removed; run `ingather verify {output} --repair` again")
    });
    let foreign = (found.foreign > 0).then(|| "what is foreign is left as it is".to_owned());
    let said: Vec<String> = [repaired, more, foreign].into_iter().flatten().collect();
    show::stderr(&said.join("; "));
}
