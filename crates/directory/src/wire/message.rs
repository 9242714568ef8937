//! Messages (RFC 4511, 4): what is asked, and what is answered.

use ingather_model::limits;

use super::ber::{self, Elements};
use super::failure::{Failure, REFERRAL, SUCCESS};

const BIND: u8 = 0x60;
pub(crate) const BIND_ANSWER: u8 = 0x61;
const UNBIND: u8 = 0x42;
const SEARCH: u8 = 0x63;
pub(crate) const ENTRY: u8 = 0x64;
pub(crate) const DONE: u8 = 0x65;
pub(crate) const REFERENCE: u8 = 0x73;
const EXTENDED: u8 = 0x77;
pub(crate) const EXTENDED_ANSWER: u8 = 0x78;
pub(crate) const BETWEEN: u8 = 0x79;
const CONTROLS: u8 = 0xa0;
/// Further servers, in a result.
const FURTHER: u8 = 0xa3;
const START_TLS: &[u8] = b"1.3.6.1.4.1.1466.20037";
const PAGED: &[u8] = b"1.2.840.113556.1.4.319";
/// No references to other servers (MS-ADTS, 3.1.1.3.4.1.4).
const DOMAIN_SCOPE: &[u8] = b"1.2.840.113556.1.4.1339";

/// Where is looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// At one entry.
    Entry = 0,
    /// At it and all below.
    Below = 2,
}

/// One search.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    pub(crate) base: String,
    pub(crate) scope: Scope,
    /// Its bytes.
    pub(crate) filter: Vec<u8>,
    pub(crate) attributes: Vec<String>,
    /// Entries at once, and where the server goes on; none: all of them.
    pub(crate) page: Option<(u32, Vec<u8>)>,
    /// Entries at most: with more, the server says that its answer is not whole. None: any number.
    pub(crate) most: Option<u32>,
    /// Whether the server looks in its own domain alone, and names no others that may know more: a rule of Active Directory, which other
    /// servers refuse.
    pub(crate) own_domain: bool,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) dn: String,
    pub(crate) attributes: Vec<(String, Vec<Vec<u8>>)>,
}

/// A message with its number.
fn message(id: u32, parts: &[Vec<u8>]) -> Vec<u8> {
    let mut all = vec![ber::number(ber::INTEGER, id)];
    all.extend_from_slice(parts);
    ber::of(ber::SEQUENCE, &all)
}

/// Asks to log in with a password.
pub(crate) fn bind(id: u32, dn: &str, password: &str) -> Vec<u8> {
    let version = ber::number(ber::INTEGER, 3);
    let dn = ber::element(ber::OCTETS, dn.as_bytes());
    message(id, &[ber::of(BIND, &[version, dn, ber::element(0x80, password.as_bytes())])])
}

/// Says good-bye.
pub(crate) fn unbind(id: u32) -> Vec<u8> {
    message(id, &[ber::element(UNBIND, &[])])
}

/// Asks to go on with TLS.
pub(crate) fn start_tls(id: u32) -> Vec<u8> {
    message(id, &[ber::of(EXTENDED, &[ber::element(0x80, START_TLS)])])
}

impl Search {
    /// Its message; the server is told to take no longer than `seconds`.
    pub(crate) fn message(&self, id: u32, seconds: u32) -> Vec<u8> {
        let text = |text: &str| ber::element(ber::OCTETS, text.as_bytes());
        let attributes: Vec<Vec<u8>> = self.attributes.iter().map(|name| text(name)).collect();
        let asked = ber::of(
            SEARCH,
            &[
                text(&self.base),
                ber::number(ber::ENUMERATED, self.scope as u32),
                // Aliases are not followed.
                ber::number(ber::ENUMERATED, 0),
                ber::number(ber::INTEGER, self.most.unwrap_or_default()),
                ber::number(ber::INTEGER, seconds),
                ber::element(ber::BOOLEAN, &[0]),
                self.filter.clone(),
                ber::of(ber::SEQUENCE, &attributes),
            ],
        );
        let mut controls = Vec::new();
        if let Some((size, cookie)) = &self.page {
            let page = [ber::number(ber::INTEGER, *size), ber::element(ber::OCTETS, cookie)];
            let value = ber::element(ber::OCTETS, &ber::of(ber::SEQUENCE, &page));
            // Not critical: a server that knows no pages gives all entries, or says that these are not all.
            controls.push(ber::of(ber::SEQUENCE, &[ber::element(ber::OCTETS, PAGED), value]));
        }
        if self.own_domain {
            // Critical: a server that does not know it says so.
            let critical = ber::element(ber::BOOLEAN, &[0xff]);
            controls.push(ber::of(ber::SEQUENCE, &[ber::element(ber::OCTETS, DOMAIN_SCOPE), critical]));
        }
        match controls.is_empty() {
            true => message(id, &[asked]),
            false => message(id, &[asked, ber::of(CONTROLS, &controls)]),
        }
    }
}

/// A message of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received<'b> {
    pub(crate) id: u32,
    pub(crate) tag: u8,
    pub(crate) content: &'b [u8],
    controls: &'b [u8],
}

/// Takes a message apart.
pub(crate) fn received(bytes: &[u8]) -> Result<Received<'_>, Failure> {
    let mut parts = Elements(Elements(bytes).next(ber::SEQUENCE)?);
    let id = parts.number(ber::INTEGER)?;
    let (tag, content) = parts.any()?;
    let controls = if parts.tag() == Some(CONTROLS) { parts.next(CONTROLS)? } else { &[] };
    Ok(Received { id, tag, content, controls })
}

impl Received<'_> {
    /// Whether it says that all went well.
    pub(crate) fn result(&self, asked: &'static str) -> Result<(), Failure> {
        let mut parts = Elements(self.content);
        let code = parts.number(ber::ENUMERATED)?;
        let _matched = parts.next(ber::OCTETS)?;
        let words = String::from_utf8_lossy(parts.next(ber::OCTETS)?);
        match code {
            REFERRAL => Err(Failure::Refers),
            SUCCESS if parts.tag() == Some(FURTHER) => Err(Failure::Refers),
            SUCCESS => Ok(()),
            code => Err(Failure::said(code, &words, asked)),
        }
    }

    /// Where the server goes on; nothing after the last page.
    pub(crate) fn cookie(&self) -> Result<Vec<u8>, Failure> {
        let mut controls = Elements(self.controls);
        while !controls.is_empty() {
            let mut control = Elements(controls.next(ber::SEQUENCE)?);
            if control.next(ber::OCTETS)? != PAGED {
                continue;
            }
            if control.tag() == Some(ber::BOOLEAN) {
                control.next(ber::BOOLEAN)?;
            }
            let mut page = Elements(Elements(control.next(ber::OCTETS)?).next(ber::SEQUENCE)?);
            page.next(ber::INTEGER)?;
            return Ok(page.next(ber::OCTETS)?.to_vec());
        }
        Ok(Vec::new())
    }

    /// The entry that it is.
    pub(crate) fn entry(&self) -> Result<Entry, Failure> {
        let mut parts = Elements(self.content);
        let dn = parts.text(ber::OCTETS)?.to_owned();
        let mut rest = Elements(parts.next(ber::SEQUENCE)?);
        let (mut attributes, mut count) = (Vec::new(), 0);
        while !rest.is_empty() {
            let mut attribute = Elements(rest.next(ber::SEQUENCE)?);
            let name = attribute.text(ber::OCTETS)?.to_owned();
            let mut of_it = Elements(attribute.next(ber::SET)?);
            let mut values = Vec::new();
            while !of_it.is_empty() {
                count += 1;
                if count > limits::LDAP_VALUES_MAX {
                    return Err(Failure::TooMuch("an entry with more values than anybody needs"));
                }
                values.push(of_it.next(ber::OCTETS)?.to_vec());
            }
            attributes.push((name, values));
        }
        Ok(Entry { dn, attributes })
    }
}

impl Entry {
    /// The values of an attribute as texts, and whether these are all that the entry has: a value that is no text is left out, and so is
    /// what a server gives by ranges of values.
    pub(crate) fn texts(&self, name: &str) -> (Vec<&str>, bool) {
        if name.eq_ignore_ascii_case("dn") {
            return (vec![&self.dn], true);
        }
        let (mut texts, mut all) = (Vec::new(), true);
        for (described, values) in &self.attributes {
            let (attribute, options) = described.split_once(';').unwrap_or((described, ""));
            if !described.eq_ignore_ascii_case(name) && !attribute.eq_ignore_ascii_case(name) {
                continue;
            }
            all &= !options.split(';').any(|option| option.to_ascii_lowercase().starts_with("range="));
            let read = values.iter().filter_map(|value| std::str::from_utf8(value).ok());
            let before = texts.len();
            texts.extend(read);
            all &= texts.len() - before == values.len();
        }
        (texts, all)
    }

    /// The values of an attribute from the one of this number on, and the number of the next one where the server gives them by ranges
    /// (MS-ADTS, 3.1.1.3.1.3.3).
    pub(crate) fn values(&self, name: &str, from: usize) -> Result<(Vec<&[u8]>, Option<usize>), Failure> {
        let broken = Failure::Garbled("a range of values that is none");
        let (mut found, mut next) = (Vec::new(), None);
        for (described, values) in &self.attributes {
            let (attribute, option) = described.split_once(';').unwrap_or((described, ""));
            // Beside a range, the attribute itself is there without values.
            if !attribute.eq_ignore_ascii_case(name) || values.is_empty() {
                continue;
            }
            let option = option.to_ascii_lowercase();
            let (low, high) = match option.strip_prefix("range=").map(|range| range.split_once('-')) {
                Some(Some((low, high))) => (low.parse().ok(), high),
                Some(None) => return Err(broken),
                None if option.is_empty() => (Some(0), "*"),
                None => return Err(Failure::Garbled("values of a kind that nobody asked for")),
            };
            if !found.is_empty() || low != Some(from) {
                return Err(broken);
            }
            if high != "*" {
                let after = from + values.len();
                if high.parse() != Ok(after - 1) {
                    return Err(broken);
                }
                next = Some(after);
            }
            found = values.iter().map(Vec::as_slice).collect();
        }
        Ok((found, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_no_texts_or_come_by_ranges_are_not_all() {
        let entry = |attributes: &[(&str, &[&[u8]])]| {
            let owned = |(name, values): &(&str, &[&[u8]])| {
                ((*name).to_owned(), values.iter().map(|value| value.to_vec()).collect())
            };
            Entry { dn: "cn=a".to_owned(), attributes: attributes.iter().map(owned).collect() }
        };
        let person = entry(&[("CN", &[b"a"]), ("cn;lang-de", &[b"b"]), ("uid", &[b"x", b"\xff"])]);
        assert_eq!(person.texts("cn"), (vec!["a", "b"], true));
        assert_eq!(person.texts("uid"), (vec!["x"], false));
        assert_eq!(person.texts("sn"), (vec![], true));
        assert_eq!(person.texts("DN"), (vec!["cn=a"], true));
        let many = entry(&[("memberOf;Range=0-1", &[b"a", b"b"]), ("memberOf", &[])]);
        assert_eq!(many.texts("memberOf"), (vec!["a", "b"], false));
    }

    #[test]
    fn ranges_of_values_follow_each_other_without_a_gap() {
        let values = |described: &str, count: usize, from: usize| {
            let named = (described.to_owned(), vec![vec![7]; count]);
            let empty = ("tokenGroups".to_owned(), Vec::new());
            let entry = Entry { dn: "cn=a".to_owned(), attributes: vec![empty, named] };
            entry.values("tokengroups", from).map(|(found, next)| (found.len(), next)).ok()
        };
        assert_eq!(values("tokenGroups", 3, 0), Some((3, None)));
        assert_eq!(values("other", 3, 0), Some((0, None)));
        assert_eq!(values("tokenGroups;range=0-2", 3, 0), Some((3, Some(3))));
        assert_eq!(values("TokenGroups;Range=3-*", 2, 3), Some((2, None)));
        for (described, from) in [
            ("tokenGroups;range=0-3", 0),
            ("tokenGroups;range=0-1", 0),
            ("tokenGroups;range=1-3", 0),
            ("tokenGroups;range=4-*", 3),
            ("tokenGroups", 3),
            ("tokenGroups;range=0", 0),
            ("tokenGroups;range=-1-1", 0),
            ("tokenGroups;range=0-99999999999999999999", 0),
            ("tokenGroups;binary", 0),
        ] {
            assert_eq!(values(described, 3, from), None, "{described}");
        }
    }

    #[test]
    fn a_result_that_names_further_servers_refers() {
        let message = |code: u32, more: &[Vec<u8>]| {
            let mut parts = vec![ber::number(ber::ENUMERATED, code)];
            parts.extend([ber::element(ber::OCTETS, b""), ber::element(ber::OCTETS, b"why\n")]);
            parts.extend_from_slice(more);
            super::message(1, &[ber::of(DONE, &parts)])
        };
        let result = |bytes: &[u8]| received(bytes).unwrap().result("a search");
        assert_eq!(result(&message(0, &[])), Ok(()));
        assert_eq!(result(&message(10, &[])), Err(Failure::Refers));
        assert_eq!(result(&message(0, &[ber::element(FURTHER, b"")])), Err(Failure::Refers));
        assert_eq!(result(&message(53, &[])), Err(Failure::said(53, "why", "a search")));
    }
}
