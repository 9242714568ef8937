//! Puts the parts together: kinds, clock, engine.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ingather_contract::call::{Call, Clock};
use ingather_contract::repository::HostContext;
use ingather_engine::{Engine, Process};
use ingather_extract::pictures::Recognizer;
use ingather_model::job::Definition;
use ingather_store::Reader;

use crate::arguments::Global;
use crate::data::{DataDirectory, Writing};
use crate::exit::{Failure, Result};
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

/// How files are read: by so many children of this program.
pub(crate) fn reading(global: &Global, threads: usize) -> std::io::Result<ingather_extract::Settings> {
    let settings = ingather_extract::Settings::of_this_program(threads)?;
    Ok(ingather_extract::Settings { may_be_loose: !global.require_sandbox, ..settings })
}

/// Refuses to go on where the kernel does not confine what reads files, when the caller wants it so.
pub(crate) fn require_sandbox(global: &Global) -> Result<()> {
    if !global.require_sandbox {
        return Ok(());
    }
    let started =
        reading(global, 1).and_then(|settings| ingather_extract::Pool::new(settings).try_start().map(|_| ()));
    started.map_err(|error| {
        Failure::unable(format!(
            "{error}; --require-sandbox refuses that: use a kernel with Landlock and seccomp, Linux 5.13 or later, or leave \
             the flag (INGATHER_REQUIRE_SANDBOX) out"
        ))
    })
}

/// Says once that what reads files was not confined, where that is so.
pub(crate) fn warn_of_loose_readers(global: &Global) {
    let loose = ingather_connectors::readers_in_force().filter(|in_force| !in_force.is_whole());
    if let Some(in_force) = loose.filter(|_| !global.quiet) {
        crate::show::stderr(&format!(
            "warning: this kernel does not confine what reads files ({} missing), so that a hostile file may do what this user \
             may; --require-sandbox refuses to read so",
            in_force.missing().join(", ")
        ));
    }
}

/// Says how files are read. Without a path of its own this program reads plain text only.
fn readers(global: &Global, threads: usize) {
    if let Ok(recognizer) = Recognizer::of_this_program(!global.require_sandbox) {
        ingather_connectors::read_pictures_with(recognizer);
    }
    match reading(global, threads) {
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
        |threads| threads as usize,
    );
    readers(global, threads);
    let mut own: Vec<(u64, u64)> = data.identity().into_iter().collect();
    own.extend(own_files.iter().filter_map(|file| crate::data::identity(file.as_ref())));
    Engine {
        reader,
        writer: writing.map(|writing| (writing.store.clone(), writing.lease.clone())),
        registry: ingather_connectors::ALL,
        clock: Arc::new(SystemClock),
        cancel: interrupt::cancel(),
        data: data.path.clone(),
        host: HostContext { own, threads },
        process: Process::default(),
    }
}

/// Files that the outputs of a job write to: they are never documents of it.
pub(crate) fn journals(definition: &Definition) -> Vec<String> {
    definition.outputs.iter().filter_map(|name| name.strip_prefix("journal:")).map(str::to_owned).collect()
}
