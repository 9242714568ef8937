//! How authorities are asked, beside the settings of their connectors: whom each knows, how their names are spelled there, and for how long
//! an answer is waited for and kept.

use serde::{Deserialize, Serialize};

/// How long an answer is waited for where nothing is said of that, milliseconds.
pub const WITHIN_MS: u32 = 5_000;
/// Questions to one authority at the same time where nothing is said of that (coverage S3.263).
pub const AT_ONCE: u32 = 10;

/// How one authority is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Asking {
    /// The authorisation domain whose names it understands; empty: that of whoever names none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub domain: String,
    /// How it spells a name: each rule is given what the one before it made. None: as it is asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mapping: Vec<MappingRule>,
    /// How long an answer is waited for, milliseconds.
    pub within_ms: u32,
    /// Questions at the same time.
    pub at_once: u32,
    /// How long an answer about somebody whom it knows is kept, milliseconds; none: as long as its kind says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_ms: Option<u32>,
}

impl Default for Asking {
    fn default() -> Asking {
        let (domain, mapping) = Default::default();
        Asking { domain, mapping, within_ms: WITHIN_MS, at_once: AT_ONCE, kept_ms: None }
    }
}

/// One rule of a mapping: what becomes of a name. Whom a rule does not fit, the authority does not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MappingRule {
    /// A regular expression that has to fit the whole name.
    pub pattern: String,
    /// What it becomes: `$1` or `${name}` stand for groups of the expression.
    pub name: String,
    /// Letters of the new name.
    #[serde(default, skip_serializing_if = "LetterCase::is_kept")]
    pub case: LetterCase,
}

/// What becomes of capital and small letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LetterCase {
    /// Nothing.
    #[default]
    Kept,
    /// All are small.
    Lower,
    /// All are capitals.
    Upper,
}

impl LetterCase {
    /// Whether letters stay.
    pub fn is_kept(&self) -> bool {
        *self == LetterCase::Kept
    }
}
