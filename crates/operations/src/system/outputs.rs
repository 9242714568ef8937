//! Whether outputs can be reached, are whole, and are those that the inventory speaks of.

use std::collections::BTreeSet;

use ingather_engine::Engine;
use ingather_engine::outputs::{self, Misfit, misfit};
use ingather_store::connections::{self, Connection, Role};
use ingather_store::jobs::Job;

use super::Look;
use crate::connections::check_output;
use crate::problem::Result;

/// Attempts to meet an output and the inventory in step while a writer works.
const ATTEMPTS_MAX: usize = 5;
/// Jobs whose command is named.
const JOBS_MAX: usize = 3;

/// What is wrong with an output, and what to do.
type ErrorAndAdvice = (String, String);

/// Every output of a job; and every other one that is there, since a store of an earlier day may not know who filled it.
pub(super) fn of_outputs(engine: &Engine, jobs: &[Job]) -> Result<Vec<Look>> {
    let used: BTreeSet<&str> =
        jobs.iter().flat_map(|job| &job.definition.outputs).map(String::as_str).collect();
    let mut looks: Vec<Look> = used
        .iter()
        .map(|name| match output(engine, jobs, name) {
            Ok(said) => Look::good("output", format!("output {name}: {said}")),
            Err((error, advice)) => bad(name, &error, advice),
        })
        .collect();
    let known = engine.reader.read(connections::list)?;
    let known = known.into_iter().filter(|one| one.role == Role::Output).map(|one| one.name);
    let own = engine.registry.outputs.iter().map(|kind| kind.name.to_owned());
    let others: BTreeSet<String> = known.chain(own).filter(|name| !used.contains(name.as_str())).collect();
    for name in others {
        // One that is not there is in nobody's way; one that is there is met by searches, whether a job uses it or not.
        let Ok(connection) = connection(engine, &name) else { continue };
        let (error, advice) = match status(engine, &connection) {
            Ok(OutputStatus::Misfit(sentence)) => (sentence, advice(&name, jobs)),
            Ok(OutputStatus::Damaged(damage)) => (damage, anew(&name)),
            Ok(OutputStatus::Nothing | OutputStatus::Absent | OutputStatus::Good) => continue,
            Err(error) => stops(&name, error),
        };
        looks.push(bad(&name, &error, advice));
    }
    Ok(looks)
}

fn bad(name: &str, error: &str, advice: String) -> Look {
    Look::bad("output", format!("output {name}: {error}"), advice)
}

/// How an output was found.
enum OutputStatus {
    /// It cannot be looked at, for there is nothing in it.
    Nothing,
    Absent,
    Damaged(String),
    /// It is not the one that the inventory speaks of, and how.
    Misfit(String),
    Good,
}

fn connection(engine: &Engine, name: &str) -> std::result::Result<Connection, String> {
    let known = engine.reader.read(|sql| connections::find(sql, Role::Output, name));
    match known.map_err(|error| error.to_string())? {
        Some(known) => Ok(known),
        None => outputs::pretended(&engine.registry, name).map_err(|error| error.to_string()),
    }
}

/// Looks at an output without a right to write to it, and compares it with the inventory.
fn status(engine: &Engine, connection: &Connection) -> std::result::Result<OutputStatus, String> {
    let kind = engine.registry.output(&connection.kind);
    if kind.is_none_or(|kind| kind.look.is_none()) {
        return Ok(OutputStatus::Nothing);
    }
    let mut attempts = 1..=ATTEMPTS_MAX;
    loop {
        let last = attempts.next().is_none_or(|attempt| attempt == ATTEMPTS_MAX);
        let (looking, damage) = engine.look_at(connection, false).map_err(|error| error.to_string())?;
        if let Some(first) = damage.into_iter().next() {
            return Ok(OutputStatus::Damaged(first));
        }
        let Some(looking) = looking else { return Ok(OutputStatus::Absent) };
        let stands = looking.generation();
        let anothers = outputs::anothers(&engine.reader, &connection.name, &stands);
        if let Some(other) = anothers.map_err(|error| error.to_string())? {
            return Err(format!("it leads to what output {other} fills; give one of the two another place"));
        }
        // Asked after the output was opened: what it noted before a change was sent, it knows by now.
        let known = self::connection(engine, &connection.name)?;
        match misfit(&known, &stands) {
            None => return Ok(OutputStatus::Good),
            Some(misfit) if misfit == Misfit::Newer || last => {
                return Ok(OutputStatus::Misfit(misfit.sentence(&known, &stands)));
            }
            // A writer may have gone on in between.
            Some(_) => {}
        }
    }
}

/// What repairs an output that does not fit.
fn advice(name: &str, jobs: &[Job]) -> String {
    let using = jobs.iter().filter(|job| job.definition.outputs.iter().any(|output| output == name));
    let mut commands: Vec<String> =
        using.take(JOBS_MAX).map(|job| format!("`ingather sync {}`", job.root)).collect();
    if commands.is_empty() {
        commands.push(format!("`ingather sync FOLDER --to {name}`, for no job uses it now,"));
    }
    format!(
        "what it holds may belong to other people here, so that nothing of it is shown; {} empties it and sends everything \
         again, each job with its own next run",
        commands.join(" or ")
    )
}

/// What mends an output that is damaged.
fn anew(name: &str) -> String {
    format!("`ingather verify {name} --repair` makes it anew and sends everything again")
}

/// What is wrong with an output says itself what to do: once is enough, and so is its name.
fn stops(name: &str, error: String) -> ErrorAndAdvice {
    let error = error.strip_prefix(&format!("output {name}: ")).unwrap_or(&error);
    match error.split_once("; ") {
        Some((what, advice)) => (what.to_owned(), format!("{advice}; before that, a run would stop there")),
        None => (error.to_owned(), "the next run would stop there".to_owned()),
    }
}

/// Looks at an output that a job uses: what is good about it, or what is wrong and what to do.
fn output(engine: &Engine, jobs: &[Job], name: &str) -> std::result::Result<String, ErrorAndAdvice> {
    let stops = |error: String| stops(name, error);
    let connection = connection(engine, name).map_err(stops)?;
    match status(engine, &connection).map_err(stops)? {
        OutputStatus::Nothing => match check_output(engine, &connection) {
            Ok(()) => Ok("it can be written".to_owned()),
            Err(fault) => Err(stops(fault.to_string())),
        },
        OutputStatus::Absent if connection.identity.is_none() => Ok("it is made by the first run".to_owned()),
        OutputStatus::Absent => Err((
            "it is not there".to_owned(),
            "the next run makes a new one and sends everything again".to_owned(),
        )),
        OutputStatus::Damaged(damage) => Err((damage, anew(name))),
        OutputStatus::Misfit(sentence) => Err((sentence, advice(name, jobs))),
        OutputStatus::Good => Ok("it is whole and can be searched".to_owned()),
    }
}
