//! How much of a source may be read, and when: rules, and what is left of them at a time (coverage S3.125–S3.131).
//!
//! A [`Rule`] speaks of a whole repository connection, or of each bin that its pattern fits; where several speak of one bin, the strictest
//! of them holds. A [`Lane`] is what is left for one bin: places for fetches, and a [`Bucket`] for fetches and one for bytes. Buckets begin
//! empty and count in whole numbers, so that no time is lost or won by rounding. Time is passed in: milliseconds of a clock that is
//! never put back; one that is all the same gives nothing, and is counted on from where it is.

use serde::{Deserialize, Serialize};

use super::NEVER;
use crate::limits;

/// What one rule of a repository connection allows; what it does not name is not limited by it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// A regular expression for whole names of bins, each of which is limited by itself; without one, all documents of the
    /// connection are limited together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bins: Option<String>,
    /// Documents that are fetched at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetches_at_once: Option<u32>,
    /// Fetches that begin in a minute, evenly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetches_per_minute: Option<u32>,
    /// Bytes of content that are read in a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<u64>,
}

impl Rule {
    /// Refuses what limits nothing, or is out of bounds.
    ///
    /// # Errors
    /// A sentence that says what to change.
    pub fn check(&self) -> Result<(), String> {
        if self.allowance() == Allowance::default() {
            return Err(
                "a rule of `throttle` limits nothing; give it `fetches_at_once`, `fetches_per_minute` or \
                        `bytes_per_second`"
                    .to_owned(),
            );
        }
        let max = limits::THROTTLE_BYTES_PER_SECOND_MAX;
        match self.bytes_per_second {
            Some(bytes) if bytes > max => {
                Err(format!("`bytes_per_second` of {bytes} is more than {max}; leave it out"))
            }
            _ => Ok(()),
        }
    }

    /// What it allows.
    pub fn allowance(&self) -> Allowance {
        Allowance {
            fetches_at_once: self.fetches_at_once,
            fetches_per_minute: self.fetches_per_minute,
            bytes_per_second: self.bytes_per_second,
        }
    }
}

/// What is allowed of one bin, or of a whole connection; none: as much as there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowance {
    /// As in [`Rule::fetches_at_once`].
    pub fetches_at_once: Option<u32>,
    /// As in [`Rule::fetches_per_minute`].
    pub fetches_per_minute: Option<u32>,
    /// As in [`Rule::bytes_per_second`].
    pub bytes_per_second: Option<u64>,
}

impl Allowance {
    /// The strictest of two, in each respect.
    #[must_use]
    pub fn strictest(self, other: Allowance) -> Allowance {
        fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            match (one, other) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            }
        }
        Allowance {
            fetches_at_once: least(self.fetches_at_once, other.fetches_at_once),
            fetches_per_minute: least(self.fetches_per_minute, other.fetches_per_minute),
            bytes_per_second: least(self.bytes_per_second, other.bytes_per_second),
        }
    }

    /// Whether it limits nothing.
    pub fn is_unlimited(&self) -> bool {
        *self == Allowance::default()
    }
}

/// Tokens that come at an even rate, up to so many. Counted in parts of a token: so many of them come in a millisecond as tokens come in
/// the time that the rate is named for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Parts that come in a millisecond.
    rate: i64,
    /// Parts of one token: the milliseconds of the time that the rate is named for.
    token: i64,
    /// Parts that it holds at most.
    most: i64,
    /// Parts that it holds; below zero, what was promised and is yet to come.
    level: i64,
    /// When it was filled last.
    at: i64,
}

impl Bucket {
    /// An empty one for fetches: it never holds more than one, so that fetches begin at even distances.
    pub fn of_fetches(per_minute: u32, now: i64) -> Bucket {
        Bucket::holding(0, per_minute.into(), 60_000, now)
    }

    /// An empty one for bytes: it holds what comes in [`limits::THROTTLE_BURST_MS`], and one byte at least.
    pub fn of_bytes(per_second: u64, now: i64) -> Bucket {
        let rate = per_second.min(limits::THROTTLE_BYTES_PER_SECOND_MAX) as i64;
        Bucket::holding(rate * limits::THROTTLE_BURST_MS, rate, 1_000, now)
    }

    /// One that holds so many parts, and at the least a token with what comes in the millisecond in which it is complete: what is over
    /// belongs to the next one.
    fn holding(most: i64, rate: i64, token: i64, now: i64) -> Bucket {
        Bucket { rate, token, most: most.max(token + (rate - 1).max(0)), level: 0, at: now }
    }

    /// Whole tokens that it holds at most.
    pub fn most(&self) -> u64 {
        (self.most / self.token) as u64
    }

    /// What came in the meantime.
    fn fill(&mut self, now: i64) {
        let passed = now.saturating_sub(self.at).max(0);
        self.level = self.most.min(self.level.saturating_add(passed.saturating_mul(self.rate)));
        self.at = now;
    }

    /// When it holds so many parts; [`NEVER`] when its rate is zero and it does not.
    fn holds_at(&self, parts: i64) -> i64 {
        let missing = parts.saturating_sub(self.level);
        if missing <= 0 {
            return self.at;
        }
        if self.rate == 0 {
            return NEVER;
        }
        // The first millisecond at whose beginning all of it is there.
        self.at.saturating_add(missing / self.rate + i64::from(missing % self.rate != 0))
    }

    /// When a token is there that nobody was promised; `now`, when one is.
    pub fn free_at(&mut self, now: i64) -> i64 {
        self.fill(now);
        self.holds_at(self.token)
    }

    /// Promises tokens, after all that were promised before: when they are there. At most [`Bucket::most`] are one promise.
    pub fn promise(&mut self, tokens: u64, now: i64) -> i64 {
        self.fill(now);
        let parts = self.token.saturating_mul(i64::try_from(tokens).unwrap_or(i64::MAX));
        let at = self.holds_at(parts);
        self.level = self.level.saturating_sub(parts);
        at
    }

    /// Takes tokens back that were promised, and not used.
    pub fn give_back(&mut self, tokens: u64, now: i64) {
        self.fill(now);
        let parts = self.token.saturating_mul(i64::try_from(tokens).unwrap_or(i64::MAX));
        self.level = self.most.min(self.level.saturating_add(parts));
    }

    /// Whether it holds as much as it can, so that nothing is lost when it is forgotten.
    fn is_full(&mut self, now: i64) -> bool {
        self.fill(now);
        self.level == self.most
    }
}

/// Why nothing may be fetched now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not before this time.
    Until(i64),
    /// As many are being fetched as may at once.
    Place,
}

/// What is left of an allowance.
#[derive(Clone, Debug)]
pub struct Lane {
    allowance: Allowance,
    /// Documents that are being fetched.
    under_way: u32,
    fetches: Option<Bucket>,
    bytes: Option<Bucket>,
}

impl Lane {
    /// One of which nothing has been used since `began`, and everything before: what was used before a process began, nobody knows.
    pub fn new(allowance: Allowance, began: i64) -> Lane {
        Lane {
            allowance,
            under_way: 0,
            fetches: allowance.fetches_per_minute.map(|rate| Bucket::of_fetches(rate, began)),
            bytes: allowance.bytes_per_second.map(|rate| Bucket::of_bytes(rate, began)),
        }
    }

    /// What is left when something else is allowed from now on: of that, nothing yet; what is being fetched still is.
    #[must_use]
    pub fn changed(&self, allowance: Allowance, now: i64) -> Lane {
        Lane { under_way: self.under_way, ..Lane::new(allowance, now) }
    }

    /// Whether anything is being fetched.
    pub fn is_busy(&self) -> bool {
        self.under_way > 0
    }

    /// Whether its bytes are counted.
    pub fn is_paced(&self) -> bool {
        self.bytes.is_some()
    }

    /// Why no fetch may begin now; none: one may. It may not either while others wait for bytes that they were promised.
    pub fn waits(&mut self, now: i64) -> Option<Wait> {
        let free = |bucket: &mut Option<Bucket>| bucket.as_mut().map_or(now, |bucket| bucket.free_at(now));
        let at = free(&mut self.fetches).max(free(&mut self.bytes));
        if self.allowance.fetches_at_once == Some(0) {
            Some(Wait::Until(NEVER))
        } else if at > now {
            Some(Wait::Until(at))
        } else {
            self.allowance.fetches_at_once.filter(|most| self.under_way >= *most).map(|_| Wait::Place)
        }
    }

    /// A fetch begins, for which nothing waits.
    pub fn begin(&mut self, now: i64) {
        self.under_way += 1;
        if let Some(bucket) = &mut self.fetches {
            bucket.promise(1, now);
        }
    }

    /// One more fetch of what is being fetched: the next one waits for it.
    pub fn again(&mut self, now: i64) {
        if let Some(bucket) = &mut self.fetches {
            bucket.promise(1, now);
        }
    }

    /// A fetch is over; nothing was fetched where it was not `used`.
    pub fn end(&mut self, used: bool, now: i64) {
        self.under_way = self.under_way.saturating_sub(1);
        if let Some(bucket) = self.fetches.as_mut().filter(|_| !used) {
            bucket.give_back(1, now);
        }
    }

    /// Bytes that may be promised at once at most; none: as many as anybody likes.
    pub fn bytes_most(&self) -> Option<u64> {
        self.bytes.as_ref().map(Bucket::most)
    }

    /// Promises bytes: when they may be read.
    pub fn promise_bytes(&mut self, bytes: u64, now: i64) -> i64 {
        self.bytes.as_mut().map_or(now, |bucket| bucket.promise(bytes, now))
    }

    /// Takes bytes back that were promised and not read.
    pub fn give_back_bytes(&mut self, bytes: u64, now: i64) {
        if let Some(bucket) = &mut self.bytes {
            bucket.give_back(bytes, now);
        }
    }

    /// Whether it can be forgotten, and be begun again when it is needed, as if it had been there.
    pub fn is_idle(&mut self, now: i64) -> bool {
        let full = |bucket: &mut Option<Bucket>| bucket.as_mut().is_none_or(|bucket| bucket.is_full(now));
        self.under_way == 0 && full(&mut self.fetches) && full(&mut self.bytes)
    }
}
