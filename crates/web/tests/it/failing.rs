//! Servers that break off, stall, lie, and never end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use ingather_contract::call::CallContext;
use ingather_model::fault::Fault;
use ingather_web::http::{Answer, Client, Condition, fault_of};

use crate::server::{Server, call, client, fails, head_of, page, read, settings};

#[test]
fn a_page_that_is_cut_off_is_an_error_and_never_a_short_page() {
    for cut in [
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n50\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
        "HTTP/1.1 200 OK\r\nContent-",
        "",
    ] {
        let server = Server::sending(cut);
        assert_eq!(fails(&client(), &server.url("/")), "cut_off", "{cut}");
    }
}

/// A server that says `first` and then resets the connection: what it was sent and has not read makes it do so.
fn resetting(first: &'static str) -> Server {
    Server::through(
        |_, _| {},
        move |mut stream| {
            stream.peek(&mut [0]).ok()?;
            let _ = std::io::Write::write_all(&mut stream, first.as_bytes());
            None
        },
    )
}

#[test]
fn a_connection_that_is_reset_is_an_error_that_passes() {
    for first in [
        "",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello",
        // Without a length the end of the connection is the end of the page, and a reset is none.
        "HTTP/1.1 200 OK\r\n\r\nhello",
    ] {
        let server = resetting(first);
        match read(&client(), &server.url("/")) {
            Err(Fault::Passing { reason, .. }) => assert_eq!(reason.code, "cut_off", "{first}"),
            other => panic!("{first}: {other:?}"),
        }
    }
}

#[test]
fn a_connection_that_was_kept_and_is_closed_when_it_is_asked_costs_no_page_and_a_new_one_is_tried_once() {
    let is_first = AtomicBool::new(true);
    let server = Server::saying(move |_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na");
        if is_first.swap(false, Ordering::SeqCst) {
            // It reads the next request, and says nothing.
            head_of(stream);
        }
    });
    let client = client();
    for path in ["/a", "/b"] {
        assert_eq!(read(&client, &server.url(path)).unwrap(), b"a", "{path}");
    }
    assert_eq!(server.connections(), 2);
    let silent = Server::sending("");
    assert_eq!(fails(&client, &silent.url("/")), "cut_off");
    assert_eq!((silent.heads().len(), silent.connections()), (1, 1));
}

#[test]
fn what_is_no_http_is_refused() {
    for garbage in [
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/9.9 200 OK\r\n\r\n",
        "<html>no head</html>\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\nhello12",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
    ] {
        let server = Server::sending(garbage);
        let code = fails(&client(), &server.url("/"));
        assert!(["bad_answer", "cut_off"].contains(&code.as_str()), "{garbage}: {code}");
    }
}

#[test]
fn heads_without_end_are_refused() {
    let long = Server::saying(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nX: ");
        let piece = vec![b'a'; 64 << 10];
        for _ in 0..1_600 {
            if stream.write_all(&piece).is_err() {
                return;
            }
        }
    });
    assert_eq!(fails(&client(), &long.url("/")), "head_too_large");
    let many = Server::sending(format!("HTTP/1.1 200 OK\r\n{}\r\n", "Set-Cookie: a=b\r\n".repeat(5_000)));
    assert_eq!(fails(&client(), &many.url("/")), "head_too_large");
}

#[test]
fn a_body_without_end_is_cut_at_its_bound() {
    let endless = Server::saying(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        let piece = vec![b'a'; 64 << 10];
        while stream.write_all(&piece).is_ok() {}
    });
    assert_eq!(fails(&client(), &endless.url("/")), "too_large");
}

/// A server that says `first` and then nothing, until the test is over.
fn silent(first: &'static str) -> Server {
    let (over, wait) = channel::<()>();
    let wait = std::sync::Mutex::new((Some(over), wait));
    Server::saying(move |_, stream| {
        let _ = stream.write_all(first.as_bytes());
        let _ = stream.flush();
        let held = wait.lock().unwrap();
        let _ = held.1.recv_timeout(Duration::from_secs(5));
    })
}

#[test]
fn a_server_that_is_silent_is_given_up() {
    let mut short = settings();
    short.idle_ms = 100;
    let client = Client::new(short).unwrap();
    for first in [
        "",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
    ] {
        let server = silent(first);
        assert_eq!(fails(&client, &server.url("/")), "timeout", "{first}");
    }
}

#[test]
fn a_server_that_drips_is_given_up_as_a_whole() {
    let server = Server::saying(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
        let (_over, wait) = channel::<()>();
        for _ in 0..1_000 {
            if stream.write_all(b"a").and_then(|()| stream.flush()).is_err() {
                return;
            }
            let _ = wait.recv_timeout(Duration::from_millis(10));
        }
    });
    let mut short = settings();
    short.total_ms = 150;
    assert_eq!(fails(&Client::new(short).unwrap(), &server.url("/")), "timeout");
}

#[test]
fn a_run_that_is_stopped_waits_for_nobody() {
    let server = silent("");
    let context: CallContext = call();
    context.cancel.cancel();
    let fault = client().ask(&context, &server.url("/"), Condition::default()).unwrap_err();
    assert_eq!(fault.reason().code, "cancelled");
}

/// A body without end of bytes that come one by one, and at once.
fn endless() -> Server {
    Server::saying(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        let piece = "1\r\na\r\n".repeat(1_000);
        while stream.write_all(piece.as_bytes()).is_ok() {}
    })
}

#[test]
fn a_body_that_never_ends_is_given_up_in_its_time_and_when_the_run_is_stopped() {
    let server = endless();
    let mut short = settings();
    (short.total_ms, short.body_bytes_max) = (300, u64::MAX);
    assert_eq!(fails(&Client::new(short).unwrap(), &server.url("/")), "timeout");
    let mut long = settings();
    (long.total_ms, long.body_bytes_max) = (60_000, u64::MAX);
    let (client, context) = (Client::new(long).unwrap(), call());
    let answer = client.ask(&context, &server.url("/"), Condition::default()).unwrap().answer().unwrap();
    let Answer::Page(_, mut body) = answer else { panic!("{answer:?}") };
    std::io::Read::read_exact(&mut body, &mut [0; 100]).unwrap();
    context.cancel.cancel();
    let stopped = std::io::copy(&mut body, &mut std::io::sink()).unwrap_err();
    assert_eq!(fault_of(&stopped).reason().code, "cancelled");
}

#[test]
fn nothing_new_is_no_answer_to_a_page_that_was_never_there() {
    let server = Server::sending("HTTP/1.1 304 Not Modified\r\n\r\n");
    assert_eq!(fails(&client(), &server.url("/")), "unasked_unchanged");
}

#[test]
fn a_part_of_a_page_is_no_page() {
    for head in [
        "206 Partial Content",
        "206 Partial Content\r\nContent-Range: bytes 0-4/100",
        "200 OK\r\nContent-Range: bytes 0-4/100",
    ] {
        let server = Server::sending(format!("HTTP/1.1 {head}\r\nContent-Length: 5\r\n\r\nhello"));
        assert_eq!(fails(&client(), &server.url("/")), "partial", "{head}");
    }
}

#[test]
fn a_redirect_to_nowhere_is_broken() {
    for head in ["", "Location: http://[::1\r\n", "Location: \u{e9}\u{0}\r\n"] {
        let server = Server::sending(format!("HTTP/1.1 301 Moved\r\n{head}Content-Length: 0\r\n\r\n"));
        let code = fails(&client(), &server.url("/"));
        assert!(["bad_redirect", "bad_answer"].contains(&code.as_str()), "{head}: {code}");
    }
}

#[test]
fn a_port_where_nobody_listens_and_a_name_that_nobody_has_may_pass() {
    let url = {
        let server = Server::sending(page(""));
        server.url("/")
    };
    assert_eq!(fails(&client(), &url), "connect");
    assert_eq!(fails(&client(), &"http://nobody.invalid/".parse().unwrap()), "dns");
}

#[test]
fn many_threads_ask_at_once() {
    let server = Server::saying(|head, stream| {
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let _ = stream.write_all(page(&path).as_bytes());
    });
    let client = client();
    std::thread::scope(|scope| {
        for number in 0..64 {
            let (client, url) = (&client, server.url(&format!("/{number}")));
            scope.spawn(move || assert_eq!(read(client, &url).unwrap(), format!("/{number}").as_bytes()));
        }
    });
}
