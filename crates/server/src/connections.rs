//! Connections: accepted up to a bound, each with a bound for what its client may send and how long it may take.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use ingather_model::limits;
use ingather_operations::Service;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tower_service::Service as _;

use crate::answers::{Answers, Peer};
use crate::routes::routes;
use crate::slow::Patient;

/// Longest wait before another connection is accepted, when the machine had no room for one.
const AGAIN: Duration = Duration::from_millis(100);

/// Where a service listens.
pub struct Listening {
    /// For whoever has an API key.
    pub network: TcpListener,
    /// For users of this machine.
    pub socket: UnixListener,
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

/// Answers until it is stopped.
///
/// # Errors
/// When it cannot begin to listen.
pub fn serve(service: Arc<dyn Service>, listening: Listening, stop: &Stop) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(limits::HTTP_OPERATIONS_MAX)
        .build()?;
    let served = runtime.block_on(accept(Arc::new(Answers::new(service)), listening, stop.0.subscribe()));
    // An operation that is at work was asked to stop by whoever stops the program, and ends in its own time.
    runtime.shutdown_background();
    served
}

enum Accepted {
    Network(tokio::net::TcpStream),
    Socket(tokio::net::UnixStream),
}

async fn accept(
    answers: Arc<Answers>,
    listening: Listening,
    mut stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let Listening { network, socket } = listening;
    network.set_nonblocking(true)?;
    socket.set_nonblocking(true)?;
    let network = tokio::net::TcpListener::from_std(network)?;
    let socket = tokio::net::UnixListener::from_std(socket)?;
    let room = Arc::new(Semaphore::new(limits::HTTP_CONNECTIONS_MAX));
    let router = routes(answers.clone());
    let mut connections = JoinSet::new();
    loop {
        // Those beyond the bound wait in the queue of the kernel, which has one of its own.
        let place = tokio::select! {
            place = room.clone().acquire_owned() => place.map_err(io::Error::other)?,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        let accepted = tokio::select! {
            accepted = network.accept() => accepted.map(|(stream, _)| Accepted::Network(stream)),
            accepted = socket.accept() => accepted.map(|(stream, _)| Accepted::Socket(stream)),
            _ = stop.wait_for(|stop| *stop) => break,
        };
        let begun = accepted.and_then(|accepted| {
            let (router, stop) = (router.clone(), stop.clone());
            match accepted {
                Accepted::Network(stream) => {
                    connections.spawn(connection(stream, Peer::Network, router, stop, place));
                }
                Accepted::Socket(stream) => {
                    let peer = Peer::User(stream.peer_cred()?.uid());
                    connections.spawn(connection(stream, peer, router, stop, place));
                }
            }
            Ok(())
        });
        if let Err(error) = begun {
            answers.log(&format!("a connection was not accepted: {error}"));
            // Too many open files, most likely: asking again at once would only say so again.
            tokio::time::sleep(AGAIN).await;
        }
        while connections.try_join_next().is_some() {}
    }
    let ended = async { while connections.join_next().await.is_some() {} };
    // Who has not been answered within this time is cut off.
    let _ = tokio::time::timeout(Duration::from_millis(limits::HTTP_STOP_MS_MAX), ended).await;
    Ok(())
}

async fn connection<S>(
    stream: S,
    peer: Peer,
    router: Router,
    mut stop: watch::Receiver<bool>,
    _place: OwnedSemaphorePermit,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let answer = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        let mut router = router.clone();
        async move {
            let response = router.call(request.map(Body::new)).await;
            Ok::<_, Infallible>(response.unwrap_or_else(|never| match never {}))
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(limits::HTTP_HEAD_MS_MAX))
        .max_buf_size(limits::HTTP_HEAD_BYTES_MAX)
        .max_headers(limits::HTTP_HEADERS_MAX);
    let mut served = std::pin::pin!(http.serve_connection(TokioIo::new(Patient::new(stream)), answer));
    // What a client did wrong below HTTP is its own affair.
    tokio::select! {
        _ended = served.as_mut() => return,
        _ = stop.wait_for(|stop| *stop) => {}
    }
    served.as_mut().graceful_shutdown();
    let _ended = served.await;
}
