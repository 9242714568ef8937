//! The parent's side: children that are started when needed, used again, replaced after a while, and never trusted.

use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::hash::BuildHasher;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ingather_model::limits;
use rustix::fs::{Mode, OFlags};

use super::confine::InForce;
use super::end::{End, end_of, error_of};
use super::frames::{self, Word};
use super::timed::{Timed, after};
use super::worker;
use crate::decode::boundary;
use crate::pictures::Look;
use crate::{Extracted, Loss, Request, detect};

/// Bytes of the marks around a link in an answer.
const LINK_MARK_BYTES: usize = 48;

/// How a pool starts its children.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its environment, which is otherwise empty.
    pub environment: Vec<(OsString, OsString)>,
    /// Children at a time; callers wait for a free one.
    pub children: usize,
    /// Where scratch files without a name are made.
    pub scratch: PathBuf,
    /// Documents that a child reads before it is replaced.
    pub documents: u32,
    /// Whether a child that the kernel does not hold in full ([`InForce::is_whole`]) may read at all.
    pub may_be_loose: bool,
}

impl Settings {
    /// For the program that runs now, which must know [`worker::COMMAND`].
    ///
    /// # Errors
    /// When the program's own path cannot be told.
    pub fn of_this_program(children: usize) -> io::Result<Self> {
        Ok(Self {
            program: std::env::current_exe()?,
            arguments: vec![worker::COMMAND.into()],
            environment: Vec::new(),
            children: children.max(1),
            scratch: std::env::temp_dir(),
            documents: limits::EXTRACT_DOCUMENTS_MAX,
            may_be_loose: true,
        })
    }
}

/// A pool of children. Calls may come from several threads at once.
#[derive(Debug)]
pub struct Pool {
    settings: Settings,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Reader>,
    /// Children at work.
    busy: usize,
    /// Children that were started, for tests and figures.
    started: u64,
    in_force: Option<InForce>,
}

/// A child and the way to talk to it.
#[derive(Debug)]
struct Reader {
    process: Child,
    socket: BufReader<Timed>,
    documents: u32,
    /// Whom it reads for, once it has read.
    audience: Option<i64>,
    /// When the current document has to be done.
    deadline: Instant,
    /// When it was started, and how long it had been at work when the current document began.
    since: Instant,
    before: Duration,
}

/// Why a child gave no answer.
enum Lost {
    /// The source of the document failed.
    Source(io::Error),
    /// Nobody looks at the pictures any more; the child waits for it.
    Look(io::Error),
    /// The child ended, or took too long.
    Reader(End),
    /// The child was ended by others before it asked for anything: what it was told can be told to another one.
    Stale(End),
}

/// Gives the place of a child back, whatever happens.
struct Place<'p>(&'p Pool);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.state().busy -= 1;
        self.0.freed.notify_one();
    }
}

impl Pool {
    /// An empty pool; children are started when there is work.
    pub fn new(settings: Settings) -> Self {
        Self { settings, state: Mutex::default(), freed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Children that were started so far.
    pub fn started(&self) -> u64 {
        self.state().started
    }

    /// What holds the children, once one was started.
    pub fn in_force(&self) -> Option<InForce> {
        self.state().in_force.clone()
    }

    /// Starts a child that waits for work, and says what holds it.
    ///
    /// # Errors
    /// When no child can be started, or none that is held as it has to be.
    pub fn try_start(&self) -> io::Result<InForce> {
        let reader = self.start()?;
        let mut state = self.state();
        if state.idle.len() + state.busy < self.settings.children {
            state.idle.push(reader);
        }
        Ok(state.in_force.clone().unwrap_or_default())
    }

    /// Process ids of the children that wait for work.
    pub fn idle(&self) -> Vec<u32> {
        self.state().idle.iter().map(|reader| reader.process.id()).collect()
    }

    /// Reads a document in a child. What goes wrong with the reading is the reason in the answer, never an error.
    ///
    /// # Errors
    /// Those of `content`, as they are; and when no child can be started.
    pub fn extract(&self, request: &Request, content: &mut dyn Read) -> io::Result<Extracted> {
        self.extract_seeing(request, content, &mut |_| Ok(Err("nobody looks at pictures".to_owned())))
    }

    /// The same with somebody who looks at the pictures in it; it takes as long as that takes.
    ///
    /// # Errors
    /// The same, and those of `look`.
    pub fn extract_seeing(
        &self,
        request: &Request,
        content: &mut dyn Read,
        look: &mut Look<'_>,
    ) -> io::Result<Extracted> {
        // Most documents are smaller than a buffer; it grows for the others.
        let mut first = Vec::with_capacity(limits::READ_BUFFER_BYTES);
        let ended = worker::chunk(content, &mut first)?;
        let mut state = self.state();
        while state.busy >= self.settings.children {
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.busy += 1;
        drop(state);
        let _place = Place(self);
        loop {
            let waiting = self.idle_for(request.audience);
            let fresh = waiting.is_none();
            let mut reader = match waiting {
                Some(reader) => reader,
                None => self.start()?,
            };
            match reader.extract(request, (&first, ended, content), look) {
                Ok(found) => {
                    if reader.documents < self.settings.documents {
                        self.state().idle.push(reader);
                    }
                    return Ok(found);
                }
                Err(Lost::Source(error)) => {
                    // The child was told and is as good as before.
                    self.state().idle.push(reader);
                    return Err(error);
                }
                Err(Lost::Look(error)) => return Err(error),
                Err(Lost::Stale(_)) if !fresh => {}
                Err(Lost::Stale(end)) => return Ok(lost(request, &first, end)),
                Err(Lost::Reader(end)) => return Ok(lost(request, &first, end)),
            }
        }
    }

    /// A child that waits for work and has read for nobody else; where there is none, room for a new one.
    fn idle_for(&self, audience: i64) -> Option<Reader> {
        let mut state = self.state();
        if let Some(at) = state.idle.iter().rposition(|reader| reader.reads_for(audience)) {
            return Some(state.idle.remove(at));
        }
        // The caller is among the busy ones. The child that waits longest goes; outside of the lock, for it is waited for.
        let crowded = state.idle.len() + state.busy > self.settings.children;
        let oldest = (crowded && !state.idle.is_empty()).then(|| state.idle.remove(0));
        drop(state);
        drop(oldest);
        None
    }

    fn start(&self) -> io::Result<Reader> {
        let (ours, theirs) = UnixStream::pair()?;
        let process = Command::new(&self.settings.program)
            .args(&self.settings.arguments)
            .env_clear()
            .envs(self.settings.environment.iter().cloned())
            // The allocator would otherwise reserve as much as the child may have.
            .env("MIMALLOC_ARENA_RESERVE", "64MiB")
            .current_dir("/")
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
            .stdout(Stdio::from(self.scratch()?))
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| {
                io::Error::new(
                    error.kind(),
                    format!("a reader cannot be started: {}: {error}", self.settings.program.display()),
                )
            })?;
        let deadline = after(limits::EXTRACT_START_MS_MAX);
        let timed = Timed::new(ours, deadline);
        let socket = BufReader::with_capacity(limits::READ_BUFFER_BYTES, timed);
        let (since, before) = (after(0), Duration::ZERO);
        let mut reader = Reader { process, socket, documents: 0, audience: None, deadline, since, before };
        let in_force: InForce = match reader.hear(limits::EXTRACT_CHUNK_BYTES) {
            Ok((Word::Ready, bytes)) => serde_json::from_slice(&bytes)?,
            Ok(_) => return Err(io::Error::other("a reader said something else than that it is ready")),
            Err(reason) => return Err(io::Error::other(format!("a reader cannot be started: {reason}"))),
        };
        if !self.settings.may_be_loose && !in_force.is_whole() {
            let missing = in_force.missing().join(", ");
            return Err(io::Error::other(format!("this kernel does not confine readers: {missing} missing")));
        }
        let mut state = self.state();
        state.started += 1;
        state.in_force = Some(in_force);
        Ok(reader)
    }

    /// A file without a name, for the documents that are too large for memory.
    fn scratch(&self) -> io::Result<File> {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        if let Ok(file) = rustix::fs::open(&self.settings.scratch, flags, Mode::RUSR | Mode::WUSR) {
            return Ok(file.into());
        }
        // Where that cannot be, one with a name that nobody guesses.
        let number = RandomState::new().hash_one(self.state().started);
        let mut attempt = 0u32;
        loop {
            let path = self.settings.scratch.join(format!(".ingather-{number:016x}-{attempt}"));
            match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => {
                    std::fs::remove_file(&path)?;
                    return Ok(file);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 1_000 => attempt += 1,
                Err(error) => {
                    let folder = self.settings.scratch.display();
                    return Err(io::Error::new(
                        error.kind(),
                        format!("no scratch file can be made in {folder}: {error}"),
                    ));
                }
            }
        }
    }
}

/// The answer for a document whose reader was lost.
fn lost(request: &Request, head: &[u8], end: End) -> Extracted {
    let head = &head[..head.len().min(detect::HEAD_BYTES)];
    Extracted {
        name: request.name.clone(),
        media_type: detect::media_type(head, &request.name, request.declared.as_deref()),
        reason: Some(end.reason),
        lost: Some(if end.by_others { Loss::ByOthers } else { Loss::ByItself }),
        ..Extracted::default()
    }
}

/// Bytes that an answer may have.
fn answer_bytes(request: &Request) -> usize {
    let links = limits::LINKS_BYTES_MAX * 2 + limits::LINKS_MAX * LINK_MARK_BYTES;
    let links = if request.links { links } else { 0 };
    request.limits.text_bytes * 2 + limits::EXTRACT_ANSWER_BYTES_MAX + links
}

impl Reader {
    fn reads_for(&self, audience: i64) -> bool {
        self.audience.is_none_or(|before| before == audience)
    }

    fn extract(
        &mut self,
        request: &Request,
        (first, ended, content): (&[u8], bool, &mut dyn Read),
        look: &mut Look<'_>,
    ) -> Result<Extracted, Lost> {
        self.documents += 1;
        self.audience = Some(request.audience);
        self.before = after(0).saturating_duration_since(self.since);
        self.deadline = after(request.limits.time_ms + limits::EXTRACT_GRACE_MS);
        let word = |ended: bool| if ended { Word::Last } else { Word::Bytes };
        let mut said = Vec::with_capacity(first.len() + (1 << 10));
        frames::put(&mut said, Word::Document, |said| Ok(serde_json::to_writer(said, request)?))
            .and_then(|()| frames::put(&mut said, word(ended), |said| said.write_all(first)))
            .map_err(|error| Lost::Reader(error.to_string().into()))?;
        // Nothing was asked yet: whoever is gone now was gone before.
        self.say(&said).map_err(|error| Lost::Stale(self.cause(error_of(&error), request)))?;
        let picture = if request.options.pictures { limits::PICTURE_BYTES_MAX as usize } else { 0 };
        let most = answer_bytes(request).max(picture);
        let mut buffer = Vec::new();
        let mut ended = ended;
        let mut asked = false;
        loop {
            let heard = self.hear(most).map_err(|reason| match self.cause(reason, request) {
                end if end.by_others && !end.late && !asked => Lost::Stale(end),
                end => Lost::Reader(end),
            })?;
            match heard {
                (Word::Result, answer) => {
                    return serde_json::from_slice(&answer).map_err(|error| {
                        Lost::Reader(format!("its reader answered what nobody understands: {error}").into())
                    });
                }
                (Word::More, _) if !ended => {
                    asked = true;
                    // The source may be slow; that is not the reader's time.
                    let before = after(0);
                    let read = worker::chunk(content, &mut buffer);
                    self.deadline += after(0) - before;
                    match read {
                        Ok(last) => {
                            ended = last;
                            said.clear();
                            frames::put(&mut said, word(last), |said| said.write_all(&buffer))
                                .and_then(|()| self.say(&said))
                                .map_err(|error| Lost::Reader(self.cause(error_of(&error), request)))?;
                        }
                        Err(error) => {
                            said.clear();
                            let told = frames::put(&mut said, Word::Broken, |_| Ok(()));
                            return match told.and_then(|()| self.say(&said)) {
                                Ok(()) => Err(Lost::Source(error)),
                                Err(_) => Err(Lost::Reader(String::from("its reader ended").into())),
                            };
                        }
                    }
                }
                (Word::Picture, picture) if request.options.pictures => {
                    asked = true;
                    self.answer(&picture, look, request)?;
                }
                _ => {
                    let reason = "its reader said something out of order".to_owned();
                    return Err(Lost::Reader(reason.into()));
                }
            }
        }
    }

    /// Says what is seen in a picture.
    fn answer(&mut self, picture: &[u8], look: &mut Look<'_>, request: &Request) -> Result<(), Lost> {
        // Whoever looks has a time of its own.
        let before = after(0);
        let seen = look(picture).map_err(Lost::Look)?;
        self.deadline += after(0) - before;
        let (word, words) = match seen {
            Ok(words) => (Word::Seen, words),
            Err(reason) => (Word::Unseen, reason),
        };
        let words = &words[..boundary(&words, limits::BODY_BYTES_MAX)];
        let mut said = Vec::new();
        frames::put(&mut said, word, |said| said.write_all(words.as_bytes()))
            .and_then(|()| self.say(&said))
            .map_err(|error| Lost::Reader(self.cause(error_of(&error), request)))
    }

    /// Sends what was put together, in the time that is left.
    fn say(&mut self, said: &[u8]) -> io::Result<()> {
        let timed = self.socket.get_mut();
        timed.deadline = self.deadline;
        timed.write_all(said)
    }

    fn hear(&mut self, most: usize) -> Result<(Word, Vec<u8>), String> {
        self.socket.get_mut().deadline = self.deadline;
        match frames::read(&mut self.socket, most) {
            Ok(Some(heard)) => Ok(heard),
            Ok(None) => Err(String::new()),
            Err(error) => Err(error_of(&error)),
        }
    }

    /// Why the child gave no answer; it is ended for certain afterwards.
    fn cause(&mut self, reason: String, request: &Request) -> End {
        let late = self.deadline <= after(0);
        let worked = if late { self.worked_ms() } else { 0 };
        // One that is ending already ends as it began to.
        let _ = self.process.kill();
        let status = self.process.wait();
        if late {
            let seconds = request.limits.time_ms.div_ceil(1_000);
            return End {
                reason: format!("reading it took longer than {seconds} seconds"),
                // One that had half of its time in earnest is slow by itself; one that had not was kept from work.
                by_others: worked < request.limits.time_ms / 2,
                late,
            };
        }
        match status {
            _ if !reason.is_empty() => reason.into(),
            Ok(status) => end_of(status),
            Err(error) => format!("its reader is lost: {error}").into(),
        }
    }

    /// Time of the processor that the child had for the document that it reads, milliseconds, at least: what it had for
    /// others cannot be more than they took.
    fn worked_ms(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap_or_default();
        // Its name may have blanks and brackets in it; the times are the 14th and 15th word, of user and system.
        let words = stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ').skip(11).take(2);
        let ticks: u64 = words.filter_map(|word| word.parse::<u64>().ok()).sum();
        let milliseconds = ticks * 1_000 / rustix::param::clock_ticks_per_second().max(1);
        milliseconds.saturating_sub(u64::try_from(self.before.as_millis()).unwrap_or(u64::MAX))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // One that is gone already cannot be ended; either way nothing is left over.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
