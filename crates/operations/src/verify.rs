//! What outputs really hold, beside what the inventory says, and the repair of what differs.

use std::sync::Arc;

use ingather_engine::inspect::verify::{Difference, Kind, Verified};
use ingather_engine::progress::Progress;
use ingather_engine::{Engine, Mode, Options};
use ingather_model::ids::JobId;
use ingather_model::job::RunKind;
use ingather_model::run_counts::counted;
use ingather_store::connections::{self, Connection, Role as ConnectionRole};
use ingather_store::{Reader, jobs, queue};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Caller, Context, Writing, journals};
use crate::in_words;
use crate::operation::{Effect, Operation, Rest, Role, Shape, Streaming, Verb, Words};
use crate::problem::{Code, Problem, Result};

const DIFFERENCE: &str = r#"{"output": "index", "difference": "stale", "id": "file:///srv/share/a.txt", "job": "share",
    "document": "a.txt"}"#;
const COMPARED: &str = r#"{"compared": "index", "differences": 1}"#;
const VERIFIED: &str = r#"{"output": "index", "entries": 1200, "deliveries": 1200, "missing": 0, "stale": 1, "orphaned": 0,
    "foreign": 0, "on_their_way": 0, "held_and_lost": 0, "mismatch": null, "removed": 0, "damage": [], "made_anew": false,
    "repaired": true, "sent": true, "left_over": 0}"#;
const NOTICE: &str = r#"{"notice": "journal:/x: is append-only and cannot be verified; it is left out"}"#;

/// Compares what outputs hold with the inventory.
pub static VERIFY: Streaming<VerifyOutputs, VerifyItem, VerifyEnd> = Streaming {
    operation: Operation {
        name: "outputs.verify",
        summary: "Checks that outputs are whole and hold what the inventory says, and repairs what differs when asked to.",
        request: Shape::of::<VerifyOutputs>("VerifyOutputs", &[r#"{"output": "index", "repair": true}"#]),
        item: Some(Shape::of::<VerifyItem>("VerifyItem", &[DIFFERENCE, COMPARED, VERIFIED, NOTICE])),
        answer: Shape::of::<VerifyEnd>("VerifyEnd", &[r#"{"agrees": false, "stopped": false}"#]),
        role: Role::Admin,
        effect: Effect::Changes,
        rest: Rest::At(Verb::Post, "/outputs/verify"),
        words: Words::Are("verify"),
        tool: false,
        problems: &[
            Code::NoSuchOutput,
            Code::NoSuchConnector,
            Code::Output,
            Code::Connector,
            Code::IndexOlder,
        ],
    },
    run: verify,
};

/// Asks for a comparison.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyOutputs {
    /// Name of the output; all that can list what they hold when left out.
    #[serde(default)]
    pub output: Option<String>,
    /// Make outputs hold what the inventory says.
    #[serde(default)]
    pub repair: bool,
}

/// What is handed out while outputs are compared.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum VerifyItem {
    /// An entry differs.
    Difference(OutputDifference),
    /// All differences of an output were handed out.
    Compared(Compared),
    /// An output is done with.
    Output(Box<VerifiedOutput>),
    /// What a person should know.
    Notice(Notice),
}

/// What a person should know of a comparison.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    /// A sentence.
    pub notice: String,
}

/// An entry and the inventory differ.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OutputDifference {
    /// Name of the output.
    pub output: String,
    /// How they differ.
    pub difference: DifferenceWord,
    /// Address of the entry.
    pub id: String,
    /// Name of the job, when the inventory knows it.
    pub job: Option<String>,
    /// Name of the document there.
    pub document: Option<String>,
}

/// How an entry and the inventory differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceWord {
    /// It is not there.
    Missing,
    /// It is there with another version or another access.
    Stale,
    /// It is ours, and no job has it.
    Orphaned,
    /// It is not ours.
    Foreign,
}

impl DifferenceWord {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            DifferenceWord::Missing => "missing",
            DifferenceWord::Stale => "stale",
            DifferenceWord::Orphaned => "orphaned",
            DifferenceWord::Foreign => "foreign",
        }
    }
}

/// How many entries of an output differ.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    /// Name of the output.
    pub compared: String,
    /// How many.
    pub differences: u64,
}

/// What was found in one output, and what was done about it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct VerifiedOutput {
    /// What was found.
    #[serde(flatten)]
    pub line: VerifiedLine,
    /// Everything that has to be sent again was.
    pub sent: bool,
    /// Entries that are still to be removed.
    pub left_over: u64,
}

/// What was found in one output, as the command line writes it with `--json`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct VerifiedLine {
    /// Its name.
    pub output: String,
    /// Entries that it holds.
    pub entries: u64,
    /// Deliveries in the delivery log.
    pub deliveries: u64,
    /// Entries that are not there.
    pub missing: u64,
    /// Entries with another version or access.
    pub stale: u64,
    /// Entries of ours that no job has.
    pub orphaned: u64,
    /// Entries that are not ours.
    pub foreign: u64,
    /// Addresses for which something is on its way.
    pub on_their_way: u64,
    /// Entries that are gone, of documents whose removal is held.
    pub held_and_lost: u64,
    /// How the output as a whole is not the one that the delivery log speaks of.
    pub mismatch: Option<String>,
    /// Orphaned entries that were removed.
    pub removed: u64,
    /// What of the output itself is damaged, a clause each.
    pub damage: Vec<String>,
    /// It was damaged, and is empty and new now.
    pub made_anew: bool,
    /// A repair was asked for, and everything was sent.
    pub repaired: bool,
}

/// The end of a comparison.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct VerifyEnd {
    /// Outputs and inventory agree, or were made to.
    pub agrees: bool,
    /// It was asked to stop: nothing more was looked at.
    pub stopped: bool,
}

/// What hands items out.
type Each<'a> = &'a mut dyn FnMut(VerifyItem);

fn verify(
    context: &Context<'_>,
    _: &Caller<'_>,
    request: VerifyOutputs,
    each: &mut dyn FnMut(VerifyItem),
) -> Result<VerifyEnd> {
    let reader = context.existing()?;
    let chosen = chosen(context, &reader, request.output.as_deref(), each)?;
    // Who only looks needs no right to write, and is not in a writer's way.
    let writing = if request.repair { Some(context.host.write_alone("verify")?) } else { None };
    let engine = context.engine(reader, writing.as_ref(), &[]);
    let mut agrees = true;
    for connection in &chosen {
        let good = one(context, writing.as_ref(), &engine, connection, each);
        if engine.cancel.cancelled() {
            return Ok(VerifyEnd { agrees: false, stopped: true });
        }
        agrees &= good?;
    }
    Ok(VerifyEnd { agrees, stopped: false })
}

fn note(each: Each<'_>, notice: String) {
    each(VerifyItem::Notice(Notice { notice }));
}

/// The outputs to look at; those that cannot list are told.
fn chosen(
    context: &Context<'_>,
    reader: &Reader,
    output: Option<&str>,
    each: Each<'_>,
) -> Result<Vec<Connection>> {
    let can_list = |connection: &Connection| {
        context.registry.output(&connection.kind).is_some_and(|kind| kind.look.is_some())
    };
    let names: Vec<String> = reader
        .read(connections::list)?
        .into_iter()
        .filter(|connection| connection.role == ConnectionRole::Output)
        .map(|connection| connection.name)
        .collect();
    let mut found = Vec::new();
    for name in names.iter().filter(|name| output.is_none_or(|output| output == *name)) {
        found.extend(reader.read(|sql| connections::find(sql, ConnectionRole::Output, name))?);
    }
    match output {
        Some(output) if found.is_empty() => Err(Problem::new(
            Code::NoSuchOutput,
            format!(
                "there is no output `{output}`; there is {}",
                if names.is_empty() { "none yet".to_owned() } else { names.join(", ") }
            ),
        )),
        Some(output) if !can_list(&found[0]) => {
            Err(Problem::usage(format!("output {output} is append-only and cannot be verified")))
        }
        _ => {
            for connection in found.iter().filter(|connection| !can_list(connection)) {
                let name = &connection.name;
                note(each, format!("{name}: is append-only and cannot be verified; it is left out"));
            }
            found.retain(can_list);
            Ok(found)
        }
    }
}

/// Looks at one output; whether it agrees with the delivery log, or was made to.
fn one(
    context: &Context<'_>,
    writing: Option<&Writing>,
    engine: &Engine,
    connection: &Connection,
    each: Each<'_>,
) -> Result<bool> {
    let output = &connection.name;
    let mut tell = |difference: &Difference| each(VerifyItem::Difference(differs(output, difference)));
    let found = engine.verify(connection, writing.is_some(), &mut tell)?;
    let differences = found.missing + found.stale + found.orphaned + found.foreign;
    each(VerifyItem::Compared(Compared { compared: output.clone(), differences }));
    let mut sent = true;
    for id in &found.to_send {
        sent &= match writing {
            None => true,
            Some(writing) => send(context, writing, *id, each).unwrap_or_else(|problem| {
                note(each, format!("ingather: {problem}"));
                false
            }),
        };
    }
    let agrees = match writing {
        Some(_) => sent && found.foreign == 0 && found.left_over == 0,
        None => found.agrees(),
    };
    each(VerifyItem::Output(Box::new(verified(output, found, writing.is_some(), sent))));
    Ok(agrees)
}

fn differs(output: &str, difference: &Difference) -> OutputDifference {
    let (job, document) = difference.document.clone().unzip();
    let word = match difference.kind {
        Kind::Missing => DifferenceWord::Missing,
        Kind::Stale => DifferenceWord::Stale,
        Kind::Orphaned => DifferenceWord::Orphaned,
        Kind::Foreign => DifferenceWord::Foreign,
    };
    OutputDifference { output: output.to_owned(), difference: word, id: difference.id.clone(), job, document }
}

fn verified(output: &str, found: Verified, repair: bool, sent: bool) -> VerifiedOutput {
    let line = VerifiedLine {
        output: output.to_owned(),
        entries: found.entries,
        deliveries: found.deliveries,
        missing: found.missing,
        stale: found.stale,
        orphaned: found.orphaned,
        foreign: found.foreign,
        on_their_way: found.on_their_way,
        held_and_lost: found.held_and_lost,
        mismatch: found.mismatch,
        removed: found.removed,
        damage: found.damage,
        made_anew: found.made_anew,
        repaired: repair && sent,
    };
    VerifiedOutput { line, sent, left_over: found.left_over }
}

/// Sends what a job has to send again; whether all of it was sent.
fn send(context: &Context<'_>, writing: &Writing, id: JobId, each: Each<'_>) -> Result<bool> {
    let reader = writing.store.reader();
    let Some(job) = reader.read(|sql| jobs::get(sql, id))? else { return Ok(true) };
    let engine = context.engine(reader.clone(), Some(writing), &journals(&job.definition));
    let options = Options {
        kind: RunKind::Minimal,
        mode: Mode::Write,
        guard_off: false,
        accepts_devices: false,
        rereads: false,
        goes_on: false,
        is_pass: false,
    };
    let report = engine.run(&job, options, Arc::new(Progress::default()))?;
    let waits = reader.read(|sql| queue::count_due(sql, job.id, queue::DUE_NEXT_RUN))?;
    if waits > 0 {
        let notice = format!(
            "job {}: {} {} still to be sent again; `ingather sync` of {} goes on",
            job.name,
            counted(waits, "document"),
            in_words::are(waits),
            job.root
        );
        note(each, notice);
    }
    Ok(waits == 0 && report.error.is_none())
}
