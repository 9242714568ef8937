//! What an authority over a directory is told.

use std::path::PathBuf;

use garde::Validate;
use ingather_contract::settings;
use ingather_model::fault::Fault;
use ingather_model::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::asking;
use crate::reached::{self, Tls, absolute};
use crate::wire::filter::{Filter, Place, description};
use crate::wire::servers::{Login, Server};

/// Where a directory is, who asks it, and what of it becomes a token.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// Addresses of the servers, such as `ldaps://ldap.example.org` or `ldap://10.0.0.7:1389`. The first that can be reached is asked.
    #[garde(length(min = 1, max = limits::LDAP_SERVERS_MAX), inner(length(bytes, min = 1, max = limits::LDAP_TEXT_BYTES_MAX)))]
    #[schemars(extend("x-of-the-machine" = true))]
    url: Vec<String>,
    /// How servers at `ldap://` are reached: `start` goes on with TLS (StartTLS), `none` without, which a password never does but to this
    /// machine itself. When left out: `start`, and for servers of this machine (`localhost`, `127.0.0.1`) `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(skip)]
    tls: Option<Tls>,
    /// A file in PEM of the roots that certificates of servers are checked by, in place of those of the system. They are always checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(inner(custom(absolute)))]
    #[schemars(extend("x-of-the-machine" = true))]
    pub(super) ca_file: Option<PathBuf>,
    /// Who asks, such as `cn=reader,dc=example,dc=org`: it needs to see all groups that documents are denied to. Nobody when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(bytes, min = 1, max = limits::LDAP_TEXT_BYTES_MAX))]
    bind_dn: Option<String>,
    /// Its password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("writeOnly" = true))]
    #[garde(length(bytes, min = 1, max = limits::LDAP_TEXT_BYTES_MAX))]
    bind_password: Option<String>,
    /// Where people are.
    #[garde(dive)]
    users: Users,
    /// How their groups are found. Nobody has groups when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(dive)]
    groups: Option<Groups>,
    /// The attribute whose values, behind `user_prefix`, are the tokens of a person, and `{name}` in the filter of groups; `dn` stands for
    /// their distinguished name.
    #[serde(default = "uid")]
    #[garde(custom(is_attribute))]
    user_attribute: String,
    /// The attribute whose values, behind `group_prefix`, are the tokens of a group; `dn` stands for its distinguished name.
    #[serde(default = "cn")]
    #[garde(custom(is_attribute))]
    group_attribute: String,
    /// What tokens of people begin with.
    #[serde(default = "asking::user_prefix")]
    #[garde(length(bytes, max = limits::LDAP_NAME_BYTES_MAX))]
    user_prefix: String,
    /// What tokens of groups begin with; may be empty.
    #[serde(default = "asking::group_prefix")]
    #[garde(length(bytes, max = limits::LDAP_NAME_BYTES_MAX))]
    group_prefix: String,
    /// A filter for people who may not enter, such as `(pwdAccountLockedTime=*)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(bytes, min = 1, max = limits::LDAP_TEXT_BYTES_MAX))]
    disabled: Option<String>,
}

/// Where people are.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
struct Users {
    /// The entry below which they are, such as `ou=people,dc=example,dc=org`.
    #[garde(length(bytes, min = 1, max = limits::LDAP_TEXT_BYTES_MAX))]
    base: String,
    /// The filter that finds one person by `{name}`. Where it finds two, neither is known. An attribute that it compares with the name has
    /// to have it as a value, letter by letter but for case, and whoever asks has to be able to read it.
    #[serde(default = "person")]
    #[garde(length(bytes, min = 1, max = limits::LDAP_TEXT_BYTES_MAX))]
    filter: String,
}

/// How groups are found: by searching below `base`, by an attribute that lists them, or by both.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
struct Groups {
    /// The entry below which they are searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(bytes, min = 1, max = limits::LDAP_TEXT_BYTES_MAX))]
    base: Option<String>,
    /// The filter that finds the groups of an entry by its `{dn}`, and those of a person by `{name}` (`user_attribute`) as well.
    #[serde(default = "member")]
    #[garde(length(bytes, min = 1, max = limits::LDAP_TEXT_BYTES_MAX))]
    filter: String,
    /// An attribute of people, and of groups, that lists the distinguished names of their groups, such as `memberOf`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(inner(custom(is_attribute)))]
    attribute: Option<String>,
    /// Whether groups of groups count.
    #[serde(default = "yes")]
    #[garde(skip)]
    nested: bool,
    /// Groups of one person. Who has more is kept from whatever denies anybody.
    #[serde(default = "most")]
    #[garde(range(min = 1, max = limits::TOKENS_OF_A_USER_MAX))]
    max: usize,
}

fn uid() -> String {
    "uid".to_owned()
}

fn cn() -> String {
    "cn".to_owned()
}

fn person() -> String {
    "(&(objectClass=person)(uid={name}))".to_owned()
}

fn member() -> String {
    "(|(member={dn})(uniqueMember={dn})(memberUid={name}))".to_owned()
}

fn yes() -> bool {
    true
}

fn most() -> usize {
    limits::LDAP_GROUPS
}

fn is_attribute(name: &str, _: &()) -> garde::Result {
    match name.len() <= limits::LDAP_NAME_BYTES_MAX && !name.contains(';') && description(name).is_ok() {
        true => Ok(()),
        false => Err(garde::Error::new("must be the name of an attribute, such as uid")),
    }
}

/// What settings mean.
pub(super) struct Meant {
    pub(super) servers: Vec<Server>,
    pub(super) ca_file: Option<PathBuf>,
    pub(super) login: Option<Login>,
    pub(super) users_base: String,
    pub(super) users_filter: Filter,
    pub(super) disabled: Option<Filter>,
    pub(super) user_attribute: String,
    pub(super) user_prefix: String,
    pub(super) group_attribute: String,
    pub(super) group_prefix: String,
    pub(super) groups: Option<MeantGroups>,
}

/// How groups are found.
pub(super) struct MeantGroups {
    /// A base and a filter.
    pub(super) search: Option<(String, Filter)>,
    pub(super) attribute: Option<String>,
    pub(super) nested: bool,
    pub(super) max: usize,
}

/// Reads settings.
pub(super) fn read(value: &Value) -> Result<Meant, Fault> {
    settings::read::<Settings>(value)?.meant().map_err(|told| Fault::refused("settings", told))
}

impl Settings {
    fn meant(self) -> Result<Meant, String> {
        let servers = reached::servers(&self.url, self.tls)?;
        let login = match (self.bind_dn, self.bind_password) {
            (None, None) => None,
            (Some(dn), Some(password)) => Some(Login { dn, password }),
            // Servers take a name without a password for nobody, and say that all went well (RFC 4513, 5.1.2).
            _ => return Err("`bind_dn` and `bind_password` belong together".to_owned()),
        };
        reached::keeps_the_password(&servers, login.is_some())?;
        let users_filter = filter("users.filter", &self.users.filter, &[Place::Name], "{name}")?;
        if users_filter.has(Place::Dn) {
            return Err("`users.filter` cannot have {dn}: nobody was found so far".to_owned());
        }
        if users_filter.called("").is_empty() {
            return Err("`users.filter` needs {name} in a whole value of an attribute, such as (uid={name}) or (mail={name}@example.org): by a part of a value nobody is known".to_owned());
        }
        let disabled = self.disabled.as_deref().map(|text| filter("disabled", text, &[], "")).transpose()?;
        let by_dn = self.user_attribute.eq_ignore_ascii_case("dn");
        let groups = self.groups.map(|groups| groups.meant(by_dn)).transpose()?;
        if groups.is_some() && self.user_prefix == self.group_prefix {
            let told =
                "`user_prefix` and `group_prefix` must differ: else a person could have the name of a group";
            return Err(told.to_owned());
        }
        Ok(Meant {
            servers,
            ca_file: self.ca_file,
            login,
            users_base: self.users.base,
            users_filter,
            disabled,
            user_attribute: self.user_attribute,
            user_prefix: self.user_prefix,
            group_attribute: self.group_attribute,
            group_prefix: self.group_prefix,
            groups,
        })
    }
}

impl Groups {
    fn meant(self, users_by_dn: bool) -> Result<MeantGroups, String> {
        let search = match self.base {
            Some(base) => {
                let filter =
                    filter("groups.filter", &self.filter, &[Place::Dn, Place::Name], "{dn} or {name}")?;
                if users_by_dn && filter.has(Place::Name) {
                    let told = "`groups.filter` has {name}, and `user_attribute` is no name but `dn`";
                    return Err(told.to_owned());
                }
                Some((base, filter))
            }
            None => None,
        };
        if search.is_none() && self.attribute.is_none() {
            return Err("`groups` needs a `base` to search below, an `attribute`, or both".to_owned());
        }
        Ok(MeantGroups { search, attribute: self.attribute, nested: self.nested, max: self.max })
    }
}

/// A filter that has one of these places.
fn filter(setting: &str, text: &str, places: &[Place], named: &str) -> Result<Filter, String> {
    let read = Filter::read(text).map_err(|told| format!("`{setting}` is no filter: it {told}"))?;
    match places.is_empty() || places.iter().any(|place| read.has(*place)) {
        true => Ok(read),
        false => Err(format!("`{setting}` needs {named}: else it finds the same for everybody")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(change: &Value) -> Option<String> {
        let mut settings = json!({"url": ["ldaps://ldap.example.org"], "users": {"base": "dc=x"}});
        for (name, value) in change.as_object().unwrap() {
            settings[name] = value.clone();
        }
        read(&settings).err().map(|fault| fault.reason().message)
    }

    #[test]
    fn passwords_cross_no_network_without_tls() {
        let login =
            json!({"url": ["ldaps://a", "ldap://b"], "tls": "none", "bind_dn": "cn=x", "bind_password": "p"});
        assert!(told(&login).unwrap().contains("`tls` cannot be `none`"));
        let here =
            json!({"url": ["ldap://127.0.0.1"], "tls": "none", "bind_dn": "cn=x", "bind_password": "p"});
        assert_eq!(told(&here), None);
        assert_eq!(told(&json!({"url": ["ldap://b"], "tls": "none"})), None, "nobody logs in");
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        assert_eq!(told(&json!({})), None);
        for (wrong, words) in [
            (json!({"url": []}), "url"),
            (json!({"url": "ldap://a"}), "`url` must be a list"),
            (json!({"tls": "off"}), "`tls` must be one of start, none"),
            (json!({"ca_file": "ca.pem"}), "ca_file"),
            (json!({"bind_dn": "cn=x"}), "belong together"),
            (json!({"bind_dn": "cn=x", "bind_password": ""}), "bind_password"),
            (json!({"users": {}}), "base"),
            (json!({"users": {"base": "x", "filter": "(uid=ann)"}}), "needs {name}"),
            (json!({"users": {"base": "x", "filter": "(uid={name}"}}), "lacks a `)`"),
            (json!({"users": {"base": "x", "filter": "(|(uid={name})(member={dn}))"}}), "{dn}"),
            (json!({"users": {"base": "x", "filter": "(uid={name}*)"}}), "by a part of a value"),
            (json!({"users": {"base": "x", "filter": "(:caseExactMatch:={name})"}}), "by a part of a value"),
            (json!({"groups": {}}), "`groups` needs"),
            (json!({"groups": {"base": "x", "filter": "(cn=x)"}}), "needs {dn} or {name}"),
            (json!({"groups": {"base": "x"}, "user_attribute": "dn"}), "no name but `dn`"),
            (json!({"groups": {"base": "x", "max": 0}}), "groups.max must be at least 1"),
            (json!({"groups": {"base": "x"}, "user_prefix": "", "group_prefix": ""}), "must differ"),
            (json!({"user_attribute": "u id"}), "user_attribute"),
            (json!({"disabled": "x"}), "`disabled` is no filter"),
            (json!({"no_tls_verify": true}), "no setting"),
        ] {
            let told = told(&wrong).unwrap_or_default();
            assert!(told.contains(words), "{wrong}: {told}");
        }
    }
}
