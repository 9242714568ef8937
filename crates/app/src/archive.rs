//! One file that holds a data directory: a tar archive whose last entry lists the others with their checksums.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::exit::{self, Failure, Result};
use crate::interrupt;

/// Format of the archive; a later one is refused.
pub(crate) const FORMAT: u32 = 1;
/// Longest list of files that is read, bytes.
const MANIFEST_BYTES_MAX: u64 = 64 << 20;
const MANIFEST: &str = "manifest-";
/// Bytes of an entry that are read before they are written.
const COPIED_AT_ONCE: usize = 64 << 10;
/// The file that stands for standard input or output.
pub(crate) const STANDARD: &str = "-";

/// What an archive says about itself.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) format: u32,
    /// Version of the program that wrote it.
    pub(crate) program: String,
    /// Milliseconds since 1970 UTC.
    pub(crate) made_at: i64,
    /// `sqlite`, or `postgres`: then the inventory is not in it.
    pub(crate) store: String,
    /// Identity of the store.
    pub(crate) store_id: String,
    /// Identity and number of the commit of the search index; none when there was no index.
    pub(crate) index: Option<(String, i64)>,
    pub(crate) files: Vec<Listed>,
}

/// One file of an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) blake3: String,
}

/// The sentence for a file or folder that cannot be read or written.
pub(crate) fn failed(path: &Path, error: &std::io::Error) -> Failure {
    if interrupt::stopped().is_some() {
        return Failure::stopped();
    }
    Failure::unable(format!("{}: {}; {}", path.display(), exit::in_words(error), exit::advice(error)))
}

fn damaged(file: &Path, why: &str) -> Failure {
    if interrupt::stopped().is_some() {
        return Failure::stopped();
    }
    Failure::unable(format!(
        "{} is no backup, or is damaged: {why}; nothing was restored, use another one",
        file.display()
    ))
}

/// Passes bytes on and hashes them.
struct Hashing<R> {
    inner: R,
    hash: blake3::Hasher,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if interrupt::stopped().is_some() {
            return Err(std::io::Error::other("stopped"));
        }
        let read = self.inner.read(buffer)?;
        self.hash.update(&buffer[..read]);
        Ok(read)
    }
}

/// Writes everything in `folder` to standard output; `manifest` gets the list of files.
pub(crate) fn write_out(folder: &Path, manifest: &mut Manifest) -> Result<()> {
    let (name, mut out) = (Path::new("standard output"), BufWriter::new(crate::show::bytes_out()));
    write_all(name, &mut out, folder, manifest)?;
    out.flush().map_err(|error| failed(name, &error))
}

/// Writes everything in `folder` to the new file `file`; `manifest` gets the list of files. On disk when this returns.
pub(crate) fn write(file: &Path, folder: &Path, manifest: &mut Manifest) -> Result<()> {
    whole(file, |out| write_all(file, out, folder, manifest))
}

/// Makes a file with what `write` writes, for its owner alone, and only if all of it is written. On disk when this returns.
pub(crate) fn whole<T>(file: &Path, write: impl FnOnce(&mut dyn Write) -> Result<T>) -> Result<T> {
    let mut part = file.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    interrupt::unfinished(&part);
    let named = write_whole(file, &part, write).and_then(|written| {
        // Never over a file that came into being meanwhile.
        let flags = rustix::fs::RenameFlags::NOREPLACE;
        rustix::fs::renameat_with(rustix::fs::CWD, &part, rustix::fs::CWD, file, flags)
            .map_err(|errno| failed(file, &errno.into()))?;
        sync_folder(file.parent().unwrap_or(Path::new("/")))?;
        Ok(written)
    });
    if named.is_err() {
        // What is half written is of no use; that it cannot be removed adds nothing to what went wrong.
        let _ = std::fs::remove_file(&part);
    }
    named
}

fn write_whole<T>(place: &Path, part: &Path, write: impl FnOnce(&mut dyn Write) -> Result<T>) -> Result<T> {
    let failed = |error: std::io::Error| failed(place, &error);
    let file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(part).map_err(failed)?;
    let mut out = BufWriter::new(file);
    let written = write(&mut out)?;
    out.into_inner().map_err(|error| failed(error.into_error()))?.sync_all().map_err(failed)?;
    Ok(written)
}

/// Writes the archive to `out`, which people know as `place`.
fn write_all(place: &Path, out: &mut dyn Write, folder: &Path, manifest: &mut Manifest) -> Result<()> {
    let failed = |error: std::io::Error| failed(place, &error);
    let mut archive = tar::Builder::new(out);
    for name in names(folder)? {
        let path = folder.join(&name);
        let input = File::open(&path).map_err(|error| self::failed(&path, &error))?;
        let bytes = input.metadata().map_err(|error| self::failed(&path, &error))?.len();
        let mut input = Hashing { inner: BufReader::new(input).take(bytes), hash: blake3::Hasher::new() };
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

/// Waits until the names in a folder are on the disk.
pub(crate) fn sync_folder(folder: &Path) -> Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| failed(folder, &error))
}

/// Writes the files of an archive into the new folder `into`, and checks every one of them.
pub(crate) fn read(file: &Path, into: &Path) -> Result<Manifest> {
    let input: Box<dyn Read> = match file == Path::new(STANDARD) {
        true => Box::new(std::io::stdin().lock()),
        false if file.is_dir() => return Err(damaged(file, "it is a folder")),
        false => Box::new(File::open(file).map_err(|error| failed(file, &error))?),
    };
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
        found.push(extract(&mut entry, name, into, &torn)?);
    }
    let manifest = manifest.ok_or_else(|| damaged(file, "its end is missing"))?;
    if manifest.format > FORMAT {
        return Err(Failure::unable(format!(
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
    torn: &dyn Fn(std::io::Error) -> Failure,
) -> Result<Listed> {
    let path = into.join(&name);
    if let Some(folder) = path.parent().filter(|folder| !folder.exists()) {
        let made = std::fs::DirBuilder::new().mode(0o700).create(folder);
        made.map_err(|error| failed(folder, &error))?;
    }
    let unwritten = |error: std::io::Error| failed(&path, &error);
    let mut out =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(unwritten)?;
    let mut input = Hashing { inner: entry, hash: blake3::Hasher::new() };
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

/// Makes a folder for its owner alone, with those above it.
pub(crate) fn make_folder(path: &Path) -> Result<()> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| failed(path, &error))
}
