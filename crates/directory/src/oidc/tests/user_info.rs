//! Groups that the provider is asked for with the person's own token.

use serde_json::json;

use super::scripted::{Does, OTHER_RSA, Scripted};
use super::*;

fn world(provider: &Scripted) -> World {
    World::of(&provider.settings(&json!({"user_info": true})))
}

#[test]
fn groups_come_from_the_provider_and_not_from_the_token() {
    let provider = Scripted::start();
    let world = world(&provider);
    let ann = provider.token(&json!({}));
    provider.tells(&json!({"sub": "ann", "groups": ["board"], "preferred_username": "bob"}));
    assert_eq!(world.held("ann", &ann), ("group:board user:ann".to_owned(), true));
    assert_eq!(provider.served().authorizations, [format!("Bearer {ann}")], "once, and nowhere but there");
    provider.tells(&json!({"sub": "ann"}));
    assert_eq!(world.held("ann", &ann), ("user:ann".to_owned(), false));
    provider.tells(&json!({"sub": "ann", "groups": ["board"], "_claim_names": {"groups": "x"}}));
    assert_eq!(world.held("ann", &ann), ("group:board user:ann".to_owned(), false));
    assert_eq!(world.authority.check(&world.call()).map_err(|fault| fault.to_string()).err(), None);
}

/// Else whoever has a token that was made out for somebody else could ask with it by way of this service.
#[test]
fn nobody_is_asked_about_with_a_token_that_does_not_count() {
    let provider = Scripted::start();
    let world = world(&provider);
    provider.tells(&json!({"sub": "ann", "groups": ["board"]}));
    let claims = provider.claims(&json!({})).to_string();
    for token in [
        provider.token(&json!({"aud": "other"})),
        provider.token(&json!({"exp": 7})),
        provider.token(&json!({"iss": "https://login.example.org"})),
        OTHER_RSA.signs(r#"{"alg":"RS256","kid":"one"}"#, &claims),
        OTHER_RSA.signs(r#"{"alg":"none"}"#, &claims),
        "opaque".to_owned(),
    ] {
        assert!(matches!(world.tokens("ann", Some(&token)), Err(Fault::Refused(_))));
        assert!(!matches!(world.whose(&token), Ok(Whose::Person { .. })));
    }
    let ann = provider.token(&json!({}));
    assert!(world.tokens("bob", Some(&ann)).is_err(), "nor with that of somebody else");
    assert_eq!(provider.asked("/me"), 0);
    assert_eq!(world.person(&ann), Ok("ann".to_owned()));
    assert_eq!(provider.asked("/me"), 0, "nor to learn whose a token is");
}

#[test]
fn answers_about_somebody_else_signed_ones_and_refusals_are_faults() {
    let provider = Scripted::start();
    let world = world(&provider);
    let ann = provider.token(&json!({}));
    let said = |status: u16, kind: &'static str, body: &str| {
        provider.served().user_info = (status, kind, body.to_owned());
        world.tokens("ann", Some(&ann)).unwrap_err()
    };
    let json = "application/json";
    for (fault, words) in [
        (said(200, json, r#"{"sub": "bob", "groups": ["board"]}"#), "somebody else"),
        (said(200, json, r#"{"groups": ["board"]}"#), "somebody else"),
        (said(200, json, r#"{"sub": ["ann"]}"#), "somebody else"),
        (said(200, json, r#"{"sub": "bob", "sub": "ann"}"#), "no object"),
        (said(200, json, "[]"), "no object"),
        (said(200, json, ""), "no object"),
        (said(200, "application/jwt", &ann), "signs its answers"),
        (said(500, json, ""), "answers with 500"),
        (said(302, json, ""), "not followed"),
    ] {
        assert!(fault.to_string().contains(words), "{words}: {fault}");
        assert!(matches!(fault, Fault::Passing { .. }), "{fault:?}");
    }
    for status in [401, 403] {
        let fault = said(status, json, "");
        let Fault::Refused(reason) = &fault else { panic!("{fault:?}") };
        assert_eq!(reason.code, OF_WHAT_IS_PRESENTED, "about the token, and no reason for a rest");
    }
    let unnamed = World::of(&provider.settings(&json!({"user_info": true, "name_claim": "azp"})));
    let token = provider.token(&json!({"sub": null}));
    assert!(unnamed.tokens("search", Some(&token)).unwrap_err().to_string().contains("no `sub`"));
}

#[test]
fn a_provider_that_fails_there_gives_nothing() {
    for does in [
        Does::Resets,
        Does::Half,
        Does::Garbage,
        Does::Large,
        Does::LargeHead,
        Does::Redirects,
        Does::Fails,
        Does::Array,
    ] {
        let provider = Scripted::start();
        let world = world(&provider);
        provider.tells(&json!({"sub": "ann", "groups": ["board"]}));
        provider.served().at = "/me";
        provider.does(does);
        let answer = world.tokens("ann", Some(&provider.token(&json!({}))));
        assert!(matches!(answer, Err(Fault::Passing { .. })), "{does:?}: {answer:?}");
    }
    let provider = Scripted::start();
    let without = changed(provider.served().discovery.clone(), &json!({"userinfo_endpoint": null}));
    provider.served().discovery = without;
    let world = world(&provider);
    assert!(world.authority.check(&world.call()).is_err());
    assert!(world.tokens("ann", Some(&provider.token(&json!({})))).is_err());
}
