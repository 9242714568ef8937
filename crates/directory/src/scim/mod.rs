//! The authority `scim`: people and groups that an identity provider pushes (RFC 7643, RFC 7644), and their tokens (decision 0048).
//!
//! The program keeps who was pushed, and takes requests of the provider; here is what of it is a token. Nothing is kept, for nobody elsewhere is
//! asked: what was pushed counts with the next question.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use garde::Validate;
use ingather_contract::authority::{
    Account, Answer, Authority, AuthorityKind, Pushed, PushedNames, PushedPerson,
};
use ingather_contract::call::CallContext;
use ingather_contract::settings as contract_settings;
use ingather_model::access::Tokens;
use ingather_model::fault::Fault;
use ingather_model::limits;
use ingather_model::run_counts::counted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::asking::{can_be_a_name, group_prefix, of_one_kind, user_prefix};

/// The `scim` authority.
pub const AUTHORITY: AuthorityKind = AuthorityKind {
    name: "scim",
    about: "People and groups that an identity provider pushes (SCIM).",
    schema: contract_settings::schema_of::<Settings>,
    kept: Duration::ZERO,
    open,
};

/// What becomes of people and groups that are pushed.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// What the token of a person begins with.
    #[serde(default = "user_prefix")]
    #[garde(length(bytes, max = limits::LDAP_NAME_BYTES_MAX))]
    user_prefix: String,
    /// What follows it: `user_name`, the name as it was pushed; `external_id`, what the provider calls them; or `id`, what Ingather calls them.
    #[serde(default)]
    #[garde(skip)]
    user_token: UserToken,
    /// What the token of a group begins with; may be empty.
    #[serde(default = "group_prefix")]
    #[garde(length(bytes, max = limits::LDAP_NAME_BYTES_MAX))]
    group_prefix: String,
    /// What follows it: `display_name`, the name as it was pushed, which several groups may have; `external_id`, what the provider calls it; or
    /// `id`, what Ingather calls it.
    #[serde(default)]
    #[garde(skip)]
    group_token: GroupToken,
    /// Groups of one person, those that hold their groups included. Who has more is kept from whatever denies anybody.
    #[serde(default = "most")]
    #[garde(range(min = 1, max = limits::TOKENS_OF_A_USER_MAX - 1))]
    max: usize,
}

/// What makes the token of a person.
#[derive(Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum UserToken {
    /// The name.
    #[default]
    UserName,
    /// What the provider calls them.
    ExternalId,
    /// What Ingather calls them.
    Id,
}

/// What makes the token of a group.
#[derive(Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum GroupToken {
    /// The name.
    #[default]
    DisplayName,
    /// What the provider calls it.
    ExternalId,
    /// What Ingather calls it.
    Id,
}

fn most() -> usize {
    limits::LDAP_GROUPS
}

fn open(value: &serde_json::Value, pushed: Option<Arc<dyn Pushed>>) -> Result<Arc<dyn Authority>, Fault> {
    let settings = contract_settings::read::<Settings>(value)?;
    if settings.user_prefix == settings.group_prefix {
        let told =
            "`user_prefix` and `group_prefix` must differ: else a person could have the name of a group";
        return Err(Fault::refused("settings", told));
    }
    Ok(Arc::new(Provisioned { settings, pushed }))
}

struct Provisioned {
    settings: Settings,
    pushed: Option<Arc<dyn Pushed>>,
}

impl Authority for Provisioned {
    fn check(&self, _call: &CallContext) -> Result<String, Fault> {
        let (people, groups) = self.pushed()?.count()?;
        Ok(format!("{} and {} were pushed", counted(people, "user"), counted(groups, "group")))
    }

    fn tokens(&self, _call: &CallContext, account: &Account<'_>) -> Result<Answer, Fault> {
        if !can_be_a_name(account.name) {
            return Ok(Answer::Unknown);
        }
        Ok(match self.pushed()?.person(account.name, self.settings.max)? {
            None => Answer::Unknown,
            Some(person) if !person.active => Answer::Unauthorized,
            Some(person) => Answer::Known(self.settings.tokens(&person)),
        })
    }
}

impl Provisioned {
    fn pushed(&self) -> Result<&dyn Pushed, Fault> {
        let none = || Fault::broken("declared", "nothing can be pushed into it before it is declared");
        self.pushed.as_deref().ok_or_else(none)
    }
}

impl Settings {
    fn tokens(&self, person: &PushedPerson) -> Tokens {
        let own = match self.user_token {
            UserToken::UserName => Some(person.called.name.as_str()),
            UserToken::ExternalId => person.called.external_id.as_deref(),
            UserToken::Id => Some(person.called.id.as_str()),
        };
        let of_group = |group: &'_ PushedNames| match self.group_token {
            GroupToken::DisplayName => Some(group.name.clone()),
            GroupToken::ExternalId => group.external_id.clone(),
            GroupToken::Id => Some(group.id.clone()),
        };
        let token = |prefix: &str, others: &str, name: Option<&str>| {
            let name = name.filter(|name| !name.is_empty() && !name.chars().any(char::is_control))?;
            of_one_kind(prefix, others, name)
        };
        let mut held = vec![token(&self.user_prefix, &self.group_prefix, own)];
        for group in &person.groups {
            held.push(token(&self.group_prefix, &self.user_prefix, of_group(group).as_deref()));
        }
        // What makes no token may be one that denies.
        let whole = person.whole && held.iter().all(Option::is_some);
        let tokens: Tokens = held.into_iter().flatten().collect();
        if whole { tokens } else { tokens.not_whole() }
    }
}
