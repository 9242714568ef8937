//! The index as somebody finds it who only looks: files that make nothing, what it holds, and whether it is whole.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ingather_contract::call::CallContext;
use ingather_contract::output::{Generation, OutputContext, OutputEntry, OutputSnapshot};
use ingather_model::fault::Fault;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, WatchCallback, WatchHandle, WritePtr,
};
use tantivy::{DocAddress, SegmentReader, TantivyDocument};

use crate::committed::Snapshot;
use crate::damage::{DAMAGED, fault, guarded};
use crate::directory::IndexDirectory;
use crate::entry::Stored;
use crate::search::Searcher;

/// Damages that are named; one is enough to make the index anew.
const DAMAGES_MAX: usize = 20;
/// Entries that are read between two looks at whether to stop.
const ENTRIES_AT_ONCE: u32 = 1_024;

/// A directory that locks what can be locked and makes nothing.
#[derive(Clone, Debug)]
pub(crate) struct Looking {
    inner: MmapDirectory,
    path: PathBuf,
}

impl Looking {
    pub(crate) fn over(inner: MmapDirectory, path: &Path) -> Looking {
        Looking { inner, path: path.to_owned() }
    }
}

fn refused() -> std::io::Error {
    std::io::ErrorKind::ReadOnlyFilesystem.into()
}

impl Directory for Looking {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.inner.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        Err(DeleteError::IoError { io_error: Arc::new(refused()), filepath: path.to_owned() })
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.inner.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        Err(OpenWriteError::wrap_io_error(refused(), path.to_owned()))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.inner.atomic_read(path)
    }

    fn atomic_write(&self, _path: &Path, _data: &[u8]) -> std::io::Result<()> {
        Err(refused())
    }

    fn sync_directory(&self) -> std::io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        // Where it cannot be opened there is no writer, or none that this process could hold up: a commit that comes in
        // between is noticed by whoever opens the index.
        let Ok(file) = std::fs::File::open(self.path.join(&lock.filepath)) else {
            return Ok(DirectoryLock::from(Box::new(())));
        };
        file.lock().map_err(LockError::wrap_io_error)?;
        Ok(DirectoryLock::from(Box::new(file)))
    }

    fn watch(&self, watch_callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.inner.watch(watch_callback)
    }
}

/// How the names of files end that say which entries a segment has lost.
const DELETED: &str = ".del";

/// The id of a segment, which the names of its files begin with, and how the name of the one ends that says what it has lost.
fn names_of(segment: &SegmentReader) -> (String, String) {
    let lost = segment.delete_opstamp().map(|stamp| format!("{stamp}{DELETED}"));
    (segment.segment_id().uuid_string(), lost.unwrap_or_default())
}

/// What one commit holds.
pub(crate) struct IndexSnapshot {
    directory: IndexDirectory,
    searcher: Searcher,
    snapshot: Snapshot,
}

impl IndexSnapshot {
    /// Opens what is in the data directory; none when there is no index.
    ///
    /// # Errors
    /// Those of [`Searcher::open`].
    pub(crate) fn open(context: &OutputContext) -> Result<Option<IndexSnapshot>, Fault> {
        let Some(searcher) = Searcher::open(&context.data, &context.store)? else { return Ok(None) };
        let snapshot = searcher.snapshot();
        Ok(Some(IndexSnapshot { directory: IndexDirectory::of(&context.data), searcher, snapshot }))
    }

    /// Files of this commit whose content is not the one that was written.
    fn torn_files(&self, call: &CallContext) -> Result<Vec<String>, Fault> {
        let segments = self.snapshot.searcher().segment_readers();
        let deleted_as_of: HashMap<String, String> = segments.iter().map(names_of).collect();
        let index = self.snapshot.searcher().index();
        let listed = std::fs::read_dir(&self.directory.path)
            .map_err(|error| fault(error.into(), &self.directory.path))?;
        let mut torn = Vec::new();
        for entry in listed {
            let name = entry.map_err(|error| fault(error.into(), &self.directory.path))?.file_name();
            let text = name.to_string_lossy();
            if call.cancel.cancelled() || torn.len() >= DAMAGES_MAX {
                break;
            }
            // What a segment has lost is in a file of its own for each commit: that of a later one may be half written by now.
            let is_of_this_commit = text.split_once('.').is_some_and(|(id, kind)| {
                deleted_as_of.get(id).is_some_and(|lost| kind == lost || !kind.ends_with(DELETED))
            });
            if !is_of_this_commit {
                continue;
            }
            let whole = guarded(&self.directory.path, || {
                match index.directory().validate_checksum(Path::new(&name)) {
                    Ok(whole) => Ok(whole),
                    // It went with a later commit; this one still has it open.
                    Err(OpenReadError::FileDoesNotExist(_)) => Ok(true),
                    Err(error) => Err(fault(error.into(), &self.directory.path)),
                }
            });
            match whole {
                Ok(true) => {}
                Ok(false) => {
                    torn.push(format!("its file {text} is damaged: it has another checksum than it should"))
                }
                Err(fault) => match fault.reason() {
                    reason if reason.code == DAMAGED => {
                        torn.push(format!("its file {text} is damaged: it cannot be read"))
                    }
                    _ => return Err(fault),
                },
            }
        }
        Ok(torn)
    }

    /// Entries that cannot be read, or that their own ids do not lead to.
    fn torn_entries(&self, call: &CallContext) -> Result<Vec<String>, Fault> {
        let mut torn = Vec::new();
        for (ordinal, segment) in self.snapshot.searcher().segment_readers().iter().enumerate() {
            let mut next = 0;
            while next < segment.max_doc() && torn.len() < DAMAGES_MAX && !call.cancel.cancelled() {
                let until = segment.max_doc().min(next + ENTRIES_AT_ONCE);
                let read = guarded(&self.directory.path, || self.read(ordinal as u32, segment, next..until));
                if let Err(fault) = read {
                    if fault.reason().code != DAMAGED {
                        return Err(fault);
                    }
                    let id = segment.segment_id().uuid_string();
                    torn.push(format!("an entry between {next} and {until} of its segment {id} is damaged"));
                }
                next = until;
            }
        }
        Ok(torn)
    }

    fn read(&self, ordinal: u32, segment: &SegmentReader, docs: std::ops::Range<u32>) -> Result<(), Fault> {
        let path = &self.directory.path;
        let store = segment.get_store_reader(1).map_err(|error| fault(error.into(), path))?;
        let fields = self.searcher.fields();
        for doc in docs.filter(|doc| !segment.is_deleted(*doc)) {
            let document: TantivyDocument = store.get(doc).map_err(|error| fault(error, path))?;
            let stored = Stored::of(&document, fields.stored_schema())?;
            let found = self
                .snapshot
                .find(fields.id, &stored.stored_fields.id)
                .map_err(|error| fault(error, path))?;
            if found != Some(DocAddress::new(ordinal, doc)) {
                return Err(crate::damage::damaged(path, "an entry is not where its id leads to"));
            }
        }
        Ok(())
    }
}

impl OutputSnapshot for IndexSnapshot {
    fn generation(&self) -> Generation {
        self.searcher.identity_and_generation()
    }

    fn list(
        &mut self,
        _call: &CallContext,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<OutputEntry>, Fault> {
        let (path, id) = (&self.directory.path, self.searcher.fields().id);
        guarded(path, || self.snapshot.list(id, after, most).map_err(|error| fault(error, path)))
    }

    fn damage(&mut self, call: &CallContext, every_entry: bool) -> Result<Vec<String>, Fault> {
        let mut torn = self.torn_files(call)?;
        if every_entry {
            torn.extend(self.torn_entries(call)?);
        }
        Ok(torn)
    }
}
