//! A pipeline stage: changes what is on its way to the outputs, finds parts in it, or declines it.

use std::borrow::Cow;
use std::io::Read;
use std::sync::Arc;

use ingather_model::access::Acl;
use ingather_model::document::{Links, Parts, Record};
use ingather_model::fault::{Fault, Reason};

use crate::call::CallContext;
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

/// What a stage says about an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Goes on to the next stage.
    Pass,
    /// Is no entry itself, only what is in it; outputs lose what they hold of the item itself.
    PartsOnly,
    /// Is an entry by its name and fields alone: its content cannot be read, and this is why. Later stages go on with the record.
    /// The document counts as failed, or is tried again first as the fault says; what is in it is then incomplete.
    Unread(Fault),
    /// Is not wanted; outputs lose what they hold of it.
    Decline(Reason),
}

/// What a stage works on: a document, or a component that an earlier stage found in one.
pub struct Item<'a> {
    /// Fields and text, as the stages before left them.
    pub record: &'a mut Record,
    /// The bytes as no stage before has read them, in whichever branch of the pipeline it stands: a repository gives none before the first is asked for, so that what is
    /// declined by its record alone is not fetched. Empty for a component: the stage that found it has read it.
    pub content: &'a mut dyn Read,
    /// What the item says of other documents, for the stage that reads its content to fill in; none where nobody asks.
    pub links: Option<&'a mut Links>,
    /// What the stage finds in the item; empty at first.
    pub parts: &'a mut Parts,
    /// Who may see it; worked out when somebody asks, for most content is read in this process.
    pub audience: &'a dyn Fn() -> Audience,
}

/// Equal for documents that the same people may see, now and after every change of what is above them. A stage that hands
/// content to something that remembers, such as a process, keeps those apart that differ: what it remembers of one document
/// could otherwise come back as another one's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Audience(pub i64);

/// One stage, opened. Calls may come from several threads at once.
pub trait Transform: Send + Sync {
    /// Changes an item. What it leaves unread of the content the engine reads for the digest, unless it declines. Memory
    /// must stay bounded whatever the content.
    ///
    /// # Errors
    /// A fault about this item; others are not touched by it. Errors of the content are passed on as they are.
    fn apply(&self, call: &CallContext, item: &mut Item<'_>) -> Result<Verdict, Fault>;

    /// Who may see a document that its source shows to `acl`; the same for equal acls, and without its content, for
    /// access may change alone (design 4.18). Containers above it rule whatever a stage says.
    fn access<'l>(&self, acl: Cow<'l, Acl>) -> Cow<'l, Acl> {
        acl
    }

    /// Whether [`Transform::access`] changes anything. A document has one acl for all outputs, so such a stage stands where every
    /// output comes after it, and what another one says of access does not count in a branch.
    fn rules_access(&self) -> bool {
        false
    }
}
