//! Looking at one file and reading it: what is delivered was read from one version, or says that it was not.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;

use ingather_connector::call::Call;
use ingather_connector::model::document::Record;
use ingather_connector::model::fault::Fault;
use ingather_connector::model::key::Stamp;
use ingather_connector::model::{limits, names};
use ingather_connector::repository::{Observed, ReadContent};
use rustix::fs::{AtFlags, StatxFlags};

use super::Source;
use super::facts::{Facts, millis};
use super::levels::{self, Right};
use super::root::{self, Spot};

/// Looks at the document `key` without its content.
pub(super) fn look(source: &Source, call: &Call, key: &str) -> Result<Observed, Fault> {
    let spot = source.find(key)?;
    let what = format!("`{key}`");
    let now = call.now();
    let handle = root::open_path(&spot.folder, &spot.name).map_err(|errno| root::fault(errno, &what))?;
    let facts = Facts::of_handle(&handle).map_err(|errno| root::fault(errno, &what))?;
    if let Some(left) = source.left_by_facts(&facts) {
        return Err(Fault::Refused(left.reason(key)));
    }
    // The list is read after the facts: when it changed in between, their change time tells at the next look.
    let level = levels::of_path(&handle, &facts, Right::Read);
    let (content, access) = facts.stamps(now, source.grain(&facts, &handle));
    let record = begin(source, key, &spot, &handle, &facts);
    Ok(Observed { content, access, identity: facts.identity(), level, record })
}

/// Reads the document `key`: again when it changed meanwhile, and at last without a version.
pub(super) fn fetch(
    source: &Source,
    call: &Call,
    key: &str,
    read: &mut ReadContent<'_>,
) -> Result<Observed, Fault> {
    let mut attempt = 1;
    loop {
        let (mut observed, still) = read_once(source, call, key, read)?;
        if still {
            return Ok(observed);
        }
        if attempt >= limits::READ_ATTEMPTS_MAX {
            observed.content = Stamp::NONE;
            observed.access = Stamp::NONE;
            return Ok(observed);
        }
        attempt += 1;
    }
}

fn read_once(
    source: &Source,
    call: &Call,
    key: &str,
    read: &mut ReadContent<'_>,
) -> Result<(Observed, bool), Fault> {
    let spot = source.find(key)?;
    let what = format!("`{key}`");
    let fault = |errno| root::fault(errno, &what);
    let handle = root::open_file(&spot.folder, &spot.name).map_err(fault)?;
    let now = call.now();
    let before = Facts::of_handle(&handle).map_err(fault)?;
    if let Some(left) = source.left_by_facts(&before) {
        return Err(Fault::Refused(left.reason(key)));
    }
    let level = levels::of_handle(&handle, &before, Right::Read);
    let (content, access) = before.stamps(now, source.grain(&before, &handle));
    let mut record = begin(source, key, &spot, &handle, &before);
    let mut bytes = Content::new(File::from(handle), &before, source.rules.size_max, call);
    let outcome = read(&mut record, &mut bytes);
    if call.cancel.cancelled() {
        return Err(Fault::passing("cancelled", "reading was stopped"));
    }
    if let Some(error) = bytes.error.take() {
        return Err(Fault::passing("io", format!("{what} cannot be read to its end: {error}")));
    }
    outcome?;
    let after = Facts::of_handle(bytes.file.get_ref()).map_err(fault)?;
    let observed = Observed { content, access, identity: before.identity(), level, record };
    Ok((observed, after.unchanged_since(&before)))
}

/// The record of a file as far as the file system tells it.
fn begin(source: &Source, key: &str, spot: &Spot, handle: &OwnedFd, facts: &Facts) -> Record {
    let name = names::escape(&spot.name);
    let owner = source.owners.name(facts.uid);
    let mut record = Record {
        uri: source.uri(key),
        title: name.clone(),
        path: names::escape(&source.path(key)),
        size: Some(facts.size),
        modified: Some(millis(facts.mtime)),
        created: born(handle),
        author: Some(owner.clone()),
        ..Record::default()
    };
    if let Some((stem, extension)) = name.rsplit_once('.')
        && !stem.is_empty()
        && !extension.is_empty()
    {
        record.fields.insert("ext".to_owned(), vec![extension.to_lowercase()]);
    }
    record.fields.insert("name".to_owned(), vec![name]);
    record.fields.insert("owner".to_owned(), vec![owner]);
    record
}

/// When the file was made, milliseconds since 1970 UTC, where the file system knows.
fn born(handle: &OwnedFd) -> Option<i64> {
    let answer = rustix::fs::statx(handle, "", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok()?;
    let known = StatxFlags::from_bits_retain(answer.stx_mask).contains(StatxFlags::BTIME);
    known.then(|| millis((answer.stx_btime.tv_sec, answer.stx_btime.tv_nsec)))
}

/// The bytes of an open file, through one buffer, up to the size that it had when it was opened.
struct Content<'a> {
    file: BufReader<File>,
    left: u64,
    call: &'a Call,
    /// The first error, which the consumer may have hidden.
    error: Option<std::io::Error>,
}

impl<'a> Content<'a> {
    fn new(file: File, facts: &Facts, size_max: u64, call: &'a Call) -> Content<'a> {
        let size = usize::try_from(facts.size).unwrap_or(usize::MAX);
        let buffer = if size == 0 { limits::READ_BUFFER_BYTES } else { size.min(limits::READ_BUFFER_BYTES) };
        // Files that the kernel makes up have size 0 and content.
        let left = if facts.size == 0 { size_max } else { facts.size.min(size_max) };
        Content { file: BufReader::with_capacity(buffer, file), left, call, error: None }
    }

    fn refill(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        loop {
            if self.call.cancel.cancelled() {
                return Err(std::io::Error::other("reading was stopped"));
            }
            match self.file.fill_buf() {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
                Ok(bytes) => {
                    let most = usize::try_from(self.left).unwrap_or(usize::MAX);
                    let length = bytes.len().min(out.len()).min(most);
                    out[..length].copy_from_slice(&bytes[..length]);
                    self.file.consume(length);
                    self.left -= length as u64;
                    return Ok(length);
                }
            }
        }
    }
}

impl Read for Content<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 || out.is_empty() {
            return Ok(0);
        }
        self.refill(out).map_err(|error| {
            let again = std::io::Error::new(error.kind(), error.to_string());
            self.error.get_or_insert(error);
            again
        })
    }
}
