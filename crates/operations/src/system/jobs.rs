//! What each job needs: a source that can be reached, a run that ended well, and a person where one is needed.

use ingather_engine::Engine;
use ingather_engine::inspect::overlaps;
use ingather_engine::scheduler::interrupted_too_often;
use ingather_model::ids::JobId;
use ingather_model::job::ContentBy;
use ingather_model::job::schedule::Schedule;
use ingather_model::lifecycle::job::State;
use ingather_model::lifecycle::outcome::{FailureKind, GuardState, RunOutcome};
use ingather_model::limits;
use ingather_model::run_counts::{RunCounts, counted, number};
use ingather_store::Reader;
use ingather_store::jobs::{self, Job};
use ingather_store::runs::notices::{self, NoticeState, StoredNotice};
use ingather_store::runs::{self, Run};
use ingather_store::{documents, queue};

use super::Look;
use crate::connections::Sources;
use crate::context::Context;
use crate::in_words::{are, time};
use crate::jobs::moving::addresses::{Placed, clash};
use crate::jobs::resends_in_words;
use crate::jobs::status::{missing_names, refused};
use crate::jobs::sync::overlap_in_words;
use crate::problem::Result;

/// A job whose documents wait for longer since its last run is overdue, milliseconds.
const OVERDUE_MS: i64 = 86_400_000;
/// How a service names what it does, at the end of what the lock says of it.
const SERVICE: &str = "ingather serve";
/// Notices of a job that are looked at.
const UNTOLD_MAX: usize = 100;
/// For so long it is told that somebody could not be told of a run, milliseconds.
const UNTOLD_MS: i64 = 86_400_000;
/// A notice that nobody has tried to tell for so long waits for somebody who does, milliseconds: a service looks at once.
const UNTRIED_MS: i64 = 60_000;
/// Scopes that are named.
const BLIND_MAX: usize = 3;

/// The source of a job, and how its last runs ended.
pub(super) fn of_job(
    context: &Context<'_>,
    engine: &Engine,
    job: &Job,
    holder: Option<&str>,
) -> Result<Vec<Look>> {
    let mut looks = Vec::new();
    let repository = engine.repository(job).map_err(|error| error.to_string());
    let reached = repository
        .as_ref()
        .map_err(Clone::clone)
        .and_then(|repository| repository.check(&context.call()).map_err(|fault| fault.to_string()));
    looks.push(match reached {
        Ok(said) => Look::good("source", format!("job {}: {said}", job.name)),
        Err(error) => Look::bad(
            "source",
            format!("job {}: its source {} cannot be reached: {error}", job.name, job.root),
            format!(
                "mount or free it, until then what is known is kept; if it was renamed or is mounted elsewhere, `ingather job move {0} \
                 NEW-ROOT` goes on there; if it is gone for good, `ingather job delete {0}` removes the job",
                job.name
            ),
        ),
    });
    let notes = repository.map(|repository| repository.notes()).unwrap_or_default();
    looks.extend(notes.into_iter().map(|note| {
        let advice = format!("decide with `ingather sync {} --update` and one of the two", job.root);
        Look::bad("source_access", format!("job {}: {note}", job.name), advice)
    }));
    if job.definition.content_by == ContentBy::Times {
        let what = "content is trusted by size and time (`--content-by times`): a file that was rewritten under its old size and \
                    time, and got another owner, mode or folder, shows its old text to those who may read the new one";
        let advice = format!("`ingather sync {} --content-by read --update` has content looked at", job.root);
        looks.push(Look::noted("content_by", format!("job {}: {what}", job.name), advice));
    }
    looks.extend(of_runs(context, &engine.reader, job, holder)?);
    looks.extend(clashes(context, &engine.reader, job)?);
    for found in engine.reader.read(|sql| overlaps::of_job(sql, job))? {
        // Told once, with the job that is overwritten.
        if found.job == job.name {
            looks.push(Look::bad(
                "overlap",
                overlap_in_words(&found),
                format!("`ingather job delete {}` is one way", found.job),
            ));
        }
    }
    Ok(looks)
}

/// Jobs that give other files the addresses of this one, which was moved: no definition leads there, but one of an earlier version may.
fn clashes(context: &Context<'_>, reader: &Reader, job: &Job) -> Result<Vec<Look>> {
    if job.definition.addresses().is_none() {
        return Ok(Vec::new());
    }
    let mut looks = Vec::new();
    for other in reader.read(jobs::list)? {
        // Told once, where both were moved.
        let is_told = other.definition.addresses().is_some() && other.name < job.name;
        if other.id == job.id || is_told {
            continue;
        }
        if let Some(clash) = clash(&context.registry, Placed::of(job), Placed::of(&other))? {
            looks.push(Look::bad("addresses", clash.says, clash.advice));
        }
    }
    Ok(looks)
}

/// How the last runs of a job ended, and what they left to people. `holder` is who may be at work on it, in words.
pub(super) fn of_runs(
    context: &Context<'_>,
    reader: &Reader,
    job: &Job,
    holder: Option<&str>,
) -> Result<Vec<Look>> {
    let (last, good) = reader.read(|sql| {
        Ok((runs::list(sql, job.id, limits::INTERRUPTIONS_MAX)?, runs::last_good(sql, job.id)?))
    })?;
    let again = run_again(context, job, holder);
    let mut looks = held_back(job, &last);
    // Whoever pushes without a service has what is pushed delivered by that.
    let is_done = Sources::of_root(&job.root).are_pushed()
        && reader.read(|sql| queue::count_due(sql, job.id, i64::MAX))? == 0;
    looks.extend(unattended(job, holder, &again).filter(|_| !is_done));
    let ended = last.first().and_then(|run| run.error.as_deref());
    looks.extend(suspended(context, reader, job, (ended, &again))?);
    looks.push(last_run(job, (last.first(), good.as_ref()), holder, &again));
    if let Some(run) = last.first() {
        looks.extend(what_waits_for_people(reader, job, run, context.now(), &again)?);
    }
    looks.extend(unread(reader, job, last.first())?);
    looks.push(sent_again(reader, job, holder, &again)?);
    looks.push(told_of(reader, job, context.now(), holder)?);
    Ok(looks)
}

pub(crate) fn is_service(holder: Option<&str>) -> bool {
    holder.is_some_and(|holder| holder.ends_with(SERVICE))
}

/// Whether whoever is to be told of runs of a job could be.
fn told_of(reader: &Reader, job: &Job, now: i64, holder: Option<&str>) -> Result<Look> {
    let name = &job.name;
    // No command tells anybody. A service may have no notifiers, or no longer those that are meant.
    let before = if is_service(holder) { now.saturating_sub(UNTRIED_MS) } else { i64::MAX };
    let untold = reader.read(|sql| notices::untold(sql, job.id, before, UNTOLD_MAX))?;
    // What was given up longer ago nobody mends any more; `notices` has it.
    let is_new = |notice: &&StoredNotice| {
        notice.state == NoticeState::Waiting || now.saturating_sub(notice.at) < UNTOLD_MS
    };
    let new: Vec<&StoredNotice> = untold.iter().filter(is_new).collect();
    let Some(last) = new.first() else {
        return Ok(Look::good("notices", format!("job {name}: nobody waits to be told of its runs")));
    };
    let (notifier, run) = (&last.notifier, last.run);
    let why = match &last.error {
        Some(error) => format!(": {error}"),
        None if last.attempts == 0 => ", and nobody tells it".to_owned(),
        None => String::new(),
    };
    let what = match last.state {
        NoticeState::Waiting if last.attempts == 0 => "waits to be told",
        NoticeState::Waiting => "is to be told again",
        NoticeState::Sent | NoticeState::Failed => "could not be told",
    };
    let more = match new.len() as u64 - 1 {
        0 => String::new(),
        others => format!("; {} more", counted(others, "notice")),
    };
    let says = format!("job {name}: notifier {notifier} {what} of run {run}{why}{more}");
    let advice = match last.attempts {
        0 => {
            "`ingather serve --notifiers FILE` tells notifiers that FILE declares; `ingather notices` lists what waits"
        }
        _ => "`ingather notices` lists them; mend what is named, or change the job (--notify)",
    };
    Ok(Look::bad("notices", says, advice.to_owned()))
}

/// How a person begins a run: a service writes alone as long as it works on the data directory.
pub(crate) fn run_again(context: &Context<'_>, job: &Job, holder: Option<&str>) -> String {
    match is_service(holder) {
        true => {
            let data = context.host.data().display();
            format!("`ingather job start {} --server unix:{data}/ingather.sock`", job.name)
        }
        false => format!("`ingather sync` of {}", job.root),
    }
}

/// A source of which the last run could read next to nothing: what fails by itself and for a while is nobody's business, all of it is.
fn unread(reader: &Reader, job: &Job, run: Option<&Run>) -> Result<Option<Look>> {
    let Some(run) = run.filter(|run| run.ended_at.is_some()) else { return Ok(None) };
    let counts: RunCounts =
        run.counts.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let Some(why) = tried_again(reader, job.id)?.filter(|_| counts.waiting * 2 > counts.seen()) else {
        return Ok(None);
    };
    let name = &job.name;
    let says = format!("job {name}: run {} could not read {}: {why}", run.number, share(&counts));
    let advice = format!(
        "mend what is named; until then what is known is kept, and `ingather document list {name} --state waiting` lists it"
    );
    Ok(Some(Look::bad("unread", says, advice)))
}

fn share(counts: &RunCounts) -> String {
    match counts.waiting == counts.seen() {
        true => "anything".to_owned(),
        false => format!("{} of {}", number(counts.waiting), counted(counts.seen(), "document")),
    }
}

/// Why the first of a job's documents is tried again; none where none is.
pub(crate) fn tried_again(reader: &Reader, job: JobId) -> Result<Option<String>> {
    let first =
        reader.read(|sql| documents::list_failures(sql, job, FailureKind::Retrying, i64::MIN, 1))?.pop();
    Ok(first.and_then(|first| Some(format!("{}: {}", first.name, first.failure?.1.message))))
}

/// A schedule that nobody heeds.
fn unattended(job: &Job, holder: Option<&str>, again: &str) -> Option<Look> {
    let schedule = job.definition.schedule.as_ref().filter(|_| !is_service(holder) && !job.paused)?;
    let waits = match schedule {
        Schedule::Continuous => "the changes of its source are followed",
        _ => "its schedule is heeded",
    };
    let sentence = format!("job {}: {waits} by a service alone, and none is at work", job.name);
    let advice = format!(
        "start one with `ingather serve`; without one, use {again}, and `--schedule none --update` there ends this advice"
    );
    Some(Look::bad("unattended", sentence, advice))
}

/// What a job needs and is not there: it goes on by itself when it is.
fn suspended(
    context: &Context<'_>,
    reader: &Reader,
    job: &Job,
    (ended, again): (Option<&str>, &str),
) -> Result<Option<Look>> {
    let name = &job.name;
    let missing = missing_names(context, reader, job)?;
    if !missing.is_empty() {
        let missing = missing.join("`, `");
        let says = format!("job {name}: this program has no connector `{missing}`, which it needs");
        let advice = format!(
            "run a program that has it; until then nothing is removed, and {name} goes on by itself then"
        );
        return Ok(Some(Look::bad("connector", says, advice)));
    }
    Ok(refused(context, job, ended).map(|why| {
        let says = format!("job {name}: its last run could not begin: {why}");
        let advice = format!(
            "mend what is named: `ingather doctor` looks at it again; then {again} goes on, or a schedule does by itself"
        );
        Look::bad("refused", says, advice)
    }))
}

/// What keeps runs of a job from beginning until a person does something.
fn held_back(job: &Job, last: &[Run]) -> Vec<Look> {
    let name = &job.name;
    let mut looks = Vec::new();
    if job.paused {
        let advice = format!("`ingather job resume {name}` ends the pause");
        looks.push(Look::noted("paused", format!("job {name} is paused: no run of it begins"), advice));
    }
    let is_interrupted = job.state != State::Resting && job.restart.is_none();
    if let Some(sentence) = interrupted_too_often(name, last).filter(|_| is_interrupted) {
        let advice = format!("begin it with `ingather job start {name}` once that is mended");
        looks.push(Look::bad("interrupted", format!("job {name}: {sentence}"), advice));
    }
    looks
}

fn last_run(
    job: &Job,
    (last, well): (Option<&Run>, Option<&Run>),
    holder: Option<&str>,
    again: &str,
) -> Look {
    let name = &job.name;
    let when = well.map_or("no run has ended well yet".to_owned(), |run| {
        format!(
            "run {} was the last one that ended well, at {}",
            run.number,
            time(run.ended_at.unwrap_or(run.started_at))
        )
    });
    let advice = format!("{again} goes on; `ingather job show {name}` tells more");
    let Some(run) = last else {
        let sentence = format!("job {name} never ran");
        return match job.definition.schedule.is_some() && is_service(holder) {
            true => Look::good("last_run", format!("{sentence}; its schedule begins it")),
            false => Look::bad("last_run", sentence, format!("{again} begins the first one")),
        };
    };
    match (run.outcome, holder) {
        (Some(RunOutcome::Done), _) => Look::good("last_run", format!("job {name}: {when}")),
        (Some(RunOutcome::Stopped), _) if job.state == State::Starting => Look::noted(
            "last_run",
            format!("job {name}: run {} was put down as its service ended; {when}", run.number),
            format!("`ingather serve` goes on with it by itself, `ingather job start {name}` without one"),
        ),
        (Some(outcome), _) => {
            let why = run.error.as_ref().map_or(String::new(), |error| format!(" ({error})"));
            Look::bad("last_run", format!("job {name}: run {} {outcome}{why}; {when}", run.number), advice)
        }
        (None, Some(holder)) => Look::good(
            "last_run",
            format!("job {name}: run {} is on its way, or waits for {holder}; {when}", run.number),
        ),
        (None, None) => Look::bad(
            "last_run",
            format!("job {name}: the process of run {} died; {when}", run.number),
            advice,
        ),
    }
}

/// What no run can decide or mend: removals that are held, documents that failed, scopes that could not be read, and visits
/// that are due while nothing works on them.
fn what_waits_for_people(reader: &Reader, job: &Job, run: &Run, now: i64, again: &str) -> Result<Vec<Look>> {
    let name = &job.name;
    let (failed, overdue, blind) = reader.read(|sql| {
        let failed = queue::count_failures(sql, job.id, FailureKind::Failed)?;
        Ok((failed, queue::count_due(sql, job.id, now)?, runs::blind_spots(sql, job.id, run.number)?))
    })?;
    let counts: RunCounts =
        run.counts.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let look = |check, bad: bool, good: &str, sentence: String, advice: String| match bad {
        true => Look::bad(check, format!("job {name}: {sentence}"), advice),
        false => Look::good(check, format!("job {name}: {good}")),
    };
    let held = run.guard == Some(GuardState::Held);
    let scopes: Vec<String> =
        blind.iter().take(BLIND_MAX).map(|spot| format!("{} ({})", place(&spot.scope), spot.cause)).collect();
    Ok(vec![
        look(
            "held",
            held,
            "no removals are held",
            format!("{} {} held by run {}", counted(counts.held, "removal"), are(counts.held), run.number),
            format!(
                "`ingather job held {name}` lists them, `ingather job confirm {name} --run {}` carries them out",
                run.number
            ),
        ),
        look(
            "failed",
            failed > 0,
            "no document failed",
            format!("{} failed", counted(failed, "document")),
            format!("`ingather document list {name} --state failed` lists them with their reasons"),
        ),
        look(
            "blind",
            !blind.is_empty(),
            "everything could be read",
            format!(
                "{} could not be read, such as {}",
                counted(blind.len() as u64, "path"),
                scopes.join(", ")
            ),
            format!("what is known there is kept; `ingather job show {name}` tells why"),
        ),
        look(
            "overdue",
            overdue > 0 && run.ended_at.is_some_and(|ended| now - ended > OVERDUE_MS),
            "nothing is overdue",
            format!(
                "{} {} due since {}, when it ran last",
                counted(overdue, "document"),
                are(overdue),
                time(run.ended_at.unwrap_or(run.started_at))
            ),
            format!("{again} goes on with them"),
        ),
    ])
}

/// A scope in words.
fn place(scope: &str) -> &str {
    if scope == "/" { "its whole source" } else { scope }
}

/// What an output lost, and nobody finds until it is sent again.
fn sent_again(reader: &Reader, job: &Job, holder: Option<&str>, again: &str) -> Result<Look> {
    let waits = ingather_engine::jobs::resends(reader, job)?;
    Ok(match resends_in_words(job, waits) {
        // Whoever writes may be about to send it.
        Some(sentence) if holder.is_none() => Look::bad("resend", sentence, format!("{again} sends them")),
        _ => Look::good("resend", format!("job {}: nothing has to be sent again by its next run", job.name)),
    })
}
