//! Controllers that are away, that break off, or that are not who they should be: an answer is whole, or it is a fault.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::proxies::cutting;

/// Cut at many places of the answers, an answer has all tokens or is a fault.
#[test]
fn an_answer_that_is_cut_anywhere_is_whole_or_a_fault() {
    ingather_testkit::needs!(Machine);
    let world = world::shared();
    let after = Arc::new(AtomicUsize::new(usize::MAX));
    let url = cutting((world.server.address(), 389).into(), Arc::clone(&after));
    let expected = world.expected(1);
    let name = &world.people[1].0;
    let (mut faults, mut answers) = (0, 0);
    for bytes in (0..1_600).step_by(9) {
        after.store(bytes, Ordering::Relaxed);
        match ask(opened(&settings(&url)).as_ref(), name) {
            Err(_) => faults += 1,
            Ok(Answer::Known(tokens)) => {
                answers += 1;
                assert_eq!(whole(Ok(Answer::Known(tokens))), expected);
            }
            other => panic!("{bytes}: {other:?}"),
        }
    }
    assert!(faults > 40 && answers > 20, "{faults} faults and {answers} answers");
}

#[test]
fn who_answers_is_checked_and_passwords_need_tls() {
    ingather_testkit::needs!(Machine);
    let world = world::shared();
    let (server, expected) = (&world.server, world.expected(1));
    let ask = |url: &str, change: &Value| ask(opened(&changed(settings(url), change)).as_ref(), "p001");
    let root = json!({"ca_file": server.root()});
    assert_eq!(whole(ask(&server.secure_url(), &root)), expected);
    assert_eq!(whole(ask(&server.url(), &json!({"ca_file": server.root(), "tls": "start"}))), expected);
    // The roots of the system, and those of another domain.
    let other = ingather_testkit::slapd::Slapd::start("", "");
    for change in [json!({}), json!({"ca_file": other.root()})] {
        let said = fault(ask(&server.secure_url(), &change));
        assert!(said.contains("certificate"), "{change}: {said}");
    }
    // A way to it by an address that its certificate does not name.
    let way = cutting((server.address(), 636).into(), Arc::new(AtomicUsize::new(usize::MAX)));
    let said = fault(ask(&way.replace("ldap:", "ldaps:"), &root));
    assert!(said.contains("certificate"), "{said}");
    for wrong in [json!({"bind_password": "wrong"}), json!({"bind_dn": "CN=nobody,DC=t,DC=test"})] {
        let answer = ask(&server.url(), &wrong).unwrap_err();
        assert!(matches!(answer, Fault::Refused(_)), "{answer:?}");
        assert!(answer.reason().message.contains("`bind_dn` or `bind_password` is wrong"), "{answer}");
    }
}

#[test]
fn a_restart_of_the_controller_is_not_noticed_and_another_one_stands_in() {
    ingather_testkit::needs!(Machine);
    let mut world = world::alone();
    let expected = world.expected(1);
    let authority = opened(&settings(&world.server.url()));
    // The first one is not there.
    let dead = "ldap://127.0.0.1:1";
    let both = opened(&changed(settings(""), &json!({"url": [dead, world.server.url()]})));
    for _ in 0..2 {
        assert_eq!(whole(ask(authority.as_ref(), "p001")), expected);
        assert_eq!(whole(ask(both.as_ref(), "p001")), expected);
        world.server.go_on();
    }
    assert_eq!(whole(ask(authority.as_ref(), "p001")), expected);
    world.server.stop();
    assert!(fault(ask(authority.as_ref(), "p001")).contains("cannot be reached"));
    assert!(fault(ask(both.as_ref(), "p001")).contains("no server of it answers"));
    world.server.go_on();
    assert_eq!(whole(ask(both.as_ref(), "p001")), expected);
    assert_eq!(whole(ask(authority.as_ref(), "p001")), expected);
}
