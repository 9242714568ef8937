//! table: what must hold in every store at rest (design store 4.2), each with the query that finds what does not, and its repair.
//!
//! A check finds rows of two numbers; a clean store gives none. The simulator asks the same after each step.

use ingather_model::run_counts::number;

use crate::db::{Sql, Value};
use crate::deliveries;
use crate::documents::states;
use crate::error::{Result, StoreError};
use crate::queries::{self, Statement};

/// One thing that must hold.
#[derive(Clone, Copy)]
pub struct Check {
    /// Its number in design store 4.2.
    pub number: u8,
    /// Stable word.
    pub name: &'static str,
    /// What was found, as what follows a count of one.
    found_one: &'static str,
    /// What was found, as what follows any other count.
    pub found: &'static str,
    /// What to do when there is no repair, or what the repair does.
    pub advice: &'static str,
    /// What its rows speak of.
    pub about: About,
    /// A clock that was set back may break it without a fault in the inventory.
    pub goes_by_the_clock: bool,
    statement: &'static Statement,
    repair: Repair,
}

impl Check {
    /// The sentence for so many rows.
    pub fn sentence(&self, rows: u64) -> String {
        let what = if rows == 1 { self.found_one } else { self.found };
        format!("{} {what}", number(rows))
    }
}

/// What the two numbers of a row are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// A document, and its job.
    Document,
    /// A document, and the output of one of its deliveries.
    Delivery,
    /// A job, and a number about it.
    Job,
    /// Other numbers.
    Other,
}

/// How a fault is put right; never by dropping a delivery whose output may still hold something.
#[derive(Clone, Copy)]
enum Repair {
    /// These statements, each for all rows at once.
    Statements(&'static [&'static Statement]),
    /// The same, with the time.
    Timed(&'static Statement),
    /// The documents are visited again.
    Queue,
    /// What the output holds is not known any more, and the document is visited and sent again.
    Resend,
    /// By hand, or by another command: the advice says which.
    ByHand,
}

/// Counts all documents anew.
const RECOUNT: &[&Statement] = &[&queries::DOCTOR_DROP_TALLIES, &queries::DOCTOR_RECOUNT];

/// What one check found.
#[derive(Clone)]
pub struct Fault {
    /// The check.
    pub check: &'static Check,
    /// Its rows, as many as were asked for at most.
    pub rows: Vec<(i64, Option<i64>)>,
}

macro_rules! checks {
    ($($number:literal $name:ident $about:ident $statement:ident $repair:expr, $clock:literal, $one:literal, $found:literal, $advice:literal;)*) => {
        /// All checks.
        pub static CHECKS: &[Check] = &[$(Check {
            number: $number, name: stringify!($name), found_one: $one, found: $found, advice: $advice, about: About::$about,
            goes_by_the_clock: $clock, statement: &queries::$statement, repair: $repair,
        }),*];
    };
}

checks! {
    1 work_of_nothing Document DOCTOR_WORK_OF_NOTHING Repair::Statements(&[&queries::DOCTOR_DROP_WORK]), false,
        "visit waits for a document that is not there, or for another job's",
        "visits wait for documents that are not there, or for another job's", "--repair drops them";
    2 nameless_documents Document DOCTOR_NAMELESS_DOCUMENTS Repair::Statements(&[&queries::DOCTOR_DROP_NAMELESS]), false,
        "document has lost its name",
        "documents have lost their names",
        "--repair drops those that no output holds, and the next run finds them new; for others run `ingather verify --repair` before";
    2 names_of_nothing Document DOCTOR_NAMES_OF_NOTHING Repair::Statements(&[&queries::DOCTOR_DROP_NAMES]), false,
        "name belongs to no document",
        "names belong to no document", "--repair drops them";
    3 deliveries_of_nothing Delivery DOCTOR_DELIVERIES_OF_NOTHING Repair::ByHand, false,
        "delivery belongs to no document: outputs may hold an entry that nobody will remove",
        "deliveries belong to no document: outputs may hold entries that nobody will remove",
        "`ingather verify --repair` takes such entries out, and then drops these deliveries";
    4 unconfirmed Delivery DOCTOR_UNCONFIRMED Repair::Queue, false,
        "delivery counts as done although the output does not hold what was sent",
        "deliveries count as done although the output does not hold what was sent", "--repair sends them with the next run";
    5 forgotten Document DOCTOR_FORGOTTEN Repair::Queue, false,
        "document was forgotten: nothing waits, nothing failed, and no output was told",
        "documents were forgotten: nothing waits, nothing failed, and no output was told", "--repair sends them with the next run";
    6 confirmed_before_intent Delivery DOCTOR_CONFIRMED_BEFORE_INTENT Repair::Resend, true,
        "delivery was confirmed before it was sent, or the clock was set back in between",
        "deliveries were confirmed before they were sent, or the clock was set back in between", "--repair sends them with the next run";
    7 owners_differ Delivery DOCTOR_OWNERS_DIFFER Repair::Resend, false,
        "delivery says of an entry that it holds something else than another one says",
        "deliveries say of one entry that it holds different things", "--repair sends them with the next run";
    8 miscounted Job DOCTOR_MISCOUNTED Repair::Statements(RECOUNT), false,
        "job has a wrong counter of its documents",
        "jobs have a wrong counter of their documents", "--repair counts anew";
    9 below_zero Job DOCTOR_BELOW_ZERO Repair::Statements(RECOUNT), false,
        "counter is below zero",
        "counters are below zero", "--repair counts anew";
    10 open_runs Job DOCTOR_OPEN_RUNS Repair::Timed(&queries::DOCTOR_CLOSE_RUNS), false,
        "job has several open runs",
        "jobs have several open runs", "--repair closes all but the last one";
    11 later_runs Document DOCTOR_LATER_RUNS Repair::Statements(&[&queries::DOCTOR_LOWER_RUNS]), false,
        "document was written by a run that was never opened",
        "documents were written by a run that was never opened", "--repair puts the last run in its place";
    11 marks_of_nothing Job DOCTOR_MARKS_OF_NOTHING Repair::Statements(&[&queries::DOCTOR_DROP_MARKS]), false,
        "mark belongs to a run that is not there",
        "marks belong to a run that is not there", "--repair drops them";
    12 ids_beyond Other DOCTOR_IDS_BEYOND Repair::Statements(&[&queries::DOCTOR_RAISE_IDS]), false,
        "counter would give out numbers that are in use",
        "counters would give out numbers that are in use", "--repair raises them; sync nothing before";
    13 held_by_older Job DOCTOR_HELD_BY_OLDER Repair::Statements(&[&queries::DOCTOR_VOID_HELD]), false,
        "removal is held by a run that has no say any more",
        "removals are held by a run that has no say any more", "--repair makes them void; the next run looks again";
    14 documents_of_no_job Document DOCTOR_DOCUMENTS_OF_NO_JOB Repair::Statements(&[&queries::DOCTOR_DROP_DOCUMENTS_OF_NO_JOB]), false,
        "document belongs to a job that is not there",
        "documents belong to a job that is not there",
        "--repair drops those that no output holds; for others run `ingather verify --repair` first";
    14 runs_of_no_job Job DOCTOR_RUNS_OF_NO_JOB Repair::Statements(&[&queries::DOCTOR_DROP_RUNS_OF_NO_JOB,
            &queries::DOCTOR_DROP_TALLIES_OF_NO_JOB, &queries::DOCTOR_DROP_MARKS_OF_NO_JOB, &queries::DOCTOR_DROP_BLIND_SPOTS_OF_NO_JOB]), false,
        "job that is not there has runs, counters, marks or blind spots",
        "jobs that are not there have runs, counters, marks or blind spots", "--repair drops them";
    15 trouble_of_nothing Document DOCTOR_TROUBLE_OF_NOTHING Repair::Statements(&[&queries::DOCTOR_DROP_FAILURE]), false,
        "trouble belongs to a document that is not there",
        "troubles belong to documents that are not there", "--repair drops them";
    15 retried_by_nobody Document DOCTOR_RETRIED_BY_NOBODY Repair::Queue, false,
        "document is to be tried again, and no visit waits",
        "documents are to be tried again, and no visit waits", "--repair sends them with the next run";
    20 addresses_of_nothing Delivery DOCTOR_ADDRESSES_OF_NOTHING Repair::Statements(&[&queries::DOCTOR_DROP_ADDRESSES]), false,
        "address belongs to a document that is not there",
        "addresses belong to documents that are not there",
        "--repair drops those without a delivery; for others run `ingather verify --repair` first";
    20 components_of_nothing Document DOCTOR_COMPONENTS_OF_NOTHING Repair::Statements(&[&queries::DOCTOR_DROP_COMPONENTS]), false,
        "name of a part of a document belongs to nothing that was ever sent",
        "names of parts of documents belong to nothing that was ever sent",
        "--repair drops those without a delivery; for others run `ingather verify --repair` first";
    20 extracts_of_nothing Other DOCTOR_EXTRACTS_OF_NOTHING
        Repair::Statements(&[&queries::DOCTOR_DROP_EXTRACTS, &queries::DOCTOR_DROP_EXTRACT_TEXTS]), false,
        "kept text belongs to no document",
        "kept texts belong to no document", "--repair drops them";
    20 links_of_nothing Document DOCTOR_LINKS_OF_NOTHING Repair::Statements(&[&queries::DOCTOR_DROP_LINKS]), false,
        "list of links belongs to a document that is not there",
        "lists of links belong to documents that are not there", "--repair drops them";
    20 handed_down_of_nothing Document DOCTOR_HANDED_DOWN_OF_NOTHING Repair::Statements(&[&queries::DOCTOR_DROP_HANDED_DOWN]), false,
        "document that is not there hands something down, or is handed it",
        "documents that are not there hand something down, or are handed it", "--repair drops that";
    20 records_of_nothing Document DOCTOR_RECORDS_OF_NOTHING
        Repair::Statements(&[&queries::DOCTOR_DROP_RECORDS, &queries::DOCTOR_DROP_RECORD_CONTENTS, &queries::DOCTOR_DROP_RECORD_PARENTS, &queries::DOCTOR_DROP_OPEN_TICKETS]), false,
        "record that was pushed, or an open ticket, is of a document that is not there",
        "records that were pushed, or open tickets, are of documents that are not there",
        "--repair drops them; whoever pushed them pushes them again";
    20 prerequisites_of_nothing Document DOCTOR_PREREQUISITES_OF_NOTHING
        Repair::Statements(&[&queries::DOCTOR_DROP_PREREQUISITES]), false,
        "document that is not there waits for an event",
        "documents that are not there wait for events", "--repair drops them";
    20 dates_of_nothing Document DOCTOR_DATES_OF_NOTHING Repair::Statements(&[&queries::DOCTOR_DROP_DATES]), false,
        "date belongs to a document that is not there",
        "dates belong to documents that are not there", "--repair drops them";
    20 nameless_components Delivery DOCTOR_NAMELESS_COMPONENTS Repair::ByHand, false,
        "part of a document has lost its name: outputs may hold an entry that nobody will remove",
        "parts of documents have lost their names: outputs may hold entries that nobody will remove",
        "`ingather verify --repair` takes such entries out, and then drops these deliveries";
    21 unknown_access Document DOCTOR_UNKNOWN_ACCESS Repair::Queue, false,
        "document refers to access that is not there, so that nobody finds it",
        "documents refer to access that is not there, so that nobody finds them", "--repair reads their access with the next run";
    22 places_below_nothing Other DOCTOR_PLACES_BELOW_NOTHING Repair::ByHand, false,
        "folder lies below one that is not there, or has lost who may enter it, so that nobody finds anything in it",
        "folders lie below one that is not there, or have lost who may enter them, so that nobody finds anything in them",
        "restore a backup, or delete the jobs of these sources and sync them again";
    23 lost_connections Other DOCTOR_LOST_CONNECTIONS Repair::ByHand, false,
        "job or delivery refers to a connection that is not there",
        "jobs or deliveries refer to a connection that is not there", "restore a backup";
    24 people_of_no_authority Other DOCTOR_PEOPLE_OF_NO_AUTHORITY Repair::Statements(&[&queries::DOCTOR_DROP_MEMBERSHIP_OF_NO_AUTHORITY,
            &queries::DOCTOR_DROP_PERSON_GROUP_OF_NO_AUTHORITY, &queries::DOCTOR_DROP_PERSON_OF_NO_AUTHORITY]), false,
        "authority that is not there has people",
        "authorities that are not there have people", "--repair drops them";
    24 members_of_nothing Other DOCTOR_MEMBERS_OF_NOTHING Repair::Statements(&[&queries::DOCTOR_DROP_MEMBERS]), false,
        "authority has members of a group that is not there, or who are not there themselves",
        "authorities have members of groups that are not there, or who are not there themselves", "--repair drops them";
}

/// Checks of design store 4.2 that say nothing about this schema, and why.
pub static NOT_YET: &[(u8, &str)] = &[
    (13, "the half about work rows: removals have none (decision 0003); what a run holds is checked instead"),
    (
        15,
        "the half about given-up work: a failed document that changes waits beside its trouble until it is visited",
    ),
    (
        16,
        "an orderly end leaves the part to the next process, whose epoch fences; attempts go on where a fault says keep",
    ),
    (17, "there are no events"),
    (18, "there are no reports, tickets and buffers"),
    (19, "there are no tickets"),
    (
        20,
        "the part about hops, which are not there; addresses, components, links and kept texts are checked instead",
    ),
];

/// Makes all checks; each tells at most `most` rows. Nothing found: nothing answered.
///
/// # Errors
/// What the database says.
pub fn examine(sql: &mut Sql<'_>, most: usize) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for check in CHECKS {
        let rows = find(sql, check, most)?;
        if !rows.is_empty() {
            faults.push(Fault { check, rows });
        }
    }
    Ok(faults)
}

fn find(sql: &mut Sql<'_>, check: &Check, most: usize) -> Result<Vec<(i64, Option<i64>)>> {
    sql.query(check.statement, &[Value::Int(most as i64)], |row| Ok((row.int(0)?, row.opt_int(1)?)))
}

/// Puts right what was found; false when it is not to be put right by this. `now`: milliseconds since 1970 UTC.
///
/// # Errors
/// What the database says; nothing is changed then.
pub fn repair(sql: &mut Sql<'_>, fault: &Fault, now: i64) -> Result<bool> {
    match fault.check.repair {
        Repair::Statements(statements) => {
            // What the states of documents go by may be among what is dropped.
            for statement in statements.iter().chain(RECOUNT) {
                sql.execute(statement, &[])?;
            }
        }
        Repair::Timed(statement) => {
            sql.execute(statement, &[Value::Int(now)])?;
        }
        Repair::Queue => queue(sql, fault.rows.iter().map(|(document, _)| *document))?,
        Repair::Resend => {
            let pairs: Vec<(i64, i64)> =
                fault.rows.iter().filter_map(|(document, output)| Some((*document, (*output)?))).collect();
            deliveries::unconfirm(sql, &pairs)?;
            queue(sql, fault.rows.iter().map(|(document, _)| *document))?;
        }
        Repair::ByHand => return Ok(false),
    }
    Ok(true)
}

/// Asks for visits of documents, as far as they are there.
///
/// # Errors
/// What the database says.
pub fn queue(sql: &mut Sql<'_>, documents: impl Iterator<Item = i64>) -> Result<()> {
    let mut ids: Vec<i64> = documents.collect();
    ids.sort_unstable();
    ids.dedup();
    states::counted(sql, &ids, |sql| sql.execute(&queries::DOCTOR_QUEUE, &[Value::Ints(&ids)]))?;
    Ok(())
}

/// The newest time on record, milliseconds since 1970 UTC: a clock that is behind it was set back.
///
/// # Errors
/// What the database says.
pub fn newest_time(sql: &mut Sql<'_>) -> Result<Option<i64>> {
    Ok(sql.one(&queries::DOCTOR_NEWEST_TIME, &[], |row| row.opt_int(0))?.flatten())
}

/// Whether the pages of the database's file fit together: what is wrong, if anything.
///
/// # Errors
/// What the database says.
pub fn integrity(sql: &mut Sql<'_>) -> Result<Option<String>> {
    let said = match sql.one(&queries::DOCTOR_INTEGRITY, &[], |row| row.text(0)) {
        // Damage may stop the check itself.
        Err(StoreError::Damaged(said)) => Some(said),
        other => other?,
    };
    let said = said.filter(|said| said != "ok");
    // Its first line may only name the database.
    Ok(said.map(|said| said.lines().find(|line| !line.starts_with("***")).unwrap_or(&said).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_fault_is_not_several() {
        for check in CHECKS {
            let (one, several) = (check.sentence(1), check.sentence(2_000));
            assert!(one.starts_with("1 ") && several.starts_with("2,000 "), "{one}, {several}");
            assert_ne!(one[2..], several[6..], "{}", check.name);
        }
    }
}
