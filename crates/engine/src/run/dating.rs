//! What a run goes by of the dates of documents, and which of them it looks at (decision 0039).

use std::collections::{HashMap, HashSet};

use ingather_model::ids::Digest;
use ingather_model::job::RunKind;
use ingather_model::job::dates::{DateRules, Dates, Seen};
use ingather_model::job::schedule::Schedule;
use ingather_store::documents::dates::{self, NextLook};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::Job;
use ingather_store::{Sql, StoreError, queue};

/// What a run of a continuous job goes by whose documents have dates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dating {
    /// Its rules.
    pub(crate) rules: DateRules,
    /// Documents are found by following links.
    pub(crate) follows_links: bool,
    /// Digest of all that a look at everything goes by.
    pub(crate) digest: Digest,
    /// No run has looked at everything by that yet, or a person wants it.
    pub(crate) looks_at_all: bool,
}

/// Which of the documents that it reaches a run visits that follows links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walk {
    /// All of them.
    Everything,
    /// New ones, and those whose date has come. The others lead where they led, so that the run reaches all there is.
    ByDates,
    /// Those whose date has come, and what is new behind them. No seed is asked, and nothing is proven by what was not reached.
    Due,
    /// Seeds, what was asked for, and what is new behind them. Nothing is proven by what was not reached.
    New,
}

/// What a visit has learned of the dates of its document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sighting {
    /// What the source says.
    pub(crate) dates: Dates,
    /// The time of change of its record.
    pub(crate) modified: Option<i64>,
    /// It is as before: nothing but this was heard of it.
    pub(crate) is_as_before: bool,
}

impl Sighting {
    /// When it was written.
    fn origin(&self) -> Option<i64> {
        self.dates.origin_at.or(self.modified)
    }
}

impl Dating {
    /// What a run goes by; none where documents of its job have no dates.
    pub(crate) fn of(
        job: &Job,
        (settings, follows_links): (Digest, bool),
        wants_all: bool,
        looked: Option<Digest>,
    ) -> Option<Dating> {
        let (definition, rules) = (&job.definition, job.definition.dates);
        if definition.schedule != Some(Schedule::Continuous) || !rules.apply(follows_links) {
            return None;
        }
        let goes_by = serde_json::json!([job.root, definition.source, settings.0, definition.outputs, rules]);
        let digest = Digest::of(goes_by.to_string().as_bytes());
        let is_looked = looked == Some(digest) || failpoint(Failpoint::OldDatesStay);
        Some(Dating { rules, follows_links, digest, looks_at_all: wants_all || !is_looked })
    }

    /// When a document expires of which a visit has learned this.
    pub(crate) fn expires(&self, sighting: &Sighting, now: i64) -> Option<i64> {
        self.rules.expires(&sighting.dates, sighting.origin(), now)
    }

    /// What is to be done next with a document whose visit is over; none: nothing.
    fn next(
        &self,
        document: i64,
        before: Option<Seen>,
        (sighting, is_changed): (Option<&Sighting>, bool),
        now: i64,
    ) -> Option<NextLook> {
        let mut seen = before.unwrap_or(Seen { since: now, changes: 0, origin: None, expires: None });
        if is_changed && before.is_some() {
            seen.changes += if failpoint(Failpoint::ChangeCountedTwice) { 2 } else { 1 };
        }
        let dates = sighting.map(|sighting| sighting.dates).unwrap_or_default();
        if let Some(sighting) = sighting {
            // What is as before was written when it was.
            let known = seen.origin.filter(|_| sighting.is_as_before);
            seen.origin = sighting.origin().or(known);
            seen.expires = self.rules.expires(&dates, seen.origin, now);
        }
        let (due, action) = self.rules.next(&dates, &seen, (now, self.follows_links))?;
        Some(NextLook { document, due, action, seen })
    }
}

/// A visit that is over, as far as dates go by it.
pub(crate) struct DatedVisit<'v> {
    pub(crate) document: i64,
    pub(crate) sighting: Option<&'v Sighting>,
    /// It is another one than at its last visit.
    pub(crate) is_changed: bool,
    /// It has expired.
    pub(crate) is_expired: bool,
}

/// Writes when documents are looked at next, in the transaction that ends their visits.
pub(crate) fn write(
    sql: &mut Sql<'_>,
    job: &Job,
    dating: &Dating,
    visited: &[DatedVisit<'_>],
    now: i64,
) -> std::result::Result<(), StoreError> {
    let ids: Vec<i64> = visited.iter().map(|visited| visited.document).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let before: HashMap<i64, Seen> = dates::seen(sql, &ids)?;
    let (mut rows, mut over) = (Vec::with_capacity(ids.len()), Vec::new());
    for visited in visited {
        let id = visited.document;
        let seen = before.get(&id).copied();
        let next = dating.next(id, seen, (visited.sighting, visited.is_changed), now);
        match next.filter(|_| !visited.is_expired) {
            Some(row) => rows.push(row),
            None if seen.is_some() => over.push(id),
            None => {}
        }
    }
    dates::put(sql, job.id, &rows)?;
    if over.is_empty() { Ok(()) } else { dates::remove(sql, &over) }
}

/// Those of documents that were reached and that a run does not visit. `fresh`: it has brought them.
pub(crate) fn resting(
    sql: &mut Sql<'_>,
    walk: Walk,
    ids: &[i64],
    fresh: &HashSet<i64>,
    now: i64,
) -> std::result::Result<HashSet<i64>, StoreError> {
    if walk == Walk::Everything || ids.is_empty() {
        return Ok(HashSet::new());
    }
    let mut resting: HashSet<i64> = match walk {
        Walk::ByDates if failpoint(Failpoint::ExpiredIsSentAgain) => {
            let due = dates::resting(sql, ids, now)?.into_iter().collect::<HashSet<i64>>();
            let has_date: HashSet<i64> = dates::seen(sql, ids)?.into_keys().collect();
            due.intersection(&has_date).copied().collect()
        }
        Walk::ByDates => dates::resting(sql, ids, now)?.into_iter().collect(),
        _ => ids.iter().copied().filter(|id| !fresh.contains(id)).collect(),
    };
    for (id, due) in queue::dates(sql, ids)? {
        if due <= now || due == queue::DUE_NEXT_RUN {
            resting.remove(&id);
        } else {
            // It is tried again at its own date.
            resting.insert(id);
        }
    }
    Ok(resting)
}

/// How a run walks. `is_pushed`: whoever brings documents asks for their visits.
pub(crate) fn walk((dating, is_pushed): (Option<&Dating>, bool), kind: RunKind, is_pass: bool) -> Walk {
    match (kind, dating) {
        (RunKind::Minimal, _) if is_pushed => Walk::Due,
        (RunKind::Full, Some(dating)) if is_pass && !dating.looks_at_all => Walk::ByDates,
        (RunKind::Full, _) => Walk::Everything,
        (RunKind::Minimal, Some(_)) if is_pass => Walk::Due,
        (RunKind::Minimal, _) => Walk::New,
    }
}
