//! The authority against a real OpenLDAP, and against what is none.

mod answers;
mod failing;
mod hostile;
mod names;
mod world;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ingather_contract::authority::{Account, Answer, Authority};
use ingather_contract::call::{CallContext, Cancel, Clock};
use ingather_model::fault::Fault;
use ingather_testkit::slapd::{ADMIN, PASSWORD, SUFFIX, Slapd};
use serde_json::{Value, json};

struct Still;

impl Clock for Still {
    fn now(&self) -> i64 {
        0
    }
}

fn call() -> CallContext {
    CallContext { clock: Arc::new(Still), cancel: Cancel::default() }
}

fn ask(authority: &dyn Authority, name: &str) -> Result<Answer, Fault> {
    ask_within(authority, name, Duration::from_secs(30))
}

fn ask_within(authority: &dyn Authority, name: &str, within: Duration) -> Result<Answer, Fault> {
    authority.tokens(&call(), &Account { name, presented: None, within })
}

fn opened(settings: &Value) -> Arc<dyn Authority> {
    super::open(settings, None).unwrap()
}

/// Tokens in order, where the answer is whole.
fn whole(answer: Result<Answer, Fault>) -> Vec<String> {
    match answer {
        Ok(Answer::Known(tokens)) if tokens.are_whole() => {
            let mut all: Vec<String> = tokens.iter().map(str::to_owned).collect();
            all.sort();
            all
        }
        other => panic!("{other:?}"),
    }
}

/// Tokens in order of an answer that is not whole.
fn in_part(answer: Result<Answer, Fault>) -> Vec<String> {
    match answer {
        Ok(Answer::Known(tokens)) if !tokens.are_whole() => {
            let mut all: Vec<String> = tokens.iter().map(str::to_owned).collect();
            all.sort();
            all
        }
        other => panic!("{other:?}"),
    }
}

fn fault(answer: Result<Answer, Fault>) -> String {
    answer.unwrap_err().reason().message
}

/// Settings that ask at `url` as the administrator, and search for groups.
fn settings(url: &str) -> Value {
    json!({
        "url": [url],
        "bind_dn": ADMIN,
        "bind_password": PASSWORD,
        "users": {"base": format!("ou=people,{SUFFIX}")},
        "groups": {"base": format!("ou=groups,{SUFFIX}")},
    })
}

/// The same with some fields changed; null takes one out.
fn changed(mut settings: Value, change: &Value) -> Value {
    for (name, value) in change.as_object().unwrap() {
        match value {
            Value::Null => drop(settings.as_object_mut().unwrap().remove(name)),
            value => settings[name] = value.clone(),
        }
    }
    settings
}

/// Two units, Ann in `staff`, which is in `all`, and Bob in nothing.
const FEW: &str = "\
dn: ou=people,dc=example,dc=org
objectClass: organizationalUnit
ou: people

dn: ou=groups,dc=example,dc=org
objectClass: organizationalUnit
ou: groups

dn: cn=Ann,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
cn: Ann
sn: A
uid: ann
memberOf: cn=staff,ou=groups,dc=example,dc=org

dn: cn=Bob,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
cn: Bob
sn: B
uid: bob
employeeType: left

dn: cn=staff,ou=groups,dc=example,dc=org
objectClass: groupOfNames
cn: staff
memberOf: cn=all,ou=groups,dc=example,dc=org
member: cn=Ann,ou=people,dc=example,dc=org

dn: cn=all,ou=groups,dc=example,dc=org
objectClass: groupOfNames
cn: all
member: cn=staff,ou=groups,dc=example,dc=org

";
const ANN: [&str; 3] = ["group:all", "group:staff", "user:ann"];

fn few() -> Slapd {
    Slapd::start(FEW, "")
}
