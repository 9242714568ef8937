//! One connection: searches are sent together, and answered in any order.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Instant;

use ingather_model::limits;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::ber;
use super::failure::Failure;
use super::message::{self, Entry, Received, Search};
use super::stream::{Stream, Timed, left};

/// Bytes that are read at once.
const CHUNK: usize = 16 << 10;

/// A connection. After a failure it is of no more use.
pub(crate) struct Connection {
    /// None only while it changes to TLS.
    stream: Option<Stream>,
    /// What was read and not used.
    buffer: Vec<u8>,
    last_id: u32,
    /// Bytes that may still come for this question.
    bytes_left: usize,
}

impl Connection {
    /// Over a socket, without TLS.
    pub(crate) fn plain(socket: Timed) -> Connection {
        Connection {
            stream: Some(Stream::Plain(socket)),
            buffer: Vec::new(),
            last_id: 0,
            bytes_left: limits::LDAP_ANSWER_BYTES_MAX,
        }
    }

    /// A question begins, which has time until then.
    pub(crate) fn begin(&mut self, until: Instant) -> Result<(), Failure> {
        self.bytes_left = limits::LDAP_ANSWER_BYTES_MAX;
        self.stream()?.timed().until = until;
        Ok(())
    }

    /// Goes on with TLS, without a word.
    pub(crate) fn secure(
        &mut self,
        config: Arc<ClientConfig>,
        server: ServerName<'static>,
    ) -> Result<(), Failure> {
        let Some(Stream::Plain(mut socket)) = self.stream.take() else {
            return Err(Failure::Wrong("there is TLS already".to_owned()));
        };
        if !self.buffer.is_empty() {
            return Err(Failure::Garbled("something between its answer and TLS"));
        }
        let mut tls = ClientConnection::new(config, server)
            .map_err(|error| Failure::Untrusted(format!("TLS: {error}")))?;
        while tls.is_handshaking() {
            tls.complete_io(&mut socket)?;
        }
        self.stream = Some(Stream::Secure(Box::new(StreamOwned::new(tls, socket))));
        Ok(())
    }

    /// Asks to go on with TLS.
    pub(crate) fn start_tls(&mut self) -> Result<(), Failure> {
        let id = self.next_id();
        self.send(&message::start_tls(id))?;
        self.answer(id, message::EXTENDED_ANSWER, "StartTLS")
    }

    /// Logs in. Without TLS a password goes no further than this machine, whatever the settings say.
    pub(crate) fn bind(&mut self, dn: &str, password: &str) -> Result<(), Failure> {
        if let Stream::Plain(timed) = self.stream()?
            && !timed.socket.peer_addr().is_ok_and(|peer| peer.ip().is_loopback())
        {
            let told = "no password is sent without TLS: use ldaps://, or `tls: start`";
            return Err(Failure::Untrusted(told.to_owned()));
        }
        let id = self.next_id();
        self.send(&message::bind(id, dn, password))?;
        self.answer(id, message::BIND_ANSWER, "to log in")
    }

    /// The entries that each of some searches finds, in the order of the searches. Where one fails, all do.
    pub(crate) fn search(&mut self, searches: Vec<Search>) -> Result<Vec<Vec<Entry>>, Failure> {
        let mut found: Vec<Result<Vec<Entry>, Failure>> = self.search_each(searches)?;
        found.drain(..).collect()
    }

    /// As [`Connection::search`]; what the server refuses is told of each search.
    pub(crate) fn search_each(
        &mut self,
        searches: Vec<Search>,
    ) -> Result<Vec<Result<Vec<Entry>, Failure>>, Failure> {
        let mut found: Vec<Result<Vec<Entry>, Failure>> = searches.iter().map(|_| Ok(Vec::new())).collect();
        let mut waiting: Vec<(usize, Search)> = searches.into_iter().enumerate().rev().collect();
        let mut asked: Vec<(u32, usize, Search)> = Vec::new();
        while !waiting.is_empty() || !asked.is_empty() {
            let mut bytes = Vec::new();
            while asked.len() < limits::LDAP_SEARCHES_AT_ONCE
                && let Some((at, search)) = waiting.pop()
            {
                let id = self.next_id();
                bytes.extend(search.message(id, self.seconds()?));
                asked.push((id, at, search));
            }
            self.send(&bytes)?;
            let bytes = self.receive()?;
            let received = message::received(&bytes)?;
            let of_it = asked.iter().position(|(id, ..)| *id == received.id);
            let of_it = of_it.ok_or_else(|| unasked(&received))?;
            let at = asked[of_it].1;
            match received.tag {
                message::ENTRY => {
                    if let Ok(entries) = &mut found[at] {
                        entries.push(received.entry()?);
                    }
                }
                message::REFERENCE => return Err(Failure::Refers),
                message::BETWEEN => {}
                message::DONE => {
                    let (_, at, mut search) = asked.swap_remove(of_it);
                    match received.result("a search") {
                        Ok(()) => {}
                        Err(failure @ Failure::Said { .. }) => {
                            found[at] = Err(failure);
                            continue;
                        }
                        Err(failure) => return Err(failure),
                    }
                    let cookie = received.cookie()?;
                    if !cookie.is_empty() {
                        let Some((_, from)) = &mut search.page else {
                            return Err(Failure::Garbled("a page that nobody asked for"));
                        };
                        *from = cookie;
                        waiting.push((at, search));
                    }
                }
                _ => return Err(Failure::Garbled("another answer than that to a search")),
            }
        }
        Ok(found)
    }

    fn stream(&mut self) -> Result<&mut Stream, Failure> {
        self.stream.as_mut().ok_or_else(|| Failure::Broken("TLS did not come about".to_owned()))
    }

    fn next_id(&mut self) -> u32 {
        // Zero is the server's, and the last bit a sign.
        self.last_id = self.last_id % 0x7fff_ffff + 1;
        self.last_id
    }

    /// Whole seconds that a server may take.
    fn seconds(&mut self) -> Result<u32, Failure> {
        let left = left(self.stream()?.timed().until)?;
        Ok(left.as_secs().min(u64::from(u32::MAX >> 1)) as u32 + 1)
    }

    fn answer(&mut self, id: u32, tag: u8, asked: &'static str) -> Result<(), Failure> {
        let bytes = self.receive()?;
        let received = message::received(&bytes)?;
        if (received.id, received.tag) != (id, tag) {
            return Err(unasked(&received));
        }
        received.result(asked)
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if bytes.is_empty() {
            return Ok(());
        }
        let stream = self.stream()?;
        stream.write_all(bytes)?;
        Ok(stream.flush()?)
    }

    /// The bytes of the next message.
    fn receive(&mut self) -> Result<Vec<u8>, Failure> {
        loop {
            if let Some(length) = self.whole()? {
                let rest = self.buffer.split_off(length);
                let message = std::mem::replace(&mut self.buffer, rest);
                self.bytes_left = self
                    .bytes_left
                    .checked_sub(length.max(limits::LDAP_ENTRY_BYTES))
                    .ok_or(Failure::TooMuch("more for one question than anybody needs"))?;
                return Ok(message);
            }
            let before = self.buffer.len();
            self.buffer.resize(before + CHUNK, 0);
            // Split, since the buffer and the stream are both of this connection.
            let Connection { stream, buffer, .. } = self;
            let read = match stream {
                Some(stream) => stream.read(&mut buffer[before..]),
                None => Ok(0),
            };
            self.buffer.truncate(before + *read.as_ref().unwrap_or(&0));
            if read? == 0 {
                return Err(Failure::Broken("it closed the connection".to_owned()));
            }
        }
    }

    /// How long the message at the beginning of what was read is, where all of it is there.
    fn whole(&self) -> Result<Option<usize>, Failure> {
        let Some((first, rest)) = self.buffer.split_first() else { return Ok(None) };
        if *first != ber::SEQUENCE {
            return Err(Failure::Garbled("something that is no message"));
        }
        let Some((head, length)) = ber::length(rest)? else { return Ok(None) };
        if length > limits::LDAP_MESSAGE_BYTES_MAX {
            return Err(Failure::TooMuch("a message that is larger than any needs to be"));
        }
        let all = 1 + head + length;
        Ok((self.buffer.len() >= all).then_some(all))
    }
}

/// A message that answers nothing that was asked: with number zero a server says that it ends the connection.
fn unasked(received: &Received<'_>) -> Failure {
    match received.id {
        0 => Failure::Broken("it ended the connection".to_owned()),
        _ => Failure::Garbled("an answer to something else"),
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let id = self.next_id();
        // clock: a good-bye waits for nobody.
        let now = Instant::now();
        if let Some(stream) = &mut self.stream
            && self.buffer.is_empty()
        {
            stream.timed().until = now + std::time::Duration::from_millis(20);
            // It closes either way.
            let _ = stream.write_all(&message::unbind(id));
        }
    }
}
