//! The directory of the index: making it, opening it, and what its last commit says about it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ingather_contract::output::Generation;
use ingather_model::fault::Fault;
use ingather_model::limits;
use serde::{Deserialize, Serialize};
use tantivy::directory::{Directory, INDEX_WRITER_LOCK, MmapDirectory};
use tantivy::merge_policy::LogMergePolicy;
use tantivy::schema::Schema;
use tantivy::schema::document::Document;
use tantivy::{Index, IndexSettings, IndexWriter, TantivyError};

use crate::damage::{damaged, fault};
use crate::read_only::Looking;
use crate::schema::{FORMAT, schema};
use crate::tokenizers;

/// Name of the directory in the data directory.
pub(crate) const NAME: &str = "index";
/// Where a rebuilt index grows.
const NEW: &str = "index.new";
/// Where the index goes that was rebuilt, until it is removed.
const OLD: &str = "index.old";

/// A segment with a larger share of deleted entries is written anew.
const DELETED_SHARE_MAX: f32 = 0.3;
/// Longest wait for the lock: a process that was just started and has not begun its own program holds a copy of it, on a loaded
/// machine for more than half a second.
const LOCK_WAIT_MAX: Duration = Duration::from_millis(limits::LOCK_WAIT_MS_MAX);
/// Wait between two attempts at the lock.
const LOCK_PAUSE: Duration = Duration::from_millis(limits::LOCK_PAUSE_MS);

/// What every commit says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CommitMetadata {
    /// Format of schema, terms and stored texts.
    pub(crate) format: u32,
    /// Identity of the store that keeps the inventory.
    pub(crate) store: String,
    /// Identity of this index.
    pub(crate) identity: String,
    /// Number of the commit.
    pub(crate) number: i64,
    /// Largest number of a change that the commit holds the effect of.
    #[serde(default)]
    pub(crate) seq: i64,
    /// The opening that wrote it.
    #[serde(default)]
    pub(crate) session: i64,
}

impl CommitMetadata {
    /// That of an index that is made now.
    pub(crate) fn new(store: &str) -> CommitMetadata {
        let mut hash = blake3::Hasher::new();
        // clock: only to make an identity that no other index has; no decision goes by it.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        hash.update(&now.as_nanos().to_le_bytes());
        hash.update(&std::process::id().to_le_bytes());
        let mut noise = [0u8; 32];
        if let Ok(mut source) = std::fs::File::open("/dev/urandom") {
            // Time and process are enough to be unique; the noise only makes sure.
            let _ = std::io::Read::read_exact(&mut source, &mut noise);
        }
        hash.update(&noise);
        let identity = hash.finalize().to_hex()[..32].to_owned();
        CommitMetadata { format: FORMAT, store: store.to_owned(), identity, number: 0, seq: 0, session: 0 }
    }

    /// As the contract of outputs wants it.
    pub(crate) fn generation(&self) -> Generation {
        Generation {
            identity: self.identity.clone(),
            number: self.number,
            seq: self.seq,
            session: self.session,
        }
    }

    /// As text for a commit.
    pub(crate) fn text(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers are always JSON")
    }
}

/// The directories of one index.
#[derive(Clone, Debug)]
pub(crate) struct IndexDirectory {
    /// The index.
    pub(crate) path: PathBuf,
    /// Where a rebuilt one grows.
    pub(crate) new: PathBuf,
    old: PathBuf,
}

impl IndexDirectory {
    /// Those in a data directory.
    pub(crate) fn of(data: &Path) -> IndexDirectory {
        IndexDirectory { path: data.join(NAME), new: data.join(NEW), old: data.join(OLD) }
    }

    /// Whether an index is there. One that a kill left before its first commit is none: it holds nothing.
    pub(crate) fn exists(&self) -> bool {
        #[derive(Deserialize)]
        struct Metas {
            payload: Option<String>,
            segments: Vec<serde::de::IgnoredAny>,
        }
        let file = self.path.join("meta.json");
        if file.metadata().is_ok_and(|facts| !facts.is_file()) {
            return true;
        }
        let text = match std::fs::read(file) {
            Ok(text) => text,
            // What is there and cannot be read is told by whoever opens it.
            Err(error) => return error.kind() != std::io::ErrorKind::NotFound,
        };
        let metas: Option<Metas> = serde_json::from_slice(&text).ok();
        metas.is_none_or(|metas| metas.payload.is_some() || !metas.segments.is_empty())
    }

    /// Finishes or takes back a swap that was interrupted. Writers only.
    ///
    /// # Errors
    /// `Refused` when the files cannot be moved.
    pub(crate) fn finish_swap(&self) -> Result<(), Fault> {
        if !self.path.exists() && self.old.exists() {
            // The old one only leaves its place when the new one is complete.
            let back = if self.new.join("meta.json").is_file() { &self.new } else { &self.old };
            std::fs::rename(back, &self.path).map_err(|error| self.io("move", back, &error))?;
        }
        Ok(())
    }

    /// Clears what is left of a rebuild. Only for the holder of the writer's lock.
    ///
    /// # Errors
    /// `Refused` when the files cannot be removed.
    pub(crate) fn clear(&self) -> Result<(), Fault> {
        self.remove(&self.old)?;
        self.remove(&self.new)
    }

    /// Puts the rebuilt index in the place of the old one.
    ///
    /// # Errors
    /// `Refused` when the files cannot be moved; the next opening goes on.
    pub(crate) fn swap(&self) -> Result<(), Fault> {
        std::fs::rename(&self.path, &self.old).map_err(|error| self.io("move", &self.path, &error))?;
        std::fs::rename(&self.new, &self.path).map_err(|error| self.io("move", &self.new, &error))?;
        let parent = self.path.parent().unwrap_or(&self.path);
        std::fs::File::open(parent)
            .and_then(|parent| parent.sync_all())
            .map_err(|error| self.io("write", parent, &error))?;
        self.remove(&self.old)
    }

    fn remove(&self, path: &Path) -> Result<(), Fault> {
        let removed = match path.symlink_metadata() {
            Ok(facts) if !facts.is_dir() => std::fs::remove_file(path),
            _ => std::fs::remove_dir_all(path),
        };
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(self.io("remove", path, &error))
            }
            _ => Ok(()),
        }
    }

    fn io(&self, what: &str, path: &Path, error: &std::io::Error) -> Fault {
        Fault::refused("index_directory", format!("cannot {what} {}: {error}", path.display()))
    }

    /// The sentence for the index of another store.
    pub(crate) fn foreign(&self) -> Fault {
        Fault::refused(
            "foreign_index",
            format!(
                "the search index {} belongs to another store; move that folder away, then `ingather sync` makes a new one \
                 and sends everything again",
                self.path.display()
            ),
        )
    }

    /// Takes a damaged index away, so that a new one is made. Writers only.
    ///
    /// # Errors
    /// `Refused` when it cannot be removed.
    pub(crate) fn discard(&self) -> Result<(), Fault> {
        self.remove(&self.path)?;
        self.clear()
    }

    /// Makes an empty index with its first commit.
    ///
    /// # Errors
    /// `Refused` when the directory cannot be made or written.
    pub(crate) fn create(
        &self,
        path: &Path,
        schema: Schema,
        commit_metadata: &CommitMetadata,
    ) -> Result<Index, Fault> {
        self.refuse_odd()?;
        make_private(path).map_err(|error| self.io("make", path, &error))?;
        let directory = MmapDirectory::open(path).map_err(|error| fault(error.into(), path))?;
        // Two processes may begin at once; the slower one finds what the faster one made.
        let lock = directory
            .acquire_lock(&INDEX_WRITER_LOCK)
            .map_err(|error| fault(TantivyError::LockFailure(error, None), path))?;
        if path == self.path && self.exists() {
            return Ok(self.open()?.0);
        }
        // A thread of its own for each segment costs more to wake than what it does: 2 % of a first run.
        let settings =
            IndexSettings { docstore_compress_dedicated_thread: false, ..IndexSettings::default() };
        let index = Index::create(directory, schema, settings).map_err(|error| fault(error, path))?;
        tokenizers::register(index.tokenizers());
        drop(lock);
        let mut writer: IndexWriter = writer(&index, 1, 15_000_000, path)?;
        let mut first = writer.prepare_commit().map_err(|error| fault(error, path))?;
        first.set_payload(&commit_metadata.text());
        first.commit().map_err(|error| fault(error, path))?;
        Ok(index)
    }

    /// Opens what is there.
    ///
    /// # Errors
    /// `Broken` with what to do when it cannot be understood; `Refused` when it cannot be read, or is newer than this
    /// program.
    pub(crate) fn open(&self) -> Result<(Index, CommitMetadata), Fault> {
        self.open_in(self.directory()?)
    }

    /// The same for somebody who only looks: nothing is made, and a disk that takes no writes is no hindrance.
    ///
    /// # Errors
    /// As [`IndexDirectory::open`].
    pub(crate) fn open_to_look(&self) -> Result<(Index, CommitMetadata), Fault> {
        self.open_in(Looking::over(self.directory()?, &self.path))
    }

    /// Refuses an index with something in it that is no file: opening a pipe waits for ever, and a folder cannot be read.
    ///
    /// # Errors
    /// `Broken` with its name.
    pub(crate) fn refuse_odd(&self) -> Result<(), Fault> {
        if self.path.metadata().is_ok_and(|facts| !facts.is_dir()) {
            return Err(damaged(&self.path, "it is no folder"));
        }
        // What cannot be listed is told by whoever opens it.
        for entry in std::fs::read_dir(&self.path).into_iter().flatten().flatten() {
            // A link is as good as what it leads to.
            let is_odd = entry.file_type().is_ok_and(|kind| !kind.is_file())
                && entry.path().metadata().is_ok_and(|facts| !facts.is_file());
            if is_odd {
                let why = format!("`{}` in it is no ordinary file", entry.file_name().to_string_lossy());
                return Err(damaged(&self.path, &why));
            }
        }
        Ok(())
    }

    fn directory(&self) -> Result<MmapDirectory, Fault> {
        self.refuse_odd()?;
        MmapDirectory::open(&self.path).map_err(|error| fault(error.into(), &self.path))
    }

    fn open_in(&self, directory: impl Into<Box<dyn Directory>>) -> Result<(Index, CommitMetadata), Fault> {
        let index = Index::open(directory).map_err(|error| fault(error, &self.path))?;
        tokenizers::register(index.tokenizers());
        let commit_metadata = commit_metadata(&index, &self.path)?;
        if commit_metadata.format > FORMAT {
            return Err(Fault::refused(
                "index_newer",
                format!(
                    "the search index {} has format {}, this program knows up to {FORMAT}; use the newer program \
                     that wrote it, or delete the directory and run `ingather sync` again, which sends everything",
                    self.path.display(),
                    commit_metadata.format
                ),
            ));
        }
        if commit_metadata.format == FORMAT && index.schema() != schema().0 {
            return Err(damaged(&self.path, "its fields are not those of its format"));
        }
        Ok((index, commit_metadata))
    }
}

/// Tries what takes the writer's lock, for a moment.
///
/// A process that this one starts holds a copy of the lock until it runs its own program; so a lock that was just given
/// back may look taken for an instant.
///
/// # Errors
/// Those of `attempt`.
pub(crate) fn patiently<T>(attempt: impl Fn() -> tantivy::Result<T>) -> tantivy::Result<T> {
    // clock: the machine's lock is waited for in the machine's time, whatever a run's clock says.
    let until = Instant::now() + LOCK_WAIT_MAX;
    loop {
        match attempt() {
            // clock: as above.
            Err(TantivyError::LockFailure(..)) if Instant::now() < until => {
                #[expect(clippy::disallowed_methods, reason = "a lock file has no event to wait for")]
                std::thread::sleep(LOCK_PAUSE);
            }
            tried => return tried,
        }
    }
}

/// Takes the writer's lock and opens a writer.
///
/// # Errors
/// `Refused` when another process holds the lock.
pub(crate) fn writer<D: Document>(
    index: &Index,
    threads: usize,
    memory: usize,
    path: &Path,
) -> Result<IndexWriter<D>, Fault> {
    let opened = patiently(|| index.writer_with_num_threads(threads, memory));
    let writer = opened.map_err(|error| fault(error, path))?;
    ready(&writer).map_err(|error| fault(error, path))?;
    Ok(writer)
}

/// Readies a writer that stands at an earlier commit: one that was just opened or rolled back.
///
/// The next deletion's number must be larger than that of the commit. The library gives the commit's own number out again,
/// and a merge that brings segments to that commit then takes the deletion for done in segments where it is not.
///
/// # Errors
/// Those of the library.
pub(crate) fn ready<D: Document>(writer: &IndexWriter<D>) -> tantivy::Result<()> {
    let mut merging = LogMergePolicy::default();
    merging.set_del_docs_ratio_before_merge(DELETED_SHARE_MAX);
    writer.set_merge_policy(Box::new(merging));
    // No operation takes a number all the same.
    writer.run([]).map(drop)
}

/// What the last commit says.
///
/// # Errors
/// `Broken` when it says nothing that can be understood.
pub(crate) fn commit_metadata(index: &Index, path: &Path) -> Result<CommitMetadata, Fault> {
    let metas = index.load_metas().map_err(|error| fault(error, path))?;
    let text = metas.payload.ok_or_else(|| damaged(path, "its last commit does not say whose it is"))?;
    serde_json::from_str(&text).map_err(|error| damaged(path, &error.to_string()))
}

pub(crate) fn make_private(path: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    #[cfg(unix)]
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    Ok(())
}
