//! What applications push into a source (decision 0051): records as they change, tickets of what became of them, and delta runs over a whole source.
//!
//! Reading order: here are the rows, and in `runs`, `sources` and `channels` · `items` reads records as they are sent · `work` does it.

pub mod channels;
mod items;
mod runs;
mod sources;
mod work;

use ingather_model::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::items::PushedItem;
pub use self::runs::{
    BEGIN, BeginDeltaRun, CHECK, CheckRecords, CheckedItem, CheckedRecords, DeltaMode, DeltaRunLook,
    EndedDeltaRun, FINISH, FinishDeltaRun, Ledger, OpenedDeltaRun, ROLL_BACK, RUN, RollBackDeltaRun,
    ShowDeltaRun, TOUCH, TouchRecords, Touched, UNLOCK, UnlockSource, Unlocked, VISIT, VisitRecords,
    VisitedRecords,
};
pub use self::sources::{
    CLEAR, CLEAR_ALL, ClearSource, ClearSources, ClearedSource, ClearedSources, DELETE_OBSOLETE,
    DeleteObsolete, LeftOutSource, ListObsolete, ListSources, OBSOLETE, ObsoleteList, PURGE, PurgeSource,
    PurgedSource, SOURCES, SourceList,
};
pub use self::work::{renew_leases, send_reports, sinks_due, tend_channels};
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::page;
use crate::problem::Code;

/// What any push may meet.
const PROBLEMS: &[Code] = &[
    Code::NoSuchJob,
    Code::Definition,
    Code::Deleting,
    Code::ReadOnly,
    Code::TooLarge,
    Code::RunExpired,
    Code::BadToken,
];

/// What a push of records may meet.
const PUSH_PROBLEMS: &[Code] = &[
    Code::NoSuchJob,
    Code::Definition,
    Code::Deleting,
    Code::ReadOnly,
    Code::TooLarge,
    Code::RunExpired,
    Code::BadToken,
    Code::Throttled,
];

/// A row of the push side.
const fn row(
    name: &'static str,
    summary: &'static str,
    (request, answer): (Shape, Shape),
    (effect, verb, path): (Effect, Verb, &'static str),
    (words, problems): (Words, &'static [Code]),
) -> Operation {
    Operation {
        name,
        summary,
        request,
        item: None,
        answer,
        role: Role::Pusher,
        effect,
        rest: Rest::At(verb, path),
        words,
        tool: false,
        problems,
    }
}

const RECORDS_ASKED: &str = r#"{"source": "tickets", "run": 3, "token": "5f", "records": [{"key": "17", "hash": "v2", "version": 2, "title": "Broken lamp",
    "text": "It does not light.", "access": ["unix:g:1000"], "modified": "2026-11-27T09:00:00Z", "fields": {"state": "open"}},
    {"key": "18", "delete": true}]}"#;
const RECORDS_ANSWERED: &str = r#"{"results": [{"result": "pending", "ticket": 41, "was_there": true}, {"result": "unchanged"},
    {"result": "refused", "code": "invalid_record", "message": "a key has from 1 to 4096 bytes"}]}"#;
const TICKET: &str = r#"{"ticket": 41, "source": "tickets", "key": "17", "op": "put", "accepted_at": 1767225600000, "report": {"report": 12,
    "at": 1767225600400, "outcome": "failed", "code": "too_large", "message": "the output refuses it"}}"#;
const REPORTS: &str = r#"{"reports": [{"report": 12, "ticket": 41, "key": "17", "op": "put", "accepted_at": 1767225600000,
    "at": 1767225600400, "outcome": "indexed", "code": "", "message": ""}], "last": 12, "more": false}"#;

/// Pushes records.
pub static RECORDS: Answering<PushRecords, PushedRecords> = Answering {
    operation: Operation {
        name: "push.records",
        summary: "Takes records into a source, or deletes them: each that is answered as pending is on disk, and its ticket is completed once.",
        request: Shape::of::<PushRecords>("PushRecords", &[RECORDS_ASKED]),
        item: None,
        answer: Shape::of::<PushedRecords>("PushedRecords", &[RECORDS_ANSWERED]),
        role: Role::Pusher,
        effect: Effect::Pushes,
        rest: Rest::At(Verb::Post, "/sources/{source}/records"),
        words: Words::Are("push"),
        tool: false,
        problems: PUSH_PROBLEMS,
    },
    run: work::records,
};

/// One ticket.
pub static TICKET_OF: Answering<ShowTicket, TicketLook> = Answering {
    operation: Operation {
        name: "push.ticket",
        summary: "What became of one push.",
        request: Shape::of::<ShowTicket>("ShowTicket", &[r#"{"ticket": 41}"#]),
        item: None,
        answer: Shape::of::<TicketLook>("TicketLook", &[TICKET]),
        role: Role::Pusher,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/tickets/{ticket}"),
        words: Words::Are("source ticket"),
        tool: false,
        problems: &[Code::NoSuchTicket],
    },
    run: work::ticket,
};

/// What became of pushes.
pub static REPORTS_OF: Answering<ListReports, ReportList> = Answering {
    operation: Operation {
        name: "push.reports",
        summary: "What became of pushes into a source, in the order in which that was known, after a report that was seen before.",
        request: Shape::of::<ListReports>(
            "ListReports",
            &[r#"{"source": "tickets", "after": 11, "limit": 100}"#],
        ),
        item: None,
        answer: Shape::of::<ReportList>("ReportList", &[REPORTS]),
        role: Role::Pusher,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/sources/{source}/reports"),
        words: Words::Are("source reports"),
        tool: false,
        problems: &[Code::NoSuchJob],
    },
    run: work::reports,
};

/// Asks to take records into a source.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PushRecords {
    /// Name of the job of the source.
    pub source: String,
    /// The delta run that this belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<i64>,
    /// What proves that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The records, in their order; of several of one key the last one counts.
    #[schemars(with = "Vec<PushedItem>", length(max = limits::RECORDS_AT_ONCE_MAX))]
    pub records: Vec<Value>,
}

/// What became of each record, in their order.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PushedRecords {
    /// One for each record.
    pub results: Vec<PushResult>,
}

/// What became of one record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum PushResult {
    /// It is on disk, and is done.
    Pending {
        /// Number of its ticket.
        ticket: i64,
        /// The record was there before; left out where that was not looked at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        was_there: Option<bool>,
    },
    /// Its ticket is completed already. Only through a channel.
    Completed {
        /// Number of its ticket.
        ticket: i64,
        /// As in [`TicketReport::outcome`].
        outcome: String,
        /// Why, a stable word; empty where it went well.
        code: String,
        /// Why, in a sentence.
        message: String,
    },
    /// It is there with this hash already; nothing is done.
    Unchanged,
    /// It was not taken, and nothing of it is kept.
    Refused {
        /// Why, a stable word.
        code: String,
        /// Why, in a sentence.
        message: String,
    },
}

/// Asks for a ticket.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowTicket {
    /// Its number.
    pub ticket: i64,
}

/// A ticket.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TicketLook {
    /// Its number.
    pub ticket: i64,
    /// Name of the job of the source.
    pub source: String,
    /// Key of the record.
    pub key: String,
    /// `put` or `delete`.
    pub op: String,
    /// When it was accepted, milliseconds since 1970 UTC.
    pub accepted_at: i64,
    /// What became of it; none while it is open.
    pub report: Option<TicketReport>,
}

/// What became of a ticket.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TicketReport {
    /// Its place among all reports.
    pub report: i64,
    /// When that was known, milliseconds since 1970 UTC.
    pub at: i64,
    /// `indexed`, `unchanged`, `deleted`, `noop`, `superseded`, `stale`, `skipped`, `failed` or `aborted`.
    pub outcome: String,
    /// Why, a stable word; empty where it went well.
    pub code: String,
    /// Why, in a sentence.
    pub message: String,
}

/// Asks for reports of a source.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListReports {
    /// Name of the job of the source.
    pub source: String,
    /// The last report that was seen; 0: from the first that is kept.
    #[serde(default)]
    pub after: i64,
    /// Reports at most; a page has a bound of its own.
    #[serde(default = "page::size")]
    pub limit: u32,
}

/// Reports of a source.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReportList {
    /// They, in their order.
    pub reports: Vec<ListedReport>,
    /// The last of them, for the next question; without any, the one that was asked behind.
    pub last: i64,
    /// There are more behind it now.
    pub more: bool,
}

/// One report.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ListedReport {
    /// Its place among all reports.
    pub report: i64,
    /// Number of the ticket.
    pub ticket: i64,
    /// Key of the record.
    pub key: String,
    /// `put` or `delete`.
    pub op: String,
    /// When it was accepted, milliseconds since 1970 UTC.
    pub accepted_at: i64,
    /// When this was known.
    pub at: i64,
    /// As in [`TicketReport::outcome`].
    pub outcome: String,
    /// Why, a stable word; empty where it went well.
    pub code: String,
    /// Why, in a sentence.
    pub message: String,
}
