//! A made-up company with odd names, groups in groups and in circles, and who holds what by its own drawing.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::{Arc, Mutex, Weak};

use ingather_testkit::slapd::{SUFFIX, Slapd};

/// People, unless `INGATHER_TEST_PEOPLE` asks for another number.
const PEOPLE: usize = 2_000;
/// Groups inside each other.
const CHAIN: usize = 7;
const ODD: &[&str] = &[
    "o'neil",
    "a,b+c",
    "\"q\" \\ back",
    "st*r",
    "(par)",
    "#hash",
    " lead",
    "trail ",
    "é ü 漢",
    "semi;colon",
    "<lt>=eq",
    "sl/ash",
    "\\2a",
    "*)(uid=*",
    "dn=x,dc=y",
    "{name}",
    "{dn}",
    "%s",
];

/// How a group lists its members.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lists {
    Member,
    UniqueMember,
    MemberUid,
}

pub(super) struct Group {
    pub(super) name: String,
    dn: String,
    pub(super) lists: Lists,
    people: BTreeSet<usize>,
    groups: BTreeSet<usize>,
}

/// How many people there are.
fn number_of_people() -> usize {
    std::env::var("INGATHER_TEST_PEOPLE").map_or(PEOPLE, |number| number.parse().expect("a number"))
}

/// One for five people.
fn number_of_groups() -> usize {
    number_of_people() / 5
}

pub(super) struct World {
    /// Names, and where they are.
    pub(super) people: Vec<(String, String)>,
    pub(super) groups: Vec<Group>,
    pub(super) server: Slapd,
}

/// A value of a distinguished name (RFC 4514).
fn escaped(value: &str) -> String {
    let mut text = String::new();
    let last = value.chars().count() - 1;
    for (at, c) in value.chars().enumerate() {
        let at_an_end = (at == 0 && " #".contains(c)) || (at == last && c == ' ');
        if ",+\"\\<>;=".contains(c) || at_an_end {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

fn line(ldif: &mut String, name: &str, value: &str) {
    // As base64, whatever is in it.
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut coded = String::new();
    for three in value.as_bytes().chunks(3) {
        let all =
            three.iter().chain([&0, &0]).take(3).fold(0_usize, |all, byte| all << 8 | usize::from(*byte));
        for at in 0..4 {
            let digit = char::from(digits[all >> (18 - 6 * at) & 0x3f]);
            coded.push(if at > three.len() { '=' } else { digit });
        }
    }
    writeln!(ldif, "{name}:: {coded}").unwrap();
}

fn person(at: usize) -> (String, String) {
    let odd = ODD[at / 10 % ODD.len()];
    let name = if at % 10 == 3 { format!("{}{at}", odd.trim_start()) } else { format!("p{at:04}") };
    let called = if at % 10 >= 7 { format!("{odd}{at}") } else { format!("Person {at}") };
    (name, format!("cn={},ou=people,{SUFFIX}", escaped(&called)))
}

fn group(at: usize, random: &mut fastrand::Rng) -> Group {
    let name = match at % 13 {
        5 => format!("{}{at}", ODD[at / 13 % ODD.len()].trim_start()),
        _ => format!("g{at}"),
    };
    let dn = format!("cn={},ou=groups,{SUFFIX}", escaped(&name));
    let lists = match at % 20 {
        9 => Lists::UniqueMember,
        19 => Lists::MemberUid,
        _ => Lists::Member,
    };
    let people = (0..random.usize(1..30)).map(|_| random.usize(..number_of_people())).collect();
    let mut groups = BTreeSet::new();
    if !(at + 1).is_multiple_of(CHAIN) && at + 1 < number_of_groups() {
        groups.insert(at + 1);
    } else if at.is_multiple_of(3) {
        groups.insert(at + 1 - CHAIN.min(at + 1));
    }
    if at.is_multiple_of(17) {
        groups.insert(at);
    }
    if at.is_multiple_of(11) {
        groups.insert(random.usize(..number_of_groups()));
    }
    if lists == Lists::MemberUid {
        groups.clear();
    }
    Group { name, dn, lists, people, groups }
}

impl World {
    /// The one that tests share while any of them runs.
    pub(super) fn shared() -> Arc<World> {
        static SHARED: Mutex<Weak<World>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        shared.upgrade().unwrap_or_else(|| {
            let world = Arc::new(World::made());
            *shared = Arc::downgrade(&world);
            world
        })
    }

    fn made() -> World {
        let mut random = fastrand::Rng::with_seed(7);
        let people: Vec<_> = (0..number_of_people()).map(person).collect();
        let groups: Vec<_> = (0..number_of_groups()).map(|at| group(at, &mut random)).collect();
        let ldif = ldif(&people, &groups);
        World { server: Slapd::start(&ldif, "sizelimit unlimited\n"), people, groups }
    }

    /// Tokens of a person by the drawing: whatever holds a holder is held, until nothing is added.
    pub(super) fn expected(&self, who: usize, counts: impl Fn(&Group) -> bool) -> Vec<String> {
        let is_there = |group: &Group, who: usize| match group.lists {
            Lists::MemberUid => group.people.contains(&who) && self.people[who].0.is_ascii(),
            _ => group.people.contains(&who),
        };
        let mut held: Vec<bool> =
            self.groups.iter().map(|group| counts(group) && is_there(group, who)).collect();
        loop {
            let before = held.clone();
            for (at, group) in self.groups.iter().enumerate() {
                held[at] |= counts(group) && group.groups.iter().any(|inner| before[*inner]);
            }
            if held == before {
                break;
            }
        }
        let mut tokens = vec![format!("user:{}", self.people[who].0)];
        let of_groups = self.groups.iter().zip(&held).filter(|(_, held)| **held);
        tokens.extend(of_groups.map(|(group, _)| format!("group:{}", group.name)));
        tokens.sort();
        tokens
    }
}

fn ldif(people: &[(String, String)], groups: &[Group]) -> String {
    let mut ldif = String::new();
    for unit in ["people", "groups"] {
        writeln!(ldif, "dn: ou={unit},{SUFFIX}\nobjectClass: organizationalUnit\nou: {unit}\n").unwrap();
    }
    // What the overlay would keep, which does not see what is loaded.
    let lists = |holds: &dyn Fn(&Group) -> bool| -> Vec<&str> {
        let known = groups.iter().filter(|group| group.lists == Lists::Member && holds(group));
        known.map(|group| group.dn.as_str()).collect()
    };
    for (at, (name, dn)) in people.iter().enumerate() {
        line(&mut ldif, "dn", dn);
        ldif.push_str("objectClass: inetOrgPerson\nsn: x\n");
        line(&mut ldif, "uid", name);
        for dn in lists(&|group| group.people.contains(&at)) {
            line(&mut ldif, "memberOf", dn);
        }
        ldif.push('\n');
    }
    for (at, group) in groups.iter().enumerate() {
        line(&mut ldif, "dn", &group.dn);
        line(&mut ldif, "cn", &group.name);
        let dns = group.people.iter().map(|who| &people[*who].1);
        let dns = dns.chain(group.groups.iter().map(|inner| &groups[*inner].dn));
        match group.lists {
            Lists::Member => {
                ldif.push_str("objectClass: groupOfNames\n");
                dns.for_each(|dn| line(&mut ldif, "member", dn));
            }
            Lists::UniqueMember => {
                ldif.push_str("objectClass: groupOfUniqueNames\n");
                dns.for_each(|dn| line(&mut ldif, "uniqueMember", dn));
            }
            Lists::MemberUid => {
                writeln!(ldif, "objectClass: posixGroup\ngidNumber: {}", 1_000 + at).unwrap();
                let names = group.people.iter().map(|who| &people[*who].0).filter(|name| name.is_ascii());
                names.for_each(|name| line(&mut ldif, "memberUid", name));
            }
        }
        for dn in lists(&|outer| outer.groups.contains(&at)) {
            line(&mut ldif, "memberOf", dn);
        }
        ldif.push('\n');
    }
    ldif
}
