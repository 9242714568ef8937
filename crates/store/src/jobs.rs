//! Jobs: definitions and the moves between their states (`model::lifecycle`).

use ingather_model::ids::{ConnectionId, JobId};
use ingather_model::job::history::HistoryKind;
use ingather_model::job::schedule::Schedule;
use ingather_model::job::{Definition, RunKind};
use ingather_model::lifecycle::job::State;
use ingather_model::lifecycle::outcome::RunOutcome;

use crate::db::{Row, Sql, Value};
use crate::documents::{dates, take_ids};
use crate::error::{Result, StoreError};
use crate::queries;
use crate::queue::{self, VisitReason, VisitRequest};
use crate::runs::history;
use crate::{connections, containers, secrets};

/// A job as stored.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its handle.
    pub id: JobId,
    /// Its name.
    pub name: String,
    /// Its repository connection.
    pub repository: ConnectionId,
    /// The connector of that connection; none when the store has lost it.
    pub connector: Option<String>,
    /// Canonical root or URL: by it `sync` finds the job again.
    pub root: String,
    /// Where it is in its life.
    pub state: State,
    /// Number of its last run.
    pub run: i64,
    /// Its definition.
    pub definition: Definition,
    /// Grows with each change of the definition.
    pub revision: i64,
    /// Fingerprint of the credentials that the source was last listed with; the column `reader`.
    pub credentials: Option<String>,
    /// Why the last run ended early, or why the next one could not begin, whichever was later.
    pub error: Option<String>,
    /// A person paused it.
    pub paused: bool,
    /// When it got its schedule, or was made; milliseconds since 1970 UTC.
    pub scheduled_at: i64,
    /// The kind of the run that a person asked for with the stop of the one before.
    pub restart: Option<RunKind>,
    /// How often a person asked, since a full run has read everything again, that the next run trusts no version.
    pub rereads: i64,
}

fn as_stored(row: &Row<'_>) -> Result<Job> {
    let definition = serde_json::from_str(&row.text(6)?)
        .map_err(|e| StoreError::Refused(format!("a stored job definition cannot be read: {e}")))?;
    Ok(Job {
        id: JobId(row.int(0)?),
        name: row.text(1)?,
        repository: ConnectionId(row.int(2)?),
        root: row.text(3)?,
        state: row.word(4, State::parse)?,
        run: row.int(5)?,
        definition,
        revision: row.int(7)?,
        credentials: row.opt_text(8)?,
        error: row.opt_text(9)?,
        connector: row.opt_text(10)?,
        paused: row.int(11)? != 0,
        scheduled_at: row.int(12)?,
        restart: row.opt_word(13, RunKind::parse)?,
        rereads: row.int(14)?,
    })
}

/// Reads jobs with their secrets, as far as these can be opened.
fn opened(sql: &Sql<'_>) -> impl FnMut(&Row<'_>) -> Result<Job> + use<> {
    let secrets = sql.secrets();
    move |row| {
        let mut job = as_stored(row)?;
        secrets::open_job(secrets.as_ref(), (job.id.0, job.connector.as_deref()), &mut job.definition);
        Ok(job)
    }
}

/// All jobs, by name.
pub fn list(sql: &mut Sql<'_>) -> Result<Vec<Job>> {
    let read = opened(sql);
    sql.query(&queries::JOB_LIST, &[], read)
}

/// All jobs, by name, with their secrets as they are stored.
pub(crate) fn list_as_stored(sql: &mut Sql<'_>) -> Result<Vec<Job>> {
    sql.query(&queries::JOB_LIST, &[], as_stored)
}

/// At most so many jobs behind a name, by name in the order of its bytes: whoever shows a few of many does not read them all.
pub fn page(sql: &mut Sql<'_>, after: &str, most: usize) -> Result<Vec<Job>> {
    let read = opened(sql);
    sql.query(&queries::JOB_PAGE, &[Value::Text(after), Value::Int(most as i64)], read)
}

/// Handles and names of all jobs, by name.
pub fn names(sql: &mut Sql<'_>) -> Result<Vec<(JobId, String)>> {
    sql.query(&queries::JOB_NAMES, &[], |row| Ok((JobId(row.int(0)?), row.text(1)?)))
}

/// Where a job is: what changes of it without its definition.
#[derive(Clone, Debug)]
pub struct Current {
    /// Its handle.
    pub id: JobId,
    /// As in [`Job`].
    pub state: State,
    /// As in [`Job`].
    pub run: i64,
    /// As in [`Job`].
    pub revision: i64,
    /// As in [`Job`].
    pub paused: bool,
    /// As in [`Job`].
    pub scheduled_at: i64,
    /// As in [`Job`].
    pub restart: Option<RunKind>,
    /// As in [`Job`].
    pub rereads: i64,
}

impl Current {
    /// The job as it stands by now, where its definition was read before.
    #[must_use]
    pub fn of(&self, job: &Job) -> Job {
        let Current { id, state, run, revision, paused, scheduled_at, restart, rereads } = self.clone();
        Job { id, state, run, revision, paused, scheduled_at, restart, rereads, ..job.clone() }
    }
}

/// Where all jobs are, by name: whoever looks often does not read all definitions each time.
pub fn current(sql: &mut Sql<'_>) -> Result<Vec<Current>> {
    sql.query(&queries::JOB_CURRENT, &[], |row| {
        Ok(Current {
            id: JobId(row.int(0)?),
            state: row.word(1, State::parse)?,
            run: row.int(2)?,
            revision: row.int(3)?,
            paused: row.int(4)? != 0,
            scheduled_at: row.int(5)?,
            restart: row.opt_word(6, RunKind::parse)?,
            rereads: row.int(7)?,
        })
    })
}

/// What is watched of a job.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Its name.
    pub name: String,
    /// Where it is in its life.
    pub state: State,
    /// A person paused it.
    pub paused: bool,
    /// Documents in its inventory.
    pub documents: u64,
    /// How its last run ended; none while one is under way, and before there was one.
    pub outcome: Option<RunOutcome>,
    /// Counters of its last run as JSON.
    pub counts: Option<String>,
    /// When a run of it has ended well last, milliseconds since 1970 UTC, of the runs that are kept.
    pub succeeded_at: Option<i64>,
}

/// What is watched of all jobs, by name, without counting a document.
pub fn figures(sql: &mut Sql<'_>) -> Result<Vec<Figures>> {
    sql.query(&queries::JOB_FIGURES, &[], |row| {
        Ok(Figures {
            name: row.text(0)?,
            state: row.word(1, State::parse)?,
            paused: row.int(2)? != 0,
            documents: row.opt_int(3)?.unwrap_or(0).max(0) as u64,
            outcome: row.opt_word(4, RunOutcome::parse)?,
            counts: row.opt_text(5)?,
            succeeded_at: row.opt_int(6)?,
        })
    })
}

/// The job of that name.
pub fn by_name(sql: &mut Sql<'_>, name: &str) -> Result<Option<Job>> {
    let read = opened(sql);
    sql.one(&queries::JOB_BY_NAME, &[Value::Text(name)], read)
}

/// Jobs of a repository connection for one root.
pub fn by_root(sql: &mut Sql<'_>, repository: ConnectionId, root: &str) -> Result<Vec<Job>> {
    let read = opened(sql);
    sql.query(&queries::JOB_BY_ROOT, &[Value::Int(repository.0), Value::Text(root)], read)
}

/// Which jobs there are, as a number that another set of definitions does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    jobs: i64,
    revisions: i64,
    newest: i64,
}

/// The jobs as they stand: cheap to compare before [`list`].
pub fn version(sql: &mut Sql<'_>) -> Result<Version> {
    let read = |row: &Row<'_>| Ok(Version { jobs: row.int(0)?, revisions: row.int(1)?, newest: row.int(2)? });
    let version = sql.one(&queries::JOB_VERSION, &[], read)?;
    Ok(version.unwrap_or(Version { jobs: 0, revisions: 0, newest: 0 }))
}

/// One job by handle.
pub fn get(sql: &mut Sql<'_>, id: JobId) -> Result<Option<Job>> {
    let read = opened(sql);
    sql.one(&queries::JOB_BY_HANDLE, &[Value::Int(id.0)], read)
}

/// A definition as it is stored: its secrets sealed.
fn text_of(sql: &mut Sql<'_>, job: (JobId, Option<&str>), definition: &Definition) -> Result<String> {
    let (id, connector) = job;
    let sealed = secrets::seal_job(sql, (id.0, connector), definition)?;
    Ok(serde_json::to_string(&sealed).expect("a definition is made of strings, numbers and flags"))
}

/// Seals what is plain in a job that was read as it is stored.
pub(crate) fn seal(sql: &mut Sql<'_>, job: &Job) -> Result<()> {
    let text = text_of(sql, (job.id, job.connector.as_deref()), &job.definition)?;
    sql.execute(&queries::JOB_SEAL, &[Value::Int(job.id.0), Value::Text(&text)])?;
    Ok(())
}

/// Adds a job that rests.
pub fn add(
    sql: &mut Sql<'_>,
    repository: ConnectionId,
    root: &str,
    definition: &Definition,
    now: i64,
) -> Result<JobId> {
    let id = take_ids(sql, "handle", 1)?;
    let connector = connections::get(sql, repository)?.map(|connection| connection.kind);
    let text = text_of(sql, (JobId(id), connector.as_deref()), definition)?;
    let values = [
        Value::Int(id),
        Value::Text(&definition.name),
        Value::Int(repository.0),
        Value::Text(root),
        Value::Text(&text),
        Value::Int(now),
    ];
    sql.execute(&queries::JOB_ADD, &values)?;
    for kind in [HistoryKind::Runs, HistoryKind::Failures] {
        history::know_from(sql, JobId(id), kind, now)?;
    }
    Ok(JobId(id))
}

/// Changes the definition of a job that was looked up in this transaction. Where an output comes back before it has lost what it held of the
/// job, what it was sent and did not confirm is wanted again.
///
/// # Errors
/// `Conflict` where another transaction has changed the job since; what the database says.
pub fn define(sql: &mut Sql<'_>, seen: &Job, definition: &Definition, now: i64) -> Result<()> {
    let (id, before) = (seen.id, &seen.definition);
    if before.retired.iter().any(|name| definition.outputs.contains(name)) {
        let unconfirmed = sql.query(&queries::DELIVERY_UNCONFIRMED, &[Value::Int(id.0)], |row| row.int(0))?;
        let wanted = |document| VisitRequest { document, due: 0, reason: VisitReason::Settings };
        queue::enqueue(sql, id, 0, &unconfirmed.into_iter().map(wanted).collect::<Vec<_>>())?;
    }
    if definition.schedule != Some(Schedule::Continuous) {
        dates::leave(sql, id)?;
    }
    let scheduled_at = (before.schedule != definition.schedule).then_some(now);
    let text = text_of(sql, (id, seen.connector.as_deref()), definition)?;
    let values =
        [Value::Int(id.0), Value::Text(&text), Value::OptInt(scheduled_at), Value::Int(seen.revision)];
    as_seen(seen, sql.execute(&queries::JOB_DEFINE, &values)?)
}

/// The source of a job that was looked up in this transaction is elsewhere now.
///
/// # Errors
/// `Conflict` where another transaction has changed the job since; what the database says.
pub fn relocate(sql: &mut Sql<'_>, job: &Job, root: &str, definition: &Definition) -> Result<()> {
    let text = text_of(sql, (job.id, job.connector.as_deref()), definition)?;
    let values = [Value::Int(job.id.0), Value::Text(root), Value::Text(&text), Value::Int(job.revision)];
    as_seen(job, sql.execute(&queries::JOB_RELOCATE, &values)?)
}

/// Whatever is made of a job that somebody else has changed would undo the change, or be lost.
fn as_seen(job: &Job, changed: u64) -> Result<()> {
    match changed {
        0 => Err(StoreError::Conflict(format!("job {} was changed meanwhile", job.name))),
        _ => Ok(()),
    }
}

/// Remembers the fingerprint of the credentials that the source was listed with.
pub fn remember_credentials(sql: &mut Sql<'_>, id: JobId, fingerprint: &str) -> Result<()> {
    sql.execute(&queries::JOB_CREDENTIALS, &[Value::Int(id.0), Value::Text(fingerprint)])?;
    Ok(())
}

/// Pauses a job, or ends the pause.
pub fn pause(sql: &mut Sql<'_>, id: JobId, paused: bool) -> Result<()> {
    sql.execute(&queries::JOB_PAUSE, &[Value::Int(id.0), Value::Int(i64::from(paused))])?;
    Ok(())
}

/// Another run of that kind is wanted as soon as the one under way has ended, or none.
pub fn ask_restart(sql: &mut Sql<'_>, id: JobId, kind: Option<RunKind>) -> Result<()> {
    let values = [Value::Int(id.0), Value::OptText(kind.map(RunKind::as_str))];
    sql.execute(&queries::JOB_RESTART, &values)?;
    Ok(())
}

/// Another run of that kind is wanted behind the one under way, which is stopped for something else than a person's wish: where a person has
/// stopped it, or it is over by now, none is.
pub fn restart_stopped(sql: &mut Sql<'_>, id: JobId, kind: RunKind) -> Result<()> {
    sql.execute(&queries::JOB_RESTART_STOPPED, &[Value::Int(id.0), Value::Text(kind.as_str())])?;
    Ok(())
}

/// The next run trusts no version.
pub fn ask_reread(sql: &mut Sql<'_>, id: JobId) -> Result<()> {
    sql.execute(&queries::JOB_REREAD, &[Value::Int(id.0)])?;
    Ok(())
}

/// A run that found the demand `rereads` times has read everything again.
pub fn reread(sql: &mut Sql<'_>, id: JobId, rereads: i64) -> Result<()> {
    sql.execute(&queries::JOB_REREAD_DONE, &[Value::Int(id.0), Value::Int(rereads)])?;
    Ok(())
}

/// Opens the next run: its number. None when the job is paused, is being deleted or is gone.
pub fn begin(sql: &mut Sql<'_>, id: JobId) -> Result<Option<i64>> {
    sql.one(&queries::JOB_BEGIN, &[Value::Int(id.0)], |row| row.int(0))
}

/// The next run could not begin, and why: told until one does.
pub fn refuse(sql: &mut Sql<'_>, id: JobId, why: &str) -> Result<()> {
    sql.execute(&queries::JOB_REFUSE, &[Value::Int(id.0), Value::Text(why)])?;
    Ok(())
}

fn moved(sql: &mut Sql<'_>, statement: &'static queries::Statement, id: JobId, run: i64) -> Result<bool> {
    Ok(sql.execute(statement, &[Value::Int(id.0), Value::Int(run)])? == 1)
}

/// Working → sweeping; false when refused.
pub fn drain(sql: &mut Sql<'_>, id: JobId, run: i64) -> Result<bool> {
    moved(sql, &queries::JOB_DRAIN, id, run)
}

/// Sweeping → ending; false when refused.
pub fn sweep(sql: &mut Sql<'_>, id: JobId, run: i64) -> Result<bool> {
    moved(sql, &queries::JOB_SWEEP, id, run)
}

/// Starting, working or sweeping → stopping; false when refused.
pub fn stop(sql: &mut Sql<'_>, id: JobId, run: i64) -> Result<bool> {
    moved(sql, &queries::JOB_STOP, id, run)
}

/// Ending or stopping → resting; `goes_on`: stopping → starting, for another run is to go on with it; false when refused.
pub fn rest(sql: &mut Sql<'_>, id: JobId, run: i64, error: Option<&str>, goes_on: bool) -> Result<bool> {
    let values = [Value::Int(id.0), Value::Int(run), Value::OptText(error), Value::Int(i64::from(goes_on))];
    Ok(sql.execute(&queries::JOB_REST, &values)? == 1)
}

/// What an interrupted run left behind, or what was to go on by itself, does so no more; false when nothing did.
pub fn let_rest(sql: &mut Sql<'_>, id: JobId) -> Result<bool> {
    Ok(sql.execute(&queries::JOB_LET_REST, &[Value::Int(id.0)])? == 1)
}

/// The job is to go; also from a run whose process died.
pub fn delete(sql: &mut Sql<'_>, id: JobId) -> Result<()> {
    sql.execute(&queries::JOB_DELETE, &[Value::Int(id.0)])?;
    Ok(())
}

/// Forgets a deleted job with its runs and counters, once its documents are gone.
pub fn forget(sql: &mut Sql<'_>, id: JobId) -> Result<()> {
    // The job itself first: whoever writes something for it at this moment is waited for, and what they have written goes, too.
    for statement in [
        &queries::JOB_FORGET,
        &queries::RUN_REMOVE,
        &queries::TALLY_REMOVE,
        &queries::HISTORY_FROM_REMOVE,
        &queries::ERASED_DROP,
        &queries::CONTAINER_PENDING_LEAVE,
        &queries::CONTAINER_PENDING_REMOVE,
    ] {
        sql.execute(statement, &[Value::Int(id.0)])?;
    }
    for statement in [&queries::LISTED_IDS_DROP, &queries::BLIND_SPOT_DROP, &queries::REMOVED_DROP] {
        sql.execute(statement, &[Value::Int(id.0), Value::Int(i64::MAX)])?;
    }
    containers::changed(sql)
}
