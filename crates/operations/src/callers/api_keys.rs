//! API keys: who may ask a service over HTTP, with which roles, and whose access tokens count in their searches
//! (decision 0025). A key is `ing_`, a public part by which it is found, and a secret of which only a digest is kept.

use std::sync::LazyLock;

use ingather_model::limits;
use ingather_store::api_keys::{self as stored, Account};
use ingather_store::{Durability, turns};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::who;
use crate::context::{Caller, Context};
use crate::jobs::definition::wanted::refuse_name;
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::problem::{Code, Problem, Result};

/// What every key begins with, so that scanners of leaked secrets know one.
const BEGINNING: &str = "ing_";
/// Digits of the public part.
const ID_DIGITS: usize = 16;
/// The one authority that accounts are looked up in.
const UNIX: &str = "unix";

const KEY: &str = r#"{"name": "ann", "id": "0a1b2c3d4e5f6071", "roles": ["searcher"],
    "account": {"system": "unix", "domain": "", "name": "ann"}, "sources": null, "created_at": 1767225600000, "expires_at": 1798761600000}"#;
const PUSHERS: &str = r#"{"name": "tracker", "id": "0a1b2c3d4e5f6072", "roles": ["pusher"], "account": null, "sources": ["tickets"],
    "created_at": 1767225600000, "expires_at": null}"#;
const LISTED: &str = r#"{"api_keys": [{"name": "tracker", "id": "0a1b2c3d4e5f6072", "roles": ["pusher"], "account": null, "sources": ["tickets"],
    "created_at": 1767225600000, "expires_at": null}]}"#;
const MADE: &str = r#"{"name": "ann", "id": "0a1b2c3d4e5f6071", "roles": ["searcher"],
    "account": {"system": "unix", "domain": "", "name": "ann"}, "sources": null, "created_at": 1767225600000, "expires_at": 1798761600000,
    "key": "ing_0a1b2c3d4e5f6071_5e88"}"#;
const MADE_FOR_SOURCES: &str = r#"{"name": "tracker", "id": "0a1b2c3d4e5f6072", "roles": ["pusher"], "account": null, "sources": ["tickets"],
    "created_at": 1767225600000, "expires_at": null, "key": "ing_0a1b2c3d4e5f6072_5e89"}"#;

/// Makes an API key.
pub static CREATE: Answering<CreateApiKey, CreatedApiKey> = Answering {
    operation: Operation {
        name: "api_keys.create",
        summary: "Makes an API key; it is told this once and kept nowhere.",
        request: Shape::of::<CreateApiKey>(
            "CreateApiKey",
            &[
                r#"{"name": "ann", "roles": ["searcher"], "account": {"system": "unix", "domain": "", "name": "ann"}}"#,
                r#"{"name": "tracker", "roles": ["pusher"], "sources": ["tickets"]}"#,
            ],
        ),
        item: None,
        answer: Shape::of::<CreatedApiKey>("CreatedApiKey", &[MADE, MADE_FOR_SOURCES]),
        role: Role::Admin,
        effect: Effect::Changes,
        rest: Rest::At(Verb::Post, "/api-keys"),
        words: Words::Are("api-key create"),
        tool: false,
        problems: &[Code::ApiKeyExists, Code::NoSuchUser, Code::Settings, Code::Connector],
    },
    run: create,
};

/// All API keys.
pub static LIST: Answering<ListApiKeys, ApiKeyList> = Answering {
    operation: Operation {
        name: "api_keys.list",
        summary: "All API keys, without their secrets.",
        request: Shape::of::<ListApiKeys>("ListApiKeys", &["{}"]),
        item: None,
        answer: Shape::of::<ApiKeyList>("ApiKeyList", &[r#"{"api_keys": []}"#, LISTED]),
        role: Role::Admin,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/api-keys"),
        words: Words::Are("api-key list"),
        tool: false,
        problems: &[],
    },
    run: list,
};

/// Takes an API key back.
pub static DELETE: Answering<DeleteApiKey, ApiKey> = Answering {
    operation: Operation {
        name: "api_keys.delete",
        summary: "Takes an API key back; it opens nothing from then on.",
        request: Shape::of::<DeleteApiKey>("DeleteApiKey", &[r#"{"name": "ann"}"#]),
        item: None,
        answer: Shape::of::<ApiKey>("ApiKey", &[KEY, PUSHERS]),
        role: Role::Admin,
        effect: Effect::Changes,
        rest: Rest::At(Verb::Delete, "/api-keys/{name}"),
        words: Words::Are("api-key delete"),
        tool: false,
        problems: &[Code::NoSuchApiKey],
    },
    run: delete,
};

/// Asks for a new key.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateApiKey {
    /// Its name, for people: letters, digits, `.`, `_`, `-` and `@`.
    pub name: String,
    /// What whoever has it may do.
    pub roles: Vec<Role>,
    /// Whose access tokens count in its searches; without one, only what is open to everybody is found.
    #[serde(default)]
    pub account: Option<KeyAccount>,
    /// Names of the sources into which alone it may push, whether they are there already or not; into all when left out. Only with the role `pusher` alone.
    #[serde(default)]
    #[schemars(length(min = 1, max = limits::KEY_SOURCES_MAX))]
    pub sources: Option<Vec<String>>,
    /// From then on it is none, milliseconds since 1970 UTC; never when left out.
    #[serde(default)]
    pub expires_at: Option<i64>,
}

/// Somebody at a system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyAccount {
    /// Says nothing any more: all authorities of the domain are asked.
    #[serde(default = "unix")]
    pub system: String,
    /// The authorisation domain that the name is one in; empty: the one without a name.
    #[serde(default)]
    pub domain: String,
    /// Their name there.
    pub name: String,
}

fn unix() -> String {
    UNIX.to_owned()
}

/// Asks for all keys.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListApiKeys {}

/// Asks to take a key back.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteApiKey {
    /// Its name.
    pub name: String,
}

/// A key, without its secret.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ApiKey {
    /// Its name.
    pub name: String,
    /// Its public part.
    pub id: String,
    /// What whoever has it may do.
    pub roles: Vec<Role>,
    /// Whose access tokens count in its searches.
    pub account: Option<KeyAccount>,
    /// Names of the sources into which alone it may push; null: into all.
    pub sources: Option<Vec<String>>,
    /// When it was made, milliseconds since 1970 UTC.
    pub created_at: i64,
    /// From then on it is none, milliseconds since 1970 UTC.
    pub expires_at: Option<i64>,
}

/// A key that was made.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CreatedApiKey {
    /// What is kept of it.
    #[serde(flatten)]
    pub kept: ApiKey,
    /// The key itself: nobody is told it again.
    pub key: String,
}

/// All keys, by name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ApiKeyList {
    /// The keys.
    pub api_keys: Vec<ApiKey>,
}

impl From<stored::ApiKey> for ApiKey {
    fn from(key: stored::ApiKey) -> ApiKey {
        let sources = key.sources.as_deref().map(sources);
        ApiKey {
            roles: roles_within(roles(&key.roles), sources.as_deref()),
            sources,
            name: key.name,
            id: key.id,
            account: key.account.map(|Account { system, domain, name }| KeyAccount { system, domain, name }),
            created_at: key.created_at,
            expires_at: key.expires_at,
        }
    }
}

/// Roles by their words; a word that this program does not know gives no right.
fn roles(words: &str) -> Vec<Role> {
    let role = |word: &str| Role::ALL.iter().copied().find(|role| role.as_str() == word);
    words.split(' ').filter_map(role).collect()
}

/// Sources by what is kept of them; what cannot be read is none.
fn sources(kept: &str) -> Vec<String> {
    serde_json::from_str(kept).unwrap_or_default()
}

/// What a key may do that is for some sources alone: push into them, and nothing where it names none.
fn roles_within(roles: Vec<Role>, sources: Option<&[String]>) -> Vec<Role> {
    let is_left = |role: &Role| match sources {
        None => true,
        Some(names) => *role == Role::Pusher && !names.is_empty(),
    };
    roles.into_iter().filter(is_left).collect()
}

fn create(context: &Context<'_>, _: &Caller<'_>, request: CreateApiKey) -> Result<CreatedApiKey> {
    check(context, &request)?;
    let (id, secret) = (random()?[..ID_DIGITS].to_owned(), random()?);
    let mut roles = request.roles;
    roles.sort_unstable_by_key(|role| role.as_str());
    roles.dedup();
    let words: Vec<&str> = roles.iter().map(|role| role.as_str()).collect();
    let sources = request.sources.map(|names| serde_json::json!(names).to_string());
    let key = stored::ApiKey {
        id: id.clone(),
        name: request.name,
        digest: digest(&secret).to_hex().to_string(),
        roles: words.join(" "),
        account: request.account.map(|KeyAccount { system, domain, name }| Account { system, domain, name }),
        created_at: context.now(),
        expires_at: request.expires_at,
        sources,
    };
    let writing = context.host.write_beside("a new API key")?;
    let known = writing.store.write(Durability::Synced, |sql| {
        writing.lease.fence(sql)?;
        let known = stored::list(sql)?;
        if known.len() < limits::API_KEYS_MAX && known.iter().all(|other| other.name != key.name) {
            stored::add(sql, &key)?;
        }
        Ok(known)
    })?;
    if known.iter().any(|other| other.name == key.name) {
        return Err(Problem::new(
            Code::ApiKeyExists,
            format!("there is an API key `{}`; delete it first, or take another name", key.name),
        ));
    }
    if known.len() >= limits::API_KEYS_MAX {
        return Err(Problem::new(
            Code::Busy,
            format!("there are {} API keys, and there may not be more; delete some", known.len()),
        ));
    }
    Ok(CreatedApiKey { kept: key.into(), key: format!("{BEGINNING}{id}_{secret}") })
}

fn check(context: &Context<'_>, request: &CreateApiKey) -> Result<()> {
    let CreateApiKey { name, roles, account, sources, expires_at } = request;
    let is_of_name = |c: char| c.is_alphanumeric() || "._-@".contains(c);
    let length = name.chars().count();
    if length == 0 || length > limits::API_KEY_NAME_MAX || !name.chars().all(is_of_name) {
        return Err(Problem::usage(format!(
            "the name of an API key has 1 to {} letters, digits, `.`, `_`, `-` or `@`",
            limits::API_KEY_NAME_MAX
        )));
    }
    if roles.is_empty() {
        let all: Vec<&str> = Role::ALL.iter().map(|role| role.as_str()).collect();
        return Err(Problem::usage(format!(
            "an API key without a role opens nothing; give some of {}",
            all.join(", ")
        )));
    }
    if expires_at.is_some_and(|at| at <= context.now()) {
        return Err(Problem::usage("the API key would have expired already; give a later time"));
    }
    if let Some(sources) = sources {
        check_sources(sources, roles)?;
    }
    let Some(account) = account else { return Ok(()) };
    if !matches!(account.system.as_str(), UNIX | "") {
        return Err(Problem::usage(
            "leave the `system` of an account out: all authorities of its `domain` are asked about its name",
        ));
    }
    // Whoever is not known would find nothing, and wonder.
    who::of_name(context, &account.name, &account.domain).map(drop)
}

/// Whether a key may be for these sources alone.
fn check_sources(sources: &[String], roles: &[Role]) -> Result<()> {
    if sources.is_empty() || sources.len() > limits::KEY_SOURCES_MAX {
        return Err(Problem::usage(format!(
            "a key for some sources alone names from 1 to {} of them; leave them out for a key that pushes into all",
            limits::KEY_SOURCES_MAX
        )));
    }
    if let Some(other) = roles.iter().find(|role| **role != Role::Pusher) {
        return Err(Problem::usage(format!(
            "a key for some sources alone has the role {} and no other; leave {} out, and make another key for it",
            Role::Pusher.as_str(),
            other.as_str()
        )));
    }
    sources.iter().try_for_each(|name| refuse_name(name))?;
    match sources.iter().enumerate().find(|(at, name)| sources[..*at].contains(name)) {
        Some((_, twice)) => Err(Problem::usage(format!("the source `{twice}` is named twice; name it once"))),
        None => Ok(()),
    }
}

fn list(context: &Context<'_>, _: &Caller<'_>, _: ListApiKeys) -> Result<ApiKeyList> {
    let found = match context.host.reader()? {
        Some(reader) => reader.read(stored::list)?,
        None => Vec::new(),
    };
    Ok(ApiKeyList { api_keys: found.into_iter().map(ApiKey::from).collect() })
}

fn delete(context: &Context<'_>, _: &Caller<'_>, request: DeleteApiKey) -> Result<ApiKey> {
    let name = &request.name;
    context.existing()?;
    let writing = context.host.write_beside("end of an API key")?;
    let gone = writing.store.write(Durability::Synced, |sql| {
        writing.lease.fence(sql)?;
        let key = stored::list(sql)?.into_iter().find(|key| key.name == *name);
        stored::remove(sql, name)?;
        Ok(key)
    })?;
    gone.map(ApiKey::from).ok_or_else(|| no_such(name))
}

fn no_such(name: &str) -> Problem {
    let sentence = format!("there is no API key `{name}`; `ingather api-key list` shows those there are");
    Problem::new(Code::NoSuchApiKey, sentence)
}

/// The key of that name.
///
/// # Errors
/// `NoSuchApiKey`; `Unauthenticated` when it has expired.
pub(crate) fn named(context: &Context<'_>, name: &str) -> Result<ApiKey> {
    let found = context.existing()?.read(stored::list)?.into_iter().find(|key| key.name == name);
    valid(context, found.ok_or_else(|| no_such(name))?)
}

/// The key of that public part, for whoever was let in with it before.
///
/// # Errors
/// `Unauthenticated` when it is none any more.
pub(crate) fn by_id(context: &Context<'_>, id: &str) -> Result<ApiKey> {
    let found = context.existing()?.read(|sql| stored::by_id(sql, id))?;
    valid(context, found.ok_or_else(unknown)?)
}

fn unknown() -> Problem {
    Problem::new(Code::Unauthenticated, "this is no API key of this service; ask an administrator for one")
}

fn valid(context: &Context<'_>, key: stored::ApiKey) -> Result<ApiKey> {
    if key.expires_at.is_some_and(|at| at <= context.now()) {
        let sentence = format!("the API key {} has expired; ask an administrator for another one", key.name);
        return Err(Problem::new(Code::Unauthenticated, sentence));
    }
    Ok(key.into())
}

/// The key that was presented, when it is one.
///
/// # Errors
/// `Unauthenticated` for whatever is no key, or none any more; all of these take the same time as far as the secret goes.
pub(crate) fn presented(context: &Context<'_>, text: &str) -> Result<ApiKey> {
    static NOBODYS: LazyLock<blake3::Hash> = LazyLock::new(|| digest(""));
    let (id, secret) =
        text.strip_prefix(BEGINNING).and_then(|rest| rest.split_once('_')).ok_or_else(unknown)?;
    let reader = context.host.reader()?.ok_or_else(unknown)?;
    let found = reader.read(|sql| stored::by_id(sql, id))?;
    let known = found.as_ref().and_then(|key| blake3::Hash::from_hex(&key.digest).ok());
    // Digests of this type are compared in a time that does not depend on them.
    let fits = digest(secret) == known.unwrap_or(*NOBODYS);
    valid(context, found.filter(|_| fits && known.is_some()).ok_or_else(unknown)?)
}

/// A secret is long and random: a slow digest would protect nothing more.
fn digest(secret: &str) -> blake3::Hash {
    blake3::hash(secret.as_bytes())
}

/// A word that nobody guesses: 256 random bits in digits.
///
/// # Errors
/// When the system gives none.
pub fn random() -> Result<String> {
    let bytes = turns::random().map_err(|error| {
        Problem::unable(format!("the system gives no random numbers: {error}; try again"))
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_of_the_sources_of_a_key_gives_no_right_at_all() {
        let key = |sources: Option<&str>, roles: &str| {
            let key = stored::ApiKey {
                id: "00".to_owned(),
                name: "tracker".to_owned(),
                digest: String::new(),
                roles: roles.to_owned(),
                account: None,
                created_at: 0,
                expires_at: None,
                sources: sources.map(str::to_owned),
            };
            let key = ApiKey::from(key);
            (key.roles, key.sources)
        };
        let one = vec!["tickets".to_owned()];
        assert_eq!(key(None, "pusher operator"), (vec![Role::Pusher, Role::Operator], None));
        assert_eq!(key(Some(r#"["tickets"]"#), "pusher"), (vec![Role::Pusher], Some(one.clone())));
        assert_eq!(key(Some(r#"["tickets"]"#), "admin operator pusher"), (vec![Role::Pusher], Some(one)));
        for unreadable in
            ["", "null", "[]", "tickets", r#"["tickets""#, r#"["tickets", 7]"#, r#""tickets""#, "{}"]
        {
            assert_eq!(key(Some(unreadable), "admin pusher"), (Vec::new(), Some(Vec::new())), "{unreadable}");
        }
    }
}
