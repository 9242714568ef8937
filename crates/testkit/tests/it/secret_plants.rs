//! Connectors of each role that tell a secret of their settings in what they refuse.

use std::sync::Arc;
use std::time::Duration;

use garde::Validate;
use ingather_contract::authority::{Account, Answer, Authority, AuthorityKind};
use ingather_contract::call::CallContext;
use ingather_contract::output::{OutputContext, OutputKind};
use ingather_contract::repository::{HostContext, RepositoryKind};
use ingather_contract::settings::{self, schema_of};
use ingather_contract::transform::TransformKind;
use ingather_model::fault::Fault;
use ingather_testkit::memory_kinds::MEMORY;
use ingather_testkit::script_repository::REPOSITORY;
use ingather_testkit::suites::{
    AuthoritySample, OutputSample, RepositorySample, authority_breaches, output_breaches,
    repository_breaches, transform_breaches,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

const RIGHT: &str = "right";

#[derive(Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
struct Login {
    #[garde(skip)]
    user: String,
    #[garde(skip)]
    #[schemars(extend("writeOnly" = true))]
    password: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Plant {
    None,
    TellsWhatItWasGiven,
    TellsWhatItCannotRead,
    ChecksAloud,
}

/// Logs in, and says what is wrong.
fn login(settings: &Value, plant: Plant) -> Result<Login, Fault> {
    let login = match plant {
        Plant::TellsWhatItCannotRead => serde_json::from_value(settings.clone())
            .map_err(|error| Fault::refused("settings", error.to_string()))?,
        _ => settings::read::<Login>(settings)?,
    };
    match (plant, login.password == RIGHT) {
        (_, true) | (Plant::ChecksAloud, _) => Ok(login),
        (Plant::TellsWhatItWasGiven, false) => {
            Err(Fault::refused("login", format!("{} cannot log in with {}", login.user, login.password)))
        }
        (_, false) => {
            Err(Fault::refused("login", format!("{} cannot log in with this password", login.user)))
        }
    }
}

struct Door(Login);

impl Authority for Door {
    fn check(&self, _call: &CallContext) -> Result<String, Fault> {
        match self.0.password == RIGHT {
            true => Ok("it answers".to_owned()),
            false => Err(Fault::refused("login", format!("the password {:?} is wrong", self.0.password))),
        }
    }

    fn tokens(&self, _call: &CallContext, account: &Account<'_>) -> Result<Answer, Fault> {
        let user = account.name;
        Ok(if user == "anna" { Answer::Known(["t:anna"].into_iter().collect()) } else { Answer::Unknown })
    }
}

fn good() -> Value {
    json!({"user": "ann", "password": RIGHT})
}

macro_rules! doors {
    ($($name:ident: $plant:ident, $leaks:literal;)*) => {
        $(
            #[test]
            fn $name() {
                static KIND: AuthorityKind = AuthorityKind {
                    name: "planted",
                    about: "has one fault, or none",
                    schema: schema_of::<Login>,
                    kept: Duration::ZERO,
                    open: |settings, _| Ok(Arc::new(Door(login(settings, Plant::$plant)?))),
                };
                let sample =
                    AuthoritySample { settings: good(), known: Some(("anna", &["t:anna"])), presented: None, cut: None, obstruct: None };
                let told = authority_breaches(&KIND, &sample);
                assert_eq!(told.iter().any(|told| told.contains("tells the secret `password`")), $leaks, "{told:#?}");
                assert_eq!(told.is_empty(), !$leaks, "{told:#?}");
            }
        )*
    };
}

doors! {
    an_authority_that_keeps_its_password_passes: None, false;
    an_authority_that_tells_the_password_it_was_given: TellsWhatItWasGiven, true;
    an_authority_that_tells_what_it_cannot_read_as_a_password: TellsWhatItCannotRead, true;
    an_authority_that_tells_its_password_when_it_is_checked: ChecksAloud, true;
}

#[track_caller]
fn leaks(told: &[String]) {
    assert!(told.iter().any(|told| told.contains("tells the secret `password`")), "{told:#?}");
}

#[test]
fn an_output_that_tells_its_password_when_it_is_checked_or_opened() {
    static CHECKED: OutputKind = OutputKind {
        schema: schema_of::<Login>,
        check: |settings, _| login(settings, Plant::TellsWhatItWasGiven).map(drop),
        look: None,
        ..MEMORY
    };
    static OPENED: OutputKind = OutputKind {
        schema: schema_of::<Login>,
        check: |settings, _| login(settings, Plant::None).map(drop),
        open: |settings, context| {
            login(settings, Plant::TellsWhatItCannotRead)?;
            (MEMORY.open)(settings, context)
        },
        look: None,
        ..MEMORY
    };
    for kind in [&CHECKED, &OPENED] {
        let context = OutputContext { data: std::env::temp_dir(), store: "store".into(), session: 1 };
        leaks(&output_breaches(kind, &OutputSample { settings: good(), context, local: false }));
    }
}

#[test]
fn a_repository_that_tells_its_password() {
    static KIND: RepositoryKind = RepositoryKind {
        source_schema: schema_of::<Login>,
        open: |source, host| {
            login(source, Plant::TellsWhatItWasGiven)?;
            (REPOSITORY.open)(source, host)
        },
        ..REPOSITORY
    };
    let sample = RepositorySample {
        source: good(),
        host: HostContext::default(),
        present: ("a", b"v1"),
        absent: "nothing",
        change: (&|| {}, b"v1"),
        obstruction: None,
        remove: &|| {},
    };
    leaks(&repository_breaches(&KIND, &sample));
}

#[test]
fn a_stage_that_tells_its_password() {
    static KIND: TransformKind = TransformKind {
        name: "planted",
        about: "has one fault",
        version: "1",
        schema: schema_of::<Login>,
        open: |settings| Err(login(settings, Plant::TellsWhatItWasGiven).err().unwrap_or_else(none)),
    };
    leaks(&transform_breaches(&KIND, &good(), &[]));
}

fn none() -> Fault {
    Fault::refused("test", "it never opens")
}
