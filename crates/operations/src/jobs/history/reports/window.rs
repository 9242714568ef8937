//! The busiest window of a bucket: of all windows of one length, the one in which most was done.

use std::collections::VecDeque;

/// Adds up what is told of latest first.
#[derive(Debug, Default)]
pub(super) struct Busiest {
    /// What is in the window that begins at the last of them: time, documents, bytes.
    inside: VecDeque<(i64, u64, u64)>,
    documents: u64,
    bytes: u64,
    /// Most documents, and when their window begins.
    pub(super) most_documents: (u64, i64),
    /// Most bytes, and when their window begins.
    pub(super) most_bytes: (u64, i64),
}

impl Busiest {
    /// One more document, of the same time as the last one or an earlier one.
    pub(super) fn add(&mut self, at: i64, bytes: u64, window: i64) {
        match self.inside.back_mut() {
            Some(last) if last.0 == at => {
                last.1 += 1;
                last.2 += bytes;
            }
            _ => self.inside.push_back((at, 1, bytes)),
        }
        self.documents += 1;
        self.bytes += bytes;
        while let Some((first, documents, bytes)) = self.inside.front().copied()
            && first >= at.saturating_add(window)
        {
            self.documents -= documents;
            self.bytes -= bytes;
            self.inside.pop_front();
        }
        // Of windows with as much, the latest.
        if self.documents > self.most_documents.0 {
            self.most_documents = (self.documents, at);
        }
        if self.bytes > self.most_bytes.0 {
            self.most_bytes = (self.bytes, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by looking at every window.
    fn looked(rows: &[(i64, u64)], window: i64) -> (u64, u64) {
        let inside = |begin: i64| rows.iter().filter(move |(at, _)| (begin..begin + window).contains(at));
        let begins = rows.iter().map(|(at, _)| *at);
        let documents = begins.clone().map(|begin| inside(begin).count() as u64).max().unwrap_or_default();
        let bytes = begins.map(|begin| inside(begin).map(|(_, bytes)| bytes).sum()).max().unwrap_or_default();
        (documents, bytes)
    }

    #[test]
    fn the_busiest_window_is_the_one_that_looking_at_each_finds() {
        let mut seed = 7_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for window in [1, 3, 10, 1_000] {
            let mut rows: Vec<(i64, u64)> = (0..200).map(|_| (random(100) as i64, random(50))).collect();
            rows.sort_unstable_by(|one, other| other.cmp(one));
            let mut busiest = Busiest::default();
            rows.iter().for_each(|(at, bytes)| busiest.add(*at, *bytes, window));
            assert_eq!((busiest.most_documents.0, busiest.most_bytes.0), looked(&rows, window), "{window}");
            let begin = busiest.most_documents.1;
            let there = rows.iter().filter(|(at, _)| (begin..begin + window).contains(at)).count();
            assert_eq!(there as u64, busiest.most_documents.0, "its window is the one that is told");
        }
    }
}
