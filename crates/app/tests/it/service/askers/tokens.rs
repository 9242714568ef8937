//! People who present a token of a provider: each finds what is theirs, does nothing else, and is nobody once the token does not count.

use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ingather_model::limits;
use ingather_testkit::provider::{AUDIENCE, Provider};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{SEARCH, found, two_files};
use crate::people::ordinary;
use crate::sandbox::Sandbox;
use crate::service::http::{Reply, Request};
use crate::service::{Service, key};

/// Ann and Bob are staff, Bob is a trainee; Cid's groups nobody says.
fn accounts() -> Value {
    json!({
        "ann": {"groups": ["staff"]}, "bob": {"groups": ["staff", "trainees"]}, "cid": {}, "0": {"groups": ["staff"]},
        "root": {"groups": []}, (ordinary()): {"groups": []},
    })
}

fn oidc(provider: &Provider, change: &[(&str, Value)]) -> Value {
    let settings = json!({"issuer": provider.issuer(), "audiences": [AUDIENCE], "groups_claim": "groups", "leeway_s": 0});
    let mut authority = json!({"kind": "oidc", "settings": settings});
    change.iter().for_each(|(name, value)| authority[*name] = value.clone());
    authority
}

/// Three jobs: what the staff may see but trainees may not, and what Ann and Bob have for themselves.
fn world(provider: &Provider) -> Sandbox {
    let sandbox = Sandbox::sqlite();
    let everyone = |name: &str| (name.to_owned(), json!(["unix:everyone"]));
    let users: Value = ["ann", "bob", "cid", "0"].into_iter().map(everyone).collect();
    std::fs::write(sandbox.path().join("people.json"), json!({"users": users}).to_string()).unwrap();
    let job = |name: &str, access: Value| {
        sandbox.write(&format!("{name}/{name}.txt"), &format!("apple of {name}"));
        json!({
            "name": name, "source": {"root": sandbox.root().join(name)},
            "stages": [{"transform": "text", "settings": {}}, {"transform": "access", "settings": access}],
        })
    };
    let jobs = [
        job("staff", json!({"allow": ["group:staff"], "deny": ["group:trainees"]})),
        job("ann", json!({"allow": ["user:ann"]})),
        job("bob", json!({"allow": ["user:bob"]})),
    ];
    crate::files::settle(&sandbox.root());
    let company = [("group", json!("company")), ("domain", json!("acme"))];
    let machine = json!({
        "kind": "listed", "settings": {"file": sandbox.path().join("people.json")}, "group": "company", "domain": "acme",
    });
    let declaration = json!({
        "version": 1,
        "repositories": {"files": {"kind": "filesystem", "group": "company"}},
        "authorities": {"login": oidc(provider, &company), "machine": machine},
        "jobs": jobs,
    });
    std::fs::write(sandbox.path().join("declaration.json"), declaration.to_string()).unwrap();
    sandbox.run(&["apply", "-f", "declaration.json"]).exits(0);
    ["staff", "ann", "bob"].iter().for_each(|job| drop(sandbox.run(&["sync", job]).exits(0)));
    sandbox
}

fn by(token: &str, path: &str) -> Request {
    Request::new("GET", path).header(&format!("Authorization: Bearer {token}"))
}

fn search(service: &Service<'_>, token: &str) -> Reply {
    by(token, SEARCH).send(service.address)
}

#[test]
fn whoever_presents_a_token_finds_what_is_theirs_and_nobody_elses() {
    let here = "service::askers::tokens::whoever_presents_a_token_finds_what_is_theirs_and_nobody_elses";
    let Some(mut provider) = Provider::start(here, accounts()) else { return };
    let sandbox = world(&provider);
    let log = sandbox.path().join("answers.jsonl");
    let admin = key(&sandbox, "admin", &["admin"], None);
    let service = Service::with(&sandbox, admin.clone(), &["--answers-log", log.to_str().unwrap()]);
    let [ann, bob, cid, zero] = ["ann", "bob", "cid", "0"].map(|who| provider.log_in(who).access);
    // Each twice, so that answers that are kept are met as well; and one after the other, so that none is taken for another's.
    for _ in 0..2 {
        assert_eq!(found(search(&service, &ann)), ["ann.txt", "staff.txt"]);
        assert_eq!(found(search(&service, &bob)), ["bob.txt"], "a trainee");
        assert_eq!(found(search(&service, &cid)), Vec::<String>::new(), "who may be a trainee");
        assert_eq!(found(search(&service, &zero)), ["staff.txt"], "a name that is a number");
    }
    let again = provider.log_in("ann").access;
    assert_eq!(found(search(&service, &again)), ["ann.txt", "staff.txt"]);
    assert_eq!(found(service.ask("GET", &format!("{SEARCH}&all=true"))).len(), 3);

    // Nobody is known by name alone: whoever asks about one is told what to do, and the staff's texts stay hidden.
    let refused = service.ask("GET", &format!("{SEARCH}&as=ann&domain=acme"));
    assert_eq!(found(refused), Vec::<String>::new());
    let told = service.answer("GET", "/api/v1/authority/tokens?user=ann&domain=acme");
    let login =
        told["authorities"].as_array().unwrap().iter().find(|one| one["authority"] == "login").unwrap();
    assert!(login["error"].as_str().unwrap().contains("a token of their own"), "{told}");
    assert_eq!(told["whole"], json!(false));
    (0..5).for_each(|_| drop(service.ask("GET", &format!("{SEARCH}&as=ann&domain=acme")).is(200)));
    assert_eq!(found(search(&service, &bob)), ["bob.txt"], "and that gives the authority no rest");

    // The provider is away: keys that are known go on, and whoever begins without them cannot tell who asks.
    provider.stop();
    assert_eq!(found(search(&service, &ann)), ["ann.txt", "staff.txt"]);
    let log = std::fs::read_to_string(&log).unwrap();
    let of_ann = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_ann = of_ann.filter(|line| line["caller"] == "person ann by login").collect::<Vec<_>>();
    assert_eq!(of_ann.len(), 4, "{log}");
    assert!(of_ann.iter().all(|line| line["users"] == json!([{"user": "ann", "domain": "acme"}])), "{log}");
    let ended = service.end(Signal::TERM);
    let later = Service::with(&sandbox, admin, &[]);
    let away = search(&later, &ann).refuses(503, "authority_away");
    assert!(!away.body.contains("login") && !away.body.contains("127.0.0.1"), "who is it: {away:#?}");
    assert_eq!(found(later.ask("GET", &format!("{SEARCH}&all=true"))).len(), 3);
    let told = later.end(Signal::TERM).err;
    assert!(told.contains("the authority login says that"), "{told}");
    let said = format!("{log}{}{}{}{told}", ended.out, ended.err, away.body);
    for token in [&ann, &bob, &cid, &zero, &again] {
        token.split('.').for_each(|part| assert!(!said.contains(&part[..20]), "{said}"));
    }
}

#[test]
fn a_token_asks_about_whose_it_is_and_does_nothing_else() {
    let here = "service::askers::tokens::a_token_asks_about_whose_it_is_and_does_nothing_else";
    let Some(provider) = Provider::start(here, accounts()) else { return };
    let sandbox = world(&provider);
    let admin = key(&sandbox, "admin", &["admin"], None);
    let service = Service::with(&sandbox, admin, &["--metrics-open"]);
    let ann = provider.log_in("ann").access;
    let ask = |path: &str| by(&ann, path).send(service.address);
    let held = ask("/api/v1/authority/tokens?user=ann&domain=acme").is(200).json();
    assert_eq!(held["groups"][0]["tokens"], json!(["group:staff", "unix:everyone", "user:ann"]), "{held}");
    assert_eq!(held["whole"], json!(true));
    let why =
        |document: &str| ask(&format!("/api/v1/authority/why?user=ann&domain=acme&document={document}"));
    let own = why("ann.txt").is(200).json();
    assert_eq!(own["answers"].as_array().unwrap().len(), 1, "{own}");
    // What they do not find is not there for them, whether it is or not.
    let hidden = why("bob.txt").refuses(404, "no_such_document");
    let none = why("none.txt").refuses(404, "no_such_document");
    assert_eq!(
        hidden.json()["detail"].as_str().unwrap().replace("bob.txt", "none.txt"),
        none.json()["detail"].as_str().unwrap()
    );
    for other in [
        "/api/v1/authority/tokens?user=bob&domain=acme",
        "/api/v1/authority/tokens?user=ann",
        "/api/v1/authority/why?user=bob&domain=acme&document=bob/bob.txt",
        "/api/v1/jobs",
        "/api/v1/audit",
        "/api/v1/stream",
        "/metrics",
        &format!("{SEARCH}&as=bob&domain=acme"),
        &format!("{SEARCH}&as=ann&domain=acme"),
        &format!("{SEARCH}&all=true"),
    ] {
        ask(other).refuses(403, "forbidden");
    }
    let beside = by(&ann, SEARCH).header("X-Ingather-User: bob").send(service.address);
    beside.refuses(403, "not_vouched");
}

#[test]
fn a_token_that_does_not_count_is_refused_in_words_and_one_that_expires_finds_nothing_more() {
    let here = "service::askers::tokens::a_token_that_does_not_count_is_refused_in_words_and_one_that_expires_finds_nothing_more";
    let Some(provider) = Provider::with(here, accounts(), "http", 5) else { return };
    let Some(stranger) = Provider::start(here, accounts()) else { return };
    let sandbox = world(&provider);
    let service = Service::start(&sandbox);
    let ann = provider.log_in("ann").access;
    assert_eq!(found(search(&service, &ann)), ["ann.txt", "staff.txt"]);
    let (signed, _) = ann.rsplit_once('.').unwrap();
    let other = provider.log_in_by(&[("who", "ann"), ("resource", "urn:other")]).access;
    for (token, words) in [
        (format!("{signed}.{}", "A".repeat(342)), "signature"),
        (format!("{signed}."), "signature"),
        (other, "another audience"),
        (stranger.log_in("ann").access, "no issuer that this service knows"),
        ("a.b.c".to_owned(), "no issuer that this service knows"),
    ] {
        let refused = search(&service, &token).refuses(401, "invalid_token");
        assert!(refused.body.contains(words), "{words}: {refused:#?}");
        assert!(refused.head.contains("bearer error=\"invalid_token\""), "{refused:#?}");
        assert!(!refused.body.contains(&token), "{refused:#?}");
    }
    let opaque = provider.log_in_by(&[("who", "ann"), ("resource", "")]).access;
    search(&service, &opaque).refuses(401, "unauthenticated");
    let (_wait, never) = std::sync::mpsc::channel::<()>();
    // clock: tokens of a real provider expire in real time.
    let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let refused = loop {
        let reply = search(&service, &ann);
        if reply.status != 200 {
            break reply.refuses(401, "invalid_token");
        }
        assert!(std::time::Instant::now() < end, "it never expires");
        let _ = never.recv_timeout(std::time::Duration::from_millis(100));
    };
    assert!(refused.body.contains("has expired"), "{refused:#?}");
}

#[test]
fn a_provider_that_tells_nothing_about_whose_token_it_is_is_no_fault_of_the_service() {
    let here = "service::askers::tokens::a_provider_that_tells_nothing_about_whose_token_it_is_is_no_fault_of_the_service";
    let Some(mut provider) = Provider::start(here, accounts()) else { return };
    let sandbox = two_files();
    let mut login = oidc(&provider, &[("domain", json!("acme"))]);
    login["settings"]["user_info"] = json!(true);
    let declaration = json!({"version": 1, "authorities": {"login": login}});
    std::fs::write(sandbox.path().join("declaration.json"), declaration.to_string()).unwrap();
    sandbox.run(&["apply", "-f", "declaration.json"]).exits(0);
    let service = Service::start(&sandbox);
    let ann = provider.log_in("ann").access;
    // It is made out for this service, and not for the userinfo of its provider.
    let refused = search(&service, &ann).refuses(401, "invalid_token");
    assert!(refused.body.contains("scope `openid`"), "{refused:#?}");
    provider.stop();
    search(&service, &ann).refuses(503, "authority_away");
}

/// Addresses where somebody takes connections, and never says anything.
fn silent(n: usize) -> Vec<TcpListener> {
    (0..n).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect()
}

/// A token that is shaped as one of this issuer, and signed by nobody.
fn made_up(issuer: &str, kid: usize) -> String {
    let part = |part: Value| BASE64_URL_SAFE_NO_PAD.encode(part.to_string());
    let head = json!({"alg": "RS256", "kid": kid.to_string()});
    format!("{}.{}.{}", part(head), part(json!({"iss": issuer, "sub": "ann"})), "A".repeat(342))
}

#[test]
fn strangers_with_made_up_tokens_keep_nobody_out_and_fill_no_log_whatever_providers_hang() {
    let sandbox = two_files();
    // Enough that those who wait for them would have every place of an operation.
    let providers = silent(8);
    let issuers: Vec<String> =
        providers.iter().map(|at| format!("http://{}", at.local_addr().unwrap())).collect();
    let login = |(n, issuer): (usize, &String)| {
        let settings = json!({"issuer": issuer, "audiences": [AUDIENCE]});
        (format!("login{n}"), json!({"kind": "oidc", "settings": settings, "within_ms": 1_000}))
    };
    let authorities: serde_json::Map<String, Value> = issuers.iter().enumerate().map(login).collect();
    let declaration = json!({"version": 1, "authorities": authorities});
    std::fs::write(sandbox.path().join("declaration.json"), declaration.to_string()).unwrap();
    sandbox.run(&["apply", "-f", "declaration.json"]).exits(0);
    let service = Service::start(&sandbox);
    let over = AtomicBool::new(false);
    let answers = std::thread::scope(|scope| {
        let strangers: Vec<_> = (0..48)
            .map(|n| {
                let (service, over, issuers) = (&service, &over, &issuers);
                scope.spawn(move || {
                    let mut answers = Vec::new();
                    while !over.load(Ordering::Relaxed) {
                        let kid = answers.len();
                        answers.push(search(service, &made_up(&issuers[(n + kid) % issuers.len()], kid)));
                    }
                    answers
                })
            })
            .collect();
        // As long as each provider hangs more than once.
        // clock: real sockets wait by it.
        let end = std::time::Instant::now() + std::time::Duration::from_secs(8);
        let mut asked = 0;
        while std::time::Instant::now() < end {
            let reply = service.ask("GET", SEARCH);
            asked += 1;
            if reply.status != 200 {
                over.store(true, Ordering::Relaxed);
                panic!("after {asked}: {reply:#?}");
            }
        }
        over.store(true, Ordering::Relaxed);
        strangers.into_iter().flat_map(|stranger| stranger.join().unwrap()).collect::<Vec<Reply>>()
    });
    for answer in &answers {
        assert_eq!(answer.status, 503, "{answer:#?}");
        assert!(!answer.body.contains("127.0.0.1") && !answer.body.contains("login"), "{answer:#?}");
    }
    assert!(answers.iter().any(|answer| answer.body.contains("authority_away")), "{answers:#?}");
    let log = service.end(Signal::TERM).err;
    let told = log.lines().filter(|line| line.contains("request ")).count();
    let kinds = 2;
    // They may have begun in one minute and ended in the next.
    assert!(told <= 2 * kinds * limits::LOG_FAILURES_MAX as usize, "{} answers: {log}", answers.len());
}

/// In the domain without a name people of the provider are users of this machine, but for its root, and for users by their numbers.
#[test]
fn nobody_is_root_or_a_user_by_number_through_a_token() {
    let here = "service::askers::tokens::nobody_is_root_or_a_user_by_number_through_a_token";
    let Some(provider) = Provider::start(here, accounts()) else { return };
    let sandbox = two_files();
    let declaration = json!({"version": 1, "authorities": {"login": oidc(&provider, &[])}});
    std::fs::write(sandbox.path().join("declaration.json"), declaration.to_string()).unwrap();
    sandbox.run(&["apply", "-f", "declaration.json"]).exits(0);
    let service = Service::start(&sandbox);
    let token = |who: &str| provider.log_in(who).access;
    assert_eq!(found(search(&service, &token(ordinary()))), ["open.txt"]);
    assert_eq!(found(search(&service, &token("0"))), Vec::<String>::new());
    let root = token("root");
    for path in
        [SEARCH, "/api/v1/authority/tokens?user=root", "/api/v1/authority/why?user=root&document=closed.txt"]
    {
        let refused = by(&root, path).send(service.address).refuses(403, "forbidden");
        assert!(refused.body.contains("no token is enough"), "{refused:#?}");
    }
}
