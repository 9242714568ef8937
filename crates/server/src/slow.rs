//! Clients that take nothing: a connection whose other end takes no byte for a time is broken off, so that it does not hold its
//! place for ever.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ingather_model::limits;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::places::Turn;

/// A connection, of whatever kind.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// A connection whose writes have an end.
pub(crate) struct Patient<S> {
    stream: S,
    /// Runs while a write waits.
    waits: Option<Pin<Box<Sleep>>>,
    /// Is told whether one does.
    turn: Option<Arc<Turn>>,
}

impl<S> Patient<S> {
    pub(crate) fn new(stream: S, turn: Option<Arc<Turn>>) -> Patient<S> {
        Patient { stream, waits: None, turn }
    }

    /// What a write came to; an error when it has waited for too long.
    fn bounded<T>(&mut self, context: &mut Context<'_>, wrote: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if let Some(turn) = &self.turn {
            turn.writes(wrote.is_pending());
        }
        if wrote.is_ready() {
            self.waits = None;
            return wrote;
        }
        let time = Duration::from_millis(limits::HTTP_WRITE_MS_MAX);
        let waits = self.waits.get_or_insert_with(|| Box::pin(sleep(time)));
        match waits.as_mut().poll(context) {
            Poll::Ready(()) => {
                self.waits = None;
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.bounded(context, wrote)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.bounded(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.bounded(context, shut)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[test]
    fn a_client_that_takes_nothing_is_cut_off_and_one_that_takes_a_little_is_not() {
        ingather_testkit::clock::jumping().block_on(async {
            let (near, _far) = duplex(4);
            let cut_off = Patient::new(near, None).write_all(&[0; 8]).await;
            assert_eq!(cut_off.expect_err("nobody takes it").kind(), io::ErrorKind::TimedOut);
            let (near, mut far) = duplex(4);
            let reads = tokio::spawn(async move {
                let mut taken = Vec::new();
                let mut one = [0_u8; 1];
                while taken.len() < 8 {
                    tokio::time::advance(Duration::from_millis(limits::HTTP_WRITE_MS_MAX - 1)).await;
                    let read = far.read(&mut one).await.expect("it can be read");
                    taken.extend_from_slice(&one[..read]);
                }
                taken
            });
            let wrote = Patient::new(near, None).write_all(&[7; 8]).await;
            assert!(wrote.is_ok(), "{wrote:?}");
            assert_eq!(reads.await.expect("it ends"), [7; 8]);
        });
    }
}
