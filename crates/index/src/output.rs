//! The index as an output: what is applied, committed and listed.

use std::collections::HashMap;

use ingather_contract::call::CallContext;
use ingather_contract::output::{Change, Generation, Op, Output, OutputContext, OutputEntry};
use ingather_kit::language;
use ingather_model::fault::Fault;
use ingather_model::limits;
use tantivy::query::AllQuery;
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, Term};
use whatlang::Detector;

use crate::address_filter::AddressFilter;
use crate::byte_budget::ByteBudget;
use crate::committed::Snapshot;
use crate::directory::{CommitMetadata, IndexDirectory};
use crate::entry::{Entry, Numbers, StoredFields};
use crate::schema::Fields;
use crate::stemming::Stemming;
use crate::{OLDER, Searcher, Settings};
use crate::{damage, directory, entry, rebuild, schema};

/// The index, opened for writing.
pub(crate) struct Opened {
    directory: IndexDirectory,
    fields: Fields,
    pub(crate) writer: IndexWriter<Entry>,
    reader: IndexReader,
    /// The last commit.
    snapshot: Snapshot,
    commit_metadata: CommitMetadata,
    /// Addresses that were changed since the last commit, as it stands with them.
    recent: HashMap<String, Recent>,
    address_filter: AddressFilter,
    /// Largest number of a change that was applied.
    seq: i64,
    /// This opening.
    session: i64,
    byte_budget: ByteBudget,
    detector: Detector,
    /// Its files turned out to be damaged: nothing is applied or committed any more.
    damaged: Option<Fault>,
}

/// What the last uncommitted change of an id did.
#[derive(Clone, Copy)]
struct Recent {
    seq: i64,
    state: State,
}

/// How an address stands since the last commit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It has a new entry, which only the writer knows.
    Fresh,
    /// Its committed entry has another access.
    Moved,
    /// It has no entry.
    Deleted,
}

/// Whether the index could be opened for writing; one that is not there yet is made.
pub(crate) fn check(context: &OutputContext) -> Result<(), Fault> {
    let path = IndexDirectory::of(&context.data).path;
    match Searcher::open(&context.data, &context.store) {
        Ok(Some(searcher)) => damage::guarded(&path, || {
            // The first thing that is read of it for writing.
            AddressFilter::of(searcher.snapshot().searcher())
                .map_err(|error| damage::fault(error, &path))
                .map(drop)
        }),
        Ok(None) => Ok(()),
        // Whoever opens it rebuilds it.
        Err(fault) if fault.reason().code == OLDER => Ok(()),
        Err(fault) => Err(fault),
    }
}

impl Opened {
    pub(crate) fn open(settings: &Settings, context: &OutputContext) -> Result<Opened, Fault> {
        let directory = IndexDirectory::of(&context.data);
        directory.finish_swap()?;
        if !directory.exists() {
            directory.create(&directory.path, schema::schema().0, &CommitMetadata::new(&context.store))?;
        }
        let (index, commit_metadata) = directory.open()?;
        if commit_metadata.store != context.store {
            return Err(directory.foreign());
        }
        if commit_metadata.format < schema::FORMAT {
            rebuild::rebuild(settings, &directory, &index, &commit_metadata, &mut |done, all| {
                tracing::info!(done, all, "rebuilding the search index for its new format");
            })?;
            let (index, commit_metadata) = directory.open()?;
            return Opened::write(settings, context.session, directory, &index, commit_metadata);
        }
        Opened::write(settings, context.session, directory, &index, commit_metadata)
    }

    fn write(
        settings: &Settings,
        session: i64,
        directory: IndexDirectory,
        index: &Index,
        commit_metadata: CommitMetadata,
    ) -> Result<Opened, Fault> {
        let fault = |error| damage::fault(error, &directory.path);
        let memory = settings.memory_mib << 20;
        let writer = directory::writer(index, settings.threads(), memory, &directory.path)?;
        directory.clear()?;
        // A process that was killed leaves files which no commit names; a new one of the same name could not be written.
        writer.garbage_collect_files().wait().map_err(fault)?;
        let reader: IndexReader =
            index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into().map_err(fault)?;
        let snapshot = Snapshot::of(&reader);
        let address_filter = AddressFilter::of(snapshot.searcher()).map_err(fault)?;
        Ok(Opened {
            fields: schema::schema().1,
            writer,
            reader,
            snapshot,
            seq: commit_metadata.seq,
            session,
            commit_metadata,
            recent: HashMap::new(),
            address_filter,
            byte_budget: ByteBudget::new(limits::INDEX_WAITING_BYTES_MAX),
            detector: Detector::new(),
            damaged: None,
            directory,
        })
    }

    fn fault(&self, error: tantivy::TantivyError) -> Fault {
        damage::fault(error, &self.directory.path)
    }

    fn id_term(&self, id: &str) -> Term {
        Term::from_field_text(self.fields.id, id)
    }

    /// Applies one change; `folded` is a later access change that goes into a put.
    fn apply_one(&mut self, change: &Change, folded: Option<&Change>) -> Result<(), Fault> {
        if change.id.len() > limits::INDEX_ID_BYTES_MAX {
            let message = format!("the address is longer than {} bytes", limits::INDEX_ID_BYTES_MAX);
            return Err(Fault::refused("address_too_long", message));
        }
        self.seq = self.seq.max(change.seq);
        let (seq, exists) = match self.recent.get(&change.id) {
            Some(recent) if recent.seq == change.seq && matches!(change.op, Op::Access { .. }) => {
                return Ok(());
            }
            Some(recent) => (Some(recent.seq), recent.state != State::Deleted),
            None => self.committed_seq(change).map(|seq| (seq, seq.is_some()))?,
        };
        if seq.is_some_and(|seq| seq > change.seq) {
            return Ok(());
        }
        let state = match &change.op {
            Op::Put { .. } => self.put(change, folded, exists)?,
            Op::Access { .. } if !exists => return Err(Fault::Gone),
            Op::Access { acl_id, container, .. } => {
                self.change_access(change, acl_id.map(|id| id.0), container.map(|id| id.0))?
            }
            Op::Delete => {
                if exists {
                    self.writer.delete_term(self.id_term(&change.id));
                }
                State::Deleted
            }
        };
        let seq = folded.unwrap_or(change).seq;
        self.recent.insert(change.id.clone(), Recent { seq, state });
        Ok(())
    }

    /// Sequence number of the committed entry, if any; cheap for addresses that never had an entry.
    fn committed_seq(&self, change: &Change) -> Result<Option<i64>, Fault> {
        if !self.address_filter.may_hold(change.address) {
            return Ok(None);
        }
        let found = self.snapshot.find(self.fields.id, &change.id).map_err(|error| self.fault(error))?;
        let Some(found) = found else { return Ok(None) };
        let numbers = self.snapshot.numbers(found).map_err(|error| self.fault(error))?;
        Ok(Some(numbers.seq))
    }

    fn put(&mut self, change: &Change, folded: Option<&Change>, replaces: bool) -> Result<State, Fault> {
        let Op::Put { record, version, acl_id, container } = &change.op else { return Ok(State::Deleted) };
        let (acl_id, container) = match folded.map(|folded| &folded.op) {
            Some(Op::Access { acl_id, container, .. }) => (acl_id, container),
            _ => (acl_id, container),
        };
        let text = record.body.as_deref();
        let detected = match record.language {
            Some(_) => None,
            None => text.and_then(|text| language::detect(&self.detector, text)),
        };
        let language = record.language.as_deref().or(detected);
        let stored_fields = StoredFields::of(folded.unwrap_or(change), record, language);
        let body = text.map(|text| entry::marked(language.map_or(Stemming::PLAIN, Stemming::of_code), text));
        let numbers = Numbers {
            address: change.address,
            job: folded.unwrap_or(change).job,
            seq: folded.unwrap_or(change).seq,
            version: version.0,
            acl_id: acl_id.map(|id| id.0),
            container: container.map(|id| id.0),
            size: record.size,
            modified: record.modified,
            created: record.created,
        };
        self.add(&stored_fields, &numbers, body.as_deref(), replaces)?;
        Ok(State::Fresh)
    }

    fn change_access(
        &mut self,
        change: &Change,
        acl_id: Option<i64>,
        container: Option<i64>,
    ) -> Result<State, Fault> {
        let found = self.snapshot.find(self.fields.id, &change.id).map_err(|error| self.fault(error))?;
        let Some(found) = found else { return Err(Fault::Gone) };
        let (stored, numbers) = self.snapshot.read(&self.fields, found, &self.directory.path)?;
        let numbers = Numbers { job: change.job, acl_id, container, seq: change.seq, ..numbers };
        let stored_fields = stored.stored_fields.taken_over(change);
        self.add(&stored_fields, &numbers, stored.body.as_deref(), true)?;
        Ok(State::Moved)
    }

    fn add(
        &mut self,
        stored_fields: &StoredFields<'_>,
        numbers: &Numbers,
        body: Option<&str>,
        replaces: bool,
    ) -> Result<(), Fault> {
        let bytes = body.map_or(0, str::len) + 1_024;
        let Some(load) = self.byte_budget.load(bytes) else {
            return Err(Fault::passing(
                "index_busy",
                "the search index takes no more entries; its disk may hang",
            ));
        };
        let entry = Entry::new(&self.fields, stored_fields, numbers, body, Some(load));
        if replaces {
            self.writer.delete_term(self.id_term(&stored_fields.id));
        }
        self.writer.add_document(entry).map_err(|error| self.fault(error))?;
        self.address_filter.insert(numbers.address);
        Ok(())
    }

    /// Writes out what was applied, and says `commit_metadata` about it.
    fn flush(&mut self, commit_metadata: CommitMetadata) -> Result<(), Fault> {
        let commit_metadata = CommitMetadata { seq: self.seq, session: self.session, ..commit_metadata };
        let written = self.writer.prepare_commit().and_then(|mut commit| {
            commit.set_payload(&commit_metadata.text());
            commit.commit()
        });
        self.recent.clear();
        if let Err(error) = written {
            let fault = self.fault(error);
            // What was applied since the last commit is lost, as the contract says; the next batch begins anew.
            self.writer.rollback().map_err(|error| self.fault(error))?;
            directory::ready(&self.writer).map_err(|error| self.fault(error))?;
            return Err(fault);
        }
        self.commit_metadata = commit_metadata;
        self.reader.reload().map_err(|error| self.fault(error))?;
        self.snapshot = Snapshot::of(&self.reader);
        self.address_filter
            .grow(self.snapshot.searcher())
            .map_err(|error| damage::fault(error, &self.directory.path))
    }
}

impl Opened {
    /// Does something with the library. Once that has shown damage nothing more is tried: no document is to blame, and the
    /// run ends at its commit.
    fn guarded<T>(&mut self, work: impl FnOnce(&mut Opened) -> Result<T, Fault>) -> Result<T, Fault> {
        if let Some(fault) = &self.damaged {
            return Err(fault.clone());
        }
        let path = self.directory.path.clone();
        let done = damage::guarded(&path, || work(self));
        self.damaged = done.as_ref().err().filter(|fault| fault.reason().code == damage::DAMAGED).cloned();
        done
    }

    fn apply_all(&mut self, batch: &[Change]) -> Vec<Result<(), Fault>> {
        let fresh =
            |change: &Change| self.recent.get(&change.id).is_some_and(|recent| recent.state == State::Fresh);
        let reads_back = |change: &Change| matches!(change.op, Op::Access { .. }) && fresh(change);
        // An entry can be read back only from a commit. The number stays: nothing of it is confirmed yet.
        let writes_out = self.recent.len() >= limits::INDEX_UNCOMMITTED_MAX || batch.iter().any(reads_back);
        if writes_out && let Err(fault) = self.flush(self.commit_metadata.clone()) {
            return vec![Err(fault); batch.len()];
        }
        let folded = folded(batch);
        let changes = batch.iter().enumerate();
        changes.map(|(at, change)| self.apply_one(change, folded.get(&at).map(|at| &batch[*at]))).collect()
    }
}

impl Output for Opened {
    fn apply(&mut self, _call: &CallContext, batch: &[Change]) -> Vec<Result<(), Fault>> {
        let applied = self.guarded(|index| {
            let answers = index.apply_all(batch);
            let damaged = |fault: &&Fault| fault.reason().code == damage::DAMAGED;
            match answers.iter().filter_map(|answer| answer.as_ref().err()).find(damaged) {
                Some(fault) => Err(fault.clone()),
                None => Ok(answers),
            }
        });
        applied.unwrap_or_else(|fault| vec![Err(fault); batch.len()])
    }

    fn commit(&mut self, _call: &CallContext) -> Result<Generation, Fault> {
        self.guarded(|index| {
            let commit_metadata =
                CommitMetadata { number: index.commit_metadata.number + 1, ..index.commit_metadata.clone() };
            index.flush(commit_metadata)?;
            Ok(index.generation())
        })
    }

    fn generation(&self) -> Generation {
        self.commit_metadata.generation()
    }

    fn clear(&mut self, call: &CallContext) -> Result<Generation, Fault> {
        // The library's own way to drop everything gives numbers of earlier operations out again.
        self.guarded(|index| {
            let dropped = index.writer.delete_query(Box::new(AllQuery)).map_err(|error| index.fault(error));
            if index.seq > limits::SEQ_MAX {
                index.seq = 0;
            }
            dropped
        })?;
        self.commit(call)
    }

    fn list(
        &mut self,
        _call: &CallContext,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<OutputEntry>, Fault> {
        self.guarded(|index| {
            index.snapshot.list(index.fields.id, after, most).map_err(|error| index.fault(error))
        })
    }
}

/// For puts that access changes of the same batch follow: the container of the last such change, which goes into the put.
fn folded(batch: &[Change]) -> HashMap<usize, usize> {
    let mut folded = HashMap::new();
    if !batch.iter().any(|change| matches!(change.op, Op::Access { .. })) {
        return folded;
    }
    let mut puts: HashMap<&str, usize> = HashMap::new();
    for (at, change) in batch.iter().enumerate() {
        match &change.op {
            Op::Put { .. } => {
                puts.insert(&change.id, at);
            }
            Op::Delete => {
                puts.remove(change.id.as_str());
            }
            Op::Access { .. } => {
                if let Some(put) = puts.get(change.id.as_str()) {
                    folded.insert(*put, at);
                }
            }
        }
    }
    folded
}
