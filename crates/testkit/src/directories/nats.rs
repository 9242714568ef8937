//! Servers of NATS on loopback that tests publish to, and a client of few lines that tells what is in a stream without the library that is
//! tested. `scripts/nats.sh` starts one for all; a test that stops one starts its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use base64::Engine as _;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::free_port;

/// The variable that says where a server is.
const VARIABLE: &str = "INGATHER_TEST_NATS";
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(60);

/// A root, and a certificate by it for 127.0.0.1: `root.pem`, `server.pem`, `server.key`.
///
/// # Panics
/// Where there is no openssl.
pub fn certify(folder: &Path) {
    super::certify(folder, "127.0.0.1");
}

/// A stream that is not there yet, by a name that no other test has.
pub struct Stream {
    /// Where its server is.
    pub url: String,
    /// Its name; its subjects begin with the same.
    pub name: String,
}

impl Stream {
    /// At the server for all; none where there is none, and `test` is named as not run.
    pub fn here(test: &str) -> Option<Stream> {
        match std::env::var(VARIABLE) {
            Ok(url) => Some(Stream::at(&url)),
            Err(_) => {
                crate::rights::not_run(test, "it needs NATS; scripts/nats.sh starts one");
                None
            }
        }
    }

    /// At a server.
    pub fn at(url: &str) -> Stream {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Stream {
            url: url.to_owned(),
            name: format!("t{}-{number}-{:x}", std::process::id(), fastrand::u64(..)),
        }
    }

    /// Settings of an output that is this stream.
    pub fn settings(&self) -> Value {
        json!({"servers": [self.url], "stream": self.name, "subject": self.name})
    }

    /// Somebody who looks at it.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn client(&self) -> Client {
        Client::connect(&self.url, &json!({}))
    }

    /// What its server says of it.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn described(&self) -> Value {
        self.client().json(&format!("$JS.API.STREAM.INFO.{}", self.name), &json!({}))
    }

    /// Drops it.
    ///
    /// # Panics
    /// When it is not there.
    pub fn dropped(&self) {
        let told = self.client().json(&format!("$JS.API.STREAM.DELETE.{}", self.name), &json!({}));
        assert_eq!(told["success"], true, "{told}");
    }

    /// All of its messages, in their order.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn messages(&self) -> Vec<Message> {
        let (state, mut client) = (self.described()["state"].clone(), self.client());
        let number = |name: &str| state[name].as_u64().expect("a stream has numbers");
        let get = |number: u64| {
            let told = client.json(&format!("$JS.API.STREAM.MSG.GET.{}", self.name), &json!({"seq": number}));
            told.get("message").map(|told| Message::stored(number, told))
        };
        (number("first_seq").max(1)..=number("last_seq")).filter_map(get).collect()
    }
}

/// A message of a stream.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its number.
    pub number: u64,
    /// Its subject.
    pub subject: String,
    /// Its headers, as lines.
    pub headers: String,
    /// What is in it.
    pub body: Value,
}

impl Message {
    fn stored(number: u64, told: &Value) -> Message {
        let decoded = |name: &str| {
            let text = told[name].as_str().unwrap_or_default();
            base64::engine::general_purpose::STANDARD.decode(text).expect("the server writes base64")
        };
        Message {
            number,
            subject: told["subject"].as_str().unwrap_or_default().to_owned(),
            headers: String::from_utf8(decoded("hdrs")).expect("headers are text"),
            body: serde_json::from_slice(&decoded("data")).unwrap_or_default(),
        }
    }
}

/// A client: one question at a time.
pub struct Client {
    to: BufReader<TcpStream>,
    asked: u64,
}

/// An answer.
pub struct Reply {
    /// Where to acknowledge it.
    pub reply: Option<String>,
    /// Subject, where it was published to.
    pub subject: String,
    /// Headers, as lines.
    pub headers: String,
    /// What is in it.
    pub body: Vec<u8>,
}

impl Client {
    /// Connects; `login` has `user` and `pass`, or `auth_token`.
    ///
    /// # Panics
    /// When the server does not let it in.
    pub fn connect(url: &str, login: &Value) -> Client {
        let stream = TcpStream::connect(url.trim_start_matches("nats://")).expect("the server is there");
        stream.set_read_timeout(Some(ANSWER)).expect("a socket has a limit");
        let mut client = Client { to: BufReader::new(stream), asked: 0 };
        client.line();
        let mut said = json!({"verbose": false, "pedantic": false, "headers": true, "no_responders": true,
            "lang": "test", "version": "1", "protocol": 1});
        for (name, value) in login.as_object().into_iter().flatten() {
            said[name] = value.clone();
        }
        client.say(format!("CONNECT {said}\r\nPING\r\n").as_bytes());
        while client.line() != "PONG" {}
        client
    }

    fn say(&mut self, bytes: &[u8]) {
        self.to.get_mut().write_all(bytes).expect("the server takes it");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        let read = self.to.read_line(&mut line).expect("the server answers");
        assert!(read > 0 && !line.starts_with("-ERR"), "the server ends it: {line}");
        line.trim_end().to_owned()
    }

    /// Asks, and gives the first answer.
    ///
    /// # Panics
    /// When there is none.
    pub fn request(&mut self, subject: &str, body: &[u8]) -> Reply {
        self.asked += 1;
        let (number, inbox) = (self.asked, format!("_INBOX.{:016x}", fastrand::u64(..)));
        let head =
            format!("SUB {inbox} {number}\r\nUNSUB {number} 1\r\nPUB {subject} {inbox} {}\r\n", body.len());
        self.say(&[head.as_bytes(), body, b"\r\n"].concat());
        loop {
            let line = self.line();
            let words: Vec<&str> = line.split(' ').collect();
            let sizes = match words[0] {
                "MSG" => 1,
                "HMSG" => 2,
                "PING" => {
                    self.say(b"PONG\r\n");
                    continue;
                }
                _ => continue,
            };
            let (named, sizes) = words.split_at(words.len() - sizes);
            let sizes: Vec<usize> =
                sizes.iter().map(|size| size.parse().expect("a size is a number")).collect();
            let (head, all) = (if sizes.len() == 2 { sizes[0] } else { 0 }, sizes[sizes.len() - 1]);
            let mut bytes = vec![0; all + 2];
            self.to.read_exact(&mut bytes).expect("the server answers");
            let headers = String::from_utf8(bytes[..head].to_vec()).expect("headers are text");
            let reply = named.get(3).map(|reply| (*reply).to_owned());
            return Reply { reply, subject: named[1].to_owned(), headers, body: bytes[head..all].to_vec() };
        }
    }

    /// As [`Client::request`], in JSON.
    ///
    /// # Panics
    /// When there is no answer.
    pub fn json(&mut self, subject: &str, body: &Value) -> Value {
        let reply = self.request(subject, body.to_string().as_bytes());
        serde_json::from_slice(&reply.body).unwrap_or_else(|_| panic!("{subject}: {}", reply.headers))
    }

    /// Takes what a durable consumer of a stream is given next, and acknowledges it; at most so many messages.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn consume(&mut self, stream: &str, consumer: &str, most: usize) -> Vec<(String, Value)> {
        let config = json!({"stream_name": stream, "config": {"durable_name": consumer, "ack_policy": "explicit",
            "deliver_policy": "all", "max_ack_pending": 1000}});
        let made = self.json(&format!("$JS.API.CONSUMER.DURABLE.CREATE.{stream}.{consumer}"), &config);
        assert!(made["error"].is_null(), "{made}");
        let (next, mut taken) = (format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"), Vec::new());
        while taken.len() < most {
            let reply = self.request(&next, br#"{"batch": 1, "no_wait": true}"#);
            let Some(to) = reply.reply.filter(|_| !reply.headers.starts_with("NATS/1.0 404")) else { break };
            taken.push((reply.subject, serde_json::from_slice(&reply.body).expect("a message is JSON")));
            // With an answer, so that it is known to be taken.
            self.request(&to, b"+ACK");
        }
        taken
    }
}

/// The program: Debian keeps it where only root looks.
fn program() -> &'static str {
    let there = "/usr/sbin/nats-server";
    if Path::new(there).exists() { there } else { "nats-server" }
}

/// Whether all threads of a process are stopped.
fn stands_still(id: u32) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{id}/task")).expect("it runs");
    let state = |task: std::fs::DirEntry| {
        let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
    };
    tasks.map_while(Result::ok).all(|task| state(task) == Some('T'))
}

/// A server of a test's own, which goes away with its value.
pub struct Server {
    folder: tempfile::TempDir,
    port: u16,
    child: Option<Child>,
}

impl Server {
    /// A server with JetStream and `more` lines of settings, in which `FOLDER` stands for its folder; none where there is no such program,
    /// and `test` is named as not run.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(test: &str, more: &str) -> Option<Server> {
        if !Command::new(program())
            .arg("--version")
            .stdout(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
        {
            crate::rights::not_run(test, "it needs nats-server; scripts/install.sh installs it");
            return None;
        }
        let folder = tempfile::tempdir().expect("tests need a temporary folder");
        let mut server = Server { folder, port: free_port(), child: None };
        server.configure(more);
        server.go_on();
        Some(server)
    }

    /// Gives it other settings, which count when it is started again.
    ///
    /// # Panics
    /// When its folder takes no file.
    pub fn configure(&self, more: &str) {
        let place = self.folder.path().display();
        let more = more.replace("FOLDER", &place.to_string());
        let port = self.port;
        let text = format!(
            "listen: \"127.0.0.1:{port}\"\njetstream {{ store_dir: \"{place}/data\", max_memory_store: 16MB, max_file_store: 1GB }}\n{more}\n"
        );
        std::fs::write(self.folder.path().join("conf"), text).expect("a temporary folder takes a file");
    }

    /// Starts it again with what it held.
    ///
    /// # Panics
    /// When it does not start.
    pub fn go_on(&mut self) {
        self.stop();
        let mut child = Command::new(program())
            .arg("-c")
            .arg(self.folder.path().join("conf"))
            .stderr(Stdio::piped())
            .spawn()
            .expect("scripts/install.sh installs nats-server");
        let said = child.stderr.take().expect("it is piped");
        self.child = Some(child);
        let (started, start) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(said).lines().map_while(Result::ok) {
                // Nobody listens after the start.
                let _ = started.send(line);
            }
        });
        let mut lines = Vec::new();
        while !lines.last().is_some_and(|line: &String| line.contains("Server is ready")) {
            match start.recv_timeout(ANSWER) {
                Ok(line) => lines.push(line),
                Err(_) => panic!("nats-server does not start: {}", lines.join("\n")),
            }
        }
    }

    /// Ends it, as a crash would.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Lets it stand still, or go on.
    ///
    /// # Panics
    /// When it does not run.
    pub fn holds_still(&self, still: bool) {
        let id = self.child.as_ref().expect("it runs").id();
        let pid = Pid::from_raw(id.cast_signed()).expect("a process has a number");
        kill_process(pid, if still { Signal::STOP } else { Signal::CONT }).expect("it runs");
        // Each of its threads stops when it hears of it, a moment later.
        while still && !stands_still(id) {
            std::thread::yield_now();
        }
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
