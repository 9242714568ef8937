//! What a job is: a source, what to include, a pipeline with its outputs, and how careful it is.

use serde::{Deserialize, Serialize};

use crate::guard::Guard;
use crate::ids::Digest;
use crate::lifecycle::words;

/// The definition of a job, as stored, exported and compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// Name, unique among jobs.
    pub name: String,
    /// Name of the repository connection.
    pub repository: String,
    /// What to include: the connector's own settings for a job, checked by it.
    pub source: serde_json::Value,
    /// Stages between the repository and the outputs, in order.
    #[serde(default)]
    pub stages: Vec<Stage>,
    /// Names of the output connections, in order, without repeats.
    pub outputs: Vec<String>,
    /// Outputs that were taken out and may still hold entries; the next run takes these out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retired: Vec<String>,
    /// When removals are held.
    #[serde(default)]
    pub delete_guard: Guard,
    /// Compare by content alone: a touched file is read, but not sent again.
    #[serde(default)]
    pub compare_content: bool,
    /// What is kept beside the inventory.
    #[serde(default, skip_serializing_if = "Keep::is_nothing")]
    pub keep: Keep,
    /// What says that content is as it was although something about its document has changed.
    #[serde(default, skip_serializing_if = "ContentBy::is_read")]
    pub content_by: ContentBy,
}

/// What says that content is as it was when its document changed in some other way (design 4.18).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentBy {
    /// The content: it is read once, and compared.
    #[default]
    Read,
    /// Its size and time, where another owner, mode, access list or folder may be all that changed.
    Times,
}

impl ContentBy {
    fn is_read(&self) -> bool {
        *self == ContentBy::Read
    }
}

/// What a job keeps of its documents beside the inventory (design 4.19).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// Nothing: an output that is filled anew is filled from the source.
    #[default]
    Nothing,
    /// What the pipeline made of each, packed: an output that is filled anew does not need the source.
    Extracted,
}

impl Keep {
    fn is_nothing(&self) -> bool {
        *self == Keep::Nothing
    }
}

/// One stage of a pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Kind of the transform.
    pub transform: String,
    /// Its settings, checked by it.
    #[serde(default)]
    pub settings: serde_json::Value,
}

impl Definition {
    /// Digest of all that changes what outputs receive; a schedule or a guard is not in it (design 4.7).
    ///
    /// `versions` are the versions of the stages' code, in order.
    pub fn settings_digest(&self, versions: &[String]) -> Digest {
        let mut text = serde_json::json!([self.stages, versions, self.outputs, self.compare_content]);
        if let (Keep::Extracted, Some(all)) = (self.keep, text.as_array_mut()) {
            // What was not kept yet is read once more, and not sent.
            all.push("keep extracted".into());
        }
        Digest::of(text.to_string().as_bytes())
    }

    /// Digest of what a document goes through before it is the same for all outputs.
    pub fn stages_digest(&self, versions: &[String]) -> Digest {
        Digest::of(serde_json::json!([self.stages, versions]).to_string().as_bytes())
    }

    /// Digest of what one output receives: its own settings and the stages before it, not the other outputs.
    pub fn delivery_digest(&self, versions: &[String], output_settings: &serde_json::Value) -> Digest {
        let text = serde_json::json!([self.stages, versions, output_settings]);
        Digest::of(text.to_string().as_bytes())
    }
}

words! {
    /// The role of a connection.
    pub enum Role {
        /// Where content lives.
        Repository = "repository",
        /// What holds entries.
        Output = "output",
    }
}

words! {
    /// How a run looks at its source.
    pub enum RunKind {
        /// Everything is listed; what is gone is removed.
        Full = "full",
        /// What is new or changed only; nothing is removed.
        Minimal = "minimal",
    }
}
