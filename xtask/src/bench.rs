//! `cargo x bench`: builds the program and the bench, and starts the bench beside a PostgreSQL.

use std::path::Path;
use std::process::Command;

use crate::built;

/// Builds and runs; `words` go to the bench.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<String, String> {
    let small = words.contains(&"--small");
    if !small {
        call(Command::new("scripts/install.sh").arg("--bench").current_dir(root))?;
    }
    // Counts are the same in every build, times are not. What is measured has nothing in it that only tests use.
    let features: &[&str] =
        if small { &built::AS_IN_TESTS } else { &["--package", "ingather-app", "--release"] };
    let programs = ["--package", "ingather-bench", "--bin", "ingather", "--bin", "ingather-bench"];
    let built = built::build(root, &[&programs[..], features].concat())?;
    let program = built.program("ingather-bench")?;
    let mut bench = match std::env::var_os("INGATHER_TEST_POSTGRES") {
        Some(_) => Command::new(program),
        None => {
            let mut beside = Command::new("scripts/postgres.sh");
            beside.arg("--durable").arg(program);
            beside
        }
    };
    call(bench.arg("--program").arg(built.program("ingather")?).args(words).current_dir(root))?;
    Ok(if small { "bench: everything works".to_owned() } else { "bench: see docs/performance.md".to_owned() })
}

/// Builds the bench and judges search with it; what is found first is the same in every build.
pub(crate) fn search_quality(root: &Path, words: &[&str]) -> Result<String, String> {
    let run = ["run", "--quiet", "--package", "ingather-bench", "--", "search-quality"];
    call(built::as_by_a_shell(&mut Command::new("cargo")).args(run).args(words).current_dir(root))?;
    Ok("search-quality: see docs/performance.md".to_owned())
}

fn call(command: &mut Command) -> Result<(), String> {
    let told = format!("{command:?}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{told} failed ({status})")),
        Err(error) => Err(format!("{told} cannot start: {error}")),
    }
}
