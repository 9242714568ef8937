//! Operations done for whoever asks: changes once where they have a key, looks with what tells a definition from others.

use std::sync::Arc;

use axum::http::{HeaderMap, header};
use ingather_model::limits;
use ingather_operations::jobs;
use ingather_operations::operation::Callable;
use ingather_operations::problem::{Code, Problem, Result};
use ingather_operations::{Asker, Context};
use serde_json::{Value, json};

use super::Answered;
use crate::repeats::{self, Known, Repeats};
use crate::request;

/// The job that a request names, for the log: nobody fills that with it.
pub(super) fn named_job(request: &Value) -> &str {
    at_most(request["job"].as_str().unwrap_or_default(), limits::LOG_JOB_MAX)
}

/// So many characters of a text.
pub(super) fn at_most(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

/// A change: done once where it has a key, and of a job only as it was seen.
pub(super) fn change(
    context: &Context<'_>,
    repeats: &Arc<Repeats>,
    asker: &Asker,
    operation: &'static dyn Callable,
    headers: &HeaderMap,
    request: Value,
) -> Result<Answered> {
    let Some(key) = repeats::key(headers)? else {
        refuse_changed(context, operation, headers, &request)?;
        return done(context, asker, operation, request).map(Answered::plain);
    };
    let who = asker.key.as_ref().unwrap_or(&asker.name);
    match repeats.look(who, key, operation.name, &request, context.now())? {
        Known::Answered(answer) => Ok(Answered { answer, tag: None, is_repeated: true }),
        Known::No(first) => {
            refuse_changed(context, operation, headers, &request)?;
            let answer = done(context, asker, operation, request)?;
            first.done(&answer);
            Ok(Answered::plain(answer))
        }
    }
}

/// A look at something; of a job with what tells its definition from others. That is taken first: a change in between is noticed.
pub(super) fn look(
    context: &Context<'_>,
    asker: &Asker,
    operation: &'static dyn Callable,
    request: Value,
) -> Result<Answered> {
    let is_job = operation.name == jobs::SHOW.operation.name;
    let job = request["job"].as_str().filter(|_| is_job).map(str::to_owned);
    operation.refuse_unreadable(&request)?;
    let tag = job.map(|job| jobs::tag(context, &job)).transpose()?;
    let answer = done(context, asker, operation, request)?;
    Ok(Answered { answer, tag, is_repeated: false })
}

/// Refuses a change of a job that has another definition than whoever asks has seen.
fn refuse_changed(
    context: &Context<'_>,
    operation: &dyn Callable,
    headers: &HeaderMap,
    request: &Value,
) -> Result<()> {
    request::refuse_twice(headers, &[header::IF_MATCH])?;
    let Some(wanted) = headers.get(header::IF_MATCH) else { return Ok(()) };
    let Some(job) = request["job"].as_str() else {
        let sentence = "If-Match is for changes of a job, and this is none; leave it out";
        return Err(Problem::usage(sentence));
    };
    // What could never be done is refused as that, whatever somebody has seen.
    operation.refuse_unreadable(request)?;
    let tag = jobs::tag(context, job)?;
    let wanted = wanted.to_str().unwrap_or_default();
    let fits = wanted == "*" || wanted.split(',').any(|one| one.trim() == format!("\"{tag}\""));
    match fits {
        true => Ok(()),
        false => Err(Problem::new(
            Code::Outdated,
            format!("job {job} has another definition by now than {wanted}; look at it again"),
        )),
    }
}

/// What an operation answers; with what it handed out before, where it streams, up to a bound.
pub(super) fn done(
    context: &Context<'_>,
    asker: &Asker,
    operation: &'static dyn Callable,
    request: Value,
) -> Result<Value> {
    let (mut items, mut left_out) = (Vec::new(), 0_u64);
    let answer =
        asker.ask(context, operation, request, &mut |item| match items.len() < limits::HTTP_ITEMS_MAX {
            true => items.push(item),
            false => left_out += 1,
        })?;
    Ok(match operation.item {
        Some(_) => json!({"items": items, "left_out": left_out, "answer": answer}),
        None => answer,
    })
}

#[cfg(test)]
mod tests {
    use super::at_most;

    #[test]
    fn of_a_long_text_so_many_characters_are_left() {
        assert_eq!(
            [at_most("añb", 0), at_most("añb", 2), at_most("añb", 3), at_most("", 1)],
            ["", "añ", "añb", ""]
        );
    }
}
