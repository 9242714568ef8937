//! A made-up domain with odd names, groups of all kinds in each other and in circles, and who holds what by its own drawing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::{LazyLock, RwLock, RwLockReadGuard, RwLockWriteGuard};

use ingather_testkit::samba::{DOMAIN, Samba, base64, secret};

pub(super) const PEOPLE: usize = 100;
const GROUPS: usize = 60;
/// Groups inside each other.
const CHAIN: usize = 6;
/// `groupType` (MS-ADTS, 2.2.12): global, universal and domain-local ones, of security; and universal ones for mail alone.
const GLOBAL: i64 = -2_147_483_646;
const UNIVERSAL: i64 = -2_147_483_640;
const LOCAL: i64 = -2_147_483_644;
const FOR_MAIL: i64 = 8;
/// Names that Active Directory lets people have.
const ODD: &[&str] = &[
    "o'neil",
    "a(b)",
    "é ü 漢",
    "x#y",
    "a&b",
    "!x",
    "{name}",
    "%s",
    "-x",
    "sp ace",
    "a.b",
    "(par",
    "par)",
    "~",
];

pub(super) struct World {
    pub(super) server: Samba,
    /// Account names, and where they are.
    pub(super) people: Vec<(String, String)>,
    /// Groups that each person is listed in.
    listed: Vec<BTreeSet<usize>>,
    /// Groups that each group is listed in.
    within: Vec<BTreeSet<usize>>,
    types: Vec<i64>,
    /// By what their descriptions say.
    sids: BTreeMap<String, String>,
}

static SHARED: LazyLock<RwLock<World>> = LazyLock::new(|| RwLock::new(World::made()));

/// The one that tests share; whoever stops its server takes [`alone`].
pub(super) fn shared() -> RwLockReadGuard<'static, World> {
    SHARED.read().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The one that tests share, for one test alone.
pub(super) fn alone() -> RwLockWriteGuard<'static, World> {
    SHARED.write().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn person(at: usize) -> (String, String) {
    let odd = ODD[at / 5 % ODD.len()];
    let name = if at % 5 == 3 { format!("{odd}{at}") } else { format!("p{at:03}") };
    // Names of entries are odd by themselves.
    let called =
        if at % 7 == 3 { format!("Person\\, \\\"{at}\\\" \\+ (x) é") } else { format!("Person {at}") };
    (name, format!("CN={called},OU=people,{DOMAIN}"))
}

fn group(at: usize) -> String {
    format!("CN=g{at},OU=groups,{DOMAIN}")
}

/// The type of a group, and the groups that it is listed in.
fn nested(at: usize) -> (i64, BTreeSet<usize>) {
    let (chain, place) = (at / CHAIN, at % CHAIN);
    let kind = match place {
        2 if chain % 4 == 3 => FOR_MAIL,
        0 | 1 => GLOBAL,
        2 | 3 => UNIVERSAL,
        _ => LOCAL,
    };
    let mut within = BTreeSet::new();
    if place + 1 < CHAIN {
        within.insert(at + 1);
    } else if chain.is_multiple_of(3) {
        // A circle.
        within.insert(at - 1);
    }
    if place == 1 {
        within.insert((at + CHAIN + 1) % GROUPS);
    }
    (kind, within)
}

impl World {
    fn made() -> World {
        let mut random = fastrand::Rng::with_seed(7);
        let people: Vec<_> = (0..PEOPLE).map(person).collect();
        let listed: Vec<BTreeSet<usize>> =
            (0..PEOPLE).map(|_| (0..random.usize(0..5)).map(|_| random.usize(..GROUPS)).collect()).collect();
        let (types, within): (Vec<_>, Vec<_>) = (0..GROUPS).map(nested).unzip();
        let server = Samba::start();
        server.change(&ldif(&people, &listed, &within, &types));
        let sids = described(&server);
        let world = World { server, people, listed, within, types, sids };
        // Somebody whose primary group is one of these, and no longer lists them.
        let primary = world.sids["g0"].rsplit_once('-').unwrap().1;
        let dn = &world.people[7].1;
        world.server.change(&format!(
            "dn: {}\nchangetype: modify\nadd: member\nmember:: {}\n\ndn:: {}\nchangetype: modify\nreplace: primaryGroupID\nprimaryGroupID: {primary}\n",
            group(0),
            base64(dn.as_bytes()),
            base64(dn.as_bytes())
        ));
        let mut world = world;
        world.listed[7].insert(0);
        world
    }

    /// The SID of what has this description, as Samba's own tool shows it.
    pub(super) fn sid(&self, described: &str) -> &str {
        &self.sids[described]
    }

    /// The SID of something that each domain has.
    pub(super) fn of_the_domain(&self, last: u32) -> String {
        let (domain, _) = self.sid("p0").rsplit_once('-').unwrap();
        format!("{domain}-{last}")
    }

    /// Groups of security that hold a person by the drawing, until nothing is added; what is for mail alone holds nobody, and leads
    /// nowhere.
    pub(super) fn groups(&self, who: usize) -> BTreeSet<usize> {
        let (mut held, mut next) = (BTreeSet::new(), self.listed[who].clone());
        while let Some(at) = next.pop_first() {
            if self.types[at] != FOR_MAIL && held.insert(at) {
                next.extend(&self.within[at]);
            }
        }
        held
    }

    pub(super) fn expected(&self, who: usize) -> BTreeSet<String> {
        let groups = self.groups(who);
        let named = groups.iter().map(|at| format!("g{at}")).chain([format!("p{who}")]);
        let mut all: BTreeSet<String> = named.map(|named| self.sid(&named).to_owned()).collect();
        all.extend([self.of_the_domain(513), "S-1-5-32-545".to_owned()]);
        all.extend(["S-1-1-0", "S-1-5-2", "S-1-5-11", "S-1-5-15"].map(str::to_owned));
        all
    }
}

/// SIDs of all that has a description of one word, by it.
fn described(server: &Samba) -> BTreeMap<String, String> {
    let text = server.read(DOMAIN, "sub", "(&(objectSid=*)(description=*))", &["description", "objectSid"]);
    let mut sids = BTreeMap::new();
    for record in text.split("\n\n") {
        let value = |name: &str| record.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        if let (Some(named), Some(sid)) = (value("description: "), value("objectSid: ")) {
            sids.insert(named, sid);
        }
    }
    sids
}

fn ldif(
    people: &[(String, String)],
    listed: &[BTreeSet<usize>],
    within: &[BTreeSet<usize>],
    types: &[i64],
) -> String {
    let mut ldif = String::new();
    for unit in ["people", "groups", "other"] {
        let dn = format!("OU={unit},{DOMAIN}");
        writeln!(ldif, "dn: {dn}\nchangetype: add\nobjectClass: organizationalUnit\n").unwrap();
    }
    for (at, (name, dn)) in people.iter().enumerate() {
        writeln!(ldif, "dn:: {}\nchangetype: add\nobjectClass: user", base64(dn.as_bytes())).unwrap();
        writeln!(ldif, "sAMAccountName:: {}\ndescription: p{at}", base64(name.as_bytes())).unwrap();
        // Another one than the account name.
        writeln!(ldif, "userPrincipalName: upn{at}@t.test\nuserAccountControl: 512").unwrap();
        writeln!(ldif, "{}", secret()).unwrap();
    }
    for (at, kind) in types.iter().enumerate() {
        writeln!(ldif, "dn: {}\nchangetype: add\nobjectClass: group", group(at)).unwrap();
        writeln!(ldif, "sAMAccountName: g{at}\ndescription: g{at}\ngroupType: {kind}\n").unwrap();
    }
    for at in 0..types.len() {
        let of_people = listed.iter().zip(people).filter(|(groups, _)| groups.contains(&at));
        let dns = of_people.map(|(_, (_, dn))| dn.clone());
        let inner = within.iter().enumerate().filter(|(_, groups)| groups.contains(&at));
        let dns: Vec<String> = dns.chain(inner.map(|(inner, _)| group(inner))).collect();
        if !dns.is_empty() {
            writeln!(ldif, "dn: {}\nchangetype: modify\nadd: member", group(at)).unwrap();
            dns.iter().for_each(|dn| writeln!(ldif, "member:: {}", base64(dn.as_bytes())).unwrap());
            ldif.push('\n');
        }
    }
    ldif
}
