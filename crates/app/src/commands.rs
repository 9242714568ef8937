//! The commands, one file each.

mod backup;
mod doctor;
mod document;
mod export;
mod extract;
mod job;
mod journal;
mod lookup;
mod pipeline;
mod search;
mod sync;
mod verify;
mod why;

use clap::CommandFactory;

use ingather_model::ids::JobId;

use crate::arguments::{Arguments, Command, Global, Journal, Selftest};
use crate::exit::{self, Failure, Result};
use crate::{handles, interrupt, show, system_checks, wiring};

/// Does what was asked; the exit code.
pub(crate) fn run(arguments: Arguments) -> Result<u8> {
    let Arguments { global, command } = arguments;
    if global.shared_journal {
        ingather_connectors::share_journals();
    }
    if !command.is_worker() {
        interrupt::looks();
        handles::refuse_too_few(&command, wiring::threads(&global))?;
    }
    if command.reads_files() {
        wiring::require_sandbox(&global)?;
    }
    match command {
        Command::Sync(sync) => sync::run(&global, sync),
        Command::Search(search) => search::run(&global, &search),
        Command::Job(job) => job::run(&global, job),
        Command::Document(document) => document::run(&global, document),
        Command::Pipeline(pipeline) => pipeline::run(&global, pipeline),
        Command::Why { user, document } => why::why(&global, &user, &document),
        Command::Tokens { user } => why::tokens(&global, &user),
        Command::Doctor { repair } => doctor::run(&global, repair),
        Command::Verify { output, repair, limit } => verify::run(&global, output.as_deref(), repair, limit),
        Command::Backup { file } => backup::backup(&global, &file),
        Command::Restore { file } => backup::restore(&global, &file),
        Command::Export => export::run(&global),
        Command::Journal(Journal::Snapshot { files, output }) => {
            journal::snapshot(&global, &files, output.as_deref())
        }
        Command::Selftest(Selftest::Kill(kill)) => crate::selftest::run(&global, &kill),
        Command::Extract(extract) => extract::run(&global, &extract),
        Command::ExtractWorker => extract::serve(),
        Command::PictureWorker { program, languages } => extract::read_picture(&global, &program, &languages),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "ingather", &mut script);
            String::from_utf8_lossy(&script).lines().for_each(show::line);
            Ok(exit::DONE)
        }
    }
}

/// The job of that name, or the sentence that lists those there are.
fn job_named(reader: &ingather_store::Reader, name: &str) -> Result<ingather_store::jobs::Job> {
    if let Some(job) = reader.read(|sql| ingather_store::jobs::by_name(sql, name))? {
        return Ok(job);
    }
    let names: Vec<String> =
        reader.read(ingather_store::jobs::list)?.into_iter().map(|job| job.name).take(20).collect();
    Err(Failure::usage(match names.is_empty() {
        true => format!("there is no job `{name}`; begin with `ingather sync FOLDER`"),
        false => format!("there is no job `{name}`; there is {}", names.join(", ")),
    }))
}

/// Says which jobs have documents that an output lost, and that no search finds until their own next run; `done` had its run.
fn tell_resends(global: &Global, reader: &ingather_store::Reader, done: Option<JobId>) -> Result<()> {
    if global.quiet {
        return Ok(());
    }
    for job in reader.read(ingather_store::jobs::list)?.into_iter().filter(|job| Some(job.id) != done) {
        let waits = ingather_engine::jobs::resends(reader, &job)?;
        if let Some(sentence) = system_checks::resends(&job, waits) {
            show::stderr(&format!("{sentence}; `ingather sync` of {} sends them", job.root));
        }
    }
    Ok(())
}
