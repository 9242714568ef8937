//! Secrets of sources, stages and outputs are sealed below the store's functions, and plain above them (decision 0036). A store that is
//! opened without the key's file shows what is stored.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ingather_model::job::sealed::{sealed, still_sealed};
use ingather_model::job::{Definition, Role};
use ingather_store::connections::{self, Connection};
use ingather_store::jobs::{self, Job};
use ingather_store::secrets::{SecretPlaces, Secrets, SettingsOf, key_wanted};
use ingather_store::{Durability, Store, Target, authorities};
use serde_json::{Value, json};

use crate::world::{Fresh, at_once, on_both};

/// The field `password` of all kinds but `gone`, which nobody knows.
struct Passwords;

impl SecretPlaces for Passwords {
    fn each(&self, of: SettingsOf<'_>, settings: &mut Value, change: &mut dyn FnMut(&str, &mut Value)) {
        let (SettingsOf::Source(kind)
        | SettingsOf::Stage(kind)
        | SettingsOf::Output(kind)
        | SettingsOf::Authority(kind)) = of;
        if let Some(password) = settings.get_mut("password").filter(|_| kind != "gone") {
            change("/password", password);
        }
    }
}

fn open(fresh: &Fresh, key: &Path) -> Store {
    let secrets = Secrets::new(key.to_owned(), Box::new(Passwords));
    Store::open_with(&fresh.target, Some(Arc::new(secrets))).unwrap()
}

fn add(store: &Store, role: Role, kind: &str, name: &str) -> Connection {
    let settings = json!({"host": "h", "password": "narwhal"});
    store
        .write(Durability::Synced, |sql| connections::find_or_add(sql, role, kind, name, &settings, 1))
        .unwrap()
}

fn output(store: &Store, name: &str) -> Value {
    let found = store.reader().read(|sql| connections::find(sql, Role::Output, name)).unwrap().unwrap();
    let by_handle = store.reader().read(|sql| connections::get(sql, found.id)).unwrap().unwrap();
    let all = store.reader().read(connections::list).unwrap();
    let listed = all.into_iter().find(|one| one.id == found.id).unwrap();
    assert_eq!(found.settings, by_handle.settings);
    assert_eq!(found.settings, listed.settings);
    found.settings
}

fn job(store: &Store) -> Job {
    store.reader().read(|sql| jobs::by_name(sql, "j")).unwrap().unwrap()
}

/// A job and outputs with secrets, and the file of their key.
fn filled(fresh: &Fresh, folder: &Path) -> (Store, Definition, PathBuf) {
    let key = folder.join("key");
    let store = open(fresh, &key);
    for (kind, name) in [("mail", "a"), ("mail", "b"), ("gone", "c")] {
        add(&store, Role::Output, kind, name);
    }
    let repository = add(&store, Role::Repository, "site", "r");
    let stage = json!({"transform": "stage", "settings": {"password": ["orca", "beluga"], "more": 1}});
    let source = json!({"root": "/", "password": "narwhal"});
    let whole =
        json!({"name": "j", "repository": "r", "source": source, "stages": [stage], "outputs": ["a"]});
    let definition: Definition = serde_json::from_value(whole).unwrap();
    store.write(Durability::Synced, |sql| jobs::add(sql, repository.id, "/", &definition, 1)).unwrap();
    let added = job(&store);
    store.write(Durability::Synced, |sql| jobs::define(sql, &added, &definition, 2)).unwrap();
    let moved = job(&store);
    store.write(Durability::Synced, |sql| jobs::relocate(sql, &moved, "/there", &definition)).unwrap();
    (store, definition, key)
}

#[test]
fn secrets_of_sources_stages_and_outputs_are_sealed_in_the_store_and_plain_above_it() {
    on_both("sealed", |fresh| {
        let folder = tempfile::tempdir().unwrap();
        let (store, definition, key) = filled(fresh, folder.path());
        let plain = json!({"host": "h", "password": "narwhal"});
        // Also by another process that shares the file.
        for store in [&store, &open(fresh, &key)] {
            assert_eq!(output(store, "a"), plain);
            assert_eq!(job(store).definition, definition);
        }
        let stored = Store::open(&fresh.target).unwrap();
        for name in ["a", "b"] {
            let settings = output(&stored, name);
            assert_eq!(settings["host"], "h");
            assert!(sealed(&settings["password"]).is_some(), "{settings}");
        }
        assert_ne!(output(&stored, "a"), output(&stored, "b"), "equal secrets do not look so");
        assert_eq!(output(&stored, "c"), plain, "which settings are secrets nobody knows");
        let found = job(&stored).definition;
        assert!(
            sealed(&found.source["password"]).is_some()
                && sealed(&found.stages[0].settings["password"]).is_some()
        );
        let text = format!("{:?}", (&found, output(&stored, "a")));
        for word in ["narwhal", "orca", "beluga"] {
            assert!(!text.contains(word), "{text}");
        }
        let other = json!({"host": "i", "password": "walrus"});
        let a = store.reader().read(|sql| connections::find(sql, Role::Output, "a")).unwrap().unwrap().id;
        store.write(Durability::Synced, |sql| connections::declare(sql, a, &other, 3)).unwrap();
        assert_eq!(output(&store, "a"), other);
        assert!(sealed(&output(&stored, "a")["password"]).is_some());
    });
}

#[test]
fn a_sealed_secret_of_an_output_opens_in_its_own_place_alone() {
    on_both("bound", |fresh| {
        let folder = tempfile::tempdir().unwrap();
        let (store, ..) = filled(fresh, folder.path());
        let stored = Store::open(&fresh.target).unwrap();
        let theirs = output(&stored, "a")["password"].clone();
        let b = store.reader().read(|sql| connections::find(sql, Role::Output, "b")).unwrap().unwrap().id;
        let put = |settings: &Value| {
            stored.write(Durability::Synced, |sql| connections::declare(sql, b, settings, 3)).unwrap();
        };
        put(&json!({"host": "h", "password": theirs}));
        let (place, why) = still_sealed(&output(&store, "b")).unwrap();
        assert_eq!(place, "password");
        assert!(why.contains("moved here from another place"), "{why}");
        // Where it would be shown.
        let own = json!({"host": theirs, "password": null});
        put(&own);
        assert_eq!(output(&store, "b"), own);
        assert_eq!(output(&store, "a")["password"], "narwhal");
    });
}

#[test]
fn a_second_key_is_not_made_while_something_is_sealed_with_the_first() {
    on_both("second", |fresh| {
        let folder = tempfile::tempdir().unwrap();
        let (store, definition, key) = filled(fresh, folder.path());
        let wanted = store.reader().read(key_wanted).unwrap().unwrap();
        let elsewhere = folder.path().join("elsewhere");
        let without = open(fresh, &elsewhere);
        let settings = json!({"password": "walrus"});
        let refused = without
            .write(Durability::Synced, |sql| {
                connections::find_or_add(sql, Role::Output, "mail", "d", &settings, 1)
            })
            .unwrap_err()
            .to_string();
        assert!(refused.contains(&wanted) && refused.contains("elsewhere is not there"), "{refused}");
        assert!(!elsewhere.exists());
        // What it cannot open it keeps as it is, also where it changes something else.
        let found = job(&without);
        let (place, why) = found.definition.still_sealed().unwrap();
        assert!(place == "stages[0].settings.password" && why.contains("elsewhere is not there"), "{why}");
        let changed = Definition { compare_content: true, ..found.definition.clone() };
        without.write(Durability::Synced, |sql| jobs::define(sql, &found, &changed, 4)).unwrap();
        let there = open(fresh, &key);
        assert_eq!(job(&there).definition, Definition { compare_content: true, ..definition.clone() });
    });
}

#[test]
fn what_changes_while_plain_secrets_are_sealed_stays_changed() {
    on_both("sealing", |fresh| {
        if matches!(fresh.target, Target::Sqlite(_)) {
            // Who writes is alone there, whoever opens the store.
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("key");
        // As an earlier program has stored it.
        let plain = Store::open(&fresh.target).unwrap();
        let repository = add(&plain, Role::Repository, "site", "r");
        let output = add(&plain, Role::Output, "mail", "a");
        let source = json!({"root": "/", "password": "narwhal"});
        let whole = json!({"name": "j", "repository": "r", "source": source, "outputs": ["a"]});
        let definition: Definition = serde_json::from_value(whole).unwrap();
        plain.write(Durability::Synced, |sql| jobs::add(sql, repository.id, "/", &definition, 1)).unwrap();
        let (seen, settings) = (job(&plain), json!({"host": "i", "password": "walrus"}));
        let changed = Definition { compare_content: true, ..definition.clone() };
        at_once(
            &plain,
            |sql| {
                jobs::define(sql, &seen, &changed, 2)?;
                connections::declare(sql, output.id, &settings, 2)
            },
            |_| {
                open(fresh, &key);
                Ok(())
            },
        );
        let store = open(fresh, &key);
        assert_eq!(job(&store).definition, changed);
        assert_eq!(self::output(&store, "a"), settings);
        assert!(sealed(&job(&plain).definition.source["password"]).is_some());
    });
}

#[test]
fn of_two_who_declare_authorities_of_one_name_the_later_one_gives_the_first_no_settings_of_another_kind() {
    on_both("kinds", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let declare = |kind: &str, host: &str| {
            let declared = authorities::Declared {
                kind: kind.to_owned(),
                settings: json!({ "host": host }),
                group: Default::default(),
                asking: Default::default(),
            };
            store.write(Durability::Synced, |sql| authorities::declare(sql, "who", &declared, 1))
        };
        declare("ldap", "a").unwrap();
        assert!(declare("null", "b").is_err());
        declare("ldap", "c").unwrap();
        let all = store.reader().read(authorities::list).unwrap();
        assert_eq!(
            (all.len(), &*all[0].declared.kind, &all[0].declared.settings),
            (1, "ldap", &json!({"host": "c"}))
        );
    });
}
