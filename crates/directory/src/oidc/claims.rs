//! What a token, or an answer of the provider about a person, says: their name, and their groups.

use ingather_contract::authority::Answer;
use ingather_model::access::Tokens;
use ingather_model::limits;
use serde_json::{Map, Value};

use super::settings::Meant;
use crate::asking::{can_be_a_name, of_one_kind};

/// What is said of a person, by name of the claim.
pub(super) type Claims = Map<String, Value>;

/// The way to a claim: a name, or names inside each other.
pub(super) struct Path(Vec<String>);

impl Path {
    /// Reads a way; none for what leads nowhere. A name with a `:` is that of a namespace, and its dots belong to it.
    pub(super) fn read(text: &str) -> Option<Path> {
        let names: Vec<String> = match text.contains(':') {
            true => vec![text.to_owned()],
            false => text.split('.').map(str::to_owned).collect(),
        };
        let fits = names.len() <= limits::OIDC_PATH_MAX && names.iter().all(|name| !name.is_empty());
        fits.then_some(Path(names))
    }

    fn of<'c>(&self, claims: &'c Claims) -> Option<&'c Value> {
        let (first, inside) = self.0.split_first()?;
        inside.iter().try_fold(claims.get(first)?, |value, name| value.get(name))
    }

    fn first(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }
}

/// The name of whose claims these are.
pub(super) fn name(meant: &Meant, claims: &Claims) -> Result<String, String> {
    let of = meant.name.0.join(".");
    let name = match meant.name.of(claims) {
        Some(Value::String(name)) if is_a_name(name) => name.clone(),
        Some(Value::String(_)) => {
            return Err(format!("the token has a claim `{of}`, which nobody can be called by"));
        }
        Some(_) => return Err(format!("the token has a claim `{of}` that is no text, and so names nobody")),
        None => {
            return Err(format!(
                "the token has no claim `{of}`, and so names nobody; let the provider put it in"
            ));
        }
    };
    // Whoever may type an address that nobody has checked would choose whose documents they find.
    let unproven = meant.name.first() == "email"
        && claims.get("email_verified").is_some_and(|said| *said != Value::Bool(true));
    match unproven {
        true => Err("the provider has not verified the address that is to name whose token it is".to_owned()),
        false => Ok(name),
    }
}

/// Whether somebody can be called so. A name goes into logs, and to authorities that compare names as people read them: what cannot be seen is
/// none.
fn is_a_name(name: &str) -> bool {
    let unseen = |c: char| {
        c.is_whitespace() && c != ' '
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    can_be_a_name(name) && !name.contains(unseen)
}

/// The tokens of somebody of this name by claims about them. Of whom it is not known which groups they are in, the answer is not whole: they hold
/// what is known, and pass no list that denies a group which they may be in (decision 0042).
pub(super) fn answer(meant: &Meant, name: &str, claims: &Claims) -> Answer {
    let (user, group) = (meant.user_prefix.as_str(), meant.group_prefix.as_str());
    let mut whole = true;
    let mut tokens = Vec::new();
    let mut add = |prefix: &str, others: &str, name: &str| match of_one_kind(prefix, others, name) {
        // What cannot be seen would make another token of one that people know.
        Some(token) if !name.contains(char::is_control) => tokens.push(token),
        _ => whole = false,
    };
    add(user, group, name);
    if let Some(path) = &meant.groups {
        let (groups, all) = groups(path, claims);
        groups.iter().take(meant.max_groups).for_each(|name| add(group, user, name));
        whole &= all && groups.len() <= meant.max_groups;
    }
    let tokens: Tokens = tokens.into_iter().collect();
    Answer::Known(if whole { tokens } else { tokens.not_whole() })
}

/// The groups that claims name, and whether these are all. A claim that is not there says nothing: providers leave it out where nobody asked for
/// its scope, and where the groups are too many for a token.
fn groups<'c>(path: &Path, claims: &'c Claims) -> (Vec<&'c str>, bool) {
    let text = |value: &'c Value| value.as_str().filter(|name| !name.is_empty());
    match path.of(claims) {
        Some(Value::Array(all)) => {
            let groups: Vec<&str> = all.iter().filter_map(text).collect();
            let every = groups.len() == all.len() && !are_elsewhere(path, claims);
            (groups, every)
        }
        Some(one) => {
            let groups: Vec<&str> = text(one).into_iter().collect();
            let every = !groups.is_empty() && !are_elsewhere(path, claims);
            (groups, every)
        }
        None => (Vec::new(), false),
    }
}

/// Whether the provider says that these groups, or more of them, are to be asked for elsewhere (OpenID Connect Core, 5.6.2; Entra ID beyond 200
/// groups).
fn are_elsewhere(path: &Path, claims: &Claims) -> bool {
    // What is no object may name it as well.
    let named = claims
        .get("_claim_names")
        .is_some_and(|names| !names.is_object() || names.get(path.first()).is_some());
    let is_no = |has: &Value| has.as_bool() == Some(false) || has.as_str() == Some("false");
    let has = claims.get("hasgroups").is_some_and(|has| !is_no(has));
    named || has
}
