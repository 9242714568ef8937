//! Access: which tokens a user holds, whether they find a document, and what decides.

use ingather_contract::authority::Answer;
use ingather_engine::inspect::why::Access;
use ingather_model::access::Tokens;
use ingather_model::access::identity::Identity;
use ingather_store::jobs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::context::{Caller, Context};
use crate::documents::lookup::Lookup;
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::problem::{Code, Problem, Result};

/// Name of the output that is searched.
pub const INDEX: &str = "index";
/// The authority that knows the users of this machine.
const AUTHORITY: &str = "unix";

/// The access tokens that a user holds.
pub static TOKENS: Answering<AskTokens, HeldTokens> = Answering {
    operation: Operation {
        name: "access.tokens",
        summary: "The access tokens that a user holds.",
        request: Shape::of::<AskTokens>("AskTokens", &[r#"{"user": "ann"}"#]),
        item: None,
        answer: Shape::of::<HeldTokens>(
            "HeldTokens",
            &[r#"{"user": "ann", "tokens": ["group:staff", "user:ann"], "whole": true}"#],
        ),
        role: Role::TokenReader,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/authority/tokens"),
        words: Words::Are("tokens"),
        tool: false,
        problems: &[Code::NoSuchUser, Code::Settings, Code::Connector],
    },
    run: held_tokens,
};

const WHY_ANSWER: &str = r#"{"answers": [{"user": "ann", "job": "share", "document": "notes/a.txt", "may_see": false,
    "code": "denied", "cause": "a folder above it does not admit ann", "layers": [{"layer": "notes/", "admits": false,
    "by": "nobody of ann's is in its list"}], "file": null}], "document": "notes/a.txt", "file": "there is nothing there"}"#;

/// Whether a user finds a document, and what decides.
pub static WHY: Answering<AskWhy, Why> = Answering {
    operation: Operation {
        name: "access.why",
        summary: "Whether a user finds a document, and what decides.",
        request: Shape::of::<AskWhy>("AskWhy", &[r#"{"user": "ann", "document": "notes/a.txt"}"#]),
        item: None,
        answer: Shape::of::<Why>("Why", &[WHY_ANSWER]),
        role: Role::TokenReader,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/authority/why"),
        words: Words::Are("why"),
        tool: false,
        problems: &[
            Code::NoSuchUser,
            Code::NoSuchDocument,
            Code::Key,
            Code::NoSuchConnector,
            Code::Definition,
            Code::Source,
            Code::Settings,
            Code::Connector,
        ],
    },
    run: why,
};

/// Asks what a user holds.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskTokens {
    /// A local user: name or number.
    pub user: String,
}

/// What a user holds.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HeldTokens {
    /// The user.
    pub user: String,
    /// Tokens, sorted.
    pub tokens: Vec<String>,
    /// Whether these are all: whoever may hold others passes no deny that these do not disprove.
    pub whole: bool,
}

/// Asks whether a user finds a document.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskWhy {
    /// A local user: name or number.
    pub user: String,
    /// Name of a document in a job, its path, or its URI.
    pub document: String,
    /// Where the name leads as a path on this machine, for its owner alone.
    #[serde(default)]
    pub path: Option<String>,
}

/// An answer for each job that has the document, or could have it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Why {
    /// The answers; where the user finds it stands first.
    pub answers: Vec<WhyInJob>,
    /// What was looked up.
    pub document: String,
    /// What is at the path that was named, when it leads to no document.
    pub file: Option<String>,
}

/// Whether a user finds a document through one job.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WhyInJob {
    /// The user.
    pub user: String,
    /// The job.
    pub job: String,
    /// Name of the document there.
    pub document: String,
    /// Whether a search shows it.
    pub may_see: bool,
    /// Stable word for what decides.
    pub code: String,
    /// The same as a sentence.
    pub cause: String,
    /// The document and every folder above it.
    pub layers: Vec<WhyLayer>,
    /// What is at the path that was named, when it leads to no document.
    pub file: Option<String>,
}

/// One layer of access.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WhyLayer {
    /// `document`, or the name of the container.
    pub layer: String,
    /// Whether it admits the user.
    pub admits: bool,
    /// What decided, in a sentence.
    pub by: String,
}

/// What the authority of this machine, which is of the default group, answers about a user.
pub(crate) fn asked(context: &Context<'_>, user: &str) -> Result<Answer> {
    let kind = context
        .registry
        .authority(AUTHORITY)
        .ok_or_else(|| Problem::unable("this program was built without the unix authority"))?;
    let authority = (kind.open)(&json!({}))?;
    Ok(authority.tokens(&context.call(), user)?)
}

/// The tokens of a user, or the sentence that there is none.
pub(crate) fn tokens_of(context: &Context<'_>, user: &str) -> Result<Tokens> {
    match asked(context, user)? {
        Answer::Known(tokens) => Ok(tokens),
        Answer::Unknown => Err(Problem::new(
            Code::NoSuchUser,
            format!("there is no user `{user}` on this machine; `getent passwd` lists those there are"),
        )),
        Answer::Unauthorized => Err(may_not_enter(user)),
    }
}

/// Somebody is known, and shut out.
pub(crate) fn may_not_enter(user: &str) -> Problem {
    Problem::new(Code::NoSuchUser, format!("the user `{user}` may not enter"))
}

fn held_tokens(context: &Context<'_>, _: &Caller<'_>, request: AskTokens) -> Result<HeldTokens> {
    let tokens = tokens_of(context, &request.user)?;
    let mut held: Vec<String> = tokens.iter().map(str::to_owned).collect();
    held.sort_unstable();
    Ok(HeldTokens { user: request.user, tokens: held, whole: tokens.are_whole() })
}

fn why(context: &Context<'_>, caller: &Caller<'_>, request: AskWhy) -> Result<Why> {
    let AskWhy { user, document, path } = request;
    let identity = Identity::from(tokens_of(context, &user)?);
    let engine = context.engine(context.existing()?, None, &[]);
    let jobs = engine.reader.read(jobs::list)?;
    let lookup = Lookup::of(&engine, &jobs, caller, (document, path))?;
    let file = lookup.file(&jobs);
    let found = engine.why(INDEX, &user, Some(&identity), &lookup.text)?;
    if found.is_empty() {
        return Err(Problem::new(
            Code::NoSuchDocument,
            format!("no job could have `{}`; `ingather job list` shows those there are", lookup.text),
        ));
    }
    let answers = found.into_iter().map(|access| in_job(&user, access, file.clone())).collect();
    Ok(Why { answers, document: lookup.text, file })
}

fn in_job(user: &str, access: Access, file: Option<String>) -> WhyInJob {
    let layers = access.layers.into_iter();
    WhyInJob {
        user: user.to_owned(),
        job: access.job,
        document: access.document,
        may_see: access.may_see,
        code: access.cause.code,
        cause: access.cause.message,
        layers: layers
            .map(|layer| WhyLayer { layer: layer.name, admits: layer.admits, by: layer.by })
            .collect(),
        file,
    }
}
