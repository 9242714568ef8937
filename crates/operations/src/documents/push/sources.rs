//! Sources as wholes: which there are, what their delta runs have not met, and what is forgotten or deleted of all of it.

use ingather_engine::inbox::delta_runs::{Claim, DeltaMode, Finished};
use ingather_store::jobs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::runs::{DeltaRunLook, EndedDeltaRun, HeldObsolete};
use super::work::{digest, look_at, source_of, with};
use super::{PROBLEMS, row};
use crate::callers::api_keys;
use crate::connections::Sources;
use crate::context::{Caller, Context};
use crate::operation::{Answering, Effect, Operation, Role, Shape, Verb, Words};
use crate::page;
use crate::problem::{Code, Result};
use ingather_model::limits;

const BY_RUN: Words = Words::Not("a client asks it in its delta run");
const LISTED: &str = r#"{"sources": [{"source": "tickets", "run": 3, "of": "a.zip", "mode": "full", "client": "key crawler", "state": "finished",
    "opened_at": 1767225600000, "seen_at": 1767225600000, "lease_seconds": 300, "ended_at": 1767225700000, "touched": 0,
    "veto": "its client says that it is not complete", "deleted": 0, "drained_at": 1767225600000, "records": 1200, "buffered": 2, "buffered_since": 1767225600000}]}"#;
const OF_ALL: &[Code] =
    &[Code::NoSuchJob, Code::Definition, Code::Deleting, Code::ReadOnly, Code::SourceLocked];

/// All sources.
pub static SOURCES: Answering<ListSources, SourceList> = Answering {
    operation: Operation {
        problems: &[],
        ..row(
            "push.sources",
            "The sources that applications push into, each with its records and its last delta run.",
            (
                Shape::of::<ListSources>("ListSources", &["{}"]),
                Shape::of::<SourceList>("SourceList", &[LISTED]),
            ),
            (Effect::Reads, Verb::Get, "/sources"),
            (Words::Are("source list"), PROBLEMS),
        )
    },
    run: list,
};

/// What a delta run has not met.
pub static OBSOLETE: Answering<ListObsolete, ObsoleteList> = Answering {
    operation: row(
        "push.obsolete",
        "Keys of records that an open delta run has not met until now: its end would delete them.",
        (
            Shape::of::<ListObsolete>(
                "ListObsolete",
                &[r#"{"source": "tickets", "run": 3, "after": 0, "limit": 100}"#],
            ),
            Shape::of::<ObsoleteList>("ObsoleteList", &[r#"{"keys": ["17"], "last": 41, "more": false}"#]),
        ),
        (Effect::Reads, Verb::Get, "/sources/{source}/runs/{run}/obsolete"),
        (BY_RUN, &[Code::NoSuchJob, Code::RunExpired]),
    ),
    run: obsolete,
};

/// Deletes it before the end.
pub static DELETE_OBSOLETE: Answering<DeleteObsolete, EndedDeltaRun> = Answering {
    operation: row(
        "push.delete_obsolete",
        "Deletes what an open delta run has not met until now, as its end would; the run goes on.",
        (
            Shape::of::<DeleteObsolete>(
                "DeleteObsolete",
                &[r#"{"source": "tickets", "run": 3, "token": "5f", "confirm": false}"#],
            ),
            Shape::of::<EndedDeltaRun>("EndedDeltaRun", super::runs::ENDED),
        ),
        (Effect::Changes, Verb::Post, "/sources/{source}/runs/{run}/obsolete"),
        (BY_RUN, PROBLEMS),
    ),
    run: delete_obsolete,
};

/// Forgets what versions are told by.
pub static CLEAR: Answering<ClearSource, ClearedSource> = Answering {
    operation: Operation {
        role: Role::Operator,
        ..row(
            "push.clear",
            "Forgets the hashes of the records of a source: its clients push all of them again. Outputs keep what they have.",
            (
                Shape::of::<ClearSource>("ClearSource", &[r#"{"source": "tickets", "unlock": false}"#]),
                Shape::of::<ClearedSource>("ClearedSource", &[r#"{"source": "tickets", "cleared": 1200}"#]),
            ),
            (Effect::Changes, Verb::Post, "/sources/{source}/clear"),
            (Words::Are("source clear"), OF_ALL),
        )
    },
    run: clear,
};

/// Forgets them for all sources.
pub static CLEAR_ALL: Answering<ClearSources, ClearedSources> = Answering {
    operation: Operation {
        role: Role::Operator,
        problems: &[Code::ReadOnly],
        ..row(
            "push.clear_all",
            "Forgets the hashes of the records of all sources. One over which a delta run is open is left out, unless that is taken from its client.",
            (
                Shape::of::<ClearSources>("ClearSources", &[r#"{"confirm": true, "unlock": false}"#]),
                Shape::of::<ClearedSources>(
                    "ClearedSources",
                    &[
                        r#"{"sources": [{"source": "tickets", "cleared": 1200}], "left_out": [{"source": "wiki", "why": "a delta run is open over it"}]}"#,
                    ],
                ),
            ),
            (Effect::Changes, Verb::Post, "/sources/clear"),
            (Words::Are("source clear-all"), PROBLEMS),
        )
    },
    run: clear_all,
};

/// Deletes all records.
pub static PURGE: Answering<PurgeSource, PurgedSource> = Answering {
    operation: Operation {
        role: Role::Operator,
        ..row(
            "push.purge",
            "Deletes all records of a source, also from its outputs; the source itself stays.",
            (
                Shape::of::<PurgeSource>(
                    "PurgeSource",
                    &[r#"{"source": "tickets", "confirm": true, "unlock": false}"#],
                ),
                Shape::of::<PurgedSource>(
                    "PurgedSource",
                    &[
                        r#"{"source": "tickets", "deleted": 1200}"#,
                        r#"{"source": "tickets", "deleted": 0, "held": {"obsolete": 1200, "records": 1200}}"#,
                    ],
                ),
            ),
            (Effect::Changes, Verb::Post, "/sources/{source}/purge"),
            (Words::Are("source purge"), OF_ALL),
        )
    },
    run: purge,
};

/// Asks for all sources.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListSources {}

/// All sources that applications push into.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SourceList {
    /// One for each, by name.
    pub sources: Vec<DeltaRunLook>,
}

/// Asks what an open delta run has not met.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListObsolete {
    /// Name of the job of the source.
    pub source: String,
    /// The delta run.
    pub run: i64,
    /// Key of a compound: what is in it alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// What the page before answered as `last`; 0 for the first one.
    #[serde(default)]
    pub after: i64,
    /// Keys at most; a page has a bound of its own.
    #[serde(default = "page::size")]
    pub limit: u32,
}

/// Some of what an open delta run has not met.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ObsoleteList {
    /// Keys of records.
    pub keys: Vec<String>,
    /// What the next page is asked after.
    pub last: i64,
    /// There may be more.
    pub more: bool,
}

/// Asks to delete what an open delta run has not met until now.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteObsolete {
    /// Name of the job of the source.
    pub source: String,
    /// The delta run.
    pub run: i64,
    /// What proves that this belongs to it.
    pub token: String,
    /// Key of a compound: what is in it alone, at every depth, the deepest first. What is in another compound as well stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// It is deleted even where that is much of the source.
    #[serde(default)]
    pub confirm: bool,
}

/// Asks to forget the hashes of a source.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClearSource {
    /// Name of the job of the source.
    pub source: String,
    /// An open delta run is taken from its client first; else nothing is done while one is open.
    #[serde(default)]
    pub unlock: bool,
}

/// They are forgotten.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ClearedSource {
    /// Name of the job of the source.
    pub source: String,
    /// Records that had a hash.
    pub cleared: u64,
}

/// Asks to forget the hashes of all sources.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClearSources {
    /// They are forgotten; without it nothing is, and the answer names the sources.
    #[serde(default)]
    pub confirm: bool,
    /// Open delta runs are taken from their clients first; else such a source is left out.
    #[serde(default)]
    pub unlock: bool,
}

/// What was forgotten.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ClearedSources {
    /// Sources, by name, each with how many of its records had a hash.
    pub sources: Vec<ClearedSource>,
    /// Sources whose records have their hashes still.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutSource>,
}

/// A source that was left out.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LeftOutSource {
    /// Name of its job.
    pub source: String,
    /// Why, in a sentence.
    pub why: String,
}

/// Asks to delete all records of a source.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PurgeSource {
    /// Name of the job of the source.
    pub source: String,
    /// They are deleted; without it, the answer says how many that would be.
    #[serde(default)]
    pub confirm: bool,
    /// An open delta run is taken from its client first; else nothing is done while one is open.
    #[serde(default)]
    pub unlock: bool,
}

/// They are deleted.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PurgedSource {
    /// Name of the job of the source.
    pub source: String,
    /// Records that are deleted; what was pushed since this was asked stays.
    pub deleted: u64,
    /// Nothing was deleted: somebody has to confirm it (`confirm`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldObsolete>,
}

fn list(context: &Context<'_>, caller: &Caller<'_>, _: ListSources) -> Result<SourceList> {
    let Some(reader) = context.host.reader()? else { return Ok(SourceList { sources: Vec::new() }) };
    let all = reader.read(jobs::list)?.into_iter().filter_map(|job| caller.source(Some(job)));
    let pushed = all.filter(|job| Sources::of_root(&job.root).are_pushed());
    let mut sources = pushed.map(|job| look_at(&reader, job, context.now())).collect::<Result<Vec<_>>>()?;
    sources.sort_by(|one, other| one.source.cmp(&other.source));
    Ok(SourceList { sources })
}

fn obsolete(context: &Context<'_>, caller: &Caller<'_>, request: ListObsolete) -> Result<ObsoleteList> {
    let reader = context.existing()?;
    let job = source_of(&reader, &request.source, caller)?;
    let engine = context.engine(reader, None, &[]);
    let found = engine.list_obsolete(
        &job,
        (request.run, request.of.as_deref()),
        (request.after, page::length(request.limit)),
    )?;
    Ok(ObsoleteList { keys: found.keys, last: found.last, more: found.more })
}

fn delete_obsolete(
    context: &Context<'_>,
    caller: &Caller<'_>,
    request: DeleteObsolete,
) -> Result<EndedDeltaRun> {
    let DeleteObsolete { source, run, token, of, confirm } = request;
    with(context, (&source, caller), |engine, job| {
        let claim = Claim { epoch: run, token: &digest(&token) };
        let Finished { deleted, veto, held } =
            engine.delete_obsolete(job, (claim, of.as_deref()), confirm)?;
        Ok(EndedDeltaRun { run, deleted, veto, held: held.map(HeldObsolete::from) })
    })
}

fn clear(context: &Context<'_>, caller: &Caller<'_>, request: ClearSource) -> Result<ClearedSource> {
    let ClearSource { source, unlock } = request;
    let cleared = with(context, (&source, caller), |engine, job| {
        if unlock {
            engine.unlock_delta_run(job)?;
        }
        Ok(engine.clear_source(job)?)
    })?;
    Ok(ClearedSource { source, cleared })
}

fn clear_all(context: &Context<'_>, caller: &Caller<'_>, request: ClearSources) -> Result<ClearedSources> {
    let mut done = ClearedSources { sources: Vec::new(), left_out: Vec::new() };
    for DeltaRunLook { source, .. } in list(context, caller, ListSources {})?.sources {
        if !request.confirm {
            done.left_out.push(LeftOutSource { source, why: "nobody has confirmed it".to_owned() });
            continue;
        }
        let one = ClearSource { source: source.clone(), unlock: request.unlock };
        match clear(context, caller, one) {
            Ok(cleared) => done.sources.push(cleared),
            // The others are cleared all the same.
            Err(problem) => done.left_out.push(LeftOutSource { source, why: problem.to_string() }),
        }
    }
    Ok(done)
}

/// A delta run that meets nothing.
fn purge(context: &Context<'_>, caller: &Caller<'_>, request: PurgeSource) -> Result<PurgedSource> {
    let PurgeSource { source, confirm, unlock } = request;
    if !confirm {
        let reader = context.existing()?;
        let records = look_at(&reader, source_of(&reader, &source, caller)?, context.now())?.records;
        let held = Some(HeldObsolete { obsolete: records, records });
        return Ok(PurgedSource { source, deleted: 0, held });
    }
    let token = digest(&api_keys::random()?);
    let client = format!("purge ({})", caller.name);
    let ended = with(context, (&source, caller), |engine, job| {
        if unlock {
            engine.unlock_delta_run(job)?;
        }
        let opened = (DeltaMode::Full, limits::DELTA_LEASE_MS, None);
        let epoch = engine.open_delta_run(job, opened, (&client, &token))?;
        let claim = Claim { epoch, token: &token };
        let ended = engine.finish_delta_run(job, claim, (true, true));
        if ended.is_err() {
            // What led here is the failure to tell; the run ends with its lease.
            let _given_up = engine.roll_back(job, claim);
        }
        Ok(ended?)
    })?;
    Ok(PurgedSource { source, deleted: ended.deleted, held: None })
}
