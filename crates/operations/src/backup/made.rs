//! Which backups were made of a data directory: whoever erases a document is told where it still is. A file beside the store, for a backup
//! is made by whoever may read, beside whoever writes.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ingather_model::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::Context;

const NAME: &str = "backups.jsonl";

/// A backup that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MadeBackup {
    /// The file that it was written to; or `standard output`, and nobody knows where it went.
    pub file: String,
    /// When, milliseconds since 1970 UTC.
    pub at: i64,
}

/// Notes a backup. That it cannot be noted, as in a data directory that is only read, is no reason to have none.
pub(super) fn note(context: &Context<'_>, place: &Path, at: i64) {
    let file = std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
    let file = if place.exists() { file.display().to_string() } else { place.display().to_string() };
    let Ok(mut line) = serde_json::to_string(&MadeBackup { file, at }) else { return };
    line.push('\n');
    let known = context.host.data().join(NAME);
    if known.metadata().is_ok_and(|facts| facts.len() > limits::BACKUPS_NOTED_BYTES_MAX) {
        // Half of it, the older one, is forgotten.
        let all = list(context);
        let lines = all[all.len() / 2..].iter().filter_map(|made| serde_json::to_string(made).ok());
        let text: String = lines.map(|line| line + "\n").collect();
        let _ = std::fs::remove_file(&known);
        line.insert_str(0, &text);
    }
    let open = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32)
        .open(&known);
    // One write, which others that append do not cut in two.
    let _ = open.and_then(|mut file| file.write_all(line.as_bytes()));
}

/// Those that were noted, the oldest first.
pub(crate) fn list(context: &Context<'_>) -> Vec<MadeBackup> {
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits() as i32;
    let mut options = OpenOptions::new();
    let open = options.read(true).custom_flags(flags).open(context.host.data().join(NAME));
    let mut text = String::new();
    let read = open.and_then(|file| file.take(2 * limits::BACKUPS_NOTED_BYTES_MAX).read_to_string(&mut text));
    if read.is_err() {
        return Vec::new();
    }
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
