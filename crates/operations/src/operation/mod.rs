//! What is known of an operation beside what it does: enough for a command line, routes, a description of an API and tools
//! of models, so that none of them has a list of its own.

mod callable;
mod remote;
pub(crate) mod schema;
mod sources;

pub use callable::Callable;
pub use remote::Remote;
pub use sources::OwnSources;

use ingather_contract::settings::Schema;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::context::{Caller, Context};
use crate::problem::{Code, Problem, Result};

/// A row of the table.
pub struct Operation {
    /// Stable name: noun and verb, such as `jobs.list`.
    pub name: &'static str,
    /// One sentence, for lists and help.
    pub summary: &'static str,
    /// What it takes.
    pub request: Shape,
    /// What it hands out one by one while it works; none where there is only the answer.
    pub item: Option<Shape>,
    /// What it returns at its end.
    pub answer: Shape,
    /// The role that whoever asks must have.
    pub role: Role,
    /// Whether anything is another one afterwards.
    pub effect: Effect,
    /// Where it is found over HTTP.
    pub rest: Rest,
    /// Words of the command line.
    pub words: Words,
    /// Whether models may call it, as the user on whose behalf they ask.
    pub tool: bool,
    /// Problems of its own; those of [`crate::problem::ALWAYS`] every operation may have.
    pub problems: &'static [Code],
}

/// What somebody may do (design 4.16).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Everything.
    Admin,
    /// Look at jobs and documents, run jobs, decide about what they hold.
    Operator,
    /// Search as themselves.
    Searcher,
    /// Ask what users hold and may see.
    TokenReader,
    /// Push people and groups into authorities.
    Provisioner,
    /// Push records into sources.
    Pusher,
}

impl Role {
    /// Every role.
    pub const ALL: &'static [Role] =
        &[Role::Admin, Role::Operator, Role::Searcher, Role::TokenReader, Role::Provisioner, Role::Pusher];

    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Admin => "admin",
            Role::Operator => "operator",
            Role::Searcher => "searcher",
            Role::TokenReader => "token-reader",
            Role::Provisioner => "provisioner",
            Role::Pusher => "pusher",
        }
    }
}

/// Whether an operation leaves anything otherwise than it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It only looks.
    Reads,
    /// It may write to the inventory or to outputs.
    Changes,
    /// It takes documents of a source in, again and again: on no record of changes, which that would push all else out of.
    Pushes,
}

/// Where an operation is found over HTTP, below `/api/v1`.
#[derive(Clone, Copy, Debug)]
pub enum Rest {
    /// By this verb and path; names in braces are fields of the request.
    At(Verb, &'static str),
    /// Nowhere, for a reason.
    Not(&'static str),
}

/// What is done to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Looks at it.
    Get,
    /// Does something with it.
    Post,
    /// Removes it.
    Delete,
}

impl Verb {
    /// As in a request over HTTP.
    pub const fn as_str(self) -> &'static str {
        match self {
            Verb::Get => "GET",
            Verb::Post => "POST",
            Verb::Delete => "DELETE",
        }
    }
}

/// How an operation is asked for on the command line.
#[derive(Clone, Copy, Debug)]
pub enum Words {
    /// By these words behind the program's name.
    Are(&'static str),
    /// Not at all, for a reason.
    Not(&'static str),
}

/// A type that crosses the border, with its JSON Schema.
#[derive(Clone, Copy)]
pub struct Shape {
    /// Name of the type.
    pub name: &'static str,
    /// Its schema.
    pub schema: fn() -> Schema,
    /// Values that there could be, as JSON: one for each form that it has.
    pub examples: &'static [&'static str],
    /// Reads a JSON text as this type and writes it again.
    pub round_trip: fn(&str) -> std::result::Result<serde_json::Value, String>,
}

impl Shape {
    /// Of a type that both sides of the border know: whoever answers writes it, whoever asked reads it, and the other way round.
    pub(crate) const fn of<T: Serialize + DeserializeOwned + JsonSchema>(
        name: &'static str,
        examples: &'static [&'static str],
    ) -> Shape {
        Shape { name, schema: schema_of::<T>, examples, round_trip: round_trip::<T> }
    }
}

fn schema_of<T: JsonSchema>() -> Schema {
    schemars::schema_for!(T)
}

fn round_trip<T: Serialize + DeserializeOwned>(text: &str) -> std::result::Result<serde_json::Value, String> {
    let value: T = serde_json::from_str(text).map_err(|error| error.to_string())?;
    serde_json::to_value(value).map_err(|error| error.to_string())
}

/// An operation that answers at once.
pub struct Answering<Request, Answer> {
    /// Its row.
    pub operation: Operation,
    pub(crate) run: fn(&Context<'_>, &Caller<'_>, Request) -> Result<Answer>,
}

impl<Request: Serialize, Answer: DeserializeOwned> Answering<Request, Answer> {
    /// Does it, for a caller who may.
    ///
    /// # Errors
    /// `Forbidden`, or what the row names.
    pub fn call(&self, context: &Context<'_>, caller: &Caller<'_>, request: Request) -> Result<Answer> {
        if let Some(remote) = context.remote {
            return remote::asked::<_, serde_json::Value, _>(remote, &self.operation, &request, &mut |_| {});
        }
        self.operation.admit(caller)?;
        (self.run)(context, caller, request).map_err(|problem| self.operation.known(problem))
    }
}

/// An operation that hands things out while it works, since there may be very many of them.
pub struct Streaming<Request, Item, Answer> {
    /// Its row.
    pub operation: Operation,
    pub(crate) run: Stream<Request, Item, Answer>,
}

/// What a [`Streaming`] operation does.
pub(crate) type Stream<Request, Item, Answer> =
    fn(&Context<'_>, &Caller<'_>, Request, &mut dyn FnMut(Item)) -> Result<Answer>;

impl<Request, Item, Answer> Streaming<Request, Item, Answer>
where
    Request: Serialize,
    Item: DeserializeOwned,
    Answer: DeserializeOwned,
{
    /// Does it, for a caller who may; `each` is given what is found, in order.
    ///
    /// # Errors
    /// `Forbidden`, or what the row names; what was handed out before stands.
    pub fn call(
        &self,
        context: &Context<'_>,
        caller: &Caller<'_>,
        request: Request,
        each: &mut dyn FnMut(Item),
    ) -> Result<Answer> {
        if let Some(remote) = context.remote {
            return remote::asked(remote, &self.operation, &request, each);
        }
        self.operation.admit(caller)?;
        (self.run)(context, caller, request, each).map_err(|problem| self.operation.known(problem))
    }
}

impl Operation {
    fn admit(&self, caller: &Caller<'_>) -> Result<()> {
        caller.needs(self.role, self.name)
    }

    /// Sees in every test that the row names all problems that its operation has.
    fn known(&self, problem: Problem) -> Problem {
        debug_assert!(
            self.problems.contains(&problem.code) || crate::problem::ALWAYS.contains(&problem.code),
            "{} does not name its problem {:?}: {problem}",
            self.name,
            problem.code
        );
        problem
    }
}
