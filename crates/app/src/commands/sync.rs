//! `ingather sync`: reads flags into a request, says what came of it.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ingather_model::job::hops::Hops;
use ingather_model::names;
use ingather_operations::jobs::sync::{self, Changing, ContentByWord, SyncSource, Synced};
use ingather_operations::jobs::{self, ConfirmRemovals};
use ingather_operations::pipeline::{GivenOutput, RoutedOutput};
use ingather_operations::problem::Code;
use serde_json::{Map, Value, json};

mod all;
mod patterns;
mod remote;
pub(super) mod source;
mod told;

use crate::arguments::{self, Global, JobSettings, OnOff, Sync};
use crate::exit::{Failure, Result};
use crate::show;
use crate::wiring::{Program, caller};

pub(crate) fn run(global: &Global, mut arguments: Sync) -> Result<u8> {
    let program = Program::of(global)?;
    match arguments.source.take() {
        Some(source) => {
            let request = request(&program, &source, &mut arguments)?;
            tell(&program, &synced(&program, request)?)
        }
        None => all::run(&program, arguments),
    }
}

/// One run, by this program or by a service.
fn synced(program: &Program<'_>, request: SyncSource) -> Result<Synced> {
    match &program.global.server {
        Some(_) => remote::run(program, request),
        None => answer(program, request),
    }
}

/// Says what a run did; the exit code.
pub(super) fn tell(program: &Program<'_>, synced: &Synced) -> Result<u8> {
    let global = program.global;
    told::tell(global, synced);
    super::tell_resends(global, &synced.resends);
    if !global.json {
        synced.overlaps.iter().for_each(|overlap| show::stderr(overlap));
    }
    let confirmed = offer(program, synced)?;
    Ok(told::code(synced, confirmed))
}

fn answer(program: &Program<'_>, mut request: SyncSource) -> Result<Synced> {
    let global = program.global;
    let asks = !global.quiet && !global.json && show::is_person();
    let ask = |request: SyncSource| sync::SYNC.call(&program.context(), &caller(), request, &mut tell_change);
    match ask(request.clone()) {
        Err(problem)
            if problem.code == Code::WholeMachine
                && asks
                && show::ask("the source is /, everything on this machine; index all of it?") =>
        {
            request.whole_machine = true;
            ask(request)
        }
        other => other,
    }
}

fn tell_change(changing: Changing) {
    show::stderr(&format!("job {} changes: {}", changing.job, changing.changes.join("; ")));
    show::stderr(&format!(
        "this will lead to: {}",
        ingather_operations::in_words::sentence(&changing.leads_to)
    ));
}

/// What the flags ask for; those that are left out change nothing.
fn request(program: &Program<'_>, source: &Path, sync: &mut Sync) -> Result<SyncSource> {
    let request = SyncSource {
        accepts_devices: sync.accept_devices,
        rereads: sync.reread,
        minimal: sync.minimal,
        dry_run: sync.dry_run,
        advise: !program.global.quiet,
        ..definition(source, &mut sync.job)?
    };
    Ok(match all::named(program, source, &request)? {
        Some(job) => SyncSource { root: job.root, name: Some(job.job), ..request },
        None => request,
    })
}

/// What the flags say of a job.
pub(super) fn definition(source: &Path, job: &mut JobSettings) -> Result<SyncSource> {
    patterns::take_in(job)?;
    let root = source::canonical(source)?;
    let pipeline = job.pipeline.as_deref().map(super::pipeline::read).transpose()?.unwrap_or_default();
    let named = job.to.iter().map(|name| GivenOutput::Name(absolute_journal(name))).collect::<Vec<_>>();
    let routed = pipeline.outputs.map(|outputs| outputs.into_iter().map(with_absolute_journal).collect());
    if routed.is_some() && !named.is_empty() {
        return Err(Failure::usage(
            "the file of --pipeline names the outputs, and so does --to; leave one out",
        ));
    }
    Ok(SyncSource {
        root: names::escape(root.as_os_str().as_bytes()).into_owned(),
        name: job.name.clone(),
        source: source_settings(job),
        outputs: routed.or((!named.is_empty()).then_some(named)),
        stages: pipeline.stages,
        compare_content: match (job.compare_content, job.taken_back.no_compare_content) {
            (_, true) => Some(false),
            (true, false) => Some(true),
            (false, false) => None,
        },
        content_by: job.content_by.map(|word| match word {
            arguments::ContentByWord::Read => ContentByWord::Read,
            arguments::ContentByWord::Times => ContentByWord::Times,
        }),
        keep: job.keep.map(|word| match word {
            arguments::KeepWord::Extracted => jobs::KeepWord::Extracted,
            arguments::KeepWord::Nothing => jobs::KeepWord::Nothing,
        }),
        priority: job.priority,
        hops: hops(&job.hops)?,
        history: job.history.map(|word| match word {
            arguments::HistoryWord::Failures => jobs::HistoryWord::Failures,
            arguments::HistoryWord::Documents => jobs::HistoryWord::Documents,
        }),
        history_days: job.history_days,
        dates: job.dates,
        notify: match &job.notify[..] {
            [] => None,
            [none] if none == "none" => Some(Vec::new()),
            names => Some(names.to_vec()),
        },
        schedule: job.schedule.clone().map(Value::String),
        update: job.update,
        guard_off: job.delete_guard.is_some(),
        whole_machine: job.whole_machine,
        ..SyncSource::default()
    })
}

/// Bounds of hops as they are typed; none where nothing is.
fn hops(typed: &[String]) -> Result<Option<Hops>> {
    if typed.is_empty() {
        return Ok(None);
    }
    let mut most = Map::new();
    for text in typed.iter().filter(|text| *text != "none") {
        let bound = text.split_once('=').and_then(|(name, most)| Some((name, most.parse::<u32>().ok()?)));
        let Some((relation, bound)) = bound else {
            return Err(Failure::usage(format!(
                "--hops takes a relation and a number, such as link=3; `{text}` is none"
            )));
        };
        most.insert(relation.to_owned(), bound.into());
    }
    let hops = serde_json::from_value(json!({ "most": most }));
    hops.map(Some).map_err(|why| Failure::usage(why.to_string()))
}

/// Settings of the source that flags set, or take back.
fn source_settings(job: &JobSettings) -> Map<String, Value> {
    let back = &job.taken_back;
    let mut settings = Map::new();
    let mut set = |name: &str, given: bool, value: Value, off: bool| match (given, off) {
        (_, true) => drop(settings.insert(name.to_owned(), Value::Null)),
        (true, false) => drop(settings.insert(name.to_owned(), value)),
        (false, false) => {}
    };
    set("include", !job.include.is_empty(), json!(job.include), back.no_include);
    set("exclude", !job.exclude.is_empty(), json!(job.exclude), back.no_exclude);
    set("ignore_files", job.ignore_files, json!(true), back.no_ignore_files);
    set("skip_hidden", job.skip_hidden, json!(true), back.no_skip_hidden);
    set("size_max", job.size_max.is_some(), json!(job.size_max), back.no_size_max);
    let trusts = job.trust_modes == Some(OnOff::On);
    set("trust_modes", job.trust_modes.is_some(), json!(trusts), false);
    set("other_devices", job.one_file_system, json!(false), back.no_one_file_system);
    settings.extend(job.set.iter().cloned());
    settings
}

fn with_absolute_journal(output: RoutedOutput) -> GivenOutput {
    GivenOutput::Routed(RoutedOutput { output: absolute_journal(&output.output), ..output })
}

/// A journal is named by its absolute path, so that one file has one name.
fn absolute_journal(name: &str) -> String {
    match name.strip_prefix("journal:") {
        Some("") | None => name.to_owned(),
        Some(file) => {
            let path = std::path::absolute(file).unwrap_or_else(|_| PathBuf::from(file));
            format!("journal:{}", path.display())
        }
    }
}

/// On a terminal, asks whether held removals are to be carried out; whether they were.
fn offer(program: &Program<'_>, synced: &Synced) -> Result<bool> {
    let (global, name) = (program.global, &synced.line.job);
    let (Some(run), true) = (synced.line.run, synced.line.held > 0) else { return Ok(false) };
    let (held, are) = (show::counted(synced.line.held, "removal"), show::are(synced.line.held));
    if global.json || global.quiet || !show::is_person() {
        if !global.quiet {
            show::stderr(&format!(
                "{held} {are} held, more than the delete guard lets go; see them with `ingather job held {name}`, \
                 carry them out with `ingather job confirm {name} --run {run}`"
            ));
        }
        return Ok(false);
    }
    if !show::ask(&format!(
        "{} {are} gone from the source, or left out now; remove from the outputs, too?",
        show::counted(synced.line.held, "document")
    )) {
        show::stderr(&format!("held; later: ingather job confirm {name} --run {run}"));
        return Ok(false);
    }
    // The question was the progress that a person watches.
    let quiet = Global { quiet: true, ..global.clone() };
    let program = Program { global: &quiet, ..program.clone() };
    let request = ConfirmRemovals { job: name.clone(), run };
    let removed = jobs::CONFIRM.call(&program.context(), &caller(), request)?;
    show::stderr(&format!("{} removed", show::number(removed.line.deleted)));
    if removed.stopped {
        show::stderr(&format!("stopped; `ingather job confirm {name} --run {run}` goes on"));
    }
    Ok(removed.line.kept == 0)
}
