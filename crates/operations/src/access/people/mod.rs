//! People and groups that an identity provider pushes into an authority of the kind `scim` (RFC 7643, RFC 7644; decision 0048).
//!
//! Reading order: here are the rows · `resource` reads what was sent and shows what is kept · `patch` changes a part of it, by a `path` · `filter` says who is
//! looked for · `work` does it.

mod filter;
mod patch;
mod path;
mod resource;
mod work;

use ingather_store::people::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Words};
use crate::problem::Code;

/// What the paths of all of it begin with, over HTTP.
pub const SCIM: &str = "/scim/v2";

const BY_SCIM: Rest = Rest::Not("identity providers ask for it in the words of SCIM, below `/scim/v2`");
const NO_WORDS: Words = Words::Not("identity providers ask for it, and nobody else");

const ANN: &str = r#"{"resource": {"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "id": "5f", "userName": "ann", "active": true},
    "version": "W/\"1\""}"#;

const fn row(
    name: &'static str,
    summary: &'static str,
    (request, answer): (Shape, Shape),
    effect: Effect,
    problems: &'static [Code],
) -> Operation {
    Operation {
        name,
        summary,
        request,
        item: None,
        answer,
        role: Role::Provisioner,
        effect,
        rest: BY_SCIM,
        words: NO_WORDS,
        tool: false,
        problems,
    }
}

/// Whether somebody may push into an authority.
pub static LOOK: Answering<LookAtPeople, PeopleOf> = Answering {
    operation: row(
        "people.look",
        "Whether people can be pushed into this authority.",
        (
            Shape::of::<LookAtPeople>("LookAtPeople", &[r#"{"authority": "acme"}"#]),
            Shape::of::<PeopleOf>("PeopleOf", &[r#"{"authority": "acme"}"#]),
        ),
        Effect::Reads,
        &[Code::NoSuchAuthority],
    ),
    run: work::look,
};

/// People or groups, a page of them.
pub static LIST: Answering<ListPeople, PeopleList> = Answering {
    operation: row(
        "people.list",
        "People or groups that were pushed into an authority: all, or those that a filter finds.",
        (
            Shape::of::<ListPeople>(
                "ListPeople",
                &[
                    r#"{"authority": "acme", "of": "users", "filter": "userName eq \"ann\"", "start_index": 1, "count": 10}"#,
                ],
            ),
            Shape::of::<PeopleList>(
                "PeopleList",
                &[r#"{"total": 1, "start_index": 1, "resources": [{"id": "5f"}]}"#],
            ),
        ),
        Effect::Reads,
        &[Code::NoSuchAuthority, Code::WrongFilter, Code::TooLarge],
    ),
    run: work::list,
};

/// One person or group.
pub static SHOW: Answering<ShowPerson, PushedResource> = Answering {
    operation: row(
        "people.show",
        "One person or group that was pushed.",
        (
            Shape::of::<ShowPerson>("ShowPerson", &[r#"{"authority": "acme", "of": "users", "id": "5f"}"#]),
            Shape::of::<PushedResource>("PushedResource", &[ANN]),
        ),
        Effect::Reads,
        &[Code::NoSuchAuthority, Code::NoSuchPerson],
    ),
    run: work::show,
};

/// A new person or group.
pub static CREATE: Answering<CreatePerson, PushedResource> = Answering {
    operation: row(
        "people.create",
        "Makes a person or a group: they hold tokens from then on.",
        (
            Shape::of::<CreatePerson>(
                "CreatePerson",
                &[r#"{"authority": "acme", "of": "users", "resource": {"userName": "ann"}}"#],
            ),
            Shape::of::<PushedResource>("PushedResource", &[ANN]),
        ),
        Effect::Changes,
        &[Code::NoSuchAuthority, Code::PersonExists, Code::WrongValue, Code::TooLarge],
    ),
    run: work::create,
};

/// Another state of a person or group.
pub static REPLACE: Answering<ReplacePerson, PushedResource> = Answering {
    operation: row(
        "people.replace",
        "Puts another state in place of that of a person or a group.",
        (
            Shape::of::<ReplacePerson>(
                "ReplacePerson",
                &[r#"{"authority": "acme", "of": "users", "id": "5f", "resource": {"userName": "ann"}}"#],
            ),
            Shape::of::<PushedResource>("PushedResource", &[ANN]),
        ),
        Effect::Changes,
        CHANGED,
    ),
    run: work::replace,
};

/// A change of a part of a person or group.
pub static CHANGE: Answering<ChangePerson, PushedResource> = Answering {
    operation: row(
        "people.change",
        "Changes a part of a person or a group, such as who is in it.",
        (
            Shape::of::<ChangePerson>(
                "ChangePerson",
                &[
                    r#"{"authority": "acme", "of": "users", "id": "5f", "patch": {"Operations": [{"op": "replace", "path": "active", "value": false}]}}"#,
                ],
            ),
            Shape::of::<PushedResource>("PushedResource", &[ANN]),
        ),
        Effect::Changes,
        CHANGED,
    ),
    run: work::change,
};

/// The end of a person or group.
pub static DELETE: Answering<DeletePerson, DeletedPerson> = Answering {
    operation: row(
        "people.delete",
        "Removes a person or a group: they are in no group any more, and hold nothing.",
        (
            Shape::of::<DeletePerson>(
                "DeletePerson",
                &[r#"{"authority": "acme", "of": "users", "id": "5f"}"#],
            ),
            Shape::of::<DeletedPerson>("DeletedPerson", &[r#"{"id": "5f"}"#]),
        ),
        Effect::Changes,
        &[Code::NoSuchAuthority, Code::NoSuchPerson, Code::Outdated],
    ),
    run: work::delete,
};

const CHANGED: &[Code] = &[
    Code::NoSuchAuthority,
    Code::NoSuchPerson,
    Code::PersonExists,
    Code::WrongValue,
    Code::WrongPath,
    Code::TooLarge,
    Code::Outdated,
];

/// Whether people or groups are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PeopleKind {
    /// People.
    Users,
    /// Groups.
    Groups,
}

impl PeopleKind {
    fn kind(self) -> Kind {
        match self {
            PeopleKind::Users => Kind::Person,
            PeopleKind::Groups => Kind::Group,
        }
    }
}

/// Asks whether people can be pushed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LookAtPeople {
    /// The authority.
    pub authority: String,
}

/// They can.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PeopleOf {
    /// The authority.
    pub authority: String,
}

/// Asks for people or groups.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListPeople {
    /// The authority.
    pub authority: String,
    /// Whether people or groups.
    pub of: PeopleKind,
    /// Who is looked for, as RFC 7644 writes it: conditions with `eq`, joined by `and`.
    #[serde(default)]
    pub filter: Option<String>,
    /// The first one, from 1.
    #[serde(default)]
    pub start_index: Option<i64>,
    /// How many at most; a page has a bound of its own.
    #[serde(default)]
    pub count: Option<i64>,
    /// The attributes that are wanted, with commas between them; all when left out.
    #[serde(default)]
    pub attributes: Option<String>,
    /// Those that are not.
    #[serde(default)]
    pub excluded_attributes: Option<String>,
}

/// A page of people or groups.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PeopleList {
    /// How many there are.
    pub total: i64,
    /// The place of the first one here, from 1.
    pub start_index: i64,
    /// They, as RFC 7643 shows them.
    pub resources: Vec<Value>,
}

/// Asks for one person or group.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowPerson {
    /// The authority.
    pub authority: String,
    /// Whether a person or a group.
    pub of: PeopleKind,
    /// What the program calls it.
    pub id: String,
    /// The attributes that are wanted, with commas between them; all when left out.
    #[serde(default)]
    pub attributes: Option<String>,
    /// Those that are not.
    #[serde(default)]
    pub excluded_attributes: Option<String>,
}

/// Asks for a new person or group.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreatePerson {
    /// The authority.
    pub authority: String,
    /// Whether a person or a group.
    pub of: PeopleKind,
    /// As RFC 7643 writes it.
    pub resource: Value,
}

/// Asks for another state of a person or group.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplacePerson {
    /// The authority.
    pub authority: String,
    /// Whether a person or a group.
    pub of: PeopleKind,
    /// What the program calls it.
    pub id: String,
    /// As RFC 7643 writes it.
    pub resource: Value,
    /// The version that whoever asks has seen; nothing is done where it is another one by now.
    #[serde(default)]
    pub if_match: Option<String>,
}

/// Asks for a change of a part of a person or group.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangePerson {
    /// The authority.
    pub authority: String,
    /// Whether a person or a group.
    pub of: PeopleKind,
    /// What the program calls it.
    pub id: String,
    /// As RFC 7644 writes it: `Operations`, each with `op`, `path` and `value`.
    pub patch: Value,
    /// As in a replacement.
    #[serde(default)]
    pub if_match: Option<String>,
}

/// Asks for the end of a person or group.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeletePerson {
    /// The authority.
    pub authority: String,
    /// Whether a person or a group.
    pub of: PeopleKind,
    /// What the program calls it.
    pub id: String,
    /// As in a replacement.
    #[serde(default)]
    pub if_match: Option<String>,
}

/// A person or a group.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PushedResource {
    /// As RFC 7643 shows it. What was changed in part is shown without its members.
    pub resource: Value,
    /// What tells it from what it was before, and will be.
    pub version: String,
}

/// Somebody who is gone.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DeletedPerson {
    /// What the program called them.
    pub id: String,
}

/// Whom a request is about, for the record of changes: the authority, the kind, and the id or the name.
pub(crate) fn about(request: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let named = [&request["id"], &request["resource"]["userName"], &request["resource"]["displayName"]];
    let whom = named.into_iter().find(|value| value.is_string()).map(text).unwrap_or_default();
    format!("{}/{}/{whom}", text(&request["authority"]), text(&request["of"]))
}
