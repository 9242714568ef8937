//! The authority `ldap`: people and groups of a directory.
//!
//! A person is found by one search, and their groups by searches from the person on, level by level (`groups.rs`). The tokens are the
//! person's names behind one prefix, and the names of their groups behind another one. An answer is whole only where the directory said
//! of each search that all went well; whatever else it says is a fault, and never a shorter list (decision 0043).

mod groups;
mod settings;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use ingather_contract::authority::{Account, Answer, Authority, AuthorityKind, Pushed};
use ingather_contract::call::CallContext;
use ingather_contract::settings as contract_settings;
use ingather_model::access::Tokens;
use ingather_model::access::authority::WITHIN_MS;
use ingather_model::fault::Fault;

use self::settings::{Meant, Settings};
use crate::asking::{PROBE, after, asked_for, at, can_be_a_name, is_one_name, of_one_kind};
use crate::pool::Pool;
use crate::wire::connection::Connection;
use crate::wire::failure::{Failure, NO_SUCH_OBJECT, SIZE_LIMIT};
use crate::wire::filter::{Values, everything};
use crate::wire::message::{Entry, Scope, Search};
use crate::wire::servers::Servers;

/// The `ldap` authority.
pub const AUTHORITY: AuthorityKind = AuthorityKind {
    name: "ldap",
    about: "People and groups of a directory that speaks LDAP, such as OpenLDAP or 389 Directory Server.",
    schema: contract_settings::schema_of::<Settings>,
    kept: Duration::from_secs(60),
    open,
};

fn open(value: &serde_json::Value, _: Option<Arc<dyn Pushed>>) -> Result<Arc<dyn Authority>, Fault> {
    let mut meant = settings::read(value)?;
    let servers = Servers {
        servers: std::mem::take(&mut meant.servers),
        ca_file: meant.ca_file.take(),
        login: meant.login.take(),
        resolving: Arc::default(),
    };
    Ok(Arc::new(Directory { meant, pool: Pool::new(servers) }))
}

struct Directory {
    meant: Meant,
    pool: Pool<Servers>,
}

impl Authority for Directory {
    fn check(&self, _call: &CallContext) -> Result<String, Fault> {
        let until = after(Duration::from_millis(WITHIN_MS.into()));
        self.pool.ask(until, |connection| self.checked(connection)).map_err(Failure::fault)
    }

    fn tokens(&self, _call: &CallContext, account: &Account<'_>) -> Result<Answer, Fault> {
        if !can_be_a_name(account.name) {
            return Ok(Answer::Unknown);
        }
        let until = after(account.within);
        self.pool.ask(until, |connection| self.answer(connection, account.name)).map_err(Failure::fault)
    }
}

impl Directory {
    fn answer(&self, connection: &mut Connection, name: &str) -> Result<Answer, Failure> {
        let Some(person) = self.person(connection, name)? else { return Ok(Answer::Unknown) };
        if self.is_shut_out(connection, &person, name)? {
            return Ok(Answer::Unauthorized);
        }
        let mut held = Held { meant: &self.meant, tokens: Vec::new(), whole: true };
        let (names, all) = person.texts(&self.meant.user_attribute);
        held.person(&names, all);
        if let Some(groups) = &self.meant.groups {
            groups::collect(groups, connection, &person, &names, &mut held)?;
        }
        let tokens: Tokens = held.tokens.into_iter().collect();
        Ok(Answer::Known(if held.whole { tokens } else { tokens.not_whole() }))
    }

    /// The one entry of somebody who is called so.
    fn person(&self, connection: &mut Connection, name: &str) -> Result<Option<Entry>, Failure> {
        let values = Values { name: Some(name), dn: None };
        let Some(filter) = self.meant.users_filter.with(values) else { return Ok(None) };
        let of_groups = self.meant.groups.as_ref().and_then(|groups| groups.attribute.clone());
        let called = self.meant.users_filter.called(name);
        let compared = called.iter().map(|(attribute, _)| Some((*attribute).to_owned()));
        let search = Search {
            base: self.meant.users_base.clone(),
            scope: Scope::Below,
            filter,
            attributes: asked_for(
                [Some(self.meant.user_attribute.clone()), of_groups].into_iter().chain(compared),
            ),
            page: None,
            // The second one tells that neither can be meant.
            most: Some(2),
            own_domain: false,
        };
        let several = "the filter of people finds more than one entry for this name: nobody is known by it";
        match connection.search(vec![search]) {
            Ok(found) => {
                let mut found = found.into_iter().flatten();
                match (found.next(), found.next()) {
                    (_, Some(_)) => Err(Failure::Wrong(several.to_owned())),
                    (Some(one), None) if is_called(&one, &called)? => Ok(Some(one)),
                    (_, None) => Ok(None),
                }
            }
            Err(Failure::Said { code: SIZE_LIMIT, .. }) => Err(Failure::Wrong(several.to_owned())),
            Err(failure) => Err(failure),
        }
    }

    /// Whether somebody who was found may not enter.
    fn is_shut_out(&self, connection: &mut Connection, person: &Entry, name: &str) -> Result<bool, Failure> {
        let Some(disabled) = &self.meant.disabled else { return Ok(false) };
        let values = Values { name: Some(name), dn: Some(&person.dn) };
        let Some(filter) = disabled.with(values) else { return Ok(false) };
        let found = connection.search(vec![at(&person.dn, filter, Vec::new())])?;
        Ok(found.iter().any(|entries| !entries.is_empty()))
    }

    /// Looks whether all can be asked that questions ask.
    fn checked(&self, connection: &mut Connection) -> Result<String, Failure> {
        let mut bases = vec![&self.meant.users_base];
        bases.extend(self.meant.groups.iter().filter_map(|groups| Some(&groups.search.as_ref()?.0)));
        let searches = bases.iter().map(|base| at(base, everything(), Vec::new())).collect();
        for (base, found) in bases.iter().zip(connection.search_each(searches)?) {
            let missing =
                || Failure::Wrong(format!("the directory shows no entry `{base}`, which is a base"));
            match found {
                Ok(entries) if entries.is_empty() => return Err(missing()),
                Err(Failure::Said { code: NO_SUCH_OBJECT, .. }) => return Err(missing()),
                other => drop(other?),
            }
        }
        self.person(connection, PROBE)?;
        if let Some(groups) = &self.meant.groups {
            let nobody = Entry { dn: self.meant.users_base.clone(), attributes: Vec::new() };
            let mut held = Held { meant: &self.meant, tokens: Vec::new(), whole: true };
            groups::collect(groups, connection, &nobody, &[PROBE], &mut held)?;
        }
        let who = self.pool.servers.login.as_ref().map_or("nobody", |login| login.dn.as_str());
        let groups = match &self.meant.groups {
            Some(groups) if groups.search.is_some() => ", and below that of groups",
            Some(_) => ", and groups are read by an attribute",
            None => ", and no groups are asked for",
        };
        Ok(format!("it answers {who} below the base of people{groups}"))
    }
}

/// Whether an entry has one of these values of attributes, letter by letter but for case. What a directory finds by a name may be of
/// somebody whose name only looks alike.
fn is_called(entry: &Entry, called: &[(&str, String)]) -> Result<bool, Failure> {
    let mut is_shown = false;
    for (attribute, wanted) in called {
        let (values, all) = entry.texts(attribute);
        if values.iter().any(|value| is_one_name(value, wanted)) {
            return Ok(true);
        }
        is_shown |= !values.is_empty() || !all;
    }
    if is_shown {
        return Ok(false);
    }
    // Found by an attribute that cannot be read.
    let mut names: Vec<String> = called.iter().map(|(attribute, _)| format!("`{attribute}`")).collect();
    names.dedup();
    Err(Failure::Wrong(format!(
        "the directory finds somebody by {} and does not show it, so that nobody is known by it: let `bind_dn` read it, and name it in `users.filter` as the directory does",
        names.join(", ")
    )))
}

/// Tokens as they are found.
struct Held<'m> {
    meant: &'m Meant,
    tokens: Vec<String>,
    whole: bool,
}

impl Held<'_> {
    fn person(&mut self, names: &[&str], all: bool) {
        self.add(names, all, &self.meant.user_prefix, &self.meant.group_prefix);
    }

    fn group(&mut self, names: &[&str], all: bool) {
        self.add(names, all, &self.meant.group_prefix, &self.meant.user_prefix);
    }

    /// Adds tokens of one entry. One without a name may be meant by a token that nobody can tell. A person whose name begins as tokens of
    /// groups do is given no such token, for it would be that of a group, and the other way round.
    fn add(&mut self, names: &[&str], all: bool, prefix: &str, others: &str) {
        self.whole &= all && !names.is_empty();
        for name in names {
            match of_one_kind(prefix, others, name) {
                Some(token) => self.tokens.push(token),
                None => self.whole = false,
            }
        }
    }
}
