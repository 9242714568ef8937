//! How the documents of a job stand, and how far its run has come, in words.

use ingather_operations::jobs::Job;
use ingather_operations::jobs::progress::{DocumentStates, RunProgress};

use crate::show;

/// All documents, and those that are not up to date.
pub(super) fn documents(job: &Job) -> String {
    let DocumentStates { waiting, settled: _, failed, skipped } = job.states;
    let others = [(waiting, "waiting"), (failed, "failed"), (skipped, "left out")];
    let others =
        others.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{} {word}", show::number(*n)));
    [show::number(job.documents)].into_iter().chain(others).collect::<Vec<_>>().join(" · ")
}

pub(super) fn tell(progress: &RunProgress) {
    let RunProgress { doing, seen, known, changed, delivered, removed, bytes, percent, left_ms } = progress;
    let of = if *known > 0 { format!(" of about {}", show::number(*known)) } else { String::new() };
    show::line(&format!(
        "progress   {doing}: {} seen{of} · {} changed · {} delivered · {} removed · {} read",
        show::number(*seen),
        show::number(*changed),
        show::number(*delivered),
        show::number(*removed),
        show::bytes(*bytes)
    ));
    if let (Some(percent), Some(left)) = (percent, left_ms) {
        show::line(&format!("           about {percent} % done; at this speed {} more", span(*left)));
    }
}

/// A time that is guessed, in one unit.
fn span(millis: i64) -> String {
    match millis / 1_000 {
        seconds @ ..90 => format!("{seconds} s"),
        seconds @ 90..5_400 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}
