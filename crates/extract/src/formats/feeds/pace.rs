//! How often a feed says that it changes.

use super::markup::Element;

/// What is said of it.
#[derive(Default)]
pub(super) struct Pace {
    pub(super) minutes: Option<i64>,
    period_minutes: Option<i64>,
    pub(super) frequency: Option<i64>,
}

/// A feed that says it changes less often is not believed: a year.
const PACE_MINUTES_MAX: i64 = 366 * 24 * 60;

impl Pace {
    /// Milliseconds between two changes.
    pub(super) fn milliseconds(&self) -> Option<i64> {
        let often = self.period_minutes.map(|minutes| minutes / self.frequency.unwrap_or(1).max(1));
        let minutes = self.minutes.or(often)?;
        (1..=PACE_MINUTES_MAX).contains(&minutes).then_some(minutes * 60_000)
    }

    pub(super) fn period(&mut self, name: &str) {
        self.period_minutes = match name.trim().to_ascii_lowercase().as_str() {
            "hourly" => Some(60),
            "daily" => Some(24 * 60),
            "weekly" => Some(7 * 24 * 60),
            "monthly" => Some(30 * 24 * 60),
            "yearly" => Some(365 * 24 * 60),
            _ => None,
        };
    }

    /// The schedule of a channel (CDF).
    pub(super) fn schedule(&mut self, element: &Element<'_>) {
        let Some(interval) = element.children().find(|child| child.name == "intervaltime") else { return };
        let number =
            |name: &str| interval.attribute(name).and_then(|value| value.parse().ok()).unwrap_or(0i64);
        let parts = [(number("day"), 24 * 60), (number("hour"), 60), (number("min"), 1)];
        let minutes = parts.map(|(count, minutes)| count.clamp(0, PACE_MINUTES_MAX) * minutes).iter().sum();
        self.minutes = Some(minutes);
    }
}
