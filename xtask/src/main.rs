//! The project's own tools, called as `cargo x COMMAND`.
#![expect(clippy::print_stdout, reason = "these are programs for a terminal")]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

mod bench;
mod built;
mod ci;
mod coverage;
mod extract_quality;
mod extract_types;
mod floors;
mod generate;
mod libraries;
mod mutants;
mod new_connector;
mod packages;
mod release;
mod scan;
mod tidy;
mod tree;

const USE: &str = "use: cargo x COMMAND

  tidy                                  refuses what the project's rules forbid and no compiler sees
  generate [--check]                    writes the generated pages, or fails when one is not up to date
  new-connector NAME [--role ROLE]      begins a connector; ROLE = repository (default), transform, output, authority
  new-connector --try                   begins one of each role, compiles and tests them, and takes them out again
  simulate [--seeds N] [--from S]       plays random worlds against the engine; `--seed S` plays one, with a trace
  mutants CRATE [FILE...]               changes the crate's deciding files, or those that are named, and tells which changes no test
                                        of the crate catches; needs cargo-mutants, takes many minutes, and is no part of ci
  libraries                             refuses licences and sources that the program must not have
  extract-quality [FOLDER]              compares what is read out of files with what Apache Tika reads, per format
  extract-types [FOLDER]                compares the media types of files with those of `file --mime-type`
  search-quality [--check | --collections FOLDER]
                                        measures how good the first hits are, beside other engines, and writes it into
                                        docs/performance.md; check: only whether ours are as good as that page says;
                                        collections: with those in folders below FOLDER, which that page describes
  bench [NAME...] [--small] [--pairs N] measures every path beside its floor and writes docs/performance.md; small: in
                                        small sizes, only whether it works and whether counts have grown
  release [--binary FILE] [--into DIR]  builds the program and packs it as a tarball and a Debian package, with checksums; binary:
                                        packs this finished program instead; into: not into target/release-files
  ci                                    everything that is checked before a change is taken";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let root = root();
    // Before anything is built or measured for an hour. The simulator has a help of its own.
    if words.first() != Some(&"simulate")
        && words.iter().any(|word| matches!(*word, "-h" | "--help" | "help"))
    {
        println!("{USE}");
        return ExitCode::SUCCESS;
    }
    let outcome = match words.as_slice() {
        ["tidy"] => tidy::run(&root),
        ["generate"] => generate::run(&root, false),
        ["generate", "--check"] => generate::run(&root, true),
        ["libraries"] => libraries::run(&root),
        ["new-connector", "--try"] => new_connector::try_all(&root),
        ["new-connector", name] => new_connector::run(&root, name, "repository"),
        ["new-connector", name, "--role", role] => new_connector::run(&root, name, role),
        ["mutants", words @ ..] => match mutants::read(&root, words) {
            Ok(trial) => mutants::run(&root, &trial),
            Err(said) => {
                eprintln!("mutants: {said}");
                return ExitCode::from(2);
            }
        },
        ["simulate", options @ ..] => simulate(&root, options),
        ["extract-quality"] => extract_quality::run(&root, None),
        ["extract-quality", folder] => extract_quality::run(&root, Some(folder)),
        ["extract-types"] => extract_types::run(&root, None),
        ["extract-types", folder] => extract_types::run(&root, Some(folder)),
        ["bench", words @ ..] => bench::run(&root, words),
        ["search-quality", words @ ..] => bench::search_quality(&root, words),
        ["release", words @ ..] => match release::read(words) {
            Ok(wanted) => release::run(&root, &wanted),
            Err(said) => {
                eprintln!("release: {said}");
                return ExitCode::from(2);
            }
        },
        ["ci"] => ci::run(&root),
        _ => {
            eprintln!("{USE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(said) => {
            eprintln!("{said}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the simulator, in memory where the system has a folder for that: it syncs a lot.
fn simulate(root: &Path, options: &[&str]) -> Result<String, String> {
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    built::as_by_a_shell(&mut command)
        .args(["run", "--quiet", "--profile", "simulate", "--package", "ingather-simulator", "--"])
        .args(options)
        .current_dir(root);
    let memory = Path::new("/dev/shm");
    if memory.is_dir() && std::env::var_os("TMPDIR").is_none() {
        command.env("TMPDIR", memory);
    }
    match command.status() {
        Ok(status) if status.success() => Ok("simulate: done".to_owned()),
        Ok(status) => Err(format!("simulate: {status}")),
        Err(error) => Err(format!("simulate cannot start: {error}")),
    }
}

/// The workspace's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}
