//! A search of an index on a server: by the query language there, with the filter that others are given for it (decision 0050), and each hit
//! judged once more.

use std::sync::Arc;

use ingather_contract::access_filter::AccessFilter;
use ingather_contract::output::{AskedResults, OutputContext};
use ingather_contract::search::{self as contract, AskedEntry, AskedOutput};
use ingather_engine::access_filter;
use ingather_engine::outputs::{Misfit, misfit};
use ingather_model::access::identity::Identity;
use ingather_model::limits;
use ingather_store::Reader;
use ingather_store::connections::{self, Connection, Role as ConnectionRole};

use super::opened::ATTEMPTS_MAX;
use super::{Found, Search};
use crate::access::filter::of_server;
use crate::context::{Caller, Context};
use crate::operation::Role;
use crate::problem::{Code, Problem, Result};

/// The hits of an output that somebody may see.
pub(super) fn search(
    context: &Context<'_>,
    caller: &Caller<'_>,
    (request, name, identity): (&Search, &str, Option<&Identity>),
) -> Result<Found> {
    for (flag, is_asked) in
        [("sort", request.sort.is_some()), ("facets", request.facets), ("explain", request.explain)]
    {
        if is_asked {
            return Err(Problem::usage(format!(
                "`{flag}` is for the built-in index alone; leave it out, or `output`"
            )));
        }
    }
    if request.limit + request.offset > limits::SEARCH_PAGE_MAX {
        let most = limits::SEARCH_PAGE_MAX;
        return Err(Problem::usage(format!(
            "an output on a server shows its first {most} hits; ask for less"
        )));
    }
    let reader = context.existing()?;
    let connection =
        |reader: &Reader| reader.read(|sql| connections::find(sql, ConnectionRole::Output, name));
    let known = connection(&reader)?;
    let ask = known.as_ref().and_then(|known| context.registry.output(&known.kind)?.ask);
    let (Some(mut known), Some(ask)) = (known, ask) else {
        return Err(no_such(context, caller, &reader, name)?);
    };
    let to =
        OutputContext { data: context.host.data().to_owned(), store: reader.id().to_owned(), session: 0 };
    for _ in 0..ATTEMPTS_MAX {
        let filter = filter_of(context, &reader, &known, identity)?;
        let filter = of_server(&filter, (reader.id(), known.ceiling));
        let asked = AskedOutput {
            query: &request.query,
            filter: &filter,
            limit: request.limit as usize,
            offset: request.offset as usize,
        };
        let answered = ask(&known.settings, &to, &context.call(), &asked)
            .map_err(|fault| Problem::from(fault).about(&format!("output {name}")))?;
        let Some(answered) = answered else { return Err(empty(name)) };
        // What has changed while the server was asked counts as well.
        known = connection(&reader)?.ok_or_else(|| empty(name))?;
        match misfit(&known, &answered.stands) {
            None => {
                let results = judged(context, &reader, (&known, identity), answered)?;
                return found(context, &reader, (request, identity), results);
            }
            Some(Misfit::Newer) => break,
            // The inventory may have gone on since the server was asked.
            Some(Misfit::Replaced | Misfit::Older | Misfit::Parted) => {}
        }
    }
    Err(Problem::unable(format!(
        "output {name} is not as the inventory speaks of it, so that nothing of it is shown; `ingather sync` of a job that uses it fills it again"
    )))
}

/// What the user may see of an output now.
fn filter_of(
    context: &Context<'_>,
    reader: &Reader,
    output: &Connection,
    identity: Option<&Identity>,
) -> Result<Arc<AccessFilter>> {
    let Some(identity) = identity else { return Ok(Arc::new(AccessFilter::All)) };
    let filters = &context.host.process().searches.access_filters;
    let filter = reader.read(|sql| filters.of(sql, Some(output.id), identity))?;
    Ok(filter.ok_or_else(access_filter::too_many)?)
}

/// Leaves out what a server shows and the user may not see by now, whatever kept it from heeding the filter.
fn judged(
    context: &Context<'_>,
    reader: &Reader,
    (output, identity): (&Connection, Option<&Identity>),
    answered: AskedResults,
) -> Result<contract::SearchResults> {
    let filter = filter_of(context, reader, output, identity)?;
    let AskedResults { total, hits, .. } = answered;
    let all = hits.len();
    let may_see = |entry: &AskedEntry| {
        entry.store == reader.id()
            && entry.seq <= output.ceiling
            && filter.permits(entry.address, entry.reference)
    };
    let hits: Vec<contract::Hit> = hits.into_iter().filter(may_see).map(|entry| entry.hit).collect();
    let total = total.saturating_sub(all - hits.len());
    Ok(contract::SearchResults {
        hits,
        total,
        complete: total,
        notes: Vec::new(),
        corrections: Vec::new(),
        facets: None,
    })
}

fn found(
    context: &Context<'_>,
    reader: &Reader,
    (request, identity): (&Search, Option<&Identity>),
    results: contract::SearchResults,
) -> Result<Found> {
    let results = super::leading(context, reader, results)?;
    let mut found = super::answer(request, &[], results);
    if identity.is_some_and(|identity| !identity.is_whole()) {
        found.summary.notes.push(super::NOT_WHOLE.to_owned());
    }
    Ok(found)
}

fn empty(name: &str) -> Problem {
    Problem::unable(format!("output {name} holds nothing yet; `ingather sync FOLDER --to {name}` fills it"))
}

/// Whoever may not see jobs is told of no output either.
fn no_such(context: &Context<'_>, caller: &Caller<'_>, reader: &Reader, name: &str) -> Result<Problem> {
    let known = reader.read(connections::list)?.into_iter();
    let known = known.filter(|one| one.role == ConnectionRole::Output && caller.has(Role::Operator));
    let can = known.filter(|one| context.registry.output(&one.kind).is_some_and(|kind| kind.ask.is_some()));
    let can: Vec<String> = can.map(|one| one.name).collect();
    let more = match can.is_empty() {
        true => String::new(),
        false => format!("; there is {}", can.join(", ")),
    };
    Ok(Problem::new(
        Code::NoSuchOutput,
        format!(
            "there is no output `{name}` on a server that can be asked{more}; without `output` the index is searched"
        ),
    ))
}
