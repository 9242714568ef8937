//! Single documents in the history of jobs.

use ingather_model::ids::JobId;
use ingather_model::job::history::HistoryOutcome;
use ingather_store::Reader;
use ingather_store::runs::history::{self as stored, Place};

use super::known::Jobs;
use super::{HistoryPage, ListHistory, PastDocument, ROWS, is_named, list_of, outcome};
use crate::page;
use crate::problem::Result;

/// Walks through the history of documents, the latest first, until `each` has enough.
pub(super) struct Walk<'a> {
    pub(super) reader: &'a Reader,
    pub(super) job: Option<JobId>,
    pub(super) from: i64,
    /// Rows that may still be looked through.
    pub(super) may_look: usize,
}

impl Walk<'_> {
    /// Hands out what was noted before a place; `each` says whether it takes more. The place behind the last that was taken, where there may be
    /// more.
    pub(super) fn walk(
        &mut self,
        mut place: Place,
        mut each: impl FnMut(stored::PastDocument) -> bool,
    ) -> Result<Option<Place>> {
        while self.may_look > 0 {
            let most = ROWS.min(self.may_look);
            let rows = self.reader.read(|sql| stored::list(sql, self.job, self.from, &place, most))?;
            let is_last = rows.len() < most;
            self.may_look -= rows.len();
            for row in rows {
                let here = row.place();
                if !each(row) {
                    return Ok(Some(place));
                }
                place = here;
            }
            if is_last {
                return Ok(None);
            }
        }
        Ok(Some(place))
    }
}

/// A page that looks through so many rows at most.
pub(super) fn list(
    reader: &Reader,
    jobs: &Jobs,
    request: &ListHistory,
    may_look: usize,
) -> Result<HistoryPage> {
    let wanted = outcome(request.outcome.as_ref(), HistoryOutcome::parse, HistoryOutcome::WORDS)?;
    let list = list_of(request);
    let of: Vec<&str> = list.iter().map(String::as_str).collect();
    let place = match page::place(&of, request.cursor.as_deref())? {
        Some(text) => place_of(&text).ok_or_else(page::unknown)?,
        None => Place::before(request.until.unwrap_or(i64::MAX)),
    };
    let length = page::length(request.limit);
    let mut found = Vec::new();
    let mut walk = Walk { reader, job: jobs.one(), from: request.since.unwrap_or(i64::MIN), may_look };
    let rest = walk.walk(place, |row| {
        let is_wanted = wanted.is_none_or(|wanted| row.outcome == wanted)
            && request.code.as_ref().is_none_or(|code| row.code == *code)
            && is_named(request.name.as_ref(), &row.name);
        let Some(job) = jobs.name(row.job).filter(|_| is_wanted) else { return true };
        if found.len() == length {
            return false;
        }
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        found.push(PastDocument {
            job: job.to_owned(),
            at: row.at,
            run: row.run,
            document: row.name,
            outcome: row.outcome,
            code: some(row.code),
            reason: some(row.message),
            bytes: row.bytes,
        });
        true
    })?;
    let failures_alone = matches!(wanted, Some(HistoryOutcome::Failed | HistoryOutcome::Skipped));
    let known = jobs.documents(failures_alone);
    let text = |place: Place| format!("{} {} {} {}", place.at, place.job, place.document, place.outcome);
    Ok(HistoryPage {
        runs: Vec::new(),
        documents: found,
        knows_from: known.from,
        says: known.says,
        next: rest.map(|place| page::cursor(&of, &text(place))),
    })
}

fn place_of(text: &str) -> Option<Place> {
    let mut words = text.splitn(4, ' ');
    let mut number = || words.next()?.parse().ok();
    let (at, job, document) = (number()?, number()?, number()?);
    Some(Place { at, job, document, outcome: words.next()?.to_owned() })
}
