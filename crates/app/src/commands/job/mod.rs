//! `ingather job …`: what there is, what it holds, and its end.

use ingather_model::job::Priority;
use ingather_model::job::RunKind;
use ingather_model::lifecycle::job::State;
use ingather_model::lifecycle::outcome::{GuardState, RunOutcome};
use ingather_operations::jobs::schedule::ToldSchedule;
use ingather_operations::jobs::{
    self, AbortJob, BlindSpot, ConfirmRemovals, DefineJob, Defined, DeleteJob, Deletion, DeletionCounts,
    HeldCause, HeldJob, ListJobs, ListRuns, PauseJob, Paused, Removals, RestartJob, ResumeJob, Run, ShowJob,
    ShownJob, StartJob,
};
use ingather_operations::pipeline;

use super::pages;

mod again;
pub(super) mod history;
mod moving;
pub(super) mod notices;
mod progress;
pub(super) mod report;
pub(super) mod wait;

use crate::arguments::{Global, Job};
use crate::exit::{self, Failure, Result};
use crate::wiring::{Program, caller};
use crate::{interrupt, show};

pub(crate) fn run(global: &Global, command: Job) -> Result<u8> {
    let program = Program::of(global)?;
    match command {
        Job::List => list(&program),
        Job::Show { job } => show_one(&program, job),
        Job::Runs { job, limit } => list_runs(&program, &job, limit),
        Job::Define(define) => define_job(&program, *define),
        Job::Start { job, minimal } => start(&program, job, minimal),
        Job::Abort { job } => abort(&program, job),
        Job::Restart { job, minimal } => restart(&program, job, minimal),
        Job::Wait { job, timeout } => wait::run(&program, &job, timeout),
        Job::ResetSeeding { job, dry_run } => again::reset_seeding(&program, job, dry_run),
        Job::Resend { job, output, dry_run } => again::resend(&program, job, output, dry_run),
        Job::Pause { job } => {
            tell_paused(global, &jobs::PAUSE.call(&program.context(), &caller(), PauseJob { job })?)
        }
        Job::Resume { job } => {
            tell_paused(global, &jobs::RESUME.call(&program.context(), &caller(), ResumeJob { job })?)
        }
        Job::Move { job, root, dry_run, anyway } => moving::run(&program, job, &root, dry_run, anyway),
        Job::Held { job, limit } => held(&program, &job, limit),
        Job::Confirm { job, run } => confirm(&program, ConfirmRemovals { job, run }),
        Job::Delete { job, dry_run, yes } => delete(&program, job, dry_run, yes),
    }
}

fn define_job(program: &Program<'_>, mut define: crate::arguments::DefineJob) -> Result<u8> {
    let request = DefineJob::of(super::sync::definition(&define.source, &mut define.job)?);
    let defined = jobs::DEFINE.call(&program.context(), &caller(), request)?;
    if program.global.json {
        show::answer(&defined);
    } else if !program.global.quiet {
        let Defined { job, made, changes, .. } = &defined;
        show::line(&match (made, changes.is_empty()) {
            (true, _) => {
                format!("job {job} is made; `ingather job start {job}` runs it, or its schedule does")
            }
            (false, true) => format!("job {job} is as it was"),
            (false, false) => format!("job {job} changes: {}", changes.join("; ")),
        });
    }
    Ok(exit::DONE)
}

fn list(program: &Program<'_>) -> Result<u8> {
    let global = program.global;
    let (mut begun, mut rows) = (true, Vec::new());
    let ask = |limit: u32, cursor: Option<String>| {
        let page = jobs::LIST.call(&program.context(), &caller(), ListJobs { limit, cursor })?;
        begun = page.begun;
        let works = page.works;
        Ok((page.jobs.into_iter().map(|job| (job, works)).collect(), page.next))
    };
    let row = |(job, works): (jobs::Job, bool)| {
        let outcome = job.run.as_ref().map_or("never ran", outcome_of).to_owned();
        let when = job.run.as_ref().map_or(String::new(), |run| show::time(run.started_at));
        let state = state_of(&job, works);
        vec![job.job, state, show::number(job.documents), outcome, when, job.outputs.join(", "), job.root]
    };
    pages::each(u32::MAX, ask, |found| match global.json {
        true => show::answer(&found.0),
        false => rows.push(row(found)),
    })?;
    if global.json {
        return Ok(exit::DONE);
    }
    if begun {
        show::table(&["JOB", "STATE", "DOCUMENTS", "LAST RUN", "STARTED", "OUTPUTS", "SOURCE"], &rows);
    } else if !global.quiet {
        show::stderr("there are no jobs yet; begin with `ingather sync FOLDER`");
    }
    Ok(exit::DONE)
}

/// The state of a job as people read it; a run whose process is gone goes on with the next one.
fn state_word(state: State, works: bool) -> &'static str {
    match state {
        State::Resting => "idle",
        State::Starting => "waiting to begin",
        State::Working | State::Sweeping | State::Ending if !works => "stopped",
        State::Working | State::Sweeping | State::Ending => "running",
        State::Stopping | State::Deleting | State::Gone => state.as_str(),
    }
}

fn state_of(job: &jobs::Job, works: bool) -> String {
    state_in_words(job.state, works, job.paused)
}

pub(super) fn state_in_words(state: State, works: bool, paused: bool) -> String {
    let state = state_word(state, works);
    if paused { format!("{state}, paused") } else { state.to_owned() }
}

fn outcome_of(run: &Run) -> &'static str {
    match (run.outcome, run.guard) {
        (Some(RunOutcome::Done), Some(GuardState::Held)) => "done, removals held",
        (Some(RunOutcome::Done), Some(GuardState::Confirmed)) => "done, removals confirmed",
        (Some(RunOutcome::Done), Some(GuardState::Void)) => "done, held removals void",
        (Some(outcome), _) => outcome.as_str(),
        (None, _) => "not ended",
    }
}

fn show_one(program: &Program<'_>, job: String) -> Result<u8> {
    let ShownJob { job, works, blind } = jobs::SHOW.call(&program.context(), &caller(), ShowJob { job })?;
    if program.global.json {
        show::answer(&job);
        return Ok(exit::DONE);
    }
    show::line(&format!("job        {}", job.job));
    show::line(&format!("source     {}", job.root));
    show::line(&format!("stages     {}", pipeline::in_words(&job.definition.stages)));
    show::line(&format!("outputs    {}", job.outputs.join(", ")));
    for way in job.outputs.iter().filter_map(|output| pipeline::way_to(&job.definition, output)) {
        show::line(&format!("           {way}"));
    }
    show::line(&format!("keep       {}", job.keep.as_str()));
    if job.definition.priority != Priority::default() {
        show::line(&format!("priority   {}", job.definition.priority.number()));
    }
    if let Some(schedule) = &job.schedule {
        tell_schedule(schedule);
    }
    if !job.definition.hops.counts_nothing() {
        show::line(&format!("hops       {}", job.definition.hops.describe()));
    }
    if !job.definition.dates.is_default() {
        show::line(&format!("dates      {}", job.definition.dates.describe()));
    }
    for notify in &job.definition.notify {
        show::line(&format!("notify     {}", notify.describe()));
    }
    if !job.definition.history.is_default() {
        show::line(&format!("history    {}", job.definition.history.describe()));
    }
    show::line(&format!("state      {}", state_of(&job, works)));
    if let Some(hold) = &job.hold {
        show::line(&format!("           {hold}"));
    }
    show::line(&format!("documents  {}", progress::documents(&job)));
    if let Some(progress) = &job.progress {
        progress::tell(progress);
    }
    if let Some(run) = &job.run {
        let when = show::time(run.started_at);
        show::line(&format!("last run   {} · {when} · {}", run.run, outcome_of(run)));
        if run.guard == Some(GuardState::Held) {
            show::line(&format!("held       see `ingather job held {}`", job.job));
        }
    }
    for BlindSpot { scope, cause, message } in &blind {
        show::line(&format!("blind      {scope} ({cause}): {message}"));
    }
    if let Some(error) = &job.error {
        show::line(&format!("error      {error}"));
    }
    show::line(&format!("settings   {}", job.definition.source));
    Ok(exit::DONE)
}

fn tell_schedule(schedule: &ToldSchedule) {
    show::line(&format!("schedule   {}", schedule.words));
    if schedule.continuous {
        let sentence = match &schedule.unwatched {
            Some(unwatched) => unwatched.as_str(),
            None => "while `ingather serve` runs",
        };
        return show::line(&format!("           {sentence}"));
    }
    let next: Vec<String> = schedule.next.iter().map(|at| show::time(*at)).collect();
    show::line(&match (&schedule.problem, next.is_empty()) {
        (Some(problem), _) => format!("           {problem}"),
        (None, true) => "           it begins no more; change it to go on".to_owned(),
        (None, false) => format!("           next {}, by `ingather serve`", next.join(", ")),
    });
}

fn list_runs(program: &Program<'_>, job: &str, limit: u32) -> Result<u8> {
    let ask = |limit: u32, cursor: Option<String>| {
        let request = ListRuns { job: job.to_owned(), limit, cursor };
        let page = jobs::RUNS.call(&program.context(), &caller(), request)?;
        Ok((page.runs, page.next))
    };
    let mut runs = Vec::new();
    pages::each(limit, ask, |run| runs.push(run))?;
    if program.global.json {
        runs.iter().for_each(show::answer);
        return Ok(exit::DONE);
    }
    let row = |run: &Run| {
        let b = run.counts;
        let took = run.ended_at.map_or(String::new(), |end| show::seconds(end - run.started_at));
        let mut row = vec![run.run.to_string(), run.kind.to_string(), show::time(run.started_at), took];
        row.push(outcome_of(run).to_owned());
        let counts = [b.seen(), b.added, b.updated, b.access, b.deleted, b.held, b.kept, b.failed];
        row.extend(counts.map(show::number));
        row
    };
    let rows: Vec<Vec<String>> = runs.iter().map(row).collect();
    let headings = [
        "RUN", "KIND", "STARTED", "TOOK", "OUTCOME", "SEEN", "ADDED", "UPDATED", "ACCESS", "DELETED", "HELD",
        "KEPT", "FAILED",
    ];
    show::table(&headings, &rows);
    Ok(exit::DONE)
}

fn start(program: &Program<'_>, job: String, minimal: bool) -> Result<u8> {
    let mode = if minimal { RunKind::Minimal } else { RunKind::Full };
    let started = jobs::START.call(
        &program.context(),
        &caller(),
        StartJob { job, mode, guard_off: false, accepts_devices: false, rereads: false },
    )?;
    match &started.ended {
        Some(synced) => return super::sync::tell(program, synced),
        None if program.global.json => show::answer(&started),
        None if !program.global.quiet => show::stderr(&format!("a run of job {} was begun", started.job)),
        None => {}
    }
    Ok(exit::DONE)
}

fn restart(program: &Program<'_>, job: String, minimal: bool) -> Result<u8> {
    let mode = if minimal { RunKind::Minimal } else { RunKind::Full };
    let restarted = jobs::RESTART.call(&program.context(), &caller(), RestartJob { job, mode })?;
    let name = &restarted.job;
    match (&restarted.ended, restarted.stopping) {
        (Some(synced), _) => return super::sync::tell(program, synced),
        (None, _) if program.global.json => show::answer(&restarted),
        (None, _) if program.global.quiet => {}
        (None, true) => {
            show::stderr(&format!("the run of job {name} stops, and another one begins when it has ended"))
        }
        (None, false) => show::stderr(&format!("a run of job {name} was begun")),
    }
    Ok(exit::DONE)
}

fn abort(program: &Program<'_>, job: String) -> Result<u8> {
    let aborted = jobs::ABORT.call(&program.context(), &caller(), AbortJob { job })?;
    if program.global.json {
        show::answer(&aborted);
    } else if aborted.stopping {
        show::line(&format!("job {} stops", aborted.job));
    } else if aborted.rests {
        show::line(&format!("job {} rests: its last run does not go on by itself", aborted.job));
    } else {
        show::line(&format!("job {} is not worked on here", aborted.job));
    }
    Ok(exit::DONE)
}

fn tell_paused(global: &Global, told: &Paused) -> Result<u8> {
    let Paused { job, paused, heard } = told;
    let run = if *heard { ", its run is under way" } else { "" };
    match (global.json, paused) {
        (true, _) => show::answer(told),
        (false, true) => {
            show::line(&format!("job {job} is paused{run}; `ingather job resume {job}` ends the pause"))
        }
        (false, false) => show::line(&format!("job {job} is not paused{run}")),
    }
    Ok(exit::DONE)
}

fn held(program: &Program<'_>, job: &str, limit: u32) -> Result<u8> {
    let global = program.global;
    let (mut run, mut total, mut removals) = (0, 0, Vec::new());
    let ask = |limit: u32, cursor: Option<String>| {
        let request = HeldJob { job: job.to_owned(), limit, cursor };
        let page = jobs::HELD.call(&program.context(), &caller(), request)?;
        (run, total) = (page.run, page.total);
        Ok((page.removals, page.next))
    };
    pages::each(limit, ask, |removal| removals.push(removal))?;
    removals.sort_by(|one, other| one.document.cmp(&other.document));
    removals.iter().for_each(|held| match global.json {
        true => show::answer(held),
        false => show::line(&format!("{:<11}  {}", cause_in_words(held.cause), held.document)),
    });
    if !global.json && !global.quiet {
        if removals.iter().any(|held| held.cause == HeldCause::Unknown) {
            show::stderr(&format!(
                "what is not checked here is asked for by runs alone, or its source is away: \
                 `ingather document explain {job} NAME` says what is known of it"
            ));
        }
        show::stderr(&match total {
            0 => format!("no removals are held for job {job}"),
            n => format!(
                "{} {} held by run {run}; carry out with `ingather job confirm {job} --run {run}`",
                show::counted(n, "removal"),
                show::are(n),
            ),
        });
    }
    Ok(exit::DONE)
}

fn cause_in_words(cause: HeldCause) -> &'static str {
    match cause {
        HeldCause::Absent => "gone",
        HeldCause::Excluded => "left out",
        HeldCause::Present => "there again",
        HeldCause::Unknown => "not checked",
    }
}

fn confirm(program: &Program<'_>, request: ConfirmRemovals) -> Result<u8> {
    let run = request.run;
    let removed = jobs::CONFIRM.call(&program.context(), &caller(), request)?;
    tell(program.global, &removed);
    if removed.stopped {
        show::stderr(&format!("stopped; `ingather job confirm {} --run {run}` goes on", removed.line.job));
        return Ok(interrupt::code());
    }
    Ok(if removed.line.kept > 0 { exit::HAS_FAILURES } else { exit::DONE })
}

fn tell(global: &Global, removed: &Removals) {
    if global.json {
        show::answer(&removed.line);
    } else if !global.quiet {
        let kept = match removed.line.kept {
            0 => String::new(),
            n => format!(", {} kept: they are there again, or could not be checked", show::number(n)),
        };
        show::line(&format!("{}: {} removed{kept}", removed.line.job, show::number(removed.line.deleted)));
    }
}

/// What outputs keep of a job that goes.
fn stay(counts: &DeletionCounts) -> String {
    match counts.shared {
        0 => String::new(),
        n => format!(", but for {} that other jobs have sent, too", show::number(n)),
    }
}

fn delete(program: &Program<'_>, name: String, dry_run: bool, yes: bool) -> Result<u8> {
    let global = program.global;
    let asks = !yes && !global.json && !global.quiet && show::is_person();
    let ask = |dry_run: bool| {
        jobs::DELETE.call(&program.context(), &caller(), DeleteJob { job: name.clone(), dry_run })
    };
    if dry_run || asks {
        let Deletion::Counted(counts) = ask(true)? else { return Ok(exit::DONE) };
        let outputs = counts.outputs.join(", ");
        let total = show::counted(counts.documents, "document");
        if dry_run && global.json {
            show::answer(&counts);
        } else if dry_run {
            show::line(&format!(
                "{name}: {total} would be removed from {outputs}{} (dry run, nothing was written)",
                stay(&counts)
            ));
        }
        if dry_run {
            return Ok(exit::DONE);
        }
        let stays = stay(&counts);
        if !show::ask(&format!("delete job {name} and remove its {total} from {outputs}{stays}?")) {
            return Err(Failure::usage("nothing was deleted"));
        }
    }
    match ask(false)? {
        Deletion::Counted(_) => Ok(exit::DONE),
        Deletion::Done(deleted) => Ok(tell_deleted(global, &deleted)),
    }
}

/// Says what a deletion did; the exit code.
fn tell_deleted(global: &Global, deleted: &jobs::Deleted) -> u8 {
    let jobs::Deleted { removals: removed, counts, resends } = deleted;
    let name = &removed.line.job;
    tell(global, removed);
    if counts.shared > 0 && !global.json && !global.quiet {
        show::stderr(&format!(
            "{} of them stay in {}, for other jobs have sent them, too",
            show::number(counts.shared),
            counts.outputs.join(", ")
        ));
    }
    if removed.stopped {
        show::stderr(&format!("stopped; `ingather job delete {name}` goes on"));
        return interrupt::code();
    }
    super::tell_resends(global, resends);
    if removed.unaddressable > 0 {
        show::stderr(&format!(
            "the names of {} are lost, so that nobody can say what is to be removed from outputs: run \
             `ingather verify --repair`, which removes what it finds of them, then `ingather job delete {name}` again",
            show::counted(removed.unaddressable, "document")
        ));
    }
    if removed.line.kept > removed.unaddressable {
        show::stderr(&format!(
            "an output did not confirm {}; `ingather job delete {name}` tries again",
            show::counted(removed.line.kept - removed.unaddressable, "removal")
        ));
    }
    if removed.line.kept > 0 { exit::HAS_FAILURES } else { exit::DONE }
}
