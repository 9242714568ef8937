//! What operations on channels take and answer.

pub use ingather_contract::sink::ListedChannelReport;
use ingather_model::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::{PushResult, PushedItem};
use crate::page;

/// How a push through a channel is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChannelMode {
    /// When everything is on disk.
    #[default]
    Async,
    /// When everything is completed.
    Sync,
}

/// A report that a client may ask for; nothing depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum OptionalReport {
    /// An attempt to deliver a record failed and is made again: `message` says why, `again_at` when.
    Retry,
}

/// Asks what is offered.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskCapabilities {}

/// What is offered.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Capabilities {
    /// Version of this interface.
    pub version: u32,
    /// What can be asked for: `records`, `delta_runs`, `channels`.
    pub functions: Vec<String>,
    /// Modes of channels.
    pub modes: Vec<ChannelMode>,
    /// Channels take nothing for a time while too much is open.
    pub throttle: bool,
    /// Ways of reports: `log`, `long_poll`, `event_stream`, `webhook`.
    pub transports: Vec<String>,
    /// Reports that are always sent.
    pub reports: Vec<String>,
    /// Reports that a client may ask for.
    pub optional_reports: Vec<OptionalReport>,
    /// Records in one call.
    pub list_items_max: usize,
    /// Bytes of one call.
    pub list_bytes_max: usize,
    /// Bytes of the content of one record.
    pub content_bytes_max: usize,
    /// Bytes of what comes back with each report.
    pub user_ref_bytes_max: usize,
    /// Tickets of a channel that may be open.
    pub open_max: i64,
}

/// Asks to open a channel.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenChannel {
    /// Name of the job of the source.
    pub source: String,
    /// What the client calls itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub client: String,
    /// When a push is answered.
    #[serde(default)]
    pub mode: ChannelMode,
    /// The channel ends where its client gives no sign of life for so long; 300 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_seconds: Option<u32>,
    /// It ends where it is throttled for so long; 600 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttle_seconds: Option<u32>,
    /// So many tickets may be open; 10,000 when left out. Above four fifths of them it is throttled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_max: Option<i64>,
    /// Reports that are told beside those that always are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::OPTIONAL_REPORTS_MAX))]
    pub optional_reports: Vec<OptionalReport>,
    /// Where its reports are sent; nowhere when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<WantedWebhook>,
}

/// Asks to send reports.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedWebhook {
    /// Where: an address that begins as the setting `webhooks` of the source says.
    pub url: String,
    /// What they are signed with: 16 to 256 letters, which nobody is shown any more.
    #[schemars(length(min = limits::SINK_SECRET_MIN, max = limits::SINK_SECRET_MAX))]
    pub secret: String,
    /// The channel ends where nothing is taken there for so long; 600 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sink_seconds: Option<u32>,
}

impl std::fmt::Debug for WantedWebhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Neither the secret nor a path that may be one is written into a log.
        f.write_str("WantedWebhook")
    }
}

/// Names a channel.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NameChannel {
    /// Its number.
    pub channel: i64,
}

/// Asks for channels.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListChannels {
    /// The last channel that was seen; 0: from the first.
    #[serde(default)]
    pub after: i64,
    /// Channels at most; a page has a bound of its own.
    #[serde(default = "page::size")]
    pub limit: u32,
}

/// Channels.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ChannelList {
    /// They, by number.
    pub channels: Vec<ChannelLook>,
    /// The last one that was looked at, for the next question.
    pub last: i64,
    /// There are more behind it.
    pub more: bool,
}

/// How a channel stands.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ChannelLook {
    /// Its number.
    pub channel: i64,
    /// Name of the job of its source; empty where that was deleted.
    pub source: String,
    /// What its client calls itself.
    pub client: String,
    /// Who opened it: it is theirs.
    pub opened_by: String,
    /// When a push is answered.
    pub mode: ChannelMode,
    /// `running`, `throttling`, `terminating` or `terminated`.
    pub state: String,
    /// Why it ends: `client`, `person`, `aborted`, `lease`, `throttle_timeout`, `sink_lost`, `store_corrupt`, `store_unavailable` or `source_deleted`; left out while it does not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// When it was opened, milliseconds since 1970 UTC.
    pub opened_at: i64,
    /// When its state changed last.
    pub changed_at: i64,
    /// The last sign of life of its client.
    pub seen_at: i64,
    /// How long after that it is its client's.
    pub lease_seconds: i64,
    /// How long it may be throttled.
    pub throttle_seconds: i64,
    /// How many tickets may be open.
    pub open_max: i64,
    /// Reports that it tells beside those that always are told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub optional_reports: Vec<OptionalReport>,
    /// Tickets that it took.
    pub taken: i64,
    /// Those of them that are completed.
    pub completed: i64,
    /// How many more may be pushed before it is throttled.
    pub credits: i64,
    /// Its last report.
    pub last_report: i64,
    /// The last report that its client has, as it says.
    pub acknowledged: i64,
    /// Where its reports are sent, if anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<ChannelWebhook>,
}

/// Where reports of a channel are sent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ChannelWebhook {
    /// Address, without what stands behind `?` in it.
    pub url: String,
    /// How long nothing may be taken there before the channel ends.
    pub sink_seconds: i64,
    /// The last report that was taken there.
    pub delivered: i64,
    /// Nothing was taken there for so long: reports are in the log alone.
    pub lost: bool,
}

/// Asks to take records through a channel; or what became of some before.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PushThrough {
    /// Its number.
    pub channel: i64,
    /// The delta run that this belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<i64>,
    /// What proves that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The records, in their order; of several of one key the last one counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<PushedItem>", length(max = limits::RECORDS_AT_ONCE_MAX))]
    pub records: Vec<Value>,
    /// Tickets of a push before: what became of them is asked, and nothing is pushed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::RECORDS_AT_ONCE_MAX))]
    pub tickets: Vec<i64>,
    /// So long it waits while the channel is throttled, and where it answers when all is done, for that: 60 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = limits::CHANNEL_WAIT_SECONDS_MAX))]
    pub wait_seconds: Option<u32>,
}

/// What became of each record, in their order.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PushedThrough {
    /// One for each record, or each ticket that was asked for.
    pub results: Vec<PushResult>,
    /// The mode of the channel: in the mode `sync` what is still pending took longer than the call waited.
    pub mode: ChannelMode,
    /// How many more may be pushed before the channel is throttled.
    pub credits: i64,
    /// The last report of the channel.
    pub last_report: i64,
}

/// Asks for reports of a channel.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListChannelReports {
    /// Its number.
    pub channel: i64,
    /// The last report that was seen; 0: from the first that is kept.
    #[serde(default)]
    pub after: i64,
    /// Reports at most; a page has a bound of its own.
    #[serde(default = "page::size")]
    pub limit: u32,
    /// So long it waits for a report where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = limits::CHANNEL_WAIT_SECONDS_MAX))]
    pub wait_seconds: Option<u32>,
}

/// Reports of a channel.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ChannelReportList {
    /// They, in their order.
    pub reports: Vec<ListedChannelReport>,
    /// The last of them, for the next question; without any, the one that was asked behind.
    pub last: i64,
    /// There are more behind it now.
    pub more: bool,
    /// The state of the channel: of one that is terminated there are no more.
    pub state: String,
}

/// Says which reports a client has.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcknowledgeReports {
    /// Number of the channel.
    pub channel: i64,
    /// The last report that it has.
    pub report: i64,
}

/// What is reported when everything is through.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Flush {
    /// Number of the channel.
    pub channel: i64,
    /// What its report is about.
    pub flush: i64,
}
