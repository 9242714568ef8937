//! The program `ingather`: reads its arguments, does one command, answers with an exit code.

mod arguments;
mod chores;
mod commands;
mod data;
mod exit;
mod handles;
mod interrupt;
mod readers;
mod reports;
mod selftest;
mod service;
mod show;
mod systemd;
mod wiring;

use clap::Parser;
// Tells `build.rs` where the headers of the allocator are.
use libmimalloc_sys as _;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    // Everything that is made here may hold everybody's text: for the owner alone.
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    let arguments = match arguments::Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return answer(&error),
    };
    show::log::start(&arguments.global, arguments.command.logs_objects());
    std::panic::set_hook(Box::new(show::panicked));
    // The hook has told what happened; nothing of this process is used any more.
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| commands::run(arguments))) {
        // Whoever stopped it is told so, also where nothing was left to do.
        Ok(Ok(code)) => {
            std::process::ExitCode::from(interrupt::stopped().unwrap_or_else(|| show::ended(code)))
        }
        Ok(Err(failure)) => {
            let code = show::failure(&failure);
            std::process::ExitCode::from(interrupt::stopped().unwrap_or(code))
        }
        Err(_) => std::process::ExitCode::from(exit::Code::Unable.exit()),
    }
}

/// Answers what no command is done for: help and version that were asked for, and arguments that cannot be taken.
fn answer(error: &clap::Error) -> std::process::ExitCode {
    let asked = !error.use_stderr();
    if asked || error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let code = if asked { exit::DONE } else { exit::Code::WrongUse.exit() };
        let shown = show::help(error);
        return std::process::ExitCode::from(shown.map_or_else(|error| show::unwritten(&error), |()| code));
    }
    std::process::ExitCode::from(show::failure(&exit::Failure::usage(arguments::refused(error))))
}
