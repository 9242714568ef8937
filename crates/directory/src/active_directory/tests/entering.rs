//! Who is somebody, by which names, and who may not enter.

use std::collections::HashMap;

use ingather_testkit::slapd::Slapd;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;
use crate::scripted::NOT_ANN;

fn added(name: &str, lines: &str) -> String {
    format!("dn: CN={name},OU=other,{DOMAIN}\nchangetype: add\n{lines}\n")
}

#[test]
fn whoever_is_disabled_or_expired_holds_nothing_and_what_is_no_person_is_nobody() {
    ingather_testkit::needs!(Machine);
    let world = world::shared();
    let user = |name: &str, lines: &str| {
        added(name, &format!("objectClass: user\nsAMAccountName: {name}\ndescription: {name}\n{lines}"))
    };
    // The expiry is that of `NOW`, in hundreds of nanoseconds since 1601.
    world.server.change(
        &[
            user("off", "userAccountControl: 546\n"),
            user("ends", "userAccountControl: 544\naccountExpires: 134116992000000000\n"),
            user("ever", "userAccountControl: 544\naccountExpires: 0\n"),
            user("trust", "userAccountControl: 544\n"),
            user("locked", "userAccountControl: 544\nlockoutTime: 134116992000000000\n"),
            added("machine", "objectClass: computer\nsAMAccountName: machine$\nuserAccountControl: 4096\n"),
            added("friend", "objectClass: contact\ndisplayName: friend\n"),
            added("crew", "objectClass: group\nsAMAccountName: crew\n"),
        ]
        .concat(),
    );
    // The account of another domain that trusts this one.
    world.server.write(&format!(
        "dn: CN=trust,OU=other,{DOMAIN}\nchangetype: modify\nreplace: userAccountControl\nuserAccountControl: 2080\n"
    ));
    let authority = opened(&settings(&world.server.url()));
    assert_eq!(ask(authority.as_ref(), "off"), Ok(Answer::Unauthorized));
    assert!(whole(ask_at(authority.as_ref(), "ends", NOW - 1)).contains("S-1-1-0"));
    assert_eq!(ask_at(authority.as_ref(), "ends", NOW), Ok(Answer::Unauthorized));
    assert!(whole(ask_at(authority.as_ref(), "ever", i64::MAX)).contains("S-1-1-0"));
    assert!(whole(ask(authority.as_ref(), "locked")).contains("S-1-1-0"));
    assert!(whole(ask(authority.as_ref(), "Administrator")).contains(&world.of_the_domain(500)));
    for nobody in
        ["trust", "machine$", "machine", "friend", "crew", "g0", "Domain Users", "DC1$", "dc1", "Users"]
    {
        assert_eq!(ask(authority.as_ref(), nobody), Ok(Answer::Unknown), "{nobody}");
    }
    // Enabled, a guest is let in as nobody in particular.
    let guest = |control: u32| {
        format!(
            "dn: CN=Guest,CN=Users,{DOMAIN}\nchangetype: modify\nreplace: userAccountControl\nuserAccountControl: {control}\n"
        )
    };
    world.server.change(&guest(66_048 | 32));
    assert_eq!(ask(authority.as_ref(), "Guest"), Ok(Answer::Unauthorized));
    world.server.change(&guest(66_050 | 32));
    // One who is let in again.
    world.server.change(&format!(
        "dn: CN=off,OU=other,{DOMAIN}\nchangetype: modify\nreplace: userAccountControl\nuserAccountControl: 544\n"
    ));
    assert!(whole(ask(authority.as_ref(), "off")).contains("S-1-1-0"));
}

#[test]
fn people_are_known_by_the_names_that_settings_read() {
    ingather_testkit::needs!(Machine);
    let world = world::shared();
    let of = |change: &Value| opened(&changed(settings(&world.server.url()), change));
    let both = of(&json!({"domain": "T"}));
    let ann = world.expected(1);
    for name in ["p001", "P001", "upn1@t.test", "UPN1@T.TEST", "T\\p001", "t\\P001"] {
        assert_eq!(whole(ask(both.as_ref(), name)), ann, "{name}");
    }
    for name in ["upn1", "p001@t.test", "X\\p001", "\\p001", "T\\", "T\\upn1@t.test", "p001\\", "T\\T\\p001"]
    {
        assert_eq!(ask(both.as_ref(), name), Ok(Answer::Unknown), "{name}");
    }
    assert_eq!(ask(of(&json!({})).as_ref(), "T\\p001"), Ok(Answer::Unknown), "no short name is set");
    let account = of(&json!({"names": ["account_name"]}));
    assert_eq!(ask(account.as_ref(), "upn1@t.test"), Ok(Answer::Unknown));
    assert_eq!(whole(ask(account.as_ref(), "p001")), ann);
    let principal = of(&json!({"names": ["principal_name"]}));
    assert_eq!(ask(principal.as_ref(), "p001"), Ok(Answer::Unknown));
    assert_eq!(whole(ask(principal.as_ref(), "upn1@t.test")), ann);
    // A unit inside the domain: groups are anywhere, and people outside of it are nobody.
    let unit = of(&json!({"base": format!("OU=people,{DOMAIN}")}));
    assert_eq!(whole(ask(unit.as_ref(), "p001")), ann);
    assert_eq!(ask(unit.as_ref(), "Administrator"), Ok(Answer::Unknown));
}

/// The controller at hand takes fewer spellings for one name than those of Windows do; `scripted` shows what those find.
#[test]
fn a_name_that_only_looks_alike_is_that_of_nobody() {
    ingather_testkit::needs!(Machine);
    let world = world::shared();
    world.server.change(
        &["ann", "ann smith"]
            .map(|name| {
                let lines =
                    format!("objectClass: user\nsAMAccountName: {name}\nuserPrincipalName: {name}@t.test\n");
                added(name, &format!("{lines}userAccountControl: 544\n"))
            })
            .concat(),
    );
    let authority = opened(&settings(&world.server.url()));
    for name in ["ann", "ANN", "ann@t.test", "ann smith", "Ann Smith"] {
        assert!(whole(ask(authority.as_ref(), name)).contains("S-1-1-0"), "{name}");
    }
    for name in NOT_ANN.into_iter().chain(["ann  smith", "ann\u{a0}smith"]) {
        assert_eq!(ask(authority.as_ref(), name), Ok(Answer::Unknown), "{name:?}");
        assert_eq!(ask(authority.as_ref(), &format!("{name}@t.test")), Ok(Answer::Unknown), "{name:?}");
    }
}

const HOSTILE: &[&str] = &[
    "",
    "*",
    "p00*",
    "p001*",
    "p001)(objectClass=*",
    "*)(|(objectClass=*)",
    "x)(|(sAMAccountName=p001",
    "\\2a",
    "\\",
    "\\\\",
    "\0",
    "p001\0",
    "\0p001",
    "p001\n",
    " p001",
    "p001 ",
    "p001)",
    "(p001",
    "CN=Person 1,OU=people,DC=t,DC=test",
    "<GUID=p001>",
    "S-1-1-0",
    "<SID=S-1-5-18>",
    "{name}",
    "{dn}",
    "p001#",
    "p001;x",
    "\u{a0}p001",
    "\u{202e}p001",
    "@",
    "@t.test",
    "*@t.test",
    "upn1@*",
    "upn1@t.test@t.test",
    "|",
    "&",
    "!",
    "(sAMAccountName=p001)",
];

#[test]
fn no_name_means_anybody_else_or_several() {
    ingather_testkit::needs!(Machine);
    let world = world::shared();
    let authority = opened(&settings(&world.server.url()));
    let by_name: HashMap<String, usize> =
        world.people.iter().enumerate().map(|(at, (name, _))| (name.to_lowercase(), at)).collect();
    let answers = |name: &str| match ask(authority.as_ref(), name) {
        Ok(Answer::Unknown) => assert!(!by_name.contains_key(&name.to_lowercase()), "{name:?} is known"),
        // What two spellings have in common is for the directory to say.
        Ok(Answer::Known(tokens)) => {
            let who = by_name.get(&name.to_lowercase());
            let who = who.unwrap_or_else(|| panic!("{name:?} is nobody: {tokens:?}"));
            assert_eq!(whole(Ok(Answer::Known(tokens))), world.expected(*who), "{name:?}");
        }
        other => panic!("{name:?}: {other:?}"),
    };
    HOSTILE.iter().for_each(|name| answers(name));
    for (name, _) in world.people.iter().filter(|(name, _)| !name.starts_with('p')) {
        let cut: String = name.chars().skip(1).collect();
        [name.as_str(), &cut, &format!("{name}*"), &format!("{name})")].into_iter().for_each(answers);
    }
    let mut runner = TestRunner::new(Config { cases: 200, failure_persistence: None, ..Config::default() });
    let names = prop_oneof!["\\PC{0,20}", "[p0-9*()\\\\&|!={}, a-f\u{0}]{1,12}", "p0[0-9]{2}"];
    runner
        .run(&names, |name| {
            answers(&name);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_check_goes_the_way_of_questions_and_names_what_is_missing() {
    ingather_testkit::needs!(Machine);
    let world = world::shared();
    let check = |change: &Value| {
        opened(&changed(settings(&world.server.url()), change))
            .check(&call_at(NOW))
            .map_err(|fault| fault.reason().message)
    };
    assert_eq!(check(&json!({})), Ok(format!("it answers {ADMIN} about people below {DOMAIN}")));
    assert_eq!(check(&json!({"base": "OU=people, dc=T, dc=Test"})).map(drop), Ok(()));
    let other = Slapd::start("", "");
    let of_another = json!({
        "url": [other.url()], "bind_dn": ingather_testkit::slapd::ADMIN, "bind_password": ingather_testkit::slapd::PASSWORD,
        "base": ingather_testkit::slapd::SUFFIX,
    });
    for (change, words) in [
        (json!({"base": format!("OU=nowhere,{DOMAIN}")}), "no entry `OU=nowhere"),
        (json!({"base": "DC=example,DC=org"}), "name controllers of that domain"),
        (json!({"bind_password": "wrong"}), "`bind_dn` or `bind_password` is wrong"),
        (json!({"bind_dn": "nobody@t.test"}), "`bind_dn` or `bind_password` is wrong"),
        (json!({"url": ["ldap://127.0.0.1:1"]}), "cannot be reached"),
        (of_another, "use the authority `ldap`"),
    ] {
        let told = check(&change).unwrap_err();
        assert!(told.contains(words), "{change}: {told}");
    }
}
