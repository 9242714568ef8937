//! Conditions of number formats: `[<100]`.

/// What a number must be for a section to be its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Condition {
    below: bool,
    equal: bool,
    above: bool,
    bound: f64,
}

impl Condition {
    /// The condition in a bracket; nothing when it says something else.
    pub(super) fn parse(word: &str) -> Option<Self> {
        let bound = word.trim_start_matches(['<', '>', '=']);
        let sign = &word[..word.len() - bound.len()];
        let bound = bound.trim().parse().ok().filter(|_| !sign.is_empty())?;
        let above = sign.contains('>');
        Some(Self { below: sign.contains('<'), equal: sign.contains('='), above, bound })
    }

    pub(super) fn holds(self, value: f64) -> bool {
        value < self.bound && self.below
            || value == self.bound && self.equal
            || value > self.bound && self.above
    }

    /// Whether negative numbers alone fulfil it.
    pub(super) fn is_of_negatives(self) -> bool {
        !self.above && (self.bound < 0.0 || self.bound == 0.0 && !self.equal)
    }
}
