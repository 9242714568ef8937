//! Bytes to and from a server, each read and write within the time of the question.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustls::{ClientConnection, StreamOwned};

/// A socket that waits no longer than until a time.
pub(crate) struct Timed {
    pub(crate) socket: TcpStream,
    pub(crate) until: Instant,
}

/// How long it is until then; an error where that is over.
pub(crate) fn left(until: Instant) -> Result<Duration> {
    // clock: sockets wait by the machine's clock, and so do threads.
    match until.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(Error::from(ErrorKind::TimedOut)),
        left => Ok(left.max(Duration::from_millis(1))),
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.socket.set_read_timeout(Some(left(self.until)?))?;
        in_time(self.socket.read(buffer))
    }
}

impl Write for Timed {
    fn write(&mut self, buffer: &[u8]) -> Result<usize> {
        self.socket.set_write_timeout(Some(left(self.until)?))?;
        in_time(self.socket.write(buffer))
    }

    fn flush(&mut self) -> Result<()> {
        self.socket.flush()
    }
}

/// Sockets say that they would block where the time is up.
fn in_time<T>(done: Result<T>) -> Result<T> {
    done.map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => Error::from(ErrorKind::TimedOut),
        _ => error,
    })
}

/// With TLS or without.
pub(crate) enum Stream {
    Plain(Timed),
    Secure(Box<StreamOwned<ClientConnection, Timed>>),
}

impl Stream {
    /// The socket below.
    pub(crate) fn timed(&mut self) -> &mut Timed {
        match self {
            Stream::Plain(timed) => timed,
            Stream::Secure(stream) => &mut stream.sock,
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        match self {
            Stream::Plain(stream) => stream.read(buffer),
            Stream::Secure(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buffer: &[u8]) -> Result<usize> {
        match self {
            Stream::Plain(stream) => stream.write(buffer),
            Stream::Secure(stream) => stream.write(buffer),
        }
    }

    fn flush(&mut self) -> Result<()> {
        match self {
            Stream::Plain(stream) => stream.flush(),
            Stream::Secure(stream) => stream.flush(),
        }
    }
}
