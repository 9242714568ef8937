//! Log lines on standard error.

use tracing_subscriber::EnvFilter;

use crate::arguments::Global;

/// Starts the log: warnings, more with -v, errors only with -q; `INGATHER_LOG` overrides.
pub(crate) fn start(global: &Global) {
    let level = match (global.quiet, global.verbose) {
        (true, _) => "error",
        (_, 0) => "warn,tantivy=off",
        (_, 1) => "ingather=debug,ingather_engine=debug,ingather_connectors=info,warn",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_env("INGATHER_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| Lines)
        .with_target(false)
        .with_ansi(false)
        .init();
}

/// Standard error, for whole messages: they tell of documents.
struct Lines;

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        String::from_utf8_lossy(bytes).lines().for_each(super::stderr);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
