//! Looking at one file and reading it: what is delivered was read from one version, or says that it was not.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

use ingather_contract::call::CallContext;
use ingather_contract::repository::{Observed, ReadContent};
use ingather_kit::file_uri;
use ingather_model::access::Acl;
use ingather_model::document::Record;
use ingather_model::fault::Fault;
use ingather_model::job::dates::Dates;
use ingather_model::key::Stamp;
use ingather_model::{limits, names};

use rustix::fs::FileType;

use super::acls::{self, PosixAcl};
use super::facts::{Facts, millis};
use super::{Judged, Source, Taken, root};

/// Looks at the document `key` without its content.
pub(super) fn look(source: &Source, call: &CallContext, key: &str) -> Result<Observed, Fault> {
    look_by(source, call, key, |handle| acls::list_of_path(handle))
}

/// The same by who tells the access list. Facts are asked for before and after it: one of another instant would go with the stamps of
/// a text that it was never beside.
pub(super) fn look_by(
    source: &Source,
    call: &CallContext,
    key: &str,
    list: impl Fn(&OwnedFd) -> PosixAcl,
) -> Result<Observed, Fault> {
    let mut attempt = 1;
    loop {
        let now = call.now();
        let taken = source.take(key, root::PATH)?;
        let list = list(&taken.handle);
        let Judged { acl, content, access, identity } = source.judge(key, now, &taken, &list);
        let still = Facts::of_handle(&taken.handle) == Ok(taken.facts);
        if !still && attempt < limits::READ_ATTEMPTS_MAX {
            attempt += 1;
            continue;
        }
        let (content, access) = if still { (content, access) } else { (Stamp::NONE, Stamp::NONE) };
        let record = begin(source, key, &taken.facts, taken.born);
        return Ok(Observed { content, access, identity, acl, record, dates: Dates::default() });
    }
}

/// Who may see the file `key`, whatever rule leaves it out.
pub(super) fn acl_of_left_out(source: &Source, call: &CallContext, key: &str) -> Option<Acl> {
    for _ in 0..limits::READ_ATTEMPTS_MAX {
        let spot = root::descend(source, source.standing().ok()?, key).ok()?;
        let handle = root::open_path(&spot.folder, &spot.name).ok()?;
        let facts = Facts::of_handle(&handle).ok().filter(|facts| facts.kind() == FileType::RegularFile)?;
        let taken = Taken { handle, facts, born: None, stands: true };
        let list = acls::list_of_path(&taken.handle);
        let judged = source.judge(key, call.now(), &taken, &list);
        if Facts::of_handle(&taken.handle) == Ok(facts) {
            return Some(judged.acl);
        }
    }
    None
}

/// Reads the document `key`: again when it changed meanwhile, and at last without a version.
pub(super) fn fetch(
    source: &Source,
    call: &CallContext,
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
    call: &CallContext,
    key: &str,
    read: &mut ReadContent<'_>,
) -> Result<(Observed, bool), Fault> {
    let now = call.now();
    let taken = source.take(key, root::READ)?;
    let list = acls::list_of_handle(&taken.handle);
    let Judged { acl, content, access, identity } = source.judge(key, now, &taken, &list);
    let Taken { handle, facts: before, born, .. } = taken;
    let mut record = begin(source, key, &before, born);
    let mut bytes = Content::new(File::from(handle), &before, source.rules.size_max, call);
    let outcome = read(&mut record, &acl, &mut bytes);
    if call.cancel.cancelled() {
        return Err(Fault::passing("cancelled", "reading was stopped"));
    }
    if let Some(error) = bytes.error.take() {
        return Err(Fault::passing("io", format!("`{key}` cannot be read to its end: {error}")));
    }
    outcome?;
    let observed = Observed { content, access, identity, acl, record, dates: Dates::default() };
    Ok((observed, before.still(&bytes.file)))
}

/// The record of a file as far as the file system tells it.
fn begin(source: &Source, key: &str, facts: &Facts, born: Option<i64>) -> Record {
    // Names are written one by one: the last part of a key is the name of its file.
    let name = key.rsplit('/').next().unwrap_or(key).to_owned();
    let owner = source.owners.name(facts.uid);
    let path = source.known_path(key);
    let mut record = Record {
        uri: file_uri::of_path(&path),
        title: name.clone(),
        path: names::escape(&path).into_owned(),
        size: Some(facts.size),
        modified: Some(millis(facts.mtime)),
        created: born,
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

/// The bytes of an open file, up to the size that it had when it was opened.
struct Content<'a> {
    file: File,
    left: u64,
    call: &'a CallContext,
    /// The first error, which the consumer may have hidden.
    error: Option<std::io::Error>,
}

impl<'a> Content<'a> {
    fn new(file: File, facts: &Facts, size_max: u64, call: &'a CallContext) -> Content<'a> {
        // Files that the kernel makes up have size 0 and content.
        let left = if facts.size == 0 { size_max } else { facts.size.min(size_max) };
        Content { file, left, call, error: None }
    }

    fn refill(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let most = usize::try_from(self.left).map_or(out.len(), |left| left.min(out.len()));
        loop {
            if self.call.cancel.cancelled() {
                return Err(std::io::Error::other("reading was stopped"));
            }
            match self.file.read(&mut out[..most]) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(length) => {
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
