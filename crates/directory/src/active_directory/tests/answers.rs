//! Who holds what: by the authority, by the drawing of the domain, by Samba's own tool, and by what a logon gives.

use std::time::Instant;

use ingather_testkit::suites::{self, AuthoritySample};

use super::super::AUTHORITY;
use super::*;

#[test]
fn it_keeps_what_an_authority_promises() {
    ingather_testkit::needs!(Machine);
    let mut world = world::alone();
    let expected = world.expected(1);
    let tokens: Vec<&str> = expected.iter().map(String::as_str).collect();
    let settings = settings(&world.server.url());
    let name = world.people[1].0.clone();
    let server = std::sync::Mutex::new(&mut world.server);
    let obstruct = || server.lock().unwrap().stop();
    let known = Some((name.as_str(), tokens.as_slice()));
    suites::authority(
        &AUTHORITY,
        &AuthoritySample { settings, known, presented: None, cut: None, obstruct: Some(&obstruct) },
    );
    world.server.go_on();
}

#[test]
fn people_hold_what_the_domain_draws() {
    ingather_testkit::needs!(Machine);
    let world = world::shared();
    let authority = opened(&settings(&world.server.url()));
    let (mut time, mut most) = (0.0, 0);
    for (who, (name, _)) in world.people.iter().enumerate() {
        // clock: how long a question takes is shown.
        let began = Instant::now();
        let held = whole(ask(authority.as_ref(), name));
        time += began.elapsed().as_secs_f64() * 1_000.0;
        assert_eq!(held, world.expected(who), "{name}");
        most = most.max(world.groups(who).len());
    }
    assert!(most > 12, "{most} groups");
    println!("ms for each question: {:.2}", time / world.people.len() as f64);
}

/// What base64 stands for.
fn decoded(text: &str) -> Vec<u8> {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let value = |c: u8| digits.iter().position(|digit| *digit == c).unwrap() as u32;
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for c in text.bytes().filter(|c| *c != b'=') {
        (bits, count) = (bits << 6 | value(c), count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    bytes
}

/// Of a SID with few numbers, as text.
fn text(bytes: &[u8]) -> String {
    let numbers = bytes[8..].chunks(4).map(|four| u32::from_le_bytes(four.try_into().unwrap()));
    format!("S-1-{}{}", bytes[7], numbers.map(|number| format!("-{number}")).collect::<String>())
}

/// Groups of an account, as Samba's own tool shows them.
fn sids(read: &str) -> impl Iterator<Item = &str> {
    read.lines().filter_map(|line| line.strip_prefix("tokenGroups: "))
}

/// Whoever logs in is shown what they hold: it is what the authority says. No controller by Samba gives `S-1-5-15`, and one by Windows does.
/// Groups that list all authenticated users a machine adds by itself, for whoever logs in to it: here, those of the controller.
#[test]
fn people_hold_what_a_logon_gives_them_and_what_samba_reads() {
    ingather_testkit::needs!(Machine);
    let world = world::shared();
    let authority = opened(&settings(&world.server.url()));
    let of_the_machine = world.server.read(
        &format!("CN=S-1-5-11,CN=ForeignSecurityPrincipals,{DOMAIN}"),
        "base",
        "(objectClass=*)",
        &["memberOf"],
    );
    let of_the_machine: BTreeSet<&str> =
        of_the_machine.lines().filter_map(|line| line.strip_prefix("memberOf: ")).collect();
    let named = ["Users", "Pre-Windows 2000 Compatible Access"];
    let named = named.map(|name| format!("CN={name},CN=Builtin,{DOMAIN}"));
    assert_eq!(of_the_machine, named.iter().map(String::as_str).collect());
    for who in (0..100).step_by(4) {
        let (name, dn) = &world.people[who];
        let mut held = whole(ask(authority.as_ref(), name));
        let read = world.server.read(dn, "base", "(objectClass=*)", &["tokenGroups"]);
        let read: BTreeSet<&str> = sids(&read).collect();
        assert!(read.len() >= 2 && read.iter().all(|sid| held.contains(*sid)), "{name}: {read:?}");
        let seen = world.server.seen_by(&format!("upn{who}@t.test"), "", &["tokenGroups"]);
        let seen: BTreeSet<String> = seen
            .lines()
            .filter_map(|line| line.strip_prefix("tokenGroups:: "))
            .map(|line| text(&decoded(line)))
            .collect();
        assert_eq!(held.len(), read.len() + 5, "{name}");
        assert!(held.remove("S-1-5-15"));
        held.extend(["S-1-5-32-545", "S-1-5-32-554"].map(str::to_owned));
        assert_eq!(held, seen, "{name}");
    }
}

/// Documents may name people and groups by what they were in a domain before.
#[test]
fn whoever_was_another_one_before_is_that_one_still() {
    ingather_testkit::needs!(Machine);
    let world = world::shared();
    let add =
        |name: &str| format!("dn: CN={name},OU=other,{DOMAIN}\nchangetype: add\nsAMAccountName: {name}\n");
    let member = |of: &str, who: &str| {
        format!(
            "dn: CN={of},OU=other,{DOMAIN}\nchangetype: modify\nadd: member\nmember: CN={who},OU=other,{DOMAIN}\n\n"
        )
    };
    world.server.change(&format!(
        "{}objectClass: user\nuserAccountControl: 544\n\n{}objectClass: group\n\n{}objectClass: group\n\n{}{}",
        add("moved"),
        add("mg1"),
        add("mg2"),
        member("mg1", "moved"),
        member("mg2", "mg1")
    ));
    let history = |name: &str, last: u8| {
        format!(
            "dn: CN={name},OU=other,{DOMAIN}\nchangetype: modify\nadd: sIDHistory\nsIDHistory: S-1-5-21-7-7-7-{last}\n\n"
        )
    };
    world.server.write(&format!("{}{}{}", history("moved", 1), history("mg2", 2), history("mg1", 3)));
    let held = whole(ask(opened(&settings(&world.server.url())).as_ref(), "moved"));
    let former: Vec<&String> = held.iter().filter(|sid| sid.starts_with("S-1-5-21-7-7-7-")).collect();
    assert_eq!(former, ["S-1-5-21-7-7-7-1", "S-1-5-21-7-7-7-2", "S-1-5-21-7-7-7-3"]);
    assert!(
        whole(ask(opened(&settings(&world.server.url())).as_ref(), "p001"))
            .is_disjoint(&former.into_iter().cloned().collect())
    );
}

/// Whoever asks needs no rights but those of everybody in the domain, and may be named in each way.
#[test]
fn an_ordinary_account_asks_as_well_as_an_administrator() {
    ingather_testkit::needs!(Machine);
    let world = world::shared();
    let dn = &world.people[2].1;
    for who in ["upn2@t.test", "T\\p002", dn] {
        let authority = opened(&changed(settings(&world.server.url()), &json!({ "bind_dn": who })));
        assert!(authority.check(&call_at(NOW)).unwrap().contains(who));
        for at in (0..100).step_by(9) {
            let name = &world.people[at].0;
            assert_eq!(whole(ask(authority.as_ref(), name)), world.expected(at), "{who} about {name}");
        }
    }
}

#[test]
fn twenty_threads_ask_at_once() {
    ingather_testkit::needs!(Machine);
    let world = world::shared();
    let authority = opened(&settings(&world.server.url()));
    std::thread::scope(|scope| {
        for thread in 0..20 {
            let (world, authority) = (&world, &authority);
            scope.spawn(move || {
                for at in 0..5 {
                    let who = (thread * 37 + at * 31) % world.people.len();
                    let name = &world.people[who].0;
                    assert_eq!(whole(ask(authority.as_ref(), name)), world.expected(who), "{name}");
                }
            });
        }
    });
}
