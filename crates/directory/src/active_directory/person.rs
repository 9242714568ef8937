//! One person: found by their name, judged by their account, and with all that a logon over the network would give them.

use ingather_model::limits;

use super::sid::Sid;
use crate::asking::{asked_for, at, is_one_name};
use crate::wire::connection::Connection;
use crate::wire::failure::{Failure, SIZE_LIMIT};
use crate::wire::filter::{all, any, equal, present};
use crate::wire::message::{Entry, Scope, Search};

/// What everybody holds who logs on over the network with an account of the domain: everyone, the network, authenticated users, this
/// organization (MS-DTYP, 2.4.2.4).
const OF_EVERY_LOGON: [&str; 4] = ["S-1-1-0", "S-1-5-2", "S-1-5-11", "S-1-5-15"];
const ACCOUNT: [&str; 5] = ["objectSid", "sIDHistory", "userAccountControl", "accountExpires", "tokenGroups"];
/// `sAMAccountType` of people: neither a computer nor the account of a trust (MS-SAMR, 2.2.1.9).
const OF_PEOPLE: &[u8] = b"805306368";
/// Of `userAccountControl` (MS-ADTS, 2.2.16): the account is disabled.
const DISABLED: i64 = 0x2;
/// Of `accountExpires`: never. Zero is the same.
const NEVER: i64 = i64::MAX;
/// Milliseconds from the year 1601, from which Windows counts, to 1970.
const SINCE_1601_MS: i64 = 11_644_473_600_000;

/// How a person is called: an attribute, and the value that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Called<'n> {
    pub(super) attribute: &'static str,
    pub(super) value: &'n str,
}

impl Called<'_> {
    /// A filter for the person of this name.
    fn filter(self) -> Vec<u8> {
        all(&[
            equal("objectCategory", b"person"),
            equal("objectClass", b"user"),
            equal("sAMAccountType", OF_PEOPLE),
            equal(self.attribute, self.value.as_bytes()),
        ])
    }

    /// Whether an account has this name, letter by letter but for case. A controller finds accounts without regard to accents, widths and
    /// letters that are not seen, so that it may be one whose name only looks alike.
    fn is_of(self, account: &Entry) -> Result<bool, Failure> {
        let (values, _) = account.values(self.attribute, 0)?;
        if values.is_empty() {
            return Err(hidden(self.attribute));
        }
        let mut texts = values.iter().filter_map(|value| std::str::from_utf8(value).ok());
        Ok(texts.any(|text| is_one_name(text, self.value)))
    }
}

/// Where the one person below `base` is that a controller finds by a name.
pub(super) fn find(
    connection: &mut Connection,
    base: &str,
    called: Called<'_>,
) -> Result<Option<String>, Failure> {
    let search = Search {
        base: base.to_owned(),
        scope: Scope::Below,
        filter: called.filter(),
        attributes: asked_for([]),
        page: None,
        // The second one tells that neither can be meant.
        most: Some(2),
        own_domain: true,
    };
    let several = || Failure::Wrong("more than one account has this name: nobody is known by it".to_owned());
    match connection.search(vec![search]) {
        Ok(found) => {
            let mut found = found.into_iter().flatten();
            match (found.next(), found.next()) {
                (_, Some(_)) => Err(several()),
                (one, None) => Ok(one.map(|entry| entry.dn)),
            }
        }
        Err(Failure::Said { code: SIZE_LIMIT, .. }) => Err(several()),
        Err(failure) => Err(failure),
    }
}

/// The account at a place, where it still has the name.
pub(super) fn account(
    connection: &mut Connection,
    dn: &str,
    called: Called<'_>,
) -> Result<Option<Entry>, Failure> {
    let attributes = ACCOUNT.into_iter().chain([called.attribute]).map(str::to_owned).collect();
    let found = connection.search(vec![at(dn, called.filter(), attributes)])?;
    match found.into_iter().flatten().next() {
        Some(account) if called.is_of(&account)? => Ok(Some(account)),
        _ => Ok(None),
    }
}

/// Whether whoever has the account may enter at this time, in milliseconds since 1970. Somebody who is locked out for some minutes, or
/// has to change their password, is still who they are.
pub(super) fn may_enter(account: &Entry, now: i64) -> Result<bool, Failure> {
    let expires = number(account, "accountExpires")?;
    // In 100 nanoseconds.
    let now = now.saturating_add(SINCE_1601_MS).saturating_mul(10_000);
    let has_expired = expires != 0 && expires != NEVER && expires <= now;
    let is_disabled = number(account, "userAccountControl")? & DISABLED != 0;
    // Whoever is let in as a guest is nobody in particular.
    Ok(!is_disabled && !has_expired && !own_sid(account)?.is_guest())
}

/// All that whoever has the account holds; groups that once were others are looked up below the entry of the domain.
pub(super) fn sids(
    connection: &mut Connection,
    account: &Entry,
    domain: &str,
) -> Result<Vec<String>, Failure> {
    let groups = read(connection, account, "tokenGroups")?;
    if groups.is_empty() {
        // Everybody has a primary group at least.
        return Err(Failure::Wrong(
            "the controller does not show the groups of an account (tokenGroups): make `bind_dn` a member of `Windows Authorization Access Group`, and see that a global catalogue can be reached".to_owned(),
        ));
    }
    let mut held = vec![own_sid(account)?];
    held.extend(read(connection, account, "sIDHistory")?);
    held.extend(former(connection, &groups, domain)?);
    held.extend(groups);
    let texts = held.iter().map(Sid::to_string);
    Ok(texts.chain(OF_EVERY_LOGON.map(str::to_owned)).collect())
}

/// What groups were before they came into the domain (`sIDHistory`): documents may still name them so, and a logon has these as well.
fn former(connection: &mut Connection, groups: &[Sid], domain: &str) -> Result<Vec<Sid>, Failure> {
    let of_domains: Vec<Vec<u8>> = groups
        .iter()
        .filter(|group| group.is_of_a_domain())
        .map(|group| equal("objectSid", &group.bytes()))
        .collect();
    let search = |some: &[Vec<u8>]| Search {
        base: domain.to_owned(),
        scope: Scope::Below,
        filter: all(&[present("sIDHistory"), any(some)]),
        attributes: vec!["sIDHistory".to_owned()],
        page: Some((limits::LDAP_PAGE, Vec::new())),
        most: None,
        own_domain: true,
    };
    let searches = of_domains.chunks(limits::LDAP_GROUPS_OF_A_SEARCH).map(search).collect();
    let mut found = Vec::new();
    for entry in connection.search(searches)?.into_iter().flatten() {
        found.extend(read(connection, &entry, "sIDHistory")?);
    }
    Ok(found)
}

fn own_sid(account: &Entry) -> Result<Sid, Failure> {
    match account.values("objectSid", 0)?.0.as_slice() {
        [one] => Sid::read(one),
        _ => Err(hidden("objectSid")),
    }
}

/// All SIDs of an attribute. What the server gives by ranges is read to its end.
fn read(connection: &mut Connection, entry: &Entry, attribute: &str) -> Result<Vec<Sid>, Failure> {
    let (mut values, mut next) = entry.values(attribute, 0)?;
    let mut found = Vec::new();
    let mut further;
    loop {
        for value in values {
            found.push(Sid::read(value)?);
        }
        let Some(from) = next else { return Ok(found) };
        if found.len() > limits::TOKENS_OF_A_USER_MAX {
            return Err(Failure::TooMuch("more groups of one person than anybody may have"));
        }
        let ranged = format!("{attribute};range={from}-*");
        let search = at(&entry.dn, present("objectClass"), vec![ranged]);
        let answer = connection.search(vec![search])?.into_iter().flatten().next();
        // Without an entry, or without values in it, these were not all.
        further = answer.ok_or(Failure::Garbled("a range of values without its end"))?;
        (values, next) = further.values(attribute, from)?;
        if values.is_empty() {
            return Err(Failure::Garbled("a range of values without its end"));
        }
    }
}

/// The one number of an attribute.
fn number(account: &Entry, attribute: &'static str) -> Result<i64, Failure> {
    match account.values(attribute, 0)?.0.as_slice() {
        [one] => {
            let text = std::str::from_utf8(one).ok();
            text.and_then(|text| text.parse().ok()).ok_or(Failure::Garbled("a number that is none"))
        }
        _ => Err(hidden(attribute)),
    }
}

fn hidden(attribute: &str) -> Failure {
    Failure::Wrong(format!("the controller does not show `{attribute}` of an account: let `bind_dn` read it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(control: &str, expires: &str, last: u8) -> Entry {
        let sid = [&[1, 2, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0][..], &[last, 1, 0, 0]].concat();
        let one = |name: &str, value: &[u8]| (name.to_owned(), vec![value.to_vec()]);
        let attributes = vec![
            one("objectSid", &sid),
            one("userAccountControl", control.as_bytes()),
            one("accountExpires", expires.as_bytes()),
        ];
        Entry { dn: "CN=ann,DC=t".to_owned(), attributes }
    }

    #[test]
    fn whoever_is_disabled_expired_or_a_guest_may_not_enter() {
        let may = |control: &str, expires: &str, now: i64| may_enter(&account(control, expires, 1), now);
        assert_eq!(may("512", "0", i64::MAX), Ok(true));
        assert_eq!(may("512", "9223372036854775807", i64::MAX), Ok(true));
        // The first of January 2026.
        let (at, text) = (1_767_225_600_000, "134116992000000000");
        assert_eq!(may("512", text, at - 1), Ok(true));
        assert_eq!(may("512", text, at), Ok(false));
        assert_eq!(may("514", "0", 0), Ok(false));
        // With other bits around it, and in the spelling of 32 bits with a sign.
        assert_eq!(may("66050", "0", 0), Ok(false));
        assert_eq!(may("-2147483134", "0", 0), Ok(false));
        assert_eq!(may("528", "0", 0), Ok(true), "locked out");
        assert_eq!(may_enter(&account("512", "0", 0xf5), 0), Ok(false), "a guest");
        for (control, expires) in
            [("", "0"), ("0x200", "0"), ("512", "never"), ("512", "99999999999999999999")]
        {
            assert_eq!(may(control, expires, 0), Err(Failure::Garbled("a number that is none")));
        }
    }

    #[test]
    fn what_is_hidden_of_an_account_is_no_permission() {
        for name in ["objectSid", "userAccountControl", "accountExpires"] {
            let mut account = account("512", "0", 1);
            account.attributes.retain(|(attribute, _)| attribute != name);
            let told = may_enter(&account, 0).unwrap_err().to_string();
            assert!(told.contains(name) && told.contains("let `bind_dn` read it"), "{told}");
        }
    }
}
