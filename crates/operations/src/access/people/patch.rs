//! Changes of a part of a person or a group (RFC 7644, 3.5.2), also as Entra ID and Okta write them.

use std::collections::BTreeSet;

use ingather_model::limits;
use ingather_store::people::Kind;
use serde_json::{Map, Value};

use super::filter::field;
use super::path::Path;
use super::resource::{self, MEMBERS};
use crate::problem::{Code, Problem, Result};

/// What becomes of the members of a group, by ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MemberChange {
    pub(super) cleared: bool,
    pub(super) removed: BTreeSet<String>,
    pub(super) added: BTreeSet<String>,
}

impl MemberChange {
    /// These, and no others.
    pub(super) fn only(ids: Vec<String>) -> MemberChange {
        MemberChange { cleared: true, removed: BTreeSet::new(), added: ids.into_iter().collect() }
    }

    fn add(&mut self, id: String) {
        self.removed.remove(&id);
        self.added.insert(id);
    }

    fn remove(&mut self, id: String) {
        self.added.remove(&id);
        self.removed.insert(id);
    }

    /// Whether anything is said of members.
    pub(super) fn is_nothing(&self) -> bool {
        *self == MemberChange::default()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Add,
    Replace,
    Remove,
}

/// Attributes that nobody sends: the program makes them.
const MADE: [&str; 3] = ["id", "meta", "groups"];
/// Attributes that say nothing, or are never kept.
const PASSED_OVER: [&str; 2] = ["schemas", "password"];

/// Makes all changes of a request to what was sent before, and says what becomes of members.
///
/// # Errors
/// `WrongValue` and `WrongPath`; nothing of it counts then.
pub(super) fn apply(kind: Kind, fields: &mut Map<String, Value>, patch: &Value) -> Result<MemberChange> {
    let mut members = MemberChange::default();
    let operations = patch.as_object().and_then(|patch| field(patch, "Operations")).and_then(Value::as_array);
    let Some(operations) = operations.filter(|all| !all.is_empty()) else {
        return Err(value("a change has `Operations`, a list of them"));
    };
    if operations.len() > limits::PUSHED_OPERATIONS_MAX {
        let sentence = format!("a request has at most {} changes", limits::PUSHED_OPERATIONS_MAX);
        return Err(Problem::new(Code::TooLarge, sentence));
    }
    for operation in operations {
        let of = |name: &str| operation.as_object().and_then(|operation| field(operation, name));
        let word = of("op").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
        let verb = match word.as_str() {
            "add" => Verb::Add,
            "replace" => Verb::Replace,
            "remove" => Verb::Remove,
            _ => return Err(value("`op` is `add`, `replace` or `remove`")),
        };
        let given = of("value").cloned().unwrap_or(Value::Null);
        match of("path") {
            None | Some(Value::Null) => whole(kind, fields, (verb, given), &mut members)?,
            Some(Value::String(text)) if text.is_empty() => whole(kind, fields, (verb, given), &mut members)?,
            Some(Value::String(text)) => {
                let path = Path::read(text).map_err(path)?;
                if path.extension.is_none()
                    && MADE.iter().any(|made| made.eq_ignore_ascii_case(&path.attribute))
                {
                    return Err(self::path(format!("`{text}` is made by Ingather; nobody changes it")));
                }
                at(kind, fields, (verb, &path, given), &mut members)?;
            }
            Some(_) => return Err(self::path("`path` is a text".to_owned())),
        }
        // After each of them: what one adds the next one may multiply.
        resource::refuse_large(kind, fields)?;
    }
    Ok(members)
}

fn value(told: &str) -> Problem {
    Problem::new(Code::WrongValue, told)
}

fn path(told: String) -> Problem {
    Problem::new(Code::WrongPath, told)
}

/// A change without a path: each attribute of its value is one. Entra ID writes paths in place of names there.
fn whole(
    kind: Kind,
    fields: &mut Map<String, Value>,
    (verb, given): (Verb, Value),
    members: &mut MemberChange,
) -> Result<()> {
    let Value::Object(given) = given else {
        return Err(value("a change without `path` has an object for its value"));
    };
    if verb == Verb::Remove {
        return Err(path("what is to be removed is named by `path`".to_owned()));
    }
    resource::refuse_large(kind, &given)?;
    let mut named = BTreeSet::new();
    for (name, given) in given {
        if !named.insert(name.to_ascii_lowercase()) {
            return Err(value(&format!("`{name}` is given twice")));
        }
        let at_name = Path::read(&name).map_err(path)?;
        if MADE.iter().all(|made| !made.eq_ignore_ascii_case(&at_name.attribute))
            || at_name.extension.is_some()
        {
            at(kind, fields, (verb, &at_name, given), members)?;
        }
    }
    Ok(())
}

/// A change at a path.
fn at(
    kind: Kind,
    fields: &mut Map<String, Value>,
    (verb, at, given): (Verb, &Path, Value),
    members: &mut MemberChange,
) -> Result<()> {
    if PASSED_OVER.iter().any(|name| name.eq_ignore_ascii_case(&at.attribute)) {
        return Ok(());
    }
    if at.extension.is_none() && kind == Kind::Group && at.attribute.eq_ignore_ascii_case(MEMBERS) {
        return of_members((verb, at, &given), members);
    }
    resource::refuse_large_value(&given)?;
    // RFC 7643, 2.5: what is null has no value.
    let verb = if given.is_null() { Verb::Remove } else { verb };
    let fields = match &at.extension {
        None => fields,
        Some(schema) => match entry(fields, schema, verb == Verb::Remove) {
            None => return Ok(()),
            Some(slot) => object(slot)?,
        },
    };
    let name = resource::spelled(kind, &at.attribute);
    match (&at.filter, &at.sub) {
        (None, None) => match verb {
            Verb::Remove => drop_field(fields, name),
            _ => entry(fields, name, false).into_iter().for_each(|slot| put(slot, given.clone(), verb)),
        },
        (None, Some(sub)) => {
            let Some(slot) = entry(fields, name, verb == Verb::Remove) else { return Ok(()) };
            match slot {
                Value::Array(all) => all.iter_mut().try_for_each(|one| part(one, sub, verb, &given))?,
                one => part(one, sub, verb, &given)?,
            }
        }
        (Some(filter), sub) => {
            let Some(slot) = entry(fields, name, verb == Verb::Remove) else { return Ok(()) };
            if slot.is_null() {
                *slot = Value::Array(Vec::new());
            }
            let Value::Array(all) = slot else {
                return Err(path(format!("`{name}` has one value, none of which can be chosen")));
            };
            if verb == Verb::Remove && sub.is_none() {
                all.retain(|one| !filter.fits(one));
                return Ok(());
            }
            // A provider sets the address for work of somebody who has none so.
            if verb != Verb::Remove && !all.iter().any(|one| filter.fits(one)) {
                all.push(filter.example());
            }
            for one in all.iter_mut().filter(|one| filter.fits(one)) {
                match sub {
                    Some(sub) => part(one, sub, verb, &given)?,
                    None => put(one, given.clone(), Verb::Add),
                }
            }
        }
    }
    Ok(())
}

/// Changes a part of a value.
fn part(of: &mut Value, name: &str, verb: Verb, given: &Value) -> Result<()> {
    if PASSED_OVER[1].eq_ignore_ascii_case(name) {
        return Ok(());
    }
    let fields = object(of)?;
    match verb {
        Verb::Remove => drop_field(fields, name),
        _ => entry(fields, name, false).into_iter().for_each(|slot| put(slot, given.clone(), verb)),
    }
    Ok(())
}

/// The fields of a value; of one that is not there yet, none.
fn object(slot: &mut Value) -> Result<&mut Map<String, Value>> {
    if slot.is_null() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut().ok_or_else(|| path("a value without parts has none to change".to_owned()))
}

/// A field, however its letters are written; made where it is not there, unless it `must_be` there.
fn entry<'a>(fields: &'a mut Map<String, Value>, name: &str, must_be: bool) -> Option<&'a mut Value> {
    let known = fields.keys().find(|known| known.eq_ignore_ascii_case(name)).cloned();
    match known {
        Some(known) => fields.get_mut(&known),
        None if must_be => None,
        None => Some(fields.entry(name).or_insert(Value::Null)),
    }
}

fn drop_field(fields: &mut Map<String, Value>, name: &str) {
    fields.retain(|known, _| !known.eq_ignore_ascii_case(name));
}

/// Puts a value where one may be: several come together, parts that are not named stay.
fn put(slot: &mut Value, given: Value, verb: Verb) {
    match (slot, given) {
        (Value::Array(all), given) if verb == Verb::Add => {
            let given = match given {
                Value::Array(given) => given,
                one => vec![one],
            };
            for one in given {
                if !all.contains(&one) {
                    all.push(one);
                }
            }
        }
        (Value::Object(fields), Value::Object(given)) => {
            for (name, value) in given {
                if let Some(slot) = entry(fields, &name, false) {
                    put(slot, value, verb);
                }
            }
        }
        (slot, given) => *slot = given,
    }
}

/// A change of members.
fn of_members((verb, at, given): (Verb, &Path, &Value), members: &mut MemberChange) -> Result<()> {
    if at.sub.is_some() {
        return Err(path("of members, none has parts that can be changed".to_owned()));
    }
    if let Some(filter) = &at.filter {
        let [condition] = filter.0.as_slice() else {
            return Err(path("a member is chosen by `members[value eq \"…\"]`".to_owned()));
        };
        return match (verb, &condition.value) {
            (Verb::Remove, Value::String(id)) if condition.attribute.eq_ignore_ascii_case("value") => {
                members.remove(id.clone());
                Ok(())
            }
            _ => Err(path(
                "a member that is chosen by `members[value eq \"…\"]` can be removed, and nothing else"
                    .to_owned(),
            )),
        };
    }
    let ids = resource::member_ids(given)?;
    match verb {
        Verb::Remove if given.is_null() => {
            *members = MemberChange { cleared: true, ..MemberChange::default() }
        }
        Verb::Remove => ids.into_iter().for_each(|id| members.remove(id)),
        Verb::Add => ids.into_iter().for_each(|id| members.add(id)),
        Verb::Replace => *members = MemberChange::only(ids),
    }
    match members.added.len() + members.removed.len() > limits::PUSHED_MEMBERS_OF_A_REQUEST_MAX {
        true => Err(resource::too_many_members()),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests;
