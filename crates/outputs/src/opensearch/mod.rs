//! OpenSearch and Elasticsearch: one index, delivered to in bulk requests; newest wins by the number of a change, which is the version of its
//! entry there.

mod asking;
mod bulk;
mod entry;
mod fold;
mod http;
mod index;
mod listing;
mod server;
mod settings;
mod template;
#[cfg(test)]
mod tests;
mod writing;

use ingather_contract::call::{CallContext, Cancel};
use ingather_contract::output::{
    Generation, Output, OutputCapabilities, OutputContext, OutputEntry, OutputKind, OutputSnapshot,
};
use ingather_contract::settings as contract_settings;
use ingather_model::fault::Fault;
use serde_json::Value;

use self::http::Method;
use self::index::{Index, Mark};
use self::listing::Listing;
use self::server::{Server, Waits};
use self::writing::Opened;

/// The `opensearch` output.
pub const OUTPUT: OutputKind = OutputKind {
    name: "opensearch",
    about: "Fills an index of OpenSearch or Elasticsearch.",
    capabilities: OutputCapabilities { commits: true, access: true, list: true, told: false },
    schema: contract_settings::schema_of::<settings::Settings>,
    open,
    check,
    look: Some(look),
    discard: None,
    search: None,
    copy: None,
    place: Some(settings::place),
    ask: Some(asking::ask),
};

fn open(value: &Value, context: &OutputContext) -> Result<Box<dyn Output>, Fault> {
    Ok(Box::new(Opened::open(value, context)?))
}

fn check(value: &Value, context: &OutputContext) -> Result<(), Fault> {
    let meant = settings::read(value)?;
    let cancel = Cancel::default();
    index::usable(&Server::new(&meant)?, &Waits::short(&cancel), &meant.index, &context.store).map(drop)
}

fn look(value: &Value, context: &OutputContext) -> Result<Option<Box<dyn OutputSnapshot>>, Fault> {
    let meant = settings::read(value)?;
    let (server, cancel) = (Server::new(&meant)?, Cancel::default());
    let waits = Waits::short(&cancel);
    let described = index::usable(&server, &waits, &meant.index, &context.store)?;
    // One that is to be taken over holds nothing yet.
    let Some(index) = described.and_then(|described| Index::of(&meant.index, described)) else {
        return Ok(None);
    };
    let seq = index::largest_seq(&server, &waits, &index)?;
    Ok(Some(Box::new(Looking { server, index, seq, listing: Listing::default() })))
}

fn generation(index: &Index, seq: i64) -> Generation {
    let Mark { number, session, .. } = index.mark;
    Generation { identity: index.identity(), number, seq, session }
}

/// An index that is open for looking.
struct Looking {
    server: Server,
    index: Index,
    seq: i64,
    listing: Listing,
}

impl OutputSnapshot for Looking {
    fn generation(&self) -> Generation {
        generation(&self.index, self.seq)
    }

    fn list(
        &mut self,
        call: &CallContext,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<OutputEntry>, Fault> {
        self.listing.page((&self.server, &Waits::long(&call.cancel), &self.index), after, most)
    }

    fn damage(&mut self, _call: &CallContext, _every_entry: bool) -> Result<Vec<String>, Fault> {
        // What an index cannot be used for is a fault already; its files are the engine's.
        Ok(Vec::new())
    }
}
