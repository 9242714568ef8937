//! The site as a run may have met it, for naive readers: how pages answer, how far they are, and what has expired.

use std::collections::{BTreeMap, BTreeSet};

use ingather_model::fault::Fault;
use ingather_model::job::dates::DateRules;
use ingather_model::job::hops::Hops;
use ingather_model::limits;

use crate::script_repository::site::{Answer, Page};

pub(super) type Names = BTreeSet<String>;

/// What a page leads to, each by a relation.
pub(super) type Links = BTreeSet<(usize, String)>;

/// When runs were: from, to; none where clocks were put back.
pub(super) type Times = Option<(i64, i64)>;

const MINUTE: i64 = 60_000;

/// The site as a run may have met it.
#[derive(Clone, Debug, Default)]
pub(super) struct Sight {
    pub(super) pages: BTreeMap<String, Page>,
    pub(super) seeds: Vec<String>,
    /// So many of them are named.
    pub(super) named: usize,
    /// Pages that a person has erased from the job.
    pub(super) erased: Names,
    /// How far it goes.
    pub(super) hops: Hops,
    /// What its pages go by that have dates.
    pub(super) rules: Option<DateRules>,
    /// Pages that may have waited for events: meanwhile they lead to what they led to before.
    pub(super) waits: Names,
    /// Pages that have expired for sure.
    pub(super) expired: Names,
    /// Those of which that is not known.
    pub(super) perhaps_expired: Names,
}

/// All links of a page.
pub(super) fn links(page: &Page) -> Links {
    half_links(page, page.links.len())
}

/// So many of them, and all of the other relation.
pub(super) fn half_links(page: &Page, count: usize) -> Links {
    let links = page.links.iter().take(count).map(|to| (0, to.clone()));
    links.chain(page.redirects.iter().map(|to| (1, to.clone()))).collect()
}

/// When a page expires by what it says; `visited`: when it was read, from which one counts that does not say when it was written.
fn expires(rules: DateRules, page: &Page, visited: i64) -> Option<i64> {
    let dates = page.dates;
    let written = dates.origin_at.unwrap_or(visited);
    let by_age = rules.expire_minutes.map(|minutes| written + i64::from(minutes) * MINUTE);
    let by_age = by_age.map(|at| at.max(dates.expires_not_before.unwrap_or(at)));
    by_age.into_iter().chain(dates.expires_not_after).min()
}

impl Sight {
    /// A page that is there and can be read, and has not expired.
    pub(super) fn readable(&self, name: &str) -> Option<&Page> {
        let is_none = self.erased.contains(name) || self.may_have_expired(name);
        let page = self.pages.get(name).filter(|_| !is_none)?;
        (page.failing == 0 && matches!(page.answer, Answer::Text | Answer::CutOff)).then_some(page)
    }

    /// A page that answers with its text, whether it is visited or not.
    pub(super) fn with_text(&self, name: &str) -> Option<&Page> {
        let page = self.pages.get(name)?;
        matches!(page.answer, Answer::Text | Answer::CutOff).then_some(page)
    }

    pub(super) fn answer(&self, name: &str) -> Answer {
        let answer = |page: &Page| page.answer.clone();
        self.pages.get(name).map_or(Answer::Fault(Fault::missing()), answer)
    }

    /// Whether it may say that it is missing.
    pub(super) fn is_missing(&self, name: &str) -> bool {
        self.answer(name).is_missing()
    }

    /// Whether it answers otherwise before it answers so.
    pub(super) fn fails(&self, name: &str) -> bool {
        self.pages.get(name).is_some_and(|page| page.failing > 0)
    }

    /// Whether a visit learns all that it leads to, and what it hands down.
    pub(super) fn is_read_to_its_end(&self, name: &str) -> bool {
        matches!(self.answer(name), Answer::Text | Answer::NoEntry) && !self.fails(name)
    }

    /// Pages that are not visited for sure.
    pub(super) fn fail(&mut self, fails: &dyn Fn(&str) -> bool) {
        for (_, page) in self.pages.iter_mut().filter(|(name, _)| fails(name)) {
            page.failing = page.failing.max(1);
        }
    }

    /// Whether it may have expired.
    pub(super) fn may_have_expired(&self, name: &str) -> bool {
        self.expired.contains(name) || self.perhaps_expired.contains(name)
    }

    /// Whether outputs may lose what they hold of a page, wherever it is reached from.
    pub(super) fn lets_go(&self, name: &str) -> bool {
        let answer = self.answer(name);
        let is_none = matches!(answer, Answer::NoEntry | Answer::Fault(Fault::Gone | Fault::Refused(_)));
        self.erased.contains(name) || is_none || self.expired.contains(name)
    }

    /// The same, where that may have to be so for an hour.
    pub(super) fn may_let_go(&self, name: &str) -> bool {
        let may_go = matches!(self.answer(name), Answer::ForNow | Answer::InPlace(..));
        self.lets_go(name) || may_go || self.may_have_expired(name)
    }

    /// Whether its row may have gone, or counts as a dead link.
    pub(super) fn goes(&self, name: &str) -> bool {
        self.erased.contains(name) || self.answer(name) == Answer::Fault(Fault::Gone)
    }

    /// Seeds that are named.
    pub(super) fn named_seeds(&self) -> Names {
        self.seeds.iter().take(self.named).cloned().collect()
    }

    /// Takes note of what has expired for runs in these times; `may_expire`: an earlier visit may have told so of a page.
    pub(super) fn age(&mut self, times: Times, may_expire: &dyn Fn(&str) -> bool) {
        let Some(rules) = self.rules else { return };
        let names_versions = self.pages.values().any(|page| page.versions);
        for (name, page) in &self.pages {
            if !self.can_expire(name) && !may_expire(name) {
                continue;
            }
            // One that is named with its version may not be read, so that an earlier visit of it counts.
            let is_read = page.failing == 0
                && matches!(page.answer, Answer::Text | Answer::CutOff)
                && (page.dates.origin_at.is_some() || !names_versions);
            let Some((from, to)) = times.filter(|_| is_read) else {
                self.perhaps_expired.insert(name.clone());
                continue;
            };
            // It may have been read at the beginning of these times, or at their end.
            let at = |visited| expires(rules, page, visited);
            match (at(from), at(to)) {
                (Some(_), Some(last)) if last <= from => drop(self.expired.insert(name.clone())),
                (Some(first), _) if first <= to => drop(self.perhaps_expired.insert(name.clone())),
                _ => {}
            }
        }
    }

    /// Whether a page that is read now expires at some time.
    pub(super) fn can_expire(&self, name: &str) -> bool {
        let says_so = |page: &Page| page.dates.expires_not_after.is_some();
        self.rules
            .is_some_and(|rules| rules.expire_minutes.is_some() || self.pages.get(name).is_some_and(says_so))
    }

    /// When a page that was read by then is looked at again at the latest; none: never, for all that is known.
    pub(super) fn looked_at_by(&self, name: &str, now: i64) -> Option<i64> {
        let (rules, page) = (self.rules?, self.pages.get(name)?);
        let or = |minutes: Option<u32>, default| i64::from(minutes.unwrap_or(default)) * MINUTE;
        let least = or(rules.recrawl_minutes, limits::RECRAWL_MINUTES);
        let most = or(rules.recrawl_max_minutes, limits::RECRAWL_MAX_MINUTES).max(least);
        let at = (now + most).max(page.dates.revisit_not_before.unwrap_or(i64::MIN));
        Some(at.min(page.dates.revisit_not_after.unwrap_or(i64::MAX)).max(now + limits::RECRAWL_MS_MIN))
    }

    /// What can be reached of it now by whoever knows nothing else, and is near enough.
    pub(super) fn reachable(&self) -> Names {
        self.within(&Bounds::of(&self.hops))
    }

    /// The same, and what may have stayed although it is too far.
    pub(super) fn reachable_or_kept(&self) -> Names {
        if self.hops.keeps() { self.within(&Bounds::default()) } else { self.reachable() }
    }

    fn within(&self, bounds: &Bounds) -> Names {
        let seeds = self.seeds.iter().cloned().collect();
        bounds.within(seeds, &|name| self.erased.contains(name), &|name| match self.pages.get(name) {
            Some(page)
                if matches!(
                    page.answer,
                    Answer::Text | Answer::NoEntry | Answer::ForNow | Answer::InPlace(..)
                ) =>
            {
                links(page)
            }
            _ => Links::new(),
        })
    }

    /// What each page of these is handed by the others.
    pub(super) fn handed(&self, reached: &Names) -> BTreeMap<String, Names> {
        let mut handed: BTreeMap<String, Names> = BTreeMap::new();
        for page in reached.iter().filter_map(|name| self.pages.get(name)) {
            if matches!(page.answer, Answer::Text | Answer::NoEntry | Answer::ForNow | Answer::InPlace(..)) {
                for (_, to) in links(page) {
                    handed.entry(to).or_default().extend(page.hands.iter().cloned());
                }
            }
        }
        handed
    }
}

/// The most hops of each relation that is counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds(Vec<(usize, u32)>);

impl Bounds {
    pub(super) fn of(hops: &Hops) -> Bounds {
        Bounds(hops.among(&["link", "redirect"]).expect("a scenario counts what there is"))
    }

    /// What is within all of these at most, for all that is known.
    pub(super) fn widest<'s>(mut sights: impl Iterator<Item = &'s Sight> + Clone) -> Bounds {
        if sights.clone().any(|sight| sight.hops.keeps()) {
            return Bounds::default();
        }
        let first = sights.next().map(|sight| Bounds::of(&sight.hops)).unwrap_or_default();
        sights.map(|sight| Bounds::of(&sight.hops)).fold(first, |all, one| {
            let both = all.0.iter().filter_map(|(relation, most)| {
                let (_, other) = one.0.iter().find(|(other, _)| other == relation)?;
                Some((*relation, *most.max(other)))
            });
            Bounds(both.collect())
        })
    }

    /// What is within all of these for sure.
    pub(super) fn narrowest<'s>(sights: impl Iterator<Item = &'s Sight>) -> Bounds {
        Bounds(sights.flat_map(|sight| Bounds::of(&sight.hops).0).collect())
    }

    /// What can be reached from these names: of each relation the fewest links on any way count, found by trying all links until nothing comes
    /// nearer.
    pub(super) fn within(
        &self,
        from: Names,
        is_closed: &dyn Fn(&str) -> bool,
        links: &dyn Fn(&str) -> Links,
    ) -> Names {
        let is_near = |hops: &[u32; 2]| self.0.iter().all(|(relation, most)| hops[*relation] <= *most);
        let costs = |relation: usize| u32::from(self.0.iter().any(|(counted, _)| *counted == relation));
        let mut hops: BTreeMap<String, [u32; 2]> = from.into_iter().map(|name| (name, [0; 2])).collect();
        hops.retain(|name, _| !is_closed(name));
        loop {
            let before = hops.clone();
            for (name, from) in before.iter().filter(|(_, hops)| is_near(hops)) {
                for (relation, to) in links(name).into_iter().filter(|(_, to)| !is_closed(to)) {
                    let mut way = *from;
                    way[relation] += costs(relation);
                    let known = hops.entry(to).or_insert([u32::MAX; 2]);
                    *known = [known[0].min(way[0]), known[1].min(way[1])];
                }
            }
            if hops == before {
                break;
            }
        }
        hops.into_iter().filter(|(_, hops)| is_near(hops)).map(|(name, _)| name).collect()
    }
}
