//! Log lines on standard error.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tracing_subscriber::EnvFilter;

use crate::arguments::Global;

/// Starts the log: warnings, more with -v, errors only with -q; `INGATHER_LOG` overrides.
///
/// `objects`: each line is an object of JSON, for programs that collect logs.
pub(crate) fn start(global: &Global, objects: bool) {
    OBJECTS.store(objects, Ordering::Relaxed);
    let level = match (global.quiet, global.verbose) {
        (true, _) => "error",
        (_, 0) => "warn,tantivy=off",
        (_, 1) => "ingather=debug,ingather_engine=debug,ingather_connectors=info,warn",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_env("INGATHER_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    // They log requests as they are sent, with passwords.
    let silent = SILENT.iter().filter_map(|target| format!("{target}=error").parse().ok());
    // It logs as errors what is tried again, and what is told as a fault.
    let silent = silent.chain("async_nats=off".parse());
    let filter = silent.fold(filter, EnvFilter::add_directive);
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| Lines)
        .with_target(false)
        .with_ansi(false);
    match objects {
        true => lines.without_time().init(),
        false => lines.init(),
    }
}

/// Libraries that speak to servers.
const SILENT: [&str; 9] =
    ["ureq", "ureq_proto", "h2", "hyper", "hyper_util", "lettre", "ldap3", "rustls", "tokio_postgres"];

/// Whether lines are objects of JSON.
static OBJECTS: AtomicBool = AtomicBool::new(false);

/// Whether lines are objects of JSON.
pub(crate) fn is_objects() -> bool {
    OBJECTS.load(Ordering::Relaxed)
}

/// One line of a log for programs; `more` are fields of its own.
pub(crate) fn object(level: &str, event: &str, message: &str, more: &[(&str, Value)]) -> String {
    let time = ingather_operations::in_words::instant(crate::wiring::now());
    let mut told = json!({"time": time, "level": level, "event": event, "message": message});
    for (name, value) in more.iter().filter(|(_, value)| *value != json!("")) {
        told[*name] = value.clone();
    }
    told.to_string()
}

/// Standard error, for whole messages: they tell of documents.
struct Lines;

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        for line in text.lines() {
            match is_objects() {
                // Without the time a line begins with its level.
                true => {
                    let (level, message) = line.trim_start().split_once(' ').unwrap_or(("WARN", line));
                    super::write(&object(&level.to_ascii_lowercase(), "trace", message.trim(), &[]));
                }
                false => super::stderr(line),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
