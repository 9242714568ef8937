//! The authority over people in memory.

use std::sync::Mutex;

use ingather_contract::call::{Cancel, Clock};
use ingather_testkit::suites::{self, AuthoritySample};
use serde_json::{Value, json};

use super::*;

struct Still;

impl Clock for Still {
    fn now(&self) -> i64 {
        0
    }
}

/// One person; or a store that cannot be read.
#[derive(Default)]
struct People(Mutex<Option<PushedPerson>>, bool);

impl Pushed for People {
    fn person(&self, name: &str, _: usize) -> Result<Option<PushedPerson>, Fault> {
        if self.1 {
            return Err(Fault::passing("store", "the disk is away"));
        }
        Ok(self.0.lock().unwrap().clone().filter(|person| person.called.name == name))
    }

    fn count(&self) -> Result<(u64, u64), Fault> {
        self.person("", 1).map(|_| (1, 2))
    }
}

fn names(id: &str, name: &str, external: Option<&str>) -> PushedNames {
    PushedNames { id: id.to_owned(), name: name.to_owned(), external_id: external.map(str::to_owned) }
}

fn ann(groups: Vec<PushedNames>) -> PushedPerson {
    PushedPerson { called: names("5f", "ann", Some("x7")), active: true, groups, whole: true }
}

fn answer(settings: Value, people: People, name: &str) -> Result<Answer, Fault> {
    let authority = open(&settings, Some(Arc::new(people))).unwrap();
    let call = CallContext { clock: Arc::new(Still), cancel: Cancel::default() };
    authority.tokens(&call, &Account { name, presented: None, within: Duration::from_secs(9) })
}

/// Tokens in order, and whether they are whole.
fn held(settings: Value, person: PushedPerson) -> (Vec<String>, bool) {
    let answer = answer(settings, People(Mutex::new(Some(person)), false), "ann");
    let Ok(Answer::Known(tokens)) = answer else { panic!("{answer:?}") };
    let mut all: Vec<String> = tokens.iter().map(str::to_owned).collect();
    all.sort();
    (all, tokens.are_whole())
}

#[test]
fn tokens_are_made_of_what_the_settings_name_and_one_that_cannot_be_made_is_missed() {
    let all = |tokens: &[&str]| tokens.iter().map(|token| (*token).to_owned()).collect::<Vec<_>>();
    let staff = || names("9c", "staff", Some("g1"));
    assert_eq!(held(json!({}), ann(vec![staff()])), (all(&["group:staff", "user:ann"]), true));
    let by_external = json!({"user_token": "external_id", "group_token": "external_id", "group_prefix": ""});
    assert_eq!(held(by_external.clone(), ann(vec![staff()])), (all(&["g1", "user:x7"]), true));
    assert_eq!(
        held(json!({"user_token": "id", "group_token": "id"}), ann(vec![staff()])),
        (all(&["group:9c", "user:5f"]), true)
    );
    assert_eq!(held(by_external.clone(), ann(vec![names("9c", "staff", None)])), (all(&["user:x7"]), false));
    assert_eq!(
        held(json!({}), PushedPerson { whole: false, ..ann(vec![staff()]) }),
        (all(&["group:staff", "user:ann"]), false)
    );
    // Of the other kind, of this machine, or what no token is.
    for name in ["user:bob", "unix:everyone", "unix:g:0", "a\u{7}b", ""] {
        let group = names("9c", name, Some(name));
        assert_eq!(
            held(by_external.clone(), ann(vec![staff(), group])),
            (all(&["g1", "user:x7"]), false),
            "{name:?}"
        );
    }
}

#[test]
fn who_may_not_enter_has_nothing_and_who_cannot_be_read_is_a_fault() {
    let known = |active| People(Mutex::new(Some(PushedPerson { active, ..ann(Vec::new()) })), false);
    assert_eq!(answer(json!({}), known(false), "ann"), Ok(Answer::Unauthorized));
    assert_eq!(answer(json!({}), known(true), "bob"), Ok(Answer::Unknown));
    for odd in ["", " ann", "ann ", "an\nn", &"a".repeat(300)] {
        assert_eq!(answer(json!({}), known(true), odd), Ok(Answer::Unknown), "{odd:?}");
    }
    assert!(answer(json!({}), People(Mutex::default(), true), "ann").is_err());
    let undeclared = open(&json!({}), None).unwrap();
    let call = CallContext { clock: Arc::new(Still), cancel: Cancel::default() };
    assert!(undeclared.check(&call).is_err());
    let told = open(&json!({"user_prefix": "", "group_prefix": ""}), None).err().unwrap();
    assert!(told.to_string().contains("must differ"), "{told}");
}

#[test]
fn it_keeps_what_an_authority_promises() {
    static KIND: AuthorityKind = AuthorityKind {
        open: |settings, _| open(settings, Some(Arc::new(People(Mutex::new(Some(ann(Vec::new()))), false)))),
        ..AUTHORITY
    };
    let known = Some(("ann", ["user:ann"].as_slice()));
    suites::authority(
        &KIND,
        &AuthoritySample { settings: json!({}), known, presented: None, cut: None, obstruct: None },
    );
}
