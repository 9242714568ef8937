//! The program `ingather`: reads its arguments, does one command, answers with an exit code.

mod archive;
mod arguments;
mod commands;
mod data;
mod exit;
mod interrupt;
mod selftest;
mod show;
mod surroundings;
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
            show::arguments(&error);
            return std::process::ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(exit::USAGE));
        }
    };
    show::log::start(&arguments.global);
    match commands::run(arguments) {
        Ok(code) => std::process::ExitCode::from(code),
        Err(error) => {
            show::stderr(&format!("ingather: {error}"));
            std::process::ExitCode::from(error.code)
        }
    }
}
