//! What an authority over a provider is told.

use std::path::PathBuf;

use garde::Validate;
use ingather_contract::settings;
use ingather_model::fault::Fault;
use ingather_model::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ureq::http::Uri;

use super::claims::Path;
use super::http;
use crate::asking;
use crate::reached::absolute;

/// Whose tokens count, and what of them becomes a name and tokens of access.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// The issuer, letter by letter as the provider writes it into its tokens, such as `https://login.example.org/realms/staff`.
    #[garde(length(bytes, min = 1, max = limits::OIDC_TEXT_BYTES_MAX))]
    #[schemars(extend("x-of-the-machine" = true))]
    issuer: String,
    /// For whom tokens have to be made out (`aud`): one of these, such as the name of this service at the provider. Tokens for other services
    /// do not count here.
    #[garde(length(min = 1, max = limits::OIDC_AUDIENCES_MAX), inner(length(bytes, min = 1, max = limits::OIDC_TEXT_BYTES_MAX)))]
    audiences: Vec<String>,
    /// The programs that people may have logged in with (`azp`, or `client_id`): one of these. When left out, all that get tokens for
    /// `audiences`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(min = 1, max = limits::OIDC_AUDIENCES_MAX), inner(inner(length(bytes, min = 1, max = limits::OIDC_TEXT_BYTES_MAX))))]
    clients: Option<Vec<String>>,
    /// A file in PEM of the roots that the certificate of the provider is checked by, in place of those of the system. It is always checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(inner(custom(absolute)))]
    #[schemars(extend("x-of-the-machine" = true))]
    ca_file: Option<PathBuf>,
    /// The claim with a person's name: at many providers `sub` alone stays the same and is given to nobody else later.
    #[serde(default = "sub")]
    #[garde(length(bytes, min = 1, max = limits::OIDC_TEXT_BYTES_MAX))]
    name_claim: String,
    /// The claim with the names of a person's groups, a list or one text; dots lead into it, as in `realm_access.roles`, but not where there is
    /// a `:` as well, as in `https://example.org/groups`. Nobody has groups when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(bytes, min = 1, max = limits::OIDC_TEXT_BYTES_MAX))]
    groups_claim: Option<String>,
    /// Whether groups are asked for at the provider (userinfo) with the person's token, instead of read from it.
    #[serde(default)]
    #[garde(skip)]
    user_info: bool,
    /// What the token of a person begins with, before their name.
    #[serde(default = "asking::user_prefix")]
    #[garde(length(bytes, max = limits::LDAP_NAME_BYTES_MAX))]
    user_prefix: String,
    /// What tokens of groups begin with; may be empty.
    #[serde(default = "asking::group_prefix")]
    #[garde(length(bytes, max = limits::LDAP_NAME_BYTES_MAX))]
    group_prefix: String,
    /// Groups of one person. Who has more is kept from whatever denies anybody.
    #[serde(default = "most")]
    #[garde(range(min = 1, max = limits::TOKENS_OF_A_USER_MAX - 1))]
    max_groups: usize,
    /// By how many seconds the clock of the provider may differ.
    #[serde(default = "leeway")]
    #[garde(range(max = limits::OIDC_LEEWAY_S_MAX))]
    leeway_s: u32,
    /// How long keys of the provider count before it is asked for them again, milliseconds: a key that it withdraws counts no longer than that.
    #[serde(default = "keys_ms")]
    #[garde(range(min = limits::OIDC_KEYS_MS_MIN, max = limits::OIDC_KEYS_MS_MAX))]
    keys_ms: u32,
    /// How long they count while the provider cannot be asked, milliseconds; not less than `keys_ms`.
    #[serde(default = "keys_away_ms")]
    #[garde(range(min = limits::OIDC_KEYS_MS_MIN, max = limits::OIDC_KEYS_MS_MAX))]
    keys_away_ms: u32,
}

fn sub() -> String {
    "sub".to_owned()
}

fn most() -> usize {
    limits::OIDC_GROUPS
}

fn leeway() -> u32 {
    limits::OIDC_LEEWAY_S
}

fn keys_ms() -> u32 {
    limits::OIDC_KEYS_MS
}

fn keys_away_ms() -> u32 {
    limits::OIDC_KEYS_AWAY_MS
}

/// What settings mean.
pub(super) struct Meant {
    pub(super) issuer: String,
    pub(super) discovery: Uri,
    pub(super) audiences: Vec<String>,
    pub(super) clients: Option<Vec<String>>,
    pub(super) ca_file: Option<PathBuf>,
    pub(super) name: Path,
    pub(super) groups: Option<Path>,
    pub(super) user_info: bool,
    pub(super) user_prefix: String,
    pub(super) group_prefix: String,
    pub(super) max_groups: usize,
    pub(super) leeway_s: u32,
    pub(super) keys_ms: i64,
    pub(super) keys_away_ms: i64,
}

/// Reads settings.
pub(super) fn read(value: &Value) -> Result<Meant, Fault> {
    settings::read::<Settings>(value)?.meant().map_err(|told| Fault::refused("settings", told))
}

impl Settings {
    fn meant(self) -> Result<Meant, String> {
        let wrong = "`issuer` must be such as https://login.example.org/realms/staff; without TLS it is a provider on this machine alone, \
            such as http://127.0.0.1:8080";
        let at = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let is_plain =
            !self.issuer.contains(['?', '#', '@']) && self.issuer.chars().all(|c| c.is_ascii_graphic());
        let discovery = http::address(&at).filter(|_| is_plain).ok_or(wrong)?;
        if self.user_info && self.groups_claim.is_none() {
            return Err(
                "`user_info` asks for groups; `groups_claim` says which claim of the answer has them"
                    .to_owned(),
            );
        }
        if self.groups_claim.is_some() && self.user_prefix == self.group_prefix {
            let told =
                "`user_prefix` and `group_prefix` must differ: else a person could have the name of a group";
            return Err(told.to_owned());
        }
        if self.keys_away_ms < self.keys_ms {
            return Err("`keys_away_ms` must not be less than `keys_ms`".to_owned());
        }
        let path = |setting: &str, text: &str| {
            Path::read(text).ok_or_else(|| {
                format!("`{setting}` must be the name of a claim, such as groups or realm_access.roles")
            })
        };
        Ok(Meant {
            discovery,
            name: path("name_claim", &self.name_claim)?,
            groups: self.groups_claim.as_deref().map(|text| path("groups_claim", text)).transpose()?,
            issuer: self.issuer,
            audiences: self.audiences,
            clients: self.clients,
            ca_file: self.ca_file,
            user_info: self.user_info,
            user_prefix: self.user_prefix,
            group_prefix: self.group_prefix,
            max_groups: self.max_groups,
            leeway_s: self.leeway_s,
            keys_ms: self.keys_ms.into(),
            keys_away_ms: self.keys_away_ms.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(change: &Value) -> Option<String> {
        let mut settings = json!({"issuer": "https://login.example.org", "audiences": ["search"]});
        for (name, value) in change.as_object().unwrap() {
            settings[name] = value.clone();
        }
        read(&settings).err().map(|fault| fault.reason().message)
    }

    #[test]
    fn issuers_are_addresses_and_without_tls_of_this_machine_alone() {
        for fits in [
            "https://a",
            "https://a/",
            "https://a:8443/realms/x",
            "http://127.0.0.1:80/x",
            "http://localhost",
            "http://[::1]:7",
        ] {
            assert_eq!(told(&json!({"issuer": fits})), None, "{fits}");
        }
        for wrong in [
            "a",
            "ftp://a",
            "https://",
            "http://a",
            "http://10.0.0.1",
            "https://u@a",
            "https://a?b",
            "https://a#b",
            "https://a b",
            "",
        ] {
            assert!(told(&json!({"issuer": wrong})).is_some_and(|told| told.contains("issuer")), "{wrong}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        assert_eq!(told(&json!({"clients": ["a"], "groups_claim": "realm_access.roles"})), None);
        for (wrong, words) in [
            (json!({"audiences": []}), "audiences"),
            (json!({"audiences": [""]}), "audiences"),
            (json!({"audiences": null}), "audiences"),
            (json!({"clients": []}), "clients"),
            (json!({"ca_file": "ca.pem"}), "ca_file"),
            (json!({"name_claim": ""}), "name_claim"),
            (json!({"name_claim": "a..b"}), "name_claim"),
            (json!({"groups_claim": "."}), "groups_claim"),
            (json!({"user_info": true}), "`groups_claim` says which"),
            (json!({"groups_claim": "g", "user_prefix": "", "group_prefix": ""}), "must differ"),
            (json!({"leeway_s": 301}), "leeway_s"),
            (json!({"keys_ms": limits::OIDC_KEYS_MS_MIN - 1}), "keys_ms"),
            (json!({"keys_ms": 20_000, "keys_away_ms": 19_999}), "must not be less"),
            (json!({"max_groups": 0}), "max_groups"),
            (json!({"client_secret": "x"}), "no setting"),
        ] {
            let told = told(&wrong).unwrap_or_default();
            assert!(told.contains(words), "{wrong}: {told}");
        }
    }
}
