//! Names that want to be more than a name.

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::world::World;
use super::*;

const HOSTILE: &[&str] = &[
    "",
    "*",
    "**",
    "a*",
    "p00*",
    "p000?",
    "%",
    "a)(uid=*",
    "*)(uid=*",
    "*)(|(uid=*",
    "x)(|(objectClass=*)",
    "\\2a",
    "\\",
    "\\\\",
    "\\5c2a",
    "\0",
    "p0000\0",
    "\0p0000",
    "p0000\n",
    " p0000",
    "p0000 ",
    "p0000\t",
    "p0000)",
    "(p0000",
    "p0000)(cn=*",
    "admin)(|(password=*",
    "cn=admin,dc=example,dc=org",
    "p0000,ou=people",
    "{name}",
    "{dn}",
    "p0000#",
    "p0000;x",
    "\u{a0}p0000",
    "\u{202e}p0000",
    "ｐ０００１ x",
    "|",
    "&",
    "!",
    "=",
    "(uid=p0000)",
    "()",
    "p0000&p0001",
];

/// The one whom a name can mean: names are compared without regard to capitals, and by the forms of Unicode that look alike.
fn answers_as_the_one_of_this_name(
    world: &World,
    by_name: &HashMap<&str, usize>,
    authority: &dyn Authority,
    name: &str,
) {
    match ask(authority, name) {
        Ok(Answer::Unknown) => assert!(!by_name.contains_key(name), "{name:?} is known"),
        Ok(Answer::Known(tokens)) => {
            let folded = |text: &str| text.to_lowercase();
            let meant = by_name.get(name).copied();
            let meant =
                meant.or_else(|| world.people.iter().position(|(known, _)| folded(known) == folded(name)));
            let expected =
                world.expected(meant.unwrap_or_else(|| panic!("{name:?} is nobody: {tokens:?}")), |_| true);
            assert_eq!(whole(Ok(Answer::Known(tokens))), expected, "{name:?}");
        }
        other => panic!("{name:?}: {other:?}"),
    }
}

#[test]
fn no_name_means_anybody_else_or_several() {
    let world = World::shared();
    let authority = opened(&settings(&world.server.url()));
    let by_name: HashMap<&str, usize> =
        world.people.iter().enumerate().map(|(at, (name, _))| (name.as_str(), at)).collect();
    let answers = |name: &str| answers_as_the_one_of_this_name(&world, &by_name, authority.as_ref(), name);
    HOSTILE.iter().for_each(|name| answers(name));
    // Each odd name that somebody has, as it is, cut short, and doubled.
    for (name, _) in world.people.iter().filter(|(name, _)| !name.starts_with('p')) {
        let cut: String = name.chars().skip(1).collect();
        [name.as_str(), &cut, &format!("{name}*"), &format!("{name})")].into_iter().for_each(answers);
    }
    let mut runner = TestRunner::new(Config { cases: 400, failure_persistence: None, ..Config::default() });
    let names = prop_oneof!["\\PC{0,20}", "[p0-9*()\\\\&|!={}, a-f\u{0}]{1,12}", "p[0-2][0-9]{3}"];
    runner
        .run(&names, |name| {
            answers(&name);
            Ok(())
        })
        .unwrap();
}

#[test]
fn what_cannot_be_a_name_is_never_asked_for() {
    let nowhere = opened(&settings("ldap://127.0.0.1:1"));
    for name in ["", " ", "a\0", "a\n", " a", "a ", "\u{85}a", &"x".repeat(257)] {
        assert_eq!(ask(nowhere.as_ref(), name), Ok(Answer::Unknown), "{name:?}");
    }
    assert!(fault(ask(nowhere.as_ref(), &"x".repeat(256))).contains("cannot be reached"));
}
