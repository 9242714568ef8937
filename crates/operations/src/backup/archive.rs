//! One file that holds a data directory: a tar archive whose last entry lists the others with their checksums.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use ingather_contract::call::Cancel;
use serde::{Deserialize, Serialize};

use crate::context::Host;
use crate::new_file::{make_folder, whole};
use crate::problem::{Problem, Result};

/// Format of the archive; a later one is refused.
pub(super) const FORMAT: u32 = 1;
/// Longest list of files that is read, bytes.
const MANIFEST_BYTES_MAX: u64 = 64 << 20;
const MANIFEST: &str = "manifest-";
/// Bytes of an entry that are read before they are written.
const COPIED_AT_ONCE: usize = 64 << 10;

/// What an archive says about itself.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) format: u32,
    /// Version of the program that wrote it.
    pub(super) program: String,
    /// Milliseconds since 1970 UTC.
    pub(super) made_at: i64,
    /// `sqlite`, or `postgres`: then the inventory is not in it.
    pub(super) store: String,
    /// Identity of the store.
    pub(super) store_id: String,
    /// Identity and number of the commit of the search index; none when there was no index.
    pub(super) index: Option<(String, i64)>,
    /// The key that the secrets of the inventory are sealed with, which is in no backup; none where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secrets_key: Option<String>,
    pub(super) files: Vec<Listed>,
}

/// One file of an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) blake3: String,
}

fn failed(path: &Path, error: &std::io::Error) -> Problem {
    Problem::of_path(path, error)
}

fn damaged(file: &Path, why: &str) -> Problem {
    Problem::unable(format!(
        "{} is no backup, or is damaged: {why}; nothing was restored, use another one",
        file.display()
    ))
}

/// Passes bytes on and hashes them.
struct Hashing<R> {
    inner: R,
    hash: blake3::Hasher,
    cancel: Cancel,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.cancel.cancelled() {
            return Err(std::io::Error::other("stopped"));
        }
        let read = self.inner.read(buffer)?;
        self.hash.update(&buffer[..read]);
        Ok(read)
    }
}

/// Writes everything in `folder` to `out`, which people know as `place`; `manifest` gets the list of files.
pub(super) fn write_out(
    host: &dyn Host,
    place: &Path,
    out: &mut dyn Write,
    folder: &Path,
    manifest: &mut Manifest,
) -> Result<()> {
    let mut out = BufWriter::new(out);
    write_all(host, place, &mut out, folder, manifest)?;
    out.flush().map_err(|error| failed(place, &error))
}

/// Writes everything in `folder` to the new file `file`; `manifest` gets the list of files. On disk when this returns.
pub(super) fn write(host: &dyn Host, file: &Path, folder: &Path, manifest: &mut Manifest) -> Result<()> {
    whole(file, &|part| host.unfinished(part), |out| write_all(host, file, out, folder, manifest))
}

/// Writes the archive to `out`, which people know as `place`.
fn write_all(
    host: &dyn Host,
    place: &Path,
    out: &mut dyn Write,
    folder: &Path,
    manifest: &mut Manifest,
) -> Result<()> {
    let cancel = host.cancel();
    let failed = |error: std::io::Error| failed(place, &error);
    let mut archive = tar::Builder::new(out);
    for name in names(folder)? {
        let path = folder.join(&name);
        let input = File::open(&path).map_err(|error| self::failed(&path, &error))?;
        let bytes = input.metadata().map_err(|error| self::failed(&path, &error))?.len();
        let mut input = Hashing {
            inner: BufReader::new(input).take(bytes),
            hash: blake3::Hasher::new(),
            cancel: cancel.clone(),
        };
        add(&mut archive, &name, bytes, manifest.made_at, &mut input).map_err(failed)?;
        manifest.files.push(Listed { name, bytes, blake3: input.hash.finalize().to_hex().to_string() });
    }
    let text = serde_json::to_vec_pretty(manifest).unwrap_or_default();
    let name = format!("{MANIFEST}{}.json", blake3::hash(&text).to_hex());
    add(&mut archive, &name, text.len() as u64, manifest.made_at, &mut text.as_slice()).map_err(failed)?;
    archive.into_inner().and_then(Write::flush).map_err(failed)
}

fn add(
    archive: &mut tar::Builder<impl Write>,
    name: &str,
    bytes: u64,
    made_at: i64,
    input: &mut dyn Read,
) -> std::io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Regular);
    header.set_mode(0o600);
    header.set_size(bytes);
    header.set_mtime(u64::try_from(made_at / 1_000).unwrap_or_default());
    archive.append_data(&mut header, name, input)
}

/// Files of a folder and of the folders in it, by their names below it, in order.
fn names(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut waiting = vec![String::new()];
    while let Some(below) = waiting.pop() {
        let path = folder.join(&below);
        for entry in std::fs::read_dir(&path).map_err(|error| failed(&path, &error))? {
            let entry = entry.map_err(|error| failed(&path, &error))?;
            let name = format!("{below}{}", entry.file_name().to_string_lossy());
            match entry.path().is_dir() {
                true => waiting.push(format!("{name}/")),
                false => found.push(name),
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Opens the file of an archive.
pub(super) fn open(file: &Path) -> Result<Box<dyn Read>> {
    match file.is_dir() {
        true => Err(damaged(file, "it is a folder")),
        false => Ok(Box::new(File::open(file).map_err(|error| failed(file, &error))?)),
    }
}

/// Writes the files of an archive, which people know as `file`, into the new folder `into`, and checks every one of them.
pub(super) fn read(host: &dyn Host, file: &Path, input: Box<dyn Read + '_>, into: &Path) -> Result<Manifest> {
    let cancel = host.cancel();
    make_folder(into)?;
    let mut archive = tar::Archive::new(BufReader::new(input));
    // What else such an error says is content of the file, which is none of this program's to print.
    let torn = |error: std::io::Error| match error.raw_os_error() {
        Some(_) => failed(file, &error),
        None => damaged(file, "it cannot be read as an archive to its end"),
    };
    let mut found: Vec<Listed> = Vec::new();
    let mut manifest: Option<Manifest> = None;
    for entry in archive.entries().map_err(torn)? {
        let mut entry = entry.map_err(torn)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let whole = entry.header().entry_type() == tar::EntryType::Regular && manifest.is_none();
        if !whole || !is_ours(&name) {
            return Err(damaged(file, &format!("it has an entry `{name}`, which no backup has")));
        }
        if name.starts_with(MANIFEST) {
            let mut text = Vec::new();
            (&mut entry).take(MANIFEST_BYTES_MAX).read_to_end(&mut text).map_err(torn)?;
            if name != format!("{MANIFEST}{}.json", blake3::hash(&text).to_hex()) {
                return Err(damaged(file, "its list of files has another checksum than it should"));
            }
            manifest = Some(
                serde_json::from_slice(&text)
                    .map_err(|_| damaged(file, "its list of files cannot be read"))?,
            );
            continue;
        }
        found.push(extract(&mut entry, name, into, (&torn, &cancel))?);
    }
    let manifest = manifest.ok_or_else(|| damaged(file, "its end is missing"))?;
    if manifest.format > FORMAT {
        return Err(Problem::unable(format!(
            "{} was written by ingather {}, whose format this program does not know; use that version",
            file.display(),
            manifest.program
        )));
    }
    match manifest.files.iter().zip(&found).find(|(listed, found)| listed != found) {
        Some((listed, _)) => {
            Err(damaged(file, &format!("`{}` has another checksum than it should", listed.name)))
        }
        None if manifest.files.len() != found.len() => Err(damaged(file, "files are missing in it")),
        None => Ok(manifest),
    }
}

/// Whether a backup can have an entry of this name: nothing is ever written outside the folder.
fn is_ours(name: &str) -> bool {
    let file = name.strip_prefix("index/").unwrap_or(name);
    !file.is_empty() && !file.contains(['/', '\\', '\0']) && file != "." && file != ".."
}

/// Writes one entry into the folder `into`; `torn` tells of an entry that cannot be read, which is another file than the one
/// that cannot be written.
fn extract(
    entry: &mut impl Read,
    name: String,
    into: &Path,
    (torn, cancel): (&dyn Fn(std::io::Error) -> Problem, &Cancel),
) -> Result<Listed> {
    let path = into.join(&name);
    if let Some(folder) = path.parent().filter(|folder| !folder.exists()) {
        let made = std::fs::DirBuilder::new().mode(0o700).create(folder);
        made.map_err(|error| failed(folder, &error))?;
    }
    let unwritten = |error: std::io::Error| failed(&path, &error);
    let mut out =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(unwritten)?;
    let mut input = Hashing { inner: entry, hash: blake3::Hasher::new(), cancel: cancel.clone() };
    let mut buffer = vec![0; COPIED_AT_ONCE];
    let mut bytes = 0;
    loop {
        let read = match input.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(torn(error)),
        };
        out.write_all(&buffer[..read]).map_err(unwritten)?;
        bytes += read as u64;
    }
    out.sync_all().map_err(unwritten)?;
    Ok(Listed { name, bytes, blake3: input.hash.finalize().to_hex().to_string() })
}
