//! What operations answer, in the few words in which the tables say it.

use ingather_operations::{Result, jobs};

pub(super) fn heard(is_heard: bool) -> String {
    if is_heard { "heard" } else { "noted" }.to_owned()
}

pub(super) fn restarted(answer: Result<jobs::Restarted>) -> Result<String> {
    answer.map(|told| format!("{} {}", if told.stopping { "stops, then" } else { "begins" }, told.mode))
}

/// Why a job does not work, in a word.
pub(super) fn why(hold: &str) -> &str {
    const WORDS: &[(&str, &str)] = &[
        ("a person paused it", "paused"),
        ("it is outside its window, which opens", "window"),
        ("it is being stopped", "stopping"),
        ("no run was asked for; its schedule starts it", "scheduled"),
        ("1 removal is held", "held"),
        ("the connector `", "connector"),
        ("it is being deleted", "deletion"),
        ("its run was interrupted 3 times in a row", "too often"),
        ("its run could not begin", "refused"),
        ("its source could not be listed", "source away"),
    ];
    WORDS.iter().find(|(begin, _)| hold.starts_with(begin)).map_or(hold, |(_, word)| word)
}
