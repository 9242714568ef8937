//! The sentences of an explanation: which fact decides, and how it is said.

use ingather_contract::repository::SourceStatus;
use ingather_model::document::EXTRACTION;
use ingather_model::fault::Reason;
use ingather_model::lifecycle::job::State;
use ingather_model::lifecycle::outcome::{DeliveryOutcome, FailureKind, VisitReason};
use ingather_model::run_counts::counted;
use ingather_store::explain::{Failure, Sent};
use ingather_store::jobs::Job;
use ingather_store::queue;
use ingather_store::runs::KnownBlindSpot;

use super::access_change;
use super::facts::{Case, Holder, Row};
use super::trial::Seen;

/// Code of a source that is looked at by runs alone.
const NOT_LOOKED_AT: &str = "not_looked_at";

/// The cause: the first fact that decides.
pub(super) fn decisive(case: &Case<'_>, row: Option<&Row>) -> Reason {
    if case.job.state == State::Deleting {
        let sentence =
            format!("job {0} is being deleted; `ingather job delete {0}` goes on with it", case.job.name);
        return Reason::new("deleting", sentence);
    }
    match row {
        Some(row) => on_its_way(case, row).unwrap_or_else(|| settled(case, row)),
        None => unknown(case),
    }
}

/// Something waits, was held back, or went wrong.
fn on_its_way(case: &Case<'_>, row: &Row) -> Option<Reason> {
    let name = case.name;
    let number = case.job.run;
    if row.is_held_back {
        let why = match case.status {
            SourceStatus::Left(reason) => reason.message.clone(),
            SourceStatus::Absent(_) => format!("`{name}` is gone from the source"),
            // There again, or nobody can tell now.
            _ => format!("`{name}` was gone from the source, or left out"),
        };
        return Some(Reason::new(
            "held",
            format!(
                "{why}, and its removal is held by the delete guard since run {number}: \
                 `ingather job confirm {} --run {number}` carries it out",
                case.job.name
            ),
        ));
    }
    if let Some(sent) = row.sent.iter().find(|sent| is_leaving(sent)) {
        let sentence =
            format!("the removal of `{name}` was sent to output {}, which has not confirmed it", sent.name);
        return Some(Reason::new("leaving", sentence));
    }
    if let Some(failure) = &row.facts.failure {
        return Some(failed(case, row, failure));
    }
    if let Some((cause, _)) = &row.facts.work {
        let why = match cause {
            VisitReason::New => "it is new",
            VisitReason::Changed => "its content changed",
            VisitReason::Access => "its access changed",
            VisitReason::Settings => "the settings of the job changed",
            VisitReason::Dates => "the job goes by other dates of documents now",
            VisitReason::Credentials => "another user reads the source now",
            VisitReason::Resend => "an output has to be sent it again",
            VisitReason::Retry => "an attempt failed before",
        };
        let sentence = match case.job.state {
            State::Resting => {
                format!("`{name}` waits for a visit because {why}: run {number} ended before its turn came")
            }
            _ => format!("`{name}` waits for its visit in run {number} because {why}"),
        };
        return Some(Reason::new("waiting", sentence));
    }
    let at = row.sent.iter().position(|sent| sent.outcome == Some(DeliveryOutcome::Superseded))?;
    let output = &row.sent[at].name;
    let whose = row.held_for[at].as_deref().map_or("another job".to_owned(), |job| format!("job {job}"));
    Some(Reason::new(
        "overwritten",
        format!(
            "output {output} holds the version of `{name}` that {whose} sent last: both jobs send it to the same address; give \
             one of them another output (--to) or the same stages (--pipeline), or leave it out of one (--exclude)"
        ),
    ))
}

fn failed(case: &Case<'_>, row: &Row, failure: &Failure) -> Reason {
    let name = case.name;
    let Reason { code, message } = &failure.reason;
    let refused = row.sent.iter().find(|sent| sent.outcome == Some(DeliveryOutcome::Refused));
    let changed = match (case.version, failure.kind) {
        (Some(version), FailureKind::Failed | FailureKind::Skipped) if !version.same(row.known.version) => {
            "; it was changed since, and the next run looks at it again"
        }
        _ => "",
    };
    let sentence = match (failure.kind, refused) {
        (FailureKind::Retrying, _) => format!(
            "`{name}` waits for another attempt after {} of {}, because the last one failed: {message}",
            failure.attempts, failure.attempts_max
        ),
        (FailureKind::Failed, Some(sent)) => {
            format!("output {} refused `{name}`: {message}{changed}", sent.name)
        }
        _ if message.contains(name) => format!("{message}{changed}"),
        (FailureKind::Failed, None) => format!("`{name}` could not be indexed: {message}{changed}"),
        (FailureKind::Skipped, _) => format!("`{name}` is left out: {message}{changed}"),
    };
    Reason { code: code.clone(), message: sentence }
}

/// Nothing waits: the source as it is now decides.
fn settled(case: &Case<'_>, row: &Row) -> Reason {
    let name = case.name;
    let blind = case.blind.filter(|_| row.seen == Some(false));
    if let (Some(KnownBlindSpot { scope, cause, message }), false) =
        (blind, matches!(case.status, SourceStatus::Absent(_)))
    {
        return Reason::new(
            "blind",
            format!(
                "`{name}` is kept as it was, because it lies in a blind spot: run {} could not read `{scope}` ({cause}): \
                 {message}",
                case.job.run
            ),
        );
    }
    match case.status {
        SourceStatus::Absent(_) => absent(case),
        SourceStatus::Left(reason) => {
            let sentence =
                format!("{}; it was taken before, and the next full run removes it", reason.message);
            Reason { message: sentence, ..reason.clone() }
        }
        SourceStatus::Closed(reason) => {
            Reason { message: format!("{}; what outputs hold is kept", reason.message), ..reason.clone() }
        }
        // What is only looked at by runs is as the last one found it.
        SourceStatus::Unknown(reason) if reason.code == NOT_LOOKED_AT => there(case, row),
        SourceStatus::Unknown(reason) => {
            Reason { message: format!("{}; what is known is kept", reason.message), ..reason.clone() }
        }
        SourceStatus::Taken(observed) => {
            if let Some(sentence) =
                access_change::changed(name, row.acl.as_ref(), &observed.acl, case.stage_acl)
            {
                return Reason::new("access_changed", format!("{sentence}; the next run tells the outputs"));
            }
            there(case, row)
        }
    }
}

fn absent(case: &Case<'_>) -> Reason {
    let name = case.name;
    match case.moved_to {
        Some(new) => Reason::new(
            "moved",
            format!(
                "`{name}` was moved to `{new}`; it is removed once its new name is confirmed by a full run"
            ),
        ),
        None => Reason::new(
            "deleted",
            format!(
                "`{name}` was deleted at the source since run {}; the next full run removes it from the outputs",
                case.job.run
            ),
        ),
    }
}

fn there(case: &Case<'_>, row: &Row) -> Reason {
    let name = case.name;
    let racy = !row.known.version.is_some();
    if racy {
        return Reason::new(
            "racy",
            format!(
                "`{name}` was changed so shortly before it was read that its version does not count (racy): the next \
                 run reads it again, and sends it only if its content differs"
            ),
        );
    }
    if case.version.is_some_and(|version| !version.same(row.known.version)) {
        let sentence =
            format!("`{name}` was changed at the source since it was read by run {}", row.facts.changed_run);
        return Reason::new("changed", format!("{sentence}; the next run sends it"));
    }
    if let Some(sent) = row.sent.iter().find(|sent| !is_confirmed(sent)) {
        let sentence = format!("`{name}` was sent to output {}, which has not confirmed it", sent.name);
        return Reason::new("unconfirmed", sentence);
    }
    let outputs: Vec<&str> = row.sent.iter().map(|sent| sent.name.as_str()).collect();
    let inside = match row.inside {
        0 => String::new(),
        1 => "; one part of it has an entry of its own".to_owned(),
        count => format!("; {} of it have entries of their own", counted(count, "part")),
    };
    match (outputs.is_empty(), row.inside) {
        (true, 0) => Reason::new("undelivered", format!("`{name}` is known, and no output was sent it")),
        (true, _) => Reason::new("parts_only", format!("`{name}` is no entry itself{inside}")),
        _ => Reason::new("current", format!("`{name}` is up to date in {}{inside}", outputs.join(", "))),
    }
}

/// The cause why a document that is up to date is found by less than its text, when it is.
pub(super) fn in_part(name: &str, seen: &Seen) -> Option<Reason> {
    let media = seen.record.media_type.as_deref().unwrap_or("unknown");
    let reason = seen.record.fields.get(EXTRACTION).and_then(|reasons| reasons.first());
    let (code, sentence) = match (&seen.text, reason) {
        (None, Some(reason)) => (
            "decode",
            format!(
                "`{name}` is found by its name and fields alone: as {media}, its text cannot be read: {reason}"
            ),
        ),
        (Some(_), Some(reason)) => (
            "decode",
            format!("`{name}` is found by a part of its text: as {media}, not all can be read: {reason}"),
        ),
        (None, None) => (
            "type",
            format!(
                "`{name}` is found by its name and fields alone: its type is {media}, and there is no text in that"
            ),
        ),
        (Some(_), None) => return None,
    };
    Some(Reason::new(code, sentence))
}

/// The cause why outputs hold of something in a document what it was before.
pub(super) fn kept_unread(name: &str, reason: &Reason) -> Reason {
    let message = format!("`{name}` is kept as it was, because it cannot be read: {}", reason.message);
    Reason { message, ..reason.clone() }
}

/// The store has no row.
fn unknown(case: &Case<'_>) -> Reason {
    let name = case.name;
    match case.status {
        SourceStatus::Left(reason) | SourceStatus::Unknown(reason) => reason.clone(),
        SourceStatus::Closed(reason) => {
            let sentence = format!("{}; it was never indexed", reason.message);
            Reason { message: sentence, ..reason.clone() }
        }
        SourceStatus::Absent(reason) => {
            let sentence = format!(
                "{} (deleted at the source, or never was), and nothing is known of it",
                reason.message
            );
            Reason { message: sentence, ..reason.clone() }
        }
        SourceStatus::Taken(_) => {
            let blind = case.blind.map(|KnownBlindSpot { scope, cause, message }| {
                let sentence = format!(
                    "`{name}` was not listed: run {} could not read `{scope}` ({cause}): {message}",
                    case.job.run
                );
                Reason::new("blind", sentence)
            });
            blind.unwrap_or_else(|| Reason::new("not_listed", not_listed(case)))
        }
    }
}

fn not_listed(case: &Case<'_>) -> String {
    let Case { name, job, .. } = case;
    match case.run {
        None => format!("`{name}` is not listed yet: job {} never ran", job.name),
        Some(run) if run.ended_at.is_none() => {
            format!("`{name}` is not listed yet: run {} is on its way, or its process died", run.number)
        }
        Some(run) if run.listed_at.is_none() => {
            format!("`{name}` is not listed yet: run {} ended before its listing was over", run.number)
        }
        Some(run) => {
            format!("`{name}` is not listed yet: it came after run {} had listed the source", run.number)
        }
    }
}

/// What a document waits for, until when, and when it is looked at next. `look_at`: when its own dates say so.
pub(super) fn next(
    case: &Case<'_>,
    row: Option<&Row>,
    look_at: Option<i64>,
) -> (Option<String>, Option<i64>, String) {
    let with_next = format!("with the next run of job {}", case.job.name);
    let Some(row) = row else {
        return match case.status {
            SourceStatus::Taken(_) => (Some("a listing".to_owned()), None, with_next),
            SourceStatus::Unknown(reason) if reason.code == NOT_LOOKED_AT => {
                (Some("a page that leads to it".to_owned()), None, with_next)
            }
            SourceStatus::Closed(_) | SourceStatus::Unknown(_) => {
                (Some("the source to be readable".to_owned()), None, with_next)
            }
            SourceStatus::Left(_) | SourceStatus::Absent(_) => {
                (None, None, "none until a sync lists it".to_owned())
            }
        };
    };
    // Work that is put off without a date waits for the next run.
    let due =
        row.facts.work.as_ref().map(|(_, due)| *due).filter(|due| *due > 0 && *due < queue::DUE_NEXT_RUN);
    let waits_for = match &row.facts {
        _ if row.is_held_back => {
            Some("a confirmation by a person, or a listing that finds it again".to_owned())
        }
        _ if row.sent.iter().any(is_leaving) => Some("the output to confirm its removal".to_owned()),
        facts if facts.work.is_some() => Some("a visit".to_owned()),
        _ if look_at.is_some() => Some("the date of its next look".to_owned()),
        _ => None,
    };
    (waits_for, due.or(look_at), with_next)
}

/// How it stands at the source now.
pub(super) fn source(status: &SourceStatus) -> String {
    match status {
        SourceStatus::Taken(_) => "it is there and can be read".to_owned(),
        SourceStatus::Left(reason)
        | SourceStatus::Closed(reason)
        | SourceStatus::Absent(reason)
        | SourceStatus::Unknown(reason) => reason.message.clone(),
    }
}

fn is_leaving(sent: &Sent) -> bool {
    !sent.state.intended.is_some()
}

pub(super) fn is_confirmed(sent: &Sent) -> bool {
    let state = &sent.state;
    state.intended.is_some()
        && state.confirmed == Some(state.intended)
        && state.confirmed_acl == Some(state.intended_acl)
}

/// What each output of the job holds.
pub(super) fn holders(job: &Job, row: Option<&Row>) -> Vec<Holder> {
    let known = row.map_or(&[][..], |row| &row.sent);
    let mut holders: Vec<Holder> = Vec::new();
    for (at, sent) in known.iter().enumerate() {
        let other = row.and_then(|row| row.held_for[at].as_deref());
        holders.push(holder(sent, other));
    }
    for name in &job.definition.outputs {
        if !known.iter().any(|sent| sent.name == *name) {
            let sentence = "nothing of it was ever sent, or nothing is held any more".to_owned();
            let output = name.clone();
            holders.push(Holder { output, state: "nothing", sentence, sent_at: None, confirmed_at: None });
        }
    }
    holders
}

fn holder(sent: &Sent, other: Option<&str>) -> Holder {
    let also = other.map_or(String::new(), |job| format!(", as job {job} does"));
    let (state, sentence) = match sent.outcome {
        Some(DeliveryOutcome::Refused) => ("refused", "answered with no".to_owned()),
        Some(DeliveryOutcome::Superseded) => (
            "overwritten",
            format!("holds what {} sent", other.map_or("another job".to_owned(), |job| format!("job {job}"))),
        ),
        Some(DeliveryOutcome::Lost) => ("lost", "lost what it held, and is sent it again".to_owned()),
        _ if is_leaving(sent) => {
            ("leaving", "was told to take it out, and has not confirmed that".to_owned())
        }
        _ if is_confirmed(sent) => ("held", format!("holds it as it was sent{also}")),
        _ if sent.state.confirmed == Some(sent.state.intended) => {
            ("unconfirmed", "holds it; its new access was sent and is not confirmed".to_owned())
        }
        _ => ("unconfirmed", "was sent it, and has not confirmed that".to_owned()),
    };
    Holder {
        output: sent.name.clone(),
        state,
        sentence,
        sent_at: Some(sent.intent_at),
        confirmed_at: sent.confirmed_at,
    }
}
