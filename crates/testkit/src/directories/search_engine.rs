//! Search engines on loopback that tests deliver to, and a proxy before them that fails as networks and servers do. `scripts/opensearch.sh` and
//! `scripts/elasticsearch.sh` start them; where one is not, tests are named as not run with it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use serde_json::{Value, json};

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(60);

/// A root, and a certificate by it for 127.0.0.1 as server and as client: `root.pem`, `server.pem`, `server.key`.
///
/// # Panics
/// Where there is no openssl.
pub fn certify(folder: &std::path::Path) {
    super::certify(folder, "127.0.0.1");
}

/// The engines: product, variable that says where it is, script that starts it.
const ENGINES: [(&str, &str, &str); 2] = [
    ("OpenSearch", "INGATHER_TEST_OPENSEARCH", "scripts/opensearch.sh"),
    ("Elasticsearch", "INGATHER_TEST_ELASTICSEARCH", "scripts/elasticsearch.sh"),
];

/// An index of a search engine, which goes away with its value.
pub struct SearchEngine {
    /// Where the engine is, such as `http://127.0.0.1:9200`.
    pub url: String,
    /// The name of the index, which no other test has.
    pub index: String,
    /// Name and password of somebody who may do everything, where the engine asks for that.
    pub login: Option<(String, String)>,
}

impl SearchEngine {
    /// For each engine an index that is not there yet; `test` is named as not run with those that are not here.
    pub fn each(test: &str) -> Vec<SearchEngine> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let found = |(product, variable, script): (&str, &str, &str)| {
            let Ok(url) = std::env::var(variable) else {
                crate::rights::not_run(test, &format!("it needs {product}; {script} starts one"));
                return None;
            };
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let index = format!("t{}-{number}-{:x}", std::process::id(), fastrand::u64(..));
            let (before, place) =
                url.rsplit_once('@').unwrap_or(("http://", url.trim_start_matches("http://")));
            let login = before.trim_start_matches("http://").split_once(':');
            let login = login.map(|(user, password)| (user.to_owned(), password.to_owned()));
            Some(SearchEngine { url: format!("http://{place}"), index, login })
        };
        ENGINES.into_iter().filter_map(found).collect()
    }

    /// Another index of the same engine.
    #[must_use]
    pub fn another(&self) -> SearchEngine {
        let index = format!("{}-{:x}", self.index, fastrand::u64(..));
        SearchEngine { url: self.url.clone(), index, login: self.login.clone() }
    }

    /// Settings of an output that is this index.
    pub fn settings(&self) -> Value {
        self.settings_by(&self.url)
    }

    /// The same by another address of the engine.
    pub fn settings_by(&self, url: &str) -> Value {
        let mut settings = json!({"url": url, "index": self.index});
        if let Some((user, password)) = &self.login {
            (settings["user"], settings["password"]) = (user.as_str().into(), password.as_str().into());
        }
        settings
    }

    fn authorization(&self) -> Option<String> {
        let (user, password) = self.login.as_ref()?;
        let both = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
        Some(format!("Basic {both}"))
    }

    /// Asks the engine: status and answer; `PATH` in the path stands for the index.
    ///
    /// # Panics
    /// When it does not answer.
    pub fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let path = path.replace("PATH", &self.index);
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let authorization = self.authorization();
        let asked = Asked { method: method.to_owned(), path, authorization, body: body.into_bytes() };
        let Message { first, body: answer, .. } = exchange(&self.url, &asked).expect("the engine answers");
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
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
        let (method, path) = ("DELETE".to_owned(), format!("/{}", self.index));
        let _ = exchange(
            &self.url,
            &Asked { method, path, authorization: self.authorization(), body: Vec::new() },
        );
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
    /// The server does it, and this is told in the place of its answer.
    Told(&'static str),
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

/// A request.
struct Asked {
    method: String,
    path: String,
    authorization: Option<String>,
    body: Vec<u8>,
}

/// A request or an answer as it is heard.
struct Message {
    first: String,
    authorization: Option<String>,
    body: Vec<u8>,
}

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
        held.iter().filter_map(|asked| exchange(&self.server, asked)).count()
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
    let Message { first, authorization, body } = message(client)?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let request = Heard { method: method.clone(), path: path.clone(), bytes: body.len() };
    let asked = Asked { method, path, authorization, body };
    let fault = judge(&request);
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
            connection.write_all(&head_of(&asked)).ok()?;
            connection.write_all(&asked.body[..asked.body.len() / 2]).ok()?;
            return None;
        }
        InjectedFault::Held => {
            notes.held.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
            return None;
        }
        InjectedFault::AnswerLost => {
            exchange(server, &asked)?;
            return None;
        }
        InjectedFault::Told(told) => {
            exchange(server, &asked)?;
            answer("200 OK", told.as_bytes())
        }
        InjectedFault::None | InjectedFault::HalfAnswer => {
            let Message { first, mut body, .. } = exchange(server, &asked)?;
            if fault == InjectedFault::HalfAnswer {
                body.truncate(body.len() / 2);
            }
            answer(first.split_once(' ')?.1, &body)
        }
    };
    client.get_mut().write_all(&told).ok()
}

fn head_of(Asked { method, path, authorization, body }: &Asked) -> Vec<u8> {
    let kind = if path.contains("/_bulk") { "application/x-ndjson" } else { "application/json" };
    let kind = if body.is_empty() { String::new() } else { format!("content-type: {kind}\r\n") };
    let login = authorization.iter().map(|login| format!("authorization: {login}\r\n")).collect::<String>();
    let bytes = body.len();
    format!("{method} {path} HTTP/1.1\r\nhost: test\r\n{kind}{login}content-length: {bytes}\r\nconnection: close\r\n\r\n").into_bytes()
}

/// Asks a server over a connection of its own.
fn exchange(server: &str, asked: &Asked) -> Option<Message> {
    let mut connection = TcpStream::connect(server.trim_start_matches("http://")).ok()?;
    connection.set_read_timeout(Some(ANSWER)).ok()?;
    connection.write_all(&head_of(asked)).ok()?;
    connection.write_all(&asked.body).ok()?;
    message(&mut BufReader::new(connection))
}

/// What comes over a connection next.
fn message(from: &mut BufReader<TcpStream>) -> Option<Message> {
    let mut first = String::new();
    from.read_line(&mut first).ok().filter(|read| *read > 0)?;
    let (mut bytes, mut is_chunked, mut authorization) = (0, false, None);
    loop {
        let mut line = String::new();
        from.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let said = line.trim().to_owned();
        let line = said.to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if line.starts_with("authorization:") {
            authorization = said.split_once(':').map(|(_, login)| login.trim().to_owned());
        }
        if let Some(length) = line.strip_prefix("content-length:") {
            bytes = length.trim().parse().ok()?;
        }
        is_chunked |= line == "transfer-encoding: chunked";
    }
    let mut body = vec![0; bytes];
    from.read_exact(&mut body).ok()?;
    while is_chunked {
        let mut size = String::new();
        from.read_line(&mut size).ok()?;
        let mut chunk = vec![0; usize::from_str_radix(size.trim(), 16).ok()?];
        is_chunked = !chunk.is_empty();
        from.read_exact(&mut chunk).ok()?;
        from.read_line(&mut size).ok()?;
        body.extend(chunk);
    }
    Some(Message { first: first.trim().to_owned(), authorization, body })
}
