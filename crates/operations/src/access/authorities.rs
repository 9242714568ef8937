//! Authorities: which there are, whether they can be asked, and what is kept of their answers.

use ingather_engine::authorities::{MACHINE, User};
use ingather_store::{Durability, authorities as stored};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Caller, Context};
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::problem::{Code, Problem, Result};

const LISTED: &str = r#"{"authorities": [{"name": "unix", "kind": "unix", "group": "", "domain": "", "can_be_asked": true,
    "says": "the files of this machine name 31 users"}, {"name": "directory", "kind": "listed", "group": "mails", "domain": "",
    "can_be_asked": false, "says": "the file people.json cannot be read: No such file or directory"}]}"#;

/// The authorities.
pub static LIST: Answering<ListAuthorities, AuthorityList> = Answering {
    operation: Operation {
        name: "authorities.list",
        summary: "Authorities, which say what access tokens somebody holds: the group that these count in, the domain whose names each understands, and whether it can be asked now.",
        request: Shape::of::<ListAuthorities>("ListAuthorities", &["{}"]),
        item: None,
        answer: Shape::of::<AuthorityList>("AuthorityList", &[LISTED]),
        role: Role::Operator,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/authorities"),
        words: Words::Are("authority list"),
        tool: false,
        problems: &[],
    },
    run: list,
};

/// Forgets answers of authorities.
pub static FORGET: Answering<ForgetAnswers, ForgottenAnswers> = Answering {
    operation: Operation {
        name: "authorities.forget",
        summary: "Forgets what authorities answered, about one user or about everybody: they are asked again, so that a right that was taken is gone at once.",
        request: Shape::of::<ForgetAnswers>("ForgetAnswers", &["{}", r#"{"user": "ann"}"#]),
        item: None,
        answer: Shape::of::<ForgottenAnswers>("ForgottenAnswers", &[r#"{"answers": 2}"#]),
        role: Role::Operator,
        effect: Effect::Changes,
        rest: Rest::At(Verb::Post, "/authorities/forget"),
        words: Words::Are("authority forget"),
        tool: false,
        problems: &[],
    },
    run: forget,
};

/// Removes an authority.
pub static DELETE: Answering<DeleteAuthority, DeletedAuthority> = Answering {
    operation: Operation {
        name: "authorities.delete",
        summary: "Removes an authority: nobody holds a token from it any more. `apply` makes authorities.",
        request: Shape::of::<DeleteAuthority>("DeleteAuthority", &[r#"{"name": "directory"}"#]),
        item: None,
        answer: Shape::of::<DeletedAuthority>("DeletedAuthority", &[r#"{"name": "directory"}"#]),
        role: Role::Admin,
        effect: Effect::Changes,
        rest: Rest::At(Verb::Delete, "/authorities/{name}"),
        words: Words::Are("authority delete"),
        tool: false,
        problems: &[Code::NoSuchAuthority],
    },
    run: delete,
};

/// Asks for authorities.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListAuthorities {}

/// Authorities, by name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AuthorityList {
    /// The authorities; `unix` is there without being declared.
    pub authorities: Vec<ListedAuthority>,
}

/// An authority.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ListedAuthority {
    /// Its name.
    pub name: String,
    /// Kind of its connector.
    pub kind: String,
    /// The group that its tokens count in; empty: the one without a name.
    pub group: String,
    /// The domain whose names it understands; empty: the one without a name.
    pub domain: String,
    /// Whether it can be asked now.
    pub can_be_asked: bool,
    /// What was found, or why not.
    pub says: String,
}

/// Asks to forget answers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgetAnswers {
    /// About this user alone; about everybody when left out.
    #[serde(default)]
    pub user: Option<String>,
    /// The authorisation domain that it is a name in, where that has a name.
    #[serde(default)]
    pub domain: String,
}

/// What was forgotten.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ForgottenAnswers {
    /// Answers that were kept; where nothing was, there is nothing to do.
    pub answers: u64,
}

/// Asks to remove an authority.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteAuthority {
    /// Its name.
    pub name: String,
}

/// It is gone.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DeletedAuthority {
    /// Its name.
    pub name: String,
}

fn list(context: &Context<'_>, _: &Caller<'_>, _: ListAuthorities) -> Result<AuthorityList> {
    let reader = context.host.reader()?;
    let process = context.host.process();
    let all = process.authorities.check((reader.as_ref(), &context.registry), &context.call())?;
    let one = |one: ingather_engine::authorities::Checked| ListedAuthority {
        name: one.name,
        kind: one.kind,
        group: one.group.name().to_owned(),
        domain: one.domain,
        can_be_asked: one.found.is_ok(),
        says: one.found.unwrap_or_else(|reason| reason.message),
    };
    Ok(AuthorityList { authorities: all.into_iter().map(one).collect() })
}

fn forget(context: &Context<'_>, _: &Caller<'_>, request: ForgetAnswers) -> Result<ForgottenAnswers> {
    let ForgetAnswers { user, domain } = request;
    let user = user.map(|name| User { name, domain });
    let reader = context.host.reader()?;
    let process = context.host.process();
    let forgotten = process.authorities.forget((reader.as_ref(), &context.registry), user.as_ref())?;
    Ok(ForgottenAnswers { answers: forgotten as u64 })
}

fn delete(context: &Context<'_>, _: &Caller<'_>, request: DeleteAuthority) -> Result<DeletedAuthority> {
    let DeleteAuthority { name } = request;
    context.existing()?;
    let writing = context.host.write_beside("authority delete")?;
    let removed = writing.store.write(Durability::Synced, |sql| {
        writing.lease.fence(sql)?;
        stored::remove(sql, &name)
    })?;
    if removed {
        return Ok(DeletedAuthority { name });
    }
    let sentence = match name.as_str() {
        MACHINE => format!(
            "`{MACHINE}`, the users of this machine, is there without being declared; to have nobody known by it, declare an authority \
             `{MACHINE}` of the kind `null`"
        ),
        _ => format!("there is no authority `{name}`; `ingather authority list` shows those there are"),
    };
    Err(Problem::new(Code::NoSuchAuthority, sentence))
}
