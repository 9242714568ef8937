//! A server of the test's own: whom it is, whom it lets in, and what is said of passwords.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Mutex;
use std::time::Instant;

use ingather_testkit::postgres::Postgres;

use super::*;
use crate::proxies::serving;

const PASSWORD: &str = "zebra-secret-7";
/// The administrator needs nothing; `reader` a password, over TLS where it comes by the network.
const RULES: &str = "\
hostnossl all ingather 127.0.0.1/32 trust
hostssl all reader 127.0.0.1/32 scram-sha-256
hostnossl all local 127.0.0.1/32 scram-sha-256
hostnossl all old 127.0.0.1/32 password
";

fn server() -> Postgres {
    let roles = format!(
        "CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'; CREATE ROLE local LOGIN PASSWORD '{PASSWORD}';
         CREATE ROLE old LOGIN PASSWORD '{PASSWORD}';
         GRANT SELECT ON people, members TO reader, local, old;"
    );
    Postgres::start(&format!("{FEW} {roles}"), RULES)
}

fn of(server: &Postgres, change: &Value) -> Arc<dyn Authority> {
    opened(&changed(
        json!({
            "url": server.url("localhost", "reader"), "password": PASSWORD, "tls": "start", "ca_file": server.root(),
            "person": PERSON, "tokens": TOKENS,
        }),
        change,
    ))
}

#[test]
fn a_server_is_asked_that_is_who_it_should_be_and_no_other_one() {
    let server = server();
    let other = server.other_root();
    let here = || server.url("127.0.0.1", "reader");
    assert_eq!(whole(ask(of(&server, &json!({})).as_ref(), "ann")), ANN);
    for (change, words) in [
        // Not for this name, by nobody who is known, and by nobody whom the system knows.
        (json!({"url": here()}), "certificate"),
        (json!({"ca_file": other}), "certificate"),
        (json!({"ca_file": null}), "certificate"),
        (json!({"ca_file": "/nowhere/roots.pem"}), "/nowhere/roots.pem"),
        // Its rules demand TLS of this role, and never of that one.
        (json!({"tls": null}), "code 28000"),
        (json!({"url": server.url("localhost", "local")}), "code 28000"),
    ] {
        let authority = of(&server, &change);
        let said = fault(ask(authority.as_ref(), "ann"));
        assert!(said.contains(words) && !said.contains(PASSWORD), "{change}: {said}");
        assert!(authority.check(&call()).is_err(), "{change}");
    }
}

/// Whoever is not who the settings trust is told nothing but that they may begin with TLS: no role and no password.
#[test]
fn a_password_goes_to_nobody_who_has_not_proven_who_they_are() {
    let server = server();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (port, copy) = (server.url("localhost", "reader"), Arc::clone(&heard));
    let port: u16 = port.rsplit_once('/').unwrap().0.rsplit_once(':').unwrap().1.parse().unwrap();
    let listening = serving(move |client| {
        let mut to = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (mut from, mut back) = (to.try_clone().unwrap(), client.try_clone().unwrap());
        let (heard, mut client) = (Arc::clone(&copy), client);
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut back);
            let _ = back.shutdown(Shutdown::Both);
        });
        let mut buffer = [0; 4_096];
        while let Ok(count @ 1..) = client.read(&mut buffer) {
            heard.lock().unwrap().extend_from_slice(&buffer[..count]);
            to.write_all(&buffer[..count]).unwrap();
        }
        let _ = to.shutdown(Shutdown::Both);
    });
    let at = |host: &str| {
        listening.replace("ldap://127.0.0.1", &format!("postgres://reader@{host}")) + "/postgres"
    };
    let said = fault(ask(of(&server, &json!({"url": at("127.0.0.1")})).as_ref(), "ann"));
    assert!(said.contains("certificate"), "{said}");
    let said = fault(ask(
        of(&server, &json!({"url": at("localhost"), "ca_file": server.other_root()})).as_ref(),
        "ann",
    ));
    assert!(said.contains("certificate"), "{said}");
    // The other way round, all that is heard is what TLS hides.
    assert_eq!(whole(ask(of(&server, &json!({"url": at("localhost")})).as_ref(), "ann")), ANN);
    let heard = heard.lock().unwrap();
    let holds = |words: &str| heard.windows(words.len()).any(|part| part == words.as_bytes());
    assert!(
        heard.len() > 1_000 && !holds("reader") && !holds(PASSWORD) && !holds("SELECT") && !holds("SCRAM")
    );
}

#[test]
fn a_wrong_password_is_a_fault_that_says_what_to_do_and_no_password() {
    let server = server();
    let plain = |role: &str, password: Value| {
        let change =
            json!({"url": server.url("127.0.0.1", role), "tls": null, "ca_file": null, "password": password});
        of(&server, &change)
    };
    for role in ["local", "old"] {
        assert_eq!(whole(ask(plain(role, json!(PASSWORD)).as_ref(), "ann")), ANN, "{role}");
    }
    for (authority, words) in [
        (of(&server, &json!({"password": "zebra-secret-8"})), "code 28P01"),
        (of(&server, &json!({"password": format!("{PASSWORD} ")})), "code 28P01"),
        (of(&server, &json!({"password": null})), "wants a password; set `password`"),
        (plain("local", json!("zebra-secret-8")), "code 28P01"),
        (plain("old", json!("zebra-secret-8")), "code 28P01"),
        (plain("old", json!("zebra-secret-8' OR true")), "set `password` to that of the role in `url`"),
        (plain("old", Value::Null), "wants a password; set `password`"),
        (of(&server, &json!({"password": "zebra-secret-8", "ca_file": null})), "certificate"),
        (of(&server, &json!({"url": server.url("localhost", "nobody")})), "code 28000"),
    ] {
        let answer = ask(authority.as_ref(), "ann");
        let said = format!("{answer:?} {:?}", authority.check(&call()));
        let told = fault(answer);
        assert!(told.contains(words), "{told}");
        assert!(!said.contains("zebra-secret"), "{said}");
    }
}

#[test]
fn a_server_that_begins_again_is_asked_again_by_whoever_waited() {
    let mut server = server();
    let authority = of(&server, &json!({}));
    for _ in 0..2 {
        assert_eq!(whole(ask(authority.as_ref(), "ann")), ANN);
        server.stop();
        let said = fault(ask(authority.as_ref(), "ann"));
        assert!(said.contains("the database cannot be reached"), "{said}");
        server.go_on();
        assert_eq!(whole(ask(authority.as_ref(), "ann")), ANN);
    }
    // It was away and is back between two questions: nobody notices.
    server.stop();
    server.go_on();
    assert_eq!(whole(ask(authority.as_ref(), "ann")), ANN);
    // What was changed meanwhile counts: a role that may not log in any more is not asked through a connection of before.
    server.stop();
    server.go_on();
    server.script("ALTER ROLE reader PASSWORD 'another'");
    let said = fault(ask(authority.as_ref(), "ann"));
    assert!(said.contains("code 28P01") && !said.contains(PASSWORD), "{said}");
}

/// The server holds still in the middle of a question, as a machine does that has lost its network.
#[test]
fn a_server_that_holds_still_is_a_fault_in_time_and_is_asked_again() {
    let server = server();
    let authority = of(&server, &json!({}));
    assert_eq!(whole(ask(authority.as_ref(), "ann")), ANN);
    server.holds_still(true);
    // clock: real sockets wait by it.
    let began = Instant::now();
    for _ in 0..2 {
        let said = fault(ask_within(authority.as_ref(), "ann", Duration::from_millis(300)));
        assert!(said.contains("did not answer in time"), "{said}");
    }
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    server.holds_still(false);
    assert_eq!(whole(ask(authority.as_ref(), "ann")), ANN);
}
