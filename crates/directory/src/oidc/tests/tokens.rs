//! Tokens that count, and every way in which one does not.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::hmac;
use serde_json::json;

use super::scripted::{ED, OTHER_RSA, P256, P384, RSA, Scripted, Signer, coded};
use super::*;

fn all_keys(provider: &Scripted) {
    provider.publishes(&[("one", &RSA), ("p256", &P256), ("p384", &P384), ("ed", &ED)]);
}

fn head(algorithm: &str, kid: &str) -> String {
    json!({"alg": algorithm, "kid": kid}).to_string()
}

#[test]
fn a_token_of_each_algorithm_counts_by_its_own_key_alone() {
    let provider = Scripted::start();
    all_keys(&provider);
    let world = World::of(&provider.settings(&json!({})));
    let claims = provider.claims(&json!({})).to_string();
    let keys: [(&str, &Signer, &[&str]); 4] = [
        ("one", &RSA, &["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]),
        ("p256", &P256, &["ES256"]),
        ("p384", &P384, &["ES384"]),
        ("ed", &ED, &["EdDSA"]),
    ];
    for (kid, key, algorithms) in keys {
        for algorithm in algorithms {
            let token = key.signs(&head(algorithm, kid), &claims);
            assert_eq!(world.person(&token), Ok("ann".to_owned()), "{algorithm}");
            for (other, _, _) in keys.iter().filter(|(other, _, _)| *other != kid) {
                let told = world.person(&key.signs(&head(algorithm, other), &claims)).unwrap_err();
                assert!(told.contains("does not publish"), "{algorithm} by {other}: {told}");
            }
            let (signed, _) = token.rsplit_once('.').unwrap();
            for wrong in ["", "AA", &coded([0; 64]), &coded([0; 96]), &coded([0; 256])] {
                let told = world.person(&format!("{signed}.{wrong}")).unwrap_err();
                assert!(told.contains("signature"), "{algorithm} {wrong}: {told}");
            }
        }
    }
}

/// The secret of a key whose algorithm is one with a shared secret: what is public, in the forms that somebody may have thought of.
fn with_shared_secret(provider: &Scripted) -> Vec<String> {
    let public = RSA.jwk();
    let modulus = BASE64.decode(public["n"].as_str().unwrap()).unwrap();
    let secrets = [
        public.to_string().into_bytes(),
        modulus,
        public["n"].as_str().unwrap().as_bytes().to_vec(),
        Vec::new(),
    ];
    let claims = provider.claims(&json!({})).to_string();
    let signed = |secret: &Vec<u8>| {
        let signed = format!("{}.{}", coded(head("HS256", "one")), coded(&claims));
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        format!("{signed}.{}", coded(hmac::sign(&key, signed.as_bytes())))
    };
    secrets.iter().map(signed).collect()
}

#[test]
fn what_says_of_itself_that_it_is_not_signed_or_otherwise_than_may_be_does_not_count() {
    let provider = Scripted::start();
    all_keys(&provider);
    let world = World::of(&provider.settings(&json!({})));
    let claims = provider.claims(&json!({})).to_string();
    for token in with_shared_secret(&provider) {
        assert!(world.person(&token).unwrap_err().contains("not signed by an algorithm that counts"));
    }
    let table = [
        (json!({"alg": "none"}), "algorithm that counts"),
        (json!({"alg": "None", "kid": "one"}), "algorithm that counts"),
        (json!({"alg": "rs256", "kid": "one"}), "algorithm that counts"),
        (json!({"alg": "ES512", "kid": "one"}), "algorithm that counts"),
        (json!({"alg": "RSA-OAEP", "kid": "one"}), "algorithm that counts"),
        (json!({"kid": "one"}), "algorithm that counts"),
        (json!({"alg": ["RS256"], "kid": "one"}), "`alg` that is no text"),
        (json!({"alg": "RS256", "kid": 1}), "`kid` that is no text"),
        (json!({"alg": "RS256", "kid": "two"}), "does not publish"),
        (json!({"alg": "RS256", "kid": ""}), "does not publish"),
        (json!({"alg": "RS256", "kid": "../one"}), "does not publish"),
        (json!({"alg": "RS384", "kid": "ed"}), "does not publish"),
        (json!({"alg": "RS256", "kid": "one", "crit": ["exp"]}), "`crit`"),
        (json!({"alg": "RS256", "kid": "one", "crit": []}), "`crit`"),
        (json!({"alg": "RS256", "kid": "one", "crit": null}), "`crit`"),
        (json!({"alg": "RS256", "kid": "one", "b64": false, "crit": ["b64"]}), "`crit`"),
        (json!({"alg": "RS256", "kid": "one", "typ": "logout+jwt"}), "another kind"),
        (json!({"alg": "RS256", "kid": "one", "typ": "dpop+jwt"}), "another kind"),
        (json!({"alg": "RS256", "kid": "one", "typ": 7}), "`typ` that is no text"),
    ];
    for (head, words) in table {
        let told = world.person(&RSA.signs(&head.to_string(), &claims)).unwrap_err();
        assert!(told.contains(words), "{head}: {told}");
    }
    // A key that comes with the token, or a place to take it from, is nobody's word.
    let own = json!({"alg": "RS256", "kid": "one", "jwk": OTHER_RSA.jwk(), "jku": format!("{}/keys", provider.issuer), "x5u": "https://a"});
    let told = world.person(&OTHER_RSA.signs(&own.to_string(), &claims)).unwrap_err();
    assert!(told.contains("not by its issuer"), "{told}");
    for kind in ["JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt"] {
        let head = json!({"alg": "RS256", "kid": "one", "typ": kind}).to_string();
        assert_eq!(world.person(&RSA.signs(&head, &claims)), Ok("ann".to_owned()), "{kind}");
    }
}

#[test]
fn what_is_no_token_or_of_another_issuer_is_not_ours_and_asks_nobody() {
    let provider = Scripted::start();
    let world = World::of(&provider.settings(&json!({})));
    let good = RSA.signs(&head("RS256", "one"), &provider.claims(&json!({})).to_string());
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let (its_head, claims) = signed.split_once('.').unwrap();
    let twice = |of: &str| provider.claims(&json!({})).to_string().replacen('{', &format!("{{{of},"), 1);
    let mut wrong = vec![
        String::new(),
        "..".to_owned(),
        "a.b.c".to_owned(),
        "ing_1_2".to_owned(),
        signed.to_owned(),
        format!("{good}.x"),
        format!("{good}.x.y"),
        format!(".{claims}.{signature}"),
        format!("{its_head}..{signature}"),
        format!("{its_head}=.{claims}.{signature}"),
        format!("{its_head}.{claims}=.{signature}"),
        format!(" {good}"),
        format!("{its_head}\n.{claims}.{signature}"),
        format!("{its_head}.{}.{signature}", "A".repeat(20_000)),
        RSA.signs(
            &head("RS256", "one"),
            &provider.claims(&json!({"more": "x".repeat(16 << 10)})).to_string(),
        ),
        RSA.signs(&head("RS256", "one"), "[]"),
        RSA.signs(&head("RS256", "one"), "\"iss\""),
        RSA.signs(&head("RS256", "one"), &format!("{}{{}}", provider.claims(&json!({})))),
        RSA.signs(&head("RS256", "one"), &twice(r#""sub":"bob""#)),
        RSA.signs(&head("RS256", "one"), &twice(r#""s\u0075b":"bob""#)),
        RSA.signs(&head("RS256", "one"), &twice(r#""groups":["all"]"#)),
        RSA.signs(r#"{"alg":"RS256","kid":"one","kid":"two"}"#, &provider.claims(&json!({})).to_string()),
        RSA.signs(r#"{"alg":"RS256","alg":"none","kid":"one"}"#, &provider.claims(&json!({})).to_string()),
    ];
    let issuers = [
        json!(format!("{}/", provider.issuer)),
        json!(provider.issuer.to_uppercase()),
        json!([provider.issuer]),
        json!("https://login.example.org"),
        json!(""),
        json!(null),
        json!(7),
    ];
    wrong.extend(issuers.iter().map(|issuer| provider.token(&json!({ "iss": issuer }))));
    for token in &wrong {
        let shown: String = token.chars().take(60).collect();
        assert_eq!(world.whose(token), Ok(Whose::NotOurs), "{shown}");
    }
    assert_eq!(provider.asked("/keys"), 0, "whoever sends what is no token makes no question");
    assert_eq!(world.person(&good), Ok("ann".to_owned()));
}

/// Each byte of a token counts: no change of one is overlooked.
#[test]
fn a_token_that_was_changed_anywhere_is_that_of_nobody() {
    let provider = Scripted::start();
    all_keys(&provider);
    let world = World::of(&provider.settings(&json!({})));
    let token = P256.signs(&head("ES256", "p256"), &provider.claims(&json!({})).to_string());
    assert_eq!(world.person(&token), Ok("ann".to_owned()));
    for at in 0..token.len() {
        for to in ['A', 'B', '_', '.', '='] {
            let mut other = token.clone();
            other.replace_range(at..=at, &to.to_string());
            if other != token {
                assert!(world.person(&other).is_err(), "{at} {to}: {other}");
            }
        }
        assert!(world.person(&token[..at]).is_err() && world.person(&token[at + 1..]).is_err(), "{at}");
    }
}

#[test]
fn a_token_counts_for_its_audience_in_its_time_and_by_clients_that_may_search() {
    let provider = Scripted::start();
    let world = World::of(
        &provider.settings(&json!({"audiences": ["ingather", "api"], "clients": ["search", "cli"]})),
    );
    let now = BEGIN / 1_000;
    for fits in [
        json!({}),
        json!({"aud": "api"}),
        json!({"aud": ["other", "api"]}),
        json!({"azp": "cli"}),
        json!({"azp": null, "client_id": "cli"}),
        json!({"nbf": null, "iat": null}),
        json!({"exp": now - 29}),
        json!({"exp": now as f64 + 0.5}),
        json!({"exp": 1e300}),
        json!({"nbf": now + 30}),
        json!({"nbf": -1}),
    ] {
        assert_eq!(world.person(&provider.token(&fits)), Ok("ann".to_owned()), "{fits}");
    }
    for (wrong, words) in [
        (json!({"aud": "other"}), "another audience"),
        (json!({"aud": null}), "another audience"),
        (json!({"aud": []}), "another audience"),
        (json!({"aud": ""}), "another audience"),
        (json!({"aud": "Ingather"}), "another audience"),
        (json!({"aud": "ingather api"}), "another audience"),
        (json!({"aud": ["ingather", 7]}), "another audience"),
        (json!({"aud": {"ingather": true}}), "another audience"),
        (json!({"azp": "other"}), "a program"),
        (json!({"azp": "other", "client_id": "search"}), "a program"),
        (json!({"azp": null}), "a program"),
        (json!({"azp": ["search"]}), "a program"),
        (json!({"exp": null}), "does not say when it expires"),
        (json!({"exp": now - 30}), "has expired"),
        (json!({"exp": 0}), "has expired"),
        (json!({"exp": -1e300}), "has expired"),
        (json!({"exp": format!("{}", now + 600)}), "`exp` that is no time"),
        (json!({"exp": [now + 600]}), "`exp` that is no time"),
        (json!({"nbf": now + 31}), "does not count yet"),
        (json!({"nbf": "now"}), "`nbf` that is no time"),
        (json!({"cnf": {"jkt": "x"}}), "bound to a key"),
        (json!({"events": {}}), "tells of an event"),
    ] {
        let told = world.person(&provider.token(&wrong)).unwrap_err();
        assert!(told.contains(words), "{wrong}: {told}");
    }
    let strict = World::of(&provider.settings(&json!({"leeway_s": 0})));
    assert!(strict.person(&provider.token(&json!({"exp": now}))).is_err());
    assert!(strict.person(&provider.token(&json!({"nbf": now + 1}))).is_err());
}

#[test]
fn a_token_ends_with_its_time_and_says_when() {
    let provider = Scripted::start();
    let world = World::of(&provider.settings(&json!({})));
    let token = provider.token(&json!({}));
    let until = BEGIN + 600_000;
    assert_eq!(world.whose(&token), Ok(Whose::Person { name: "ann".to_owned(), until }), "without leeway");
    world.moves(630_000 - 1);
    assert_eq!(world.person(&token), Ok("ann".to_owned()));
    world.moves(1);
    assert!(world.person(&token).unwrap_err().contains("has expired"));
    let Err(fault) = world.tokens("ann", Some(&token)) else { panic!("it has expired") };
    assert!(fault.to_string().contains("has expired"));
}

/// Whoever reads what is said, or what is shown of a value, can do nothing with it.
#[test]
fn no_sentence_holds_a_token_or_a_part_of_one() {
    let provider = Scripted::start();
    let world = World::of(&provider.settings(&json!({"user_info": true})));
    let secret = |change| provider.token(&change);
    let tokens = [
        secret(json!({})),
        secret(json!({"aud": "zebra-secret"})),
        secret(json!({"exp": "zebra-secret"})),
        secret(json!({"sub": "zebra-secret\n"})),
        secret(json!({"sub": ["zebra-secret"]})),
        RSA.signs(r#"{"alg":"zebra-secret"}"#, &provider.claims(&json!({})).to_string()),
        RSA.signs(r#"{"alg":"RS256","typ":"zebra-secret"}"#, &provider.claims(&json!({})).to_string()),
        RSA.signs(r#"{"alg":"RS256","kid":"zebra-secret"}"#, &provider.claims(&json!({})).to_string()),
        RSA.signs(r#"{"alg":"RS256","crit":["zebra-secret"]}"#, &provider.claims(&json!({})).to_string()),
    ];
    for does in
        [scripted::Does::Answers, scripted::Does::Resets, scripted::Does::Redirects, scripted::Does::Garbage]
    {
        provider.does(does);
        for token in &tokens {
            let presented = Presented::new(token);
            let account =
                Account { name: "ann", presented: Some(&presented), within: Duration::from_secs(30) };
            let said = format!(
                "{:?} {:?} {account:?} {:?}",
                world.person(token),
                world.tokens("ann", Some(token)),
                Some(&presented)
            );
            assert!(!said.contains("zebra-secret"), "{said}");
            let parts = token.split('.').filter(|part| part.len() > 8);
            parts.for_each(|part| assert!(!said.contains(&part[..8]), "{said}"));
        }
        world.moves(10_000);
    }
}
