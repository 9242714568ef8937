//! Why outputs hold nothing of something in a document: the stage that left it out, or what else became of it.

use ingather_model::document::{EXTRACTION, INSIDE};
use ingather_model::fault::{Fault, Reason};
use ingather_model::run_counts::counted;

use super::trial::{Course, Fate, Step};

/// The cause for `part` of `document`, which outputs hold nothing of. `course` is what stages make of them now, and `whole`
/// the cause why the document itself stands as it does.
pub(super) fn cause(
    job: &str,
    document: &str,
    part: &str,
    course: Result<Course, Fault>,
    whole: &Reason,
) -> Reason {
    let name = format!("{document}{INSIDE}{part}");
    let (of_document, of_part) = match course {
        Ok(Course { fault: None, whole, inside, .. }) => (whole, inside),
        Ok(Course { fault: Some(reason), .. }) => {
            let sentence = format!(
                "`{name}` is no entry, and `{document}` does not pass the stages: {}",
                reason.message
            );
            return Reason { message: sentence, ..reason };
        }
        // What cannot be read tells of nothing in it.
        Err(_) => {
            let sentence =
                format!("`{name}` is no entry, and `{document}` cannot be read now: {}", whole.message);
            return Reason { message: sentence, ..whole.clone() };
        }
    };
    if let Some((position, step)) = left_out(&of_part) {
        let stage = format!("stage {position} of the pipeline, `{}`,", step.transform);
        return match &step.fate {
            Fate::Declined(reason) => Reason::new(
                &reason.code,
                format!("`{name}` is left out, because {stage} filters it out: {}", reason.message),
            ),
            _ => Reason::new(
                "parts_only",
                format!("`{name}` is no entry itself, because {stage} {}", leaves(step)),
            ),
        };
    }
    match of_part.last().map(|step| &step.fate) {
        Some(Fate::Unreadable(reason)) => Reason::new(
            &reason.code,
            format!("`{name}` is no entry, because it cannot be read: {}", reason.message),
        ),
        Some(Fate::Found | Fate::Passed) => Reason::new(
            "waiting",
            format!(
                "`{name}` is there and no entry yet: it becomes one when `{document}` is read next; {}",
                whole.message
            ),
        ),
        _ => not_found(job, document, part, &of_document),
    }
}

/// The first stage, counted from one, that left something out.
fn left_out(steps: &[Step]) -> Option<(usize, &Step)> {
    let left = |step: &Step| matches!(step.fate, Fate::Declined(_) | Fate::PartsOnly);
    steps.iter().position(left).map(|at| (at + 1, &steps[at]))
}

fn leaves(step: &Step) -> String {
    let parts = step.seen.as_ref().map_or(0, |seen| seen.parts_count);
    format!("leaves only the {} in it", counted(parts as u64, "entry"))
}

fn not_found(job: &str, document: &str, part: &str, of_document: &[Step]) -> Reason {
    let seen = of_document.last().and_then(|step| step.seen.as_ref());
    // A stage that declines a document before another one has found something in it leaves that out, too.
    let found_some = seen.is_some_and(|seen| seen.parts_count > 0);
    if let (Some((position, Step { transform, fate: Fate::Declined(reason), .. })), false) =
        (left_out(of_document), found_some)
    {
        let sentence = format!(
            "`{document}{INSIDE}{part}` is left out with its document, because stage {position} of the pipeline, `{transform}`, \
             filters that out: {}",
            reason.message
        );
        return Reason::new(&reason.code, sentence);
    }
    let unread = seen.filter(|seen| seen.incomplete).map(|seen| {
        let reason = seen.record.fields.get(EXTRACTION).and_then(|reasons| reasons.first());
        reason.map_or("not all that is in it can be read", String::as_str)
    });
    let why = match unread {
        Some(reason) => format!("nothing named `{part}` is found in it: {reason}"),
        None => format!("nothing in it is named `{part}`"),
    };
    Reason::new(
        "no_part",
        format!(
            "`{document}` is read, and {why}; `ingather pipeline try {job} '{document}'` shows what is in it"
        ),
    )
}
