//! What a service answers, read piece by piece: an item is handed out before the next one is read, and no piece, and no wait for one,
//! is without a bound.

use std::cell::Cell;
use std::io::{self, BufReader, Read};
use std::rc::Rc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use ingather_model::limits;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::slow::Stream;

/// What came, or why nothing did.
pub(super) type Said<T> = Result<T, String>;

/// Sends a request over a connection, and waits for the beginning of its answer.
pub(super) fn sent(
    runtime: &Runtime,
    stream: Box<dyn Stream>,
    request: Request<Body>,
) -> Said<Response<Incoming>> {
    runtime.block_on(async {
        let told = |error: hyper::Error| error.to_string();
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(told)?;
        // It ends with the runtime, or with the answer.
        tokio::spawn(connection);
        let answered = tokio::time::timeout(
            Duration::from_millis(limits::HTTP_ANSWER_MS_MAX),
            sender.send_request(request),
        );
        let late = |_| {
            let minutes = limits::HTTP_ANSWER_MS_MAX / 60_000;
            format!("it has not answered within {minutes} min, and may still be at work at it")
        };
        answered.await.map_err(late)?.map_err(told)
    })
}

/// An answer that is one piece.
pub(super) fn whole(runtime: &Runtime, response: Response<Incoming>) -> Said<Value> {
    let (pieces, _) = Pieces::of(runtime, response.into_body());
    serde_json::from_reader(pieces).map_err(in_words)
}

/// An answer with items, each handed out as it comes: the answer behind them, and how many items did not fit.
pub(super) fn streamed(
    runtime: &Runtime,
    response: Response<Incoming>,
    each: &mut dyn FnMut(Value),
) -> Said<(Value, Option<u64>)> {
    let (pieces, left) = Pieces::of(runtime, response.into_body());
    let mut read = serde_json::Deserializer::from_reader(pieces);
    let streamed = read.deserialize_map(Answer { each, left }).map_err(in_words)?;
    read.end().map_err(in_words)?;
    Ok(streamed)
}

fn in_words(error: serde_json::Error) -> String {
    match error.is_io() {
        true => error.to_string(),
        false => format!("it is no JSON of a service: {error}"),
    }
}

/// A body, as it comes.
struct Pieces<'r, B> {
    runtime: &'r Runtime,
    body: B,
    came: Bytes,
    /// Bytes that may come before the piece ends.
    left: Rc<Cell<usize>>,
}

impl<'r> Pieces<'r, Incoming> {
    fn of(runtime: &'r Runtime, body: Incoming) -> (BufReader<Pieces<'r, Incoming>>, Rc<Cell<usize>>) {
        let left = Rc::new(Cell::new(limits::HTTP_PIECE_BYTES_MAX));
        let pieces = Pieces { runtime, body, came: Bytes::new(), left: left.clone() };
        (BufReader::new(pieces), left)
    }
}

impl Pieces<'_, Incoming> {
    /// The next bytes; none at the end.
    fn next(&mut self) -> io::Result<Option<Bytes>> {
        let longest = Duration::from_millis(limits::HTTP_WRITE_MS_MAX);
        let body = &mut self.body;
        let came = self.runtime.block_on(async { tokio::time::timeout(longest, body.frame()).await });
        let late = |_| {
            let seconds = longest.as_secs();
            io::Error::other(format!("it stopped in the middle, and nothing came for {seconds} s"))
        };
        match came.map_err(late)? {
            None => Ok(None),
            Some(Ok(frame)) => Ok(Some(frame.into_data().unwrap_or_default())),
            Some(Err(error)) => Err(io::Error::other(format!("it was broken off: {error}"))),
        }
    }
}

impl Read for Pieces<'_, Incoming> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.came.is_empty() {
            match self.next()? {
                None => return Ok(0),
                Some(came) => self.came = came,
            }
        }
        let length = self.came.len().min(into.len());
        let left = self.left.get().checked_sub(length).ok_or_else(|| {
            let most = limits::HTTP_PIECE_BYTES_MAX >> 20;
            io::Error::other(format!("a piece of it has more than {most} MiB; ask for less at once"))
        })?;
        self.left.set(left);
        into[..length].copy_from_slice(&self.came.split_to(length));
        Ok(length)
    }
}

/// The object that a streaming operation answers.
struct Answer<'e> {
    each: &'e mut dyn FnMut(Value),
    left: Rc<Cell<usize>>,
}

impl<'de> Visitor<'de> for Answer<'_> {
    type Value = (Value, Option<u64>);

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an object with items and an answer")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let (mut answer, mut left_out) = (Value::Null, None);
        while let Some(name) = fields.next_key::<String>()? {
            match name.as_str() {
                "items" => fields.next_value_seed(Items { each: &mut *self.each, left: &self.left })?,
                "left_out" => left_out = fields.next_value()?,
                "answer" => answer = fields.next_value()?,
                _ => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        Ok((answer, left_out))
    }
}

struct Items<'e> {
    each: &'e mut dyn FnMut(Value),
    left: &'e Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for Items<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, read: D) -> Result<(), D::Error> {
        read.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Items<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element()? {
            (self.each)(item);
            self.left.set(limits::HTTP_PIECE_BYTES_MAX);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;

    /// Asks a service that answers with what this function writes.
    fn asked<F: Future<Output = ()> + Send + 'static>(
        runtime: &Runtime,
        answers: impl FnOnce(DuplexStream) -> F,
    ) -> Said<Response<Incoming>> {
        let (near, far) = duplex(1 << 16);
        runtime.spawn(answers(far));
        let request = Request::builder().uri("/x").header("Host", "x").body(Body::empty());
        sent(runtime, Box::new(near), request.expect("a request"))
    }

    /// Answers with a beginning, then with a text so many times, and then says nothing any more.
    fn answering(head: &'static str, text: Vec<u8>, times: usize) -> impl FnOnce(DuplexStream) -> Silent {
        move |mut far| {
            Box::pin(async move {
                let mut request = [0_u8; 1_024];
                let _read = far.read(&mut request).await;
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n{head}");
                let _wrote = far.write_all(head.as_bytes()).await;
                for _ in 0..times {
                    if far.write_all(&text).await.is_err() {
                        return;
                    }
                }
                std::future::pending::<()>().await;
            })
        }
    }

    type Silent = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

    #[test]
    fn a_service_that_says_nothing_is_not_waited_for_without_an_end() {
        let runtime = ingather_testkit::clock::jumping();
        let silent = asked(&runtime, |far| async move {
            let _held = far;
            std::future::pending::<()>().await;
        });
        assert!(silent.expect_err("nothing came").contains("has not answered within 30 min"));
        let begun = asked(&runtime, answering("{\"items\": [1, 2,", Vec::new(), 0)).expect("a head");
        let mut items = Vec::new();
        let broken = streamed(&runtime, begun, &mut |item| items.push(item)).expect_err("it stops");
        assert!(broken.contains("stopped in the middle, and nothing came for 30 s"), "{broken}");
        assert_eq!(items, [1, 2], "what came was handed out");
        let begun = asked(&runtime, answering("{\"jobs\":", Vec::new(), 0)).expect("a head");
        assert!(whole(&runtime, begun).expect_err("it stops").contains("stopped in the middle"));
    }

    #[test]
    fn many_items_may_be_longer_than_a_piece_and_no_piece_may() {
        let runtime = ingather_testkit::clock::jumping();
        let mut item = vec![b'7'; 1 << 16];
        item[0] = b'"';
        item[(1 << 16) - 2] = b'"';
        item[(1 << 16) - 1] = b',';
        let pieces = limits::HTTP_PIECE_BYTES_MAX / item.len();
        let begun = asked(&runtime, answering("{\"items\": [", item, 2 * pieces)).expect("a head");
        let mut count = 0;
        let broken = streamed(&runtime, begun, &mut |_| count += 1).expect_err("it stops");
        assert!(count == 2 * pieces && broken.contains("stopped"), "{count}: {broken}");
        let text = vec![b'x'; 1 << 16];
        let begun = asked(&runtime, answering("{\"items\": [\"", text.clone(), 2 * pieces)).expect("a head");
        let broken = streamed(&runtime, begun, &mut |_| {}).expect_err("it is too long");
        assert!(broken.contains("more than 32 MiB; ask for less at once"), "{broken}");
        let begun = asked(&runtime, answering("\"", text, 2 * pieces)).expect("a head");
        assert!(whole(&runtime, begun).expect_err("it is too long").contains("more than 32 MiB"));
    }
}
