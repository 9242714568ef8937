//! A search engine on loopback that tests deliver to, and a proxy before it that fails as networks and servers do. `scripts/opensearch.sh`
//! starts the engine; where it is not, tests are named as not run.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(60);

/// An index of a search engine, which goes away with its value.
pub struct SearchEngine {
    /// Where the engine is, such as `http://127.0.0.1:9200`.
    pub url: String,
    /// The name of the index, which no other test has.
    pub index: String,
}

impl SearchEngine {
    /// An index that is not there yet; none where there is no engine, and `test` is named as not run.
    pub fn find(test: &str) -> Option<SearchEngine> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let Ok(url) = std::env::var("INGATHER_TEST_OPENSEARCH") else {
            crate::rights::not_run(test, "it needs an OpenSearch; scripts/opensearch.sh starts one");
            return None;
        };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let index = format!("t{}-{number}-{:x}", std::process::id(), fastrand::u64(..));
        Some(SearchEngine { url, index })
    }

    /// Asks the engine: status and answer; `PATH` in the path stands for the index.
    ///
    /// # Panics
    /// When it does not answer.
    pub fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let path = path.replace("PATH", &self.index);
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (head, answer) = exchange(&self.url, method, &path, body.as_bytes()).expect("the engine answers");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, serde_json::from_slice(&answer).unwrap_or_default())
    }

    /// As [`SearchEngine::ask`], of which it is known that it is done.
    ///
    /// # Panics
    /// When it is refused.
    pub fn done(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = self.ask(method, path, body);
        assert_eq!(status / 100, 2, "{method} {path}: {answer}");
        answer
    }

    /// The text of each entry, by its id.
    ///
    /// # Panics
    /// When the engine does not answer.
    pub fn entries(&self) -> std::collections::BTreeMap<String, Value> {
        self.done("POST", "/PATH/_refresh", &Value::Null);
        let found = self.done("GET", "/PATH/_search?size=10000", &Value::Null);
        let hits = found["hits"]["hits"].as_array().expect("there are hits").iter();
        hits.map(|hit| (hit["_id"].as_str().unwrap_or_default().to_owned(), hit["_source"].clone())).collect()
    }
}

impl Drop for SearchEngine {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = exchange(&self.url, "DELETE", &format!("/{}", self.index), b"");
    }
}

/// What a proxy does to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// Nothing.
    None,
    /// The server hears half of it, and the connection is cut.
    CutOff,
    /// The server does it, and nobody hears so.
    AnswerLost,
    /// The same, and the server does it only when that is asked for ([`Proxy::release`]).
    Held,
    /// The server does it, and half of its answer arrives as all of it.
    HalfAnswer,
    /// The server does not hear it; this status is answered.
    Refused(u16),
}

/// A request that a proxy has heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Its method.
    pub method: String,
    /// Its path, with what stands behind a `?`.
    pub path: String,
    /// Bytes of its body.
    pub bytes: usize,
}

/// Method, path and body of a request.
type Asked = (String, String, Vec<u8>);
type Judge = dyn Fn(&Heard) -> InjectedFault + Send + Sync;

/// What a proxy keeps of requests.
#[derive(Default)]
struct Notes {
    heard: Mutex<Vec<Heard>>,
    held: Mutex<Vec<Asked>>,
}

/// A proxy on loopback; it goes away with its value.
pub struct Proxy {
    /// Where it is.
    pub url: String,
    server: Arc<str>,
    notes: Arc<Notes>,
    over: Arc<AtomicBool>,
}

impl Proxy {
    /// A proxy before a server, where `judge` says what happens to each request.
    ///
    /// # Panics
    /// When loopback has no port.
    pub fn before(server: &str, judge: impl Fn(&Heard) -> InjectedFault + Send + Sync + 'static) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
        let url = format!("http://{}", listener.local_addr().expect("it has an address"));
        let (notes, over) = (Arc::<Notes>::default(), Arc::new(AtomicBool::new(false)));
        let (server, judge): (Arc<str>, Arc<Judge>) = (server.into(), Arc::new(judge));
        let proxy = Proxy { url, server: server.clone(), notes: notes.clone(), over: over.clone() };
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let (server, judge, notes) = (server.clone(), judge.clone(), notes.clone());
                std::thread::spawn(move || {
                    let mut client = BufReader::new(client);
                    while pass_on(&mut client, &server, &judge, &notes).is_some() {}
                });
            }
        });
        proxy
    }

    /// The requests that it has heard since it was asked last.
    pub fn heard(&self) -> Vec<Heard> {
        std::mem::take(&mut *self.notes.heard.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Gives the server what was held until now, as a network does with what it has delayed; how much that was.
    pub fn release(&self) -> usize {
        let held = std::mem::take(&mut *self.notes.held.lock().unwrap_or_else(PoisonError::into_inner));
        held.iter().filter_map(|(method, path, body)| exchange(&self.server, method, path, body)).count()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Its thread hears of it by a connection.
        let _ = TcpStream::connect(self.url.trim_start_matches("http://"));
    }
}

/// Hands one request on; none where the connection ends.
fn pass_on(
    client: &mut BufReader<TcpStream>,
    server: &Arc<str>,
    judge: &Arc<Judge>,
    notes: &Notes,
) -> Option<()> {
    let (head, body) = message(client)?;
    let mut words = head.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let request = Heard { method, path, bytes: body.len() };
    let fault = judge(&request);
    let Heard { method, path, .. } = request.clone();
    notes.heard.lock().unwrap_or_else(PoisonError::into_inner).push(request);
    let answer = |status: &str, body: &[u8]| {
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    };
    let told = match fault {
        InjectedFault::Refused(status) => {
            answer(&format!("{status} Refused"), b"{\"error\":\"the proxy refuses it\"}")
        }
        InjectedFault::CutOff => {
            let mut connection = TcpStream::connect(server.trim_start_matches("http://")).ok()?;
            connection.write_all(&head_of(&method, &path, body.len())).ok()?;
            connection.write_all(&body[..body.len() / 2]).ok()?;
            return None;
        }
        InjectedFault::Held => {
            notes.held.lock().unwrap_or_else(PoisonError::into_inner).push((method, path, body));
            return None;
        }
        InjectedFault::AnswerLost => {
            exchange(server, &method, &path, &body)?;
            return None;
        }
        InjectedFault::None | InjectedFault::HalfAnswer => {
            let (head, mut body) = exchange(server, &method, &path, &body)?;
            if fault == InjectedFault::HalfAnswer {
                body.truncate(body.len() / 2);
            }
            answer(head.split_once(' ')?.1.lines().next()?, &body)
        }
    };
    client.get_mut().write_all(&told).ok()
}

fn head_of(method: &str, path: &str, bytes: usize) -> Vec<u8> {
    let kind = if path.contains("/_bulk") { "application/x-ndjson" } else { "application/json" };
    let kind = if bytes > 0 { format!("content-type: {kind}\r\n") } else { String::new() };
    format!(
        "{method} {path} HTTP/1.1\r\nhost: test\r\n{kind}content-length: {bytes}\r\nconnection: close\r\n\r\n"
    )
    .into_bytes()
}

/// Asks a server over a connection of its own: the first line of its answer, and the body.
fn exchange(server: &str, method: &str, path: &str, body: &[u8]) -> Option<(String, Vec<u8>)> {
    let mut connection = TcpStream::connect(server.trim_start_matches("http://")).ok()?;
    connection.set_read_timeout(Some(ANSWER)).ok()?;
    connection.write_all(&head_of(method, path, body.len())).ok()?;
    connection.write_all(body).ok()?;
    message(&mut BufReader::new(connection))
}

/// First line and body of a request or an answer.
fn message(from: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let mut first = String::new();
    from.read_line(&mut first).ok().filter(|read| *read > 0)?;
    let mut bytes = 0;
    loop {
        let mut line = String::new();
        from.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(length) = line.strip_prefix("content-length:") {
            bytes = length.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; bytes];
    from.read_exact(&mut body).ok()?;
    Some((first.trim().to_owned(), body))
}
