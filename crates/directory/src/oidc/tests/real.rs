//! The authority against `oidc-provider`, whose people log in through its pages.

use ingather_testkit::provider::{AUDIENCE, CLIENT, Provider};
use serde_json::json;

use super::*;

struct Now;

impl Clock for Now {
    fn now(&self) -> i64 {
        // clock: the tokens of a real provider count in real time.
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        i64::try_from(since.as_millis()).unwrap()
    }
}

fn accounts() -> Value {
    json!({"ann": {"groups": ["editors", "staff"], "preferred_username": "Ann"}, "bob": {"groups": []}, "cid": {}})
}

fn settings(provider: &Provider, change: &Value) -> Value {
    let all = json!({"issuer": provider.issuer(), "audiences": [AUDIENCE], "groups_claim": "groups"});
    changed(all, change)
}

fn person(authority: &dyn Authority, token: &str) -> Result<String, String> {
    let call = CallContext { clock: Arc::new(Now), cancel: Cancel::default() };
    match authority.whose(&call, &Presented::new(token), Duration::from_secs(30)) {
        Ok(Whose::Person { name, .. }) => Ok(name),
        Ok(Whose::Refused(why)) => Err(why),
        Ok(Whose::NotOurs) => Err("not ours".to_owned()),
        Err(fault) => Err(format!("fault: {fault}")),
    }
}

fn held(authority: &dyn Authority, name: &str, token: &str) -> Result<(Vec<String>, bool), Fault> {
    let call = CallContext { clock: Arc::new(Now), cancel: Cancel::default() };
    let presented = Presented::new(token);
    let account = Account { name, presented: Some(&presented), within: Duration::from_secs(30) };
    match authority.tokens(&call, &account)? {
        Answer::Known(tokens) => {
            let mut all: Vec<String> = tokens.iter().map(str::to_owned).collect();
            all.sort();
            Ok((all, tokens.are_whole()))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn people_who_have_logged_in_are_known_by_access_tokens_and_by_id_tokens() {
    let here = "oidc::tests::real::people_who_have_logged_in_are_known_by_access_tokens_and_by_id_tokens";
    let Some(mut provider) = Provider::start(here, accounts()) else { return };
    let (ann, bob, cid) = (provider.log_in("ann"), provider.log_in("bob"), provider.log_in("cid"));
    let authority = super::super::open(&settings(&provider, &json!({})), None).unwrap();
    let authority = authority.as_ref();
    let told = |token: &str| person(authority, token);
    assert_eq!((told(&ann.access).as_deref(), told(&bob.access).as_deref()), (Ok("ann"), Ok("bob")));
    let all = ["group:editors", "group:staff", "user:ann"].map(str::to_owned).to_vec();
    assert_eq!(held(authority, "ann", &ann.access), Ok((all, true)));
    assert_eq!(held(authority, "bob", &bob.access), Ok((vec!["user:bob".to_owned()], true)));
    assert_eq!(
        held(authority, "cid", &cid.access),
        Ok((vec!["user:cid".to_owned()], false)),
        "it does not say"
    );
    assert!(held(authority, "bob", &ann.access).is_err());
    // An ID token is made out for the program that somebody has logged in with.
    assert!(told(&ann.id).unwrap_err().contains("another audience"));
    let by_id = settings(&provider, &json!({"audiences": [CLIENT], "name_claim": "preferred_username"}));
    let by_id = super::super::open(&by_id, None).unwrap();
    let named = ["group:editors", "group:staff", "user:Ann"].map(str::to_owned).to_vec();
    assert_eq!(held(by_id.as_ref(), "Ann", &ann.id), Ok((named, true)));
    assert!(person(by_id.as_ref(), &ann.access).unwrap_err().contains("another audience"));
    // Access tokens for other services, by other programs, or that nobody can read.
    let other = provider.log_in_by(&[("who", "ann"), ("resource", "urn:other")]).access;
    assert!(told(&other).unwrap_err().contains("another audience"));
    let clients = super::super::open(&settings(&provider, &json!({"clients": [CLIENT]})), None).unwrap();
    assert_eq!(person(clients.as_ref(), &ann.access).as_deref(), Ok("ann"));
    let by_other = provider.log_in_by(&[("who", "ann"), ("client", "other")]).access;
    assert_eq!(told(&by_other).as_deref(), Ok("ann"));
    assert!(person(clients.as_ref(), &by_other).unwrap_err().contains("a program"));
    let opaque = provider.log_in_by(&[("who", "ann"), ("resource", "")]).access;
    assert_eq!(told(&opaque).unwrap_err(), "not ours");
    // Its userinfo takes no token that is made out for another service, and says so.
    let asks = super::super::open(&settings(&provider, &json!({"user_info": true})), None).unwrap();
    assert!(
        held(asks.as_ref(), "ann", &ann.access)
            .unwrap_err()
            .to_string()
            .contains("tells nothing about whoever")
    );
    provider.stop();
    assert_eq!(told(&ann.access).as_deref(), Ok("ann"), "known keys go on");
    let fresh = super::super::open(&settings(&provider, &json!({})), None).unwrap();
    assert!(person(fresh.as_ref(), &ann.access).unwrap_err().starts_with("fault: "));
}

#[test]
fn keys_that_the_provider_changes_are_followed() {
    let here = "oidc::tests::real::keys_that_the_provider_changes_are_followed";
    let Some(mut provider) = Provider::start(here, accounts()) else { return };
    let world = World::of(&settings(&provider, &json!({"keys_ms": 60_000})));
    // The clock of the world stands where the tokens count, and moves by hand.
    world.moves(Now.now() - BEGIN);
    let first = provider.log_in("ann").access;
    assert_eq!(world.person(&first).as_deref(), Ok("ann"));
    provider.sign_with(&["es1", "rs1"]);
    let second = provider.log_in("ann").access;
    world.moves(6_000);
    assert_eq!(world.person(&second).as_deref(), Ok("ann"), "by a key that was not there before");
    assert_eq!(world.person(&first).as_deref(), Ok("ann"));
    provider.sign_with(&["ed1", "es1"]);
    let third = provider.log_in("ann").access;
    world.moves(6_000);
    assert_eq!((world.person(&third).as_deref(), world.person(&second).as_deref()), (Ok("ann"), Ok("ann")));
    assert!(world.person(&first).unwrap_err().contains("does not publish"), "its key was withdrawn");
    // Without a new token, nobody has a reason to ask before the keys are due.
    provider.sign_with(&["ed1"]);
    world.moves(59_000);
    assert_eq!(world.person(&second).as_deref(), Ok("ann"));
    world.moves(1_000);
    assert!(world.person(&second).unwrap_err().contains("does not publish"));
    assert_eq!(world.person(&third).as_deref(), Ok("ann"));
}

#[test]
fn who_answers_is_checked() {
    let here = "oidc::tests::real::who_answers_is_checked";
    let Some(provider) = Provider::with(here, accounts(), "https", 3_600) else { return };
    let Some(other) = Provider::with(here, accounts(), "https", 3_600) else { return };
    let ann = provider.log_in("ann").access;
    let told = |change: &Value| {
        person(super::super::open(&settings(&provider, change), None).unwrap().as_ref(), &ann)
    };
    assert_eq!(told(&json!({"ca_file": provider.root()})).as_deref(), Ok("ann"));
    for wrong in [json!({}), json!({"ca_file": other.root()})] {
        let said = told(&wrong).unwrap_err();
        assert!(said.starts_with("fault: ") && said.contains("certificate"), "{wrong}: {said}");
    }
    let key = json!({"ca_file": provider.root().with_file_name("root.key")});
    assert!(told(&key).unwrap_err().contains("no certificate"));
}
