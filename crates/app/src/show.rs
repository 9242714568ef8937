//! What people read: lines, tables, numbers, times, progress. All that the program writes to a terminal passes here, for
//! much of it comes from documents.

pub(crate) mod log;
pub(crate) mod progress;
pub(crate) mod server;
mod visible;

pub(crate) use ingather_operations::in_words::{are, bytes, time};

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use ingather_operations::jobs::events::{RunEvent, RunHappening};

pub(crate) use self::visible::visible;
use crate::exit::{Code, Failure};

/// How a piece of a line looks.
#[derive(Clone, Copy)]
pub(crate) enum Look {
    Plain,
    /// What the line is about.
    Strong,
    /// What was looked for.
    Found,
}

/// Writes one line to standard output; a reader that went away ends the program quietly, a full disk does not.
pub(crate) fn line(text: &str) {
    put(&visible(&server::proposed(text)));
}

/// Writes one line of pieces that look different; where no person reads, what was looked for stands between marks.
pub(crate) fn pieces(pieces: &[(Look, &str)]) {
    let person = colors_out();
    let mut out = String::new();
    for (look, text) in pieces {
        let [before, after] = match (look, person) {
            (Look::Strong, true) => ["\x1b[1m", "\x1b[0m"],
            (Look::Found, true) => ["\x1b[33m", "\x1b[0m"],
            (Look::Found, false) => ["«", "»"],
            (Look::Plain, _) | (Look::Strong, false) => [""; 2],
        };
        out.extend([before, &visible(text), after]);
    }
    put(&out);
}

/// Writes one line of JSON.
pub(crate) fn json(value: &serde_json::Value) {
    put(&visible::visible_json(&value.to_string()));
}

/// Writes an answer, or one of many, as a line of JSON.
pub(crate) fn answer(answer: &impl serde::Serialize) {
    json(&serde_json::json!(answer));
}

/// Writes JSON over several lines, for people who edit it.
pub(crate) fn json_page(text: &str) {
    put(&visible::visible_json(text));
}

/// This command changes something, and goes on to its end whether somebody reads what it says or not.
static CHANGES: AtomicBool = AtomicBool::new(false);
/// An answer of such a command could not be written.
static UNWRITTEN: AtomicBool = AtomicBool::new(false);

/// From here on an answer that cannot be written does not end the program: half a repair would be one that nobody asked for.
pub(crate) fn changes_something() {
    CHANGES.store(true, Ordering::Relaxed);
}

/// Exit code of a command that has come to its end, whose answer may have met a full disk.
pub(crate) fn ended(code: u8) -> u8 {
    let unwritten = UNWRITTEN.load(Ordering::Relaxed);
    if unwritten && code == crate::exit::DONE { Code::Unable.exit() } else { code }
}

fn put(text: &str) {
    if UNWRITTEN.load(Ordering::Relaxed) {
        return;
    }
    let Err(error) = writeln!(std::io::stdout(), "{text}") else { return };
    if !CHANGES.load(Ordering::Relaxed) {
        std::process::exit(i32::from(unwritten(&error)));
    }
    // A reader that went away has read what it wanted.
    if error.kind() != std::io::ErrorKind::BrokenPipe {
        UNWRITTEN.store(true, Ordering::Relaxed);
        unwritten(&error);
    }
}

/// Exit code of an answer that could not be written.
pub(crate) fn unwritten(error: &std::io::Error) -> u8 {
    // Whoever stopped it may be gone, as a terminal that was closed.
    if let Some(code) = crate::interrupt::stopped() {
        return code;
    }
    if error.kind() == std::io::ErrorKind::BrokenPipe {
        return crate::exit::DONE;
    }
    failure(&Failure::unable(format!(
        "cannot write the answer: {error}; make room there or write it elsewhere"
    )))
}

/// Says why a command was not done; its exit code.
pub(crate) fn failure(failure: &Failure) -> u8 {
    match log::is_objects() {
        true => note("error", "failure", &failure.to_string(), &[("code", failure.code.row().word.into())]),
        false => stderr(&format!("ingather: {failure}")),
    }
    failure.exit()
}

/// Writes one line to standard error.
pub(crate) fn stderr(text: &str) {
    match log::is_objects() {
        true => write(&log::object("info", "message", text, &[])),
        false => write(&visible(&server::proposed(text))),
    }
}

/// Writes one line of the log of a service, with its time, unless the journal of the system adds that.
pub(crate) fn log_line(text: &str) {
    if log::is_objects() || std::env::var_os("JOURNAL_STREAM").is_some() {
        return stderr(text);
    }
    stderr(&format!("{} {text}", ingather_operations::in_words::instant(crate::wiring::now())));
}

/// Whether the log is for programs.
pub(crate) fn writes_objects() -> bool {
    log::is_objects()
}

/// Writes one line to standard error as it is.
fn write(line: &str) {
    // There is nowhere left to say that this failed.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Notes something for programs, where lines are for them.
pub(crate) fn note(level: &str, event: &str, message: &str, more: &[(&str, serde_json::Value)]) {
    if log::is_objects() {
        write(&log::object(level, event, message, more));
    }
}

/// Notes what happened to a run.
pub(crate) fn run_happened(event: &RunEvent) {
    let (name, level, error) = match &event.what {
        RunHappening::Begun { .. } => ("run.begun", "info", None),
        RunHappening::Ended { error: Some(error), .. } => ("run.ended", "error", Some(error.as_str())),
        RunHappening::Ended { .. } => ("run.ended", "info", None),
        RunHappening::Paused(true) => ("job.paused", "info", None),
        RunHappening::Paused(false) => ("job.resumed", "info", None),
    };
    let mut more = vec![("job", event.job.as_str().into())];
    if let RunHappening::Ended { run, outcome, counts, millis, .. } = &event.what {
        more.push(("run", serde_json::json!(run)));
        more.push(("outcome", outcome.as_str().into()));
        more.push(("counts", serde_json::json!(counts)));
        more.push(("seconds", serde_json::json!(*millis as f64 / 1_000.0)));
    }
    note(level, name, error.unwrap_or(name), &more);
}

/// Shows help or version: on standard output when it was asked for.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn help(answer: &clap::Error) -> std::io::Result<()> {
    answer.print()
}

/// Says in one sentence that this program has a fault, unless somebody waits for this panic and answers for it.
pub(crate) fn panicked(panic: &std::panic::PanicHookInfo<'_>) {
    let said = panic.payload().downcast_ref::<&str>().copied();
    let said = said.or_else(|| panic.payload().downcast_ref::<String>().map(String::as_str));
    let said = said.and_then(|said| said.lines().next()).unwrap_or("no reason given");
    let place =
        panic.location().map_or_else(String::new, |place| format!(" at {}:{}", place.file(), place.line()));
    if ingather_index::catches_panics_here() || ingather_engine::catches_panics_here() {
        return;
    }
    stderr(&format!(
        "ingather: a fault of this program ended it{place}: {said}; what was confirmed stands: run the same command again, \
         and report this"
    ));
}

/// Whether a person reads standard error.
pub(crate) fn is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// Whether colors are wanted where a person reads: not with `NO_COLOR`, and not on a terminal that is said to be dumb.
fn wants_color() -> bool {
    let said = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    said("NO_COLOR").is_none() && said("CLICOLOR").is_none_or(|value| value != "0") && !is_dumb()
}

/// Whether the terminal cannot go back in a line.
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Whether standard output takes colors.
pub(crate) fn colors_out() -> bool {
    is_terminal_out() && wants_color()
}

/// Whether a person reads standard output.
pub(crate) fn is_terminal_out() -> bool {
    std::io::stdout().is_terminal()
}

/// Standard output for bytes that are no text.
pub(crate) fn bytes_out() -> std::io::StdoutLock<'static> {
    std::io::stdout().lock()
}

/// Whether a person reads standard error and can answer.
pub(crate) fn is_person() -> bool {
    is_terminal() && std::io::stdin().is_terminal()
}

/// Asks a person; anything but yes is no.
pub(crate) fn ask(question: &str) -> bool {
    let _ = write!(std::io::stderr(), "{} [y/N] ", visible(question));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

/// A number with thousands set apart.
pub(crate) fn number(n: u64) -> String {
    ingather_model::run_counts::number(n)
}

/// So many of something: "1 entry", "2,000 documents".
pub(crate) fn counted(n: u64, what: &str) -> String {
    ingather_model::run_counts::counted(n, what)
}

/// A text as one argument of a shell.
pub(crate) fn argument(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A duration in seconds.
pub(crate) fn seconds(millis: i64) -> String {
    format!("{:.1} s", millis as f64 / 1000.0)
}

/// Rows under headings, columns as wide as they need to be.
pub(crate) fn table(headings: &[&str], rows: &[Vec<String>]) {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| visible(cell).into_owned()).collect()).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([headings[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let write = |cells: &[String]| {
        let padded: Vec<String> = cells
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.chars().count())))
            .collect();
        line(padded.join("  ").trim_end());
    };
    write(&headings.iter().map(|heading| (*heading).to_owned()).collect::<Vec<_>>());
    rows.iter().for_each(|row| write(row));
}
