//! Makes an index of an older format anew from what it keeps, beside the old one, and puts it in its place.

use tantivy::directory::{Directory, INDEX_WRITER_LOCK};
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, Searcher, TantivyDocument};

use ingather_model::fault::Fault;
use ingather_model::limits;

use crate::Settings;
use crate::byte_budget::ByteBudget;
use crate::damage;
use crate::directory::{self, CommitMetadata, IndexDirectory};
use crate::entry::{Columns, Entry, Stored};
use crate::schema::{FORMAT, StoredSchema, schema};

/// Entries between two reports of progress.
const REPORT_EACH: u64 = 10_000;

/// Rebuilds; `report` is told how many of how many entries are done. The old index stays as it is until the new one is
/// complete, so that a crash only costs the time.
///
/// # Errors
/// `Refused` when another process writes to the index or the disk has no room, `Broken` when it cannot be read.
pub(crate) fn rebuild(
    settings: &Settings,
    directory: &IndexDirectory,
    old: &Index,
    commit_metadata: &CommitMetadata,
    report: &mut dyn FnMut(u64, u64),
) -> Result<(), Fault> {
    let fault = |error| damage::fault(error, &directory.path);
    // Held until the swap is done; the file moves along with the directory.
    let lock = || {
        let taken = old.directory().acquire_lock(&INDEX_WRITER_LOCK);
        taken.map_err(|error| tantivy::TantivyError::LockFailure(error, None))
    };
    let _lock = directory::patiently(lock).map_err(fault)?;
    directory.clear()?;
    let reader: IndexReader =
        old.reader_builder().reload_policy(ReloadPolicy::Manual).try_into().map_err(fault)?;
    let commit_metadata = CommitMetadata { format: FORMAT, ..commit_metadata.clone() };
    let new = directory.create(&directory.new, schema().0, &commit_metadata)?;
    let mut writer: IndexWriter<Entry> =
        directory::writer(&new, settings.threads(), settings.memory_mib << 20, &directory.new)?;
    copy(directory, &reader.searcher(), &writer, report)?;
    let mut commit = writer.prepare_commit().map_err(fault)?;
    commit.set_payload(&commit_metadata.text());
    commit.commit().map_err(fault)?;
    writer.wait_merging_threads().map_err(fault)?;
    drop(reader);
    directory.swap()
}

fn copy(
    directory: &IndexDirectory,
    old: &Searcher,
    writer: &IndexWriter<Entry>,
    report: &mut dyn FnMut(u64, u64),
) -> Result<(), Fault> {
    let fault = |error| damage::fault(error, &directory.path);
    let from = StoredSchema::of(old.schema()).map_err(fault)?;
    let to = schema().1;
    let byte_budget = ByteBudget::new(limits::INDEX_WAITING_BYTES_MAX);
    let (mut done, all) = (0, old.num_docs());
    for segment in old.segment_readers() {
        let columns = Columns::open(segment).map_err(fault)?;
        let store = segment.get_store_reader(1).map_err(|error| fault(error.into()))?;
        for doc in segment.doc_ids_alive() {
            let document: TantivyDocument = store.get(doc).map_err(fault)?;
            let stored = Stored::of(&document, from)?;
            let bytes = stored.body.as_ref().map_or(0, String::len) + 1_024;
            let Some(load) = byte_budget.load(bytes) else {
                return Err(Fault::passing(
                    "index_busy",
                    "the search index takes no more entries; its disk may hang",
                ));
            };
            let entry = Entry::new(
                &to,
                &stored.stored_fields,
                &columns.numbers(doc),
                stored.body.as_deref(),
                Some(load),
            );
            writer.add_document(entry).map_err(fault)?;
            done += 1;
            if done % REPORT_EACH == 0 || done == all {
                report(done, all);
            }
        }
    }
    Ok(())
}
