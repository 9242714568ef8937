//! What acceptance of pushes stands beside: rows that are committed and nothing else, and versions of records in a hash table over HTTP.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde::Deserialize;

use crate::Result;
use crate::rows::search::queries::milliseconds;
use crate::service::Client;

/// What commits alone take.
pub(crate) struct Commits {
    /// Processor time of a row, seconds.
    pub(crate) cpu: f64,
    /// Rows a second.
    pub(crate) speed: f64,
    /// Seconds of one `fdatasync` after a write of one page.
    pub(crate) sync: f64,
}

/// Commits `count` rows of so many bytes, `group` at a time, each commit on disk.
pub(crate) fn run(path: &Path, (count, group, bytes): (usize, usize, usize)) -> Result<Commits> {
    let mut database = rusqlite::Connection::open(path)?;
    database.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE pushed (key TEXT PRIMARY KEY, record TEXT) WITHOUT ROWID",
    )?;
    let text = "x".repeat(bytes);
    let (begun, used) = (Instant::now(), milliseconds());
    for first in (0..count).step_by(group) {
        let commit = database.transaction()?;
        {
            let mut add = commit.prepare_cached("INSERT INTO pushed (key, record) VALUES (?1, ?2)")?;
            for number in first..count.min(first + group) {
                add.execute((format!("record-{number:08}"), &text))?;
            }
        }
        commit.commit()?;
    }
    let (took, cpu) = (begun.elapsed().as_secs_f64(), milliseconds() - used);
    drop(database);
    for end in ["db", "db-wal", "db-shm"] {
        // The database itself takes the last two away.
        let _ = std::fs::remove_file(path.with_extension(end));
    }
    let sync = sync(path)?;
    Ok(Commits { cpu: cpu / 1e3 / count as f64, speed: count as f64 / took, sync })
}

fn sync(path: &Path) -> Result<f64> {
    let path = path.with_extension("sync");
    let mut file = std::fs::File::create(&path)?;
    let begun = Instant::now();
    for _ in 0..50 {
        file.write_all(&[7; 4_096])?;
        file.sync_data()?;
    }
    let took = begun.elapsed().as_secs_f64() / 50.0;
    std::fs::remove_file(path)?;
    Ok(took)
}

/// A server that knows hashes by keys, in a process of its own.
pub(crate) struct Table {
    child: Child,
    address: SocketAddr,
}

impl Drop for Table {
    fn drop(&mut self) {
        // It keeps nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Table {
    /// Starts it.
    pub(crate) fn start() -> Result<Table> {
        let mut child =
            Command::new(std::env::current_exe()?).args(["floor", "table"]).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no stdout")?).read_line(&mut line)?;
        Ok(Table { child, address: line.trim().parse()? })
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A client of it.
    pub(crate) fn client(&self) -> Result<Client> {
        Client::new(self.address, "none".to_owned())
    }
}

#[derive(Deserialize)]
struct Asked<'a> {
    #[serde(borrow)]
    records: Vec<Ledger<'a>>,
}

#[derive(Deserialize)]
struct Ledger<'a> {
    key: &'a str,
    hash: &'a str,
}

/// Answers one client until it goes.
#[expect(clippy::print_stdout, reason = "its address is read by who started it")]
pub(super) fn serve() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    let (stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    let mut known: HashMap<String, String> = HashMap::new();
    let mut asks = BufReader::new(stream);
    while let Some(body) = received(&mut asks)? {
        let asked: Asked<'_> = serde_json::from_slice(&body)?;
        let mut words = Vec::with_capacity(asked.records.len());
        for Ledger { key, hash } in asked.records {
            let is_same = known.get(key).is_some_and(|before| before == hash);
            words.push(if is_same { "unchanged" } else { "new" });
            if !is_same {
                known.insert(key.to_owned(), hash.to_owned());
            }
        }
        let answer = serde_json::to_string(&serde_json::json!({ "results": words }))?;
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", answer.len());
        asks.get_mut().write_all(format!("{head}{answer}").as_bytes())?;
    }
    Ok(())
}

fn received(asks: &mut BufReader<TcpStream>) -> Result<Option<Vec<u8>>> {
    let (mut line, mut length) = (String::new(), 0);
    loop {
        line.clear();
        if asks.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let header = line.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(told) = header.strip_prefix("content-length:") {
            length = told.trim().parse()?;
        }
    }
    let mut body = vec![0; length];
    asks.read_exact(&mut body)?;
    Ok(Some(body))
}
