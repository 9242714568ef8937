//! The socket to a child, on which nothing takes longer than until a time.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The time that is so many milliseconds from now.
pub(super) fn after(milliseconds: u64) -> Instant {
    // clock: a child that does not answer is ended
    Instant::now() + Duration::from_millis(milliseconds)
}

/// A socket on which nothing takes longer than until a time.
#[derive(Debug)]
pub(super) struct Timed {
    socket: UnixStream,
    pub(super) deadline: Instant,
    /// What the system was told last: the longest wait of a read, and of a write.
    waits: [Duration; 2],
}

/// So much later than at the deadline a wait may end; the system is told less often for it.
const WAIT_GRAIN: Duration = Duration::from_millis(100);

impl Timed {
    pub(super) fn new(socket: UnixStream, deadline: Instant) -> Self {
        Self { socket, deadline, waits: [Duration::ZERO; 2] }
    }

    pub(super) fn write_all(&mut self, said: &[u8]) -> io::Result<()> {
        self.hold(false)?;
        self.socket.write_all(said)
    }

    /// Tells the system how long the next read or write may take.
    fn hold(&mut self, reading: bool) -> io::Result<()> {
        let left = self.deadline.saturating_duration_since(after(0));
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let told = &mut self.waits[usize::from(reading)];
        if *told < left || *told > left + WAIT_GRAIN {
            *told = left + WAIT_GRAIN;
            match reading {
                true => self.socket.set_read_timeout(Some(*told))?,
                false => self.socket.set_write_timeout(Some(*told))?,
            }
        }
        Ok(())
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.hold(true)?;
        match self.socket.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(0),
            read => read,
        }
    }
}
