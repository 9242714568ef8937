//! Kinds of outputs in memory, by what they are able to do.

use ingather_contract::output::{AsOpened, OutputCapabilities, OutputContext, OutputKind, OutputSnapshot};
use ingather_contract::settings::Schema;
use ingather_model::fault::Fault;

use crate::memory_output::open;

/// Holds what it is given at once.
pub static MEMORY: OutputKind = OutputKind {
    name: "memory",
    about: "Entries in memory.",
    capabilities: OutputCapabilities { commits: false, access: true, list: true, told: false },
    schema,
    open: |settings, context| open(settings, context, MEMORY.capabilities),
    check: |settings, context| open(settings, context, MEMORY.capabilities).map(drop),
    look: Some(|settings, context| look(&MEMORY, settings, context)),
    discard: None,
    search: None,
    copy: None,
    place: None,
    ask: None,
};

/// Keeps what was committed.
pub static COMMITTING: OutputKind = OutputKind {
    name: "committing",
    about: "Entries in memory, kept from a commit on.",
    capabilities: OutputCapabilities { commits: true, access: true, list: true, told: false },
    schema,
    open: |settings, context| open(settings, context, COMMITTING.capabilities),
    check: |settings, context| open(settings, context, COMMITTING.capabilities).map(drop),
    look: Some(|settings, context| look(&COMMITTING, settings, context)),
    discard: None,
    search: None,
    copy: None,
    place: None,
    ask: None,
};

/// Takes access only together with the record, and lists nothing.
pub static PLAIN: OutputKind = OutputKind {
    name: "plain",
    about: "Entries in memory, without access by reference.",
    capabilities: OutputCapabilities { commits: false, access: false, list: false, told: false },
    schema,
    open: |settings, context| open(settings, context, PLAIN.capabilities),
    check: |settings, context| open(settings, context, PLAIN.capabilities).map(drop),
    look: None,
    discard: None,
    search: None,
    copy: None,
    place: None,
    ask: None,
};

/// Judges access by what it was told.
pub static TOLD: OutputKind = OutputKind {
    name: "told",
    about: "Entries in memory, with who may see them.",
    capabilities: OutputCapabilities { commits: false, access: true, list: true, told: true },
    schema,
    open: |settings, context| open(settings, context, TOLD.capabilities),
    check: |settings, context| open(settings, context, TOLD.capabilities).map(drop),
    look: Some(|settings, context| look(&TOLD, settings, context)),
    discard: None,
    search: None,
    copy: None,
    place: None,
    ask: None,
};

/// Which shelf of which world, and settings that nobody asks for: a password, what changes an entry, and what does not.
fn schema() -> Schema {
    let settings = serde_json::json!({"properties": {
        "world": {"type": "string"},
        "name": {"type": "string"},
        "password": {"type": "string", "writeOnly": true},
        "mapping": {"type": "string", "x-resends": true},
        "address": {"type": "string", "x-resends": false},
        "other": {"type": "string"},
    }});
    Schema::try_from(settings).expect("an object is a schema")
}

fn look(
    kind: &OutputKind,
    settings: &serde_json::Value,
    context: &OutputContext,
) -> Result<Option<Box<dyn OutputSnapshot>>, Fault> {
    Ok(Some(Box::new(AsOpened((kind.open)(settings, context)?))))
}
