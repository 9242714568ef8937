//! Records in compounds: an archive and folders, one of which has another one in it, and a record that is in two. What must hold at each step, and does not.

use ingather_contract::call::Clock as _;
use ingather_contract::inbox::About;
use ingather_engine::Options;
use ingather_engine::inbox::delta_runs::{Check, Checked, Claim, DeltaMode};
use ingather_engine::inbox::{Accepted, Ask, Push, Put, Through};
use ingather_model::job::{Definition, RunKind};
use ingather_model::lifecycle::outcome::FailureKind;
use ingather_store::Durability;
use ingather_store::documents::inbox as records;
use ingather_store::jobs::Job;
use ingather_store::queue::{self, Failure};

use super::definition;
use super::pushing::{PUSHED, connect};
use crate::database::Kind;
use crate::world::{FULL, World};

/// A pass over what was asked for.
const PASS: Options = Options { kind: RunKind::Minimal, is_pass: true, ..FULL };

/// A source, and what does not hold of it.
struct Story {
    world: World,
    wrong: Vec<String>,
}

/// One record of the story: its key, its hash, whether others may be in it, and what it is in.
type Told<'a> = (&'a str, &'a str, bool, &'a [&'a str]);

const ARCHIVE: Told<'_> = ("zip", "1", true, &[]);
const FOLDERS: [Told<'_>; 7] = [
    ("a", "1", false, &["zip"]),
    ("b", "1", false, &["zip"]),
    ("x", "1", true, &[]),
    ("y", "1", true, &[]),
    ("sub", "1", true, &["x"]),
    ("c", "1", false, &["sub"]),
    ("d", "1", false, &["x", "y"]),
];

impl Story {
    fn expect<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, is: &T, must: &T) {
        if is != must {
            self.wrong.push(format!("{what}: {is:?}, and not {must:?}"));
        }
    }

    fn job(&self) -> Job {
        self.world.known("docs").expect("the source is there")
    }

    fn push(&self, run: Option<i64>, records: &[Told<'_>]) -> Vec<Accepted> {
        let put = |(key, hash, is_compound, parents): &Told<'_>| Push {
            key: (*key).to_owned(),
            ask: Ask::Put(Box::new(Put {
                hash: Some((*hash).to_owned()),
                acl: None,
                about: About { title: (*key).to_owned(), ..About::default() },
                content: hash.as_bytes().to_vec(),
                file: None,
                if_changed: false,
                is_compound: *is_compound,
                parents: parents.iter().map(|parent| (*parent).to_owned()).collect(),
            })),
            user_ref: None,
            version: Some(2),
        };
        self.accept(run, records.iter().map(put).collect())
    }

    fn delete(&self, key: &str, version: Option<i64>) {
        self.accept(None, vec![Push { key: key.to_owned(), ask: Ask::Delete, user_ref: None, version }]);
    }

    /// Something of a record could not be delivered, for good.
    fn fail(&self, key: &str) {
        let (job, now) = (self.job(), self.world.clock.now());
        let failed = self.world.store().write(Durability::Synced, |sql| {
            let page = records::page(sql, job.id, i64::MIN, 100)?;
            let document = page.into_iter().find(|(_, of, ..)| of == key).map(|(id, ..)| id);
            let failure = Failure {
                document: document.unwrap_or_default(),
                kind: FailureKind::Failed,
                attempts: 1,
                attempts_max: 1,
                code: "read_failed".to_owned(),
                message: "it cannot be read".to_owned(),
                give_up_at: None,
            };
            queue::record_failures(sql, job.id, now, &[failure])
        });
        failed.expect("the store takes a failure");
    }

    fn accept(&self, run: Option<i64>, pushes: Vec<Push>) -> Vec<Accepted> {
        let run = run.map(|epoch| Claim { epoch, token: "token" });
        let job = self.job();
        self.world
            .engine()
            .accept(&job, Through { run, channel: None }, pushes)
            .expect("the source takes the call")
    }

    fn open(&self, compound: Option<&str>) -> i64 {
        let job = self.job();
        let how = (DeltaMode::Full, 300_000, compound);
        self.world.engine().open_delta_run(&job, how, ("client", "token")).expect("the source takes the call")
    }

    fn check(&self, run: i64, records: &[(&str, &str)]) -> Vec<Checked> {
        let job = self.job();
        let check = |(key, hash): &(&'static str, &'static str)| Check {
            key,
            hash: Some(hash),
            parents: &[],
            is_shallow: false,
        };
        let records: Vec<(&'static str, &'static str)> =
            records.iter().map(|(key, hash)| (leak(key), leak(hash))).collect();
        let checks: Vec<Check<'_>> = records.iter().map(check).collect();
        self.world
            .engine()
            .check(&job, Claim { epoch: run, token: "token" }, &checks)
            .expect("the source takes the call")
    }

    fn touch(&self, run: i64, keys: &[&str]) {
        let job = self.job();
        self.world
            .engine()
            .touch(&job, Claim { epoch: run, token: "token" }, keys)
            .expect("the source takes the call");
    }

    fn finish(&self, run: i64) -> u64 {
        let job = self.job();
        let claim = Claim { epoch: run, token: "token" };
        self.world
            .engine()
            .finish_delta_run(&job, claim, (true, true))
            .expect("the source takes the call")
            .deleted
    }

    fn held(&self) -> Vec<String> {
        self.world.run("docs", PASS).expect("the source takes the call");
        let names = self.world.entries("one").into_keys();
        names.map(|name| name.trim_start_matches("push:docs/").to_owned()).collect()
    }
}

/// Lives as long as the test does.
fn leak(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

/// What does not hold of compounds, step by step.
///
/// # Panics
/// When a call is refused.
pub fn wrong(kind: Kind) -> Vec<String> {
    let mut world = World::new(kind);
    world.output("one", "memory");
    connect(&world);
    let source = serde_json::json!({"root": "push:docs", "access": ["everybody"]});
    let made = definition(&world, "docs", "", &["one"]);
    world.job(Definition { repository: PUSHED.to_owned(), source, ..made });
    let mut story = Story { world, wrong: Vec::new() };
    first_runs(&mut story);
    later_runs(&mut story);
    deletions(&mut story);
    story.wrong
}

/// A client dies between an archive and what is in it; the next one goes over everything.
fn first_runs(story: &mut Story) {
    let run = story.open(None);
    story.push(Some(run), &[ARCHIVE]);
    let job = story.job();
    story
        .world
        .engine()
        .roll_back(&job, Claim { epoch: run, token: "token" })
        .expect("the source takes the call");
    let run = story.open(None);
    let checked = story.check(run, &[("zip", "1")]);
    story.expect("an archive of which nobody knows what is in it", &checked, &vec![Checked::Changed]);
    story.push(Some(run), &[ARCHIVE]);
    story.push(Some(run), &FOLDERS);
    let deleted = story.finish(run);
    story.expect("deleted by the first whole run", &deleted, &0);
    let held = story.held();
    story.expect("held by the output", &held.len(), &8);
}

/// What is in compounds that did not change, or cannot be read, is there; what is in others is met one by one.
fn later_runs(story: &mut Story) {
    let run = story.open(None);
    let checked = story.check(run, &[("zip", "1"), ("x", "1"), ("y", "1")]);
    story.expect("compounds that did not change", &checked, &vec![Checked::Unchanged; 3]);
    let deleted = story.finish(run);
    story.expect("deleted where compounds did not change", &deleted, &0);

    let run = story.open(None);
    story.push(Some(run), &[("zip", "2", true, &[])]);
    story.touch(run, &["zip", "zip"]);
    story.check(run, &[("x", "1"), ("y", "1")]);
    let deleted = story.finish(run);
    story.expect("deleted where an archive could not be read to its end", &deleted, &0);

    let run = story.open(None);
    let checked = story.check(run, &[("zip", "2")]);
    story.expect("an archive that was not read to its end", &checked, &vec![Checked::Changed]);
    story.push(Some(run), &[("zip", "2", true, &[]), ("a", "2", false, &["zip"])]);
    story.check(run, &[("x", "1"), ("y", "1")]);
    let deleted = story.finish(run);
    story.expect("deleted where one is in an archive no more", &deleted, &1);
    let held = story.held();
    story.expect("held after that", &held, &texts(&["a", "c", "d", "sub", "x", "y", "zip"]));

    // A run over one compound says nothing of others, nor of what another one holds.
    let run = story.open(Some("x"));
    story.check(run, &[("sub", "1")]);
    let deleted = story.finish(run);
    story.expect("deleted by a run over one folder", &deleted, &0);
}

/// What is in a deleted compound goes with it, unless it is in another one.
fn deletions(story: &mut Story) {
    story.delete("x", Some(1));
    let held = story.held();
    story.expect("held after a deletion that came late", &held.len(), &7);
    story.delete("x", None);
    let held = story.held();
    story.expect("held without the folder", &held, &texts(&["a", "d", "y", "zip"]));
    story.delete("y", None);
    let held = story.held();
    story.expect("held without the other one", &held, &texts(&["a", "zip"]));
    // Two that are in each other, and that nobody meets any more.
    story.push(
        None,
        &[("one", "1", true, &["two"]), ("two", "1", true, &["one"]), ("e", "1", false, &["two"])],
    );
    let run = story.open(None);
    story.check(run, &[("zip", "2")]);
    let deleted = story.finish(run);
    story.expect("deleted of a circle", &deleted, &3);
    let held = story.held();
    story.expect("held without the circle", &held, &texts(&["a", "zip"]));
    in_deleted_ones(story);
    story.fail("a");
    let run = story.open(None);
    let checked = story.check(run, &[("zip", "2")]);
    story.expect("an archive in which one failed", &checked, &vec![Checked::Changed]);
}

/// What is in a deleted compound and in another one goes with that, also where the first was forgotten meanwhile; whether it was deleted by itself, with another
/// one, or by a delta run.
fn in_deleted_ones(story: &mut Story) {
    let outer = [("outer", "1", true, &[] as &[&str]), ("inner", "1", true, &["outer"])];
    for how in ["by itself", "with another one", "by a delta run"] {
        story.push(None, &outer);
        story.push(None, &[("f", "1", false, &["inner", "shelf"])]);
        story.held();
        match how {
            "by itself" => story.delete("inner", None),
            "with another one" => story.delete("outer", None),
            _ => {
                let run = story.open(None);
                story.check(run, &[("zip", "2"), ("f", "1")]);
                let deleted = story.finish(run);
                story.expect("deleted of two folders", &deleted, &2);
            }
        }
        let held = story.held();
        let is_there = held.contains(&"f".to_owned()) && !held.contains(&"inner".to_owned());
        story.expect(&format!("one is on a shelf, and its folder was deleted {how}"), &is_there, &true);
        story.delete("shelf", None);
        story.delete("outer", None);
        let held = story.held();
        story.expect(&format!("held after a folder went {how}, and a shelf"), &held, &texts(&["a", "zip"]));
    }
}

fn texts(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
