//! No seed decides: the machine does.

use std::time::Duration;

pub(super) fn decided() -> bool {
    false
}

pub(super) fn locked<G>(_attempt: impl FnMut() -> Option<G>) -> Option<G> {
    None
}

pub(super) fn notify(_place: usize) {}

pub(super) fn wait<G>(_place: usize, _longest: Option<Duration>, guard: G) -> Result<bool, G> {
    Err(guard)
}

/// The place of a thread among those that a seed drives; none.
#[derive(Clone, Debug)]
pub(super) struct Turn;

impl Turn {
    pub(super) fn next() -> Turn {
        Turn
    }

    pub(super) fn never(&self) {}

    pub(super) fn take(&self, work: impl FnOnce()) {
        work();
    }

    pub(super) fn wait_for_its_end(&self) {}
}

pub(super) fn fill(_bytes: &mut [u8]) -> bool {
    false
}

pub(crate) fn gives_way() -> bool {
    false
}
