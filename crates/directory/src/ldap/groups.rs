//! The groups of a person, level by level: those that name the person, those that name these, and so on. Each is met once, so that groups
//! in circles end, and there are at most so many.

use std::collections::HashSet;

use ingather_model::limits;

use super::Held;
use super::settings::MeantGroups;
use crate::asking::{asked_for, at};
use crate::wire::connection::Connection;
use crate::wire::failure::{Failure, NO_SUCH_OBJECT};
use crate::wire::filter::{Filter, Values, any, everything};
use crate::wire::message::{Entry, Scope, Search};

/// Adds the tokens of all groups of a person who is called so.
pub(super) fn collect(
    groups: &MeantGroups,
    connection: &mut Connection,
    person: &Entry,
    names: &[&str],
    held: &mut Held<'_>,
) -> Result<(), Failure> {
    let mut met: HashSet<String> = HashSet::from([key(&person.dn)]);
    let most = groups.max + 1;
    let mut level = vec![person.clone()];
    let mut names = names;
    while !level.is_empty() {
        let mut found = Vec::new();
        if let Some((base, filter)) = &groups.search {
            found.extend(searched(base, filter, connection, &level, names, held)?);
        }
        if let Some(attribute) = &groups.attribute {
            found.extend(listed(attribute, connection, &level, &met, held)?);
        }
        let mut next = Vec::new();
        for group in found {
            if !met.insert(key(&group.dn)) {
                continue;
            }
            if met.len() > most {
                held.whole = false;
                return Ok(());
            }
            let (of_it, all) = group.texts(&held.meant.group_attribute);
            held.group(&of_it, all);
            next.push(group);
        }
        // Groups are named in groups by where they are, never by what people are called.
        names = &[];
        level = if groups.nested { next } else { Vec::new() };
    }
    Ok(())
}

/// Names of entries are compared without regard to capitals. A server that spells one in two ways has it met twice, which changes nothing.
fn key(dn: &str) -> String {
    dn.to_lowercase()
}

fn attributes(held: &Held<'_>, lists: Option<&String>) -> Vec<String> {
    asked_for([Some(held.meant.group_attribute.clone()), lists.cloned()])
}

/// Groups below a base that name one of these entries.
fn searched(
    base: &str,
    filter: &Filter,
    connection: &mut Connection,
    level: &[Entry],
    names: &[&str],
    held: &Held<'_>,
) -> Result<Vec<Entry>, Failure> {
    let lists = held.meant.groups.as_ref().and_then(|groups| groups.attribute.as_ref());
    let mut filters = Vec::new();
    for entry in level {
        let dn = Some(entry.dn.as_str());
        match names {
            [] => filters.extend(filter.with(Values { name: None, dn })),
            names => {
                filters.extend(names.iter().filter_map(|name| filter.with(Values { name: Some(name), dn })))
            }
        }
    }
    let search = |filters: &[Vec<u8>]| Search {
        base: base.to_owned(),
        scope: Scope::Below,
        filter: any(filters),
        attributes: attributes(held, lists),
        page: Some((limits::LDAP_PAGE, Vec::new())),
        most: None,
        own_domain: false,
    };
    let mut found = Vec::new();
    // One after the other: a server answers each with up to all groups.
    for some in filters.chunks(limits::LDAP_GROUPS_OF_A_SEARCH) {
        found.extend(connection.search(vec![search(some)])?.into_iter().flatten());
    }
    Ok(found)
}

/// Groups that an attribute of these entries lists. One that is not there, or that may not be seen, has a token that nobody can tell.
fn listed(
    attribute: &String,
    connection: &mut Connection,
    level: &[Entry],
    met: &HashSet<String>,
    held: &mut Held<'_>,
) -> Result<Vec<Entry>, Failure> {
    let mut wanted: Vec<&str> = Vec::new();
    let mut seen = HashSet::new();
    for entry in level {
        let (dns, all) = entry.texts(attribute);
        held.whole &= all;
        wanted.extend(dns.into_iter().filter(|dn| !met.contains(&key(dn)) && seen.insert(key(dn))));
    }
    // One more than there may be tells that there are too many.
    let most = held.meant.groups.as_ref().map_or(0, |groups| groups.max) + 1;
    if wanted.len() > most {
        held.whole = false;
        wanted.truncate(most);
    }
    let asked = attributes(held, Some(attribute));
    let searches = wanted.iter().map(|dn| at(dn, everything(), asked.clone())).collect();
    let mut found = Vec::new();
    for entries in connection.search_each(searches)? {
        match entries {
            Ok(entries) if entries.is_empty() => held.whole = false,
            Ok(entries) => found.extend(entries),
            Err(Failure::Said { code: NO_SUCH_OBJECT, .. }) => held.whole = false,
            Err(failure) => return Err(failure),
        }
    }
    Ok(found)
}
