//! When documents of continuous jobs are looked at again, and when they expire (decision 0039). Pure: times are told, in milliseconds since
//! 1970 UTC.

use serde::{Deserialize, Serialize};

use crate::lifecycle::words;
use crate::limits;

/// How a continuous job goes by the dates of its documents; what is left out has its default. Minutes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DateRules {
    /// How often seeds are asked and it is proven what can be reached; only of sources that are found by following links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reseed_minutes: Option<u32>,
    /// The least time between two looks at a document; only of sources that are found by following links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recrawl_minutes: Option<u32>,
    /// The longest time between two looks at a document that hardly ever changes; never shorter than the least one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recrawl_max_minutes: Option<u32>,
    /// For so long after it was written a document stays in outputs; for ever where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expire_minutes: Option<u32>,
}

/// What a source says of the dates of one document, milliseconds since 1970 UTC; none: nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dates {
    /// When it was written, as well as the source knows.
    pub origin_at: Option<i64>,
    /// It is not to be looked at again before this time.
    pub revisit_not_before: Option<i64>,
    /// It is to be looked at again by then.
    pub revisit_not_after: Option<i64>,
    /// It does not expire before this time, where it expires at all.
    pub expires_not_before: Option<i64>,
    /// It expires by then; where its source is found by following links also if its job says nothing of that.
    pub expires_not_after: Option<i64>,
}

words! {
    /// What is to be done next with a document; of two at the same time the first one.
    pub enum Action {
        /// It is looked at again.
        Recrawl = "recrawl",
        /// Outputs lose it.
        Expire = "expire",
    }
}

/// What was seen of a document so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When it was visited for the first time under these rules.
    pub since: i64,
    /// How often it was another one than before, each change once.
    pub changes: i64,
    /// When it was written, as its source or its record says; none: nobody does.
    pub origin: Option<i64>,
    /// When it expires; none: never.
    pub expires: Option<i64>,
}

const MINUTE: i64 = 60_000;

fn minutes(given: Option<u32>, default: u32) -> i64 {
    i64::from(given.unwrap_or(default)) * MINUTE
}

impl DateRules {
    /// Whether nothing is said.
    pub fn is_default(&self) -> bool {
        *self == DateRules::default()
    }

    /// Reads what is typed, such as `recrawl=60,expire=1440`; `none`: nothing is said.
    ///
    /// # Errors
    /// A sentence that says what to write.
    pub fn parse(text: &str) -> Result<DateRules, String> {
        let mut rules = DateRules::default();
        if text == "none" {
            return Ok(rules);
        }
        for part in text.split(',').map(str::trim) {
            let wrong = || {
                format!(
                    "`{part}` is none of `reseed`, `recrawl`, `recrawl-max` and `expire` with `=` and a number of minutes"
                )
            };
            let (name, minutes) = part.split_once('=').ok_or_else(wrong)?;
            let minutes = minutes.parse().map_err(|_| wrong())?;
            let field = match name {
                "reseed" => &mut rules.reseed_minutes,
                "recrawl" => &mut rules.recrawl_minutes,
                "recrawl-max" => &mut rules.recrawl_max_minutes,
                "expire" => &mut rules.expire_minutes,
                _ => return Err(wrong()),
            };
            if field.replace(minutes).is_some() {
                return Err(format!("`{name}` is named twice"));
            }
        }
        Ok(rules)
    }

    /// What is said, as it is typed.
    pub fn describe(&self) -> String {
        let said = |name: &str, minutes: Option<u32>| minutes.map(|minutes| format!("{name}={minutes}"));
        let all = [
            said("reseed", self.reseed_minutes),
            said("recrawl", self.recrawl_minutes),
            said("recrawl-max", self.recrawl_max_minutes),
            said("expire", self.expire_minutes),
        ];
        let words: Vec<String> = all.into_iter().flatten().collect();
        if words.is_empty() { "none".to_owned() } else { words.join(",") }
    }

    /// How often seeds are asked, milliseconds.
    pub fn reseed_ms(&self) -> i64 {
        minutes(self.reseed_minutes, limits::RESEED_MINUTES)
    }

    /// Whether documents of a job may have dates at all: of one whose source is listed only where they expire.
    pub fn apply(&self, follows_links: bool) -> bool {
        follows_links || self.expire_minutes.is_some()
    }

    /// Refuses what means nothing. `is_continuous`: the schedule says so; `follows_links`: the source is found by following links.
    ///
    /// # Errors
    /// A sentence that says what to write.
    pub fn check(&self, is_continuous: bool, follows_links: bool) -> Result<(), String> {
        if self.is_default() {
            return Ok(());
        }
        if !is_continuous {
            return Err("dates of documents are gone by in continuous jobs alone; give the job `--schedule continuous`, or take them back (`--dates none`)"
                .to_owned());
        }
        let named = [
            ("reseed_minutes", self.reseed_minutes),
            ("recrawl_minutes", self.recrawl_minutes),
            ("recrawl_max_minutes", self.recrawl_max_minutes),
            ("expire_minutes", self.expire_minutes),
        ];
        for (name, given) in named.into_iter().filter_map(|(name, given)| Some((name, given?))) {
            if !(1..=limits::DATE_MINUTES_MAX).contains(&given) {
                return Err(format!(
                    "`{name}` is a number from 1 to {}; {given} is none",
                    limits::DATE_MINUTES_MAX
                ));
            }
            if name != "expire_minutes" && !follows_links {
                return Err(format!(
                    "`{name}` is of sources that are found by following links; this one is listed, and each pass finds what has changed"
                ));
            }
        }
        let (least, most) = self.recrawl_bounds();
        match self.recrawl_max_minutes {
            Some(given) if most < least => Err(format!(
                "`recrawl_max_minutes` is {given}, less than `recrawl_minutes`, {}",
                least / MINUTE
            )),
            _ => Ok(()),
        }
    }

    /// The least and the longest time between two looks, milliseconds. A least one beyond the default of the longest one is both.
    fn recrawl_bounds(&self) -> (i64, i64) {
        let least = minutes(self.recrawl_minutes, limits::RECRAWL_MINUTES);
        let most = match self.recrawl_max_minutes {
            Some(given) => i64::from(given) * MINUTE,
            None => minutes(None, limits::RECRAWL_MAX_MINUTES).max(least),
        };
        (least, most)
    }

    /// When a document expires that was written at `origin`, or at its visit where nobody says when it was; none: never.
    pub fn expires(&self, dates: &Dates, origin: Option<i64>, now: i64) -> Option<i64> {
        let origin = origin.unwrap_or(now);
        let at = self.expire_minutes.map(|minutes| origin.saturating_add(i64::from(minutes) * MINUTE));
        let at = at.map(|at| dates.expires_not_before.map_or(at, |bound| at.max(bound)));
        // Where two bounds contradict each other, the later one to be said counts, as at looks.
        match (at, dates.expires_not_after) {
            (Some(at), Some(bound)) => Some(at.min(bound)),
            (at, bound) => at.or(bound),
        }
    }

    /// When a document is looked at again that was looked at `now`.
    pub fn recrawl(&self, dates: &Dates, seen: &Seen, now: i64) -> i64 {
        let (least, most) = self.recrawl_bounds();
        // What has never changed is taken to change as seldom as it was watched for.
        let mean = now.saturating_sub(seen.since).max(0) / seen.changes.max(1);
        let at = now.saturating_add(least.saturating_add(mean).min(most));
        let at = dates.revisit_not_before.map_or(at, |bound| at.max(bound));
        dates
            .revisit_not_after
            .map_or(at, |bound| at.min(bound))
            .max(now.saturating_add(limits::RECRAWL_MS_MIN))
    }

    /// What is to be done next with a document that was looked at `now`, and when; none: nothing. One that has expired has no date.
    pub fn next(
        &self,
        dates: &Dates,
        seen: &Seen,
        (now, follows_links): (i64, bool),
    ) -> Option<(i64, Action)> {
        let recrawl = follows_links.then(|| (self.recrawl(dates, seen, now), Action::Recrawl));
        let expire = seen.expires.map(|at| (at, Action::Expire));
        // Of two at the same time the look comes first.
        [recrawl, expire].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RULES: DateRules = DateRules {
        reseed_minutes: None,
        recrawl_minutes: Some(10),
        recrawl_max_minutes: Some(60),
        expire_minutes: None,
    };
    const NONE: Dates = Dates {
        origin_at: None,
        revisit_not_before: None,
        revisit_not_after: None,
        expires_not_before: None,
        expires_not_after: None,
    };

    fn seen(since: i64, changes: i64) -> Seen {
        Seen { since, changes, origin: None, expires: None }
    }

    #[test]
    fn a_document_that_does_not_change_is_looked_at_less_and_less_often_and_one_that_does_more_often() {
        let at = |seen: Seen, now: i64| (RULES.recrawl(&NONE, &seen, now * MINUTE) - now * MINUTE) / MINUTE;
        assert_eq!(at(seen(0, 0), 0), 10, "the first look");
        assert_eq!(at(seen(0, 0), 10), 20);
        assert_eq!(at(seen(0, 0), 30), 40);
        assert_eq!(at(seen(0, 0), 70), 60, "not beyond the longest time");
        assert_eq!(at(seen(0, 1), 30), 40);
        assert_eq!(at(seen(0, 3), 30), 20, "it changes every ten minutes");
        assert_eq!(at(seen(0, 6), 30), 15, "a change that is counted twice halves the mean");
    }

    #[test]
    fn an_expiration_counts_from_the_origin_or_from_the_visit() {
        let rules = DateRules { expire_minutes: Some(5), ..DateRules::default() };
        let minute = |at: Option<i64>| at.map(|at| at / MINUTE);
        assert_eq!(minute(rules.expires(&NONE, Some(2 * MINUTE), 3 * MINUTE)), Some(7));
        assert_eq!(minute(rules.expires(&NONE, None, 3 * MINUTE)), Some(8));
        let bounds = |not_before, not_after| Dates {
            expires_not_before: not_before,
            expires_not_after: not_after,
            ..NONE
        };
        assert_eq!(minute(rules.expires(&bounds(Some(20 * MINUTE), None), None, 0)), Some(20));
        assert_eq!(minute(rules.expires(&bounds(None, Some(2 * MINUTE)), None, 0)), Some(2));
        assert_eq!(RULES.expires(&bounds(Some(7), None), None, 0), None, "nothing expires, not even late");
        assert_eq!(RULES.expires(&bounds(None, Some(7)), None, 0), Some(7), "the source says so");
    }

    #[test]
    fn what_is_typed_is_told_as_it_was_typed() {
        for text in
            ["none", "reseed=5", "reseed=1,recrawl=2,recrawl-max=3,expire=4", "recrawl=10,recrawl-max=60"]
        {
            assert_eq!(DateRules::parse(text).map(|rules| rules.describe()), Ok(text.to_owned()));
        }
        assert_eq!(DateRules::parse("recrawl=10,recrawl-max=60"), Ok(RULES));
        for text in ["", "expire", "expire=", "expire=-1", "expires=1", "expire=1,", "expire=1,expire=2"] {
            assert!(DateRules::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_means_nothing_is_refused_with_a_sentence() {
        let refused = |rules: DateRules, continuous, links| rules.check(continuous, links).unwrap_err();
        assert_eq!(DateRules::default().check(false, false), Ok(()));
        assert!(refused(RULES, false, true).contains("in continuous jobs alone"));
        assert!(refused(RULES, true, false).starts_with("`recrawl_minutes` is of sources"));
        let reseed = DateRules { reseed_minutes: Some(0), ..DateRules::default() };
        assert!(refused(reseed, true, true).starts_with("`reseed_minutes` is a number from 1"));
        let less = DateRules { recrawl_max_minutes: Some(9), ..RULES };
        assert_eq!(refused(less, true, true), "`recrawl_max_minutes` is 9, less than `recrawl_minutes`, 10");
        let long = DateRules { recrawl_minutes: Some(20_000), ..DateRules::default() };
        assert_eq!(long.check(true, true), Ok(()), "beyond the default of the longest time");
        assert_eq!(long.recrawl_bounds(), (20_000 * MINUTE, 20_000 * MINUTE));
        let expire = DateRules { expire_minutes: Some(1), ..DateRules::default() };
        assert_eq!((expire.check(true, false), expire.check(true, true)), (Ok(()), Ok(())));
    }

    prop_compose! {
        fn bound()(at in proptest::option::of(0i64..1 << 45)) -> Option<i64> { at }
    }

    proptest! {
        /// The earlier of the two dates, and the look where both are the same.
        #[test]
        fn the_earlier_date_counts_and_a_tie_is_a_look(
            since in 0i64..1 << 40, changes in 0i64..50, later in 0i64..1 << 35, expires in bound(), tie in any::<bool>(),
        ) {
            let now = since + later;
            let recrawl = RULES.recrawl(&NONE, &seen(since, changes), now);
            let expires = if tie { Some(recrawl) } else { expires };
            let found = RULES.next(&NONE, &Seen { since, changes, origin: None, expires }, (now, true));
            let expected = match expires {
                Some(at) if at < recrawl => (at, Action::Expire),
                _ => (recrawl, Action::Recrawl),
            };
            prop_assert_eq!(found, Some(expected));
            prop_assert_eq!(RULES.next(&NONE, &Seen { since, changes, origin: None, expires }, (now, false)), expires.map(|at| (at, Action::Expire)));
        }

        /// Between the least and the longest time, later for what changes less, and within what the source says.
        #[test]
        fn looks_keep_within_their_bounds(
            since in 0i64..1 << 40, changes in 0i64..50, later in 0i64..1 << 35, not_before in bound(), not_after in bound(),
        ) {
            let now = since + later;
            let free = RULES.recrawl(&NONE, &seen(since, changes), now);
            prop_assert!((10 * MINUTE..=60 * MINUTE).contains(&(free - now)));
            prop_assert!(free >= RULES.recrawl(&NONE, &seen(since, changes + 1), now));
            let dates = Dates { revisit_not_before: not_before, revisit_not_after: not_after, ..NONE };
            let bound = RULES.recrawl(&dates, &seen(since, changes), now);
            prop_assert!(bound >= now + limits::RECRAWL_MS_MIN, "never again and again at once");
            match (not_before, not_after) {
                (_, Some(after)) if bound > now + limits::RECRAWL_MS_MIN => prop_assert!(bound <= after),
                (Some(before), None) => prop_assert!(bound >= before),
                _ => {}
            }
        }

        /// No sum of what a source says overflows.
        #[test]
        fn any_dates_are_judged(origin in proptest::option::of(any::<i64>()), now in any::<i64>(), since in any::<i64>(), changes in 0i64.., at in any::<i64>()) {
            let rules = DateRules { expire_minutes: Some(u32::MAX), ..RULES };
            let dates = Dates { revisit_not_before: Some(at), expires_not_before: Some(at), ..NONE };
            let expires = rules.expires(&dates, origin, now);
            rules.next(&dates, &Seen { since, changes, origin: None, expires }, (now, true));
        }
    }
}
