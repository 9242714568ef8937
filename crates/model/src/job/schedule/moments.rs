//! The instants at which the windows of one rule begin: minutes of a calendar in a time zone, searched month by month and never
//! minute by minute.

use std::cmp::Ordering;

use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use crate::limits;

const DAY_MS: i64 = 24 * 3_600_000;
/// All seven of them.
const WEEK: u64 = 0b111_1111;
/// A bit for the first day of each week of a month.
const WEEKS: u64 = 1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28;

/// Which minutes of which days, as sets of bits; none of them is empty.
#[derive(Clone, Debug)]
pub(super) struct Moments {
    /// In order; none: every year.
    pub(super) years: Option<Vec<i16>>,
    /// 1 to 12.
    pub(super) months: u64,
    /// 1 to 31.
    pub(super) days: u64,
    /// 0 to 6, from Sunday; a day has to be in this set and in that of days.
    pub(super) weekdays: u64,
    /// 0 to 23.
    pub(super) hours: u64,
    /// 0 to 59.
    pub(super) minutes: u64,
    /// Whose clocks on the wall are meant.
    pub(super) zone: TimeZone,
}

impl Moments {
    /// The first one after an instant; none within the bound of the search, or beyond the end of the calendar.
    pub(super) fn next(&self, after: i64) -> Option<i64> {
        let from = self.zone.to_datetime(Timestamp::from_millisecond(after).ok()?);
        // Where clocks were put back, the wall shows some minutes again whose begins have passed.
        self.nearest(from, Way::Later, |at| at > after)
    }

    /// The last one up to an instant; none within the bound of the search.
    pub(super) fn last(&self, until: i64) -> Option<i64> {
        // Where clocks were put back within a day, the wall has shown later times than it shows now.
        let offset = |at: i64| Some(self.zone.to_offset(Timestamp::from_millisecond(at).ok()?));
        let furthest = offset(until)?.max(offset(until.checked_sub(DAY_MS)?)?);
        let from = furthest.to_datetime(Timestamp::from_millisecond(until).ok()?);
        self.nearest(from, Way::Earlier, |at| at <= until)
    }

    /// The first instant, that way from what a wall shows, that is as it is asked for.
    fn nearest(&self, from: DateTime, way: Way, wanted: impl Fn(i64) -> bool) -> Option<i64> {
        let mut from = from;
        for _ in 0..limits::SCHEDULE_STEPS_MAX {
            let wall = self.wall(from, way)?;
            let at = self.instant(wall)?;
            if wanted(at) {
                return Some(at);
            }
            from = wall.checked_add(SignedDuration::from_mins(way.step().into())).ok()?;
        }
        None
    }

    /// When a wall shows this: the first time that it does. Where it never does, for clocks are put forward, the first instant after.
    fn instant(&self, wall: DateTime) -> Option<i64> {
        let at = match self.zone.to_ambiguous_timestamp(wall).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(wall).ok()?,
            AmbiguousOffset::Fold { before, .. } => before.to_timestamp(wall).ok()?,
            AmbiguousOffset::Gap { after, .. } => {
                let before_the_gap = after.to_timestamp(wall).ok()?;
                self.zone.following(before_the_gap).next()?.timestamp()
            }
        };
        Some(at.as_millisecond())
    }

    /// The nearest minute of the sets, that way from what a wall shows, itself included.
    fn wall(&self, from: DateTime, way: Way) -> Option<DateTime> {
        let (here, clock) = ((from.year(), from.month(), from.day()), (from.hour(), from.minute()));
        for year in self.years(here.0, way) {
            for month in members(self.months, way) {
                if way.compare((year, month), (here.0, here.1)).is_lt() {
                    continue;
                }
                for day in members(self.days_of(year, month)?, way) {
                    let found = match way.compare((year, month, day), here) {
                        Ordering::Less => None,
                        Ordering::Equal => self.clock(clock, way),
                        Ordering::Greater => self.clock(way.first_clock(), way),
                    };
                    if let Some((hour, minute)) = found {
                        return DateTime::new(year, month, day, hour, minute, 0, 0).ok();
                    }
                }
            }
        }
        None
    }

    /// The years to look through: those that are named, or as many as it takes to meet every day that there is.
    fn years(&self, from: i16, way: Way) -> impl Iterator<Item = i16> {
        let most = self.years.as_ref().map_or(limits::SCHEDULE_YEARS_MAX, Vec::len);
        let further = move |year: &i16| self.year(year.checked_add(way.step())?, way);
        std::iter::successors(self.year(from, way), further).take(most)
    }

    /// The nearest year, that way from another, itself included.
    fn year(&self, from: i16, way: Way) -> Option<i16> {
        let Some(years) = &self.years else { return Some(from) };
        let at = match way {
            Way::Later => years.partition_point(|year| *year < from),
            Way::Earlier => years.partition_point(|year| *year <= from).checked_sub(1)?,
        };
        years.get(at).copied()
    }

    /// The days of a month that are in both sets; none beyond the end of the calendar.
    fn days_of(&self, year: i16, month: i8) -> Option<u64> {
        let first = Date::new(year, month, 1).ok()?;
        let shift = first.weekday().to_sunday_zero_offset();
        // The weekdays of the seven days from the first of the month on.
        let from_first = (self.weekdays >> shift | self.weekdays << (7 - shift)) & WEEK;
        let days = (from_first * WEEKS) << 1;
        Some(self.days & days & ((1 << (first.days_in_month() + 1)) - 1))
    }

    /// The nearest time of a day, that way from another, itself included.
    fn clock(&self, from: (i8, i8), way: Way) -> Option<(i8, i8)> {
        for hour in members(self.hours, way).filter(|hour| way.compare(*hour, from.0).is_ge()) {
            let reached = |minute: &i8| hour != from.0 || way.compare(*minute, from.1).is_ge();
            if let Some(minute) = members(self.minutes, way).find(reached) {
                return Some((hour, minute));
            }
        }
        None
    }
}

/// Which way a search goes in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Later,
    Earlier,
}

impl Way {
    /// Greater is further that way.
    fn compare<T: Ord>(self, one: T, other: T) -> Ordering {
        match self {
            Way::Later => one.cmp(&other),
            Way::Earlier => other.cmp(&one),
        }
    }

    /// The time of a day that is met first.
    fn first_clock(self) -> (i8, i8) {
        match self {
            Way::Later => (0, 0),
            Way::Earlier => (23, 59),
        }
    }

    fn step(self) -> i16 {
        match self {
            Way::Later => 1,
            Way::Earlier => -1,
        }
    }
}

/// The members of a set, that way.
pub(super) fn members(mut set: u64, way: Way) -> impl Iterator<Item = i8> {
    std::iter::from_fn(move || {
        let found = match way {
            Way::Later => set.trailing_zeros(),
            Way::Earlier => set.checked_ilog2()?,
        };
        set &= !1u64.checked_shl(found)?;
        i8::try_from(found).ok()
    })
}
