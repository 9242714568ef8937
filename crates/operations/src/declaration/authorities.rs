//! Authorities as a declaration has them: who says which access tokens somebody holds, in which group these count, and how they are asked.

use ingather_contract::secrets as places_of_secrets;
use ingather_engine::authorities::check_asking;
use ingather_model::access::authority::{AT_ONCE, Asking, LetterCase, MappingRule, WITHIN_MS};
use ingather_model::access::identity::Group;
use ingather_model::limits;
use ingather_store::authorities::{self, Declared};
use ingather_store::connections::Role;
use ingather_store::{Reader, Sql, StoreError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::apply::ConnectionChange;
use super::declared_job::unknown_secret;
use crate::context::{Context, Places};
use crate::problem::{Code, Problem, Result};
use crate::secrets;

/// An authority as it can be asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeclaredAuthority {
    /// Kind of its connector.
    pub kind: String,
    /// Its settings, without secrets.
    #[serde(default = "super::none")]
    pub settings: Value,
    /// The authority group that its tokens count in, where that has a name: they open and close what repository connections of this group
    /// rule, and nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The authorisation domain whose names it understands, where that has a name; it is asked about no others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// How it spells a name: rules that follow each other. It is asked about nobody whom one of them does not fit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mapping: Vec<DeclaredRule>,
    /// How long an answer is waited for, milliseconds; 5000 when left out. A later one counts as a fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u32>,
    /// How many questions it is asked at the same time; 10 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<u32>,
    /// How long an answer about somebody whom it knows is kept, milliseconds; when left out as long as its kind says. That it does not know
    /// somebody is kept for five seconds at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_ms: Option<u32>,
}

/// One rule of a mapping of names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeclaredRule {
    /// A regular expression that has to fit the whole name, such as `ACME\\\\(.+)`.
    pub pattern: String,
    /// What becomes of it: `$1` and `${name}` stand for groups of the expression, such as `$1@acme.example`.
    pub name: String,
    /// `lower` or `upper`: letters of the new name; kept when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<CaseWord>,
}

/// Letters of a name that a mapping makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CaseWord {
    /// All are small.
    Lower,
    /// All are capitals.
    Upper,
}

impl DeclaredAuthority {
    /// As it is shown.
    pub(super) fn of(
        declared: &Declared,
        context: &ingather_contract::registry::Registry,
    ) -> DeclaredAuthority {
        let Declared { kind, settings, group, asking } = declared;
        let rule = |rule: &MappingRule| DeclaredRule {
            pattern: rule.pattern.clone(),
            name: rule.name.clone(),
            case: match rule.case {
                LetterCase::Kept => None,
                LetterCase::Lower => Some(CaseWord::Lower),
                LetterCase::Upper => Some(CaseWord::Upper),
            },
        };
        let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        DeclaredAuthority {
            kind: kind.clone(),
            settings: secrets::hidden(context, Role::Authority, kind, settings.clone()),
            group: named(group.name()),
            domain: named(&asking.domain),
            mapping: asking.mapping.iter().map(rule).collect(),
            within_ms: Some(asking.within_ms).filter(|value| *value != WITHIN_MS),
            at_once: Some(asking.at_once).filter(|value| *value != AT_ONCE),
            kept_ms: asking.kept_ms,
        }
    }

    fn asking(&self) -> Asking {
        let rule = |rule: &DeclaredRule| MappingRule {
            pattern: rule.pattern.clone(),
            name: rule.name.clone(),
            case: match rule.case {
                None => LetterCase::Kept,
                Some(CaseWord::Lower) => LetterCase::Lower,
                Some(CaseWord::Upper) => LetterCase::Upper,
            },
        };
        Asking {
            domain: self.domain.clone().unwrap_or_default(),
            mapping: self.mapping.iter().map(rule).collect(),
            within_ms: self.within_ms.unwrap_or(WITHIN_MS),
            at_once: self.at_once.unwrap_or(AT_ONCE),
            kept_ms: self.kept_ms,
        }
    }
}

/// An authority that is made, or is to be another one.
pub(super) struct AuthorityChange {
    name: String,
    before: Option<DeclaredAuthority>,
    after: DeclaredAuthority,
    declared: Declared,
}

impl AuthorityChange {
    pub(super) fn change(&self) -> ConnectionChange {
        let fields = |one: &DeclaredAuthority| match serde_json::to_value(one) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        let (before, after) = (self.before.as_ref().map(fields), fields(&self.after));
        let changes = match before {
            None => vec![format!("made: {}", self.after.kind)],
            Some(before) => {
                let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
                names.sort_unstable();
                names.dedup();
                let shown = |value: Option<&Value>| value.map_or("none".to_owned(), Value::to_string);
                let changed = |name: &&&String| before.get(**name) != after.get(**name);
                let line = |name: &String| {
                    format!("{name}: {} → {}", shown(before.get(name)), shown(after.get(name)))
                };
                let mut lines: Vec<String> = names.iter().filter(changed).map(|name| line(name)).collect();
                if lines.is_empty() {
                    lines.push("settings: another secret".to_owned());
                }
                lines
            }
        };
        ConnectionChange { connection: self.name.clone(), changes, unreached: None }
    }

    /// What it changes is part of the name of a plan.
    pub(super) fn put_into(&self, plan: &mut blake3::Hasher) {
        let text = json!([self.name, self.before, self.after]).to_string();
        plan.update(&(text.len() as u64).to_le_bytes());
        plan.update(text.as_bytes());
    }

    pub(super) fn store(&self, sql: &mut Sql<'_>, now: i64) -> std::result::Result<(), StoreError> {
        authorities::declare(sql, &self.name, &self.declared, now)
    }
}

/// Authorities of an inventory, by name.
pub(super) fn stored(reader: Option<&Reader>) -> Result<Vec<authorities::Authority>> {
    Ok(reader.map(|reader| reader.read(authorities::list)).transpose()?.unwrap_or_default())
}

/// The authorities that a declaration makes or changes.
///
/// # Errors
/// What cannot be meant, and what whoever asks may not name.
pub(super) fn authorities(
    context: &Context<'_>,
    places: Places<'_>,
    reader: Option<&Reader>,
    given: &std::collections::BTreeMap<String, DeclaredAuthority>,
) -> Result<Vec<AuthorityChange>> {
    let stored = stored(reader)?;
    let mut changes = Vec::new();
    for (name, after) in given {
        let known = stored.iter().find(|one| one.name == *name).map(|one| &one.declared);
        let refuse = |why: String| Problem::new(Code::Settings, format!("authority {name}: {why}"));
        let declared = declared(context, places, known, after).map_err(|problem| match problem {
            Refused::Asked(why) => refuse(why),
            Refused::Problem(problem) => problem.about(&format!("authority {name}")),
        })?;
        if known == Some(&declared) {
            continue;
        }
        let is_name = |c: char| c.is_alphanumeric() || "._-".contains(c);
        if name.is_empty() || name.len() > limits::API_KEY_NAME_MAX || !name.chars().all(is_name) {
            return Err(refuse(format!(
                "a name has 1 to {} letters, digits, `.`, `_` and `-`",
                limits::API_KEY_NAME_MAX
            )));
        }
        let before = known.map(|known| DeclaredAuthority::of(known, &context.registry));
        let after = DeclaredAuthority::of(&declared, &context.registry);
        changes.push(AuthorityChange { name: name.clone(), before, after, declared });
    }
    let made = changes.iter().filter(|change| change.before.is_none()).count();
    if stored.len() + made > limits::AUTHORITIES_MAX {
        let sentence = format!("there are at most {} authorities; remove some", limits::AUTHORITIES_MAX);
        return Err(Problem::new(Code::Settings, sentence));
    }
    Ok(changes)
}

enum Refused {
    Asked(String),
    Problem(Problem),
}

fn declared(
    context: &Context<'_>,
    places: Places<'_>,
    known: Option<&Declared>,
    given: &DeclaredAuthority,
) -> std::result::Result<Declared, Refused> {
    let asked = |why: String| Refused::Asked(why);
    let Some(kind) = context.registry.authority(&given.kind) else {
        let all: Vec<&str> = context.registry.authorities.iter().map(|kind| kind.name).collect();
        let sentence =
            format!("this program has no authority `{}`; there are {}", given.kind, all.join(", "));
        return Err(Refused::Problem(Problem::new(Code::NoSuchConnector, sentence)));
    };
    if let Some(known) = known.filter(|known| known.kind != given.kind) {
        return Err(asked(format!(
            "it is of the kind `{}`, which never changes; remove it first, or take another name",
            known.kind
        )));
    }
    let schema = (kind.schema)();
    let settings =
        places_of_secrets::restored(&schema, given.settings.clone(), known.map(|known| &known.settings))
            .map_err(|place| asked(unknown_secret(&format!("settings.{place}"))))?;
    // Before they are looked at, which tells of what there is.
    if let Places::Below(_) = places {
        let place = places_of_secrets::Place::of(&schema);
        let is_new = |(name, value): &(&String, &Value)| {
            place.field(name).is_of_the_machine()
                && known.and_then(|known| known.settings.get(name.as_str())) != Some(value)
        };
        if let Some((name, _)) = settings.as_object().into_iter().flatten().find(is_new) {
            let sentence = format!(
                "`settings.{name}` names something of the machine of the service or its network; only its owner sets it, over the socket of \
                 the service or without one"
            );
            return Err(Refused::Problem(Problem::new(Code::OutsideRoots, sentence)));
        }
    }
    let asking = given.asking();
    check_asking(&asking).map_err(asked)?;
    (kind.open)(&settings, None).map_err(|fault| asked(fault.reason().message))?;
    let group = Group::named(given.group.clone().unwrap_or_default());
    Ok(Declared { kind: given.kind.clone(), settings, group, asking })
}
