//! The authority `active-directory`: people of a domain, and the security identifiers that Windows would give them.
//!
//! A person is found by one search (`person.rs`), and the controller works out the groups: `tokenGroups` of the account, read at the
//! account itself. The tokens are SIDs as text, as access lists of Windows name them. An answer is whole or it is a fault (decision 0044).

mod person;
mod settings;
mod sid;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use ingather_contract::authority::{Account, Answer, Authority, AuthorityKind, Pushed};
use ingather_contract::call::CallContext;
use ingather_contract::settings as contract_settings;
use ingather_model::access::authority::WITHIN_MS;
use ingather_model::fault::Fault;

use self::person::Called;
use self::settings::{Meant, Settings};
use crate::asking::{PROBE, after, at, can_be_a_name};
use crate::pool::Pool;
use crate::wire::connection::Connection;
use crate::wire::failure::{Failure, NO_SUCH_OBJECT};
use crate::wire::filter::everything;
use crate::wire::servers::Servers;

/// The `active-directory` authority.
pub const AUTHORITY: AuthorityKind = AuthorityKind {
    name: "active-directory",
    about: "People of a domain of Active Directory: their security identifiers, for documents with access lists of Windows.",
    schema: contract_settings::schema_of::<Settings>,
    kept: Duration::from_secs(60),
    open,
};

/// What controllers say of themselves: this is Active Directory (MS-ADTS, 3.1.1.3.4.3).
const CAPABILITY: &str = "1.2.840.113556.1.4.800";
/// An account that each domain has, and that nobody can rename.
const IN_EACH_DOMAIN: &str = "krbtgt";

fn open(value: &serde_json::Value, _: Option<Arc<dyn Pushed>>) -> Result<Arc<dyn Authority>, Fault> {
    let mut meant = settings::read(value)?;
    let servers = Servers {
        servers: std::mem::take(&mut meant.servers),
        ca_file: meant.ca_file.take(),
        login: Some(meant.login.clone()),
        resolving: Arc::default(),
    };
    Ok(Arc::new(Domain { meant, pool: Pool::new(servers) }))
}

struct Domain {
    meant: Meant,
    pool: Pool<Servers>,
}

impl Authority for Domain {
    fn check(&self, _call: &CallContext) -> Result<String, Fault> {
        let until = after(Duration::from_millis(WITHIN_MS.into()));
        self.pool.ask(until, |connection| self.checked(connection)).map_err(Failure::fault)
    }

    fn tokens(&self, call: &CallContext, account: &Account<'_>) -> Result<Answer, Fault> {
        if !can_be_a_name(account.name) {
            return Ok(Answer::Unknown);
        }
        let Some(called) = self.meant.asked_as(account.name) else { return Ok(Answer::Unknown) };
        let now = call.clock.now();
        let until = after(account.within);
        self.pool.ask(until, |connection| self.answer(connection, called, now)).map_err(Failure::fault)
    }
}

impl Domain {
    fn answer(&self, connection: &mut Connection, called: Called<'_>, now: i64) -> Result<Answer, Failure> {
        let Some(dn) = person::find(connection, &self.meant.base, called)? else {
            return Ok(Answer::Unknown);
        };
        let Some(account) = person::account(connection, &dn, called)? else { return Ok(Answer::Unknown) };
        if !person::may_enter(&account, now)? {
            return Ok(Answer::Unauthorized);
        }
        let held = person::sids(connection, &account, &self.meant.root)?;
        Ok(Answer::Known(held.into_iter().collect()))
    }

    /// Looks whether all can be asked that questions ask.
    fn checked(&self, connection: &mut Connection) -> Result<String, Failure> {
        self.is_of_this_domain(connection)?;
        let base = &self.meant.base;
        let missing = || Failure::Wrong(format!("the controller shows no entry `{base}`, which is `base`"));
        match connection.search(vec![at(base, everything(), Vec::new())]) {
            Ok(found) if found.iter().all(Vec::is_empty) => return Err(missing()),
            Err(Failure::Said { code: NO_SUCH_OBJECT, .. }) => return Err(missing()),
            other => drop(other?),
        }
        let account_name = |value| Called { attribute: "sAMAccountName", value };
        person::find(connection, base, account_name(PROBE))?;
        // Somebody who is always there shows whether groups may be read, unless they are hidden.
        let known = account_name(IN_EACH_DOMAIN);
        if let Some(dn) = person::find(connection, &self.meant.root, known)?
            && let Some(account) = person::account(connection, &dn, known)?
        {
            person::may_enter(&account, 0)?;
            person::sids(connection, &account, &self.meant.root)?;
        }
        Ok(format!("it answers {} about people below {base}", self.meant.login.dn))
    }

    /// Whether it is a controller of the domain that people are looked for in.
    fn is_of_this_domain(&self, connection: &mut Connection) -> Result<(), Failure> {
        let asked = ["supportedCapabilities", "defaultNamingContext"].map(str::to_owned).to_vec();
        let found = connection.search(vec![at("", everything(), asked)])?;
        let itself = found.iter().flatten().next();
        let values = |name: &str| itself.map(|entry| entry.texts(name).0).unwrap_or_default();
        if !values("supportedCapabilities").contains(&CAPABILITY) {
            let told = "what answers is no controller of Active Directory: use the authority `ldap` for other directories";
            return Err(Failure::Wrong(told.to_owned()));
        }
        let plain = |dn: &str| dn.to_lowercase().replace(' ', "");
        match values("defaultNamingContext").as_slice() {
            [one] if plain(one) == plain(&self.meant.root) => Ok(()),
            other => Err(Failure::Wrong(format!(
                "the controller is one of `{}`, and `base` is in `{}`: name controllers of that domain in `url`",
                other.join(", "),
                self.meant.root
            ))),
        }
    }
}
