//! The index, opened in step with the inventory, and what one user may see of it.

use std::sync::Arc;

use ingather_contract::access_filter::AccessFilter;
use ingather_contract::output::{OutputContext, Search};
use ingather_engine::access_filter;
use ingather_engine::outputs::{Misfit, misfit};
use ingather_model::access::identity::Identity;
use ingather_store::Reader;
use ingather_store::connections::{self, Role};

use crate::access::INDEX;
use crate::context::Context;
use crate::problem::{Problem, Result};

/// Times that an index is opened again because the inventory knows a later commit.
pub(super) const ATTEMPTS_MAX: usize = 5;

/// Has the index open that people search in a service, as of its last commit.
pub fn renew(context: &Context<'_>) {
    let Some(open) = context.registry.output(INDEX).and_then(|kind| kind.search) else { return };
    if let Ok(Some(reader)) = context.host.reader() {
        let process = context.host.process();
        process.searches.renew(|| open(&opened_by(context, &reader)));
    }
}

fn opened_by(context: &Context<'_>, reader: &Reader) -> OutputContext {
    OutputContext { data: context.host.data().to_owned(), store: reader.id().to_owned(), session: 0 }
}

/// The index, and what the user may see of it: no identity is everything, an anonymous one what is open to all.
///
/// The index is opened first. One read then tells what was confirmed of it and who may see what: an index that is older than
/// that read would show an earlier text to those for whom a later one was meant (design 4.20).
pub(super) fn open(
    context: &Context<'_>,
    reader: &Reader,
    identity: Option<&Identity>,
) -> Result<(Arc<dyn Search>, Arc<AccessFilter>)> {
    let data = context.host.data();
    let older = |why: &str| {
        Problem::unable(format!(
            "the search index in {} {why}; `ingather sync` of a job that uses it fills it again",
            data.display()
        ))
    };
    let open = context
        .registry
        .output(INDEX)
        .and_then(|kind| kind.search)
        .ok_or_else(|| Problem::unable("this program was built without the search index"))?;
    let output_context = opened_by(context, reader);
    let process = context.host.process();
    let searches = &process.searches;
    for _ in 0..ATTEMPTS_MAX {
        let opened = searches.opened(|| open(&output_context))?;
        let (output, access_filter) = reader.read(|sql| {
            let output = connections::find(sql, Role::Output, INDEX)?;
            let access_filter = match identity {
                None => Some(Arc::new(AccessFilter::All)),
                Some(identity) => {
                    searches.access_filters.of(sql, output.as_ref().map(|output| output.id), identity)?
                }
            };
            Ok((output, access_filter))
        })?;
        let known = output.as_ref().filter(|output| output.identity.is_some());
        let Some(opened) = opened else {
            return Err(match known {
                Some(_) => older("is not there any more"),
                None => Problem::unable(format!(
                    "there is no index in {} yet; `ingather sync FOLDER` makes one",
                    data.display()
                )),
            });
        };
        let stands = opened.generation();
        let misfit = match &output {
            Some(output) => misfit(output, &stands),
            None => (stands.seq > 0).then_some(Misfit::Newer),
        };
        match misfit {
            None => return Ok((opened, access_filter.ok_or_else(access_filter::too_many)?)),
            Some(Misfit::Newer) => return Err(older("knows changes that the inventory does not")),
            // The inventory may have gone on since the index was opened.
            Some(Misfit::Replaced | Misfit::Older | Misfit::Parted) => {}
        }
    }
    Err(older("is not the one that the inventory speaks of, or of an earlier day"))
}
