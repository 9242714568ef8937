//! What a request of SCIM asks for: an operation and its request.

use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use ingather_operations::access::people::{self, PeopleKind};
use ingather_operations::operation::Callable;
use ingather_operations::problem::{Code, Problem, Result};
use serde_json::{Value, json};

use super::KIND;
use crate::request;

/// What stands in place of an id where a search comes in a body (RFC 7644, 3.4.3).
const SEARCH: &str = ".search";
/// Words of a query, and the fields of a request that they are; the first two are for one person as well.
const FIELDS: [(&str, &str); 5] = [
    ("attributes", "attributes"),
    ("excludedAttributes", "excluded_attributes"),
    ("filter", "filter"),
    ("startIndex", "start_index"),
    ("count", "count"),
];

/// What is asked of which authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) authority: String,
    pub(super) what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// What this service can.
    Config,
    ResourceTypes(Option<String>),
    Schemas(Option<String>),
    List(PeopleKind),
    /// The same by a body, for whoever keeps filters out of addresses.
    Search(PeopleKind),
    Create(PeopleKind),
    Show(PeopleKind, String),
    Replace(PeopleKind, String),
    Change(PeopleKind, String),
    Delete(PeopleKind, String),
}

impl Asked {
    /// By a verb, and what stands in the path behind the authority.
    ///
    /// # Errors
    /// `NoSuchPath`, `WrongVerb`.
    pub(super) fn of(verb: &Method, authority: String, rest: &str) -> Result<Asked> {
        let mut parts = rest.split('/');
        let (first, id, more) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
        let none = || {
            Problem::new(
                Code::NoSuchPath,
                "there is nothing at this path; `Users` and `Groups` are, and `ServiceProviderConfig`",
            )
        };
        if more.is_some() || id == Some("") {
            return Err(none());
        }
        let of = match first {
            "Users" => Some(PeopleKind::Users),
            "Groups" => Some(PeopleKind::Groups),
            _ => None,
        };
        let id = id.map(str::to_owned);
        let what = match (first, of, id) {
            (_, Some(of), None) => match *verb {
                Method::GET => Some(What::List(of)),
                Method::POST => Some(What::Create(of)),
                _ => None,
            },
            (_, Some(of), Some(id)) if id == SEARCH => (*verb == Method::POST).then_some(What::Search(of)),
            (_, Some(of), Some(id)) => match *verb {
                Method::GET => Some(What::Show(of, id)),
                Method::PUT => Some(What::Replace(of, id)),
                Method::PATCH => Some(What::Change(of, id)),
                Method::DELETE => Some(What::Delete(of, id)),
                _ => None,
            },
            ("ServiceProviderConfig", None, None) => Some(What::Config),
            ("ResourceTypes", None, id) => Some(What::ResourceTypes(id)),
            ("Schemas", None, id) => Some(What::Schemas(id)),
            _ => return Err(none()),
        };
        let reads_alone = of.is_none() && *verb != Method::GET;
        let what = what.filter(|_| !reads_alone).ok_or_else(|| {
            Problem::new(Code::WrongVerb, format!("what is at this path is not asked for by {verb}"))
        })?;
        Ok(Asked { authority, what })
    }

    pub(super) fn operation(&self) -> &'static dyn Callable {
        match self.what {
            What::Config | What::ResourceTypes(_) | What::Schemas(_) => &people::LOOK,
            What::List(_) | What::Search(_) => &people::LIST,
            What::Create(_) => &people::CREATE,
            What::Show(..) => &people::SHOW,
            What::Replace(..) => &people::REPLACE,
            What::Change(..) => &people::CHANGE,
            What::Delete(..) => &people::DELETE,
        }
    }

    /// The request of the operation.
    ///
    /// # Errors
    /// `WrongUse` for what cannot be read.
    pub(super) fn request(&self, head: &Parts, body: &[u8], if_match: Option<String>) -> Result<Value> {
        let authority = &self.authority;
        let sent = || request::json(&[KIND, "application/json"], &head.headers, body).map(Value::Object);
        let mut asked = match &self.what {
            What::Config | What::ResourceTypes(_) | What::Schemas(_) => json!({ "authority": authority }),
            What::List(of) => json!({ "authority": authority, "of": of }),
            What::Search(of) => searched(json!({ "authority": authority, "of": of }), sent()?),
            What::Create(of) => json!({ "authority": authority, "of": of, "resource": sent()? }),
            What::Show(of, id) => json!({ "authority": authority, "of": of, "id": id }),
            What::Replace(of, id) => {
                json!({ "authority": authority, "of": of, "id": id, "resource": sent()?, "if_match": if_match })
            }
            What::Change(of, id) => {
                json!({ "authority": authority, "of": of, "id": id, "patch": sent()?, "if_match": if_match })
            }
            What::Delete(of, id) => {
                json!({ "authority": authority, "of": of, "id": id, "if_match": if_match })
            }
        };
        let fields = match self.what {
            What::List(_) => &FIELDS[..],
            What::Show(..) => &FIELDS[..2],
            _ => &[],
        };
        for (name, text) in request::pairs(head.uri.query().unwrap_or_default())? {
            let Some((_, field)) = fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name)) else {
                continue;
            };
            asked[field] = match *field {
                "start_index" | "count" => text
                    .parse::<i64>()
                    .map(Value::from)
                    .map_err(|_| Problem::usage(format!("`{name}` is a number")))?,
                _ => text.into(),
            };
        }
        request::refuse_nul(asked)
    }
}

/// A search that a body asks for.
fn searched(mut asked: Value, sent: Value) -> Value {
    for (word, field) in FIELDS {
        asked[field] = match &sent[word] {
            // Names of attributes are a list there.
            Value::Array(names) => {
                names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",").into()
            }
            value => value.clone(),
        };
    }
    asked
}

/// Takes out of a head which version whoever asks has seen.
///
/// # Errors
/// `WrongUse` where it says two.
pub(super) fn if_match(headers: &mut HeaderMap) -> Result<Option<String>> {
    request::refuse_twice(headers, &[header::IF_MATCH])?;
    let Some(wanted) = headers.remove(header::IF_MATCH) else { return Ok(None) };
    let wanted = wanted.to_str().map_err(|_| Problem::usage("If-Match is a version in quotes"))?;
    Ok(Some(wanted.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verb_and_a_path_are_one_operation_or_none() {
        let told = |verb: Method, rest: &str| {
            let asked = Asked::of(&verb, "acme".to_owned(), rest);
            asked.map(|asked| asked.operation().name).map_err(|problem| problem.code)
        };
        for (verb, rest, expected) in [
            (Method::GET, "Users", Ok("people.list")),
            (Method::POST, "Groups", Ok("people.create")),
            (Method::GET, "Users/7", Ok("people.show")),
            (Method::PUT, "Users/7", Ok("people.replace")),
            (Method::PATCH, "Groups/7", Ok("people.change")),
            (Method::DELETE, "Groups/7", Ok("people.delete")),
            (Method::GET, "ServiceProviderConfig", Ok("people.look")),
            (Method::GET, "Schemas/urn:x", Ok("people.look")),
            (Method::GET, "ResourceTypes", Ok("people.look")),
            (Method::POST, "Users/.search", Ok("people.list")),
            (Method::DELETE, "Users/.search", Err(Code::WrongVerb)),
            (Method::DELETE, "Users", Err(Code::WrongVerb)),
            (Method::POST, "Users/7", Err(Code::WrongVerb)),
            (Method::POST, "Schemas", Err(Code::WrongVerb)),
            (Method::HEAD, "Users", Err(Code::WrongVerb)),
            (Method::GET, "users", Err(Code::NoSuchPath)),
            (Method::GET, "Users/", Err(Code::NoSuchPath)),
            (Method::GET, "Users/7/x", Err(Code::NoSuchPath)),
            (Method::GET, "ServiceProviderConfig/x", Err(Code::NoSuchPath)),
            (Method::POST, "Bulk", Err(Code::NoSuchPath)),
        ] {
            assert_eq!(told(verb.clone(), rest), expected, "{verb} {rest}");
        }
    }
}
