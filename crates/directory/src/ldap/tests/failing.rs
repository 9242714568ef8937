//! Servers that are away, silent, broken or not who they should be: whoever is asked about holds all of their tokens, or it is a fault.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::world::World;
use super::*;
use crate::proxies::{cutting, serving};

const SHORT: Duration = Duration::from_millis(300);

#[test]
fn a_server_that_is_away_silent_or_no_directory_is_a_fault_in_time() {
    let silent = serving(|mut stream| {
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let dripping = serving(|mut stream| {
        let (_wait, never) = std::sync::mpsc::channel::<()>();
        while stream.write_all(&[0x30]).is_ok() {
            let _ = never.recv_timeout(Duration::from_millis(20));
        }
    });
    let mut huge = vec![0x30, 0x84, 0x7f, 0xff, 0xff, 0xff];
    huge.extend([0; 100]);
    // Elements inside each other, a hundred thousand deep.
    let mut deep = Vec::new();
    for level in 0..100_000_u32 {
        let [_, length @ ..] = (5 * (99_999 - level)).to_be_bytes();
        deep.extend([0x30, 0x83]);
        deep.extend(length);
    }
    let told = |bytes: Vec<u8>| {
        serving(move |mut stream| {
            let _ = stream.read(&mut [0; 1_024]);
            let _ = stream.write_all(&bytes);
            let _ = stream.read_to_end(&mut Vec::new());
        })
    };
    for (url, words) in [
        ("ldap://127.0.0.1:1".to_owned(), "cannot be reached"),
        ("ldap://no-such-host.invalid".to_owned(), "the name `no-such-host.invalid`"),
        (silent, "did not answer in time"),
        (dripping, "did not answer in time"),
        (told(huge), "sent too much"),
        (told(deep), "no directory, or a broken one"),
        (told(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()), "no directory, or a broken one"),
        (told(vec![0x30, 0]), "no directory, or a broken one"),
        (told(vec![0x30, 0x0c, 2, 1, 0, 0x78, 7, 10, 1, 52, 4, 0, 4, 0]), "it ended the connection"),
        (told(vec![0x30, 0x0c, 2, 1, 9, 0x61, 7, 10, 1, 0, 4, 0, 4, 0]), "no directory, or a broken one"),
    ] {
        let authority = opened(&changed(settings(&url), &json!({"tls": "start"})));
        // clock: real sockets wait by it.
        let began = Instant::now();
        // Names are looked up by the system, which may take longer.
        let within = if url.contains("invalid") { Duration::from_secs(20) } else { SHORT };
        let said = fault(ask_within(authority.as_ref(), "ann", within));
        assert!(
            said.contains(words) || (said.contains("in time") && url.contains("invalid")),
            "{url}: {said}"
        );
        assert!(began.elapsed() < Duration::from_secs(25), "{url}: {:?}", began.elapsed());
    }
}

/// Cut at each byte of the answers, an answer has all tokens or is a fault.
#[test]
fn an_answer_that_is_cut_anywhere_is_whole_or_a_fault() {
    let server = few();
    let after = Arc::new(AtomicUsize::new(usize::MAX));
    let url = cutting(([127, 0, 0, 1], server.port()).into(), Arc::clone(&after));
    let of = |groups: Value| changed(settings(&url), &json!({ "groups": groups }));
    for settings in
        [of(json!({"base": format!("ou=groups,{SUFFIX}")})), of(json!({"attribute": "memberOf", "max": 9}))]
    {
        let (mut faults, mut answers) = (0, 0);
        for bytes in 0..600 {
            after.store(bytes, Ordering::Relaxed);
            match ask(opened(&settings).as_ref(), "ann") {
                Err(_) => faults += 1,
                Ok(Answer::Known(tokens)) => {
                    answers += 1;
                    assert_eq!(whole(Ok(Answer::Known(tokens))), ANN);
                }
                other => panic!("{bytes}: {other:?}"),
            }
        }
        assert!(faults > 100 && answers > 50, "{faults} faults and {answers} answers");
        after.store(usize::MAX, Ordering::Relaxed);
    }
}

/// Bytes that are changed on their way never make a panic, and never an answer about somebody else.
#[test]
fn bytes_that_are_changed_on_their_way_break_nothing() {
    let server = few();
    let at = Arc::new(AtomicUsize::new(0));
    let (port, place) = (server.port(), Arc::clone(&at));
    let url = serving(move |client| {
        let mut to = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (mut from, mut client) = (to.try_clone().unwrap(), client);
        let mut back = client.try_clone().unwrap();
        let place = place.load(Ordering::Relaxed);
        std::thread::spawn(move || {
            let mut seen = 0;
            let mut buffer = [0; 4_096];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                if (seen..seen + count).contains(&place) {
                    buffer[place - seen] ^= 0x21;
                }
                seen += count;
                if back.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
            let _ = back.shutdown(Shutdown::Both);
        });
        let _ = std::io::copy(&mut client, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
    let settings = settings(&url);
    for place in 0..250 {
        at.store(place, Ordering::Relaxed);
        let _ = ask_within(opened(&settings).as_ref(), "ann", Duration::from_millis(100));
    }
}

#[test]
fn who_answers_is_checked_and_passwords_need_tls() {
    let (server, other) = (few(), few());
    let root = |of: &Slapd| json!({"ca_file": of.root()});
    let ask = |url: &str, change: &Value| ask(opened(&changed(settings(url), change)).as_ref(), "ann");
    let start = |of: &Slapd| json!({"ca_file": of.root(), "tls": "start"});
    assert_eq!(whole(ask(&server.secure_url(), &root(&server))), ANN);
    assert_eq!(whole(ask(&server.url(), &start(&server))), ANN);
    let here = server.secure_url().replace("127.0.0.1", "localhost");
    assert_eq!(whole(ask(&here, &root(&server))), ANN);
    let named = server.secure_url().replace("127.0.0.1", "127.0.0.2");
    // Another name than that of the certificate, roots of somebody else, and those of the system.
    let of_another =
        json!({"url": [named, server.secure_url().replace("127.0.0.1", "[::1]")], "ca_file": server.root()});
    assert!(ask("", &of_another).is_err());
    for (url, change) in
        [(server.secure_url(), root(&other)), (server.secure_url(), json!({})), (server.url(), start(&other))]
    {
        let said = fault(ask(&url, &change));
        assert!(said.contains("certificate"), "{url} {change}: {said}");
    }
    let missing = fault(ask(&server.secure_url(), &json!({"ca_file": "/nowhere/root.pem"})));
    assert!(missing.contains("`ca_file` /nowhere/root.pem"), "{missing}");
    assert!(
        fault(ask(&server.secure_url(), &json!({"ca_file": server.root().with_file_name("root.key")})))
            .contains("no certificate")
    );
    for wrong in [json!({"bind_password": "wrong"}), json!({"bind_dn": "cn=nobody"})] {
        let answer = ask(&server.url(), &wrong).unwrap_err();
        assert!(matches!(answer, Fault::Refused(_)), "{answer:?}");
        assert!(answer.reason().message.contains("`bind_dn` or `bind_password` is wrong"), "{answer}");
    }
}

/// What a man in the middle says before TLS begins is not taken for what comes after.
#[test]
fn nothing_is_taken_over_from_before_tls() {
    let mut said = vec![0x30, 0x0c, 2, 1, 1, 0x78, 7, 10, 1, 0, 4, 0, 4, 0];
    said.extend([0x30, 0x0c, 2, 1, 2, 0x61, 7, 10, 1, 0, 4, 0, 4, 0]);
    let url = serving(move |mut stream| {
        let _ = stream.read(&mut [0; 1_024]);
        let _ = stream.write_all(&said);
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let authority = opened(&changed(settings(&url), &json!({"tls": "start"})));
    let told = fault(ask(authority.as_ref(), "ann"));
    assert!(told.contains("between its answer and TLS"), "{told}");
}

#[test]
fn limits_of_the_server_and_of_the_settings_make_no_shorter_list() {
    let world = World::shared();
    let by_number = world.people.iter().position(|(name, _)| name == "p0000").unwrap();
    let all = world.expected(by_number, |_| true);
    let groups = |max: usize| json!({"groups": {"base": format!("ou=groups,{SUFFIX}"), "max": max}});
    let ask = |max| ask(opened(&changed(settings(&world.server.url()), &groups(max))).as_ref(), "p0000");
    assert_eq!(whole(ask(all.len() - 1)), all);
    for max in 1..all.len() - 1 {
        let part = in_part(ask(max));
        assert!(part.len() <= max + 1 && part.iter().all(|token| all.contains(token)), "{part:?}");
    }
    // A server that gives two entries at most, as it would a hundred thousand.
    let crowd: String = (0..5)
        .map(|at| format!("dn: cn=g{at},ou=groups,{SUFFIX}\nobjectClass: groupOfNames\ncn: g{at}\nmember: cn=Ann,ou=people,{SUFFIX}\n\n"))
        .collect();
    let limited =
        Slapd::start(&format!("{FEW}{crowd}"), "sizelimit size.hard=2 size.soft=2 size.prtotal=2\n");
    let nobody = json!({"bind_dn": null, "bind_password": null});
    let authority = opened(&changed(settings(&limited.url()), &nobody));
    let told = fault(super::ask(authority.as_ref(), "ann"));
    assert!(told.contains("limit"), "{told}");
}

#[test]
fn a_referral_is_not_followed_and_hides() {
    let server = few();
    server.change(&format!(
        "dn: ou=elsewhere,ou=groups,{SUFFIX}\nchangetype: add\nobjectClass: referral\nobjectClass: extensibleObject\nou: elsewhere\n\
         ref: ldap://127.0.0.1:1/ou=groups,{SUFFIX}\n"
    ));
    let authority = opened(&settings(&server.url()));
    let told = fault(ask(authority.as_ref(), "ann"));
    assert!(told.contains("referrals are not followed"), "{told}");
    assert!(authority.check(&call()).is_err());
    let below = json!({"groups": {"base": format!("ou=elsewhere,ou=groups,{SUFFIX}")}});
    let told = fault(ask(opened(&changed(settings(&server.url()), &below)).as_ref(), "ann"));
    assert!(told.contains("referrals are not followed"), "{told}");
}

#[test]
fn two_people_of_one_name_are_nobody() {
    let server = few();
    server.change(&format!(
        "dn: cn=Ann2,ou=people,{SUFFIX}\nchangetype: add\nobjectClass: inetOrgPerson\ncn: Ann2\nsn: A\nuid: ann\n"
    ));
    let authority = opened(&settings(&server.url()));
    assert!(fault(ask(authority.as_ref(), "ann")).contains("more than one entry"));
    server.change(&format!(
        "dn: cn=Ann3,ou=people,{SUFFIX}\nchangetype: add\nobjectClass: inetOrgPerson\ncn: Ann3\nsn: A\nuid: ann\n"
    ));
    assert!(fault(ask(authority.as_ref(), "ann")).contains("more than one entry"));
    assert_eq!(whole(ask(authority.as_ref(), "bob")), ["user:bob"]);
}

#[test]
fn a_restart_of_the_server_is_not_noticed_and_another_server_stands_in() {
    let mut server = few();
    let authority = opened(&settings(&server.url()));
    for _ in 0..3 {
        assert_eq!(whole(ask(authority.as_ref(), "ann")), ANN);
        server.go_on();
    }
    assert_eq!(whole(ask(authority.as_ref(), "ann")), ANN);
    let two = few();
    let both = opened(&changed(settings(""), &json!({"url": [server.url(), two.url()]})));
    assert_eq!(whole(ask(both.as_ref(), "ann")), ANN);
    server.stop();
    assert_eq!(whole(ask(both.as_ref(), "ann")), ANN, "by the second one");
    assert!(fault(ask(authority.as_ref(), "ann")).contains("cannot be reached"));
    drop(two);
    assert!(fault(ask(both.as_ref(), "ann")).contains("no server of it answers"));
    server.go_on();
    assert_eq!(whole(ask(both.as_ref(), "ann")), ANN);
    assert_eq!(whole(ask(authority.as_ref(), "ann")), ANN);
}

#[test]
fn twenty_threads_ask_at_once() {
    let world = World::shared();
    let authority = opened(&settings(&world.server.url()));
    std::thread::scope(|scope| {
        for thread in 0..20 {
            let (world, authority) = (&world, &authority);
            scope.spawn(move || {
                for at in 0..10 {
                    let who = (thread * 97 + at * 31) % world.people.len();
                    let name = &world.people[who].0;
                    assert_eq!(whole(ask(authority.as_ref(), name)), world.expected(who, |_| true), "{name}");
                }
            });
        }
    });
}
