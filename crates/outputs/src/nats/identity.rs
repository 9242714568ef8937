//! By what a stream is known, and whether it is as the store left it.

use ingather_contract::lines;
use ingather_contract::output::Continuity;

use super::publishing::Publisher;

/// A stream, and where it stood.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Identity {
    /// When it was made.
    created: String,
    /// Number of its last message.
    pub(super) last: u64,
    /// The number of the last change in it, and the opening that told it.
    pub(super) newest: (i64, i64),
}

impl Identity {
    pub(super) fn of(publisher: &Publisher) -> Identity {
        let Publisher { created, last, newest, .. } = publisher;
        Identity { created: created.clone(), last: *last, newest: newest.unwrap_or_default() }
    }

    pub(super) fn told(&self) -> String {
        let (seq, opening) = self.newest;
        format!("{}@{}+{seq}/{}", self.created, self.last, lines::hex(opening))
    }

    /// What was told; none where it is none of a stream.
    pub(super) fn read(told: &str) -> Option<Identity> {
        let (created, numbers) = told.split_once('@')?;
        let (last, newest) = numbers.split_once('+')?;
        let (seq, opening) = newest.split_once('/')?;
        let opening = u64::from_str_radix(opening, 16).ok()?.cast_signed();
        Some(Identity {
            created: created.to_owned(),
            last: last.parse().ok()?,
            newest: (seq.parse().ok()?, opening),
        })
    }

    /// Compares a stream with what was noted of it. `before` is the opening that may have written to it since.
    ///
    /// A stream that goes on has all that it had: numbers of messages grow, and never come back. What stands behind the noted message has to
    /// be of the opening before, and that one alone: a message of ours is never stored behind one of somebody else.
    pub(super) fn continuity(&self, publisher: &Publisher, before: i64) -> Continuity {
        let is_it = publisher.created == self.created && publisher.last >= self.last;
        let goes_on = match publisher.newest {
            Some(newest) if publisher.last == self.last => newest == self.newest,
            Some((_, opening)) => opening == before,
            // It was consumed, or is too old: nobody knows whose it was, unless it was noted.
            None => publisher.last == self.last,
        };
        if is_it && goes_on { Continuity::Same } else { Continuity::Other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_read_as_it_was_told() {
        let newest = (12, -7);
        let one = Identity { created: "2026-11-28T14:00:00.5Z".to_owned(), last: 3, newest };
        assert_eq!(Identity::read(&one.told()), Some(one));
        for other in ["", "lost", "0123456789abcdef", "a@b+c/d", "a@1+2"] {
            assert_eq!(Identity::read(other), None, "{other}");
        }
    }
}
