//! When a run will be over, guessed by what it has done so far. Times are milliseconds.

/// Before a run has taken so long, its speed says little.
pub const BEGINNING_MS: i64 = 3_000;

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// For how long it has worked.
    pub elapsed: i64,
    /// Documents that the inventory had when it began.
    pub known: u64,
    /// Its listing goes on.
    pub lists: bool,
    /// Documents that its listing named.
    pub seen: u64,
    /// Those that had to be visited.
    pub changed: u64,
    /// Those that wait for it.
    pub waiting: u64,
}

impl Pace {
    /// How much longer it will take; none: too little is known. A first listing is one of nobody knows how much, and a source that has grown
    /// since is listed for longer than this says.
    pub fn left(self) -> Option<i64> {
        let lists = match self.lists {
            true if self.known == 0 || self.seen == 0 => return None,
            true => self.at_this_speed(self.seen, self.known.saturating_sub(self.seen)),
            false => 0,
        };
        let visited = self.changed.saturating_sub(self.waiting);
        let visits = match (self.waiting, visited) {
            (0, _) => 0,
            (_, 0) => return None,
            (waiting, visited) => self.at_this_speed(visited, waiting),
        };
        // Both go on at once.
        (self.elapsed >= BEGINNING_MS).then(|| lists.max(visits))
    }

    fn at_this_speed(self, done: u64, rest: u64) -> i64 {
        let left = i128::from(self.elapsed) * i128::from(rest) / i128::from(done.max(1));
        i64::try_from(left).unwrap_or(i64::MAX)
    }

    /// How much of it is done, in whole parts of a hundred, never all: then it would be over. None: as with [`Pace::left`].
    pub fn percent(self) -> Option<u8> {
        let left = self.left()?;
        let whole = i128::from(self.elapsed) + i128::from(left);
        u8::try_from((i128::from(self.elapsed) * 100 / whole.max(1)).min(99)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace() -> Pace {
        Pace { elapsed: 10_000, known: 1_000, lists: true, seen: 250, changed: 0, waiting: 0 }
    }

    #[test]
    fn a_listing_goes_on_as_fast_as_it_began() {
        assert_eq!(pace().left(), Some(30_000));
        assert_eq!(pace().percent(), Some(25));
        // More than there were: it ends at any time, and nobody says that it has.
        let grown = Pace { seen: 2_000, ..pace() };
        assert_eq!((grown.left(), grown.percent()), (Some(0), Some(99)));
    }

    #[test]
    fn what_takes_longer_counts_of_listing_and_visits() {
        let visits = Pace { changed: 200, waiting: 180, ..pace() };
        assert_eq!(visits.left(), Some(90_000));
        assert_eq!(Pace { lists: false, ..visits }.percent(), Some(10));
        assert_eq!(Pace { changed: 200, waiting: 20, ..pace() }.left(), Some(30_000));
    }

    #[test]
    fn nothing_is_guessed_without_a_beginning() {
        assert_eq!(Pace { known: 0, ..pace() }.left(), None, "a first listing");
        assert_eq!(Pace { seen: 0, ..pace() }.left(), None);
        assert_eq!(Pace { elapsed: BEGINNING_MS - 1, ..pace() }.left(), None);
        assert_eq!(Pace { changed: 9, waiting: 9, ..pace() }.left(), None, "none of them is done");
        assert_eq!(Pace { elapsed: i64::MAX, ..pace() }.left(), Some(i64::MAX));
        assert_eq!(Pace { elapsed: i64::MAX, ..pace() }.percent(), Some(50));
    }
}
