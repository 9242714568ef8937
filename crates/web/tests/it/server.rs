//! A server that says what a test wants, byte by byte, and a client for it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use ingather_contract::call::{CallContext, Cancel, Clock};
use ingather_model::fault::Fault;
use ingather_web::http::{Answer, Client, ClientSettings, Condition, fault_of};
use url::Url;

/// What a connection is answered, from the head of its request.
pub(crate) type Say = dyn Fn(&str, &mut dyn ReadWrite) + Send + Sync;

/// A connection.
pub(crate) trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

/// A server on loopback; it ends with the test.
pub(crate) struct Server {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// One that answers each request of a connection by `say`, and closes the connection after it.
    pub(crate) fn saying(say: impl Fn(&str, &mut dyn ReadWrite) + Send + Sync + 'static) -> Server {
        Server::through(say, |stream| Some(Box::new(stream)))
    }

    /// One that sends these bytes to everybody.
    pub(crate) fn sending(bytes: impl Into<Vec<u8>>) -> Server {
        let bytes = bytes.into();
        Server::saying(move |_, stream| drop(stream.write_all(&bytes)))
    }

    /// One whose connections are wrapped first, as by TLS.
    pub(crate) fn through(
        say: impl Fn(&str, &mut dyn ReadWrite) + Send + Sync + 'static,
        wrap: impl Fn(TcpStream) -> Option<Box<dyn ReadWrite>> + Send + Sync + 'static,
    ) -> Server {
        Server::listening(TcpListener::bind("127.0.0.1:0").unwrap(), say, wrap)
    }

    /// The same, where a test wants it to be.
    pub(crate) fn listening(
        listener: TcpListener,
        say: impl Fn(&str, &mut dyn ReadWrite) + Send + Sync + 'static,
        wrap: impl Fn(TcpStream) -> Option<Box<dyn ReadWrite>> + Send + Sync + 'static,
    ) -> Server {
        let address = listener.local_addr().unwrap();
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let connections = Arc::<AtomicUsize>::default();
        let over = Arc::<AtomicBool>::default();
        let (noted, counted, ended) = (Arc::clone(&heads), Arc::clone(&connections), Arc::clone(&over));
        let (say, wrap) = (Arc::new(say), Arc::new(wrap));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                counted.fetch_add(1, Ordering::SeqCst);
                let (say, wrap, noted) = (Arc::clone(&say), Arc::clone(&wrap), Arc::clone(&noted));
                std::thread::spawn(move || {
                    if let Some(mut stream) = wrap(stream) {
                        serve(stream.as_mut(), say.as_ref(), &noted);
                    }
                });
            }
        });
        Server { address, heads, connections, over, thread: Some(thread) }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// An address of a page on it.
    pub(crate) fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://127.0.0.1:{}{path}", self.port())).unwrap()
    }

    /// Heads of all requests so far, in lower case.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// Connections so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // It waits for a connection, and this is its last one.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The head of the next request, in lower case; none when the connection ends before.
pub(crate) fn head_of(stream: &mut dyn ReadWrite) -> Option<String> {
    let mut head = String::new();
    let mut reader = BufReader::with_capacity(1, stream);
    while !head.ends_with("\r\n\r\n") {
        reader.read_line(&mut head).ok().filter(|length| *length > 0)?;
    }
    Some(head.to_ascii_lowercase())
}

fn serve(stream: &mut dyn ReadWrite, say: &Say, noted: &Mutex<Vec<String>>) {
    let Some(head) = head_of(stream) else { return };
    noted.lock().unwrap().push(head.clone());
    say(&head, stream);
    let _ = stream.flush();
}

/// A page, whole and honest.
pub(crate) fn page(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// A time that stands still.
struct Still;

impl Clock for Still {
    fn now(&self) -> i64 {
        1_277_478_000_000
    }
}

pub(crate) fn call() -> CallContext {
    CallContext { clock: Arc::new(Still), cancel: Cancel::default() }
}

/// A client that may reach loopback, and is not patient.
pub(crate) fn settings() -> ClientSettings {
    ClientSettings {
        private_networks: vec!["127.0.0.0/8".parse().unwrap()],
        connect_ms: 5_000,
        idle_ms: 5_000,
        total_ms: 20_000,
        body_bytes_max: 8 << 20,
        ..ClientSettings::default()
    }
}

pub(crate) fn client() -> Client {
    Client::new(settings()).unwrap()
}

/// The body of a page, or what came in between.
pub(crate) fn read(client: &Client, url: &Url) -> Result<Vec<u8>, Fault> {
    match client.ask(&call(), url, Condition::default())?.answer()? {
        Answer::Page(_, mut body) => {
            let mut bytes = Vec::new();
            body.read_to_end(&mut bytes).map_err(|error| fault_of(&error))?;
            Ok(bytes)
        }
        other => panic!("{other:?}"),
    }
}

/// The code of what came in between.
#[track_caller]
pub(crate) fn fails(client: &Client, url: &Url) -> String {
    match read(client, url) {
        Ok(bytes) => panic!("a page of {} bytes came", bytes.len()),
        Err(fault) => fault.reason().code,
    }
}
