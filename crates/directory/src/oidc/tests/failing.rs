//! Providers that are away, silent, broken or not who they should be: it is a fault, in time, and never an answer about somebody.

use std::time::Instant;

use ingather_model::limits;
use serde_json::json;

use super::super::http;
use super::scripted::{Does, Scripted};
use super::*;

const SHORT: Duration = Duration::from_millis(300);

const FAILING: [(Does, &str); 10] = [
    (Does::Resets, "cannot be asked"),
    (Does::Hangs, "in time"),
    (Does::Half, ""),
    (Does::Garbage, "cannot be asked"),
    (Does::Large, "too much"),
    (Does::LargeHead, ""),
    (Does::Redirects, "that is not followed"),
    (Does::Fails, "answers with 500"),
    (Does::AnotherIssuer, ""),
    (Does::Array, ""),
];

#[test]
fn a_provider_that_fails_is_a_fault_in_time_at_each_of_its_addresses() {
    for at in ["/.well-known/openid-configuration", "/keys"] {
        for (does, words) in FAILING {
            if does == Does::AnotherIssuer && at == "/keys" {
                continue;
            }
            let provider = Scripted::start();
            provider.served().at = at;
            provider.does(does);
            let world = World::of(&provider.settings(&json!({})));
            // clock: real sockets wait by it.
            let began = Instant::now();
            let fault = world.whose_within(&provider.token(&json!({})), SHORT).unwrap_err();
            assert!(fault.to_string().contains(words), "{at} {does:?}: {fault}");
            assert!(began.elapsed() < Duration::from_secs(5), "{at} {does:?}: {:?}", began.elapsed());
            assert!(matches!(fault, Fault::Passing { .. }), "{does:?}: {fault:?}");
            let checked = world.authority.check(&world.call());
            assert!(checked.is_err(), "{at} {does:?}: {checked:?}");
            // It is well again, and that is noticed soon.
            provider.does(Does::Answers);
            world.moves(limits::OIDC_KEYS_AGAIN_MS);
            assert_eq!(world.person(&provider.token(&json!({}))), Ok("ann".to_owned()), "{at} {does:?}");
            let found = world.authority.check(&world.call()).unwrap();
            assert!(found.contains("publishes 1 key"), "{found}");
        }
    }
}

#[test]
fn what_a_provider_says_of_itself_has_to_fit() {
    let provider = Scripted::start();
    let token = provider.token(&json!({}));
    let whole = provider.served().discovery.clone();
    for (change, words) in [
        (json!({"issuer": format!("{}/", provider.issuer)}), "another issuer"),
        (json!({"issuer": "https://login.example.org"}), "another issuer"),
        (json!({"issuer": null}), "another issuer"),
        (json!({"issuer": [provider.issuer]}), "another issuer"),
        (json!({"jwks_uri": null}), "where its keys are"),
        (json!({"jwks_uri": 7}), "`jwks_uri` that is no address"),
        (json!({"jwks_uri": "/keys"}), "`jwks_uri` that is no address"),
        (json!({"jwks_uri": "http://login.example.org/keys"}), "`jwks_uri` that is no address with TLS"),
        (json!({"jwks_uri": "http://169.254.169.254/keys"}), "`jwks_uri` that is no address with TLS"),
        (json!({"jwks_uri": "file:///etc/passwd"}), "`jwks_uri` that is no address"),
        (json!({"jwks_uri": format!("{}/none", provider.issuer)}), "answers with 404"),
    ] {
        provider.served().discovery = changed(whole.clone(), &change);
        let world = World::of(&provider.settings(&json!({})));
        let fault = world.whose(&token).unwrap_err();
        assert!(fault.to_string().contains(words), "{change}: {fault}");
    }
    provider.served().discovery = whole;
    for (keys, words) in [
        (json!({}), "no set of keys"),
        (json!({"keys": {}}), "no set of keys"),
        (json!({"keys": []}), "no key"),
        (json!({"keys": [7, {"kty": "oct", "k": "c2VjcmV0", "kid": "one"}]}), "no key"),
        (json!({"keys": vec![json!({}); limits::OIDC_KEYS_MAX + 1]}), "more keys"),
    ] {
        provider.served().keys = keys.clone();
        let fault = World::of(&provider.settings(&json!({}))).whose(&token).unwrap_err();
        assert!(fault.to_string().contains(words), "{keys}: {fault}");
    }
}

#[test]
fn what_was_asked_with_tls_leads_nowhere_without_it_and_long_addresses_are_not_repeated() {
    let leads = |from: &str, to: &str| http::leads(&http::address(from).unwrap(), to).is_some();
    let (with, without) = ("https://login.example.org/x", "http://127.0.0.1:7/x");
    assert!(leads(with, "https://keys.example.org/keys") && leads(without, "http://localhost:8/keys"));
    assert!(leads(without, "https://keys.example.org/keys"));
    for here in ["http://127.0.0.1:7/keys", "http://localhost/keys", "http://[::1]/keys"] {
        assert!(!leads(with, here), "{here}");
    }
    let provider = Scripted::start();
    let long = format!("{}/{}", provider.issuer, "x".repeat(10_000));
    let whole = provider.served().discovery.clone();
    provider.served().discovery = changed(whole, &json!({"jwks_uri": long}));
    let fault = World::of(&provider.settings(&json!({}))).whose(&provider.token(&json!({}))).unwrap_err();
    assert!(fault.to_string().contains("404") && fault.to_string().len() < 400, "{fault}");
}

#[test]
fn a_provider_that_is_not_there_is_a_fault() {
    let provider = Scripted::start();
    let claims = |issuer: &str| provider.token(&json!({ "iss": issuer }));
    for issuer in [
        "http://127.0.0.1:1",
        "https://127.0.0.1:1",
        "https://no-such-host.invalid",
        "http://localhost:1/realms/x",
    ] {
        let world = World::of(&provider.settings(&json!({ "issuer": issuer })));
        let fault = world.whose(&claims(issuer)).unwrap_err();
        assert!(matches!(fault, Fault::Passing { .. }), "{issuer}: {fault:?}");
    }
    let missing = json!({"issuer": "https://127.0.0.1:1", "ca_file": "/nowhere/root.pem"});
    let fault = World::of(&provider.settings(&missing)).whose(&claims("https://127.0.0.1:1")).unwrap_err();
    assert!(fault.to_string().contains("`ca_file` /nowhere/root.pem"), "{fault}");
}

/// Strangers who wait for a provider that hangs leave room for others: few wait, and whoever names a key that is known does not wait at all.
#[test]
fn few_wait_for_a_provider_that_hangs_and_known_people_not_at_all() {
    let provider = Scripted::start();
    let world = World::of(&provider.settings(&json!({})));
    let good = provider.token(&json!({}));
    assert_eq!(world.person(&good), Ok("ann".to_owned()));
    provider.does(Does::Hangs);
    world.moves(limits::OIDC_KEYS_AGAIN_MS);
    let unknown =
        scripted::P256.signs(r#"{"alg":"ES256","kid":"x"}"#, &provider.claims(&json!({})).to_string());
    let within = Duration::from_secs(2);
    std::thread::scope(|scope| {
        let waits: Vec<_> = (0..40)
            .map(|_| scope.spawn(|| world.whose_within(&unknown, within).unwrap_err().to_string()))
            .collect();
        // clock: real sockets wait by it.
        let began = Instant::now();
        (0..20).for_each(|_| assert_eq!(world.person(&good), Ok("ann".to_owned())));
        assert!(began.elapsed() < within, "{:?}", began.elapsed());
        let told: Vec<String> = waits.into_iter().map(|wait| wait.join().unwrap()).collect();
        let busy = told.iter().filter(|told| told.contains("many wait")).count();
        assert!(busy >= 40 - 1 - limits::OIDC_WAITING_MAX - 1, "{busy}: {told:?}");
        assert!(told.iter().all(|told| told.contains("many wait") || told.contains("in time")), "{told:?}");
    });
}
