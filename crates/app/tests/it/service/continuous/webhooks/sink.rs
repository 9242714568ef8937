//! A webhook of a test: keeps what it is sent, and takes, refuses or loses it as it is told.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::Value;

/// What it does with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    /// Takes it.
    Takes,
    /// Answers with this status.
    Answers(u16),
    /// Has it, and answers nothing before whoever asks has gone.
    Hangs,
    /// Has it, and goes without an answer.
    Goes,
}

/// A message.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) head: BTreeMap<String, String>,
    pub(super) text: String,
    pub(super) body: Value,
    pub(super) done: Does,
}

impl Message {
    pub(super) fn reports(&self) -> &[Value] {
        self.body["reports"].as_array().unwrap()
    }

    /// Whether it tells what is being queued.
    pub(super) fn is_queued(&self) -> bool {
        self.reports()[0]["kind"] == "queued"
    }
}

type Judge = Box<dyn FnMut(&Message) -> Does + Send>;

struct State {
    judge: Judge,
    messages: Vec<Message>,
}

/// A server that is there until the test ends.
#[derive(Clone)]
pub(super) struct Sink {
    pub(super) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Sink {
    pub(super) fn new() -> Sink {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State { judge: Box::new(|_| Does::Takes), messages: Vec::new() }));
        let of_server = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let state = of_server.clone();
                std::thread::spawn(move || answer(stream.unwrap(), &state));
            }
        });
        Sink { address, state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Does this from now on.
    pub(super) fn does(&self, judge: impl FnMut(&Message) -> Does + Send + 'static) {
        self.state().judge = Box::new(judge);
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All that it was sent.
    pub(super) fn messages(&self) -> Vec<Message> {
        self.state().messages.clone()
    }

    /// Reports of a kind by their ids, of those messages that it took, or that it had as well: once each, however often they came.
    pub(super) fn heard(&self, kind: &str, also_lost: bool) -> BTreeMap<String, Value> {
        let mut heard = BTreeMap::new();
        for message in self.messages() {
            if message.done == Does::Takes || (also_lost && !matches!(message.done, Does::Answers(_))) {
                for report in message.reports().iter().filter(|report| report["kind"] == kind) {
                    let before = heard.insert(report["id"].as_str().unwrap().to_owned(), report.clone());
                    // What is sent again is the same.
                    assert!(before.is_none_or(|before| before == *report), "{report}");
                }
            }
        }
        heard
    }
}

fn answer(mut stream: TcpStream, state: &Mutex<State>) {
    let Some(mut message) = read(&stream) else { return };
    let done = {
        let mut state = state.lock().unwrap();
        message.done = (state.judge)(&message);
        state.messages.push(message.clone());
        message.done
    };
    let status = match done {
        Does::Takes => 204,
        Does::Answers(status) => status,
        Does::Hangs => {
            // To the end of whoever asks.
            let _ = stream.read(&mut [0]);
            return;
        }
        Does::Goes => return,
    };
    // Whoever asked may have been killed.
    let _ = write!(
        stream,
        "HTTP/1.1 {status} x\r\nlocation: /elsewhere\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
}

/// A whole message; none where whoever sends it was killed.
fn read(stream: &TcpStream) -> Option<Message> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut line) = (BTreeMap::new(), String::new());
    loop {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let text = line.trim_end();
        if text.is_empty() {
            break;
        }
        if let Some((name, value)) = text.split_once(": ") {
            head.insert(name.to_ascii_lowercase(), value.to_owned());
        }
    }
    let mut bytes = vec![0; head.get("content-length")?.parse().ok()?];
    reader.read_exact(&mut bytes).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let body = serde_json::from_str(&text).ok()?;
    Some(Message { head, text, body, done: Does::Takes })
}
