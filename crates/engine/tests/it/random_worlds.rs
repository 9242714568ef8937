//! Random small worlds: whatever happened before, whole runs lead to what a naive model says, and every balance adds up.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ingather_testkit::database::Kind;
use ingather_testkit::scenario::play_on;
use proptest::prelude::*;

const NAMES: [&str; 6] = ["a", "b", "s/c", "s/d", "s/t/e", "s/t/f"];
const FOLDERS: [&str; 2] = ["s/", "s/t/"];
const CONTENTS: [&str; 4] = ["v1", "v2", "v3", "v-no"];
const JOBS: [&str; 2] = ["whole", "part"];
const POINTS: [&str; 8] = [
    "before intent",
    "after intent",
    "mid send",
    "after send",
    "before confirm",
    "after confirm",
    "after listing",
    "after commit",
];

#[derive(Clone, Debug)]
enum Step {
    Put(usize, usize),
    Remove(usize),
    Move(usize, usize),
    Access(usize, bool),
    Blind(usize, bool),
    FolderAccess(usize, bool),
    Racy(usize, bool),
    Failing(usize),
    OutputAway(bool, usize),
    Forget,
    Run { job: usize, minimal: bool },
    Crash { point: usize, nth: u64, job: usize },
    BrokenListing { page: usize, job: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let name = 0..NAMES.len();
    prop_oneof![
        6 => (name.clone(), 0..CONTENTS.len()).prop_map(|(name, content)| Step::Put(name, content)),
        3 => name.clone().prop_map(Step::Remove),
        2 => (name.clone(), name.clone()).prop_map(|(from, to)| Step::Move(from, to)),
        3 => (name.clone(), any::<bool>()).prop_map(|(name, open)| Step::Access(name, open)),
        2 => (0..FOLDERS.len(), any::<bool>()).prop_map(|(folder, blind)| Step::Blind(folder, blind)),
        2 => (0..FOLDERS.len(), any::<bool>()).prop_map(|(folder, open)| Step::FolderAccess(folder, open)),
        1 => (name.clone(), any::<bool>()).prop_map(|(name, racy)| Step::Racy(name, racy)),
        1 => name.clone().prop_map(Step::Failing),
        2 => (any::<bool>(), name).prop_map(|(two, name)| Step::OutputAway(two, name)),
        1 => Just(Step::Forget),
        6 => (0..JOBS.len(), any::<bool>()).prop_map(|(job, minimal)| Step::Run { job, minimal }),
        3 => (0..POINTS.len(), 1u64..3, 0..JOBS.len()).prop_map(|(point, nth, job)| Step::Crash { point, nth, job }),
        1 => (1usize..4, 0..JOBS.len()).prop_map(|(page, job)| Step::BrokenListing { page, job }),
    ]
}

/// The naive model: what the source holds.
#[derive(Default)]
struct Model {
    files: BTreeMap<&'static str, (&'static str, bool)>,
    blind: BTreeMap<&'static str, bool>,
    closed: BTreeMap<&'static str, bool>,
}

fn above(flags: &BTreeMap<&'static str, bool>, name: &str) -> bool {
    flags.iter().any(|(folder, on)| *on && name.starts_with(folder))
}

impl Model {
    /// How many documents a listing of a job names.
    fn listed(&self, job: usize) -> usize {
        let root = if job == 0 { "" } else { "s/" };
        self.files.keys().filter(|name| name.starts_with(root) && !above(&self.blind, name)).count()
    }

    /// Entries of an output with their contents.
    fn entries(&self, root: &str) -> String {
        let wanted =
            self.files.iter().filter(|(name, (content, _))| name.starts_with(root) && *content != "v-no");
        wanted.map(|(name, (content, _))| format!("{name} {content}")).collect::<Vec<_>>().join(", ")
    }

    /// What anybody may find.
    fn open(&self) -> String {
        let wanted = self.files.iter().filter(|(_, (content, open))| *open && *content != "v-no");
        wanted.map(|(name, _)| *name).filter(|name| !above(&self.closed, name)).collect::<Vec<_>>().join(", ")
    }

    /// Writes a step as lines of a scenario.
    fn tell(&mut self, text: &mut String, step: &Step) -> std::fmt::Result {
        let who = |open: bool| if open { "open" } else { "anna" };
        match *step {
            Step::Put(name, content) => {
                let open = self.files.get(NAMES[name]).is_none_or(|(_, open)| *open);
                self.files.insert(NAMES[name], (CONTENTS[content], open));
                writeln!(text, "source {} {}", NAMES[name], CONTENTS[content])
            }
            Step::Remove(name) => match self.files.remove(NAMES[name]) {
                Some(_) => writeln!(text, "source {} gone", NAMES[name]),
                None => Ok(()),
            },
            Step::Move(from, to) => {
                if self.files.contains_key(NAMES[to]) {
                    return Ok(());
                }
                let Some(file) = self.files.remove(NAMES[from]) else { return Ok(()) };
                self.files.insert(NAMES[to], file);
                writeln!(text, "source {} move:{}", NAMES[to], NAMES[from])
            }
            Step::Access(name, open) => {
                let Some(file) = self.files.get_mut(NAMES[name]) else { return Ok(()) };
                file.1 = open;
                writeln!(text, "source {} access:{}", NAMES[name], who(open))
            }
            Step::Blind(folder, blind) => {
                self.blind.insert(FOLDERS[folder], blind);
                writeln!(text, "source {} {}", FOLDERS[folder], if blind { "unreadable" } else { "readable" })
            }
            Step::FolderAccess(folder, open) => {
                self.closed.insert(FOLDERS[folder], !open);
                writeln!(text, "source {} access:{}", FOLDERS[folder], who(open))
            }
            Step::Racy(name, racy) if self.files.contains_key(NAMES[name]) => {
                writeln!(text, "source {} {}", NAMES[name], if racy { "racy" } else { "calm" })
            }
            Step::Failing(name) if self.files.contains_key(NAMES[name]) => {
                writeln!(text, "source {} failing:1", NAMES[name])
            }
            Step::Racy(..) | Step::Failing(_) => Ok(()),
            Step::OutputAway(two, name) => {
                writeln!(text, "fault {} passing {} 1", if two { "two" } else { "one" }, NAMES[name])
            }
            Step::Forget => writeln!(text, "fault two forgets"),
            Step::Run { job, minimal } => {
                writeln!(text, "run {}{}", JOBS[job], if minimal { " minimal" } else { "" })?;
                writeln!(text, "expect seen: {}", self.listed(job))
            }
            Step::Crash { point, nth, job } => {
                writeln!(text, "crash {} {nth}\nrun {}", POINTS[point], JOBS[job])
            }
            Step::BrokenListing { page, job } => {
                writeln!(text, "listing error:{page}\nrun {}\nlisting fine", JOBS[job])
            }
        }
    }
}

fn scenario(steps: &[Step]) -> String {
    let mut text = "output one\noutput two committing\njob whole to=one,two stage={\"decline\":\"no\"}\n\
                    job part root=s/ to=two stage={\"decline\":\"no\"}\n"
        .to_owned();
    let mut model = Model::default();
    for step in steps {
        model.tell(&mut text, step).expect("writing into a text does not fail");
    }
    let all = model.entries("");
    let calm: String = model.files.keys().map(|name| format!("source {name} calm\n")).collect();
    // Removals that an output did not confirm and places that were blind need a second run.
    let rest = format!(
        "{calm}fault one fine\nfault two fine\nsource s/ readable, s/t/ readable\nrun whole\nrun part\nrun whole\nrun part\n\
         expect error:\nexpect exit: 0\nexpect output one: {all}\nexpect output two: {all}\n\
         expect sees anybody one: {open}\nexpect sees anybody two: {open}\n\
         delete part\nexpect output two: {all}\ndelete whole\nexpect output one:\nexpect output two:\nexpect jobs:\n",
        open = model.open()
    );
    text + &rest
}

fn check(kind: Kind, steps: &[Step]) -> Result<(), TestCaseError> {
    let text = scenario(steps);
    let found = play_on(kind, &text);
    prop_assert!(found.is_empty(), "{}\nin\n{text}", found.join(""));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, max_shrink_iters: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whole_runs_lead_to_what_the_model_says(steps in proptest::collection::vec(step(), 1..25)) {
        check(Kind::Sqlite, &steps)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, max_shrink_iters: 50, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn on_postgres_as_well(steps in proptest::collection::vec(step(), 1..25)) {
        check(Kind::Postgres, &steps)?;
    }
}
