//! What is looked for in the index and went to another output alone: whoever searches is told where to ask.

use ingather_engine::outputs::is_declared;
use ingather_store::connections::{self, Role as ConnectionRole};
use ingather_store::{Reader, jobs};

use crate::access::INDEX;
use crate::context::{Caller, Context};
use crate::operation::Role;
use crate::problem::{Problem, Result};

/// Jobs that are named.
const NAMED_MAX: usize = 3;

/// A sentence for each of some jobs that send to outputs on servers and not to the index; none to whoever may not see jobs.
pub(super) fn told(context: &Context<'_>, caller: &Caller<'_>, reader: &Reader) -> Result<Vec<String>> {
    if !caller.has(Role::Operator) {
        return Ok(Vec::new());
    }
    let (jobs, known) = reader.read(|sql| Ok((jobs::list(sql)?, connections::list(sql)?)))?;
    let is_there = |name: &&String| {
        let mut outputs = known.iter().filter(|one| one.role == ConnectionRole::Output && one.name == **name);
        outputs.next().filter(|one| is_declared(&context.registry, &one.kind)).map(|one| one.kind.as_str())
    };
    let sends = |job: &jobs::Job| {
        let outputs = &job.definition.outputs;
        let (name, kind) = outputs.iter().find_map(|name| Some((name, is_there(&name)?)))?;
        (!outputs.iter().any(|name| name == INDEX)).then(|| {
            format!(
                "job {}: it sends to output {name} and not to the index; `ingather search --output {name} QUERY` asks that, and others do by what \
                 `ingather filter USER --engine {kind} --output {name}` gives",
                job.name
            )
        })
    };
    Ok(jobs.iter().filter_map(sends).take(NAMED_MAX).collect())
}

/// The problem that there is no index, with where to ask in its place.
pub(super) fn instead(
    context: &Context<'_>,
    caller: &Caller<'_>,
    reader: &Reader,
    problem: Problem,
) -> Problem {
    let index = reader.read(|sql| connections::find(sql, ConnectionRole::Output, INDEX));
    let is_there = index.is_ok_and(|index| index.is_some_and(|index| index.identity.is_some()));
    match told(context, caller, reader) {
        Ok(told) if !is_there && !told.is_empty() => problem.with(&format!("; {}", told.join("; "))),
        _ => problem,
    }
}
