//! People and groups that are pushed: names are of one person, and nobody is a member who is not there, whoever writes at once.

use ingather_model::access::authority::Asking;
use ingather_model::access::identity::Group;
use ingather_model::ids::ConnectionId;
use ingather_store::authorities::{self, Declared};
use ingather_store::people::{self, Kind, Member, Members, Pushed};
use ingather_store::{Durability, Sql, Store, StoreError};

use crate::world::{Fresh, at_once, faults, on_both};

fn opened(fresh: &Fresh) -> (Store, ConnectionId) {
    let store = Store::open(&fresh.target).unwrap();
    let declared = Declared {
        kind: "scim".to_owned(),
        settings: serde_json::json!({}),
        group: Group::default(),
        asking: Asking::default(),
    };
    write(&store, |sql| authorities::declare(sql, "acme", &declared, 1));
    let id = store.reader().read(authorities::list).unwrap()[0].id;
    (store, id)
}

#[track_caller]
fn write<T>(store: &Store, work: impl FnMut(&mut Sql<'_>) -> Result<T, StoreError>) -> T {
    store.write(Durability::Relaxed, work).unwrap()
}

fn named(id: &str, name: &str) -> Pushed {
    Pushed {
        id: id.to_owned(),
        name: name.to_owned(),
        external_id: Some(format!("x-{id}")),
        active: true,
        body: "{}".to_owned(),
        revision: 1,
        created_at: 7,
        changed_at: 7,
    }
}

/// People with the names that their ids are, and groups with these members; a capital is a group.
fn push(sql: &mut Sql<'_>, of: ConnectionId, all: &[(&str, &[&str])]) -> Result<(), StoreError> {
    let is_group = |id: &str| id.starts_with(char::is_uppercase);
    for (id, _) in all {
        let kind = if is_group(id) { Kind::Group } else { Kind::Person };
        assert!(people::add(sql, of, kind, &named(id, id))?);
    }
    for (id, members) in all {
        let added =
            members.iter().map(|one| Member { id: (*one).to_owned(), is_group: is_group(one) }).collect();
        assert!(people::change_members(sql, of, id, &Members { added, ..Members::default() })?);
    }
    Ok(())
}

fn groups(store: &Store, of: ConnectionId, id: &str, most: usize) -> (Vec<String>, bool) {
    let (found, whole) = store.reader().read(|sql| people::groups_of(sql, of, id, most)).unwrap();
    let mut ids: Vec<String> = found.into_iter().map(|group| group.id).collect();
    ids.sort();
    (ids, whole)
}

#[test]
fn a_name_is_of_one_person_however_its_letters_are_written_and_what_looks_like_it_is_another_one() {
    on_both("people_names", |fresh| {
        let (store, of) = opened(fresh);
        let add =
            |id: &str, name: &str| write(&store, |sql| people::add(sql, of, Kind::Person, &named(id, name)));
        assert!(add("1", "Ann@Example.org"));
        assert!(!add("2", "ann@example.ORG"));
        for (n, other) in
            ["ann@exámple.org", "ａnn@example.org", "ann@example.org\u{ad}", "\u{212a}arl"].iter().enumerate()
        {
            assert!(add(&format!("o{n}"), other), "{other}");
        }
        assert!(add("k", "karl"), "no Kelvin sign");
        let find = |name: &str| {
            let found = store.reader().read(|sql| people::by_name(sql, of, (Kind::Person, name), 9)).unwrap();
            found.into_iter().map(|one| one.id).collect::<Vec<_>>()
        };
        assert_eq!(
            (find("ANN@example.org"), find("KARL"), find("ann")),
            (vec!["1".into()], vec!["k".into()], vec![])
        );
        // Another one's name is not taken by a change either; one's own may be written otherwise.
        let change = |name: &str| {
            write(&store, |sql| {
                let now = people::to_change(sql, of, Kind::Person, "k")?.unwrap();
                people::replace(sql, of, Kind::Person, &Pushed { name: name.to_owned(), ..now })
            })
        };
        assert_eq!((change("ANN@EXAMPLE.ORG"), change("KARL"), change("carl")), (false, true, true));
        let read = store.reader().read(|sql| people::get(sql, of, Kind::Person, "k")).unwrap().unwrap();
        assert_eq!((read.name.as_str(), read.revision), ("carl", 3));
        let longest = "\u{1e9e}".repeat(85);
        assert!(add("l", &longest), "the longest fits an index");
        assert_eq!(store.reader().read(|sql| people::count(sql, of, Kind::Person, Some(true))).unwrap(), 7);
        assert_eq!(store.reader().read(|sql| people::count(sql, of, Kind::Person, Some(false))).unwrap(), 0);
        let page = |first| {
            store.reader().read(|sql| people::page(sql, of, (Kind::Person, None), (first, 4))).unwrap().len()
        };
        assert_eq!([page(0), page(4), page(8)], [4, 3, 0]);
    });
}

#[test]
fn groups_of_groups_are_found_once_each_and_a_bound_ends_the_search() {
    on_both("people_groups", |fresh| {
        let (store, of) = opened(fresh);
        let world: &[(&str, &[&str])] = &[
            ("a", &[]),
            ("b", &[]),
            ("G", &["a", "J"]),
            ("H", &["G"]),
            ("I", &["G", "H"]),
            ("J", &["H", "I"]),
            ("X", &["b"]),
        ];
        write(&store, |sql| push(sql, of, world));
        let all = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        assert_eq!(groups(&store, of, "a", 10), (all(&["G", "H", "I", "J"]), true));
        assert_eq!(groups(&store, of, "a", 4), (all(&["G", "H", "I", "J"]), true));
        let (found, whole) = groups(&store, of, "a", 3);
        assert_eq!((found.len(), whole), (3, false));
        assert_eq!(groups(&store, of, "b", 1), (all(&["X"]), true));
        assert_eq!(groups(&store, of, "none", 9), (all(&[]), true));
        assert_eq!(faults(&store), [""; 0]);
    });
}

#[test]
fn whoever_goes_is_a_member_of_nothing_and_an_authority_that_goes_leaves_nobody() {
    on_both("people_leave", |fresh| {
        let (store, of) = opened(fresh);
        write(&store, |sql| push(sql, of, &[("a", &[]), ("b", &[]), ("G", &["a", "b"]), ("H", &["G", "a"])]));
        let remove = |kind, id: &str| {
            write(&store, |sql| {
                let gone = people::to_change(sql, of, kind, id)?.unwrap();
                people::remove(sql, of, kind, &gone, 9)
            });
        };
        remove(Kind::Person, "a");
        let of_group = |id: &str| {
            let members = store.reader().read(|sql| people::members(sql, of, id, 9)).unwrap();
            members.into_iter().map(|member| member.id).collect::<Vec<_>>()
        };
        assert_eq!((of_group("G"), of_group("H")), (vec!["b".to_owned()], vec!["G".to_owned()]));
        let group = store.reader().read(|sql| people::get(sql, of, Kind::Group, "G")).unwrap().unwrap();
        assert_eq!(group.revision, 2, "it is another one without her");
        // Also from itself.
        assert!(write(&store, |sql| join(sql, of, "G", "G")));
        remove(Kind::Group, "G");
        assert_eq!((of_group("G"), of_group("H")), (vec![], vec![]));
        assert_eq!(faults(&store), [""; 0]);
        assert!(write(&store, |sql| authorities::remove(sql, "acme")));
        let left = [Kind::Person, Kind::Group]
            .map(|kind| store.reader().read(|sql| people::count(sql, of, kind, None)).unwrap());
        assert_eq!(left, [0, 0]);
        assert_eq!(write(&store, |sql| people::keep_authority(sql, of)), None);
        assert_eq!(faults(&store), [""; 0]);
    });
}

/// As the operations do it: what is changed first, then the members, then memberships.
fn join(sql: &mut Sql<'_>, of: ConnectionId, group: &str, member: &str) -> Result<bool, StoreError> {
    if people::keep_authority(sql, of)?.is_none() {
        return Ok(false);
    }
    let Some(now) = people::to_change(sql, of, Kind::Group, group)? else { return Ok(false) };
    let added = people::present(sql, of, &[member])?;
    if added.is_empty() {
        return Ok(false);
    }
    assert!(people::replace(sql, of, Kind::Group, &now)?);
    people::change_members(sql, of, group, &Members { added, ..Members::default() })
}

fn leave(sql: &mut Sql<'_>, of: ConnectionId, kind: Kind, id: &str) -> Result<bool, StoreError> {
    if people::keep_authority(sql, of)?.is_none() {
        return Ok(false);
    }
    let Some(gone) = people::to_change(sql, of, kind, id)? else { return Ok(false) };
    people::remove(sql, of, kind, &gone, 9).map(|()| true)
}

#[test]
fn nobody_who_goes_while_they_join_a_group_stays_in_it() {
    on_both("people_race", |fresh| {
        let (store, of) = opened(fresh);
        write(&store, |sql| {
            push(
                sql,
                of,
                &[("a", &[]), ("b", &[]), ("c", &[]), ("d", &[]), ("G", &[]), ("H", &[]), ("I", &[])],
            )
        });
        let joined = at_once(&store, |sql| join(sql, of, "G", "a"), |sql| leave(sql, of, Kind::Person, "a"));
        assert_eq!(joined, (true, true));
        let gone = at_once(&store, |sql| leave(sql, of, Kind::Person, "b"), |sql| join(sql, of, "G", "b"));
        assert_eq!(gone, (true, false));
        assert_eq!(
            at_once(&store, |sql| join(sql, of, "H", "c"), |sql| leave(sql, of, Kind::Group, "H")),
            (true, true)
        );
        assert_eq!(
            at_once(&store, |sql| leave(sql, of, Kind::Group, "I"), |sql| join(sql, of, "I", "c")),
            (true, false)
        );
        assert_eq!(
            at_once(&store, |sql| join(sql, of, "G", "c"), |sql| join(sql, of, "G", "d")),
            (true, true)
        );
        assert_eq!(groups(&store, of, "c", 9).0, groups(&store, of, "d", 9).0);
        assert_eq!(faults(&store), [""; 0]);
    });
}

#[test]
fn of_two_who_take_one_name_at_once_one_has_it_and_nobody_comes_into_an_authority_that_goes() {
    on_both("people_once", |fresh| {
        let (store, of) = opened(fresh);
        let add = |id: &'static str, name: &'static str| {
            move |sql: &mut Sql<'_>| match people::keep_authority(sql, of)? {
                Some(_) => people::add(sql, of, Kind::Person, &named(id, name)),
                None => Ok(false),
            }
        };
        assert_eq!(at_once(&store, add("1", "ann"), add("2", "ANN")), (true, false));
        write(&store, add("3", "bob"));
        let rename = |sql: &mut Sql<'_>| {
            let now = people::to_change(sql, of, Kind::Person, "3")?.unwrap();
            people::replace(sql, of, Kind::Person, &Pushed { name: "cid".to_owned(), ..now })
        };
        assert_eq!(at_once(&store, add("4", "cid"), rename), (true, false));
        let remove = |sql: &mut Sql<'_>| authorities::remove(sql, "acme");
        assert_eq!(at_once(&store, add("5", "dan"), remove), (true, true));
        assert_eq!(faults(&store), [""; 0]);
        let (store, of) = opened(fresh);
        let add = |sql: &mut Sql<'_>| match people::keep_authority(sql, of)? {
            Some(_) => people::add(sql, of, Kind::Person, &named("6", "eve")),
            None => Ok(false),
        };
        assert_eq!(at_once(&store, remove, add), (true, false));
        assert_eq!(faults(&store), [""; 0]);
    });
}
