//! Access: which tokens a user holds, whether they find a document, and what decides.

pub mod authorities;
pub mod filter;
pub mod people;
pub mod user_acls;
pub(crate) mod who;

use ingather_contract::authority::Answer;
use ingather_engine::authorities::{Said, User};
use ingather_engine::inspect::why::Access;
use ingather_model::access::Tokens;
use ingather_model::access::identity::{Group, Identity};
use ingather_store::jobs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Caller, Context};
use crate::documents::lookup::Lookup;
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::problem::{Code, Problem, Result};

/// Name of the output that is searched.
pub const INDEX: &str = "index";

/// The access tokens that a user holds.
pub static TOKENS: Answering<AskTokens, HeldTokens> = Answering {
    operation: Operation {
        name: "access.tokens",
        summary: "The access tokens that a user holds.",
        request: Shape::of::<AskTokens>("AskTokens", &[r#"{"user": "ann"}"#]),
        item: None,
        answer: Shape::of::<HeldTokens>("HeldTokens", &[HELD]),
        role: Role::TokenReader,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/authority/tokens"),
        words: Words::Are("tokens"),
        tool: false,
        problems: &[Code::NoSuchUser, Code::Settings, Code::Connector],
    },
    run: held_tokens,
};

const HELD: &str = r#"{"user": "ann", "domain": "acme", "tokens": ["unix:everyone", "unix:u:1000"], "whole": false,
    "groups": [{"group": "mails", "tokens": ["staff"], "whole": false}],
    "authorities": [{"authority": "unix", "group": "", "asked_as": "ann", "answer": "known", "tokens": 2, "whole": true,
    "at": 1767225600000, "kept": false}, {"authority": "directory", "group": "mails", "asked_as": "ann@acme.example",
    "answer": "known", "tokens": 1, "whole": true, "at": 1767225590000, "kept": true}, {"authority": "list", "group": "mails",
    "asked_as": "ann", "answer": "unreachable", "tokens": 0, "whole": false, "at": 1767225600000, "kept": false,
    "error": "it did not answer within 5000 ms"}]}"#;

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
    /// Name of a user; of this machine also the number.
    pub user: String,
    /// The authorisation domain that it is a name in, where that has a name.
    #[serde(default)]
    pub domain: String,
}

/// What a user holds.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HeldTokens {
    /// The user.
    pub user: String,
    /// The authorisation domain; empty: the one without a name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub domain: String,
    /// Tokens of the authority group without a name, sorted.
    pub tokens: Vec<String>,
    /// Whether these are all, in every group: whoever may hold others passes no deny that these do not disprove.
    pub whole: bool,
    /// Tokens of each authority group that has a name: they count for what is ruled by this group, and for nothing else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<HeldInGroup>,
    /// What each authority said.
    pub authorities: Vec<AuthoritySaid>,
}

/// What a user holds in one authority group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldInGroup {
    /// The group.
    pub group: String,
    /// Tokens, sorted.
    pub tokens: Vec<String>,
    /// Whether these are all.
    pub whole: bool,
}

/// What one authority said about a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuthoritySaid {
    /// The authority.
    pub authority: String,
    /// The group that its tokens count in; empty: the one without a name.
    pub group: String,
    /// How it spells the name; none where its mapping makes it nobody's, and it was not asked.
    pub asked_as: Option<String>,
    /// Its answer.
    pub answer: AuthorityAnswer,
    /// Tokens that it gives.
    pub tokens: u64,
    /// Whether these are all that it has.
    pub whole: bool,
    /// When it was asked, milliseconds since 1970 UTC.
    pub at: i64,
    /// It was asked before, and its answer was kept.
    pub kept: bool,
    /// Why it could not be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// An answer of an authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuthorityAnswer {
    /// It knows the user.
    Known,
    /// It knows nobody of this name.
    Unknown,
    /// It knows the user, who may not enter.
    Unauthorized,
    /// It could not be asked.
    Unreachable,
}

impl AuthoritySaid {
    fn of(said: &Said) -> AuthoritySaid {
        let (answer, held, error) = match &said.answer {
            Ok(answer) => match &**answer {
                Answer::Known(tokens) => (AuthorityAnswer::Known, Some(tokens), None),
                Answer::Unknown => (AuthorityAnswer::Unknown, None, None),
                Answer::Unauthorized => (AuthorityAnswer::Unauthorized, None, None),
            },
            Err(reason) => (AuthorityAnswer::Unreachable, None, Some(reason.message.clone())),
        };
        AuthoritySaid {
            authority: said.authority.clone(),
            group: said.group.name().to_owned(),
            asked_as: said.asked_as.clone(),
            answer,
            tokens: held.map_or(0, |tokens| tokens.iter().count() as u64),
            whole: held.map_or(answer == AuthorityAnswer::Unknown, Tokens::are_whole),
            at: said.at,
            kept: said.was_kept,
            error,
        }
    }
}

/// Asks whether a user finds a document.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskWhy {
    /// Name of a user; of this machine also the number.
    pub user: String,
    /// The authorisation domain that it is a name in, where that has a name.
    #[serde(default)]
    pub domain: String,
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

fn held_tokens(context: &Context<'_>, caller: &Caller<'_>, request: AskTokens) -> Result<HeldTokens> {
    let user = User { name: request.user, domain: request.domain };
    let said = who::asked_by(context, caller, &user)?;
    let identity = who::known(&user, &said)?;
    let mut groups: Vec<&Group> = said.iter().map(|said| &said.group).collect();
    groups.sort_unstable();
    groups.dedup();
    let held = |group: &Group| {
        let tokens = identity.tokens(group)?;
        let whole = tokens.are_whole();
        Some(HeldInGroup { group: group.name().to_owned(), tokens: sorted(tokens), whole })
    };
    let groups: Vec<HeldInGroup> = groups.into_iter().filter_map(held).collect();
    let (of_default, groups): (Vec<_>, Vec<_>) = groups.into_iter().partition(|held| held.group.is_empty());
    let whole = of_default.iter().chain(&groups).all(|held| held.whole);
    let tokens = of_default.into_iter().flat_map(|held| held.tokens).collect();
    let authorities = said.iter().map(AuthoritySaid::of).collect();
    Ok(HeldTokens { user: user.name, domain: user.domain, tokens, whole, groups, authorities })
}

fn sorted(tokens: &Tokens) -> Vec<String> {
    let mut tokens: Vec<String> = tokens.iter().map(str::to_owned).collect();
    tokens.sort_unstable();
    tokens
}

fn why(context: &Context<'_>, caller: &Caller<'_>, request: AskWhy) -> Result<Why> {
    let AskWhy { user, domain, document, path } = request;
    let user = User { name: user, domain };
    let identity = who::known(&user, &who::asked_by(context, caller, &user)?)?;
    let user = user.name;
    if caller.themselves.is_none() {
        return why_of(context, caller, (&user, &identity), (document, path));
    }
    // That there is something which they do not find, and what the folders above it are called, is not for them.
    let none = || Problem::new(Code::NoSuchDocument, format!("there is no `{document}` that {user} finds"));
    let found = why_of(context, caller, (&user, &identity), (document.clone(), None)).map_err(|_| none())?;
    let answers: Vec<WhyInJob> = found.answers.into_iter().filter(|answer| answer.may_see).collect();
    let answers: Vec<WhyInJob> =
        answers.into_iter().map(|answer| WhyInJob { file: None, ..answer }).collect();
    if answers.is_empty() { Err(none()) } else { Ok(Why { answers, document: found.document, file: None }) }
}

fn why_of(
    context: &Context<'_>,
    caller: &Caller<'_>,
    (user, identity): (&str, &Identity),
    (document, path): (String, Option<String>),
) -> Result<Why> {
    let engine = context.engine(context.existing()?, None, &[]);
    let jobs = engine.reader.read(jobs::list)?;
    let lookup = Lookup::of(&engine, &jobs, caller, (document, path))?;
    let file = lookup.file(&jobs);
    let found = engine.why(INDEX, user, Some(identity), &lookup.text)?;
    if found.is_empty() {
        return Err(Problem::new(
            Code::NoSuchDocument,
            format!("no job could have `{}`; `ingather job list` shows those there are", lookup.text),
        ));
    }
    let answers = found.into_iter().map(|access| in_job(user, access, file.clone())).collect();
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
