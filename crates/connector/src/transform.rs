//! A pipeline stage: changes a record on its way to the outputs, or declines it.

use std::io::Read;
use std::sync::Arc;

use ingather_model::document::Record;
use ingather_model::fault::{Fault, Reason};

use crate::call::Call;
use crate::settings::Schema;

/// A kind of transform, as registered.
pub struct TransformKind {
    /// Name in definitions, such as `text`.
    pub name: &'static str,
    /// One sentence for lists and manuals.
    pub about: &'static str,
    /// Part of the settings digest: raise it when the same input gives another result, and everything is re-sent.
    pub version: &'static str,
    /// Schema of its settings.
    pub schema: fn() -> Schema,
    /// Opens it; settings were checked before.
    pub open: fn(settings: &serde_json::Value) -> Result<Arc<dyn Transform>, Fault>,
}

/// What a stage says about a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Goes on to the next stage.
    Pass,
    /// Is not wanted; outputs lose what they hold of it.
    Decline(Reason),
}

/// One stage, opened. Calls may come from several threads at once.
pub trait Transform: Send + Sync {
    /// Changes `record`. `content` is the stream of bytes as no stage before has read it; what a stage leaves unread the
    /// engine reads for the digest. Memory must stay bounded whatever the content.
    ///
    /// # Errors
    /// A fault about this document; others are not touched by it. Errors of `content` are passed on as they are.
    fn apply(&self, call: &Call, record: &mut Record, content: &mut dyn Read) -> Result<Verdict, Fault>;
}
