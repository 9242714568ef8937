//! The authority `listed`: users and groups of a file, for people whom no directory knows, and for trying things out.
//!
//! The file is JSON: `{"users": {"ann": ["editors", "project-7"]}, "groups": {"editors": ["people"]}, "shut_out": ["bob"]}`. A user holds
//! each name that is listed for them as a token, and the names that these are listed under as groups, and so on; groups may be in circles.
//! A file that cannot be read whole answers for nobody: whoever writes it writes another one beside it, and gives it the name.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use garde::Validate;
use ingather_contract::authority::{Account, Answer, Authority, AuthorityKind, Pushed};
use ingather_contract::call::CallContext;
use ingather_contract::settings;
use ingather_model::access::Tokens;
use ingather_model::fault::Fault;
use ingather_model::limits;
use ingather_model::run_counts::counted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `listed` authority.
pub(crate) const AUTHORITY: AuthorityKind = AuthorityKind {
    name: "listed",
    about: "Users and groups of a file of JSON, which is read again when it changes.",
    schema: settings::schema_of::<Settings>,
    kept: Duration::ZERO,
    open,
};

/// A file that was changed so shortly before it was read may change once more without another time, nanoseconds.
const RACY_NS: i128 = 2_000_000_000;

/// Settings of the authority.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
#[garde(allow_unvalidated)]
struct Settings {
    /// Path of the file.
    #[garde(custom(absolute))]
    #[schemars(extend("x-of-the-machine" = true))]
    file: PathBuf,
}

fn absolute(path: &Path, _: &()) -> garde::Result {
    match path.is_absolute() {
        true => Ok(()),
        false => Err(garde::Error::new(
            "must be a path from the root of the machine, such as /etc/ingather/people.json",
        )),
    }
}

fn open(value: &serde_json::Value, _: Option<Arc<dyn Pushed>>) -> Result<Arc<dyn Authority>, Fault> {
    let Settings { file } = settings::read(value)?;
    Ok(Arc::new(Listed { file, read: Mutex::default() }))
}

/// What the file says.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct People {
    users: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    groups: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    shut_out: HashSet<String>,
}

/// Tells a file from what it was before.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Facts {
    device: u64,
    inode: u64,
    size: u64,
    modified: i128,
    changed: i128,
}

struct Listed {
    file: PathBuf,
    read: Mutex<Option<(Facts, Arc<People>)>>,
}

impl Authority for Listed {
    fn check(&self, call: &CallContext) -> Result<String, Fault> {
        let people = self.people(call)?;
        let (users, groups) = (people.users.len() as u64, people.groups.len() as u64);
        Ok(format!("the file lists {} and {}", counted(users, "user"), counted(groups, "group")))
    }

    fn tokens(&self, call: &CallContext, account: &Account<'_>) -> Result<Answer, Fault> {
        let people = self.people(call)?;
        let Some(names) = people.users.get(account.name) else { return Ok(Answer::Unknown) };
        if people.shut_out.contains(account.name) {
            return Ok(Answer::Unauthorized);
        }
        let mut held: HashSet<&str> = HashSet::new();
        let mut next: Vec<&str> = names.iter().map(String::as_str).collect();
        while let Some(name) = next.pop() {
            if held.len() == limits::TOKENS_OF_A_USER_MAX {
                return Ok(Answer::Known(held.into_iter().collect::<Tokens>().not_whole()));
            }
            if held.insert(name) {
                next.extend(people.groups.get(name).into_iter().flatten().map(String::as_str));
            }
        }
        Ok(Answer::Known(held.into_iter().collect()))
    }
}

impl Listed {
    /// What the file says now.
    fn people(&self, call: &CallContext) -> Result<Arc<People>, Fault> {
        let mut read = self.read.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let failed = |what: &dyn std::fmt::Display| {
            Fault::passing("listed", format!("the file {} cannot be read: {what}", self.file.display()))
        };
        let facts =
            std::fs::metadata(&self.file).map(|facts| Facts::of(&facts)).map_err(|error| failed(&error))?;
        if let Some((_, people)) = read.as_ref().filter(|(before, _)| *before == facts) {
            return Ok(people.clone());
        }
        *read = None;
        let file = File::open(&self.file).map_err(|error| failed(&error))?;
        let before = Facts::of(&file.metadata().map_err(|error| failed(&error))?);
        let mut bytes = Vec::new();
        let most = limits::LISTED_BYTES_MAX;
        (&file).take(most + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
        if bytes.len() as u64 > most {
            return Err(failed(&format!("it is larger than {most} bytes")));
        }
        let people: People = serde_json::from_slice(&bytes).map_err(|error| failed(&error))?;
        let after = Facts::of(&file.metadata().map_err(|error| failed(&error))?);
        let people = Arc::new(people);
        let now = i128::from(call.now()) * 1_000_000;
        if before == after && now - after.changed.max(after.modified) > RACY_NS {
            *read = Some((after, people.clone()));
        }
        Ok(people)
    }
}

impl Facts {
    fn of(facts: &std::fs::Metadata) -> Facts {
        let time =
            |seconds: i64, nanoseconds: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
        Facts {
            device: facts.dev(),
            inode: facts.ino(),
            size: facts.len(),
            modified: time(facts.mtime(), facts.mtime_nsec()),
            changed: time(facts.ctime(), facts.ctime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use ingather_contract::call::{Cancel, Clock};
    use ingather_testkit::suites::{self, AuthoritySample};
    use serde_json::{Value, json};

    use super::*;

    struct At(i64);

    impl Clock for At {
        fn now(&self) -> i64 {
            self.0
        }
    }

    fn ask(authority: &dyn Authority, name: &str, now: i64) -> Result<Answer, Fault> {
        let call = CallContext { clock: Arc::new(At(now)), cancel: Cancel::default() };
        authority.tokens(&call, &Account { name, presented: None, within: Duration::from_secs(1) })
    }

    fn known(tokens: &str) -> Result<Answer, Fault> {
        Ok(Answer::Known(tokens.split_whitespace().collect()))
    }

    fn made(value: &Value) -> (tempfile::TempDir, PathBuf, Value) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("people.json");
        std::fs::write(&file, value.to_string()).unwrap();
        let settings = json!({ "file": file });
        (folder, file, settings)
    }

    #[test]
    fn it_keeps_what_an_authority_promises() {
        let (_folder, file, settings) =
            made(&json!({"users": {"ann": ["staff"]}, "groups": {"staff": ["people"]}}));
        let obstruct = || std::fs::remove_file(&file).unwrap();
        let known = ("ann", ["staff", "people"].as_slice());
        suites::authority(
            &AUTHORITY,
            &AuthoritySample {
                settings,
                known: Some(known),
                presented: None,
                cut: None,
                obstruct: Some(&obstruct),
            },
        );
    }

    #[test]
    fn groups_are_in_groups_and_in_circles_and_who_is_shut_out_may_not_enter() {
        let (_folder, _, settings) = made(&json!({
            "users": {"ann": ["a"], "bob": ["a", "x"], "cid": [], "dan": ["a"]},
            "groups": {"a": ["b"], "b": ["c", "a"], "c": ["c"]},
            "shut_out": ["dan", "nobody"],
        }));
        let authority = open(&settings, None).unwrap();
        let ask = |name: &str| ask(authority.as_ref(), name, 0);
        assert_eq!(ask("ann"), known("a b c"));
        assert_eq!(ask("bob"), known("a b c x"));
        assert_eq!(ask("cid"), known(""));
        assert_eq!(ask("dan"), Ok(Answer::Unauthorized));
        for name in ["nobody", "Ann", "a", ""] {
            assert_eq!(ask(name), Ok(Answer::Unknown), "{name}");
        }
    }

    #[test]
    fn more_tokens_than_a_user_may_hold_are_not_whole() {
        let many: Vec<String> = (0..=limits::TOKENS_OF_A_USER_MAX).map(|n| n.to_string()).collect();
        let (_folder, _, settings) = made(&json!({"users": {"ann": many}}));
        match ask(open(&settings, None).unwrap().as_ref(), "ann", 0) {
            Ok(Answer::Known(tokens)) => assert!(!tokens.are_whole()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_changed_file_is_read_again_also_within_the_grain_of_its_time_and_a_damaged_one_answers_for_nobody() {
        let (_folder, file, settings) = made(&json!({"users": {"ann": ["old"]}}));
        let authority = open(&settings, None).unwrap();
        let time = File::open(&file).unwrap().metadata().unwrap().modified().unwrap();
        let now = time.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64;
        let rewrite = |text: &str| {
            std::fs::write(&file, text).unwrap();
            File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
        };
        assert_eq!(ask(authority.as_ref(), "ann", now), known("old"));
        rewrite(r#"{"users":{"ann":["new"]}}"#);
        assert_eq!(ask(authority.as_ref(), "ann", now), known("new"));
        assert_eq!(ask(authority.as_ref(), "ann", now + 60_000), known("new"), "kept from here on");
        rewrite(r#"{"users":{"ann":["owl"]}}"#);
        assert_eq!(ask(authority.as_ref(), "ann", now + 60_000), known("owl"), "its change time tells");
        for damaged in ["", "{", "[]", r#"{"users":{"ann":"new"}}"#, r#"{"users":{},"more":1}"#] {
            rewrite(damaged);
            let said = ask(authority.as_ref(), "ann", now + 60_000).unwrap_err().reason();
            assert!(said.code == "listed" && said.message.contains("people.json"), "{said:?}");
        }
    }

    #[test]
    fn a_path_that_depends_on_where_the_program_runs_is_refused() {
        for wrong in
            [json!({}), json!({"file": "people.json"}), json!({"file": 1}), json!({"file": "/p", "x": 1})]
        {
            assert_eq!(open(&wrong, None).err().unwrap().reason().code, "settings", "{wrong}");
        }
    }
}
