//! Who has no key, a wrong one, or one that is none any more, is told nothing.

use std::io::{BufRead, BufReader, Write};

use ingather_operations::OPERATIONS;
use ingather_operations::operation::Rest;
use serde_json::json;

use super::http::Request;
use super::{Service, key};
use crate::sandbox::{Kept, Sandbox};

#[test]
fn every_path_of_the_table_answers_nobody_without_a_key() {
    let sandbox = Sandbox::sqlite();
    let service = Service::start(&sandbox);
    for one in OPERATIONS {
        let Rest::At(verb, path) = one.rest else { continue };
        let request = Request::new(verb.as_str(), &format!("/api/v1{path}"));
        let reply = request.send(service.address).refuses(401, "unauthenticated");
        assert!(reply.head.contains("www-authenticate: bearer"), "{reply:#?}");
    }
    assert_eq!(
        service.answer("GET", "/api/v1/audit")["changes"],
        json!([]),
        "what nobody asked for is no change"
    );
}

#[test]
fn a_key_opens_by_its_secret_alone_and_only_until_it_is_taken_back() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        let other = key(&sandbox, "other", &["operator"], None);
        let service = Service::start(&sandbox);
        let jobs = |key: &str| Request::new("GET", "/api/v1/jobs").key(key).send(service.address);
        jobs(&other).is(200);
        let (id, secret) = other.rsplit_once('_').unwrap();
        let (own, _) = service.key.rsplit_once('_').unwrap();
        let changed = secret.replacen(secret.chars().next().unwrap(), "x", 1);
        let wrong = [
            String::new(),
            "ing_".to_owned(),
            id.to_owned(),
            format!("{id}_"),
            format!("{id}_{changed}"),
            format!("{id}_{}", secret.to_uppercase().replace(|c: char| c.is_ascii_digit(), "A")),
            format!("{other}0"),
            format!("{own}_{secret}"),
            format!("ing_0000000000000000_{secret}"),
            secret.to_owned(),
        ];
        for wrong in &wrong {
            jobs(wrong).refuses(401, "unauthenticated");
        }
        let basic = Request::new("GET", "/api/v1/jobs").header("Authorization: Basic dGVzdDp0ZXN0");
        basic.send(service.address).refuses(401, "unauthenticated");
        service.ask("DELETE", "/api/v1/api-keys/other").is(200);
        jobs(&other).refuses(401, "unauthenticated");
        service.ask("DELETE", "/api/v1/api-keys/other").refuses(404, "no_such_api_key");
    }
}

#[test]
fn a_key_that_was_made_over_http_works_and_its_secret_is_nowhere() {
    let sandbox = Sandbox::sqlite();
    let service = Service::start(&sandbox);
    let create = |body| service.request("POST", "/api/v1/api-keys").body(&body).send(service.address);
    let made = create(json!({"name": "ann", "roles": ["operator", "searcher"]})).is(200).json();
    let key = made["key"].as_str().unwrap();
    Request::new("GET", "/api/v1/jobs").key(key).send(service.address).is(200);
    create(json!({"name": "ann", "roles": ["admin"]})).refuses(409, "api_key_exists");
    create(json!({"name": "a b", "roles": ["admin"]})).refuses(400, "wrong_use");
    create(json!({"name": "b", "roles": []})).refuses(400, "wrong_use");
    create(json!({"name": "b", "roles": ["king"]})).refuses(400, "wrong_use");
    create(json!({"name": "b", "roles": ["admin"], "expires_at": 1})).refuses(400, "wrong_use");
    create(json!({"name": "b", "roles": ["searcher"], "account": {"name": "no-such-user"}}))
        .refuses(404, "no_such_user");
    let listed = service.answer("GET", "/api/v1/api-keys");
    let names: Vec<&str> =
        listed["api_keys"].as_array().unwrap().iter().map(|key| key["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["ann", "test"]);
    let secret = key.rsplit_once('_').unwrap().1;
    // What it knew is in its files by now.
    drop(service);
    std::fs::remove_file(sandbox.data().join("ingather.sock")).unwrap();
    assert!(!listed.to_string().contains(secret));
    for (path, bytes) in sandbox.snapshot() {
        let holds = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
        assert!(!holds, "{} holds a secret", path.display());
    }
}

#[test]
fn a_key_finds_what_its_account_may_read_and_without_one_not_even_what_every_user_of_the_machine_may() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("open.txt", "apple");
    sandbox.write("closed.txt", "apple");
    let closed = sandbox.root().join("closed.txt");
    std::fs::set_permissions(closed, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    sandbox.synced(&[]);
    let own = crate::people::must(std::process::Command::new("id").arg("-un"));
    let keys = [
        (key(&sandbox, "nobody", &["searcher"], None), vec![]),
        (key(&sandbox, "somebody", &["searcher"], Some(crate::people::ordinary())), vec!["open.txt"]),
        (key(&sandbox, "owner", &["searcher"], Some(&own)), vec!["closed.txt", "open.txt"]),
    ];
    let service = Service::start(&sandbox);
    for (key, may) in keys {
        let search = Request::new("GET", "/api/v1/search?query=apple&limit=9&sort=%2Bpath").key(&key);
        let found = search.send(service.address).is(200).json();
        let mut found: Vec<&str> =
            found["hits"].as_array().unwrap().iter().map(|hit| hit["document"].as_str().unwrap()).collect();
        found.sort_unstable();
        assert_eq!(found, may);
        let all = Request::new("GET", "/api/v1/search?query=apple&limit=9&all=true").key(&key);
        all.send(service.address).refuses(403, "forbidden");
    }
}

#[test]
fn the_first_key_is_told_on_a_terminal_once_and_in_no_log() {
    let sandbox = Sandbox::sqlite();
    // Its output is a pipe, as that of a service manager.
    let mut service = Service::with(&sandbox, String::new(), &[]);
    service.tells("there is no API key yet, and no terminal to show one");
    let ended = service.end(rustix::process::Signal::TERM);
    assert!(!ended.out.contains("ing_") && !ended.err.contains("ing_"), "{ended:?}");
    let program = sandbox.command(&["serve", "--listen", "127.0.0.1:0"]);
    let words = std::iter::once(program.get_program()).chain(program.get_args());
    let words: Vec<String> = words.map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    let mut terminal = std::process::Command::new("script");
    // Also where these tests were started so that signals are ignored.
    let words = format!("env --default-signal=INT,TERM,HUP {}", words.join(" "));
    terminal.args(["-qec", &words, "/dev/null"]).current_dir(sandbox.path());
    terminal.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = terminal.spawn().unwrap();
    let (mut address, mut key, mut link) = (None, None, None);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    while address.is_none() || key.is_none() || link.is_none() {
        let line = lines.next().expect("it tells where it listens, and a key");
        if let Some((_, rest)) = line.split_once("listening on http://") {
            address = Some(rest.split(' ').next().unwrap().parse().unwrap());
        }
        key = line.split_once("shown this once: ").map(|(_, key)| key.trim().to_owned()).or(key);
        link = line.split_once("within ten minutes: ").map(|(_, link)| link.trim().to_owned()).or(link);
    }
    // The link leads whoever runs it to what they may read.
    let address: std::net::SocketAddr = address.unwrap();
    let path = link.unwrap().strip_prefix(&format!("http://{address}")).unwrap().to_owned();
    Request::new("HEAD", &path).send(address).is(200);
    let opened = Request::new("GET", &path).send(address).is(303);
    assert!(opened.head.contains("location: /\r\n"), "{opened:#?}");
    assert!(opened.head.contains("referrer-policy: no-referrer"), "{opened:#?}");
    assert!(
        opened.head.contains(&format!("set-cookie: ingather_session_{}=", address.port())),
        "{opened:#?}"
    );
    let again = Request::new("GET", &path).send(address).is(401);
    assert!(
        again.body.contains("This link was opened before") && !again.head.contains("_session_"),
        "{again:#?}"
    );
    let jobs = Request::new("GET", "/api/v1/api-keys").key(&key.unwrap());
    let listed = jobs.send(address).is(200).json();
    assert_eq!((&listed["api_keys"][0]["name"], &listed["api_keys"][1]), (&json!("admin"), &json!(null)));
    // Ctrl-C, as it is typed.
    child.stdin.take().unwrap().write_all(b"\x03").unwrap();
    lines.for_each(drop);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_login_link_is_made_over_the_socket_lets_in_once_and_ends_with_its_key() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    let own = crate::people::must(std::process::Command::new("id").arg("-un"));
    let _ann = key(&sandbox, "ann", &["searcher"], Some(&own));
    let _operator = key(&sandbox, "operator", &["operator"], None);
    sandbox
        .run(&["api-key", "login-link", "ann"])
        .refuses(2, &["only a service makes login links", "--server unix:"]);
    let service = Service::start(&sandbox);
    let socket = format!("unix:{}", sandbox.data().join("ingather.sock").display());
    let make = |name: &str| super::client::asked(&sandbox, &socket, None, &["api-key", "login-link", name]);
    make("nobody").refuses(2, &["there is no API key `nobody`"]);
    make("operator").refuses(2, &["may not search", "role searcher"]);
    let open = |link: &str| {
        let path = link.trim().strip_prefix(&format!("http://{}", service.address)).unwrap();
        Request::new("GET", path).send(service.address)
    };
    let link = make("ann").exits(0).out;
    let opened = open(&link).is(303);
    let cookie =
        opened.head.lines().find_map(|line| line.strip_prefix("set-cookie: ingather_session_")).unwrap();
    let cookie = format!("Cookie: ingather_session_{}", cookie.split(';').next().unwrap());
    let page = Request::new("GET", "/?q=apple").header(&cookie).send(service.address).is(200);
    assert!(page.body.contains(&format!("You search as {own}, by the API key ann.")), "{page:#?}");
    assert!(page.body.contains("1 hit"), "{page:#?}");
    open(&link).is(401);
    open(&format!("http://{}/login/%ff", service.address)).is(401);
    let waiting = make("ann").exits(0).out;
    service.ask("DELETE", "/api/v1/api-keys/ann").is(200);
    open(&waiting).is(401);
    Request::new("GET", "/?q=apple").header(&cookie).send(service.address).is(401);
    let changes = service.answer("GET", "/api/v1/audit");
    assert_eq!(changes["changes"][1]["operation"], "api_keys.login_link");
    assert_eq!(changes["changes"][1]["api_key"], "ann");
    // Neither the record nor the log has what was in a link.
    let ended = service.end(rustix::process::Signal::TERM);
    let secret = link.trim().rsplit_once('/').unwrap().1;
    assert!(
        !changes.to_string().contains(secret) && !ended.err.contains(secret) && !ended.out.contains(secret)
    );
}
