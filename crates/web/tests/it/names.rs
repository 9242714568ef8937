//! Names that lead elsewhere than they say, or elsewhere than a moment ago.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use ingather_web::http::{Client, Found, Resolve};

use crate::server::{Server, fails, page, read, settings};

/// Says what a test wants, one answer for each look-up; the last one again and again.
struct Scripted(Mutex<VecDeque<Vec<IpAddr>>>);

impl Resolve for Scripted {
    fn addresses<'a>(&'a self, _: &'a str, port: u16) -> Found<'a> {
        let mut answers = self.0.lock().unwrap();
        let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        let addresses = answer.unwrap_or_default().into_iter().map(|address| SocketAddr::new(address, port));
        let addresses = addresses.collect();
        Box::pin(async move { Ok(addresses) })
    }
}

/// A client to which `127.0.0.2` alone is open, as a public address is, and for which names lead where the answers say.
fn client(answers: &[&[&str]]) -> Client {
    let mut open = settings();
    open.private_networks = vec!["127.0.0.2/32".parse().unwrap()];
    let addresses = |answer: &&[&str]| answer.iter().map(|address| address.parse().unwrap()).collect();
    Client::resolving(open, Arc::new(Scripted(Mutex::new(answers.iter().map(addresses).collect())))).unwrap()
}

/// A server at the open address, and one at the closed address and the same port.
fn servers() -> (Server, Server) {
    let answers = |text: &'static str| {
        move |_: &str, stream: &mut dyn crate::server::ReadWrite| {
            drop(stream.write_all(page(text).as_bytes()));
        }
    };
    loop {
        let closed = Server::saying(answers("secret"));
        // The port may be somebody's there.
        if let Ok(listener) = TcpListener::bind(("127.0.0.2", closed.port())) {
            return (Server::listening(listener, answers("public"), |stream| Some(Box::new(stream))), closed);
        }
    }
}

fn named(server: &Server) -> url::Url {
    format!("http://rebinds.example:{}/", server.port()).parse().unwrap()
}

#[test]
fn a_name_that_leads_inside_at_the_second_look_is_not_followed_there() {
    let (open, closed) = servers();
    let client = client(&[&["127.0.0.2"], &["127.0.0.1"]]);
    assert_eq!(read(&client, &named(&open)).unwrap(), b"public");
    for _ in 0..3 {
        assert_eq!(fails(&client, &named(&open)), "private_address");
    }
    assert_eq!((open.connections(), closed.connections()), (1, 0));
}

#[test]
fn of_a_mixed_answer_the_open_addresses_alone_are_used() {
    let (open, closed) = servers();
    let mixed: &[&[&str]] = &[&["127.0.0.1", "::1", "10.0.0.1", "127.0.0.2"]];
    assert_eq!(read(&client(mixed), &named(&open)).unwrap(), b"public");
    assert_eq!((open.connections(), closed.connections()), (1, 0));
    let port = open.port();
    drop(open);
    let url = format!("http://rebinds.example:{port}/").parse().unwrap();
    assert_eq!(fails(&client(mixed), &url), "connect", "the closed one is no way out");
    assert_eq!(closed.connections(), 0);
}

#[test]
fn the_closed_addresses_of_a_name_are_closed_however_they_are_written() {
    let (open, closed) = servers();
    for address in ["127.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "0.0.0.0", "::"] {
        assert_eq!(fails(&client(&[&[address]]), &named(&open)), "private_address", "{address}");
    }
    assert_eq!(closed.connections(), 0);
}

#[test]
fn a_name_without_an_address_may_get_one() {
    let (open, _) = servers();
    assert_eq!(fails(&client(&[&[]]), &named(&open)), "connect");
}

#[test]
fn an_address_that_is_written_out_is_asked_of_nobody() {
    let (open, _) = servers();
    let url = format!("http://127.0.0.2:{}/", open.port()).parse().unwrap();
    assert_eq!(read(&client(&[&["127.0.0.1"]]), &url).unwrap(), b"public");
}
