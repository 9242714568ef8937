//! Streams of NATS (JetStream): each change is a message, as a journal has it as a line, and so is all that is needed to judge who may see
//! what. Applications consume them when they come to it (decision 0055).

mod identity;
mod link;
mod message;
mod publishing;
mod settings;
mod stream;
mod tail;
#[cfg(test)]
mod tests;
mod tls;

use ingather_contract::call::CallContext;
use ingather_contract::output::{
    Change, Continuity, Generation, LOST, Output, OutputCapabilities, OutputContext, OutputEntry, OutputKind,
    Says, Statement,
};
use ingather_contract::settings as contract_settings;
use ingather_model::fault::Fault;
use serde_json::Value;
use tokio::runtime::Runtime;

use self::identity::Identity;
use self::link::AWAY;
pub use self::message::schema;
use self::message::{Author, Item};
use self::publishing::Publisher;

/// The `nats` output.
pub const OUTPUT: OutputKind = OutputKind {
    name: "nats",
    about: "Publishes each change to a stream of NATS (JetStream), and who may see what.",
    capabilities: OutputCapabilities { commits: false, access: true, list: false, told: true },
    schema: contract_settings::schema_of::<settings::Settings>,
    open,
    check,
    look: None,
    discard: None,
    search: None,
    copy: None,
    place: Some(settings::place),
    ask: None,
};

fn open(value: &Value, context: &OutputContext) -> Result<Box<dyn Output>, Fault> {
    let meant = settings::read(value)?;
    let author =
        Author { store: context.store.clone(), subject: meant.subject.clone(), opening: context.session };
    let runtime = runtime()?;
    let publisher = runtime.block_on(Publisher::open(meant, context.session))?;
    Ok(Box::new(Opened { publisher, author, ended: None, runtime }))
}

fn check(value: &Value, _context: &OutputContext) -> Result<(), Fault> {
    let meant = settings::read(value)?;
    runtime()?.block_on(publishing::check(&meant))
}

/// A runtime for one connection, which works while somebody waits for it.
fn runtime() -> Result<Runtime, Fault> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Fault::passing(AWAY, format!("no connection can be made on this machine: {error}")))
}

/// A stream that is open.
struct Opened {
    publisher: Publisher,
    author: Author,
    /// Why nothing more is sent.
    ended: Option<Fault>,
    /// Behind the connection, which ends in it.
    runtime: Runtime,
}

impl Opened {
    /// Publishes messages; an answer for each, in their order.
    fn publish(&mut self, call: &CallContext, items: &[Item]) -> Vec<Result<(), Fault>> {
        if let Some(fault) = &self.ended {
            return vec![Err(fault.clone()); items.len()];
        }
        let (answers, ended) = self.runtime.block_on(self.publisher.publish(&call.cancel, items));
        self.ended = ended;
        answers
    }

    /// It is another stream by now, or somebody else wrote to it: whoever follows it may lack something that nobody tells again.
    fn is_lost(&self) -> bool {
        self.ended.as_ref().is_some_and(|fault| fault.reason().code == stream::REPLACED)
    }
}

impl Output for Opened {
    fn apply(&mut self, call: &CallContext, batch: &[Change]) -> Vec<Result<(), Fault>> {
        let mut answers = vec![Ok(()); batch.len()];
        let (mut items, mut places) = (Vec::with_capacity(batch.len()), Vec::with_capacity(batch.len()));
        for (place, change) in batch.iter().enumerate() {
            match self.author.change(change) {
                Ok(item) => {
                    items.push(item);
                    places.push(place);
                }
                Err(fault) => answers[place] = Err(fault),
            }
        }
        let said = self.publish(call, &items);
        places.into_iter().zip(said).for_each(|(place, said)| answers[place] = said);
        answers
    }

    fn tell(&mut self, call: &CallContext, statements: &[Statement]) -> Result<(), Fault> {
        let mut items = Vec::with_capacity(statements.len());
        for statement in statements {
            if let Says::Begin { opening, .. } = &statement.says {
                (self.author.opening, self.publisher.opening) = (*opening, *opening);
            }
            items.push(self.author.statement(statement)?);
        }
        self.publish(call, &items).into_iter().collect()
    }

    fn commit(&mut self, _call: &CallContext) -> Result<Generation, Fault> {
        match &self.ended {
            Some(fault) => Err(fault.clone()),
            None => Ok(self.generation()),
        }
    }

    fn generation(&self) -> Generation {
        let identity = Identity::of(&self.publisher);
        let (seq, _) = identity.newest;
        let identity = if self.is_lost() { LOST.to_owned() } else { identity.told() };
        Generation { identity, number: seq, seq, session: 0 }
    }

    fn continuity(&mut self, identity: &str, opening: i64) -> Result<Continuity, Fault> {
        // Also of one that was lost.
        let Some(noted) = Identity::read(identity) else { return Ok(Continuity::Other) };
        let continuity = noted.continuity(&self.publisher, opening);
        if continuity == Continuity::Same {
            self.publisher.before = Some(opening);
            self.publisher.newest = self.publisher.newest.or(Some(noted.newest));
            self.runtime.block_on(self.publisher.look_back())?;
        }
        Ok(continuity)
    }

    fn list(
        &mut self,
        _call: &CallContext,
        _after: Option<&str>,
        _most: usize,
    ) -> Result<Vec<OutputEntry>, Fault> {
        Err(Fault::refused("cannot_list", "a stream tells changes, and cannot be verified"))
    }
}
