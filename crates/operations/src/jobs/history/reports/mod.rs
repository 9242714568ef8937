//! Reports: documents counted by where they are. Two are of the inventory and say how it stands; two are of the history and say what was
//! done (decision 0030).

mod activity;
mod inventory;
mod results;
mod window;

pub use activity::{ACTIVITY, Activity, ActivityReport, AskActivity};
pub use inventory::{AskDocuments, QUEUE, QueueBucket, QueueReport, STATUS, StatusBucket, StatusReport};
pub use results::{AskResults, RESULTS, ResultGroup, ResultsReport};

use ingather_model::limits;
use ingather_store::Reader;
use ingather_store::runs::history::{PastDocument, Place};

use super::documents::Walk;
use super::known::Jobs;
use crate::in_words;
use crate::page;
use crate::problem::{Problem, Result};

/// Path levels of a bucket where nobody says how many.
fn levels() -> u32 {
    1
}

/// Where a document is counted: the first levels of its name's path; the empty text for what has no folder, or with none.
fn bucket(name: &str, levels: u32) -> &str {
    let mut slashes = name.match_indices('/').map(|(at, _)| at + 1);
    let mut end = 0;
    for _ in 0..levels {
        match slashes.next() {
            Some(at) => end = at,
            None => break,
        }
    }
    &name[..end]
}

fn refuse_levels(levels: u32) -> Result<()> {
    if levels <= limits::REPORT_LEVELS_MAX {
        return Ok(());
    }
    let most = limits::REPORT_LEVELS_MAX;
    Err(Problem::usage(format!(
        "documents are counted by {most} levels of their paths at most; give fewer `levels`"
    )))
}

/// What part of the history a report is of.
struct Asked<'a> {
    reader: &'a Reader,
    jobs: &'a Jobs,
    since: Option<i64>,
    until: Option<i64>,
}

impl Asked<'_> {
    /// Hands out what is noted, the latest first, up to the bound; the time from which on all of it was counted, where the bound was met.
    fn each(&self, mut each: impl FnMut(PastDocument)) -> Result<Option<i64>> {
        let mut walk = Walk {
            reader: self.reader,
            job: self.jobs.one(),
            from: self.since.unwrap_or(i64::MIN),
            may_look: limits::REPORT_ROWS_MAX,
        };
        let rest = walk.walk(Place::before(self.until.unwrap_or(i64::MAX)), |row| {
            each(row);
            true
        })?;
        // Of the very time of the last row others may be left.
        Ok(rest.map(|place| place.at.saturating_add(1)))
    }
}

/// What a report of the history says of what it counted; from when on all is in it.
fn counted(jobs: &Jobs, since: Option<i64>, bound: Option<i64>, now: i64) -> (i64, String) {
    let known = jobs.documents(false);
    // Nothing is known from a time on that has not come yet.
    let from = known.from.max(since.unwrap_or(i64::MIN).min(now));
    match bound {
        None => (from, known.says),
        Some(bound) => {
            let most = ingather_model::run_counts::counted(limits::REPORT_ROWS_MAX as u64, "document");
            let at = in_words::time(bound);
            let sentence = format!(
                "the last {most}, which are all since {at}; ask for a time `until` then for those before. Known are {}",
                known.says
            );
            (from.max(bound), sentence)
        }
    }
}

/// The members of a page of a list that is made as a whole, and the cursor of the next one.
fn paged<T>(of: &[&str], all: Vec<T>, limit: u32, cursor: Option<&str>) -> Result<(Vec<T>, Option<String>)> {
    let skipped = page::number(of, cursor)?.unwrap_or_default();
    let skipped = usize::try_from(skipped).map_err(|_| page::unknown())?;
    let end = skipped.saturating_add(page::length(limit));
    let next = (all.len() > end).then(|| page::cursor(of, &end.to_string()));
    Ok((all.into_iter().skip(skipped).take(page::length(limit)).collect(), next))
}

/// Refuses more groups than are kept in memory.
fn refuse_groups(groups: usize) -> Result<()> {
    if groups <= limits::REPORT_GROUPS_MAX {
        return Ok(());
    }
    let most = ingather_model::run_counts::number(limits::REPORT_GROUPS_MAX as u64);
    Err(Problem::usage(format!(
        "the report has more than {most} rows; give fewer `levels`, or a shorter time"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_counted_where_the_first_levels_of_its_path_lead() {
        let buckets = |name| [0, 1, 2, 9].map(|levels| bucket(name, levels));
        assert_eq!(buckets("a/b/c.txt"), ["", "a/", "a/b/", "a/b/"]);
        assert_eq!(buckets("c.txt"), ["", "", "", ""]);
        assert_eq!(buckets("ä/ö"), ["", "ä/", "ä/", "ä/"]);
        assert!(refuse_levels(limits::REPORT_LEVELS_MAX).is_ok());
        assert!(refuse_levels(limits::REPORT_LEVELS_MAX + 1).is_err());
        assert!(refuse_groups(limits::REPORT_GROUPS_MAX).is_ok());
        assert!(refuse_groups(limits::REPORT_GROUPS_MAX + 1).is_err());
    }

    #[test]
    fn pages_of_a_whole_list_follow_each_other_and_end() {
        let page = |cursor: Option<&str>| paged(&["x"], vec![1, 2, 3, 4, 5], 2, cursor).unwrap();
        let (first, next) = page(None);
        let (second, then) = page(next.as_deref());
        let (third, end) = page(then.as_deref());
        assert_eq!((first, second, third, end), (vec![1, 2], vec![3, 4], vec![5], None));
        assert!(paged(&["y"], vec![1], 2, next.as_deref()).is_err());
        assert!(paged(&["x"], vec![1], 2, Some(&page::cursor(&["x"], "-1"))).is_err());
    }
}
