//! `cargo x ci`: everything that is checked before a change is taken, in stages with a budget each.

use std::collections::{BTreeSet, VecDeque};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::built::as_by_a_shell;

/// One stage.
struct Stage {
    name: &'static str,
    command: &'static [&'static str],
    /// Time that it should take at most, minutes: more is told, and is no failure. What takes [`HANGS`] times as long hangs,
    /// and is ended.
    minutes: u64,
}

/// Budgets after which a stage hangs: a loaded machine is slow, and nothing is wrong then.
const HANGS: u32 = 5;

/// In the order of how soon they fail. The sum stays under 40 minutes, on a machine with two cores and nothing built.
const STAGES: &[Stage] = &[
    Stage { name: "format", command: &["cargo", "fmt", "--all", "--check"], minutes: 1 },
    Stage { name: "tidy", command: &["cargo", "x", "tidy"], minutes: 1 },
    Stage { name: "libraries", command: &["cargo", "x", "libraries"], minutes: 1 },
    Stage {
        name: "clippy",
        command: &[
            "cargo",
            "clippy",
            "--workspace",
            "--all-targets",
            "--features",
            "xtask/pages",
            "--",
            "-D",
            "warnings",
        ],
        minutes: 9,
    },
    Stage { name: "generate", command: &["cargo", "x", "generate", "--check"], minutes: 6 },
    Stage {
        name: "test",
        command: &["cargo", "test", "--workspace", "--features", "xtask/pages", "--no-fail-fast"],
        minutes: 14,
    },
    // After the tests, for which all was compiled that a new connector needs.
    Stage { name: "new-connector", command: &["cargo", "x", "new-connector", "--try"], minutes: 4 },
    // Whether every row of the bench works, and whether counts have grown; after the tests, which build most of it.
    Stage { name: "bench", command: &["cargo", "x", "bench", "--small"], minutes: 3 },
];

/// Tests at once for each core: most of them wait for a service or a server of theirs, and leave a core idle meanwhile.
const TESTS_PER_CORE: usize = 2;
/// How many tests run at once, where nobody said so: a variable of the test runner.
const TESTS_AT_ONCE: &str = "RUST_TEST_THREADS";

/// Lines of what failed tests said that are repeated at the end, and letters of each: it may have been an hour of output ago.
const FAILURE_LINES_MAX: usize = 80;
const FAILURE_LETTERS_MAX: usize = 400;

/// Where tests say that they were not run: `ingather_testkit::rights`.
const NOT_RUN: &str = "INGATHER_TEST_NOT_RUN";

/// Runs the stages until one fails, and says how long each took and what was not run.
pub(crate) fn run(root: &Path) -> Result<String, String> {
    let not_run = tempfile::NamedTempFile::new().map_err(|error| format!("no temporary file: {error}"))?;
    let mut rows = Vec::new();
    let mut failure = None;
    for stage in STAGES {
        if failure.is_some() {
            rows.push(row(stage, "not run", None));
            continue;
        }
        println!("\n== {} (budget {} min): {}", stage.name, stage.minutes, stage.command.join(" "));
        let start = Instant::now();
        let budget = Duration::from_secs(stage.minutes * 60);
        let outcome = run_stage(root, stage.command, budget * HANGS, not_run.path());
        let word = match &outcome {
            Err(_) => "FAILED",
            Ok(()) if start.elapsed() > budget => "ok, late",
            Ok(()) => "ok",
        };
        if word == "ok, late" {
            println!("warning: {} took longer than its budget of {} min", stage.name, stage.minutes);
        }
        rows.push(row(stage, word, Some(start.elapsed())));
        failure = outcome
            .err()
            .map(|why| format!("{} {why}; repeat it with: {}", stage.name, stage.command.join(" ")));
    }
    let there = |name: &str| std::env::var_os(name).is_some();
    let mut missing = Vec::new();
    if !there("INGATHER_TEST_POSTGRES") {
        missing.push("all on PostgreSQL: `make test` starts one".to_owned());
    }
    if !there("INGATHER_TEST_TIKA") {
        missing.push(
            "all with a Tika server: `make test` starts one where Java, Maven and a network are".to_owned(),
        );
    }
    for (product, variable) in
        [("OpenSearch", "INGATHER_TEST_OPENSEARCH"), ("Elasticsearch", "INGATHER_TEST_ELASTICSEARCH")]
    {
        if !there(variable) {
            missing.push(format!(
                "all with {product}: `make test` starts one where a Java development kit, Maven and a network are"
            ));
        }
    }
    if !there("INGATHER_TEST_NATS") {
        missing.push("all with NATS: `make test` starts one where nats-server is".to_owned());
    }
    if !there("INGATHER_TEST_CHECKERS") {
        missing.push(
            "all with schemathesis or Chromium: `make test` brings them where python3-venv and a network are"
                .to_owned(),
        );
    }
    let told = std::fs::read_to_string(not_run.path()).map_err(|error| format!("{NOT_RUN}: {error}"))?;
    missing.extend(told.lines().map(str::to_owned));
    let complete = std::env::var("CI").as_deref() == Ok("true");
    conclude(&table(&rows), &missing, failure, complete)
}

/// The summary, as an answer or as a failure: where all must be `complete`, nothing may be missing.
fn conclude(
    table: &str,
    missing: &[String],
    failure: Option<String>,
    complete: bool,
) -> Result<String, String> {
    let mut summary = format!("\n{table}\n");
    for what in missing {
        summary.push_str(&format!("NOT RUN: {what}\n"));
    }
    match failure {
        Some(why) => Err(format!("{summary}{why}")),
        None if complete && !missing.is_empty() => {
            Err(format!("{summary}with CI=true nothing may be missing: install it, or give the rights"))
        }
        None => Ok(summary),
    }
}

fn row(stage: &Stage, word: &str, took: Option<Duration>) -> [String; 4] {
    let took =
        took.map_or("-".to_owned(), |took| format!("{}:{:02}", took.as_secs() / 60, took.as_secs() % 60));
    [stage.name.to_owned(), word.to_owned(), took, format!("{}:00", stage.minutes)]
}

fn table(rows: &[[String; 4]]) -> String {
    let mut lines = vec![format!("{:<16}{:<10}{:>8}{:>10}", "stage", "outcome", "time", "budget")];
    lines.extend(
        rows.iter().map(|[name, word, took, budget]| format!("{name:<16}{word:<10}{took:>8}{budget:>10}")),
    );
    lines.join("\n")
}

/// Runs a command to its end, or to the end of its time; says what went wrong.
fn run_stage(root: &Path, command: &[&str], limit: Duration, not_run: &Path) -> Result<(), String> {
    let mut child = as_by_a_shell(&mut Command::new(command[0]))
        .args(&command[1..])
        .current_dir(root)
        .env(NOT_RUN, not_run)
        .env(TESTS_AT_ONCE, std::env::var_os(TESTS_AT_ONCE).unwrap_or_else(|| tests_at_once().into()))
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start: {error}"))?;
    let (tell, told) = mpsc::channel();
    if let Some(said) = child.stdout.take() {
        // Nobody waits for it any more where it cannot be sent.
        std::thread::spawn(move || drop(tell.send(passed_on(said))));
    }
    let (done, over) = mpsc::channel::<()>();
    let pid = child.id();
    // A watchdog of its own, so that the child itself can be waited for.
    let watchdog = std::thread::spawn(move || {
        let late = over.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
        if late {
            end(pid);
        }
        late
    });
    let status = child.wait().map_err(|error| format!("cannot be waited for: {error}"));
    drop(done);
    let late = watchdog.join().unwrap_or(true);
    // Something that the stage left behind may hold its output open.
    let failures = told.recv_timeout(Duration::from_secs(10)).unwrap_or_default();
    match status? {
        _ if late => Err(format!("took longer than its {} s and was ended", limit.as_secs())),
        status if status.success() => Ok(()),
        status => Err(format!("failed ({status}){failures}")),
    }
}

fn tests_at_once() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cores * TESTS_PER_CORE).to_string()
}

/// Shows what a stage says, and keeps the end of what failed tests said, between `failures:` and `test result:`.
fn passed_on(told: impl Read) -> String {
    let mut kept = VecDeque::new();
    let mut is_failure = false;
    for line in BufReader::new(told).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        is_failure = (is_failure || line == "failures:") && !line.starts_with("test result:");
        if is_failure {
            kept.push_back(line.chars().take(FAILURE_LETTERS_MAX).collect::<String>());
            if kept.len() > FAILURE_LINES_MAX {
                kept.pop_front();
            }
        }
    }
    kept.iter().map(|line| format!("\n{line}")).collect()
}

/// Ends a process and all that it has started.
fn end(pid: u32) {
    let mut family = BTreeSet::from([pid]);
    loop {
        let children: Vec<u32> = processes()
            .filter(|(child, parent)| family.contains(parent) && !family.contains(child))
            .map(|(c, _)| c)
            .collect();
        if children.is_empty() {
            break;
        }
        family.extend(children);
    }
    let pids = family.iter().map(u32::to_string);
    // Nothing is lost when a process has ended by itself meanwhile.
    let _ = Command::new("kill").arg("-KILL").args(pids).spawn().as_mut().map(Child::wait);
}

/// All processes with their parents, where the system shows them under /proc.
fn processes() -> impl Iterator<Item = (u32, u32)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        // The name, in brackets, may hold anything; state and parent follow it.
        let parent = stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()?;
        Some((pid, parent))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(200);
    const LATE: Duration = Duration::from_secs(60);

    #[test]
    fn budgets_leave_room() {
        assert!(STAGES.iter().map(|stage| stage.minutes).sum::<u64>() < 40);
    }

    #[test]
    fn a_stage_that_fails_says_so() {
        let root = Path::new(".");
        assert_eq!(run_stage(root, &["true"], LATE, root), Ok(()));
        assert!(run_stage(root, &["false"], LATE, root).unwrap_err().contains("failed"));
        assert!(run_stage(root, &["no-such-program"], LATE, root).unwrap_err().contains("cannot start"));
    }

    #[test]
    fn what_failed_tests_said_is_said_again_in_the_end() {
        let told = "test a ... FAILED\n\nfailures:\n\n---- a stdout ----\nno apple\n\nfailures:\n    a\n\ntest result: FAILED. 1 failed\nmore\n";
        assert_eq!(
            passed_on(told.as_bytes()).trim(),
            "failures:\n\n---- a stdout ----\nno apple\n\nfailures:\n    a"
        );
        let long = format!("failures:\n{}why\n", "line\n".repeat(500));
        let kept = passed_on(long.as_bytes());
        assert!(kept.ends_with("\nwhy") && kept.lines().count() == FAILURE_LINES_MAX + 1);
    }

    #[test]
    fn a_stage_that_takes_too_long_is_ended_with_its_children() {
        let start = Instant::now();
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().canonicalize().unwrap();
        assert!(Command::new("mkfifo").arg(place.join("pipe")).status().unwrap().success());
        let outcome = run_stage(&place, &["sh", "-c", "sh -c 'read line <pipe' & wait"], SOON, &place);
        assert!(outcome.unwrap_err().contains("was ended"));
        let there = |(pid, _)| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == place);
        while processes().any(there) {
            assert!(start.elapsed() < LATE, "something that the stage started lives on");
        }
    }

    #[test]
    fn what_was_not_run_is_named_and_is_a_failure_where_all_must_be_complete() {
        let missing = ["a::test: it needs root".to_owned()];
        let named = conclude("table", &missing, None, false).unwrap();
        assert!(named.contains("NOT RUN: a::test: it needs root"), "{named}");
        assert!(conclude("table", &missing, None, true).unwrap_err().contains("a::test"));
        assert!(conclude("table", &[], None, true).is_ok());
        let failed = conclude("table", &missing, Some("clippy failed".to_owned()), false).unwrap_err();
        assert!(failed.contains("a::test") && failed.ends_with("clippy failed"), "{failed}");
    }

    #[test]
    fn the_summary_has_a_row_for_each_stage() {
        let rows: Vec<[String; 4]> = STAGES.iter().map(|stage| row(stage, "ok", Some(SOON * 400))).collect();
        let table = table(&rows);
        assert!(table.contains("tidy            ok            1:20      1:00"), "{table}");
        assert_eq!(table.lines().count(), STAGES.len() + 1);
    }
}
