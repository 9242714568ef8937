//! What a process knows of the sinks of channels: whose turn it is to be sent something, how often each took nothing, and which calls are telling one what they push.
//!
//! None of it is kept: a service that begins anew gives each sink the whole time, and ends the calls that nobody makes any more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};

use ingather_contract::sink::Sender;
use ingather_model::limits;
use ingather_store::turns::lock;

use crate::error::{EngineError, Refusal, Result};

/// What is known of the sinks of all channels.
#[derive(Default)]
pub(crate) struct Sinks {
    sender: OnceLock<Arc<dyn Sender>>,
    turns: Mutex<Turns>,
    /// Calls that are telling sinks what they push, by a number of each: the channel, and the first of their tickets.
    telling: Mutex<(u64, BTreeMap<u64, (i64, Option<i64>)>)>,
}

/// Whose turn it is to be sent something.
#[derive(Default)]
struct Turns {
    given: u64,
    by_channel: BTreeMap<i64, Turn>,
}

/// How one sink stands.
#[derive(Clone, Copy, Default)]
struct Turn {
    /// Its last turn.
    number: u64,
    /// It is being sent something.
    is_now: bool,
    /// How often it took nothing, one after the other, and since when, milliseconds since 1970 UTC.
    failed: Option<(u32, i64)>,
    /// When it is tried again.
    again: i64,
}

/// A call that is telling a sink what it pushes, until this is dropped.
pub(super) struct ToldCall<'s> {
    sinks: &'s Sinks,
    number: u64,
}

impl ToldCall<'_> {
    /// The first of its tickets is this one.
    pub(super) fn of(&self, call: i64) {
        if let Some(telling) = lock(&self.sinks.telling).1.get_mut(&self.number) {
            telling.1 = Some(call);
        }
    }
}

impl Drop for ToldCall<'_> {
    fn drop(&mut self) {
        lock(&self.sinks.telling).1.remove(&self.number);
    }
}

impl Sinks {
    pub(crate) fn send_by(&self, sender: Arc<dyn Sender>) {
        // Who came first sends.
        let _ = self.sender.set(sender);
    }

    pub(crate) fn sender(&self) -> Option<&Arc<dyn Sender>> {
        self.sender.get()
    }

    /// A call is about to tell the sink of a channel what it pushes.
    ///
    /// # Errors
    /// `Busy` where as many do so as may.
    pub(super) fn telling(&self, channel: i64) -> Result<ToldCall<'_>> {
        let mut telling = lock(&self.telling);
        let of_one = telling.1.values().filter(|(of, _)| *of == channel).count();
        if telling.1.len() >= limits::SINK_CALLS_MAX || of_one >= limits::SINK_CALLS_OF_ONE_MAX {
            let sentence = "as many calls as may are telling webhooks what they push; push again when these have answered";
            return Err(EngineError::refused(Refusal::Busy, sentence));
        }
        telling.0 += 1;
        let number = telling.0;
        telling.1.insert(number, (channel, None));
        Ok(ToldCall { sinks: self, number })
    }

    /// Whether a call is telling a sink of the tickets that begin with this one.
    pub(super) fn is_telling(&self, call: i64) -> bool {
        lock(&self.telling).1.values().any(|(_, of)| *of == Some(call))
    }

    /// Gives turns to those of channels that are due; to which.
    pub(super) fn give(&self, behind: &[i64], now: i64) -> Vec<i64> {
        let mut turns = lock(&self.turns);
        let there: BTreeSet<i64> = behind.iter().copied().collect();
        turns.by_channel.retain(|channel, turn| turn.is_now || there.contains(channel));
        let at_work = turns.by_channel.values().filter(|turn| turn.is_now).count();
        let stands = |channel: &i64| turns.by_channel.get(channel).copied().unwrap_or_default();
        let mut due: Vec<(u64, i64)> = behind
            .iter()
            .filter(|channel| !stands(channel).is_now && stands(channel).again <= now)
            .map(|channel| (stands(channel).number, *channel))
            .collect();
        // Who has waited longest is first.
        due.sort_unstable();
        due.truncate(limits::SINKS_AT_ONCE_MAX.saturating_sub(at_work));
        for (_, channel) in &due {
            turns.given += 1;
            let number = turns.given;
            let turn = turns.by_channel.entry(*channel).or_default();
            (turn.number, turn.is_now) = (number, true);
        }
        due.into_iter().map(|(_, channel)| channel).collect()
    }

    /// The turn of a channel ends.
    pub(crate) fn ends(&self, channel: i64) {
        if let Some(turn) = lock(&self.turns).by_channel.get_mut(&channel) {
            turn.is_now = false;
        }
    }

    /// A sink has taken something.
    pub(super) fn heard(&self, channel: i64) {
        if let Some(turn) = lock(&self.turns).by_channel.get_mut(&channel) {
            (turn.failed, turn.again) = (None, 0);
        }
    }

    /// What a sink has taken cannot be noted now: it is sent again, a little later.
    pub(super) fn put_off(&self, channel: i64, now: i64) {
        lock(&self.turns).by_channel.entry(channel).or_default().again = now + limits::SINK_RETRY_MS_MIN;
    }

    /// A sink has taken nothing at a time; whether that lasts for so long.
    pub(super) fn failed(&self, channel: i64, (ms, now): (i64, i64)) -> bool {
        let mut turns = lock(&self.turns);
        let turn = turns.by_channel.entry(channel).or_default();
        let (times, since) = turn.failed.map_or((1, now), |(times, since)| (times + 1, since.min(now)));
        turn.failed = Some((times, since));
        let wait = limits::SINK_RETRY_MS_MIN << (times - 1).min(16);
        turn.again = (now + wait.min(limits::SINK_RETRY_MS_MAX)).min((since + ms).max(now + 1));
        now - since >= ms
    }
}

/// The turn of a sink, until this is dropped.
pub(super) struct Given<'s>(&'s Sinks, i64);

impl<'s> Given<'s> {
    /// Of a channel that was given one.
    pub(super) fn to(sinks: &'s Sinks, channel: i64) -> Given<'s> {
        Given(sinks, channel)
    }
}

impl Drop for Given<'_> {
    fn drop(&mut self) {
        self.0.ends(self.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sink_that_takes_nothing_is_tried_less_and_less_often_and_given_up_in_time() {
        let (sinks, mut now, mut waits) = (Sinks::default(), 1_000_000, Vec::new());
        loop {
            assert_eq!(sinks.give(&[7], now), [7]);
            assert!(sinks.give(&[7], now).is_empty(), "it has its turn");
            let is_over = sinks.failed(7, (300_000, now));
            sinks.ends(7);
            if is_over {
                break;
            }
            let before = now;
            while sinks.give(&[7], now).is_empty() {
                now += 500;
            }
            sinks.ends(7);
            waits.push((now - before) / 1_000);
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60, 57]);
        sinks.heard(7);
        assert!(!sinks.failed(7, (300_000, now)), "what it took counts");
    }

    #[test]
    fn so_many_have_their_turn_at_once_and_who_waits_longest_is_next() {
        let (sinks, all) = (Sinks::default(), (1..=20).collect::<Vec<i64>>());
        assert_eq!(sinks.give(&all, 0), (1..=8).collect::<Vec<_>>());
        assert!(sinks.give(&all, 0).is_empty());
        [3, 5].into_iter().for_each(|channel| sinks.ends(channel));
        assert_eq!(sinks.give(&all, 0), [9, 10]);
        (1..=20).for_each(|channel| sinks.ends(channel));
        assert_eq!(sinks.give(&all, 0), (11..=18).collect::<Vec<_>>());
    }

    #[test]
    fn a_sink_that_hangs_keeps_few_calls_of_its_channel_and_none_of_others() {
        let sinks = Sinks::default();
        let mut calls: Vec<ToldCall<'_>> = (0..limits::SINK_CALLS_OF_ONE_MAX)
            .map(|_| sinks.telling(7).unwrap_or_else(|error| panic!("{error}")))
            .collect();
        assert!(sinks.telling(7).is_err());
        let other = sinks.telling(8).unwrap_or_else(|error| panic!("{error}"));
        other.of(41);
        assert!(sinks.is_telling(41) && !sinks.is_telling(42));
        drop(other);
        assert!(!sinks.is_telling(41));
        calls.pop();
        assert!(sinks.telling(7).is_ok());
    }
}
