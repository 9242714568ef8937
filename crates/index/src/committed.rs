//! Looking up entries by their ids in one commit, and listing them in order.

use std::cell::OnceCell;
use std::path::Path;

use ingather_contract::output::OutputEntry;
use ingather_model::fault::Fault;
use tantivy::postings::Postings;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::termdict::TermStreamer;
use tantivy::{DocAddress, DocId, IndexReader, Searcher, SegmentReader, TERMINATED, TantivyDocument, Term};

use crate::damage;
use crate::entry::{Columns, Numbers, Stored};
use crate::schema::Fields;

/// One commit, with the columns of its segments opened when they are first needed.
pub(crate) struct Snapshot {
    searcher: Searcher,
    columns: Vec<OnceCell<Columns>>,
}

impl Snapshot {
    /// The commit that `reader` shows now.
    pub(crate) fn of(reader: &IndexReader) -> Snapshot {
        let searcher = reader.searcher();
        let columns = searcher.segment_readers().iter().map(|_| OnceCell::new()).collect();
        Snapshot { searcher, columns }
    }

    /// The searcher of this commit.
    pub(crate) fn searcher(&self) -> &Searcher {
        &self.searcher
    }

    fn columns(&self, segment: usize) -> tantivy::Result<&Columns> {
        let cell = &self.columns[segment];
        if cell.get().is_none() {
            // Nobody else can have set it meanwhile: a cell is not shared between threads.
            let _ = cell.set(Columns::open(self.searcher.segment_reader(segment as u32))?);
        }
        Ok(cell.get().expect("it was set above"))
    }

    /// Where the entry of an id is.
    pub(crate) fn find(&self, id_field: Field, id: &str) -> tantivy::Result<Option<DocAddress>> {
        let term = Term::from_field_text(id_field, id);
        for (ordinal, segment) in self.searcher.segment_readers().iter().enumerate() {
            let postings =
                segment.inverted_index(id_field)?.read_postings(&term, IndexRecordOption::Basic)?;
            if let Some(doc) = postings.and_then(|postings| first_alive(segment, postings)) {
                return Ok(Some(DocAddress::new(ordinal as u32, doc)));
            }
        }
        Ok(None)
    }

    /// The numbers of an entry.
    pub(crate) fn numbers(&self, at: DocAddress) -> tantivy::Result<Numbers> {
        Ok(self.columns(at.segment_ord as usize)?.numbers(at.doc_id))
    }

    /// All that is kept of an entry.
    pub(crate) fn read(
        &self,
        fields: &Fields,
        at: DocAddress,
        path: &Path,
    ) -> Result<(Stored, Numbers), Fault> {
        let fault = |error| damage::fault(error, path);
        let document: TantivyDocument = self.searcher.doc(at).map_err(fault)?;
        Ok((Stored::of(&document, fields.stored_schema())?, self.numbers(at).map_err(fault)?))
    }

    /// Entries after `after` in the order of their ids, at most `most`.
    pub(crate) fn list(
        &self,
        id_field: Field,
        after: Option<&str>,
        most: usize,
    ) -> tantivy::Result<Vec<OutputEntry>> {
        let segments = self.searcher.segment_readers();
        let indexes: Vec<_> = segments
            .iter()
            .map(|segment| segment.inverted_index(id_field))
            .collect::<tantivy::Result<_>>()?;
        let mut streams: Vec<TermStreamer<'_>> = Vec::with_capacity(indexes.len());
        for index in &indexes {
            let range = index.terms().range();
            let range = if let Some(after) = after { range.gt(after) } else { range };
            streams.push(range.into_stream()?);
        }
        let mut open: Vec<bool> = streams.iter_mut().map(TermStreamer::advance).collect();
        let mut out = Vec::with_capacity(most.min(4_096));
        while out.len() < most {
            let ahead = (0..streams.len()).filter(|at| open[*at]);
            let Some(least) = ahead.min_by(|a, b| streams[*a].key().cmp(streams[*b].key())) else { break };
            let postings = indexes[least]
                .read_postings_from_terminfo(streams[least].value(), IndexRecordOption::Basic)?;
            if let Some(doc) = first_alive(&segments[least], postings) {
                let id = String::from_utf8_lossy(streams[least].key()).into_owned();
                out.push(self.columns(least)?.listed(id, doc));
            }
            open[least] = streams[least].advance();
        }
        Ok(out)
    }
}

/// The one entry of a term that is not deleted.
fn first_alive(segment: &SegmentReader, mut postings: impl Postings) -> Option<DocId> {
    while postings.doc() != TERMINATED {
        if !segment.is_deleted(postings.doc()) {
            return Some(postings.doc());
        }
        postings.advance();
    }
    None
}
