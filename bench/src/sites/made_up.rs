//! Sites that are made up as they are asked for, at any number of addresses of loopback, by a server that looks at how it is asked.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::Result;

/// Bytes of a request; the program's are a tenth of it.
const HEAD_BYTES_MAX: usize = 8 << 10;

/// What is asked for.
pub(crate) struct Asked<'a> {
    /// The number of the host.
    pub(crate) host: usize,
    pub(crate) path: &'a str,
    /// Only if it does not have this tag.
    pub(crate) unless: Option<&'a str>,
}

/// What is said.
pub(crate) enum Said {
    /// A page with its tag.
    Page(String, String),
    Unchanged,
    Missing,
}

/// How one host was asked.
#[derive(Clone, Default)]
pub(crate) struct Seen {
    pub(crate) requests: usize,
    /// Requests that are not answered yet, and the most that there were of them.
    open: usize,
    pub(crate) at_once: usize,
    began: Option<Instant>,
    /// The shortest time between the beginnings of two requests.
    pub(crate) shortest: Option<Duration>,
}

#[derive(Default)]
struct Looked {
    hosts: Vec<Seen>,
    first: Option<Instant>,
}

/// A server that ends with this.
pub(crate) struct Server {
    port: u16,
    looked: Arc<Mutex<Looked>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only where the thread has ended.
        let _ = self.stop.take().map(|stop| stop.send(()));
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn locked(looked: &Mutex<Looked>) -> MutexGuard<'_, Looked> {
    looked.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    /// One that answers at each of these addresses, after this time, what `say` says.
    pub(crate) fn at(
        addresses: &[Ipv4Addr],
        latency: Duration,
        say: impl Fn(&Asked<'_>) -> Said + Send + Sync + 'static,
    ) -> Result<Server> {
        let mut port = 0;
        let mut listeners = Vec::new();
        for address in addresses {
            let listener = std::net::TcpListener::bind(SocketAddr::from((*address, port)))?;
            listener.set_nonblocking(true)?;
            port = listener.local_addr()?.port();
            listeners.push(listener);
        }
        let looked = Arc::new(Mutex::new(Looked::default()));
        locked(&looked).hosts.resize(addresses.len(), Seen::default());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let (say, looks): (Arc<Say>, _) = (Arc::new(say), looked.clone());
        let thread = std::thread::spawn(move || {
            runtime.block_on(async move {
                for (host, listener) in listeners.into_iter().enumerate() {
                    let at = At { host, latency, say: say.clone(), looked: looks.clone() };
                    tokio::spawn(at.listen(listener));
                }
                // It fails only where whoever would stop this is gone.
                let _ = stopped.await;
            });
        });
        Ok(Server { port, looked, stop: Some(stop), thread: Some(thread) })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// How the hosts were asked, and when the first request came, since it was asked so last.
    pub(crate) fn looked(&self) -> (Vec<Seen>, Option<Instant>) {
        let mut looked = locked(&self.looked);
        let fresh = vec![Seen::default(); looked.hosts.len()];
        (std::mem::replace(&mut looked.hosts, fresh), looked.first.take())
    }
}

type Say = dyn Fn(&Asked<'_>) -> Said + Send + Sync;

/// One host.
#[derive(Clone)]
struct At {
    host: usize,
    latency: Duration,
    say: Arc<Say>,
    looked: Arc<Mutex<Looked>>,
}

impl At {
    async fn listen(self, listener: std::net::TcpListener) {
        let Ok(listener) = TcpListener::from_std(listener) else { return };
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(self.clone().serve(stream));
        }
    }

    /// A connection, until whoever asks closes it.
    async fn serve(self, mut stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let mut head = Vec::new();
        while head.len() < HEAD_BYTES_MAX && stream.read_buf(&mut head).await.is_ok_and(|read| read > 0) {
            if !head.ends_with(b"\r\n\r\n") {
                continue;
            }
            self.begins();
            if !self.latency.is_zero() {
                tokio::time::sleep(self.latency).await;
            }
            let answer = self.answer(&String::from_utf8_lossy(&head));
            self.ends();
            if stream.write_all(answer.as_bytes()).await.is_err() {
                break;
            }
            head.clear();
        }
    }

    fn answer(&self, head: &str) -> String {
        let path = head.split(' ').nth(1).unwrap_or_default();
        let unless = head.lines().filter_map(|line| line.split_once(": "));
        let unless = unless.filter(|(name, _)| name.eq_ignore_ascii_case("if-none-match"));
        let asked = Asked { host: self.host, path, unless: unless.map(|(_, tag)| tag).next() };
        match (self.say)(&asked) {
            Said::Page(tag, text) => format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: {tag}\r\nContent-Length: {}\r\n\r\n{text}",
                text.len()
            ),
            Said::Unchanged => "HTTP/1.1 304 Not Modified\r\n\r\n".to_owned(),
            Said::Missing => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(),
        }
    }

    fn begins(&self) {
        let now = Instant::now();
        let mut looked = locked(&self.looked);
        looked.first.get_or_insert(now);
        let seen = &mut looked.hosts[self.host];
        let since = seen.began.replace(now).map(|began| now - began);
        seen.shortest = [seen.shortest, since].into_iter().flatten().min();
        seen.requests += 1;
        seen.open += 1;
        seen.at_once = seen.at_once.max(seen.open);
    }

    /// Before it is sent: whoever has it may ask at once.
    fn ends(&self) {
        let seen = &mut locked(&self.looked).hosts[self.host];
        // Its beginning may have been forgotten meanwhile.
        seen.open = seen.open.saturating_sub(1);
    }
}
