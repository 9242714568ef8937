//! Keys of a provider: which of them verify, how long they are kept, and how often it is asked for them.

use serde_json::json;

use super::scripted::{Does, ED, OTHER_RSA, P256, RSA, Scripted, Signer};
use super::*;

fn token(provider: &Scripted, key: &Signer, kid: &str) -> String {
    let algorithm = match key {
        Signer::Rsa(_) => "RS256",
        Signer::Curve(..) => "ES256",
        Signer::Ed(_) => "EdDSA",
    };
    key.signs(&json!({"alg": algorithm, "kid": kid}).to_string(), &provider.claims(&json!({})).to_string())
}

fn ann() -> Result<String, String> {
    Ok("ann".to_owned())
}

#[test]
fn a_new_key_counts_at_once_and_one_that_was_withdrawn_no_longer_than_keys_are_kept() {
    let provider = Scripted::start();
    let world = World::of(&provider.settings(&json!({"keys_ms": 60_000})));
    let (old, new) = (token(&provider, &RSA, "one"), token(&provider, &OTHER_RSA, "two"));
    assert_eq!(world.person(&old), ann());
    provider.publishes(&[("two", &OTHER_RSA), ("one", &RSA)]);
    world.moves(10_000);
    assert_eq!((world.person(&new), world.person(&old)), (ann(), ann()));
    provider.publishes(&[("two", &OTHER_RSA)]);
    world.moves(60_000 - 1);
    assert_eq!(world.person(&old), ann(), "until the provider is asked again");
    world.moves(1);
    assert!(world.person(&old).unwrap_err().contains("does not publish"));
    assert_eq!(world.person(&new), ann());
    // A name that is used again is another key.
    provider.publishes(&[("two", &RSA)]);
    world.moves(60_000);
    assert!(world.person(&new).unwrap_err().contains("not by its issuer"));
    assert_eq!(world.person(&token(&provider, &RSA, "two")), ann());
}

#[test]
fn whoever_makes_up_keys_makes_no_flood() {
    let provider = Scripted::start();
    let world = World::of(&provider.settings(&json!({})));
    let good = token(&provider, &RSA, "one");
    for round in 0..200 {
        let made_up = token(&provider, &P256, &format!("made-up-{round}"));
        assert!(world.person(&made_up).unwrap_err().contains("does not publish"));
        assert_eq!(world.person(&good), ann());
    }
    let first = provider.asked("/keys");
    assert!(first <= 2, "{first} questions");
    for _ in 0..20 {
        world.moves(1_000);
        (0..10).for_each(|n| drop(world.person(&token(&provider, &P256, &format!("x{n}")))));
    }
    let asked = provider.asked("/keys") - first;
    assert!((3..=5).contains(&asked), "{asked} questions in 20 seconds");
}

#[test]
fn while_the_provider_is_away_known_keys_go_on_for_a_time_and_no_longer() {
    let provider = Scripted::start();
    let world = World::of(&provider.settings(&json!({"keys_ms": 60_000, "keys_away_ms": 300_000})));
    let known = RSA.signs(
        r#"{"alg":"RS256","kid":"one"}"#,
        &provider.claims(&json!({"exp": BEGIN / 1_000 + 9_000})).to_string(),
    );
    assert_eq!(world.person(&known), ann());
    provider.does(Does::Fails);
    world.moves(300_000 - 1);
    assert_eq!(world.person(&known), ann());
    let unknown = world.whose(&token(&provider, &OTHER_RSA, "two")).unwrap_err();
    assert!(
        unknown.to_string().contains("answers with 500"),
        "it may be a new key, which nobody can tell: {unknown}"
    );
    world.moves(1);
    let fault = world.whose(&known).unwrap_err();
    assert!(fault.to_string().contains("answers with 500"), "{fault}");
    assert!(world.tokens("ann", Some(&known)).is_err());
    provider.does(Does::Answers);
    assert!(world.whose(&known).is_err(), "it is not asked again at once");
    world.moves(5_000);
    assert_eq!(world.person(&known), ann());
}

/// Whoever waited in vain at one authority has no time left at the next one of that provider.
#[test]
fn whoever_has_no_time_goes_by_the_keys_that_are_kept_and_asks_nobody() {
    let provider = Scripted::start();
    let world = World::of(&provider.settings(&json!({"keys_ms": 60_000, "keys_away_ms": 300_000})));
    let good = token(&provider, &RSA, "one");
    let at_once = || world.whose_within(&good, Duration::ZERO);
    assert!(at_once().is_err(), "nothing is known");
    assert_eq!(provider.asked("/keys"), 0);
    assert_eq!(world.person(&good), ann(), "and that is no reason to ask later");
    world.moves(60_000);
    assert!(matches!(at_once(), Ok(Whose::Person { .. })), "the keys are due, and count");
    assert_eq!(provider.asked("/keys"), 1);
    let unknown = token(&provider, &OTHER_RSA, "two");
    assert!(world.whose_within(&unknown, Duration::ZERO).is_err(), "it may be new");
    assert_eq!(provider.asked("/keys"), 1);
}

#[test]
fn a_token_that_names_no_key_is_verified_by_the_only_one_for_its_algorithm() {
    let provider = Scripted::start();
    let unnamed = RSA.signs(r#"{"alg":"RS256"}"#, &provider.claims(&json!({})).to_string());
    let told = |keys: Value| {
        provider.served().keys = keys;
        World::of(&provider.settings(&json!({}))).person(&unnamed)
    };
    assert_eq!(told(json!({"keys": [RSA.jwk()]})), ann());
    assert_eq!(
        told(json!({"keys": [P256.jwk(), RSA.jwk(), ED.jwk()]})),
        ann(),
        "the others are of other kinds"
    );
    assert!(
        told(json!({"keys": [RSA.jwk(), OTHER_RSA.jwk()]})).unwrap_err().contains("by which of the keys")
    );
    assert!(told(json!({"keys": [OTHER_RSA.jwk()]})).unwrap_err().contains("not by its issuer"));
    // A token that names a key is not verified by one without a name.
    provider.served().keys = json!({"keys": [RSA.jwk()]});
    let named = token(&provider, &RSA, "one");
    assert!(
        World::of(&provider.settings(&json!({}))).person(&named).unwrap_err().contains("does not publish")
    );
}

#[test]
fn keys_for_something_else_and_of_unknown_kinds_are_none() {
    let provider = Scripted::start();
    let good = token(&provider, &RSA, "one");
    let with = |change: &Value| {
        let key = changed(changed(RSA.jwk(), &json!({"kid": "one"})), change);
        // There is always one more, so that the set is not empty.
        provider.served().keys =
            json!({"keys": [key, changed(P256.jwk(), &json!({"kid": "p"})), {"kty": "new"}, 7]});
        World::of(&provider.settings(&json!({}))).person(&good)
    };
    for fits in [
        json!({}),
        json!({"use": "sig"}),
        json!({"alg": "RS256"}),
        json!({"key_ops": ["verify"]}),
        json!({"x5c": ["x"]}),
    ] {
        assert_eq!(with(&fits), ann(), "{fits}");
    }
    for wrong in [
        json!({"use": "enc"}),
        json!({"use": 7}),
        json!({"alg": "RS384"}),
        json!({"alg": "RSA-OAEP"}),
        json!({"alg": "HS256"}),
        json!({"alg": 7}),
        json!({"key_ops": ["encrypt"]}),
        json!({"key_ops": "verify"}),
        json!({"kty": "oct", "k": "c2VjcmV0"}),
        json!({"kty": "EC"}),
        json!({"kid": ["one"]}),
        json!({"n": "!"}),
        json!({"e": null}),
    ] {
        let told = with(&wrong).unwrap_err();
        assert!(told.contains("does not publish"), "{wrong}: {told}");
    }
    // A key that is too short to be safe is none that verifies.
    let short = changed(
        RSA.jwk(),
        &json!({"n": "u1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gunVTLw7onLRnrq0_IzW7yWR7QkrmBL7jTKEn5u-qKhbwKfBstIs-bMY2Zkp18gnTxKLxoS2tFczGkPLPgizskuemMghRniWaoLcyehkd3qqGElvW_VDL5AaWTg0nLVkjRo9z-40RQzuVaE8AkAFmxZzow3x-VJYKdjykkJ0iT9wCS0DRTXu269V264Vf_3jvredZiKRkgwlL9xNAwxXFg0x_XFw005UWVRIkdgcKWTjpBP2dPwVZ4WWC-9aGVd-Gyn1o0CLelf4rEjGoXbAAEgAqeGUxrcIlbjXfbcmw"}),
    );
    assert!(with(&short).is_err(), "another modulus");
}

#[test]
fn all_who_come_at_once_ask_once() {
    let provider = Scripted::start();
    let world = World::of(&provider.settings(&json!({})));
    let good = token(&provider, &RSA, "one");
    std::thread::scope(|scope| {
        for _ in 0..limits_waiting() {
            scope.spawn(|| assert_eq!(world.person(&good), ann()));
        }
    });
    assert_eq!(provider.asked("/keys"), 1);
}

fn limits_waiting() -> usize {
    ingather_model::limits::OIDC_WAITING_MAX
}
