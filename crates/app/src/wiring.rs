//! Puts the parts together: kinds, clock, engine.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ingather_connector::call::{Call, Clock};
use ingather_connector::model::job::Definition;
use ingather_connector::repository::Surroundings;
use ingather_engine::Engine;
use ingather_store::Reader;

use crate::arguments::Global;
use crate::data::{DataDirectory, Writing};
use crate::interrupt;

/// The machine's clock.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }
}

/// Milliseconds since 1970 UTC.
pub(crate) fn now() -> i64 {
    SystemClock.now()
}

/// The surroundings of a call that is made outside a run.
pub(crate) fn call() -> Call {
    Call { clock: Arc::new(SystemClock), cancel: interrupt::cancel() }
}

/// Says how files are read: by children of this program. Without a path of its own it reads plain text only.
pub(crate) fn readers(threads: usize) {
    if let Ok(recognizer) = ingather_extract::pictures::Recognizer::of_this_program() {
        ingather_connectors::read_pictures_with(recognizer);
    }
    match ingather_extract::Settings::of_this_program(threads) {
        Ok(settings) => ingather_connectors::read_files_with(ingather_extract::Pool::new(settings)),
        Err(error) => crate::show::stderr(&format!(
            "ingather: only plain text is read, for this program's own path cannot be told: {error}"
        )),
    }
}

/// Threads when nobody says how many.
const THREADS_MAX: usize = 8;

/// An engine over a data directory; `writing` gives it the right to write.
pub(crate) fn engine(
    global: &Global,
    data: &DataDirectory,
    reader: Reader,
    writing: Option<&Writing>,
    own_files: &[String],
) -> Engine {
    let threads = global.threads.map_or_else(
        || std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX),
        usize::from,
    );
    readers(threads);
    let mut own: Vec<(u64, u64)> = data.identity().into_iter().collect();
    own.extend(own_files.iter().filter_map(|file| crate::data::identity(file.as_ref())));
    Engine {
        reader,
        writer: writing.map(|writing| (writing.store.clone(), writing.lease.clone())),
        registry: ingather_connectors::ALL,
        clock: Arc::new(SystemClock),
        cancel: interrupt::cancel(),
        data: data.path.clone(),
        surroundings: Surroundings { own, threads },
    }
}

/// Files that the outputs of a job write to: they are never documents of it.
pub(crate) fn journals(definition: &Definition) -> Vec<String> {
    definition.outputs.iter().filter_map(|name| name.strip_prefix("journal:")).map(str::to_owned).collect()
}
