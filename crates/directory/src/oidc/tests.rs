//! The authority against a provider that does what a test says, and against a real one.

mod claims;
mod failing;
mod keys;
mod real;
mod scripted;
mod tokens;
mod user_info;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use ingather_contract::authority::{Account, Answer, Authority, OF_WHAT_IS_PRESENTED, Presented, Whose};
use ingather_contract::call::{CallContext, Cancel, Clock};
use ingather_model::fault::Fault;
use serde_json::{Value, json};

/// Milliseconds at which tests begin: long after what tokens that have expired say.
const BEGIN: i64 = 1_800_000_000_000;

/// A clock that a test moves.
#[derive(Default)]
struct ByHand(AtomicI64);

impl Clock for ByHand {
    fn now(&self) -> i64 {
        BEGIN + self.0.load(Ordering::SeqCst)
    }
}

/// An authority, and the time that it is told.
struct World {
    authority: Arc<dyn Authority>,
    clock: Arc<ByHand>,
}

impl World {
    fn of(settings: &Value) -> World {
        World { authority: super::open(settings, None).unwrap(), clock: Arc::default() }
    }

    fn call(&self) -> CallContext {
        CallContext { clock: self.clock.clone(), cancel: Cancel::default() }
    }

    fn moves(&self, ms: i64) {
        self.clock.0.fetch_add(ms, Ordering::SeqCst);
    }

    fn whose_within(&self, token: &str, within: Duration) -> Result<Whose, Fault> {
        self.authority.whose(&self.call(), &Presented::new(token), within)
    }

    fn whose(&self, token: &str) -> Result<Whose, Fault> {
        self.whose_within(token, Duration::from_secs(30))
    }

    /// Who that is; a sentence where it is nobody.
    fn person(&self, token: &str) -> Result<String, String> {
        match self.whose(token) {
            Ok(Whose::Person { name, .. }) => Ok(name),
            Ok(Whose::Refused(why)) => Err(why),
            Ok(Whose::NotOurs) => Err("not ours".to_owned()),
            Err(fault) => Err(format!("fault: {fault}")),
        }
    }

    fn tokens(&self, name: &str, token: Option<&str>) -> Result<Answer, Fault> {
        let presented = token.map(Presented::new);
        let account = Account { name, presented: presented.as_ref(), within: Duration::from_secs(30) };
        self.authority.tokens(&self.call(), &account)
    }

    /// Tokens in order, and whether they are whole.
    fn held(&self, name: &str, token: &str) -> (String, bool) {
        match self.tokens(name, Some(token)) {
            Ok(Answer::Known(tokens)) => {
                let mut all: Vec<&str> = tokens.iter().collect();
                all.sort_unstable();
                (all.join(" "), tokens.are_whole())
            }
            other => panic!("{other:?}"),
        }
    }
}

/// The same with some fields changed; null takes one out.
fn changed(mut all: Value, change: &Value) -> Value {
    for (name, value) in change.as_object().unwrap() {
        match value {
            Value::Null => drop(all.as_object_mut().unwrap().remove(name)),
            value => all[name] = value.clone(),
        }
    }
    all
}

#[test]
fn a_name_alone_and_the_token_of_somebody_else_tell_nothing() {
    let provider = scripted::Scripted::start();
    let world = World::of(&provider.settings(&json!({})));
    let ann = provider.token(&json!({}));
    assert_eq!(world.held("ann", &ann), ("group:editors group:staff user:ann".to_owned(), true));
    for (name, token, words) in [
        ("ann", None, "let the person ask with a token of their own"),
        ("bob", None, "let the person ask with a token of their own"),
        ("bob", Some(ann.as_str()), "somebody else"),
        ("Ann", Some(ann.as_str()), "somebody else"),
        ("ann", Some("ann"), "no token of this provider"),
    ] {
        let Err(Fault::Refused(reason)) = world.tokens(name, token) else { panic!("{name} {token:?}") };
        assert_eq!(reason.code, OF_WHAT_IS_PRESENTED, "no reason to give the authority a rest");
        assert!(reason.message.contains(words), "{name}: {}", reason.message);
    }
}

#[test]
fn it_keeps_what_an_authority_promises() {
    use ingather_testkit::suites::{self, AuthoritySample};
    let provider = scripted::Scripted::start();
    // The suite has a clock of its own.
    let ann = provider.token(&json!({"nbf": null, "exp": 9_000_000_000_i64}));
    provider.tells(&json!({"sub": "ann", "groups": ["editors", "staff"]}));
    for user_info in [false, true] {
        let settings = provider.settings(&json!({ "user_info": user_info }));
        let known: (&str, &[&str]) = ("ann", &["user:ann", "group:staff", "group:editors"]);
        let cut = || provider.tells(&json!({"sub": "ann", "groups": ["staff", 7]}));
        let down = || provider.does(scripted::Does::Resets);
        let sample = AuthoritySample {
            settings,
            known: Some(known),
            presented: Some(&ann),
            cut: user_info.then_some(&cut),
            // Keys that are known go on for a while, as does what a token says by itself.
            obstruct: user_info.then_some(&down),
        };
        suites::authority(&super::AUTHORITY, &sample);
    }
}
