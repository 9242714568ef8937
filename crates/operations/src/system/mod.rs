//! The system: whether the inventory is sound, and whether what surrounds it lets the program work.

pub mod events;
pub mod health;
pub(crate) mod jobs;
mod machine;
mod outputs;
pub mod properties;
mod secrets;
mod status;

pub use status::{AskStatus, JobStatus, Need, STATUS_OF_JOBS, Status};

use std::borrow::Cow;
use std::collections::HashMap;

use ingather_store::doctor::{self, About, Fault};
use ingather_store::{Durability, Reader, documents};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Caller, Context, Writing};
use crate::operation::{Effect, Operation, Rest, Role, Shape, Streaming, Verb, Words};
use crate::problem::{Code, Result};

/// Rows of one check that are looked for, and repaired at once.
const ROWS_MAX: usize = 10_000;
/// Rows of one check that are named.
const NAMED_MAX: usize = 5;
/// Rounds of repair: what one puts right may show what was behind it.
const ROUNDS_MAX: usize = 1_000;

const LOOK: &str = r#"{"check": "clock", "ok": true, "says": "it goes on", "advice": ""}"#;
const FAULT: &str = r#"{"check": "first_visits", "number": 3, "ok": false, "repaired": false, "count": 2, "more": false,
    "says": "documents that wait for no visit", "advice": "repair it", "examples": ["`a.txt`", "`b.txt`"],
    "sentence": "2 documents wait for no visit"}"#;

/// Checks the inventory, the outputs, the jobs and the surroundings.
pub static DOCTOR: Streaming<Examine, Finding, Examined> = Streaming {
    operation: Operation {
        name: "system.doctor",
        summary: "Checks the inventory, the outputs, the jobs and the surroundings, and repairs what it can when asked to.",
        request: Shape::of::<Examine>("Examine", &[r#"{"repair": false}"#]),
        item: Some(Shape::of::<Finding>("Finding", &[LOOK, FAULT])),
        answer: Shape::of::<Examined>("Examined", &[r#"{"problems": 1, "repaired": 0}"#]),
        role: Role::Admin,
        effect: Effect::Changes,
        rest: Rest::At(Verb::Post, "/system/doctor"),
        words: Words::Are("doctor"),
        tool: false,
        problems: &[Code::NoSuchConnector, Code::Output, Code::Connector, Code::IndexOlder],
    },
    run: examine,
};

/// Asks for an examination.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Examine {
    /// Repair what can be repaired without a loss; the next run sends what has to be sent.
    #[serde(default)]
    pub repair: bool,
}

/// What was found, good or bad.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Finding {
    /// Of the inventory. It stands first: whoever reads takes the first form that fits, and this one has all fields of the other.
    Fault(FoundFault),
    /// Of the surroundings.
    Look(Look),
}

/// What one look at the surroundings found.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Look {
    /// Stable word.
    pub check: Cow<'static, str>,
    /// It is as it should be.
    pub ok: bool,
    /// What was seen, in a sentence.
    pub says: String,
    /// What to do; where all is good, what else could be done: empty when there is nothing to say.
    pub advice: String,
}

impl Look {
    /// It is as it should be.
    pub fn good(check: &'static str, says: impl Into<String>) -> Look {
        Look { check: check.into(), ok: true, says: says.into(), advice: String::new() }
    }

    /// It is as somebody has decided, which others should know.
    pub fn noted(check: &'static str, says: impl Into<String>, advice: impl Into<String>) -> Look {
        Look { check: check.into(), ok: true, says: says.into(), advice: advice.into() }
    }

    /// Somebody is needed.
    pub fn bad(check: &'static str, says: impl Into<String>, advice: impl Into<String>) -> Look {
        Look { check: check.into(), ok: false, says: says.into(), advice: advice.into() }
    }
}

/// What does not hold in the inventory.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FoundFault {
    /// What it is.
    #[serde(flatten)]
    pub line: FaultLine,
    /// How many rows there are and what is wrong with them, in a sentence.
    pub sentence: String,
}

/// What does not hold in the inventory, as the command line writes it with `--json`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FaultLine {
    /// Stable word.
    pub check: Cow<'static, str>,
    /// Its number in the design.
    pub number: u8,
    /// It was repaired.
    pub ok: bool,
    /// The same.
    pub repaired: bool,
    /// Rows that were found.
    pub count: usize,
    /// There may be more.
    pub more: bool,
    /// What was found, as what follows a count.
    pub says: Cow<'static, str>,
    /// What to do, or what the repair does.
    pub advice: Cow<'static, str>,
    /// Some of the rows.
    pub examples: Vec<String>,
}

/// The end of an examination.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Examined {
    /// Problems that are left.
    pub problems: usize,
    /// Problems of the inventory that were repaired.
    pub repaired: usize,
}

fn examine(
    context: &Context<'_>,
    _: &Caller<'_>,
    request: Examine,
    each: &mut dyn FnMut(Finding),
) -> Result<Examined> {
    let Examine { repair } = request;
    let reader = context.existing()?;
    let writing = if repair { Some(context.host.write_alone("doctor")?) } else { None };
    let mut problems = look_around(context, &reader, writing.as_ref(), each)?;
    let faults = reader.read(|sql| doctor::examine(sql, ROWS_MAX))?;
    let left = match &writing {
        Some(writing) => repaired(context, &reader, writing, faults.clone())?,
        None => faults.clone(),
    };
    for fault in &faults {
        let repaired = repair && !left.iter().any(|other| other.check.name == fault.check.name);
        each(Finding::Fault(found(&reader, fault, repaired)?));
    }
    problems += left.len();
    Ok(Examined { problems, repaired: faults.len() - left.len() })
}

/// Looks at machine, store, outputs and jobs; how many problems there are.
fn look_around(
    context: &Context<'_>,
    reader: &Reader,
    writing: Option<&Writing>,
    each: &mut dyn FnMut(Finding),
) -> Result<usize> {
    let mut bad = 0;
    let mut tell = |looks: Vec<Look>| {
        bad += looks.iter().filter(|look| !look.ok).count();
        looks.into_iter().for_each(|look| each(Finding::Look(look)));
    };
    tell(machine::of_machine(context.host, writing.is_some()));
    let authorities = context.host.process();
    let checked = authorities.authorities.check((Some(reader), &context.registry), &context.call())?;
    tell(machine::of_authorities(checked));
    tell(machine::of_own_files(context.host.own_files()));
    tell(machine::of_store(reader, context.now())?);
    let engine = context.engine(reader.clone(), writing, &[]);
    let holder = if writing.is_some() { None } else { context.host.holder() };
    let jobs = reader.read(ingather_store::jobs::list)?;
    tell(secrets::of_secrets(context.host, reader, &jobs)?);
    tell(outputs::of_outputs(&engine, &jobs)?);
    for job in &jobs {
        tell(self::jobs::of_job(context, &engine, job, holder.as_deref())?);
    }
    Ok(bad)
}

/// Repairs the inventory; what is left.
fn repaired(
    context: &Context<'_>,
    reader: &Reader,
    writing: &Writing,
    mut left: Vec<Fault>,
) -> Result<Vec<Fault>> {
    let counts =
        |left: &[Fault]| left.iter().map(|fault| (fault.check.name, fault.rows.len())).collect::<Vec<_>>();
    for _ in 0..ROUNDS_MAX {
        let before = counts(&left);
        if left.is_empty() {
            break;
        }
        writing.store.write(Durability::Synced, |sql| {
            writing.lease.fence(sql)?;
            left.iter().try_for_each(|fault| doctor::repair(sql, fault, context.now()).map(|_| ()))
        })?;
        left = reader.read(|sql| doctor::examine(sql, ROWS_MAX))?;
        let after = counts(&left);
        // A full page of rows may hide as many others.
        if before == after && after.iter().all(|(_, rows)| *rows < ROWS_MAX) {
            break;
        }
    }
    Ok(left)
}

fn found(reader: &Reader, fault: &Fault, repaired: bool) -> Result<FoundFault> {
    let check = fault.check;
    let line = FaultLine {
        check: check.name.into(),
        number: check.number,
        ok: repaired,
        repaired,
        count: fault.rows.len(),
        more: fault.rows.len() == ROWS_MAX,
        says: check.found.into(),
        advice: check.advice.into(),
        examples: examples(reader, fault)?,
    };
    Ok(FoundFault { line, sentence: check.sentence(fault.rows.len() as u64) })
}

/// Some rows as a person reads them: documents by their names.
fn examples(reader: &Reader, fault: &Fault) -> Result<Vec<String>> {
    let rows = &fault.rows[..fault.rows.len().min(NAMED_MAX)];
    let ids: Vec<i64> = rows.iter().map(|(id, _)| *id).collect();
    let names: HashMap<i64, String> = match fault.check.about {
        About::Document | About::Delivery => {
            reader.read(|sql| documents::names(sql, &ids))?.into_iter().collect()
        }
        About::Job => {
            reader.read(ingather_store::jobs::names)?.into_iter().map(|(job, name)| (job.0, name)).collect()
        }
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
