//! For tests: servers that do what they are told, and ways to a server that end too soon.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A server on loopback that does with each connection what it is told, until the process ends.
pub(crate) fn serving(each: impl Fn(TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("ldap://{}", listener.local_addr().unwrap());
    let each = Arc::new(each);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let each = Arc::clone(&each);
            std::thread::spawn(move || each(stream));
        }
    });
    url
}

/// Copies bytes until `most` have gone, and tears both down then.
fn copy(mut from: TcpStream, mut to: TcpStream, most: usize) {
    let mut left = most;
    let mut buffer = [0; 4_096];
    while left > 0 {
        let size = buffer.len().min(left);
        match from.read(&mut buffer[..size]) {
            Ok(0) | Err(_) => break,
            Ok(count) => {
                left -= count;
                if to.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
        }
    }
    for stream in [from, to] {
        // The other side may have done it.
        let _ = stream.shutdown(Shutdown::Both);
    }
}

/// A way to a server that ends each connection after so many bytes of answers.
pub(crate) fn cutting(server: SocketAddr, after: Arc<AtomicUsize>) -> String {
    serving(move |client| {
        let server = TcpStream::connect(server).unwrap();
        let (back, forth) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        let most = after.load(Ordering::Relaxed);
        std::thread::spawn(move || copy(client, server, usize::MAX));
        copy(back, forth, most);
    })
}
