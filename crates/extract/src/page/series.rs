//! Parts that merely stand one after the other: messages of a mailbox, records of a web archive. Where there are more than are
//! read of one document the first ones count, for each is whole by itself; of half an archive nobody could say so.

use std::cell::Cell;

use ingather_model::run_counts::counted;

use super::{Outcome, TextSink};

/// Ends a series, also when its reader panics.
struct Ends<'b>(&'b Cell<bool>, bool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.set(self.1);
    }
}

impl<'b> TextSink<'b> {
    /// Reads parts of which each is whole by itself. This holds for a document and for what nothing but its packing is
    /// around, such as `.gz`; beside other parts the bounds of all of them are those of the container.
    pub(crate) fn series(&mut self, read: impl FnOnce(&mut Self) -> Outcome) -> Outcome {
        let budget = self.budget;
        let is_alone = budget.limits.parts - budget.parts.get() == self.depth;
        let _ends = Ends(&budget.series, budget.series.replace(is_alone));
        read(self)
    }

    /// Whether one more part of a series may follow; if not, it is said how many there are.
    pub(crate) fn goes_on(&mut self) -> bool {
        let budget = self.budget;
        let room = budget.parts.get() > 0 && !self.is_full();
        if budget.parts.get() == 0 {
            budget.exceed();
        }
        if !room {
            self.broken_off(format!(
                "only the first {} of what is in it are read: one document may have {} and {} MiB of text",
                self.out.parts.len(),
                counted(budget.limits.parts as u64, "part"),
                budget.limits.text_bytes >> 20
            ));
        }
        room
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::tests::{extract_within, tar};
    use crate::{Extracted, Limits};

    fn mailbox(messages: usize) -> Vec<u8> {
        (0..messages)
            .map(|n| format!("From a\nSubject: s{n}\nFrom: a@b\n\nwords {n}\n\n"))
            .collect::<String>()
            .into()
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn few() -> Limits {
        Limits { parts: 5, ..Limits::default() }
    }

    #[test]
    fn of_too_many_messages_the_first_ones_are_read() {
        let found = extract_within(few(), "a.mbox", &mailbox(5));
        assert_eq!((found.parts.len(), found.broken_off, found.over_limit), (5, false, false));
        let found = extract_within(few(), "a.mbox", &mailbox(6));
        assert_eq!((found.parts.len(), found.broken_off, found.over_limit), (5, true, false));
        assert_eq!(found.parts[4].text, "From: a@b\nwords 4");
        assert!(found.reason.unwrap().starts_with("only the first 5 of what is in it are read"));
    }

    #[test]
    fn packing_around_a_mailbox_changes_nothing_and_an_archive_does() {
        let found = extract_within(few(), "a.mbox.gz", &packed(&mailbox(6)));
        assert_eq!(
            (found.parts[0].parts.len(), found.parts[0].broken_off, found.over_limit),
            (4, true, false)
        );
        let archive = tar(&[("a.txt", b'0', b"words".as_slice()), ("b.mbox", b'0', &mailbox(6))]);
        assert!(extract_within(few(), "a.tar", &archive).over_limit);
    }

    #[test]
    fn messages_that_do_not_fit_are_not_lost_in_silence() {
        let limits = Limits { text_bytes: 100, ..Limits::default() };
        let found: Extracted = extract_within(limits, "a.mbox", &mailbox(20));
        assert!(found.broken_off && found.parts.len() < 20, "{found:?}");
    }
}
