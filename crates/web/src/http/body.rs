//! The body of an answer, as it comes: bounded in time and size, and an error where it is cut off. What a short page would say is that
//! the rest of it is gone.

use std::io::{self, Read};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use ingather_contract::call::Cancel;
use ingather_model::fault::Fault;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::waiting::{Waited, network, watched};
use super::{decode, faults};

/// A body, unpacked. Errors of reading carry their fault ([`fault_of`]).
pub struct Body(Box<dyn Read + Send>);

impl Body {
    pub(super) fn of(wire: WireBody, codings: &[String], bytes_max: u64) -> Result<Body, Fault> {
        decode::unpacked(wire, codings, bytes_max).map(Body)
    }

    /// The same behind what was read of it already.
    pub(crate) fn behind(self, start: Vec<u8>) -> Body {
        Body(Box::new(io::Cursor::new(start).chain(self.0)))
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Body")
    }
}

/// The fault that an error of reading carries; one that it does not carry is of what was made of the bytes.
pub fn fault_of(error: &io::Error) -> Fault {
    decode::carried(error)
        .unwrap_or_else(|| Fault::broken("unreadable_page", format!("the page cannot be read: {error}")))
}

/// Whether a fault of a body says that there is more of it than is read.
pub(crate) fn is_too_much(fault: &Fault) -> bool {
    [decode::TOO_LARGE, decode::BOMB].contains(&fault.reason().code.as_str())
}

/// The fault of a page with more bytes than a job takes.
pub(crate) fn too_large(bytes_max: u64) -> Fault {
    Fault::broken(decode::TOO_LARGE, format!("the page has more than {bytes_max} bytes"))
}

/// The bytes as they come over the network.
pub(super) struct WireBody {
    /// In a lock because it is to be read by one thread at a time, whichever.
    incoming: Mutex<Incoming>,
    ready: Bytes,
    times: Times,
    over: bool,
    host: String,
}

/// How long an answer may take, and who may stop it.
pub(super) struct Times {
    pub(super) idle: Duration,
    pub(super) end: Instant,
    pub(super) cancel: Cancel,
}

impl WireBody {
    pub(super) fn new(incoming: Incoming, times: Times, host: String) -> WireBody {
        WireBody { incoming: Mutex::new(incoming), ready: Bytes::new(), times, over: false, host }
    }

    fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        loop {
            let incoming = self.incoming.get_mut();
            let frame = watched(&self.times.cancel, self.times.idle, self.times.end, incoming.frame());
            let frame = network().block_on(frame).map_err(|waited: Waited| waited.fault(&self.host))?;
            match frame {
                None => return Ok(None),
                Some(Err(error)) => return Err(faults::of_body(&error, &self.host)),
                // Trailers tell nothing of a page.
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if !data.is_empty() => return Ok(Some(data)),
                    _ => {}
                },
            }
        }
    }
}

impl Read for WireBody {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ready.is_empty() && !self.over {
            match self.next().map_err(io::Error::other)? {
                Some(bytes) => self.ready = bytes,
                None => self.over = true,
            }
        }
        let length = self.ready.len().min(buffer.len());
        buffer[..length].copy_from_slice(&self.ready.split_to(length));
        Ok(length)
    }
}
