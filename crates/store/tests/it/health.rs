//! How outputs are noted to be: since when counts from the first time, and where nothing is new nothing is written.

use ingather_model::ids::ConnectionId;
use ingather_model::job::Role;
use ingather_model::lifecycle::outcome::OutputHealth;
use ingather_store::connections::{self, Health};
use ingather_store::{Durability, Store};

use crate::world::on_both;

#[test]
fn an_output_is_ill_since_the_first_time_and_another_reason_changes_nothing_of_that() {
    on_both("health", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let settings = serde_json::json!({});
        let add = |role, name| {
            store
                .write(Durability::Synced, |sql| connections::find_or_add(sql, role, "k", name, &settings, 1))
        };
        let (one, two) = (add(Role::Output, "one").unwrap().id, add(Role::Output, "two").unwrap().id);
        add(Role::Repository, "files").unwrap();
        let note = |id: ConnectionId, state, why: &str, now| {
            store
                .write(Durability::Synced, |sql| connections::note_health(sql, id, (state, why), now))
                .unwrap()
        };
        let ill = || {
            let ill = store.reader().read(connections::ill).unwrap();
            ill.into_iter().map(|one| (one.name, one.health)).collect::<Vec<_>>()
        };
        assert!(
            ill().is_empty() && !note(one, OutputHealth::Healthy, "", 5),
            "it is well, and that is known"
        );
        assert!(note(one, OutputHealth::Unavailable, "away", 10));
        assert!(!note(one, OutputHealth::Unavailable, "away", 20), "that is known");
        assert!(note(one, OutputHealth::Unavailable, "far away", 30));
        assert!(note(two, OutputHealth::Corrupt, "torn", 40));
        let health = |state, since, why: &str| Health { state, since, why: why.to_owned() };
        let (away, torn) =
            (health(OutputHealth::Unavailable, 10, "far away"), health(OutputHealth::Corrupt, 40, "torn"));
        assert_eq!(ill(), [("one".to_owned(), away.clone()), ("two".to_owned(), torn)]);
        let found = store.reader().read(|sql| connections::find(sql, Role::Output, "one")).unwrap().unwrap();
        let got = store.reader().read(|sql| connections::get(sql, one)).unwrap().unwrap();
        assert_eq!((&found.health, &found), (&away, &got));
        assert!(note(one, OutputHealth::Healthy, "", 50));
        let healths = store.reader().read(connections::healths).unwrap();
        let named = |name: &str, health| (name.to_owned(), health);
        assert_eq!(healths, [named("one", OutputHealth::Healthy), named("two", OutputHealth::Corrupt)]);
        assert!(note(one, OutputHealth::Corrupt, "torn", 60));
        assert_eq!(ill()[0].1.since, 60);
    });
}
