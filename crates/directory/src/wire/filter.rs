//! Filters (RFC 4515) with places for values: a filter is read once, when an authority opens, and values are put into its bytes.
//!
//! No text is ever made of a filter and a name, so that a name can be no part of a filter: there is nothing to escape, and nothing to forget.

use ingather_model::limits;

use super::ber;

const AND: u8 = 0xa0;
const OR: u8 = 0xa1;
const NOT: u8 = 0xa2;
const EQUAL: u8 = 0xa3;
const SUBSTRINGS: u8 = 0xa4;
const AT_LEAST: u8 = 0xa5;
const AT_MOST: u8 = 0xa6;
const PRESENT: u8 = 0x87;
const ALIKE: u8 = 0xa8;
const EXTENSIBLE: u8 = 0xa9;
/// Beginning, middle and end of a value (RFC 4511, 4.5.1.7.2).
const PARTS: [u8; 3] = [0x80, 0x81, 0x82];

/// A filter with places for values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Filter(Node);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Present(String),
    Compare {
        tag: u8,
        attribute: String,
        value: Value,
    },
    Parts {
        attribute: String,
        parts: Vec<(u8, Value)>,
    },
    /// A rule, an attribute, a value, and whether names count as attributes.
    Rule {
        rule: String,
        attribute: String,
        value: Value,
        of_dn: bool,
    },
}

/// A value: bytes, and places for others.
type Value = Vec<Piece>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Bytes(Vec<u8>),
    Place(Place),
}

/// A place for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// `{name}`: how somebody is called.
    Name,
    /// `{dn}`: where an entry is.
    Dn,
}

const PLACES: &[(&str, Place)] = &[("{name}", Place::Name), ("{dn}", Place::Dn)];

/// What is put into the places.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Values<'v> {
    /// For `{name}`.
    pub(crate) name: Option<&'v str>,
    /// For `{dn}`.
    pub(crate) dn: Option<&'v str>,
}

impl Filter {
    /// Reads a filter. What is wrong with it is told without what is in it.
    pub(crate) fn read(text: &str) -> Result<Filter, &'static str> {
        let mut rest = text.trim();
        let node = node(&mut rest, 0)?;
        match rest.is_empty() {
            true if node.hides_a_place(false) => Err("has {name} or {dn} behind a `!`"),
            true => Ok(Filter(node)),
            false => Err("has something behind its last parenthesis"),
        }
    }

    /// Whether it has this place.
    pub(crate) fn has(&self, place: Place) -> bool {
        self.0.has(place)
    }

    /// The attributes that it compares with the name or with a text around it, and what a value of them is for somebody of this name. Of
    /// a comparison with parts of a value there is none: it says too little of who somebody is.
    pub(crate) fn called(&self, name: &str) -> Vec<(&str, String)> {
        let mut found = Vec::new();
        self.0.called(name, &mut found);
        found
    }

    /// Its bytes. What has a place without a value is true of no entry; none where that is so of the whole filter.
    pub(crate) fn with(&self, values: Values<'_>) -> Option<Vec<u8>> {
        self.0.with(values)
    }
}

/// The bytes of a filter that is true where one of these is.
pub(crate) fn any(filters: &[Vec<u8>]) -> Vec<u8> {
    match filters {
        [one] => one.clone(),
        all => ber::of(OR, all),
    }
}

/// The bytes of a filter that is true where all of these are.
pub(crate) fn all(filters: &[Vec<u8>]) -> Vec<u8> {
    ber::of(AND, filters)
}

/// The bytes of a filter that is true where an attribute has this value.
pub(crate) fn equal(attribute: &str, value: &[u8]) -> Vec<u8> {
    ber::of(EQUAL, &[ber::element(ber::OCTETS, attribute.as_bytes()), ber::element(ber::OCTETS, value)])
}

/// The bytes of a filter that is true where there is such an attribute.
pub(crate) fn present(attribute: &str) -> Vec<u8> {
    ber::element(PRESENT, attribute.as_bytes())
}

/// The bytes of a filter that is true of each entry.
pub(crate) fn everything() -> Vec<u8> {
    present("objectClass")
}

fn node(rest: &mut &str, depth: usize) -> Result<Node, &'static str> {
    if depth > limits::LDAP_FILTER_DEPTH_MAX {
        return Err("has too many filters inside each other");
    }
    *rest = rest.strip_prefix('(').ok_or("lacks a `(`")?;
    let read = match rest.chars().next() {
        Some(sign @ ('&' | '|')) => {
            *rest = &rest[1..];
            let mut nodes = Vec::new();
            while rest.starts_with('(') {
                nodes.push(node(rest, depth + 1)?);
            }
            match (nodes.is_empty(), sign) {
                (true, _) => return Err("has an `&` or `|` of nothing"),
                (false, '&') => Node::All(nodes),
                (false, _) => Node::Any(nodes),
            }
        }
        Some('!') => {
            *rest = &rest[1..];
            Node::Not(Box::new(node(rest, depth + 1)?))
        }
        _ => {
            let end = rest.find(['(', ')']).ok_or("lacks a `)`")?;
            let (item, behind) = rest.split_at(end);
            *rest = behind;
            comparison(item)?
        }
    };
    *rest = rest.strip_prefix(')').ok_or("lacks a `)`")?;
    Ok(read)
}

fn comparison(item: &str) -> Result<Node, &'static str> {
    let (left, right) = item.split_once('=').ok_or("lacks a `=`")?;
    let (tag, attribute) = match left.chars().next_back() {
        Some('~') => (ALIKE, &left[..left.len() - 1]),
        Some('>') => (AT_LEAST, &left[..left.len() - 1]),
        Some('<') => (AT_MOST, &left[..left.len() - 1]),
        Some(':') => return rule(&left[..left.len() - 1], right),
        _ => (EQUAL, left),
    };
    let attribute = description(attribute)?;
    match right {
        "*" if tag == EQUAL => Ok(Node::Present(attribute)),
        parts if tag == EQUAL && parts.contains('*') => {
            let all: Vec<&str> = parts.split('*').collect();
            let last = all.len() - 1;
            let kind = |at: usize| match at {
                0 => PARTS[0],
                at if at == last => PARTS[2],
                _ => PARTS[1],
            };
            let known = all.iter().enumerate().filter(|(_, part)| !part.is_empty());
            let parts = known
                .map(|(at, part)| Ok::<_, &'static str>((kind(at), value(part)?)))
                .collect::<Result<_, &'static str>>()?;
            Ok(Node::Parts { attribute, parts })
        }
        text if text.contains('*') => Err("has a `*` where none can be"),
        text => Ok(Node::Compare { tag, attribute, value: value(text)? }),
    }
}

/// `attribute:dn:rule`, of which each may be missing.
fn rule(left: &str, right: &str) -> Result<Node, &'static str> {
    let mut parts = left.split(':');
    let attribute = parts.next().unwrap_or_default();
    let (mut of_dn, mut rule) = (false, "");
    for part in parts {
        match part {
            "dn" if !of_dn && rule.is_empty() => of_dn = true,
            part if rule.is_empty() && !part.is_empty() => rule = part,
            _ => return Err("has a rule of comparison that is none"),
        }
    }
    if attribute.is_empty() && rule.is_empty() {
        return Err("has a comparison of no attribute");
    }
    let read = |text: &str| if text.is_empty() { Ok(String::new()) } else { description(text) };
    Ok(Node::Rule { rule: read(rule)?, attribute: read(attribute)?, value: value(right)?, of_dn })
}

/// The name of an attribute.
pub(crate) fn description(text: &str) -> Result<String, &'static str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || ".;_-".contains(c);
    match !text.is_empty() && text.chars().all(fits) {
        true => Ok(text.to_owned()),
        false => Err("has an attribute whose name is none"),
    }
}

fn value(text: &str) -> Result<Value, &'static str> {
    let (mut pieces, mut bytes, mut rest) = (Vec::new(), Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        if let Some((sign, place)) = PLACES.iter().find(|(sign, _)| rest.starts_with(sign)) {
            if !bytes.is_empty() {
                pieces.push(Piece::Bytes(std::mem::take(&mut bytes)));
            }
            pieces.push(Piece::Place(*place));
            rest = &rest[sign.len()..];
        } else if first == '\\' {
            let digits = rest.get(1..3).filter(|digits| digits.chars().all(|c| c.is_ascii_hexdigit()));
            let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            bytes.push(byte.ok_or("has a `\\` without two hexadecimal digits behind it")?);
            rest = &rest[3..];
        } else {
            bytes.extend(&rest.as_bytes()[..first.len_utf8()]);
            rest = &rest[first.len_utf8()..];
        }
    }
    if !bytes.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Bytes(bytes));
    }
    Ok(pieces)
}

impl Node {
    fn values(&self) -> Vec<&Value> {
        match self {
            Node::Compare { value, .. } | Node::Rule { value, .. } => vec![value],
            Node::Parts { parts, .. } => parts.iter().map(|(_, value)| value).collect(),
            _ => Vec::new(),
        }
    }

    fn has(&self, place: Place) -> bool {
        match self {
            Node::All(nodes) | Node::Any(nodes) => nodes.iter().any(|node| node.has(place)),
            Node::Not(node) => node.has(place),
            other => other.values().into_iter().flatten().any(|piece| *piece == Piece::Place(place)),
        }
    }

    fn called<'f>(&'f self, name: &str, found: &mut Vec<(&'f str, String)>) {
        match self {
            Node::All(nodes) | Node::Any(nodes) => nodes.iter().for_each(|node| node.called(name, found)),
            Node::Compare { tag: EQUAL | ALIKE, attribute, value } | Node::Rule { attribute, value, .. }
                if self.has(Place::Name) && !attribute.is_empty() =>
            {
                let text = filled(value, Values { name: Some(name), dn: None });
                found.extend(
                    text.and_then(|text| String::from_utf8(text).ok()).map(|text| (attribute.as_str(), text)),
                );
            }
            _ => {}
        }
    }

    /// Whether a place stands behind a `!`: without a value it would be true of each entry.
    fn hides_a_place(&self, behind: bool) -> bool {
        match self {
            Node::All(nodes) | Node::Any(nodes) => nodes.iter().any(|node| node.hides_a_place(behind)),
            Node::Not(node) => node.hides_a_place(true),
            other => behind && (other.has(Place::Name) || other.has(Place::Dn)),
        }
    }

    fn with(&self, values: Values<'_>) -> Option<Vec<u8>> {
        let text = |text: &str| ber::element(ber::OCTETS, text.as_bytes());
        match self {
            Node::All(nodes) => {
                let all: Vec<_> = nodes.iter().map(|node| node.with(values)).collect::<Option<_>>()?;
                Some(ber::of(AND, &all))
            }
            Node::Any(nodes) => {
                let known: Vec<_> = nodes.iter().filter_map(|node| node.with(values)).collect();
                (!known.is_empty()).then(|| any(&known))
            }
            Node::Not(node) => Some(ber::of(NOT, &[node.with(values)?])),
            Node::Present(attribute) => Some(ber::element(PRESENT, attribute.as_bytes())),
            Node::Compare { tag, attribute, value } => {
                Some(ber::of(*tag, &[text(attribute), ber::element(ber::OCTETS, &filled(value, values)?)]))
            }
            Node::Parts { attribute, parts } => {
                let parts: Vec<_> = parts
                    .iter()
                    .map(|(tag, value)| Some(ber::element(*tag, &filled(value, values)?)))
                    .collect::<Option<_>>()?;
                Some(ber::of(SUBSTRINGS, &[text(attribute), ber::of(ber::SEQUENCE, &parts)]))
            }
            Node::Rule { rule, attribute, value, of_dn } => {
                let named = |tag, text: &str| {
                    if text.is_empty() { Vec::new() } else { ber::element(tag, text.as_bytes()) }
                };
                let of_dn = if *of_dn { ber::element(0x84, &[0xff]) } else { Vec::new() };
                let value = ber::element(0x83, &filled(value, values)?);
                Some(ber::of(EXTENSIBLE, &[named(0x81, rule), named(0x82, attribute), value, of_dn]))
            }
        }
    }
}

fn filled(value: &Value, values: Values<'_>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for piece in value {
        match piece {
            Piece::Bytes(more) => bytes.extend(more),
            Piece::Place(Place::Name) => bytes.extend(values.name?.as_bytes()),
            Piece::Place(Place::Dn) => bytes.extend(values.dn?.as_bytes()),
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::ber::Elements;
    use super::*;

    fn with(text: &str, name: &str) -> Option<Vec<u8>> {
        Filter::read(text).unwrap().with(Values { name: Some(name), dn: None })
    }

    #[test]
    fn filters_are_written_as_the_standard_has_them() {
        let octets = |text: &str| ber::element(ber::OCTETS, text.as_bytes());
        let equal = |attribute: &str, value: &str| ber::of(EQUAL, &[octets(attribute), octets(value)]);
        assert_eq!(with("(uid={name})", "ann"), Some(equal("uid", "ann")));
        assert_eq!(with(r"(cn=a\2ab\28)", ""), Some(equal("cn", "a*b(")));
        assert_eq!(with("(cn=*)", ""), Some(ber::element(PRESENT, b"cn")));
        assert_eq!(
            with("(&(a=1)(!(b=2)))", ""),
            Some(ber::of(AND, &[equal("a", "1"), ber::of(NOT, &[equal("b", "2")])]))
        );
        let parts = [ber::element(0x80, b"a"), ber::element(0x81, b"b"), ber::element(0x82, b"c")];
        let parts = ber::of(SUBSTRINGS, &[octets("cn"), ber::of(ber::SEQUENCE, &parts)]);
        assert_eq!(with("(cn=a*b*c)", ""), Some(parts));
        let rule = [
            ber::element(0x81, b"1.2.840.113556.1.4.1941"),
            ber::element(0x82, b"member"),
            ber::element(0x83, b"x"),
        ];
        assert_eq!(with("(member:1.2.840.113556.1.4.1941:=x)", ""), Some(ber::of(EXTENSIBLE, &rule)));
        let both = Filter::read("(|(member={dn})(memberUid={name}))").unwrap();
        assert_eq!(both.with(Values { dn: Some("d"), name: None }), Some(equal("member", "d")));
        assert_eq!(both.with(Values::default()), None);
        assert_eq!(
            Filter::read("(&(cn=*)(memberUid={name}))").unwrap().with(Values { dn: Some("d"), name: None }),
            None
        );
    }

    #[test]
    fn a_filter_tells_what_it_compares_names_with() {
        let called = |text: &str| {
            let filter = Filter::read(text).unwrap();
            filter
                .called("ann")
                .iter()
                .map(|(attribute, value)| format!("{attribute}={value}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(called("(&(objectClass=person)(uid={name}))"), ["uid=ann"]);
        assert_eq!(called("(|(uid={name})(&(mail={name})(!(cn=x))))"), ["uid=ann", "mail=ann"]);
        assert_eq!(called(r"(mail=\2a{name}@example.org)"), ["mail=*ann@example.org"]);
        assert_eq!(called("(uid~={name})"), ["uid=ann"]);
        assert_eq!(called("(uid:caseExactMatch:={name})"), ["uid=ann"]);
        for none in [
            "(uid={name}*)",
            "(mail=*{name}@*)",
            "(uid>={name})",
            "(:caseExactMatch:={name})",
            r"(uid={name}\ff)",
            "(&(uid=ann)(cn=*))",
        ] {
            assert_eq!(called(none), [""; 0], "{none}");
        }
    }

    #[test]
    fn what_is_no_filter_is_refused() {
        for wrong in [
            "",
            "uid",
            "(uid)",
            "(uid=a",
            "uid=a",
            "(uid=a))",
            "(&)",
            "(|)",
            "(!)",
            "(=a)",
            "(u d=a)",
            r"(uid=\2)",
            r"(uid=\zz)",
            "(uid>=a*)",
            "(:=a)",
            "(a:b:c:=d)",
            "(uid=a)(uid=b)",
            "(!(uid={name}))",
            "(&(cn=*)(!(|(cn=x)(member={dn}))))",
        ] {
            assert!(Filter::read(wrong).is_err(), "{wrong}");
        }
        assert!(Filter::read(&format!("{}(a=b){}", "(!".repeat(40), ")".repeat(40))).is_err());
    }

    proptest! {
        /// Whatever a name is, the filter around it stays as it is, and the name comes back as its one value.
        #[test]
        fn a_name_is_a_value_and_nothing_else(name in "\\PC{0,40}") {
            let bytes = with("(&(objectClass=person)(uid={name}))", &name).unwrap();
            let mut all = Elements(Elements(&bytes).next(AND).unwrap());
            all.next(EQUAL).unwrap();
            let mut compared = Elements(all.next(EQUAL).unwrap());
            prop_assert!(all.is_empty());
            prop_assert_eq!(compared.text(ber::OCTETS), Ok("uid"));
            prop_assert_eq!(compared.text(ber::OCTETS), Ok(name.as_str()));
            prop_assert!(compared.is_empty());
        }

        #[test]
        fn no_text_breaks_the_reader(text in "[(&|!)=*:~<>a{}\\\\0-9é]{0,30}") {
            let _ = Filter::read(&text).map(|filter| filter.with(Values::default()));
        }
    }
}
