//! The settings of a filesystem source: which folder or file, and what of it.

use garde::Validate;
use ingather_model::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use ingather_kit::literal;

/// What a job takes from a mounted disk.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub(super) struct SourceSettings {
    /// Absolute path of the folder or file, without symbolic links; a backslash is written `\\`, a byte that is not
    /// UTF-8 or a control character `\xNN`.
    #[garde(length(bytes, min = 1, max = limits::ROOT_BYTES_MAX))]
    pub(super) root: String,
    /// Patterns of files to take, relative to the root; none: all. `*.md` without a slash matches at any depth, `docs/`
    /// means everything in that folder. A byte that is not UTF-8 is written `\xNN`.
    #[serde(default)]
    #[garde(length(max = limits::GLOBS_MAX), inner(length(bytes, min = 1, max = limits::GLOB_BYTES_MAX)))]
    pub(super) include: Vec<String>,
    /// Patterns of files and folders to leave out, relative to the root. A folder that matches is not entered; a pattern
    /// that ends with a slash matches folders only. A byte that is not UTF-8 is written `\xNN`.
    #[serde(default)]
    #[garde(length(max = limits::GLOBS_MAX), inner(length(bytes, min = 1, max = limits::GLOB_BYTES_MAX)))]
    pub(super) exclude: Vec<String>,
    /// Leaves out what `.gitignore` and `.ignore` files below the root say, and `.git` itself.
    #[serde(default)]
    #[garde(skip)]
    pub(super) ignore_files: bool,
    /// Leaves out files and folders whose name begins with a dot.
    #[serde(default)]
    #[garde(skip)]
    pub(super) skip_hidden: bool,
    /// Largest file that is read: bytes, or a text such as `20MB`.
    #[serde(default = "size_max", deserialize_with = "literal::read_size")]
    #[schemars(schema_with = "literal::size_schema")]
    #[garde(range(min = 1))]
    pub(super) size_max: u64,
    /// Enters folders on which another device is mounted.
    #[serde(default = "yes")]
    #[garde(skip)]
    pub(super) other_devices: bool,
    /// Takes the modes of network and FUSE file systems for true, though others decide who may read there; `false`: leaves it at
    /// root alone, without a word; none: leaves it so, and says how much that hides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(skip)]
    pub(super) trust_modes: Option<bool>,
    /// What addresses of documents begin with in place of the root: where it was when outputs were told of them first.
    /// `ingather job move` sets it, and nothing else changes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(inner(length(bytes, min = 1, max = limits::ROOT_BYTES_MAX)))]
    pub(super) addresses: Option<String>,
}

fn size_max() -> u64 {
    limits::FILE_BYTES_MAX
}

fn yes() -> bool {
    true
}
