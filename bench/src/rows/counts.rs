//! Counts that are the same on any machine: rows written, commits, system calls. `bench/counts.tsv` says how many may be.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::sync;
use crate::measure::{Line as Command, run};
use crate::page::{Goal, Line};
use crate::trees::Files;
use crate::{Bench, Result};

/// Bounds by name, with what they are about.
const BOUNDS: &str = include_str!("../../counts.tsv");

/// Files of the tree, large or small bench alike.
const FILES: usize = 1_000;

/// Runs without changes whose system calls are counted; the fewest count.
const UNCHANGED_RUNS: usize = 3;

/// System calls that a document is read, listed or written by; waiting for each other is not counted.
const CALLS: &str = "trace=open,openat,openat2,close,read,pread64,write,pwrite64,fsync,fdatasync,getdents64,stat,lstat,\
    fstat,newfstatat,statx,fstatfs,getxattr,fgetxattr,readlink,readlinkat,unlink,unlinkat,rename,renameat,lseek,writev,\
    pwritev,ftruncate";

/// Every count with its bound.
pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let mut files = Files::wide(bench.path("counted"), FILES)?;
    let mut lines = Vec::new();
    for output in ["null", "index"] {
        set_mode(&files, 0o755)?;
        let inventory = Inventory::begin(bench, &format!("counted-{output}"), output)?;
        for step in ["first run", "run without changes", "run after 5 changes", "run after a changed folder"]
        {
            match step {
                "run after 5 changes" => files.change(5, 0)?,
                // Closed to others; each output begins with a folder that is open.
                "run after a changed folder" => set_mode(&files, 0o700)?,
                _ => {}
            }
            let counted = inventory.count(&sync(bench, &inventory.data, &files.root, output))?;
            let per = if step == "first run" { FILES as f64 } else { 1.0 };
            let name = |what: &str| format!("{step} to {output}: {what}");
            lines.push(line(&name("rows"), counted.rows / per, if per > 1.0 { "per document" } else { "" })?);
            lines.push(line(
                &name("document rows"),
                counted.documents / per,
                if per > 1.0 { "per document" } else { "" },
            )?);
            lines.push(line(&name("commits"), counted.commits, "")?);
        }
    }
    for step in ["first run", "run without changes"] {
        let sync = sync(bench, "counted-calls", &files.root, "null");
        let mut calls = system_calls(bench, &sync)?;
        // What it does by the clock beside its work adds to a run that a busy machine holds up; only the first run cannot be done again.
        for _ in 1..if step == "first run" { 1 } else { UNCHANGED_RUNS } {
            calls = calls.min(system_calls(bench, &sync)?);
        }
        lines.push(line(&format!("{step} to null: system calls"), calls / FILES as f64, "per document")?);
    }
    for name in ["counted", "counted-null", "counted-index", "counted-calls"] {
        std::fs::remove_dir_all(bench.path(name))?;
    }
    Ok(lines)
}

fn line(name: &str, value: f64, unit: &'static str) -> Result<Line> {
    let found = BOUNDS.lines().filter_map(|line| line.split_once('\t')).find(|(known, _)| *known == name);
    let (_, bound) =
        found.ok_or_else(|| format!("bench/counts.tsv has no bound for `{name}`; it is {value}"))?;
    Ok(Line {
        work: format!("{FILES} files, {name}"),
        ours: "–".to_owned(),
        beside: "–".to_owned(),
        what: "count",
        value,
        unit,
        goal: Goal::Most(bound.parse()?),
    })
}

fn set_mode(files: &Files, mode: u32) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&files.root, std::fs::Permissions::from_mode(mode))?;
    crate::trees::settle();
    Ok(())
}

/// A store whose tables count what is written to them.
struct Inventory {
    data: String,
    store: PathBuf,
    connection: Connection,
}

/// What one run wrote.
struct Counted {
    /// Rows of all tables, added, changed or removed.
    rows: f64,
    /// Those of documents and deliveries.
    documents: f64,
    commits: f64,
}

impl Inventory {
    fn begin(bench: &Bench, data: &str, output: &str) -> Result<Inventory> {
        // A first run over nothing makes the tables.
        let empty = bench.path("counted-empty");
        std::fs::create_dir_all(&empty)?;
        run(&sync(bench, data, &empty, output))?;
        std::fs::remove_dir_all(&empty)?;
        let store = bench.path(data).join("store.db");
        // As long as somebody has it open, the log of the database stays.
        let connection = Connection::open(&store)?;
        let names = {
            let mut asked = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
            asked.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?
        };
        connection.execute_batch("CREATE TABLE counted (name TEXT, n BIGINT)")?;
        for name in names.iter().filter(|name| !name.starts_with("sqlite_")) {
            connection.execute("INSERT INTO counted VALUES (?1, 0)", [name])?;
            for statement in ["INSERT", "UPDATE", "DELETE"] {
                connection.execute_batch(&format!(
                    "CREATE TRIGGER counted_{name}_{statement} AFTER {statement} ON {name} BEGIN \
                     UPDATE counted SET n = n + 1 WHERE name = '{name}'; END"
                ))?;
            }
        }
        Ok(Inventory { data: data.to_owned(), store, connection })
    }

    fn count(&self, command: &Command) -> Result<Counted> {
        self.connection.execute_batch("UPDATE counted SET n = 0")?;
        // Answers a row, which says how much was written back.
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        run(command)?;
        let sum = |filter: &str| -> Result<f64> {
            let text = format!("SELECT CAST(coalesce(sum(n), 0) AS REAL) FROM counted {filter}");
            Ok(self.connection.query_row(&text, [], |row| row.get(0))?)
        };
        Ok(Counted {
            rows: sum("")?,
            documents: sum("WHERE name IN ('document', 'document_text', 'delivery')")?,
            commits: commits(&self.store)?,
        })
    }
}

/// Commits in the log of a database: frames that name the size of the database after them, up to the first of an older
/// generation.
fn commits(store: &Path) -> Result<f64> {
    let mut path = store.as_os_str().to_owned();
    path.push("-wal");
    let log = std::fs::read(path)?;
    let number = |at: usize| {
        log.get(at..at + 4).map_or(0, |bytes| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    };
    let (page, salts) = (number(8) as usize, (number(16), number(20)));
    let frames =
        (32..log.len()).step_by(page + 24).take_while(|at| (number(at + 8), number(at + 12)) == salts);
    Ok(frames.filter(|at| number(at + 4) != 0).count() as f64)
}

/// How many system calls a command makes.
fn system_calls(bench: &Bench, command: &Command) -> Result<f64> {
    let report = bench.path("calls");
    let traced = Command::new("strace").and(["-f", "-c", "-e", CALLS, "-o"]).and([&report]);
    run(&traced.and(&command.0))?;
    let told = std::fs::read_to_string(&report)?;
    let total = told.lines().rfind(|line| line.ends_with(" total")).ok_or("strace counted nothing")?;
    Ok(total
        .split_whitespace()
        .nth(3)
        .and_then(|calls| calls.parse().ok())
        .ok_or("strace said something else")?)
}
