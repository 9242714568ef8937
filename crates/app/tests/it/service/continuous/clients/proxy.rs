//! Stands between a client and a service, and does to requests what networks do.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The service has done it; the client hears nothing.
    Unheard,
    /// The service gets it, and the client's connection ends meanwhile.
    AtWork,
    /// The client hears half of the answer.
    Torn,
    /// The service does not get it: it is busy, and says for how long.
    Busy,
}

/// What is done to writing requests, one after the other, and to each when it comes again.
const FAULTS: &[&[Fault]] = &[
    &[Fault::Unheard],
    &[Fault::Busy, Fault::Unheard],
    &[Fault::Torn],
    &[Fault::AtWork],
    &[Fault::AtWork, Fault::Torn],
];

/// A request that came.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) path: String,
    /// Its `Idempotency-Key`; empty of one that only reads.
    pub(super) key: String,
    /// Bytes of its body, and records or keys in it.
    pub(super) bytes: usize,
    pub(super) records: usize,
    pub(super) fault: Option<Fault>,
    pub(super) at: Instant,
}

pub(super) struct Proxy {
    pub(super) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    pub(super) fn before(service: SocketAddr) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, is_over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (noted, ends) = (seen.clone(), is_over.clone());
        let work = move || {
            let mut keys = BTreeMap::new();
            for stream in listener.incoming() {
                if ends.load(Ordering::Acquire) {
                    return;
                }
                // A client may open a connection, and send nothing.
                drop(pass(stream.unwrap(), service, &mut keys, &noted));
            }
        };
        Proxy { address, seen, is_over, thread: Some(std::thread::spawn(work)) }
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        drop(TcpStream::connect(self.address));
        self.thread.take().map(JoinHandle::join);
    }
}

/// Passes one request on, as far as its fault lets it.
fn pass(
    mut client: TcpStream,
    service: SocketAddr,
    keys: &mut BTreeMap<String, (usize, usize)>,
    seen: &Mutex<Vec<Seen>>,
) -> std::io::Result<()> {
    client.set_read_timeout(Some(Duration::from_secs(100)))?;
    let Some((path, key, request)) = request(&client)? else { return Ok(()) };
    let text = String::from_utf8_lossy(&request);
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let (bytes, records) = (body.len(), body.matches("\"key\":").count());
    let fault = if key.is_empty() {
        None
    } else {
        let number = keys.len();
        let (which, attempt) = keys.entry(key.clone()).or_insert((number, 0));
        *attempt += 1;
        FAULTS[*which % FAULTS.len()].get(*attempt - 1).copied()
    };
    seen.lock().unwrap().push(Seen { path, key, bytes, records, fault, at: Instant::now() });
    if fault == Some(Fault::Busy) {
        let body = "busy";
        return write!(
            client,
            "HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
    }
    let mut server = TcpStream::connect(service)?;
    server.write_all(&request)?;
    let mut answer = Vec::new();
    if fault == Some(Fault::AtWork) {
        // The service goes on with what it has begun.
        std::thread::spawn(move || server.read_to_end(&mut answer));
        return Ok(());
    }
    server.read_to_end(&mut answer)?;
    match fault {
        Some(Fault::Unheard) => Ok(()),
        Some(Fault::Torn) => client.write_all(&answer[..answer.len() - 3]),
        _ => client.write_all(&answer),
    }
}

/// Path, key and bytes of one request, which asks the service to end its connection; none where nothing comes.
fn request(client: &TcpStream) -> std::io::Result<Option<(String, String, Vec<u8>)>> {
    let mut reader = BufReader::new(client);
    let (mut head, mut key, mut length, mut path) = (String::new(), String::new(), 0, String::new());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if path.is_empty() {
            path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        }
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        match name.to_ascii_lowercase().as_str() {
            "idempotency-key" => key = value.trim().to_owned(),
            "content-length" => length = value.trim().parse().unwrap(),
            "connection" => continue,
            "\r\n" => break,
            _ => {}
        }
        head.push_str(&line);
    }
    let mut bytes = format!("{head}Connection: close\r\n\r\n").into_bytes();
    let start = bytes.len();
    bytes.resize(start + length, 0);
    reader.read_exact(&mut bytes[start..])?;
    Ok(Some((path, key, bytes)))
}
