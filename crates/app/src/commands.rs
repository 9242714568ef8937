//! The commands, one file each.

mod access;
mod api_key;
mod audit;
mod backup;
mod declaration;
mod doctor;
mod document;
mod event;
mod files;
mod job;
mod lookup;
mod pages;
mod pipeline;
mod search;
mod serve;
mod status;
mod sync;
mod verify;

use clap::CommandFactory;

use ingather_operations::jobs::Resends;
use ingather_operations::system::properties::{self, Given};

use crate::arguments::{Arguments, Command, Global, Journal, Secrets, Selftest};
use crate::exit::{self, Failure, Result};
use crate::{handles, interrupt, show, wiring};

/// Does what was asked; the exit code.
pub(crate) fn run(arguments: Arguments) -> Result<u8> {
    let Arguments { global, command } = arguments;
    if global.shared_journal {
        ingather_connectors::share_journals();
    }
    if global.server.is_some() && !command.may_be_asked() {
        return Err(Failure::usage("no service does this, but this program itself; leave --server out"));
    }
    global.server.iter().for_each(|server| show::server::asks(server));
    let global = named_twice(global, &command)?;
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
        Command::Why { user, document, domain } => access::why(&global, (&user, domain), &document),
        Command::Tokens { user, domain } => access::tokens(&global, &user, domain),
        Command::Filter(filter) => access::filter(&global, filter),
        Command::Doctor { repair } => doctor::run(&global, repair),
        Command::Verify { output, repair, limit } => verify::run(&global, output, repair, limit),
        Command::Backup { file } => backup::backup(&global, file),
        Command::Restore { file } => backup::restore(&global, file),
        Command::Secrets(Secrets::Rotate) => declaration::secrets::rotate(&global),
        Command::Serve(serve) => serve::run(&global, &serve),
        Command::Push(push) => document::push::run(&global, push),
        Command::Source(source) => document::source::run(&global, source),
        Command::Channel(channel) => document::channel::channel(&global, channel),
        Command::Event(event) => event::run(&global, event),
        Command::Authority(authority) => access::authority::run(&global, authority),
        Command::ApiKey(key) => api_key::run(&global, key),
        Command::Audit { limit } => audit::run(&global, limit),
        Command::Notices { limit } => job::notices::run(&global, limit),
        Command::History(history) => job::history::run(&global, history),
        Command::Report(report) => job::report::run(&global, report),
        Command::Export => declaration::export::run(&global),
        Command::Status => status::run(&global),
        Command::Apply(apply) => declaration::apply::run(&global, apply),
        Command::Journal(Journal::Snapshot { files, output }) => {
            files::journal::snapshot(&global, &files, output.as_deref())
        }
        Command::Selftest(Selftest::Kill(kill)) => crate::selftest::run(&global, &kill),
        Command::Extract(extract) => files::extract::run(&global, &extract),
        Command::Robots(robots) => files::robots::run(&global, &robots),
        Command::ExtractWorker => files::extract::serve(),
        Command::PictureWorker { program, languages } => {
            files::extract::read_picture(&global, &program, &languages)
        }
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "ingather", &mut script);
            String::from_utf8_lossy(&script).lines().for_each(show::line);
            Ok(exit::DONE)
        }
    }
}

/// The settings with those that were given by the names that ManifoldCF has for them; says which of these have no effect here.
fn named_twice(mut global: Global, command: &Command) -> Result<Global> {
    let given = command.properties();
    if given.is_empty() {
        return Ok(global);
    }
    if global.server.is_some() {
        let sentence =
            "properties are of the process that reads, which is the service; give them to `ingather serve`";
        return Err(Failure::usage(sentence));
    }
    let Given { threads, notice } = properties::given(given)?;
    if threads.is_some() && global.threads.is_some() {
        let sentence = "--threads and its second name, org.apache.manifoldcf.crawler.threads, are both given; give one of them";
        return Err(Failure::usage(sentence));
    }
    global.threads = threads.or(global.threads);
    if let Some(notice) = notice.filter(|_| !global.quiet) {
        match command {
            Command::Serve(_) => show::log_line(&notice),
            _ => show::stderr(&notice),
        }
    }
    Ok(global)
}

/// Says which jobs have documents that an output lost, and that no search finds until their own next run.
fn tell_resends(global: &Global, resends: &[Resends]) {
    if !global.quiet {
        for Resends { sentence, root } in resends {
            show::stderr(&format!("{sentence}; `ingather sync` of {root} sends them"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ingather_operations::OPERATIONS;
    use ingather_operations::operation::Words;
    use ingather_operations::table::COMMANDS_WITHOUT;

    use super::*;

    /// The words of every command that does something.
    fn commands(above: &str, command: &clap::Command, found: &mut BTreeSet<String>) {
        for inner in command.get_subcommands() {
            let words = format!("{above} {}", inner.get_name()).trim().to_owned();
            match inner.get_subcommands().next() {
                None => drop(found.insert(words)),
                Some(_) => commands(&words, inner, found),
            }
        }
    }

    #[test]
    fn every_command_is_an_operation_or_has_a_reason_and_every_operation_has_its_command() {
        let mut there = BTreeSet::new();
        commands("", &Arguments::command(), &mut there);
        let of_operations = OPERATIONS.iter().filter_map(|one| match one.words {
            Words::Are(words) => Some(words.to_owned()),
            Words::Not(_) => None,
        });
        let told: BTreeSet<String> =
            of_operations.chain(COMMANDS_WITHOUT.iter().map(|(words, _)| (*words).to_owned())).collect();
        assert_eq!(there, told);
    }
}
