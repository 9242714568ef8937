//! What an authority over Active Directory is told.

use std::path::PathBuf;

use garde::Validate;
use ingather_contract::settings;
use ingather_model::fault::Fault;
use ingather_model::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::person::Called;
use crate::asking::is_one_name;
use crate::reached::{self, Tls, absolute};
use crate::wire::servers::{Login, Server};

/// Ports of a global catalogue.
const CATALOGUE: [u16; 2] = [3268, 3269];

/// Which domain, by which controllers, who asks them, and how people are named.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// Addresses of controllers of one domain, such as `ldaps://dc1.example.org`. The first that can be reached is asked.
    #[garde(length(min = 1, max = limits::LDAP_SERVERS_MAX), inner(length(bytes, min = 1, max = limits::LDAP_TEXT_BYTES_MAX)))]
    #[schemars(extend("x-of-the-machine" = true))]
    url: Vec<String>,
    /// How controllers at `ldap://` are reached: `start` goes on with TLS (StartTLS), `none` without, which is for this machine itself
    /// alone. When left out: `start`, and for controllers of this machine (`localhost`, `127.0.0.1`) `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(skip)]
    tls: Option<Tls>,
    /// A file in PEM of the roots that certificates of controllers are checked by, in place of those of the system. They are always
    /// checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(inner(custom(absolute)))]
    #[schemars(extend("x-of-the-machine" = true))]
    ca_file: Option<PathBuf>,
    /// Who asks: a user principal name such as `ingather@example.org`, or a distinguished name. It needs the right to read groups of
    /// people (`tokenGroups`).
    #[garde(length(bytes, min = 1, max = limits::LDAP_TEXT_BYTES_MAX))]
    bind_dn: String,
    /// Its password.
    #[schemars(extend("writeOnly" = true))]
    #[garde(length(bytes, min = 1, max = limits::LDAP_TEXT_BYTES_MAX))]
    bind_password: String,
    /// The entry below which people are: the domain, such as `DC=example,DC=org`, or a unit inside, such as `OU=people,DC=example,DC=org`.
    #[garde(length(bytes, min = 1, max = limits::LDAP_TEXT_BYTES_MAX))]
    base: String,
    /// What people are named by: `account_name` (`sAMAccountName`, such as `ann`), `principal_name` (`userPrincipalName`, such as
    /// `ann@example.org`). Where both are read, a name with an `@` is a principal name.
    #[serde(default = "both")]
    #[garde(length(min = 1, max = 2))]
    names: Vec<Named>,
    /// The short name of the domain, such as `EXAMPLE`: `EXAMPLE\ann` is then the account name `ann`. When left out, nobody is known by a
    /// name with a `\`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(bytes, min = 1, max = limits::LDAP_NAME_BYTES_MAX))]
    domain: Option<String>,
}

/// What people are named by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Named {
    /// `sAMAccountName`.
    AccountName,
    /// `userPrincipalName`.
    PrincipalName,
}

impl Named {
    fn attribute(self) -> &'static str {
        match self {
            Named::AccountName => "sAMAccountName",
            Named::PrincipalName => "userPrincipalName",
        }
    }
}

fn both() -> Vec<Named> {
    vec![Named::AccountName, Named::PrincipalName]
}

/// What settings mean.
pub(super) struct Meant {
    pub(super) servers: Vec<Server>,
    pub(super) ca_file: Option<PathBuf>,
    pub(super) login: Login,
    pub(super) base: String,
    /// The entry of the domain that `base` is in.
    pub(super) root: String,
    names: Vec<Named>,
    domain: Option<String>,
}

/// Reads settings.
pub(super) fn read(value: &Value) -> Result<Meant, Fault> {
    settings::read::<Settings>(value)?.meant().map_err(|told| Fault::refused("settings", told))
}

impl Settings {
    fn meant(self) -> Result<Meant, String> {
        let servers = reached::servers(&self.url, self.tls)?;
        reached::keeps_the_password(&servers, true)?;
        if let Some(server) = servers.iter().find(|server| CATALOGUE.contains(&server.port)) {
            return Err(format!(
                "`url` has {server}: a global catalogue does not know all groups; use port 636 of a controller"
            ));
        }
        let root = domain_of(&self.base)
            .ok_or("`base` must end with the domain, such as DC=example,DC=org".to_owned())?
            .to_owned();
        if self.domain.as_ref().is_some_and(|domain| domain.contains(['\\', '@'])) {
            return Err("`domain` must be the short name alone, such as EXAMPLE".to_owned());
        }
        Ok(Meant {
            servers,
            ca_file: self.ca_file,
            login: Login { dn: self.bind_dn, password: self.bind_password },
            base: self.base,
            root,
            names: self.names,
            domain: self.domain,
        })
    }
}

/// The entry of the domain that an entry is in: the components of its name from the first behind which all are `DC=…`.
fn domain_of(dn: &str) -> Option<&str> {
    let (mut root, mut before) = (None, dn);
    loop {
        let begin = before.rfind(',').map_or(0, |comma| comma + 1);
        let component = before[begin..].trim();
        // A comma behind a backslash is part of a value.
        let is_value = before[..begin].ends_with("\\,");
        if is_value || !component.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("DC=")) {
            return root;
        }
        root = Some(dn[begin..].trim());
        if begin == 0 {
            return root;
        }
        before = &dn[..begin - 1];
    }
}

impl Meant {
    /// The attribute that a name is looked for in, and its value; none where nobody can be named so.
    pub(super) fn asked_as<'n>(&self, name: &'n str) -> Option<Called<'n>> {
        let reads = |named: Named| self.names.contains(&named).then(|| named.attribute());
        if let Some((domain, account)) = name.split_once('\\') {
            // Account names have no `\`, and no white space around them.
            let ours = self.domain.as_ref().is_some_and(|ours| is_one_name(ours, domain));
            let fits = ours && !account.is_empty() && account.trim() == account && !account.contains('\\');
            let attribute = fits.then(|| reads(Named::AccountName)).flatten()?;
            return Some(Called { attribute, value: account });
        }
        let first = if name.contains('@') { Named::PrincipalName } else { Named::AccountName };
        // With one kind alone, a name is of that kind, whatever is in it.
        let attribute = reads(first).or_else(|| self.names.first().map(|named| named.attribute()))?;
        Some(Called { attribute, value: name })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_with(change: &Value) -> Result<Meant, String> {
        let mut settings = json!({
            "url": ["ldaps://dc1.example.org"], "bind_dn": "i@example.org", "bind_password": "p", "base": "DC=example,DC=org",
        });
        for (name, value) in change.as_object().unwrap() {
            settings[name] = value.clone();
        }
        read(&settings).map_err(|fault| fault.reason().message)
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        assert!(read_with(&json!({})).is_ok());
        for (wrong, words) in [
            (json!({"url": []}), "url"),
            (json!({"url": ["dc1"]}), "`url[0]` must be such as"),
            (json!({"url": ["ldap://dc1"], "tls": "none"}), "`tls` cannot be `none`"),
            (json!({"url": ["ldaps://dc1", "ldaps://dc2:3269"]}), "global catalogue"),
            (json!({"bind_password": ""}), "bind_password"),
            (json!({"bind_dn": null}), "bind_dn"),
            (json!({"base": "OU=people"}), "`base` must end with the domain"),
            (json!({"names": []}), "names"),
            (json!({"names": ["mail"]}), "names"),
            (json!({"domain": "EXAMPLE\\"}), "short name alone"),
            (json!({"ca_file": "ca.pem"}), "ca_file"),
            (json!({"groups": {}}), "no setting"),
        ] {
            let told = read_with(&wrong).err().unwrap_or_default();
            assert!(told.contains(words), "{wrong}: {told}");
        }
    }

    #[test]
    fn a_base_is_in_the_domain_that_its_name_ends_with() {
        let is = |dn: &str, root: Option<&str>| assert_eq!(domain_of(dn), root, "{dn}");
        is("DC=t,DC=test", Some("DC=t,DC=test"));
        is("OU=a b,dc=t, dc=test", Some("dc=t, dc=test"));
        is("CN=a\\,DC=x,DC=t,DC=test", Some("DC=t,DC=test"));
        is("DC=x,OU=y,DC=t", Some("DC=t"));
        is("CN=é,DC=t", Some("DC=t"));
        for none in ["", ",", "OU=x", "DC=t,OU=x", "<GUID=x>", "é"] {
            is(none, None);
        }
    }

    #[test]
    fn a_name_is_an_account_name_or_a_principal_name_or_nobodys() {
        let of = |change: Value, name: &'static str| {
            read_with(&change).unwrap().asked_as(name).map(|called| (called.attribute, called.value))
        };
        let (account, principal) = ("sAMAccountName", "userPrincipalName");
        assert_eq!(of(json!({}), "ann"), Some((account, "ann")));
        assert_eq!(of(json!({}), "ann@t.test"), Some((principal, "ann@t.test")));
        assert_eq!(of(json!({"names": ["account_name"]}), "ann@t.test"), Some((account, "ann@t.test")));
        assert_eq!(of(json!({"names": ["principal_name"]}), "ann"), Some((principal, "ann")));
        assert_eq!(of(json!({}), "T\\ann"), None);
        let short = || json!({"domain": "T"});
        assert_eq!(of(short(), "t\\ann"), Some((account, "ann")));
        assert_eq!(of(short(), "ann"), Some((account, "ann")));
        for nobody in ["X\\ann", "\u{ff34}\\ann", "\\ann", "T\\", "T\\ ann", "T\\T\\ann", "ann\\T", "\\"] {
            assert_eq!(of(short(), nobody), None, "{nobody}");
        }
        let principal_alone = json!({"domain": "T", "names": ["principal_name"]});
        assert_eq!(of(principal_alone, "T\\ann"), None);
    }
}
