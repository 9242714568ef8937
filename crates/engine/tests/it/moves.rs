//! Every state × every function of the store that moves it, compared with the tables of `model::lifecycle`.

use std::collections::HashSet;

use ingather_model::guard::Guard;
use ingather_model::ids::{ConnectionId, Digest, DocumentId, JobId};
use ingather_model::job::{ContentBy, Definition, Keep, RunKind};
use ingather_model::key::DocumentKey;
use ingather_model::lifecycle::outcome::FailureKind;
use ingather_model::lifecycle::{Since, document, job, rules};
use ingather_store::deliveries::{self, Answered, Confirmed, Intent};
use ingather_store::documents::{self, DocumentUpdate, NewDocument};
use ingather_store::queue::{self, Failure, VisitReason, VisitRequest};
use ingather_store::{Durability, Sql, Store, StoreError, jobs};
use ingather_testkit::database::{BOTH, Database};

type Result<T> = std::result::Result<T, StoreError>;

fn definition(name: &str) -> Definition {
    Definition {
        name: name.to_owned(),
        repository: "source".to_owned(),
        source: serde_json::json!({}),
        stages: Vec::new(),
        outputs: Vec::new(),
        routes: std::collections::BTreeMap::new(),
        retired: Vec::new(),
        delete_guard: Guard::Off,
        compare_content: false,
        keep: Keep::Nothing,
        content_by: ContentBy::Read,
        dates: Default::default(),
        priority: ingather_model::job::Priority::default(),
        history: ingather_model::job::history::History::default(),
        notify: Vec::new(),
        hops: Default::default(),
        schedule: None,
    }
}

fn new_job(sql: &mut Sql<'_>) -> Result<JobId> {
    let name = format!("job {}", documents::take_ids(sql, "name", 1)?);
    jobs::add(sql, ConnectionId(1), &name, &definition(&name), 0)
}

fn job_state(sql: &mut Sql<'_>, id: JobId) -> Result<(job::State, i64)> {
    let found = jobs::get(sql, id)?;
    Ok(found.map_or((job::State::Gone, 0), |job| (job.state, job.run)))
}

/// Brings a new job into a state, by moves alone.
fn job_in(sql: &mut Sql<'_>, state: job::State) -> Result<JobId> {
    use job::State::{Deleting, Ending, Gone, Resting, Starting, Stopping, Sweeping, Working};
    let id = new_job(sql)?;
    let run = if state == Resting { 0 } else { jobs::begin(sql, id)?.unwrap() };
    match state {
        Resting | Working => {}
        Sweeping => assert!(jobs::drain(sql, id, run)?),
        Ending => assert!(jobs::drain(sql, id, run)? && jobs::sweep(sql, id, run)?),
        Stopping => assert!(jobs::stop(sql, id, run)?),
        Deleting => jobs::delete(sql, id)?,
        Gone => {
            jobs::delete(sql, id)?;
            jobs::forget(sql, id)?;
        }
        Starting => assert!(jobs::stop(sql, id, run)? && jobs::rest(sql, id, run, None, true)?),
    }
    Ok(id)
}

type JobStep = fn(&mut Sql<'_>, JobId, i64) -> Result<()>;

/// The end of a run in place of which a person wants another one.
fn restart(sql: &mut Sql<'_>, id: JobId, run: i64) -> Result<()> {
    jobs::ask_restart(sql, id, Some(RunKind::Full))?;
    jobs::rest(sql, id, run, None, false).map(drop)
}

/// What the store can do with a job, and the rows of the table that it takes in one transaction: the first way that fits.
const JOB_STEPS: &[(JobStep, &[&[job::Event]])] = {
    use job::Event::{Begin, Delete, Drain, Forget, Interrupt, Note, PutDown, Restart, Start, Stop, Sweep};
    &[
        (
            |sql, id, _| jobs::begin(sql, id).map(drop),
            &[&[Begin], &[Start, Begin], &[Interrupt, Start, Begin]],
        ),
        (|sql, id, run| jobs::drain(sql, id, run).map(drop), &[&[Drain]]),
        (|sql, id, run| jobs::sweep(sql, id, run).map(drop), &[&[Sweep]]),
        (|sql, id, run| jobs::stop(sql, id, run).map(drop), &[&[Stop]]),
        (|sql, id, run| jobs::rest(sql, id, run, None, false).map(drop), &[&[Note], &[PutDown, Note]]),
        (|sql, id, run| jobs::rest(sql, id, run, None, true).map(drop), &[&[Note], &[Restart]]),
        (restart, &[&[Note, Start], &[Restart]]),
        (|sql, id, _| jobs::let_rest(sql, id).map(drop), &[&[Interrupt]]),
        (|sql, id, _| jobs::delete(sql, id), &[&[Delete], &[Interrupt, Delete]]),
        (|sql, id, _| jobs::forget(sql, id), &[&[Forget]]),
    ]
};

#[test]
fn jobs_move_along_their_table_and_never_otherwise() {
    for kind in BOTH {
        let database = Database::fresh(kind);
        let store = Store::open(&database.target).unwrap();
        let mut lived = HashSet::from([job::Event::Create]);
        for from in job::State::ALL.iter().copied() {
            for (n, (step, ways)) in JOB_STEPS.iter().enumerate() {
                let way = |way: &[job::Event]| {
                    way.iter().try_fold(from, |at, on| rules::after(job::MOVES, at, *on))
                };
                let taken = ways.iter().find_map(|events| Some((events, way(events)?)));
                let after = store
                    .write(Durability::Relaxed, |sql| {
                        let id = job_in(sql, from)?;
                        let (before, run) = job_state(sql, id)?;
                        assert_eq!(before, from);
                        step(sql, id, run)?;
                        // The number of another run moves nothing.
                        step_of_another_run(sql, id, from, n)?;
                        Ok(job_state(sql, id)?.0)
                    })
                    .unwrap();
                assert_eq!(after, taken.map_or(from, |(_, to)| to), "{kind:?}: step {n} from {from}");
                lived.extend(taken.into_iter().flat_map(|(events, _)| events.iter().copied()));
            }
        }
        let told: HashSet<job::Event> =
            job::MOVES.iter().filter(|row| row.since == Since::Now).map(|row| row.on).collect();
        assert_eq!(lived, told, "rows that are lived and rows that say so");
    }
}

/// Moves that name a run refuse every other one.
fn step_of_another_run(sql: &mut Sql<'_>, id: JobId, from: job::State, step: usize) -> Result<()> {
    let named = [1, 2, 3, 4, 5, 6];
    if !named.contains(&step) || from == job::State::Gone {
        return Ok(());
    }
    let other = job_in(sql, from)?;
    let (_, run) = job_state(sql, other)?;
    JOB_STEPS[step].0(sql, other, run + 1)?;
    assert_eq!(job_state(sql, other)?.0, from, "step {step} of another run moved job {}", id.0);
    Ok(())
}

const OUTPUT: ConnectionId = ConnectionId(7);
/// More than a test has.
const DOCUMENTS_MAX: usize = 1_000;

struct Row {
    job: JobId,
    id: i64,
}

fn want(sql: &mut Sql<'_>, row: &Row) -> Result<()> {
    queue::enqueue(
        sql,
        row.job,
        1,
        &[VisitRequest { document: row.id, due: 0, reason: VisitReason::Changed }],
    )
}

fn meet(sql: &mut Sql<'_>, row: &Row) -> Result<()> {
    let new = NewDocument {
        id: DocumentId(row.id),
        key: DocumentKey { parent_hash: 1, key_hash: row.id },
        name: "a".to_owned(),
        version: Digest(1),
        access: Digest(1),
        identity: 1,
        container: None,
    };
    documents::add(sql, row.job, 1, &[new])
}

fn wanted(sql: &mut Sql<'_>, row: &Row) -> Result<i64> {
    Ok(queue::request_counts(sql, &[row.id])?.first().map_or(0, |(_, wanted, _)| *wanted))
}

fn update(sql: &mut Sql<'_>, row: &Row) -> Result<()> {
    let id = DocumentId(row.id);
    let (version, access, settings) = (Digest(1), Digest(1), Digest(1));
    let update = DocumentUpdate {
        id,
        version,
        access,
        settings,
        identity: 1,
        acl_id: None,
        container: None,
        raw: None,
    };
    documents::complete(sql, 1, &[update])
}

fn settle(sql: &mut Sql<'_>, row: &Row) -> Result<()> {
    let times = wanted(sql, row)?;
    queue::complete(sql, &[(row.id, times)])?;
    update(sql, row)
}

fn give_up(sql: &mut Sql<'_>, row: &Row) -> Result<()> {
    // Only who holds a document gives it up.
    if state(sql, row)? != document::State::Waiting {
        return settle(sql, row);
    }
    let failure = Failure {
        document: row.id,
        kind: FailureKind::Failed,
        attempts: 1,
        attempts_max: 8,
        code: "broken".to_owned(),
        message: "it is broken".to_owned(),
        give_up_at: None,
    };
    queue::record_failures(sql, row.job, 0, &[failure])?;
    settle(sql, row)
}

fn send(sql: &mut Sql<'_>, row: &Row, intended: Digest) -> Result<()> {
    let seq = documents::take_ids(sql, "seq", 1)?;
    let (document, component) = (row.id, 0);
    let intent = Intent {
        document,
        component,
        address_parent: 1,
        address: row.id,
        seq,
        intended,
        intended_acl: intended,
    };
    deliveries::intend(sql, OUTPUT, 0, false, &[intent])?;
    if intended.is_some() {
        deliveries::confirm(sql, OUTPUT, 0, Confirmed::Record, &[(&intent).into()])?;
    }
    Ok(())
}

fn forget(sql: &mut Sql<'_>, row: &Row) -> Result<()> {
    // The output confirms a removal that was sent, and nothing else.
    let confirmed = deliveries::states(sql, &[row.id])?;
    let gone: Vec<Answered> = confirmed
        .iter()
        .filter(|confirmed| !confirmed.state.intended.is_some())
        .map(|confirmed| Answered {
            document: confirmed.document,
            component: confirmed.component,
            seq: confirmed.seq,
        })
        .collect();
    deliveries::remove(sql, OUTPUT, &gone)?;
    documents::forget(sql, row.job, &[row.id]).map(drop)
}

/// What a list of its job says of it.
fn listed(sql: &mut Sql<'_>, row: &Row) -> Result<Option<documents::Listed>> {
    let all = documents::list(sql, row.job, DocumentKey::BEFORE_ALL, DOCUMENTS_MAX)?;
    Ok(all.into_iter().find(|listed| listed.id.0 == row.id))
}

/// The state that rows imply (design store 2.1); a document in hands has the rows of one that waits.
fn state(sql: &mut Sql<'_>, row: &Row) -> Result<document::State> {
    use document::State::{Gone, Leaving, Settled, Troubled, Waiting};
    let Some(listed) = listed(sql, row)? else { return Ok(Gone) };
    Ok(match (&listed.work, &listed.failure) {
        // Also when a removal is half done: the next listing meets it and visits it, or misses it once more.
        (Some(_), _) => Waiting,
        _ if !queue::leaving(sql, &[row.id])?.is_empty() => Leaving,
        (None, Some(_)) => Troubled,
        (None, None) => Settled,
    })
}

fn document_in(sql: &mut Sql<'_>, job: JobId, wanted: document::State) -> Result<Row> {
    use document::State::{Gone, Held, Leaving, Settled, Troubled, Waiting};
    let row = Row { job, id: documents::take_ids(sql, "document", 1)? };
    if wanted != Gone {
        meet(sql, &row)?;
    }
    match wanted {
        Gone | Waiting | Held => {}
        Troubled => give_up(sql, &row)?,
        Settled | Leaving => {
            send(sql, &row, Digest(5))?;
            settle(sql, &row)?;
        }
    }
    if wanted == Leaving {
        send(sql, &row, Digest::NONE)?;
    }
    Ok(row)
}

/// A document in hands: one that no output holds yet, or one that they do. Its row says how often a visit is wanted.
fn in_hands(sql: &mut Sql<'_>, job: JobId, is_known: bool) -> Result<Row> {
    use document::State::{Held, Settled};
    let row = document_in(sql, job, if is_known { Settled } else { Held })?;
    want(sql, &row)?;
    Ok(row)
}

/// Its state, when its next visit is due, and whether an output holds it.
fn stands(sql: &mut Sql<'_>, row: &Row) -> Result<(document::State, Option<i64>, bool)> {
    let due = listed(sql, row)?.and_then(|listed| listed.work);
    let is_known = deliveries::states(sql, &[row.id])?.iter().any(|held| held.state.confirmed.is_some());
    Ok((state(sql, row)?, due.map(|(_, due)| due), is_known))
}

type DocumentStep = fn(&mut Sql<'_>, &Row) -> Result<()>;

const DOCUMENT_STEPS: &[(&str, DocumentStep, &[document::Event])] = {
    use document::Event::{Discard, Disown, Forget, GiveUp, MeetAgain, Miss, Retry, Settle, Vanish};
    &[
        ("want", want, &[MeetAgain]),
        ("done", settle, &[Settle]),
        ("done with trouble", give_up, &[GiveUp]),
        ("again", |sql, row| queue::reschedule(sql, &[(row.id, 9)]), &[Retry]),
        ("intend a removal", |sql, row| send(sql, row, Digest::NONE), &[Miss, Disown, Vanish]),
        ("forget", forget, &[Forget, Discard]),
    ]
};

#[test]
fn documents_move_along_their_table_and_never_otherwise() {
    use document::Event::{Claim, LoseHold, Meet};
    use document::State::{Gone, Held, Waiting};
    for kind in BOTH {
        let database = Database::fresh(kind);
        let store = Store::open(&database.target).unwrap();
        let job = store.write(Durability::Relaxed, new_job).unwrap();
        // Met below; taken and put down without a write.
        let mut lived = HashSet::from([Meet, Claim, LoseHold]);
        for from in document::State::ALL.iter().copied().filter(|state| *state != Gone) {
            // What waits is taken, and put back, without a write: both have the rows of one that waits.
            let stored = |state| if state == Held { Waiting } else { state };
            let starts: &[document::State] = if stored(from) == Waiting { &[Waiting, Held] } else { &[from] };
            for (name, step, events) in DOCUMENT_STEPS {
                let after = |on: &document::Event| {
                    starts.iter().find_map(|at| rules::after(document::MOVES, *at, *on))
                };
                lived.extend(events.iter().copied().filter(|on| after(on).is_some()));
                let expected = match events.iter().find_map(after).map_or(stored(from), stored) {
                    // The row of its visit goes with the document only.
                    document::State::Leaving if stored(from) == Waiting => Waiting,
                    expected => expected,
                };
                let found = store
                    .write(Durability::Relaxed, |sql| {
                        let row = document_in(sql, job, from)?;
                        assert_eq!(state(sql, &row)?, stored(from));
                        step(sql, &row)?;
                        state(sql, &row)
                    })
                    .unwrap();
                assert_eq!(found, expected, "{kind:?}: {name} from {from}");
            }
            let met_twice = store.write(Durability::Relaxed, |sql| {
                let row = document_in(sql, job, from)?;
                meet(sql, &row)
            });
            assert!(met_twice.is_err(), "{kind:?}: met for the first time from {from}");
        }
        let rows = document::MOVES.iter().filter(|row| row.since == Since::Now);
        assert_eq!(lived, rows.map(|row| row.on).collect(), "rows that are lived and rows that say so");
    }
}

#[test]
fn what_is_in_hands_moves_alike_whether_outputs_hold_it_or_not() {
    use document::State::{Settled, Troubled, Waiting};
    for kind in BOTH {
        let database = Database::fresh(kind);
        let store = Store::open(&database.target).unwrap();
        let job = store.write(Durability::Relaxed, new_job).unwrap();
        let steps: [(&str, DocumentStep, _); 3] = [
            ("tried again at a time", |sql, row| queue::reschedule(sql, &[(row.id, 9)]), (Waiting, Some(9))),
            ("done", settle, (Settled, None)),
            ("given up", give_up, (Troubled, None)),
        ];
        for is_known in [false, true] {
            for (name, step, (state, due)) in steps {
                let found = store
                    .write(Durability::Relaxed, |sql| {
                        let row = in_hands(sql, job, is_known)?;
                        assert_eq!(stands(sql, &row)?, (Waiting, Some(0), is_known));
                        step(sql, &row)?;
                        stands(sql, &row)
                    })
                    .unwrap();
                assert_eq!(found, (state, due, is_known), "{kind:?}: {name}");
            }
        }
    }
}

#[test]
fn what_was_wanted_once_more_meanwhile_still_waits() {
    for kind in BOTH {
        let database = Database::fresh(kind);
        let store = Store::open(&database.target).unwrap();
        let after = store.write(Durability::Relaxed, |sql| {
            let job = new_job(sql)?;
            let mut after = Vec::new();
            // A first visit has no row of its own; a later one has.
            for first in [true, false] {
                let row = document_in(sql, job, document::State::Held)?;
                if !first {
                    want(sql, &row)?;
                }
                let taken = wanted(sql, &row)?;
                want(sql, &row)?;
                queue::complete(sql, &[(row.id, taken)])?;
                update(sql, &row)?;
                after.push(state(sql, &row)?);
            }
            Ok(after)
        });
        assert_eq!(after.unwrap(), [document::State::Waiting; 2], "{kind:?}");
    }
}
