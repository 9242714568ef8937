//! People and groups as RFC 7643 writes them: what is read of what was sent, and how what is kept is shown.

use ingather_model::limits;
use ingather_store::people::{Kind, Member, Pushed};
use serde_json::{Map, Value, json};

use super::SCIM;
use super::filter::field;
use crate::in_words;
use crate::problem::{Code, Problem, Result};

/// The attribute of a group that is kept apart.
pub(super) const MEMBERS: &str = "members";
const USER: &str = "urn:ietf:params:scim:schemas:core:2.0:User";
const GROUP: &str = "urn:ietf:params:scim:schemas:core:2.0:Group";
/// Attributes of people and of groups that are read, as the RFC spells them.
const OF_USERS: [&str; 3] = ["userName", "externalId", "active"];
const OF_GROUPS: [&str; 3] = ["displayName", "externalId", MEMBERS];
/// Attributes that are made here, or say nothing.
const NOT_KEPT: [&str; 4] = ["id", "meta", "schemas", "groups"];

/// What was sent of a person or a group.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Content {
    pub(super) name: String,
    pub(super) external_id: Option<String>,
    /// Whether a person may enter; none where nothing was said of it.
    pub(super) active: Option<bool>,
    pub(super) body: String,
    /// Members of a group, by their ids; none where nothing was said of them.
    pub(super) members: Option<Vec<String>>,
}

fn wrong(told: impl Into<String>) -> Problem {
    Problem::new(Code::WrongValue, told)
}

/// A name of the core schemas without the schema in front of it.
pub(super) fn without_core(text: &str) -> Option<&str> {
    [USER, GROUP].iter().find_map(|schema| {
        let begin = text.get(..schema.len()).filter(|begin| begin.eq_ignore_ascii_case(schema))?;
        text[begin.len()..].strip_prefix(':')
    })
}

/// An attribute as it is spelled here.
pub(super) fn spelled(kind: Kind, name: &str) -> &str {
    let known = if kind == Kind::Person { &OF_USERS } else { &OF_GROUPS };
    known.iter().find(|known| known.eq_ignore_ascii_case(name)).copied().unwrap_or(name)
}

/// Yes or no, also as a word: Entra ID sends words.
pub(super) fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(word) if word.eq_ignore_ascii_case("true") => Some(true),
        Value::String(word) if word.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

impl Content {
    /// Reads it.
    ///
    /// # Errors
    /// `WrongValue`, or `TooLarge`.
    pub(super) fn read(kind: Kind, sent: &Value) -> Result<Content> {
        let Some(sent) = sent.as_object() else { return Err(wrong("a person or a group is an object")) };
        Content::of(kind, sent.clone())
    }

    /// The same of fields, each of which has one spelling.
    pub(super) fn of(kind: Kind, sent: Map<String, Value>) -> Result<Content> {
        refuse_large(kind, &sent)?;
        let mut fields = Map::new();
        for (name, value) in sent {
            if [USER, GROUP].iter().any(|core| core.eq_ignore_ascii_case(&name)) {
                return Err(wrong(format!("attributes of `{name}` stand by themselves, and not below it")));
            }
            let name = spelled(kind, without_core(&name).unwrap_or(&name)).to_owned();
            if NOT_KEPT.iter().any(|other| other.eq_ignore_ascii_case(&name)) {
                continue;
            }
            if field(&fields, &name).is_some() {
                return Err(wrong(format!("`{name}` is given twice")));
            }
            if let Some(value) = kept(&name, value) {
                fields.insert(name, value);
            }
        }
        let of_name = if kind == Kind::Person { OF_USERS[0] } else { OF_GROUPS[0] };
        let name = match fields.remove(of_name) {
            Some(Value::String(name)) if is_a_name(&name) => name,
            Some(_) => {
                return Err(wrong(format!(
                    "`{of_name}` is a text of at most {} bytes, without white space around it and without control characters",
                    limits::PUSHED_NAME_BYTES_MAX
                )));
            }
            None => return Err(wrong(format!("`{of_name}` is missing"))),
        };
        let external_id = match fields.remove("externalId") {
            None => None,
            Some(Value::String(text)) if text.is_empty() => None,
            Some(Value::String(text)) if is_a_name(&text) => Some(text),
            Some(_) => return Err(wrong("`externalId` is a short text without control characters")),
        };
        let active = match (kind, fields.remove("active")) {
            (Kind::Group, _) | (Kind::Person, None) => None,
            (Kind::Person, Some(value)) => {
                Some(flag(&value).ok_or_else(|| wrong("`active` is true or false"))?)
            }
        };
        let members = match (kind, fields.remove(MEMBERS)) {
            (Kind::Group, Some(members)) => Some(member_ids(&members)?),
            (_, _) => None,
        };
        let body = Value::Object(fields).to_string();
        if body.len() > limits::PUSHED_BODY_BYTES_MAX {
            let most = limits::PUSHED_BODY_BYTES_MAX;
            return Err(Problem::new(
                Code::TooLarge,
                format!("attributes have at most {most} bytes; send less"),
            ));
        }
        Ok(Content { name, external_id, active, body, members })
    }

    /// All that was sent before, for whoever changes a part of it.
    pub(super) fn fields(kind: Kind, known: &Pushed) -> Result<Map<String, Value>> {
        let mut fields = body(known)?;
        match kind {
            Kind::Person => {
                fields.insert(OF_USERS[0].to_owned(), known.name.clone().into());
                fields.insert("active".to_owned(), known.active.into());
            }
            Kind::Group => _ = fields.insert(OF_GROUPS[0].to_owned(), known.name.clone().into()),
        }
        if let Some(external) = &known.external_id {
            fields.insert("externalId".to_owned(), external.clone().into());
        }
        Ok(fields)
    }
}

/// Refuses more values than anybody sends, before they are compared with each other or come into each other.
///
/// # Errors
/// `TooLarge`.
pub(super) fn refuse_large(kind: Kind, fields: &Map<String, Value>) -> Result<()> {
    let is_members =
        |name: &str| kind == Kind::Group && without_core(name).unwrap_or(name).eq_ignore_ascii_case(MEMBERS);
    let mut left = Room::new();
    let mut others = fields.iter().filter(|(name, _)| !is_members(name));
    if others.all(|(name, value)| left.takes(name.len(), value, 1)) { Ok(()) } else { Err(too_large()) }
}

/// The same of one value.
///
/// # Errors
/// `TooLarge`.
pub(super) fn refuse_large_value(value: &Value) -> Result<()> {
    if Room::new().takes(0, value, 1) { Ok(()) } else { Err(too_large()) }
}

fn too_large() -> Problem {
    let (values, bytes, depth) =
        (limits::PUSHED_VALUES_MAX, limits::PUSHED_BODY_BYTES_MAX, limits::PUSHED_DEPTH_MAX);
    let sentence = format!(
        "attributes have at most {values} values and {bytes} bytes, at most {depth} inside of each other; send less"
    );
    Problem::new(Code::TooLarge, sentence)
}

/// What there is room for.
struct Room {
    values: usize,
    bytes: usize,
}

impl Room {
    fn new() -> Room {
        Room { values: limits::PUSHED_VALUES_MAX, bytes: limits::PUSHED_BODY_BYTES_MAX }
    }

    /// Whether there is room for a value whose name has so many bytes, which is then taken.
    fn takes(&mut self, name: usize, value: &Value, depth: usize) -> bool {
        let own = if let Value::String(text) = value { text.len() } else { 0 };
        let (Some(values), Some(bytes)) =
            (self.values.checked_sub(1), self.bytes.checked_sub(name.saturating_add(own)))
        else {
            return false;
        };
        (self.values, self.bytes) = (values, bytes);
        match value {
            Value::Array(_) | Value::Object(_) if depth >= limits::PUSHED_DEPTH_MAX => false,
            Value::Array(all) => all.iter().all(|one| self.takes(0, one, depth + 1)),
            Value::Object(fields) => fields.iter().all(|(name, one)| self.takes(name.len(), one, depth + 1)),
            _ => true,
        }
    }
}

/// A value as it is kept: without passwords at any depth, and words for yes and no as such; none where there is none (RFC 7643, 2.5).
fn kept(name: &str, value: Value) -> Option<Value> {
    // Also as a path, as Entra ID writes names.
    let last = name.rsplit([':', '.']).next().unwrap_or(name);
    if last.eq_ignore_ascii_case("password") {
        return None;
    }
    match value {
        Value::Null => None,
        Value::Array(all) => {
            let all: Vec<Value> = all.into_iter().filter_map(|one| kept("", one)).collect();
            // Members that are none are said so.
            (!all.is_empty() || name == MEMBERS).then_some(Value::Array(all))
        }
        Value::Object(fields) => {
            let fields: Map<String, Value> = fields
                .into_iter()
                .filter_map(|(name, value)| Some((name.clone(), kept(&name, value)?)))
                .collect();
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
        value if name.eq_ignore_ascii_case("primary") => Some(flag(&value).map_or(value, Value::Bool)),
        value => Some(value),
    }
}

/// Whether anybody can be called so: as directories ask for nobody else, nobody else can be found.
fn is_a_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= limits::PUSHED_NAME_BYTES_MAX
        && text.trim() == text
        && !text.chars().any(char::is_control)
}

/// Ids of members: objects with `value`, one or several of them.
pub(super) fn member_ids(given: &Value) -> Result<Vec<String>> {
    let all = match given {
        Value::Null => &[],
        Value::Array(all) => all.as_slice(),
        one => std::slice::from_ref(one),
    };
    if all.len() > limits::PUSHED_MEMBERS_OF_A_REQUEST_MAX {
        return Err(too_many_members());
    }
    let id = |one: &Value| match one {
        Value::String(id) => Some(id.clone()),
        Value::Object(fields) => field(fields, "value")?.as_str().map(str::to_owned),
        _ => None,
    };
    let id = |one: &Value| id(one).filter(|id| is_a_name(id));
    all.iter().map(|one| id(one).ok_or_else(|| wrong("a member is an object with `value`, its id"))).collect()
}

pub(super) fn too_many_members() -> Problem {
    let sentence = format!(
        "a request names at most {} members, and a group has at most {}; send less at once",
        limits::PUSHED_MEMBERS_OF_A_REQUEST_MAX,
        limits::PUSHED_MEMBERS_MAX
    );
    Problem::new(Code::TooLarge, sentence)
}

fn body(known: &Pushed) -> Result<Map<String, Value>> {
    serde_json::from_str(&known.body)
        .map_err(|error| Problem::new(Code::Store, format!("a stored person cannot be read: {error}")))
}

/// What tells a state from others.
pub(super) fn version(known: &Pushed) -> String {
    format!("W/\"{}\"", known.revision)
}

/// Which attributes are wanted.
pub(super) struct Wanted {
    only: Option<Vec<String>>,
    without: Vec<String>,
}

impl Wanted {
    pub(super) fn of(attributes: Option<&str>, excluded: Option<&str>) -> Wanted {
        let names = |text: &str| -> Vec<String> {
            let name = |name: &str| {
                let name = without_core(name.trim()).unwrap_or(name.trim());
                // Of the parts of a value, all come with it; the names of schemas have dots of their own.
                let end = if name.contains(':') { name.len() } else { name.find('.').unwrap_or(name.len()) };
                name[..end].to_ascii_lowercase()
            };
            text.split(',').map(name).filter(|name| !name.is_empty()).collect()
        };
        Wanted { only: attributes.map(names), without: excluded.map(names).unwrap_or_default() }
    }

    pub(super) fn has(&self, attribute: &str) -> bool {
        let name = attribute.to_ascii_lowercase();
        // What of an extension is wanted brings all of it.
        let is = |wanted: &String| {
            *wanted == name || wanted.strip_prefix(&name).is_some_and(|rest| rest.starts_with(':'))
        };
        let always = ["id", "schemas"].contains(&attribute);
        always || (self.only.as_ref().is_none_or(|only| only.iter().any(is)) && !self.without.contains(&name))
    }
}

/// Somebody as they are shown; `members` where they are wanted of a group.
pub(super) fn shown(
    authority: &str,
    kind: Kind,
    known: &Pushed,
    members: Option<&[Member]>,
    wanted: &Wanted,
) -> Result<Value> {
    let mut fields = Content::fields(kind, known)?;
    let (schema, of, word) = match kind {
        Kind::Person => (USER, "Users", "User"),
        Kind::Group => (GROUP, "Groups", "Group"),
    };
    let extensions = fields.keys().filter(|name| name.contains(':')).cloned();
    let schemas: Vec<String> = std::iter::once(schema.to_owned()).chain(extensions).collect();
    if let Some(members) = members {
        let member = |member: &Member| {
            let (of, word) = if member.is_group { ("Groups", "Group") } else { ("Users", "User") };
            json!({"value": member.id, "type": word, "$ref": location(authority, of, &member.id)})
        };
        fields.insert(MEMBERS.to_owned(), members.iter().map(member).collect());
    }
    let meta = json!({
        "resourceType": word,
        "created": in_words::instant(known.created_at),
        "lastModified": in_words::instant(known.changed_at),
        "location": location(authority, of, &known.id),
        "version": version(known),
    });
    fields.insert("schemas".to_owned(), schemas.into());
    fields.insert("id".to_owned(), known.id.clone().into());
    fields.insert("meta".to_owned(), meta);
    fields.retain(|name, _| wanted.has(name));
    Ok(Value::Object(fields))
}

/// Where somebody is found: a path, for nobody here knows by which name of the service whoever asks has reached it.
fn location(authority: &str, of: &str, id: &str) -> String {
    let encoded: String = authority
        .bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' => char::from(byte).to_string(),
            other => format!("%{other:02X}"),
        })
        .collect();
    format!("{SCIM}/{encoded}/{of}/{id}")
}
