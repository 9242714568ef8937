//! The commands, one file each.

mod backup;
mod doctor;
mod document;
mod export;
mod extract;
mod job;
mod pipeline;
mod search;
mod sync;
mod verify;
mod why;

use clap::CommandFactory;

use crate::arguments::{Arguments, Command, Selftest};
use crate::exit::{self, Failure, Result};

/// Does what was asked; the exit code.
pub(crate) fn run(arguments: Arguments) -> Result<u8> {
    let Arguments { global, command } = arguments;
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
        Command::Selftest(Selftest::Kill(kill)) => crate::selftest::run(&global, &kill),
        Command::Extract(extract) => extract::run(&global, &extract),
        Command::ExtractWorker => extract::serve(),
        Command::PictureWorker { program, languages } => extract::read_picture(&program, &languages),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Arguments::command(), "ingather", &mut std::io::stdout());
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

/// The connector of a job's repository.
fn repository_kind(reader: &ingather_store::Reader, job: &ingather_store::jobs::Job) -> Result<String> {
    let connection = reader.read(|sql| ingather_store::connections::get(sql, job.repository))?;
    connection
        .map(|connection| connection.kind)
        .ok_or_else(|| Failure::unable(format!("the repository connection of job {} is gone", job.name)))
}
