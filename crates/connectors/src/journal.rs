//! An output that appends one line of JSON for each change to a file: a record for people and for other programs, with all that
//! is needed to judge who may see what (`docs/manual/journal.md`).

mod continuity;
mod place;
pub(crate) mod snapshot;
#[cfg(test)]
mod tests;

use std::fs::{File, Metadata};
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use garde::Validate;
use ingather_contract::call::CallContext;
use ingather_contract::lines::{self, Line};
use ingather_contract::output::{
    Change, Continuity, Generation, LOST, Output, OutputCapabilities, OutputContext, OutputEntry, OutputKind,
    Statement,
};
use ingather_contract::settings;
use ingather_model::fault::Fault;
use ingather_model::ids::Digest;
use ingather_model::{limits, names};
use rustix::fs::{Access, AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::continuity::Begun;

/// The `journal` output.
pub(crate) const OUTPUT: OutputKind = OutputKind {
    name: "journal",
    about: "Appends one line of JSON for each change to a file, and who may see what.",
    capabilities: OutputCapabilities { commits: false, access: true, list: false, told: true },
    schema: settings::schema_of::<JournalSettings>,
    open,
    check,
    look: None,
    discard: None,
    search: None,
    copy: None,
    place: None,
    ask: None,
};

/// Whether a journal may be a file that others can read.
static SHARED: AtomicBool = AtomicBool::new(false);

/// Lets journals be files that others than their owner can read: who may, is then the file's own matter.
pub fn share_journals() {
    SHARED.store(true, Ordering::Relaxed);
}

/// Settings of the journal.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
struct JournalSettings {
    /// Absolute path of the file, made when missing (readable by its owner only); a backslash is written `\\`, a byte
    /// that is not UTF-8 or a control character `\xNN`.
    #[garde(length(bytes, min = 1, max = limits::ROOT_BYTES_MAX))]
    file: String,
}

fn open(value: &Value, _context: &OutputContext) -> Result<Box<dyn Output>, Fault> {
    let (path, name) = named(value)?;
    Ok(Box::new(Journal::open(&path, name)?))
}

/// The file that settings name, and its name there.
fn named(value: &Value) -> Result<(PathBuf, String), Fault> {
    let settings: JournalSettings = settings::read(value)?;
    let bytes = names::unescape(&settings.file).map_err(|_| {
        Fault::refused("settings", r"`file` has a lone backslash; write it as `\\`, or a byte as `\xNN`")
    })?;
    let path = PathBuf::from(std::ffi::OsString::from_vec(bytes.into_owned()));
    if !path.is_absolute() {
        return Err(Fault::refused("settings", "`file` is no absolute path; begin it with /"));
    }
    Ok((path, settings.file))
}

fn check(value: &Value, _context: &OutputContext) -> Result<(), Fault> {
    let (path, name) = named(value)?;
    let closed = |errno: Errno| unusable(&name, &errno.into());
    let (folder, last) = place::of(&path, &name)?;
    let flags = OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let file = match rustix::fs::openat(&folder, last, flags, Mode::empty()) {
        Err(Errno::NOENT) => {
            let access = Access::WRITE_OK | Access::EXEC_OK;
            return rustix::fs::accessat(&folder, ".", access, AtFlags::empty()).map_err(closed);
        }
        opened => File::from(opened.map_err(closed)?),
    };
    let facts = file.metadata().map_err(|error| unusable(&name, &error))?;
    refuse_odd(&facts, &name)?;
    let access = Access::READ_OK | Access::WRITE_OK;
    rustix::fs::accessat(&folder, last, access, AtFlags::empty()).map_err(closed)?;
    refuse_foreign(&file, facts.len(), &name)?;
    refuse_shared(&facts, &name)
}

/// The sentence for a journal that the system does not let be used.
fn unusable(name: &str, error: &std::io::Error) -> Fault {
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            Fault::refused("journal", format!("journal `{name}`: its folder does not exist"))
        }
        std::io::ErrorKind::IsADirectory => not_a_file(name),
        std::io::ErrorKind::PermissionDenied
        | std::io::ErrorKind::ReadOnlyFilesystem
        | std::io::ErrorKind::NotADirectory => {
            Fault::refused("journal", format!("journal `{name}`: {error}"))
        }
        _ => Fault::passing("journal", format!("journal `{name}`: {error}")),
    }
}

/// Whoever may make a link beside a journal decides where its lines go: with the rights of this program.
fn refuse_odd(facts: &Metadata, name: &str) -> Result<(), Fault> {
    match facts.is_file() {
        true => Ok(()),
        false => Err(not_a_file(name)),
    }
}

fn not_a_file(name: &str) -> Fault {
    Fault::refused("journal", format!("journal `{name}` is not a file"))
}

fn refuse_foreign(file: &File, length: u64, name: &str) -> Result<(), Fault> {
    match begins_as_ours(file, length) {
        Ok(true) => Ok(()),
        Ok(false) => {
            let sentence = format!("`{name}` is no journal: it holds something else; name another file");
            Err(Fault::refused("journal", sentence))
        }
        Err(error) => Err(unusable(name, &error)),
    }
}

fn refuse_shared(facts: &Metadata, name: &str) -> Result<(), Fault> {
    // The bits of the group are also those of all whom an access list names.
    if facts.mode() & 0o066 == 0 || SHARED.load(Ordering::Relaxed) {
        return Ok(());
    }
    Err(Fault::refused(
        "journal",
        format!(
            "others than its owner may read or write the journal `{name}`, which holds everybody's text: make it the owner's \
             alone (chmod 600), or say --shared-journal"
        ),
    ))
}

struct Journal {
    file: File,
    /// As in the settings, for people.
    name: String,
    /// Digest of its first line; empty while there is none.
    first: String,
    /// The last `run` line that is known in it.
    begun: Option<Begun>,
    /// Number of its last line.
    seq: i64,
    /// Where the last whole line ends.
    end: u64,
    /// The last bytes before that.
    tail: Vec<u8>,
    /// Something may be behind `end` that was not confirmed.
    torn: bool,
    /// Somebody else cut it, or wrote to it, since it was opened.
    lost: bool,
}

/// Takes the lock of a journal, and waits a little where a process that was just started holds a copy of it.
fn lock(file: &File) -> rustix::io::Result<()> {
    // clock: the machine's lock is waited for in the machine's time, whatever a run's clock says.
    let until = Instant::now() + Duration::from_millis(limits::LOCK_WAIT_MS_MAX);
    loop {
        match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            // clock: as above.
            Err(Errno::WOULDBLOCK) if Instant::now() < until => {
                #[expect(clippy::disallowed_methods, reason = "a lock has no event to wait for")]
                std::thread::sleep(Duration::from_millis(limits::LOCK_PAUSE_MS));
            }
            taken => return taken,
        }
    }
}

impl Journal {
    fn open(path: &Path, name: String) -> Result<Journal, Fault> {
        let failed = |error: std::io::Error| unusable(&name, &error);
        let (folder, last) = place::of(path, &name)?;
        let existed = rustix::fs::statat(&folder, last, AtFlags::SYMLINK_NOFOLLOW).is_ok();
        // Without blocking, so that a pipe that is named by mistake is met by the question below. At its end, wherever that is: behind the
        // end of a file that was cut there would be a hole.
        let flags = OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NOCTTY;
        let flags = flags | OFlags::RDWR | OFlags::APPEND | OFlags::CREATE;
        let opened = rustix::fs::openat(&folder, last, flags, Mode::RUSR | Mode::WUSR);
        let file = File::from(opened.map_err(|errno| failed(errno.into()))?);
        let facts = file.metadata().map_err(failed)?;
        refuse_odd(&facts, &name)?;
        match lock(&file) {
            Err(Errno::WOULDBLOCK) => {
                let sentence =
                    format!("journal `{name}` is held by another process; end that one or name another file");
                return Err(Fault::refused("locked", sentence));
            }
            other => other.map_err(|errno| failed(errno.into()))?,
        }
        let length = file.metadata().map_err(failed)?.len();
        refuse_foreign(&file, length, &name)?;
        refuse_shared(&facts, &name)?;
        let end = end_of_last_line(&file, length).map_err(failed)?;
        if end < length {
            file.set_len(end).and_then(|()| file.sync_all()).map_err(failed)?;
        }
        if !existed {
            // The name of the new file must outlive a power cut as its lines do.
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let folder = rustix::fs::openat(&folder, ".", flags, Mode::empty());
            folder
                .map_err(std::io::Error::from)
                .and_then(|folder| File::from(folder).sync_all())
                .map_err(failed)?;
        }
        let (first, seq) = stands(&file, end).map_err(failed)?;
        let tail = tail(&file, end, limits::JOURNAL_TAIL_BYTES).map_err(failed)?;
        Ok(Journal { file, first, begun: None, seq, end, tail, torn: false, lost: false, name })
    }

    /// Appends lines with growing numbers, of which `seq` is the last one.
    fn write<'l>(&mut self, lines: impl Iterator<Item = Line<'l>>, seq: i64) -> Result<(), Fault> {
        if self.lost {
            return Err(self.loss());
        }
        let (mut text, mut begun) = (Vec::new(), None);
        for line in lines {
            if let Line::Run { opening: Some(opening), .. } = &line {
                begun = Some(Begun { opening: opening.clone(), at: self.end + text.len() as u64 });
            }
            // Writing JSON into memory cannot fail; if it did, the line would be cut off with the batch.
            serde_json::to_writer(&mut text, &line)
                .and(writeln!(text).map_err(serde_json::Error::io))
                .map_err(|_| Fault::broken("journal", "a change cannot be written as JSON"))?;
        }
        self.lost = !self.append(&text).map_err(|error| {
            let sentence =
                format!("journal `{}` cannot be written: {error}; make room or free it", self.name);
            Fault::passing("journal", sentence)
        })?;
        if self.lost {
            return Err(self.loss());
        }
        self.seq = seq;
        self.begun = begun.or(self.begun.take());
        if self.first.is_empty() {
            self.first = first_line(&text);
        }
        Ok(())
    }

    /// Appends whole lines and waits until they are on the disk; false when others have cut the file or written to it since the
    /// last time, so that nobody knows which lines are lost.
    fn append(&mut self, lines: &[u8]) -> std::io::Result<bool> {
        let length = || self.file.metadata().map(|facts| facts.len());
        let now = length()?;
        if now < self.end || now > self.end && !self.torn {
            return Ok(false);
        }
        if self.torn {
            self.file.set_len(self.end)?;
            self.torn = false;
        }
        if tail(&self.file, self.end, self.tail.len())? != self.tail {
            return Ok(false);
        }
        self.torn = true;
        (&self.file).write_all(lines)?;
        self.file.sync_data()?;
        if length()? != self.end + lines.len() as u64 {
            return Ok(false);
        }
        self.torn = false;
        self.end += lines.len() as u64;
        self.tail.extend_from_slice(&lines[lines.len().saturating_sub(limits::JOURNAL_TAIL_BYTES)..]);
        self.tail.drain(..self.tail.len().saturating_sub(limits::JOURNAL_TAIL_BYTES));
        Ok(true)
    }

    /// Said until it is opened anew.
    fn loss(&self) -> Fault {
        let sentence = format!(
            "journal `{}` was cut or written to by somebody else while this program wrote to it, so that lines are lost; run \
             `ingather sync` again, and everything is told anew (to rotate it, rename it)",
            self.name
        );
        Fault::passing("lost", sentence)
    }
}

impl Output for Journal {
    fn apply(&mut self, _call: &CallContext, batch: &[Change]) -> Vec<Result<(), Fault>> {
        let Some(last) = batch.last() else { return Vec::new() };
        vec![self.write(batch.iter().map(lines::of_change), last.seq); batch.len()]
    }

    fn tell(&mut self, _call: &CallContext, statements: &[Statement]) -> Result<(), Fault> {
        let Some(last) = statements.last() else { return Ok(()) };
        self.write(statements.iter().map(lines::of_statement), last.seq)
    }

    fn commit(&mut self, _call: &CallContext) -> Result<Generation, Fault> {
        if self.lost { Err(self.loss()) } else { Ok(self.generation()) }
    }

    fn generation(&self) -> Generation {
        let identity = match &self.begun {
            _ if self.lost => LOST.to_owned(),
            Some(begun) => begun.identity(self.end),
            None => self.first.clone(),
        };
        Generation { identity, number: self.seq, seq: self.seq, session: 0 }
    }

    fn continuity(&mut self, identity: &str, opening: i64) -> Result<Continuity, Fault> {
        if identity == LOST {
            return Ok(Continuity::Other);
        }
        let lines = continuity::Lines { file: &self.file, end: self.end, seq: self.seq, first: &self.first };
        let known = continuity::of(&lines, identity, opening);
        let (continuity, begun) = known.map_err(|error| unusable(&self.name, &error))?;
        self.begun = begun;
        Ok(continuity)
    }

    fn list(
        &mut self,
        _call: &CallContext,
        _after: Option<&str>,
        _most: usize,
    ) -> Result<Vec<OutputEntry>, Fault> {
        Err(Fault::refused("cannot_list", "a journal is append-only and cannot be verified"))
    }
}

/// Whether a file is empty or begins with a line of ours, be it torn: nothing else is ever cut or written to.
fn begins_as_ours(file: &File, length: u64) -> std::io::Result<bool> {
    const BEGINNING: &[u8] = b"{\"op\":\"";
    let mut first = vec![0u8; BEGINNING.len().min(usize::try_from(length).unwrap_or(usize::MAX))];
    file.read_exact_at(&mut first, 0)?;
    Ok(BEGINNING.starts_with(&first))
}

/// By what a file is known: a digest of the beginning of its first line.
fn first_line(text: &[u8]) -> String {
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = &line[..line.len().min(limits::JOURNAL_LINE_BEGINNING)];
    if line.is_empty() { String::new() } else { format!("{:016x}", Digest::of(line).0) }
}

/// By what a file was known to earlier versions, and the number of its last line, which ends at `end`.
fn stands(file: &File, end: u64) -> std::io::Result<(String, i64)> {
    let beginning = |at: u64| {
        let most = end.saturating_sub(at).min(limits::JOURNAL_LINE_BEGINNING as u64) as usize;
        let mut bytes = vec![0u8; most];
        file.read_exact_at(&mut bytes, at).map(|()| bytes)
    };
    let last = end_of_last_line(file, end.saturating_sub(1))?;
    Ok((first_line(&beginning(0)?), lines::seq_of(&beginning(last)?)))
}

/// The bytes before `end`, at most so many.
fn tail(file: &File, end: u64, most: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; most.min(usize::try_from(end).unwrap_or(usize::MAX))];
    let begin = end - bytes.len() as u64;
    file.read_exact_at(&mut bytes, begin).map(|()| bytes)
}

/// Where the last whole line ends.
fn end_of_last_line(file: &File, length: u64) -> std::io::Result<u64> {
    let mut buffer = vec![0u8; limits::READ_BUFFER_BYTES];
    let mut end = length;
    while end > 0 {
        let begin = end.saturating_sub(buffer.len() as u64);
        let piece = &mut buffer[..(end - begin) as usize];
        file.read_exact_at(piece, begin)?;
        if let Some(at) = piece.iter().rposition(|byte| *byte == b'\n') {
            return Ok(begin + at as u64 + 1);
        }
        end = begin;
    }
    Ok(0)
}
