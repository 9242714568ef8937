//! Keeps from a query what the user may not see and what is of another job, inside the query (design 4.20).

use std::sync::Arc;

use ingather_connector::access_filter::{AccessFilter, Reference};
use ingather_connector::model::ids::{AclId, ContainerId, JobId};
use tantivy::columnar::Column;
use tantivy::query::{EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{DocId, DocSet, Score, SegmentReader, TERMINATED, TantivyError, Term};

/// Another query, less what does not pass. Shared parts make clones cheap.
#[derive(Clone, Debug)]
pub(super) struct Filtered {
    /// The query of the user.
    pub(super) inner: Arc<dyn Query>,
    /// What else must hold.
    pub(super) rule: Rule,
}

/// What an entry must satisfy.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    /// What the user may see.
    pub(super) access_filter: Arc<AccessFilter>,
    /// Only entries of this job.
    pub(super) job: Option<i64>,
}

impl Query for Filtered {
    fn weight(&self, enable_scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(FilteredWeight { inner: self.inner.weight(enable_scoring)?, rule: self.rule.clone() }))
    }

    fn query_terms<'a>(&'a self, visitor: &mut dyn FnMut(&'a Term, bool)) {
        self.inner.query_terms(visitor);
    }
}

struct FilteredWeight {
    inner: Box<dyn Weight>,
    rule: Rule,
}

impl Weight for FilteredWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let inner = self.inner.scorer(reader, boost)?;
        let Some(judge) = Judge::open(&self.rule, reader)? else { return Ok(inner) };
        let mut scorer = FilteredScorer { inner, judge };
        scorer.settle();
        Ok(Box::new(scorer))
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        let judge = Judge::open(&self.rule, reader)?;
        if judge.is_some_and(|judge| !judge.passes(doc)) {
            return Err(TantivyError::InvalidArgument("the entry does not match".to_owned()));
        }
        self.inner.explain(reader, doc)
    }

    fn count(&self, reader: &SegmentReader) -> tantivy::Result<u32> {
        let Some(judge) = Judge::open(&self.rule, reader)? else { return self.inner.count(reader) };
        let mut count = 0;
        self.inner.for_each_no_score(reader, &mut |docs| {
            count +=
                docs.iter().filter(|doc| !reader.is_deleted(**doc) && judge.passes(**doc)).count() as u32;
        })?;
        Ok(count)
    }

    fn for_each(
        &self,
        reader: &SegmentReader,
        callback: &mut dyn FnMut(DocId, Score),
    ) -> tantivy::Result<()> {
        let Some(judge) = Judge::open(&self.rule, reader)? else {
            return self.inner.for_each(reader, callback);
        };
        self.inner.for_each(reader, &mut |doc, score| {
            if judge.passes(doc) {
                callback(doc, score);
            }
        })
    }

    fn for_each_no_score(
        &self,
        reader: &SegmentReader,
        callback: &mut dyn FnMut(&[DocId]),
    ) -> tantivy::Result<()> {
        let Some(judge) = Judge::open(&self.rule, reader)? else {
            return self.inner.for_each_no_score(reader, callback);
        };
        let mut passed = Vec::with_capacity(64);
        self.inner.for_each_no_score(reader, &mut |docs| {
            passed.clear();
            passed.extend(docs.iter().copied().filter(|doc| judge.passes(*doc)));
            callback(&passed);
        })
    }

    /// The inner query keeps its own way of leaving out blocks that score too low: what does not pass does not raise
    /// the bar.
    fn for_each_pruning(
        &self,
        threshold: Score,
        reader: &SegmentReader,
        callback: &mut dyn FnMut(DocId, Score) -> Score,
    ) -> tantivy::Result<()> {
        let Some(judge) = Judge::open(&self.rule, reader)? else {
            return self.inner.for_each_pruning(threshold, reader, callback);
        };
        let mut bar = threshold;
        self.inner.for_each_pruning(threshold, reader, &mut |doc, score| {
            if judge.passes(doc) {
                bar = callback(doc, score);
            }
            bar
        })
    }
}

/// The rule with the columns of one segment.
struct Judge {
    rule: Rule,
    acl_id: Option<Column<i64>>,
    container: Option<Column<i64>>,
    /// Opened only when there are access changes on their way.
    address: Option<Column<i64>>,
    job: Option<Column<i64>>,
}

impl Judge {
    /// None when everything passes.
    fn open(rule: &Rule, reader: &SegmentReader) -> tantivy::Result<Option<Judge>> {
        let columns = reader.fast_fields();
        let mut judge = Judge { rule: rule.clone(), acl_id: None, container: None, address: None, job: None };
        if rule.job.is_some() {
            judge.job = columns.column_opt("job")?;
        }
        match &*rule.access_filter {
            AccessFilter::All if rule.job.is_none() => return Ok(None),
            AccessFilter::All => {}
            AccessFilter::Only { pending, pending_containers, .. } => {
                if !pending_containers.is_empty() {
                    judge.job = columns.column_opt("job")?;
                }
                judge.acl_id = columns.column_opt("class")?;
                judge.container = columns.column_opt("place")?;
                if !pending.is_empty() {
                    judge.address = columns.column_opt("address")?;
                }
            }
        }
        Ok(Some(judge))
    }

    fn passes(&self, doc: DocId) -> bool {
        let of = |column: &Option<Column<i64>>| column.as_ref().and_then(|column| column.first(doc));
        if self.rule.job.is_some() && of(&self.job) != self.rule.job {
            return false;
        }
        match &*self.rule.access_filter {
            AccessFilter::All => true,
            AccessFilter::Only { pending, .. } => {
                // Without an address nobody can tell what is on its way to the entry.
                let address = if pending.is_empty() { Some(0) } else { of(&self.address) };
                address.is_some_and(|address| {
                    let entry = Reference {
                        job: of(&self.job).map(JobId),
                        acl_id: of(&self.acl_id).map(AclId),
                        container: of(&self.container).map(ContainerId),
                    };
                    self.rule.access_filter.permits(address, entry)
                })
            }
        }
    }
}

struct FilteredScorer {
    inner: Box<dyn Scorer>,
    judge: Judge,
}

impl FilteredScorer {
    /// Goes on until an entry passes.
    fn settle(&mut self) -> DocId {
        let mut doc = self.inner.doc();
        while doc != TERMINATED && !self.judge.passes(doc) {
            doc = self.inner.advance();
        }
        doc
    }
}

impl DocSet for FilteredScorer {
    fn advance(&mut self) -> DocId {
        self.inner.advance();
        self.settle()
    }

    fn seek(&mut self, target: DocId) -> DocId {
        self.inner.seek(target);
        self.settle()
    }

    fn doc(&self) -> DocId {
        self.inner.doc()
    }

    fn size_hint(&self) -> u32 {
        self.inner.size_hint()
    }

    fn cost(&self) -> u64 {
        self.inner.cost()
    }
}

impl Scorer for FilteredScorer {
    fn score(&mut self) -> Score {
        self.inner.score()
    }
}
