//! Publishing in order: each message names the one that it has to be behind, so that the server itself lets nothing be lost in the middle,
//! come twice, come late, or come from two processes at once.
//!
//! Many are on their way at once. When one is not stored, none behind it is; then the stream is asked what it holds, and what is missing is
//! sent again.

use std::collections::VecDeque;
use std::future::IntoFuture;

use async_nats::jetstream::context::{PublishAckFuture, PublishError};
use async_nats::jetstream::publish::PublishAck;
use ingather_contract::call::Cancel;
use ingather_model::fault::Fault;
use ingather_model::limits;

use super::link::{AWAY, Failure, Link, Patience, Refusal, refusal, sentence};
use super::message::{Item, Noted};
use super::settings::Meant;
use super::stream::{self, Described, Stored};
use super::tail::Tail;

/// Code of a fault of a message that is too large.
const TOO_LARGE: &str = "entry_too_large";
/// What is said where somebody else has a hand in the stream.
const SHARED: &str = "somebody else wrote to the stream";

/// A stream that is open for publishing.
pub(super) struct Publisher {
    meant: Meant,
    /// When the stream was made.
    pub(super) created: String,
    /// Number of its last message, as far as it is known.
    pub(super) last: u64,
    /// The last message of ours that is in it: its number as a change, and its opening.
    pub(super) newest: Option<(i64, i64)>,
    tail: Tail,
    /// Number of this opening, which its messages tell.
    pub(super) opening: i64,
    /// Number of the opening before it: what was on its way when that one ended may still arrive, until something of this one is stored.
    pub(super) before: Option<i64>,
    link: Option<Link>,
    /// Bytes of the largest message that is taken.
    message_bytes: usize,
    /// Something may be in it behind `last`.
    unsure: bool,
}

/// Answers to the first of some messages.
type Answers = Vec<Result<(), Fault>>;

/// Tries until it is done, or for long enough.
async fn patiently<T>(
    cancel: &Cancel,
    most_ms: u64,
    mut attempt: impl AsyncFnMut() -> Result<T, Failure>,
) -> Result<T, Fault> {
    let mut patience = Patience::begin(cancel, most_ms);
    loop {
        match attempt().await {
            Ok(done) => return Ok(done),
            Err(Failure::Ends(fault)) => return Err(fault),
            Err(Failure::Again(told)) => {
                if !patience.wait().await {
                    return Err(Fault::passing(AWAY, told));
                }
            }
        }
    }
}

/// Whether a stream could be opened.
///
/// # Errors
/// What [`Publisher::open`] would answer.
pub(super) async fn check(meant: &Meant) -> Result<(), Fault> {
    let cancel = Cancel::default();
    let described = patiently(&cancel, limits::NATS_OPEN_PATIENCE_MS_MAX, async || {
        stream::described(&mut Link::connect(meant).await?, meant).await
    });
    match described.await?.is_some() || meant.making.is_some() {
        true => Ok(()),
        false => Err(stream::missing(meant)),
    }
}

async fn found_or_made(link: &mut Link, meant: &Meant) -> Result<Described, Failure> {
    if let Some(there) = stream::described(link, meant).await? {
        return Ok(there);
    }
    let Some(making) = &meant.making else { return Err(Failure::Ends(stream::missing(meant))) };
    stream::make(link, meant, making).await?;
    let made = stream::described(link, meant).await?;
    made.ok_or_else(|| Failure::Again("the stream that was made is not there".to_owned()))
}

impl Publisher {
    /// Opens a stream, and makes it where it is missing.
    ///
    /// # Errors
    /// It is away, is not there, or cannot be used.
    pub(super) async fn open(meant: Meant, opening: i64) -> Result<Publisher, Fault> {
        let cancel = Cancel::default();
        let opened = patiently(&cancel, limits::NATS_OPEN_PATIENCE_MS_MAX, async || {
            let mut link = Link::connect(&meant).await?;
            let there = found_or_made(&mut link, &meant).await?;
            let newest = match there.last() {
                0 => None,
                last => match stream::stored(&mut link, &meant, last).await? {
                    Stored::Ours(Noted { seq, opening, .. }) => Some((seq, opening)),
                    // Nothing that was ever noted has such numbers.
                    Stored::Other => Some((0, 0)),
                    Stored::Gone => None,
                },
            };
            Ok((link, there, newest))
        });
        let (link, there, newest) = opened.await?;
        Ok(Publisher {
            meant,
            created: there.created.clone(),
            last: there.last(),
            newest,
            tail: Tail::default(),
            opening,
            before: None,
            message_bytes: there.message_bytes(link.message_bytes),
            link: Some(link),
            unsure: false,
        })
    }

    /// Looks for what processes that died have left in the stream, from the newest message on, back to the end of a run: what was told before
    /// that was noted.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) async fn look_back(&mut self) -> Result<(), Fault> {
        let first = (self.last + 1).saturating_sub(limits::NATS_TAIL_MAX).max(1);
        let (meant, mut at, mut tail) = (&self.meant, self.last, Tail::default());
        let mut kept = self.link.take();
        let cancel = Cancel::default();
        let looked = patiently(&cancel, limits::NATS_OPEN_PATIENCE_MS_MAX, async || {
            let mut link = match kept.take() {
                Some(link) => link,
                None => Link::connect(meant).await?,
            };
            while at >= first {
                match stream::stored(&mut link, meant, at).await? {
                    Stored::Ours(noted) if noted.is_end => break,
                    Stored::Ours(noted) => tail.take_older(noted),
                    Stored::Other | Stored::Gone => break,
                }
                at -= 1;
            }
            Ok(link)
        });
        self.link = Some(looked.await?);
        self.tail = tail;
        Ok(())
    }

    /// Publishes messages in their order; an answer for each, and why nothing more is to be sent in this opening.
    pub(super) async fn publish(&mut self, cancel: &Cancel, items: &[Item]) -> (Answers, Option<Fault>) {
        let mut answers = Answers::with_capacity(items.len());
        let mut patience = Patience::begin(cancel, limits::NATS_PATIENCE_MS_MAX);
        while answers.len() < items.len() {
            let done = answers.len();
            match self.advance(items, &mut answers).await {
                Ok(()) if answers.len() > done => {}
                Err(Failure::Ends(fault)) => {
                    answers.resize(items.len(), Err(fault.clone()));
                    return (answers, Some(fault));
                }
                other => {
                    let told = match other {
                        Err(Failure::Again(told)) => told,
                        _ => "the server does not say what the stream holds".to_owned(),
                    };
                    (self.link, self.unsure) = (None, true);
                    if answers.len() > done {
                        patience = Patience::begin(cancel, limits::NATS_PATIENCE_MS_MAX);
                    }
                    if !patience.wait().await {
                        answers.resize(items.len(), Err(Fault::passing(AWAY, told)));
                    }
                }
            }
        }
        (answers, None)
    }

    /// Publishes some of what is left.
    async fn advance(&mut self, items: &[Item], answers: &mut Answers) -> Result<(), Failure> {
        let mut link = match self.link.take().filter(Link::is_fresh) {
            Some(link) => link,
            None => Link::connect(&self.meant).await?,
        };
        if self.unsure {
            self.find_out(&mut link, items, answers).await?;
        }
        self.send(&mut link, items, answers).await?;
        self.link = Some(link);
        Ok(())
    }

    /// Asks the stream what is in it behind what was acknowledged: messages of ours whose acknowledgements were lost.
    async fn find_out(
        &mut self,
        link: &mut Link,
        items: &[Item],
        answers: &mut Answers,
    ) -> Result<(), Failure> {
        let ends = |what| Err(Failure::Ends(stream::replaced(what)));
        let Some(there) = stream::described(link, &self.meant).await? else {
            return ends("the stream was dropped");
        };
        if there.created != self.created || there.last() < self.last {
            return ends("the stream was replaced, or put back to an earlier day,");
        }
        if there.last() - self.last > limits::NATS_IN_FLIGHT_MAX as u64 {
            return ends(SHARED);
        }
        self.message_bytes = there.message_bytes(link.message_bytes);
        for number in self.last + 1..=there.last() {
            match stream::stored(link, &self.meant, number).await? {
                Stored::Other => return ends(SHARED),
                Stored::Ours(noted)
                    if noted.opening != self.opening && Some(noted.opening) != self.before =>
                {
                    return ends(SHARED);
                }
                Stored::Ours(noted) => {
                    self.newest = Some((noted.seq, noted.opening));
                    match items.iter().position(|item| item.id == noted.id) {
                        Some(place) if place == answers.len() => answers.push(Ok(())),
                        Some(_) => {}
                        // Of changes that were given back meanwhile: they come again, and are there.
                        None => self.tail.take_newer(noted),
                    }
                }
                // Whoever consumed it has it. If it comes again now, it is known by its id.
                Stored::Gone => {}
            }
            self.last = number;
        }
        self.unsure = false;
        Ok(())
    }

    /// Sends messages one behind the other until one of them is not stored, or all are.
    async fn send(&mut self, link: &mut Link, items: &[Item], answers: &mut Answers) -> Result<(), Failure> {
        let mut sent = OnTheirWay::default();
        let mut is_behind = false;
        loop {
            let next = answers.len() + sent.acks.len();
            match items.get(next).filter(|_| !self.unsure && !is_behind) {
                // Published before, and not noted then.
                Some(item) if self.tail.has(item) && sent.acks.is_empty() => {
                    self.tail.forget(item);
                    answers.push(Ok(()));
                    continue;
                }
                Some(item) if self.tail.has(item) => {}
                Some(item) if item.bytes() > self.message_bytes && sent.acks.is_empty() => {
                    answers.push(Err(too_large(item.bytes(), self.message_bytes)));
                    continue;
                }
                Some(item) if item.bytes() <= self.message_bytes && sent.has_room(items, next) => {
                    let ahead = sent.acks.back().map(|_| &items[next - 1]);
                    let behind = self.last + sent.acks.len() as u64;
                    let context = link.context.clone();
                    let message = item.message(&self.meant.stream, behind, ahead);
                    let ack = link.wait(context.send_publish(item.subject.clone(), message)).await?;
                    let ack = ack.map_err(|error| match refusal(&error) {
                        Refusal::All(failure) => failure,
                        Refusal::Elsewhere => Failure::Again(sentence(&error)),
                        // The server takes less than a moment ago.
                        Refusal::TooLarge(told) => Failure::Again(told),
                    })?;
                    self.tail.forget(item);
                    sent.bytes += item.bytes();
                    sent.acks.push_back(ack);
                    continue;
                }
                _ => {}
            }
            // Those behind one that was not stored are waited for as well: the stream can be asked what it holds when all of them are over.
            let first = if is_behind { None } else { items.get(answers.len()) };
            let Some(ack) = sent.acks.pop_front() else { return Ok(()) };
            let said = link.wait(ack.into_future()).await?;
            match first {
                Some(item) => {
                    sent.bytes -= item.bytes();
                    is_behind = self.answered(said, item, answers)?;
                }
                // Each of them names the one ahead of it, which is not there.
                None if said.is_ok_and(|ack| !ack.duplicate) => {
                    return Err(Failure::Ends(stream::replaced(SHARED)));
                }
                None => {}
            }
        }
    }

    /// Takes the answer to a message in, behind which all that were sent before it are stored; whether it is not.
    fn answered(
        &mut self,
        said: Result<PublishAck, PublishError>,
        item: &Item,
        answers: &mut Answers,
    ) -> Result<bool, Failure> {
        let error = match said {
            Ok(ack) if ack.duplicate => {
                // It was stored by an attempt before this one, wherever that was.
                self.unsure = true;
                answers.push(Ok(()));
                return Ok(false);
            }
            Ok(ack) if ack.sequence == self.last + 1 => {
                (self.last, self.newest) = (ack.sequence, Some((item.seq, item.opening)));
                answers.push(Ok(()));
                return Ok(false);
            }
            Ok(_) => return Err(Failure::Ends(stream::replaced(SHARED))),
            Err(error) => error,
        };
        self.unsure = true;
        match refusal(&error) {
            Refusal::Elsewhere => Ok(true),
            Refusal::TooLarge(told) => {
                answers.push(Err(Fault::refused(
                    TOO_LARGE,
                    format!("the stream takes no message as large as this one: {told}"),
                )));
                Ok(true)
            }
            Refusal::All(failure) => Err(failure),
        }
    }
}

/// Messages that were sent and not answered, in their order.
#[derive(Default)]
struct OnTheirWay {
    acks: VecDeque<PublishAckFuture>,
    bytes: usize,
}

impl OnTheirWay {
    fn has_room(&self, items: &[Item], next: usize) -> bool {
        let stands_alone = items[next].is_barrier || next > 0 && items[next - 1].is_barrier;
        let fits = self.acks.len() < limits::NATS_IN_FLIGHT_MAX && self.bytes < limits::NATS_IN_FLIGHT_BYTES;
        self.acks.is_empty() || fits && !stands_alone
    }
}

fn too_large(bytes: usize, most: usize) -> Fault {
    Fault::refused(
        TOO_LARGE,
        format!(
            "as a message it has {bytes} bytes, and the server takes {most} (`max_payload` there, or `max_msg_size` of the stream)"
        ),
    )
}
