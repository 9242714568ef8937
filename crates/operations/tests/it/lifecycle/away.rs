//! Sources and outputs that are not there for a while, as a disk that is not mounted is.

use ingather_model::limits;
use ingather_testkit::memory_output::locked;
use ingather_testkit::together::source;

use super::play::Play;
use crate::service::Lacks;

impl Play {
    /// What goes and comes while a service works; false where the event is another one.
    pub(super) fn goes_or_comes(&mut self, event: &str) -> bool {
        match event {
            "its source is away" => source(&self.world).absent = true,
            "its source is back" => source(&self.world).absent = false,
            "its output is away" => self.output_is_away(true),
            "its output is back" => self.output_is_away(false),
            "it is tried again" => {
                self.world.clock.pass(limits::SCHEDULE_RETRY_MS);
                self.service().look();
            }
            _ => return false,
        }
        true
    }

    fn output_is_away(&self, is_away: bool) {
        locked(&self.world.shelves["memory"]).is_away = is_away;
    }

    /// Connectors come, what was not mounted is, and the service has looked since.
    pub(super) fn all_comes(&mut self) {
        if self.lacks != Lacks::default() {
            self.event("connectors come");
        }
        let is_away = locked(&self.world.shelves["memory"]).is_away || source(&self.world).absent;
        if is_away {
            self.output_is_away(false);
            source(&self.world).absent = false;
            self.event("it is tried again");
        }
    }
}
