//! Connections: accepted up to a bound, each with a bound for what its client may send and how long it may take.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::{HeaderName, HeaderValue, Request};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use ingather_model::limits;
use ingather_operations::Service;
use rustls::ServerConfig;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tower_service::Service as _;

use crate::answers::Answers;
use crate::asking::Peer;
use crate::people::user_acls::{self, UserAcls};
use crate::places::{Places, Turn};
use crate::problems::REQUEST;
use crate::proxies::Proxies;
use crate::rates::Rates;
use crate::routes::{Site, routes};
use crate::slow::{Patient, Stream};
use crate::tls::Tls;

/// Longest wait before another connection is accepted, when the machine had no room for one.
const AGAIN: Duration = Duration::from_millis(100);

/// Where an answer says which request it is of.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Where a service listens.
pub struct Listening {
    /// For whoever has an API key.
    pub network: TcpListener,
    /// What connections over the network are encrypted with; none for plain ones.
    pub tls: Option<Tls>,
    /// For users of this machine.
    pub socket: UnixListener,
    /// For plug-ins of ManifoldCF, where they may ask.
    pub user_acls: Option<UserAcls>,
}

/// Ends a service; clones end the same one.
#[derive(Clone)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Default for Stop {
    fn default() -> Stop {
        Stop(Arc::new(watch::Sender::new(false)))
    }
}

impl Stop {
    /// Accepts nobody any more, and lets those who were answered go. May be called from any thread, and before the service begins.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

/// What answers: it hears of runs from its making on, and of clients as long as it serves.
pub struct Front {
    answers: Answers,
    sign_of_life: Option<SignOfLife>,
}

/// How often something is done as long as clients are answered, and what.
type SignOfLife = (Duration, Box<dyn Fn() + Send>);

impl Front {
    /// Around a service.
    pub fn new(service: Arc<dyn Service>) -> Front {
        Front { answers: Answers::new(service), sign_of_life: None }
    }

    /// Does something again and again, by the thread that answers: where that stands still, it is not done.
    #[must_use]
    pub fn with_sign_of_life(mut self, every: Duration, sign: impl Fn() + Send + 'static) -> Front {
        self.sign_of_life = Some((every, Box::new(sign)));
        self
    }

    /// Lets everybody on this machine see the metrics, or not.
    #[must_use]
    pub fn with_open_metrics(mut self, open: bool) -> Front {
        self.answers.open_metrics = open;
        self
    }

    /// Lets each caller search so many times in each second.
    #[must_use]
    pub fn with_search_rate(mut self, pace: u32) -> Front {
        self.answers.rates = Arc::new(Rates::new(pace));
        self
    }

    /// Takes names that these proxies vouch for; without any, a request with such a name is refused.
    #[must_use]
    pub fn with_proxies(mut self, proxies: Option<Proxies>) -> Front {
        self.answers.proxies = proxies;
        self
    }

    /// Answers until it is stopped.
    ///
    /// # Errors
    /// When it cannot begin to listen.
    pub fn serve(self, listening: Listening, stop: &Stop) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            // One more looks at the inventory for whoever watches the service.
            .max_blocking_threads(limits::HTTP_OPERATIONS_MAX + limits::HTTP_PUSHES_MAX + 1)
            .build()?;
        let alive = async {
            let Some((every, sign)) = self.sign_of_life else { return std::future::pending::<()>().await };
            let mut times = tokio::time::interval(every);
            loop {
                times.tick().await;
                sign();
            }
        };
        let listen = listen(Arc::new(self.answers), listening, stop.0.subscribe());
        let served = runtime.block_on(async {
            tokio::select! {
                served = listen => served,
                () = alive => Ok(()),
            }
        });
        // An operation that is at work was asked to stop by whoever stops the program, and ends in its own time.
        runtime.shutdown_background();
        served
    }
}

/// A listener, and what tells who is at the other end of its connections.
enum Listener {
    Network(tokio::net::TcpListener, Option<Tls>),
    Socket(tokio::net::UnixListener),
    UserAcls(tokio::net::TcpListener),
}

impl Listener {
    /// As metrics name it.
    fn name(&self) -> &'static str {
        match self {
            Listener::Network(..) => "network",
            Listener::Socket(_) => "socket",
            Listener::UserAcls(_) => "user_acls",
        }
    }

    fn tls(&self, log: &dyn Fn(&str)) -> Option<Arc<ServerConfig>> {
        match self {
            Listener::Network(_, tls) => tls.as_ref().map(|tls| tls.current(log)),
            Listener::Socket(_) | Listener::UserAcls(_) => None,
        }
    }

    async fn accept(&self) -> io::Result<(Box<dyn Stream>, Peer)> {
        Ok(match self {
            Listener::Network(listener, _) | Listener::UserAcls(listener) => {
                let (stream, from) = listener.accept().await?;
                (Box::new(stream), Peer::Network { from: from.ip().to_canonical() })
            }
            Listener::Socket(listener) => {
                let (stream, _) = listener.accept().await?;
                let peer = Peer::User(stream.peer_cred()?.uid());
                (Box::new(stream), peer)
            }
        })
    }
}

async fn listen(answers: Arc<Answers>, listening: Listening, stop: watch::Receiver<bool>) -> io::Result<()> {
    let Listening { network, tls, socket, user_acls } = listening;
    let port = network.local_addr()?.port();
    network.set_nonblocking(true)?;
    socket.set_nonblocking(true)?;
    let site = Site { port, is_encrypted: tls.is_some() };
    let network = Listener::Network(tokio::net::TcpListener::from_std(network)?, tls);
    let socket = Listener::Socket(tokio::net::UnixListener::from_std(socket)?);
    let router = routes(answers.clone(), site);
    // Each has places of its own, and none waits for the other.
    let over_network = accept(&answers, &network, &router, limits::HTTP_CONNECTIONS_MAX, stop.clone());
    let over_socket = accept(&answers, &socket, &router, limits::HTTP_SOCKET_CONNECTIONS_MAX, stop.clone());
    let over_user_acls = async {
        let Some(service) = user_acls else { return Ok(()) };
        let listener = service.listener.try_clone()?;
        listener.set_nonblocking(true)?;
        let listener = Listener::UserAcls(tokio::net::TcpListener::from_std(listener)?);
        let router = user_acls::routes(answers.clone(), Arc::new(service));
        accept(&answers, &listener, &router, limits::HTTP_USER_ACLS_CONNECTIONS_MAX, stop.clone()).await;
        Ok(())
    };
    let mut stop = stop.clone();
    let streams = async {
        let _ends = stop.wait_for(|stop| *stop).await;
        answers.streams.end();
    };
    let ((), (), served, ()) = tokio::join!(over_network, over_socket, over_user_acls, streams);
    served
}

async fn accept(
    answers: &Arc<Answers>,
    listener: &Listener,
    router: &Router,
    most: usize,
    mut stop: watch::Receiver<bool>,
) {
    let places = Places::new(most);
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                // Those beyond it wait in the queue of the kernel, which has a bound of its own.
                let place = tokio::select! {
                    place = places.take() => place,
                    _ = stop.wait_for(|stop| *stop) => break,
                };
                let open = answers.metrics.open(listener.name());
                let tls = listener.tls(&|line| answers.log(line));
                let (answers, router, stop) = (answers.clone(), router.clone(), stop.clone());
                connections.spawn(async move {
                    let given_way = place.turn.clone();
                    let served = async {
                        let Some(stream) = encrypted(stream, tls).await else { return };
                        connection(stream, peer, answers, router, stop, place.turn.clone()).await;
                    };
                    tokio::select! {
                        () = served => {}
                        () = given_way.to_give_way() => {}
                    }
                    drop((open, place));
                });
            }
            Err(error) => {
                answers.log(&format!("a connection was not accepted: {error}"));
                // Too many open files, most likely: asking again at once would only say so again.
                tokio::time::sleep(AGAIN).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
    let ended = async { while connections.join_next().await.is_some() {} };
    // Who has not been answered within this time is cut off.
    let _ = tokio::time::timeout(Duration::from_millis(limits::HTTP_STOP_MS_MAX), ended).await;
}

/// A connection as it is to be used; none when its client does not come to terms in time.
async fn encrypted(stream: Box<dyn Stream>, tls: Option<Arc<ServerConfig>>) -> Option<Box<dyn Stream>> {
    let Some(config) = tls else { return Some(stream) };
    let longest = Duration::from_millis(limits::HTTP_HEAD_MS_MAX);
    let agreed = tokio::time::timeout(longest, TlsAcceptor::from(config).accept(stream)).await;
    // What a client did wrong is its own affair.
    agreed.ok()?.ok().map(|stream| Box::new(stream) as Box<dyn Stream>)
}

async fn connection(
    stream: Box<dyn Stream>,
    peer: Peer,
    answers: Arc<Answers>,
    router: Router,
    mut stop: watch::Receiver<bool>,
    turn: Arc<Turn>,
) {
    let writes = turn.clone();
    let answer = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        let (mut router, turn, answers) = (router.clone(), turn.clone(), answers.clone());
        let begun = Instant::now(); // clock: how long it takes is a figure, and decides nothing
        let request = request.map(|body| turn.request(body));
        async move {
            let id = answers.next_request();
            let answered = REQUEST.scope(id.clone(), router.call(request)).await;
            let mut response = answered.unwrap_or_else(|never| match never {});
            if let Ok(id) = HeaderValue::from_str(&id) {
                response.headers_mut().insert(REQUEST_ID, id);
            }
            answers.metrics.answered(response.extensions().get().copied(), response.status().as_u16(), begun);
            Ok::<_, Infallible>(response.map(|body| turn.answer(body)))
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(limits::HTTP_HEAD_MS_MAX))
        .max_buf_size(limits::HTTP_HEAD_BYTES_MAX)
        .max_headers(limits::HTTP_HEADERS_MAX);
    let stream = Patient::new(stream, Some(writes));
    let mut served = std::pin::pin!(http.serve_connection(TokioIo::new(stream), answer));
    // What a client did wrong below HTTP is its own affair.
    tokio::select! {
        _ended = served.as_mut() => return,
        _ = stop.wait_for(|stop| *stop) => {}
    }
    served.as_mut().graceful_shutdown();
    let _ended = served.await;
}
