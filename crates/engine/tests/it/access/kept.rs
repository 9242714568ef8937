//! What a user may see is kept for their next search, and judged again whenever anything has changed that it depends on.

use std::sync::Arc;

use ingather_contract::access_filter::{AccessFilter, Reference};
use ingather_model::access::identity::{Group, Identity};
use ingather_model::access::{Acl, Tokens};
use ingather_model::ids::{AclId, ContainerId, JobId};
use ingather_store::connections::{self, Role};
use ingather_store::{Durability, Store, containers};
use ingather_testkit::database::{BOTH, Kind};
use ingather_testkit::world::World;

/// A store with one folder that Ann may see, and what is asked of it.
struct Folder {
    world: World,
    folder: ContainerId,
    hers: AclId,
    his: AclId,
}

fn ann() -> Identity {
    ["ann"].into_iter().collect::<Tokens>().into()
}

fn only(token: &str) -> Acl {
    Acl::Flat { allow: vec![token.to_owned()], deny: Vec::new() }
}

impl Folder {
    fn new(kind: Kind) -> Folder {
        let world = World::new(kind);
        let (folder, hers, his) = world
            .store()
            .write(Durability::Synced, |sql| {
                let source = connections::find(sql, Role::Repository, "source")?.expect("worlds have one").id;
                let hers = containers::add_acl(sql, source, &only("ann"))?;
                let his = containers::add_acl(sql, source, &only("bob"))?;
                Ok((containers::add(sql, source, None, "folder/", "1", hers)?, hers, his))
            })
            .unwrap();
        Folder { world, folder, hers, his }
    }

    fn store(&self) -> &Store {
        self.world.store()
    }

    fn filter(&self, identity: &Identity) -> Arc<AccessFilter> {
        let engine = self.world.engine();
        let filters = &engine.process.searches.access_filters;
        engine.reader.read(|sql| filters.of(sql, None, identity)).unwrap().expect("nothing is on its way")
    }

    fn is_seen(&self, identity: &Identity) -> bool {
        let of = Reference { job: Some(JobId(1)), acl_id: Some(self.hers), container: Some(self.folder) };
        self.filter(identity).permits(1, of)
    }

    fn source(&self) -> ingather_model::ids::ConnectionId {
        let found = self.store().reader().read(|sql| connections::find(sql, Role::Repository, "source"));
        found.unwrap().expect("worlds have one").id
    }
}

#[test]
fn what_a_user_may_see_is_judged_once_until_something_changes() {
    for kind in BOTH {
        let it = Folder::new(kind);
        let (ann, bob) = (ann(), Identity::from(["bob"].into_iter().collect::<Tokens>()));
        let first = it.filter(&ann);
        assert!(Arc::ptr_eq(&first, &it.filter(&ann)), "nothing has changed, {kind:?}");
        assert!(it.is_seen(&ann) && !it.is_seen(&bob));
        assert!(Arc::ptr_eq(&first, &it.filter(&ann)), "somebody else has asked meanwhile, {kind:?}");
        assert!(!it.is_seen(&ann.clone().with(Group::default(), Tokens::anonymous())), "others tokens");

        let closes = it
            .store()
            .write(Durability::Synced, |sql| containers::judge(sql, it.source(), it.folder, it.his, it.hers));
        closes.unwrap();
        assert!(!it.is_seen(&ann), "the folder has closed, {kind:?}");
        let opens = it
            .store()
            .write(Durability::Synced, |sql| containers::judge(sql, it.source(), it.folder, it.hers, it.his));
        opens.unwrap();
        let jobs_gone = JobId(0);
        it.store().write(Durability::Synced, |sql| containers::open(sql, it.folder, jobs_gone)).unwrap();
        assert!(it.is_seen(&ann), "it is open again, {kind:?}");

        let new = it.store().write(Durability::Synced, |sql| {
            let open = containers::add_acl(sql, it.source(), &Acl::open())?;
            Ok((open, containers::add(sql, it.source(), Some(it.folder), "folder/new/", "2", open)?))
        });
        let (acl_id, container) = new.unwrap();
        let of = Reference { job: None, acl_id: Some(acl_id), container: Some(container) };
        assert!(it.filter(&ann).permits(1, of), "what is new is judged, {kind:?}");

        let moves = it
            .store()
            .write(Durability::Synced, |sql| connections::join(sql, it.source(), &Group::named("elsewhere")));
        moves.unwrap();
        assert!(!it.is_seen(&ann), "what it rules is judged by tokens of another group, {kind:?}");
    }
}

#[test]
fn no_more_users_are_kept_than_may_be() {
    let it = Folder::new(Kind::Sqlite);
    let first = it.filter(&ann());
    for number in 0..ingather_model::limits::SEARCH_USERS_KEPT {
        it.filter(&[format!("user {number}").as_str()].into_iter().collect::<Tokens>().into());
    }
    assert!(!Arc::ptr_eq(&first, &it.filter(&ann())), "she has been let go of");
}

/// A server that crashed has lost what was not on disk: what it then counts may be as before, and mean something else.
#[test]
fn what_was_kept_before_a_server_went_away_does_not_count() {
    let it = Folder::new(Kind::Postgres);
    let first = it.filter(&ann());
    it.world.database.script(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    let filters = &it.world.engine().process.searches.access_filters;
    let reads = || it.store().reader().read(|sql| filters.of(sql, None, &ann()));
    // Questions that meet a connection that is gone fail; there are a few.
    let again = (0..10).find_map(|_| reads().ok()).flatten().expect("the server answers on a new connection");
    assert!(!Arc::ptr_eq(&first, &again));
}

/// What rules the entries of jobs that are gone rules no job that has come since.
#[test]
fn a_job_that_has_come_is_none_of_those_that_are_gone() {
    let mut it = Folder::new(Kind::Sqlite);
    it.store()
        .write(Durability::Synced, |sql| {
            containers::judge(sql, it.source(), it.folder, it.his, it.hers)?;
            containers::judge(sql, it.source(), it.folder, it.hers, it.his)
        })
        .unwrap();
    let before = it.filter(&ann());
    it.world.output("one", "memory");
    let definition = ingather_testkit::together::definition(&it.world, "docs", "", &["one"]);
    it.world.job(definition);
    let of = Reference {
        job: Some(it.world.find("docs").unwrap().id),
        acl_id: Some(it.hers),
        container: Some(it.folder),
    };
    assert!(!before.permits(1, of), "nobody knew of it");
    assert!(it.filter(&ann()).permits(1, of));
}
