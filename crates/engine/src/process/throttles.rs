//! How much may be read of each repository connection, whatever the number of runs that read it: rules of the connection, and what is
//! left of them just now. It is kept in memory alone: a process that begins takes all for used that may have been.
//!
//! A place, and the right to begin a fetch, are taken with the claim of a document, so that no visitor waits for them; bytes are
//! waited for while they are read. At most half of the visitors of a process, and one, read what is paced by bytes: the others go on.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use ingather_contract::call::CallContext;
use ingather_contract::repository::Repository;
use ingather_model::fairness::NEVER;
use ingather_model::fairness::pace::PaceLane;
use ingather_model::fairness::throttle::{Allowance, Lane, Rule, Wait};
use ingather_model::ids::ConnectionId;
use ingather_model::limits;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::turns::Monitor;
use regex::{Regex, RegexBuilder};

/// The name of a bin.
pub(crate) type Bin = Arc<str>;

/// Name of the setting of a repository connection that holds its rules.
pub const THROTTLE: &str = "throttle";

/// The rules of a connection, as they are declared and as they are read.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    declared: Vec<Rule>,
    patterns: Vec<Option<Regex>>,
}

impl PartialEq for Rules {
    fn eq(&self, other: &Rules) -> bool {
        self.declared == other.declared
    }
}

impl Rules {
    /// Those in the settings of a connection.
    ///
    /// # Errors
    /// A sentence that says which of them is wrong, and what to do.
    pub fn of(settings: &serde_json::Value) -> Result<Rules, String> {
        let Some(given) = settings.get(THROTTLE) else { return Ok(Rules::default()) };
        let declared: Vec<Rule> =
            serde_json::from_value(given.clone()).map_err(|error| format!("`{THROTTLE}`: {error}"))?;
        if declared.len() > limits::THROTTLE_RULES_MAX {
            let (count, most) = (declared.len(), limits::THROTTLE_RULES_MAX);
            return Err(format!("`{THROTTLE}` has {count} rules; {most} are possible"));
        }
        let mut patterns = Vec::new();
        for rule in &declared {
            rule.check()?;
            patterns.push(rule.bins.as_deref().map(pattern).transpose()?);
        }
        Ok(Rules { declared, patterns })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.declared.is_empty()
    }

    /// What is allowed of one bin; of all documents together where none is named.
    fn allowance(&self, bin: Option<&str>) -> Allowance {
        let fits = |pattern: &Option<Regex>| match (pattern, bin) {
            (Some(pattern), Some(bin)) => pattern.is_match(bin),
            (None, None) => true,
            _ => false,
        };
        let of = self.declared.iter().zip(&self.patterns).filter(|(_, pattern)| fits(pattern));
        let mut of = of.map(|(rule, _)| rule.allowance());
        if failpoint(Failpoint::LastRuleWins) {
            return of.next_back().unwrap_or_default();
        }
        of.fold(Allowance::default(), Allowance::strictest)
    }
}

/// A pattern for whole names.
fn pattern(text: &str) -> Result<Regex, String> {
    if text.len() > limits::THROTTLE_PATTERN_BYTES_MAX {
        return Err(format!(
            "a pattern of `bins` is longer than {} bytes",
            limits::THROTTLE_PATTERN_BYTES_MAX
        ));
    }
    let built =
        RegexBuilder::new(&format!("^(?:{text})$")).size_limit(limits::THROTTLE_PATTERN_MEMORY_MAX).build();
    built.map_err(|error| format!("the pattern `{text}` of `bins` cannot be read: {error}"))
}

/// Whoever waits for a place of a connection.
pub(crate) trait Waits: Send + Sync {
    /// A fetch of these bins is over, and with it one of the connection.
    fn freed(&self, bins: &[Bin]);
}

/// What is left of the rules of all connections.
#[derive(Default)]
pub(crate) struct Throttles {
    state: Monitor<State>,
    /// Whether any connection has rules: nothing is locked without.
    any: AtomicBool,
}

#[derive(Default)]
struct State {
    connections: BTreeMap<ConnectionId, Connection>,
    /// What is under way of bins whose source says how they are to be fetched, by whichever connections: a host is one, however many jobs
    /// and kinds of jobs read it.
    paces: BTreeMap<Bin, PaceLane>,
    /// When the first run of the process began.
    began: Option<i64>,
    /// Visitors that read what is paced by bytes.
    paced: usize,
    /// Whoever waits until there are fewer of these, and for which bin.
    waits_for_paced: Vec<(Weak<dyn Waits>, Vec<Bin>)>,
}

#[derive(Default)]
struct Connection {
    rules: Rules,
    /// Counted up with each change of the rules.
    changes: u64,
    /// Since when nobody has used anything of these rules but by what is here.
    began: i64,
    whole: Option<Lane>,
    lanes: BTreeMap<Bin, Lane>,
    waiting: Vec<Weak<dyn Waits>>,
}

/// What a run asks by.
#[derive(Clone)]
pub(crate) struct Gate {
    pub(crate) throttles: Arc<Throttles>,
    pub(crate) connection: ConnectionId,
    /// Visitors of the process.
    threads: usize,
    /// Says how its bins are to be fetched, where it does.
    source: Option<Arc<dyn Repository>>,
    /// Until when something of the run waits for bytes, milliseconds since 1970 UTC; 0: nothing does.
    pub(crate) paced_until: Arc<AtomicI64>,
}

/// What became of a wish to fetch a document.
pub(crate) enum Admitted {
    /// Nothing limits it.
    Free,
    /// It may be fetched now.
    Yes(Arc<Admission>),
    /// Not before this time of [`CallContext::steady`], or the end of another fetch; because of this bin, or of the whole connection.
    No { bin: Option<Bin>, until: i64 },
}

/// The right to fetch one document; its place is free again when it is dropped.
pub(crate) struct Admission {
    gate: Gate,
    call: CallContext,
    bins: Vec<Bin>,
    /// The bin that has a pace.
    pace: Option<Bin>,
    /// How many fetches that bin bears at once.
    at_once: u32,
    /// When it was given.
    since: i64,
    paced: bool,
    used: AtomicBool,
}

impl std::fmt::Debug for Admission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Admission").field(&self.bins).finish()
    }
}

impl Throttles {
    /// The rules of a connection from now on. What was allowed before them counts as used.
    pub(crate) fn set(&self, connection: ConnectionId, rules: Rules, now: i64) {
        let mut state = self.state.lock();
        state.began.get_or_insert(now);
        let is_known = state.connections.get(&connection).is_some_and(|known| known.rules == rules);
        if is_known || (rules.is_empty() && !state.connections.contains_key(&connection)) {
            return;
        }
        let known = state.connections.entry(connection).or_default();
        // What was used before nobody knows: the buckets begin empty.
        known.began = if failpoint(Failpoint::ThrottleBeginsFull) { i64::MIN / 2 } else { now };
        known.rules = rules;
        known.changes += 1;
        let (rules, mut lanes) = (&known.rules, std::mem::take(&mut known.lanes));
        lanes.retain(|_, lane| lane.is_busy());
        known.whole = known.whole.take().map(|lane| lane.changed(rules.allowance(None), now));
        known.lanes = lanes
            .into_iter()
            .map(|(bin, lane)| {
                let lane = lane.changed(rules.allowance(Some(&bin)), now);
                (bin, lane)
            })
            .collect();
        let any = state.connections.values().any(|known| !known.rules.is_empty());
        let waiting: Vec<_> = state.connections.values().flat_map(|known| known.waiting.clone()).collect();
        self.any.store(any, Ordering::Relaxed);
        drop(state);
        self.state.notify();
        waiting.iter().filter_map(Weak::upgrade).for_each(|run| run.freed(&[]));
    }

    /// Whoever waits for bytes looks whether they are still wanted.
    pub(crate) fn notify(&self) {
        // Whoever is about to wait has looked before this, or sees what has changed.
        drop(self.state.lock());
        self.state.notify();
    }
}

impl Gate {
    /// That of a run over a connection, in a process of so many visitors.
    pub(crate) fn new(throttles: Arc<Throttles>, connection: ConnectionId, threads: usize) -> Gate {
        Gate { throttles, connection, threads: threads.max(1), source: None, paced_until: Arc::default() }
    }

    /// Of a source that says how its bins are to be fetched.
    pub(crate) fn of(self, source: Option<Arc<dyn Repository>>) -> Gate {
        Gate { source, ..self }
    }

    /// Whether anything may be limited.
    pub(crate) fn is_on(&self) -> bool {
        self.source.is_some() || self.throttles.any.load(Ordering::Relaxed)
    }

    /// Whoever asks hears from now on when places are free.
    pub(crate) fn join(&self, waits: &Arc<impl Waits + 'static>) {
        let mut state = self.throttles.state.lock();
        let waiting = &mut state.connections.entry(self.connection).or_default().waiting;
        waiting.retain(|run| run.strong_count() > 0);
        let waits: Weak<dyn Waits> = Arc::downgrade(waits) as Weak<dyn Waits>;
        waiting.push(waits);
    }

    /// Asks for the right to fetch a document of these bins, in any order; `first`: the one that its source has a pace for, if it has any.
    pub(crate) fn admit(
        &self,
        (bins, first): (&[Bin], &Bin),
        call: &CallContext,
        waits: &Weak<dyn Waits>,
    ) -> Admitted {
        if !self.is_on() {
            return Admitted::Free;
        }
        let now = call.steady();
        // Asked before anything is locked: it is a connector's code.
        let pace = self.source.as_ref().and_then(|source| Some((first.clone(), source.pace(first)?)));
        let mut state = self.throttles.state.lock();
        let state = &mut *state;
        let began = state.began.unwrap_or(now);
        let known = state.connections.entry(self.connection).or_default();
        if known.rules.is_empty() && pace.is_none() {
            return Admitted::Free;
        }
        if let Some((bin, pace)) = &pace
            && let Some(until) = lane(&mut state.paces, bin, (began, now)).waits(*pace, now)
        {
            return Admitted::No { bin: Some(bin.clone()), until };
        }
        let (pace, at_once) = pace.map_or((None, 1), |(bin, pace)| (Some(bin), pace.at_once));
        let limited = match known.open(bins, now) {
            Ok(limited) => limited,
            Err(bin) => return Admitted::No { bin: Some(bin), until: now + limits::DRAIN_LOOK_MS as i64 },
        };
        if known.whole.is_none() && limited.is_empty() && pace.is_none() {
            return Admitted::Free;
        }
        let mut refused: Option<(i64, Option<Bin>)> = None;
        let mut paced = false;
        let whole = known.whole.iter_mut().map(|lane| (None, lane));
        let lanes = known.lanes.iter_mut().filter(|(bin, _)| limited.contains(bin));
        for (bin, lane) in whole.chain(lanes.map(|(bin, lane)| (Some(bin.clone()), lane))) {
            paced |= lane.is_paced();
            let until = match lane.waits(now) {
                None => continue,
                Some(Wait::Until(until)) => until,
                Some(Wait::Place) => NEVER,
            };
            refused = refused.max(Some((until, bin)));
        }
        if let Some((until, bin)) = refused {
            return Admitted::No { bin, until };
        }
        if paced && state.paced >= (self.threads / 2).max(1) {
            state.waits_for_paced.push((waits.clone(), limited.clone()));
            return Admitted::No { bin: limited.first().cloned(), until: NEVER };
        }
        state.paced += usize::from(paced);
        known.each(&limited, |lane| lane.begin(now));
        pace.iter().for_each(|bin| lane(&mut state.paces, bin, (began, now)).begin(now));
        Admitted::Yes(Arc::new(Admission {
            gate: self.clone(),
            call: call.clone(),
            bins: limited,
            pace,
            at_once,
            since: now,
            paced,
            used: AtomicBool::new(false),
        }))
    }
}

/// What is under way of a bin that has a pace. Where there are very many, those that are over are forgotten.
fn lane<'l>(paces: &'l mut BTreeMap<Bin, PaceLane>, bin: &Bin, (began, now): (i64, i64)) -> &'l mut PaceLane {
    if paces.len() >= limits::THROTTLE_BINS_MAX && !paces.contains_key(bin) {
        paces.retain(|_, lane| !lane.is_idle(now));
    }
    paces.entry(bin.clone()).or_insert_with(|| PaceLane::new(began))
}

impl Connection {
    /// Makes lanes for what is limited of these bins; the bins that are, or the one for which there is no room.
    fn open(&mut self, bins: &[Bin], now: i64) -> Result<Vec<Bin>, Bin> {
        if self.whole.is_none() {
            let allowance = self.rules.allowance(None);
            self.whole = (!allowance.is_unlimited()).then(|| Lane::new(allowance, self.began));
        }
        let mut limited = Vec::new();
        for bin in bins {
            if !self.lanes.contains_key(bin) {
                let allowance = self.rules.allowance(Some(bin));
                if allowance.is_unlimited() {
                    continue;
                }
                if self.lanes.len() >= limits::THROTTLE_BINS_MAX {
                    self.lanes.retain(|_, lane| !lane.is_idle(now));
                }
                if self.lanes.len() >= limits::THROTTLE_BINS_MAX {
                    return Err(bin.clone());
                }
                self.lanes.insert(bin.clone(), Lane::new(allowance, self.began));
            }
            limited.push(bin.clone());
        }
        Ok(limited)
    }

    /// What is left of the whole, and of these bins.
    fn each(&mut self, bins: &[Bin], mut change: impl FnMut(&mut Lane)) {
        self.whole.iter_mut().for_each(&mut change);
        bins.iter().for_each(|bin| self.lanes.get_mut(bin).into_iter().for_each(&mut change));
    }
}

impl Admission {
    /// Whether nothing was fetched with it yet.
    pub(crate) fn is_fresh(&self) -> bool {
        !self.used.load(Ordering::Relaxed)
    }

    /// How many fetches its bin bears at once, at least 1.
    pub(crate) fn at_once(&self) -> usize {
        self.at_once.max(1) as usize
    }

    /// Whether it is for documents of this bin, which has a pace.
    pub(crate) fn is_of(&self, first: &Bin) -> bool {
        self.pace.as_ref() == Some(first)
    }

    /// Whether one more document of its bin may be fetched in the same place, which has not been taken for long: nothing limits that bin now but
    /// how many are fetched at once.
    pub(crate) fn goes_on(&self) -> bool {
        let Some((bin, source)) = self.pace.as_ref().zip(self.gate.source.as_ref()) else { return false };
        // Asked before anything is locked, as above.
        let Some(pace) = source.pace(bin).filter(|pace| pace.every_ms <= 0) else { return false };
        let state = self.gate.throttles.state.lock();
        let known = state.connections.get(&self.gate.connection);
        self.call.steady() - self.since < limits::PLACE_KEPT_MS
            && known.is_none_or(|known| known.rules.is_empty())
            && state.paces.get(bin).is_none_or(|lane| lane.fits(pace))
    }

    /// The document is fetched, once more if it was before.
    pub(crate) fn fetches(&self) {
        if !self.used.swap(true, Ordering::Relaxed) {
            return;
        }
        let now = self.call.steady();
        self.with(|known| known.each(&self.bins, |lane| lane.again(now)));
    }

    fn with(&self, change: impl FnOnce(&mut Connection)) {
        let mut state = self.gate.throttles.state.lock();
        if let Some(known) = state.connections.get_mut(&self.gate.connection) {
            change(known);
        }
    }

    /// Waits until so many bytes may be read, or fewer: how many; none when `ends` says that the wait is over.
    pub(crate) fn bytes(&self, want: usize, ends: impl Fn() -> bool) -> Option<usize> {
        let throttles = &self.gate.throttles;
        if !self.paced || want == 0 {
            return Some(want);
        }
        loop {
            let mut state = throttles.state.lock();
            let Some(known) = state.connections.get_mut(&self.gate.connection) else { return Some(want) };
            let (changes, now) = (known.changes, self.call.steady());
            let (mut chunk, mut at) = (want as u64, now);
            known.each(&self.bins, |lane| chunk = chunk.min(lane.bytes_most().unwrap_or(chunk)));
            known.each(&self.bins, |lane| at = at.max(lane.promise_bytes(chunk, now)));
            let as_before = |state: &State| {
                state.connections.get(&self.gate.connection).is_some_and(|known| known.changes == changes)
            };
            loop {
                let now = self.call.steady();
                if !as_before(&state) {
                    // Other rules: what was promised by the ones before is nothing any more.
                    break;
                }
                if at <= now && !ends() {
                    return Some(chunk as usize);
                }
                if ends() {
                    let known = state.connections.get_mut(&self.gate.connection)?;
                    known.each(&self.bins, |lane| lane.give_back_bytes(chunk, now));
                    return None;
                }
                let until = self.call.now().saturating_add(at - now);
                self.gate.paced_until.store(until, Ordering::Relaxed);
                self.call.clock.awaited(until);
                let longest = (at - now).clamp(1, limits::THROTTLE_LOOK_MS as i64) as u64;
                let waits = |state: &mut State| as_before(state) && !ends() && self.call.steady() < at;
                state = throttles.state.wait_at_most(state, Duration::from_millis(longest), waits).0;
                self.gate.paced_until.store(0, Ordering::Relaxed);
            }
        }
    }

    /// So many bytes were not read of those that might be.
    pub(crate) fn unread(&self, bytes: usize) {
        if self.paced && bytes > 0 {
            let now = self.call.steady();
            self.with(|known| known.each(&self.bins, |lane| lane.give_back_bytes(bytes as u64, now)));
        }
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        let (now, used) = (self.call.steady(), self.used.load(Ordering::Relaxed));
        let mut state = self.gate.throttles.state.lock();
        let mut freed: Vec<(Weak<dyn Waits>, Vec<Bin>)> = Vec::new();
        if self.paced {
            state.paced -= 1;
            freed.append(&mut state.waits_for_paced);
        }
        if let Some(known) = state.connections.get_mut(&self.gate.connection) {
            known.each(&self.bins, |lane| lane.end(used, now));
            known.waiting.retain(|run| run.strong_count() > 0);
            freed.extend(known.waiting.iter().map(|run| (run.clone(), self.bins.clone())));
        }
        if let Some(bin) = &self.pace {
            state.paces.get_mut(bin).into_iter().for_each(|lane| lane.end(now));
            // Runs of other connections may wait for the same host.
            let waiting = state.connections.values().flat_map(|known| &known.waiting);
            freed.extend(waiting.map(|run| (run.clone(), vec![bin.clone()])));
        }
        drop(state);
        for (run, bins) in freed {
            run.upgrade().into_iter().for_each(|run| run.freed(&bins));
        }
    }
}
