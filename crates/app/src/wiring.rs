//! Puts the parts together: kinds, clock, engine.

use std::any::Any;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use ingather_contract::call::{Cancel, Clock};
use ingather_engine::Process;
use ingather_engine::progress::Progress;
use ingather_extract::pictures::Recognizer;
use ingather_operations::operation::{OwnSources, Remote, Role};
use ingather_operations::system::Look;
use ingather_operations::{Caller, Context, Host, Places, Writing};
use ingather_server::Client;
use ingather_store::Reader;

use crate::arguments::Global;
use crate::data::DataDirectory;
use crate::exit::{Failure, Result};
use crate::{interrupt, readers, show};

/// The machine's clock.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    fn steady(&self) -> i64 {
        let since = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        since.tv_sec * 1_000 + since.tv_nsec / 1_000_000
    }
}

/// Milliseconds since 1970 UTC.
pub(crate) fn now() -> i64 {
    SystemClock.now()
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
fn prepare_readers(global: &Global, threads: usize) {
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

/// Where the key for a service stands.
const KEY: &str = "INGATHER_API_KEY";

/// Threads when nobody says how many.
const THREADS_MAX: usize = 8;

/// Threads for listing and reading.
pub(crate) fn threads(global: &Global) -> usize {
    // Each request of a service wants to know it, and the machine is asked by files.
    static CORES: OnceLock<usize> = OnceLock::new();
    let cores = || *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from));
    global.threads.map_or_else(|| cores().min(THREADS_MAX), |threads| threads as usize)
}

/// This program as its operations see it; a clone shares what is open.
#[derive(Clone)]
pub(crate) struct Program<'a> {
    pub(crate) global: &'a Global,
    /// None for what needs none.
    pub(crate) data: Option<DataDirectory>,
    /// What all that is done in this process shares.
    pub(crate) process: Arc<Process>,
    /// The service that does what is asked, where one was named.
    pub(crate) remote: Option<Client>,
}

impl<'a> Program<'a> {
    pub(crate) fn of(global: &'a Global) -> Result<Program<'a>> {
        let remote = remote(global)?;
        let data = if remote.is_some() { None } else { Some(DataDirectory::of(global)?) };
        Ok(Program { global, data, process: Arc::default(), remote })
    }

    /// For operations that need no data directory, such as where there can be none.
    pub(crate) fn nowhere(global: &'a Global) -> Result<Program<'a>> {
        Ok(Program { global, data: None, process: Arc::default(), remote: remote(global)? })
    }

    /// The same program again, for another way to ask it.
    pub(crate) fn around(global: &'a Global, data: DataDirectory, process: Arc<Process>) -> Program<'a> {
        Program { global, data: Some(data), process, remote: None }
    }

    fn placed(&self) -> Result<&DataDirectory> {
        self.data.as_ref().ok_or_else(|| Failure::unable("no data directory was named; name one with --data"))
    }

    /// What an operation is given.
    pub(crate) fn context(&self) -> Context<'_> {
        let remote = self.remote.as_ref().map(|remote| remote as &dyn Remote);
        Context { host: self, registry: ingather_connectors::ALL, clock: Arc::new(SystemClock), remote }
    }
}

/// The service that was named, and the key for it: where everybody on this machine could read it (`ps`), none is taken.
fn remote(global: &Global) -> Result<Option<Client>> {
    let key = std::env::var(KEY).ok().filter(|key| !key.is_empty());
    let authorities = global.server_ca.as_deref();
    global.server.as_deref().map(|address| Client::of(address, key, authorities)).transpose()
}

/// Whoever runs this program: the owner of the data directory, who may do everything.
pub(crate) fn caller() -> Caller<'static> {
    Caller {
        name: "command line",
        roles: &[Role::Admin],
        identity: &|| Ok(ingather_connectors::unix::calling_user()?.into()),
        places: Places::Any,
        themselves: None,
        sources: OwnSources::All,
    }
}

impl Host for Program<'_> {
    fn data(&self) -> &Path {
        self.data.as_ref().map_or(Path::new(""), |data| &data.path)
    }

    fn secrets_key(&self) -> PathBuf {
        self.data.as_ref().map(|data| data.secrets_key().to_owned()).unwrap_or_default()
    }

    fn reader(&self) -> Result<Option<Reader>> {
        self.placed()?.reader()
    }

    fn reader_up_to_date(&self, doing: &str) -> Result<Option<Reader>> {
        self.placed()?.reader_up_to_date(doing)
    }

    fn refuse_unusable(&self) -> Result<()> {
        self.placed()?.refuse_unusable()
    }

    fn write(&self, doing: &str) -> Result<Writing> {
        self.placed()?.write(doing, now())
    }

    fn holder(&self) -> Option<String> {
        self.data.as_ref()?.holder()
    }

    fn keeps_the_store(&self) -> bool {
        self.data.as_ref().is_none_or(DataDirectory::keeps_the_store)
    }

    fn cancel(&self) -> Cancel {
        interrupt::cancel()
    }

    fn process(&self) -> Arc<Process> {
        self.process.clone()
    }

    fn threads(&self) -> usize {
        threads(self.global)
    }

    fn read_files(&self) {
        prepare_readers(self.global, self.threads());
    }

    fn own_files(&self) -> Vec<(String, String)> {
        self.data.as_ref().map(DataDirectory::own_files).unwrap_or_default()
    }

    fn check_readers(&self) -> Look {
        readers::check()
    }

    fn unfinished(&self, path: &Path) {
        interrupt::unfinished(path);
    }

    fn bytes_out(&self) -> Box<dyn Write + '_> {
        Box::new(show::bytes_out())
    }

    fn bytes_in(&self) -> Box<dyn Read + '_> {
        Box::new(std::io::stdin().lock())
    }

    fn watch(&self, progress: Arc<Progress>) -> Box<dyn Any> {
        Box::new(show::progress::Watch::start(self.global, progress))
    }
}
