//! Every statement can be prepared on both databases.

use ingather_model::limits;
use ingather_store::{Durability, Store, api_keys, audit, documents, queries};

use crate::world::on_both;

#[test]
fn every_statement_prepares_on_sqlite() {
    on_both("prepare", |fresh| {
        if let ingather_store::Target::Sqlite(path) = &fresh.target {
            let connection = rusqlite::Connection::open(path).unwrap();
            for statement in queries::ALL {
                if let Err(error) = connection.prepare(statement.sqlite()) {
                    panic!("{}: {error}\n{}", statement.name, statement.sqlite());
                }
            }
        }
        if let ingather_store::Target::Postgres(url) = &fresh.target {
            let mut client = postgres::Client::connect(url, postgres::NoTls).unwrap();
            for statement in queries::ALL {
                if let Err(error) = client.prepare(statement.postgres()) {
                    panic!("{}: {error:?}\n{}", statement.name, statement.postgres());
                }
            }
        }
    });
}

#[test]
fn so_many_changes_are_kept_on_record_and_older_ones_are_forgotten() {
    on_both("audit", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let kept = usize::try_from(limits::AUDIT_KEPT).unwrap();
        let numbers = store.write(Durability::Relaxed, |sql| {
            let first = audit::begin(sql, 1, "key ann", "jobs.start", "share")?;
            audit::end(sql, first, "done")?;
            // As many again, less the last one.
            documents::take_ids(sql, "audit", kept - 2)?;
            let last = audit::begin(sql, 2, "user 7", "jobs.abort", "")?;
            let both = audit::list(sql, i64::MAX, 9)?.len();
            let next = audit::begin(sql, 3, "user 7", "jobs.abort", "")?;
            assert_eq!((both, next), (2, last + 1));
            Ok([last, next])
        });
        let left = store.reader().read(|sql| audit::list(sql, i64::MAX, 9)).unwrap();
        let shown: Vec<i64> = left.iter().rev().map(|change| change.number).collect();
        assert_eq!(shown, numbers.unwrap(), "the first one is forgotten");
        assert!(left.iter().all(|change| change.outcome == audit::BEGUN));
        let before = store.reader().read(|sql| audit::list(sql, shown[1], 9)).unwrap();
        assert_eq!(before.len(), 1);
    });
}

#[test]
fn a_key_is_found_by_its_public_part_until_it_is_removed() {
    on_both("api_key", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let account = api_keys::Account { system: "unix".into(), domain: String::new(), name: "ann".into() };
        let key = |id: &str, account| api_keys::ApiKey {
            id: id.to_owned(),
            name: format!("key {id}"),
            digest: "00".to_owned(),
            roles: "admin searcher".to_owned(),
            account,
            created_at: 1,
            expires_at: Some(7),
            sources: (id == "b").then(|| "[\"tickets\"]".to_owned()),
        };
        store
            .write(Durability::Relaxed, |sql| {
                api_keys::add(sql, &key("a", Some(account.clone())))?;
                api_keys::add(sql, &key("b", None))
            })
            .unwrap();
        let find = |id: &str| store.reader().read(|sql| api_keys::by_id(sql, id)).unwrap();
        let found = find("a").unwrap();
        assert_eq!((found.account, found.expires_at), (Some(account.clone()), Some(7)));
        assert_eq!(found.sources, None);
        let found = find("b").unwrap();
        assert_eq!((found.account, found.sources.as_deref()), (None, Some("[\"tickets\"]")));
        let twice = store.write(Durability::Relaxed, |sql| {
            api_keys::add(sql, &api_keys::ApiKey { id: "c".into(), ..key("a", None) })
        });
        assert!(twice.is_err(), "two keys of one name");
        let remove =
            |name: &str| store.write(Durability::Relaxed, |sql| api_keys::remove(sql, name)).unwrap();
        assert!(remove("key a") && !remove("key a"));
        assert!(find("a").is_none() && find("b").is_some());
    });
}
