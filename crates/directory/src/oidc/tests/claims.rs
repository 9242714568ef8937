//! What claims make of a person: their name, and what they hold.

use serde_json::json;

use super::scripted::Scripted;
use super::*;

#[test]
fn names_are_what_people_are_called_by_and_nothing_else() {
    let provider = Scripted::start();
    let world = World::of(&provider.settings(&json!({})));
    let longest = "a".repeat(256);
    for name in [
        "ann",
        "0",
        "1000",
        "root",
        "auth0|7f3",
        "Ann Smith",
        "ann@example.org",
        "J\u{fc}rgen",
        "*",
        "../x",
        &longest,
    ] {
        assert_eq!(world.person(&provider.token(&json!({ "sub": name }))).as_deref(), Ok(name));
    }
    let longer = format!("{longest}a");
    for name in [
        "",
        " ",
        " ann",
        "ann ",
        "a\nb",
        "a\u{0}b",
        "ann\u{7f}",
        "a\tb",
        "a\u{a0}b",
        "a\u{202e}b",
        "a\u{200b}b",
        "ann\u{feff}",
        "a\u{2028}b",
        "a\u{2066}b",
        &longer,
    ] {
        let told = world.person(&provider.token(&json!({ "sub": name }))).unwrap_err();
        assert!(told.contains("nobody can be called by"), "{name:?}: {told}");
    }
    for wrong in [json!(7), json!(true), json!(["ann"]), json!({"a": "ann"})] {
        let told = world.person(&provider.token(&json!({ "sub": wrong }))).unwrap_err();
        assert!(told.contains("no text"), "{told}");
    }
    let told = world.person(&provider.token(&json!({"sub": null}))).unwrap_err();
    assert!(told.contains("has no claim `sub`"), "{told}");
}

#[test]
fn another_claim_may_name_people_and_an_address_that_nobody_has_verified_names_nobody() {
    let provider = Scripted::start();
    let by = |claim: &str| World::of(&provider.settings(&json!({ "name_claim": claim })));
    let token = |change| provider.token(&change);
    assert_eq!(
        by("preferred_username").person(&token(json!({"preferred_username": "Ann"}))).as_deref(),
        Ok("Ann")
    );
    assert!(by("preferred_username").person(&token(json!({}))).is_err(), "`sub` stands in for nothing");
    assert_eq!(by("ext.employee").person(&token(json!({"ext": {"employee": "e7"}}))).as_deref(), Ok("e7"));
    assert_eq!(by("https://a.b/name").person(&token(json!({"https://a.b/name": "n"}))).as_deref(), Ok("n"));
    let email = "ann@example.org";
    for (verified, counts) in
        [(json!(true), true), (json!(null), true), (json!(false), false), (json!("true"), false)]
    {
        let person = by("email").person(&token(json!({"email": email, "email_verified": verified})));
        assert_eq!(person.is_ok(), counts, "{verified}");
    }
}

#[test]
fn groups_are_whole_where_the_provider_has_said_all_of_them() {
    let provider = Scripted::start();
    let table = [
        (json!({}), "group:editors group:staff user:ann", true),
        (json!({"groups": []}), "user:ann", true),
        (json!({"groups": "staff"}), "group:staff user:ann", true),
        (json!({"groups": "two words"}), "group:two words user:ann", true),
        (json!({"groups": null}), "user:ann", false),
        (json!({"groups": ""}), "user:ann", false),
        (json!({"groups": 7}), "user:ann", false),
        (json!({"groups": true}), "user:ann", false),
        (json!({"groups": {"staff": true}}), "user:ann", false),
        (json!({"groups": ["staff", 7]}), "group:staff user:ann", false),
        (json!({"groups": ["staff", ""]}), "group:staff user:ann", false),
        (json!({"groups": ["staff", ["editors"]]}), "group:staff user:ann", false),
        (json!({"groups": null, "_claim_names": {"groups": "src1"}}), "user:ann", false),
        (json!({"groups": ["staff"], "_claim_names": {"groups": "src1"}}), "group:staff user:ann", false),
        (json!({"groups": ["staff"], "_claim_names": {"roles": "src1"}}), "group:staff user:ann", true),
        (json!({"groups": ["staff"], "_claim_names": ["groups"]}), "group:staff user:ann", false),
        (json!({"groups": ["staff"], "hasgroups": true}), "group:staff user:ann", false),
        (json!({"groups": ["staff"], "hasgroups": "true"}), "group:staff user:ann", false),
        (json!({"groups": ["staff"], "hasgroups": false}), "group:staff user:ann", true),
    ];
    let world = World::of(&provider.settings(&json!({})));
    for (change, tokens, whole) in table {
        assert_eq!(world.held("ann", &provider.token(&change)), (tokens.to_owned(), whole), "{change}");
    }
    let none = World::of(&provider.settings(&json!({"groups_claim": null})));
    assert_eq!(none.held("ann", &provider.token(&json!({"groups": null}))), ("user:ann".to_owned(), true));
    let most = |max: usize| World::of(&provider.settings(&json!({ "max_groups": max })));
    assert!(most(2).held("ann", &provider.token(&json!({}))).1);
    assert_eq!(
        most(1).held("ann", &provider.token(&json!({}))),
        ("group:editors user:ann".to_owned(), false)
    );
}

#[test]
fn paths_lead_into_claims_and_names_with_a_colon_are_one_name() {
    let provider = Scripted::start();
    for (path, claims, tokens) in [
        ("realm_access.roles", json!({"realm_access": {"roles": ["a"]}}), "group:a user:ann"),
        ("a.b.c", json!({"a": {"b": {"c": "x"}}}), "group:x user:ann"),
        ("https://example.org/groups", json!({"https://example.org/groups": ["a"]}), "group:a user:ann"),
        ("urn:x.y", json!({"urn:x.y": ["a"]}), "group:a user:ann"),
    ] {
        let world = World::of(&provider.settings(&json!({ "groups_claim": path })));
        assert_eq!(world.held("ann", &provider.token(&claims)), (tokens.to_owned(), true), "{path}");
        assert!(!world.held("ann", &provider.token(&json!({}))).1, "{path} is not there");
        let elsewhere = changed(claims, &json!({"_claim_names": {path.split('.').next().unwrap(): "x"}}));
        if !path.contains(':') {
            assert!(!world.held("ann", &provider.token(&elsewhere)).1, "{path} is elsewhere");
        }
    }
}

/// Whoever may choose their name, or the name of a group, chooses no token of the other kind.
#[test]
fn kinds_of_tokens_cannot_be_mistaken() {
    let provider = Scripted::start();
    let with = |user: &str, group: &str| {
        World::of(&provider.settings(&json!({"user_prefix": user, "group_prefix": group})))
    };
    let held = |world: &World, name: &str, groups: Value| {
        world.held(name, &provider.token(&json!({"sub": name, "groups": groups})))
    };
    let plain = with("", "group:");
    assert_eq!(held(&plain, "ann", json!(["staff"])), ("ann group:staff".to_owned(), true));
    assert_eq!(held(&plain, "group:staff", json!([])), (String::new(), false));
    assert_eq!(held(&plain, "group", json!([])), ("group".to_owned(), true));
    let bare = with("user:", "");
    assert_eq!(held(&bare, "ann", json!(["user:bob", "staff"])), ("staff user:ann".to_owned(), false));
    let machine = json!(["unix:g:0", "unix:everyone", "unix:", "unix", "staff"]);
    assert_eq!(held(&bare, "ann", machine), ("staff unix user:ann".to_owned(), false));
    assert_eq!(held(&plain, "unix:u:0", json!([])), (String::new(), false));
    assert_eq!(held(&with("uni", ""), "x:u:0", json!(["a"])), ("a".to_owned(), false));
    let unseen = json!(["staff\u{0}", "unix:g:0\u{7f}", "sta\nff", "board"]);
    assert_eq!(held(&plain, "ann", unseen), ("ann group:board".to_owned(), false));
    // Whoever says it means it.
    let meant = with("user:", "unix:g:");
    assert_eq!(held(&meant, "ann", json!(["100"])), ("unix:g:100 user:ann".to_owned(), true));
    let inside = with("g", "group:");
    assert_eq!(held(&inside, "roup:staff", json!([])), (String::new(), false));
    assert_eq!(held(&with("u/", "g/"), "ann", json!(["staff"])), ("g/staff u/ann".to_owned(), true));
}
