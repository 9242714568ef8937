//! The program `ingather`: reads its arguments, does one command, answers with an exit code.

mod arguments;
mod commands;
mod data;
mod exit;
mod interrupt;
mod readers;
mod selftest;
mod show;
mod wiring;

use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    // Everything that is made here may hold everybody's text: for the owner alone.
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    let arguments = match arguments::Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            if let Some(hint) = arguments::hint(&error) {
                show::stderr(&format!("ingather: {hint}"));
                return std::process::ExitCode::from(exit::USAGE);
            }
            // The answer to --help goes to standard output, what is wrong to standard error; clap knows which.
            if let Err(error) = show::arguments(&error) {
                return std::process::ExitCode::from(show::unwritten(&error));
            }
            return std::process::ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(exit::USAGE));
        }
    };
    show::log::start(&arguments.global);
    std::panic::set_hook(Box::new(show::panicked));
    // The hook has told what happened; nothing of this process is used any more.
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| commands::run(arguments))) {
        Ok(Ok(code)) => std::process::ExitCode::from(show::ended(code)),
        Ok(Err(error)) => {
            show::stderr(&format!("ingather: {error}"));
            std::process::ExitCode::from(error.exit())
        }
        Err(_) => std::process::ExitCode::from(exit::UNABLE),
    }
}
