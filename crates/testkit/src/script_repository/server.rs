//! A site that a test scripts, served over HTTP on loopback; what it was asked, and when, is written down.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What is answered at one path.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Status; 0 stands for 200.
    pub status: u16,
    /// Further headers.
    pub headers: Vec<(String, String)>,
    /// The body. It has an `ETag` of its own unless `untagged`, and is answered with 304 to whoever has that.
    pub body: Vec<u8>,
    /// Nothing tells one body from another.
    pub untagged: bool,
    /// It closes the connection after so many bytes of the body.
    pub cut_off_after: Option<usize>,
}

impl Answer {
    /// A page of HTML.
    pub fn page(html: &str) -> Answer {
        let headers = vec![("Content-Type".to_owned(), "text/html; charset=utf-8".to_owned())];
        Answer { headers, body: html.as_bytes().to_vec(), ..Answer::default() }
    }

    /// A page with a text and links.
    pub fn linked(text: &str, links: &[&str]) -> Answer {
        let links: String = links.iter().map(|link| format!("<p><a href=\"{link}\">on</a></p>")).collect();
        Answer::page(&format!(
            "<!DOCTYPE html><html><head><title>{text}</title></head><body><p>{text}</p>{links}</body></html>"
        ))
    }

    /// Something else than a page.
    pub fn of(media_type: &str, body: impl Into<Vec<u8>>) -> Answer {
        let headers = vec![("Content-Type".to_owned(), media_type.to_owned())];
        Answer { headers, body: body.into(), ..Answer::default() }
    }

    /// A status alone.
    pub fn status(status: u16) -> Answer {
        Answer { status, ..Answer::default() }
    }

    /// The same with one more header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Answer {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// One request that was made.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The path with its query.
    pub path: String,
    /// Its lines, the first one and the headers.
    pub head: Vec<String>,
    /// When it came.
    pub at: Instant,
    /// What was sent with it, at most [`SENT_BYTES_MAX`].
    pub body: String,
    /// The status of its answer; 0 before there is one.
    pub status: u16,
}

impl Asked {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let named = |line: &&String| {
            line.split_once(':').is_some_and(|(known, _)| known.trim().eq_ignore_ascii_case(name))
        };
        let line = self.head.iter().skip(1).find(named)?;
        line.split_once(':').map(|(_, value)| value.trim())
    }
}

/// Bytes of a form that are read.
const SENT_BYTES_MAX: usize = 64 << 10;

/// Answers a request in place of what is scripted.
type By = dyn Fn(&Asked) -> Option<Answer> + Send + Sync;

#[derive(Default)]
struct State {
    answers: BTreeMap<String, Answer>,
    by: Option<Arc<By>>,
    asked: Vec<Asked>,
}

/// A server; it ends with the test.
pub struct SiteServer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Whoever says nothing for so long is not waited for.
const IDLE: Duration = Duration::from_secs(30);

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SiteServer {
    /// One without pages; it has no robots.txt, and so lets everybody read all.
    ///
    /// # Panics
    /// When this machine gives no port.
    pub fn start() -> SiteServer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let (state, over) = (Arc::<Mutex<State>>::default(), Arc::<AtomicBool>::default());
        let (seen, ended) = (state.clone(), over.clone());
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let seen = seen.clone();
                std::thread::spawn(move || drop(serve(&stream, &seen)));
            }
        });
        SiteServer { address, state, over, thread: Some(thread) }
    }

    /// Its address, with a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What is answered at a path from now on.
    pub fn put(&self, path: &str, answer: Answer) {
        locked(&self.state).answers.insert(path.to_owned(), answer);
    }

    /// Requests are answered by this from now on; where it has no answer, by what is put at their path.
    pub fn answer_by(&self, by: impl Fn(&Asked) -> Option<Answer> + Send + Sync + 'static) {
        locked(&self.state).by = Some(Arc::new(by));
    }

    /// Nothing is at a path any more.
    pub fn take_away(&self, path: &str) {
        locked(&self.state).answers.remove(path);
    }

    /// What was asked since this was called last, in order.
    pub fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut locked(&self.state).asked)
    }

    /// Paths of that.
    pub fn paths(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.path).collect()
    }
}

impl Drop for SiteServer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // It waits for a connection.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Answers the requests of one connection.
fn serve(stream: &TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    stream.set_read_timeout(Some(IDLE))?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            match line.trim_end() {
                "" => break,
                line => head.push(line.to_owned()),
            }
        }
        let path = head.first().and_then(|line| line.split(' ').nth(1)).unwrap_or("/").to_owned();
        let mut asked = Asked { path, head, at: Instant::now(), body: String::new(), status: 0 };
        let length = asked.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut sent = vec![0; length.min(SENT_BYTES_MAX)];
        reader.read_exact(&mut sent)?;
        asked.body = String::from_utf8_lossy(&sent).into_owned();
        let by = locked(state).by.clone();
        let answer = by.and_then(|by| by(&asked));
        let answer = answer.or_else(|| locked(state).answers.get(&asked.path).cloned());
        let answer = answer.unwrap_or_else(|| Answer::status(404));
        let tag = format!(
            "\"{}\"",
            answer.body.iter().fold(7_u64, |hash, byte| hash.wrapping_mul(31) ^ u64::from(*byte))
        );
        let has_it = asked
            .head
            .iter()
            .any(|line| line.to_ascii_lowercase().starts_with("if-none-match:") && line.contains(&tag));
        let status = match answer.status {
            0 if has_it && !answer.untagged => 304,
            0 => 200,
            status => status,
        };
        asked.status = status;
        locked(state).asked.push(asked);
        let mut out = format!("HTTP/1.1 {status} said\r\n");
        for (name, value) in &answer.headers {
            out.push_str(&format!("{name}: {value}\r\n"));
        }
        if !answer.untagged && matches!(status, 200 | 304) {
            out.push_str(&format!("ETag: {tag}\r\n"));
        }
        let body = if status == 304 { &[][..] } else { &answer.body };
        if status != 304 {
            out.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        out.push_str("\r\n");
        let mut stream = stream;
        stream.write_all(out.as_bytes())?;
        let length = answer.cut_off_after.unwrap_or(body.len()).min(body.len());
        stream.write_all(&body[..length])?;
        if length < body.len() {
            return Ok(());
        }
    }
}
