//! What is known of one document, and what its cause is judged by.

use ingather_contract::repository::SourceStatus;
use ingather_model::access::Acl;
use ingather_model::ids::Digest;
use ingather_model::merge::Known;
use ingather_store::explain::{Facts, Sent};
use ingather_store::jobs::Job;
use ingather_store::runs::{KnownBlindSpot, Run};

use super::stage_acl::StageAcl;

/// What one output holds of a document; times are milliseconds since 1970 UTC.
#[derive(Clone, Debug)]
pub struct Holder {
    /// Its name.
    pub output: String,
    /// Stable word: `held`, `unconfirmed`, `leaving`, `refused`, `overwritten`, `lost`, `kept_out`, `nothing`.
    pub state: &'static str,
    /// The same as a sentence.
    pub sentence: String,
    /// When something was sent last.
    pub sent_at: Option<i64>,
    /// When the output confirmed last.
    pub confirmed_at: Option<i64>,
}

/// A document that the store knows, with all that belongs to it.
pub(super) struct Row {
    pub(super) known: Known,
    pub(super) facts: Facts,
    pub(super) sent: Vec<Sent>,
    /// How many things in it have entries of their own.
    pub(super) inside: u64,
    /// For each of `sent`: the job whose version is held there, when it is another one.
    pub(super) held_for: Vec<Option<String>>,
    /// Its removal is held by the last run.
    pub(super) is_held_back: bool,
    /// The last run met it; none when that run does not tell.
    pub(super) seen: Option<bool>,
    /// Its own acl as it was last read.
    pub(super) acl: Option<Acl>,
}

/// What the cause is judged by.
pub(super) struct Case<'c> {
    pub(super) name: &'c str,
    pub(super) job: &'c Job,
    pub(super) run: Option<&'c Run>,
    /// The deepest blind spot of the last run that covers the name.
    pub(super) blind: Option<&'c KnownBlindSpot>,
    pub(super) status: &'c SourceStatus,
    /// What the stages say about its access.
    pub(super) stage_acl: Option<&'c StageAcl>,
    /// Version of what is there now.
    pub(super) version: Option<Digest>,
    /// The new name of a document that is not there any more.
    pub(super) moved_to: Option<&'c str>,
}
