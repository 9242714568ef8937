//! A name counts when it comes from a listed address and with the secret, and in no other case; whoever it names searches, and does nothing else.

use std::io::Write;

use ingather_operations::OPERATIONS;
use ingather_operations::operation::{Rest, Role};
use rustix::process::Signal;
use serde_json::json;

use super::socket::ask;
use super::{SEARCH, SECRET, behind, found, named, number, secret, secret_file, two_files};
use crate::people::{must, ordinary};
use crate::service::http::{Reply, Request, connect, reply};
use crate::service::{Service, key};

#[test]
fn whoever_a_proxy_vouches_for_finds_what_their_account_may_read_and_an_unknown_name_what_is_open_to_all() {
    let sandbox = two_files();
    for proxy in ["127.0.0.1", "127.0.0.0/8"] {
        let service = behind(&sandbox, proxy, &[]);
        let search = |name: &str| named("GET", SEARCH, name).send(service.address);
        assert_eq!(found(search(ordinary())), ["open.txt"]);
        let own = must(std::process::Command::new("id").arg("-un"));
        match own.as_str() {
            "root" => drop(search("root").refuses(403, "not_vouched")),
            own => assert_eq!(found(search(own)), ["closed.txt", "open.txt"]),
        }
        // A number is no name, although the authority knows users by it.
        for nobody in ["no-such-user", "ann@example.org", "EXAMPLE\\ann", "J\u{fc}rgen", &number(), "0", "00"]
        {
            assert_eq!(found(search(nobody)), Vec::<String>::new(), "{nobody}");
        }
        // Without a name it is as it was.
        Request::new("GET", SEARCH).send(service.address).refuses(401, "unauthenticated");
        service.ask("GET", "/api/v1/jobs").is(200);
        service.end(Signal::TERM);
    }
}

/// What is no request of the proxy's, by what is wrong with it.
fn wrong() -> Vec<(&'static str, Request)> {
    let name = || Request::new("GET", SEARCH).header(&format!("X-Ingather-User: {}", ordinary()));
    let of = |value: &str| named("GET", SEARCH, value);
    let longest = "a".repeat(257);
    vec![
        ("no secret", name()),
        ("an empty secret", name().header(&secret(""))),
        ("another secret", name().header(&secret(&SECRET.replace('5', "6")))),
        ("the beginning of the secret", name().header(&secret(&SECRET[..31]))),
        ("more than the secret", name().header(&secret(&format!("{SECRET}0")))),
        ("the secret in capitals", name().header(&secret(&SECRET.to_uppercase()))),
        ("the secret twice", name().header(&secret(SECRET)).header(&secret(SECRET))),
        ("the secret after a wrong one", name().header(&secret("x")).header(&secret(SECRET))),
        ("two secrets in one", name().header(&secret(&format!("{SECRET}, {SECRET}")))),
        ("no name", Request::new("GET", SEARCH).header(&secret(SECRET))),
        ("the name twice", of(ordinary()).header(&format!("X-Ingather-User: {}", ordinary()))),
        ("two names", of(ordinary()).header("x-ingather-user: root")),
        ("an empty name", of("")),
        ("two names in one", of(&format!("{}, root", ordinary()))),
        ("a name with a space", of(&format!("{} x", ordinary()))),
        ("a long name", of(&longest)),
        ("a number with a sign", of(&format!("+{}", number()))),
        ("a flag", of("-u")),
        ("a path", of("../root")),
        ("a key beside it", of(ordinary()).key("ing_0_0")),
        ("a password beside it", of(ordinary()).header("Authorization: Basic dGVzdDp0ZXN0")),
    ]
}

#[test]
fn a_name_that_is_not_wholly_as_it_has_to_be_is_refused_and_answered_as_nobody() {
    let sandbox = two_files();
    let service = behind(&sandbox, "127.0.0.1", &[]);
    for (what, request) in wrong() {
        let refused = request.send(service.address);
        assert_eq!(refused.status, 403, "{what}: {refused:#?}");
        let refused = refused.refuses(403, "not_vouched");
        assert!(!refused.body.contains(SECRET) && !refused.body.contains("open.txt"), "{what}: {refused:#?}");
    }
    // A key that is right does not count beside a name either.
    named("GET", "/api/v1/jobs", ordinary())
        .key(&service.key)
        .send(service.address)
        .refuses(403, "not_vouched");
    // Bytes that are no text.
    let text = named("GET", SEARCH, "NAME").text();
    let (before, after) = text.split_once("NAME").unwrap();
    for bytes in [&b"ann\xff"[..], b"\xc3\x28", b"\xed\xa0\x80", b"a\xe2\x80\xaenn"] {
        let mut stream = connect(service.address);
        stream.write_all(&[before.as_bytes(), bytes, after.as_bytes()].concat()).unwrap();
        reply(stream).refuses(403, "not_vouched");
    }
    let socket = sandbox.data().join("ingather.sock");
    let over_socket = ask(&socket, &named("GET", SEARCH, ordinary())).refuses(403, "not_vouched");
    assert!(over_socket.body.contains("over the socket"), "{over_socket:#?}");
    assert_eq!(found(named("GET", SEARCH, ordinary()).send(service.address)), ["open.txt"]);
}

#[test]
fn a_name_from_an_address_that_is_not_listed_or_to_a_service_without_proxies_is_refused_and_not_ignored() {
    let sandbox = two_files();
    let elsewhere = behind(&sandbox, "10.0.0.0/8", &["--proxy", "127.0.0.2", "--proxy", "::1"]);
    let refused = named("GET", SEARCH, ordinary()).send(elsewhere.address).refuses(403, "not_vouched");
    assert!(refused.body.contains("from 127.0.0.1"), "{refused:#?}");
    elsewhere.end(Signal::TERM);
    let own = key(&sandbox, "own", &["admin"], None);
    let none = Service::with(&sandbox, own, &[]);
    let user = format!("X-Ingather-User: {}", ordinary());
    for header in [user, secret(SECRET), "X-Ingather-User:".to_owned()] {
        for path in [SEARCH, "/api/v1/jobs", "/api/v1/stream", "/metrics"] {
            let plain = Request::new("GET", path).header(&header).send(none.address);
            assert!(plain.refuses(403, "not_vouched").body.contains("begin the service with --proxy"));
            none.request("GET", path).header(&header).send(none.address).refuses(403, "not_vouched");
        }
    }
}

#[test]
fn names_come_in_the_header_that_was_chosen_alone() {
    let sandbox = two_files();
    let service = behind(&sandbox, "127.0.0.1", &["--proxy-header", "Remote-User"]);
    let with = |headers: &[&str]| -> Reply {
        let begin = Request::new("GET", SEARCH).header(&secret(SECRET));
        headers.iter().fold(begin, |request, header| request.header(header)).send(service.address)
    };
    let (own, other) = (format!("Remote-User: {}", ordinary()), format!("X-Ingather-User: {}", ordinary()));
    assert_eq!(found(with(&[&own])), ["open.txt"]);
    with(&[&other]).refuses(403, "not_vouched");
    with(&[&own, &other]).refuses(403, "not_vouched");
    with(&["Remote-User: ", &own]).refuses(403, "not_vouched");
}

#[test]
fn whoever_a_proxy_vouches_for_steers_nothing_and_the_log_names_them() {
    let sandbox = two_files();
    let mut service = behind(&sandbox, "127.0.0.1", &[]);
    let mut asked = 0;
    for one in OPERATIONS {
        let Rest::At(verb, path) = one.rest else { continue };
        if one.role == Role::Searcher {
            continue;
        }
        let path = path.replace("{job}", "root").replace(['{', '}'], "");
        let mut request = named(verb.as_str(), &format!("/api/v1{path}"), ordinary());
        if verb.as_str() == "POST" {
            request = request.body(&json!({}));
        }
        request.send(service.address).refuses(403, "forbidden");
        asked += 1;
    }
    assert!(asked > 20, "{asked}");
    for path in ["/api/v1/stream", "/metrics"] {
        named("GET", path, ordinary()).send(service.address).refuses(403, "forbidden");
    }
    for more in ["all=true", "as=root"] {
        let path = format!("{SEARCH}&{more}");
        named("GET", &path, ordinary()).send(service.address).refuses(403, "forbidden");
    }
    service.tells(&format!("person {} asked for jobs.abort of job `root`: forbidden", ordinary()));
    assert_eq!(service.answer("GET", "/api/v1/audit")["changes"], json!([]), "nothing was changed");
}

/// The log is not to be filled, nor to say what did not happen, and figures for everybody on the machine are not for whoever a proxy names.
#[test]
fn whoever_a_proxy_vouches_for_does_not_fill_the_log_and_gets_no_figures_that_are_open_to_the_machine() {
    let sandbox = two_files();
    let mut service = behind(&sandbox, "127.0.0.1", &["--metrics-open", "--searches-per-second", "1"]);
    let change = |job: &str| {
        let body = json!({"job": job, "documents": ["a"]});
        named("POST", "/api/v1/documents/erase", ordinary()).body(&body).send(service.address)
    };
    change(&format!("{}`: done", "a".repeat(9))).refuses(403, "forbidden");
    change(&"b".repeat(100_000)).refuses(403, "forbidden");
    let asked = (0..1_000).take_while(|_| change("root").status == 403).count();
    assert!(asked < 1_000, "refused changes count as searches do");
    Request::new("GET", "/metrics").send(service.address).is(200);
    named("GET", "/metrics", ordinary()).send(service.address).refuses(403, "forbidden");
    for header in [secret("x"), "X-Ingather-User: root".to_owned()] {
        Request::new("GET", "/metrics").header(&header).send(service.address).refuses(403, "not_vouched");
    }
    let line =
        |job: &str| format!("person {} asked for documents.erase of job `{job}`: forbidden", ordinary());
    service.tells(&line("aaaaaaaaa': done"));
    service.tells(&line(&"b".repeat(256)));
}

#[test]
fn proxies_that_cannot_be_meant_are_refused_before_anything_begins() {
    let sandbox = two_files();
    let file = secret_file(&sandbox, SECRET, 0o600);
    let file = file.to_str().unwrap();
    let serve = |flags: &[&str], said: &[&str]| {
        sandbox.run(&[&["serve", "--listen", "127.0.0.1:0"], flags].concat()).refuses(2, said);
    };
    serve(&["--proxy", "10.0.0.1"], &["--proxy-secret"]);
    serve(&["--proxy-secret", file], &["--proxy"]);
    serve(&["--proxy-header", "Remote-User"], &["--proxy"]);
    let address = |text: &str, said: &str| serve(&["--proxy-secret", file, "--proxy", text], &[said]);
    address("proxy.example.org", "10.0.0.0/24");
    address("10.0.0.0/33", "10.0.0.0/24");
    address("10.0.0.7/24", "did you mean 10.0.0.0/24?");
    address("fd00::1/64", "did you mean fd00::/64?");
    address("0.0.0.0/0", "a great part of all addresses");
    address("::/0", "a great part of all addresses");
    address("::ffff:10.0.0.7", "write it as one of version 4");
    for header in ["Authorization", "host", "X-Ingather-Proxy-Secret", "a b", ""] {
        let flags = ["--proxy", "10.0.0.1", "--proxy-secret", file, "--proxy-header", header];
        serve(&flags, &["--proxy-header"]);
    }
    let with = |text: &str, mode: u32, said: &str| {
        let path = secret_file(&sandbox, text, mode);
        serve(&["--proxy", "10.0.0.1", "--proxy-secret", path.to_str().unwrap()], &["--proxy-secret", said]);
    };
    with(&SECRET[..31], 0o600, "32 to 1024 characters");
    with(&"a".repeat(1_025), 0o600, "32 to 1024 characters");
    with(&format!("{SECRET} {SECRET}"), 0o600, "letters, digits and signs");
    with("", 0o600, "is empty");
    with(SECRET, 0o644, "chmod go=");
    serve(&["--proxy", "10.0.0.1", "--proxy-secret", "none"], &["none", "check the path"]);
}
