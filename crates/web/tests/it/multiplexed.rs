//! HTTP/2 over TLS, from the choice of the protocol on: a server of hyper, and our client.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use http::{Request, Response, Version};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use ingather_web::http::Client;
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::TlsAcceptor;

use crate::secure::{root, serving, signed, trusting};
use crate::server::{fails, read};

/// What one server was asked.
#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    requests: Mutex<Vec<(Version, String)>>,
}

/// A server that speaks HTTP/2 alone; it ends with its runtime.
fn server(folder: &std::path::Path) -> (Runtime, SocketAddr, Arc<Seen>) {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let acceptor = TlsAcceptor::from(serving(folder, "good", false, &[b"h2"]));
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::<Seen>::default();
    let noted = Arc::clone(&seen);
    runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            noted.connections.fetch_add(1, Ordering::SeqCst);
            let (acceptor, noted) = (acceptor.clone(), Arc::clone(&noted));
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let answers = service_fn(move |request| answer(request, Arc::clone(&noted)));
                let serving = http2::Builder::new(TokioExecutor::new());
                let _ = serving.serve_connection(TokioIo::new(stream), answers).await;
            });
        }
    });
    (runtime, address, seen)
}

async fn answer(request: Request<Incoming>, seen: Arc<Seen>) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    seen.requests.lock().unwrap().push((request.version(), path.clone()));
    let length: usize = path.trim_start_matches('/').parse().unwrap_or_default();
    Ok(Response::new(Full::from(vec![b'a'; length])))
}

#[test]
fn pages_come_over_http_2_where_the_server_speaks_it_many_over_one_connection() {
    let folder = tempfile::tempdir().unwrap();
    root(folder.path(), "root");
    signed(folder.path(), "good", "DNS:localhost", "-days 2");
    let (runtime, address, seen) = server(folder.path());
    let client = Client::new(trusting(folder.path())).unwrap();
    let url = |path: &str| format!("https://localhost:{}/{path}", address.port()).parse().unwrap();
    assert_eq!(read(&client, &url("5")).unwrap(), b"aaaaa");
    // Each of them is longer than the window of a stream: they come in turns.
    let length = 600 << 10;
    std::thread::scope(|scope| {
        for number in 0..16 {
            let (client, url) = (&client, url(&(length + number).to_string()));
            scope.spawn(move || assert_eq!(read(client, &url).unwrap().len(), length + number));
        }
    });
    let requests = seen.requests.lock().unwrap();
    assert_eq!(requests.len(), 17);
    assert!(requests.iter().all(|(version, _)| *version == Version::HTTP_2), "{requests:?}");
    assert_eq!(seen.connections.load(Ordering::SeqCst), 1);
    // The server is gone in the middle of what it owes: that is no page.
    drop(requests);
    runtime.shutdown_background();
    assert!(["connect", "cut_off", "tls", "connection"].contains(&fails(&client, &url("9")).as_str()));
}
