//! Places of connections: so many at once as there may be. When there is no room, the connection that has waited longest for its
//! client makes some, so that clients that only hold connections keep nobody out.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use hyper::body::{Bytes, Frame, Incoming, SizeHint};
use tokio::sync::Notify;

/// The places of one listener.
pub(crate) struct Places {
    most: usize,
    held: Mutex<BTreeMap<u64, Arc<Turn>>>,
    /// Counts what happens, so that it is known what happened earlier.
    clock: AtomicU64,
    /// Told when a place may be had that was none before.
    changed: Notify,
}

/// Whose turn it is on a connection: its client's, or the service's.
pub(crate) struct Turn {
    places: Arc<Places>,
    answering: AtomicBool,
    receiving: AtomicBool,
    writing: AtomicBool,
    /// Since when it waits for its client.
    since: AtomicU64,
    gives_way: Notify,
}

/// The place of a connection, until it is dropped.
pub(crate) struct Place {
    number: u64,
    pub(crate) turn: Arc<Turn>,
}

/// An answer that is under way, until it is dropped.
struct Answering(Arc<Turn>);

impl Places {
    pub(crate) fn new(most: usize) -> Arc<Places> {
        Arc::new(Places { most, held: Mutex::default(), clock: AtomicU64::new(0), changed: Notify::new() })
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Turn>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes a place, from the connection that has waited longest for its client where all are taken; waits while every one of them is answered.
    pub(crate) async fn take(self: &Arc<Places>) -> Place {
        loop {
            if let Some(place) = self.try_take() {
                return place;
            }
            self.changed.notified().await;
        }
    }

    fn try_take(self: &Arc<Places>) -> Option<Place> {
        let mut held = self.held();
        if held.len() >= self.most {
            let waiting = held.iter().filter(|(_, turn)| turn.is_of_client());
            let (number, _) = waiting.min_by_key(|(_, turn)| turn.since.load(Ordering::Relaxed))?;
            let number = *number;
            if let Some(turn) = held.remove(&number) {
                turn.gives_way.notify_one();
            }
        }
        let number = self.tick();
        let turn = Arc::new(Turn {
            places: self.clone(),
            answering: AtomicBool::new(false),
            receiving: AtomicBool::new(false),
            writing: AtomicBool::new(false),
            since: AtomicU64::new(number),
            gives_way: Notify::new(),
        });
        held.insert(number, turn.clone());
        Some(Place { number, turn })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let places = &self.turn.places;
        places.held().remove(&self.number);
        places.changed.notify_one();
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.set(&self.0.answering, false);
    }
}

impl Turn {
    fn is_of_client(&self) -> bool {
        let is = |what: &AtomicBool| what.load(Ordering::Relaxed);
        // What is not taken has a time-out of its own, and a part of an answer is worse than a late one.
        !is(&self.writing) && (!is(&self.answering) || is(&self.receiving))
    }

    fn set(&self, what: &AtomicBool, value: bool) {
        if what.swap(value, Ordering::Relaxed) == value {
            return;
        }
        if self.is_of_client() {
            self.since.store(self.places.tick(), Ordering::Relaxed);
            self.places.changed.notify_one();
        }
    }

    /// Whether something waits to be taken by the client.
    pub(crate) fn writes(&self, waits: bool) {
        self.set(&self.writing, waits);
    }

    /// Returns when the connection is to make room for another one.
    pub(crate) async fn to_give_way(&self) {
        self.gives_way.notified().await;
    }

    /// A request that came: from here on it is answered, but while its body is waited for.
    pub(crate) fn request(self: &Arc<Turn>, body: Incoming) -> Body {
        self.set(&self.answering, true);
        Body::new(Arriving { body, turn: self.clone() })
    }

    /// The body of its answer, whose end ends the answer.
    pub(crate) fn answer(self: &Arc<Turn>, body: Body) -> Body {
        Body::new(Leaving { body, _answering: Answering(self.clone()) })
    }
}

/// The body of a request.
struct Arriving {
    body: Incoming,
    turn: Arc<Turn>,
}

impl HttpBody for Arriving {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let came = Pin::new(&mut self.body).poll_frame(context);
        self.turn.set(&self.turn.receiving, came.is_pending());
        came
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        self.turn.set(&self.turn.receiving, false);
    }
}

/// The body of an answer.
struct Leaving {
    body: Body,
    _answering: Answering,
}

impl HttpBody for Leaving {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gives_way(turn: &Turn) -> bool {
        let mut told = std::pin::pin!(turn.to_give_way());
        let mut context = Context::from_waker(std::task::Waker::noop());
        told.as_mut().poll(&mut context).is_ready()
    }

    #[test]
    fn who_has_waited_longest_for_its_client_makes_room_and_who_is_answered_never() {
        let places = Places::new(3);
        let take = || places.try_take();
        let [one, two, three] = [take(), take(), take()].map(|place| place.expect("room"));
        one.turn.set(&one.turn.answering, true);
        two.turn.set(&two.turn.answering, true);
        two.turn.set(&two.turn.answering, false);
        let four = take().expect("the third has waited longest");
        assert!(gives_way(&three.turn) && !gives_way(&one.turn) && !gives_way(&two.turn));
        two.turn.set(&two.turn.answering, true);
        four.turn.writes(true);
        assert!(take().is_none(), "all are answered, or take their answer");
        two.turn.set(&two.turn.receiving, true);
        let five = take().expect("the second waits for a body");
        assert!(gives_way(&two.turn) && !gives_way(&four.turn));
        assert_eq!(places.held().len(), 3);
        drop(three);
        drop(two);
        assert_eq!(places.held().len(), 3, "whoever has given way has no place to give back");
        drop((one, four, five));
        assert_eq!(places.held().len(), 0);
    }
}
