//! Queues that people would push into otherwise, each write on disk when it is answered: streams of Redis, and JetStream. They are measured where their
//! programs are found and know how to write like that (JetStream older than 2.11 does not), and are no part of this project.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::Result;
use crate::measure::{at_once, pause};
use crate::service::tree;

/// Longest wait for a server to listen.
const LONGEST: Duration = Duration::from_secs(20);

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Queue {
    /// `redis-server` with `appendfsync always`.
    Redis,
    /// `nats-server` with `sync_interval: always`.
    JetStream,
}

/// What messages into one took.
pub(crate) struct Took {
    /// Messages a second.
    pub(crate) speed: f64,
    /// Processor time of the server for each, seconds.
    pub(crate) cpu: f64,
}

struct Server {
    child: Child,
    address: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It keeps nothing that anybody wants.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Queue {
    /// What it is called.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Queue::Redis => "Redis streams",
            Queue::JetStream => "JetStream",
        }
    }

    fn start(self, place: &Path) -> Result<Option<Server>> {
        std::fs::create_dir_all(place)?;
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let port = address.port().to_string();
        let mut command = match self {
            Queue::Redis => {
                let mut command = Command::new("redis-server");
                command.args(["--bind", "127.0.0.1", "--port", &port, "--appendonly", "yes"]);
                command.args(["--appendfsync", "always", "--save", "", "--dir"]).arg(place);
                command
            }
            Queue::JetStream => {
                let rules = format!(
                    "listen: \"127.0.0.1:{port}\"\njetstream {{ store_dir: {:?}, sync_interval: always }}\n",
                    place.display().to_string()
                );
                std::fs::write(place.join("rules.conf"), rules)?;
                let mut command = Command::new("nats-server");
                command.arg("-c").arg(place.join("rules.conf"));
                command
            }
        };
        let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut server = match started {
            Ok(child) => Server { child, address },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            // It does not know these settings.
            if server.child.try_wait()?.is_some() {
                return Ok(None);
            }
            if begun.elapsed() > LONGEST {
                return Err(format!("{} does not listen", self.name()).into());
            }
            pause(Duration::from_millis(20));
        }
        Ok(Some(server))
    }

    /// Sends so many messages of so many bytes by so many clients, each of which waits for every answer; none where no server is found that can.
    pub(crate) fn measure(
        self,
        place: &Path,
        (count, clients, bytes): (usize, usize, usize),
    ) -> Result<Option<Took>> {
        let Some(server) = self.start(place)? else { return Ok(None) };
        if let Queue::JetStream = self {
            let stream = r#"{"name":"PUSHED","subjects":["pushed"],"storage":"file"}"#;
            let answer =
                Sender::connect(self, server.address)?.publish("$JS.API.STREAM.CREATE.PUSHED", stream)?;
            if answer.contains("\"error\"") {
                return Err(format!("JetStream makes no stream: {answer}").into());
            }
        }
        let senders =
            (0..clients).map(|_| Sender::connect(self, server.address)).collect::<Result<Vec<_>>>()?;
        let (next, text) = (AtomicUsize::new(0), "x".repeat(bytes));
        let (begun, before) = (Instant::now(), tree::cpu(server.child.id()));
        at_once(senders, |mut sender: Sender| {
            while next.fetch_add(1, Ordering::Relaxed) < count {
                sender.send(&text).map_err(|error| error.to_string())?;
            }
            Ok(())
        })?;
        let took = begun.elapsed().as_secs_f64();
        let cpu = (tree::cpu(server.child.id()) - before) / count as f64;
        drop(server);
        std::fs::remove_dir_all(place)?;
        Ok(Some(Took { speed: count as f64 / took, cpu }))
    }
}

struct Sender {
    queue: Queue,
    stream: BufReader<TcpStream>,
}

impl Sender {
    fn connect(queue: Queue, address: SocketAddr) -> Result<Sender> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LONGEST))?;
        let mut sender = Sender { queue, stream: BufReader::new(stream) };
        if let Queue::JetStream = queue {
            sender.line()?;
            let inbox = sender.inbox()?;
            sender
                .stream
                .get_mut()
                .write_all(format!("CONNECT {{\"verbose\":false}}\r\nSUB {inbox} 1\r\n").as_bytes())?;
        }
        Ok(sender)
    }

    fn inbox(&self) -> Result<String> {
        Ok(format!("_INBOX.{}", self.stream.get_ref().local_addr()?.port()))
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line)? {
            0 => Err("the server has gone".into()),
            _ => Ok(line.trim_end().to_owned()),
        }
    }

    fn send(&mut self, text: &str) -> Result<()> {
        match self.queue {
            Queue::Redis => {
                let message = format!(
                    "*5\r\n$4\r\nXADD\r\n$6\r\npushed\r\n$1\r\n*\r\n$1\r\nr\r\n${}\r\n{text}\r\n",
                    text.len()
                );
                self.stream.get_mut().write_all(message.as_bytes())?;
                let answer = self.line()?;
                if !answer.starts_with('$') {
                    return Err(format!("Redis says {answer}").into());
                }
                self.line().map(drop)
            }
            Queue::JetStream => match self.publish("pushed", text)? {
                answer if answer.contains("\"error\"") => Err(format!("JetStream says {answer}").into()),
                _ => Ok(()),
            },
        }
    }

    /// Sends a message of NATS, and waits for its answer.
    fn publish(&mut self, subject: &str, text: &str) -> Result<String> {
        let message = format!("PUB {subject} {} {}\r\n{text}\r\n", self.inbox()?, text.len());
        self.stream.get_mut().write_all(message.as_bytes())?;
        loop {
            let line = self.line()?;
            if line == "PING" {
                self.stream.get_mut().write_all(b"PONG\r\n")?;
            } else if line.starts_with("MSG ") {
                let length: usize = line.rsplit(' ').next().unwrap_or_default().parse()?;
                let mut answer = vec![0; length + 2];
                self.stream.read_exact(&mut answer)?;
                return Ok(String::from_utf8_lossy(&answer[..length]).into_owned());
            } else if line.starts_with("-ERR") {
                return Err(format!("NATS says {line}").into());
            }
        }
    }
}
