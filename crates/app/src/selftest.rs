//! `ingather selftest kill`: on the user's own machine, a tree changes, a sync is killed with `kill -9`, the next one runs to
//! its end, and what the outputs hold must be the tree, with all that is in its archives and mails: nothing lost, nothing left
//! over, nothing sent again without need.

mod check;
mod containers;
mod history;
mod kill;
mod server;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use fastrand::Rng;
use ingather_model::key::DocumentKey;
use ingather_store::{Reader, Target, connections, deliveries, documents, jobs};
use serde_json::{Value, json};

use crate::arguments::{Global, SelftestKill};
use crate::exit::{self, Failure, Result};
use crate::interrupt;
use crate::show;
use check::{Difference, Journal, Person};
use history::{Key, Met, Settled, Since};
use kill::{Ended, Folder, Watched, When};
use server::Server;
use tree::Tree;

/// The journal beside the index: what it tells must add up to the tree, too.
const JOURNAL: &str = "changes.jsonl";
/// Documents that are read from the store at once.
const PAGE: usize = 10_000;
/// Kills between two words about them.
const TOLD_EVERY: u64 = 10;
/// Longest time between a named point and its kill, µs.
const LATER_MAX: u64 = 400;

pub(crate) fn run(global: &Global, arguments: &SelftestKill) -> Result<u8> {
    let seed = arguments.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let folder = own_folder(arguments.folder.as_deref())?;
    let unable = |error: std::io::Error| {
        Failure::unable(format!("the test cannot work in {}: {error}", folder.display()))
    };
    let mut trial = Trial::make(&folder, seed, arguments.postgres).map_err(unable)?;
    let begun = Instant::now();
    let cancel = interrupt::changes();
    let mut failed = None;
    let mut told = 0;
    while failed.is_none() && trial.kills() < arguments.rounds && !cancel.cancelled() {
        failed = trial.round().err();
        if !global.quiet && !global.json && trial.kills() >= told + TOLD_EVERY {
            told = trial.kills();
            show::stderr(&format!("{told} of {} kills survived", arguments.rounds));
        }
    }
    if let Some(difference) = failed {
        show::stderr(&format!(
            "ingather: selftest, seed {seed}, kill {}: {difference}; the folder is kept for a look: {}",
            trial.kills(),
            folder.display()
        ));
        return Ok(exit::HAS_FAILURES);
    }
    trial.tell(global, seed, begun.elapsed());
    drop(trial);
    std::fs::remove_dir_all(&folder)
        .map_err(|error| Failure::unable(format!("{} cannot be removed: {error}", folder.display())))?;
    Ok(if cancel.cancelled() { interrupt::code() } else { exit::DONE })
}

/// A new folder for the test alone, which others may pass, since what they may read is compared.
fn own_folder(above: Option<&Path>) -> Result<PathBuf> {
    let above = above.map_or_else(std::env::temp_dir, Path::to_owned);
    let failed = |error: std::io::Error| {
        Failure::unable(format!("no folder can be made in {}: {error}", above.display()))
    };
    // The index names documents by the path without links.
    let above = above.canonicalize().map_err(failed)?;
    let folder = above.join(format!("ingather-selftest-{}", std::process::id()));
    std::fs::create_dir(&folder).map_err(failed)?;
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&folder, open).map_err(failed)?;
    Ok(folder)
}

/// What is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Program,
    Server,
    Both,
}

/// The test under way.
struct Trial {
    rng: Rng,
    tree: Tree,
    folder: PathBuf,
    server: Option<Server>,
    people: Vec<Person>,
    journal: Journal,
    journal_read: usize,
    /// What was seen when a run had ended by itself, and the tree as a run met it that was killed since.
    settled: Settled,
    met_and_killed: Option<Met>,
    /// Entries that stayed although nobody could read what they are of, and such that nobody finds any more.
    kept: (u64, u64),
    /// What the last undisturbed run was seen to do, and how long it took.
    usual: (kill::Seen, Duration),
    /// Kills by what they followed and by what was killed.
    killed: BTreeMap<String, u64>,
    repeated: u64,
    slowest: Duration,
}

impl Trial {
    fn make(folder: &Path, seed: u64, postgres: bool) -> std::io::Result<Trial> {
        let mut rng = Rng::with_seed(seed);
        let server = if postgres { Some(Server::start(&folder.join("postgres"), &mut rng)?) } else { None };
        let tree = Tree::make(folder.join("tree"), &mut rng)?;
        let me = rustix::process::geteuid().as_raw().to_string();
        Ok(Trial {
            rng,
            tree,
            folder: folder.to_owned(),
            server,
            people: ["root", "nobody", me.as_str()].into_iter().filter_map(Person::named).collect(),
            journal: Journal::default(),
            journal_read: 0,
            settled: Settled::default(),
            met_and_killed: None,
            kept: (0, 0),
            usual: (kill::Seen::new(), Duration::from_millis(100)),
            killed: BTreeMap::new(),
            repeated: 0,
            slowest: Duration::ZERO,
        })
    }

    fn kills(&self) -> u64 {
        self.killed.values().sum()
    }

    /// Changes, a killed run, and a run to the end, which must put everything right.
    fn round(&mut self) -> std::result::Result<(), Difference> {
        if self.usual.0.is_empty() {
            self.finish("at first")?;
            self.change()?;
            self.finish("without a kill")?;
        }
        self.change()?;
        let (when, victim) = (self.when(), self.victim());
        let at = format!("{victim:?} killed {when}");
        self.met_and_killed = Some(self.met()?);
        let ended = self.sync(Some((&when, victim)))?;
        let killed = match victim {
            Victim::Server => !ended.status.success(),
            Victim::Program | Victim::Both => ended.status.code().is_none(),
        };
        if victim == Victim::Server && !matches!(ended.status.code(), Some(0 | 1 | 3)) {
            return Err(format!("{at}: the run ended with {}: {}", ended.status, ended.err));
        }
        if let Some(server) = &mut self.server {
            server.resume().map_err(|error| format!("{at}: {error}"))?;
        }
        if killed {
            let what = match when {
                When::After(_) => "at any instant",
                When::Seen { point, .. } => kill::name(point),
            };
            *self.killed.entry(format!("{victim:?}, {what}")).or_default() += 1;
        }
        // What was confirmed is there for readers, before anybody puts anything right.
        if self.ask(&["search", "*", "--all", "--limit", "1", "--json"])?.is_empty() {
            return Err(format!("{at}: nothing is found before the next run"));
        }
        if self.rng.u8(0..3) == 0 {
            self.change()?;
        }
        self.finish(&at)
    }

    fn met(&self) -> std::result::Result<Met, Difference> {
        Met::of(&self.tree, &self.people).map_err(|error| format!("the tree cannot be looked at: {error}"))
    }

    fn change(&mut self) -> std::result::Result<(), Difference> {
        self.tree.change(&mut self.rng).map_err(|error| format!("the tree cannot be changed: {error}"))
    }

    /// A moment: any instant of a run, or behind something that the last run was seen to do.
    fn when(&mut self) -> When {
        let points: Vec<(usize, usize)> =
            self.usual.0.iter().map(|(point, times)| (*point, *times)).collect();
        let took = u64::try_from(self.usual.1.as_micros()).unwrap_or(u64::MAX).max(2);
        match self.rng.choice(points) {
            Some((point, times)) if self.rng.u8(0..10) < 7 => When::Seen {
                point,
                nth: self.rng.usize(1..=times),
                later: Duration::from_micros(self.rng.u64(0..LATER_MAX)),
            },
            _ => When::After(Duration::from_micros(self.rng.u64(1..took))),
        }
    }

    fn victim(&mut self) -> Victim {
        let was_killed =
            |victim: Victim| self.killed.keys().any(|what| what.starts_with(&format!("{victim:?}")));
        // However few rounds there are, each kind of death is among them.
        for victim in [Victim::Server, Victim::Both] {
            if self.server.is_some() && !was_killed(victim) {
                return victim;
            }
        }
        match (&self.server, self.rng.u8(0..6)) {
            (Some(_), 0) => Victim::Server,
            (Some(_), 1) => Victim::Both,
            _ => Victim::Program,
        }
    }

    /// A command of this program in the test's folder.
    fn command(&self, arguments: &[&str]) -> std::result::Result<Command, Difference> {
        let program =
            std::env::current_exe().map_err(|error| format!("this program cannot be found: {error}"))?;
        let mut command = Command::new(program);
        command.arg("--data").arg(self.folder.join("data"));
        if let Some(server) = &self.server {
            command.args(["--store", &server.url()]);
        }
        command.args(arguments).current_dir(&self.folder);
        command.env_remove("INGATHER_DATA").env_remove("INGATHER_STORE");
        Ok(command)
    }

    /// A run; with a kill in it, if one is asked for.
    fn sync(&mut self, kill: Option<(&When, Victim)>) -> std::result::Result<Ended, Difference> {
        let journal = format!("journal:{JOURNAL}");
        let flags =
            ["sync", "tree", "--json", "-q", "--delete-guard", "off", "--to", "index", "--to", &journal];
        let command = self.command(&flags)?;
        let data = self.folder.join("data");
        let mut folders = vec![
            (Folder::Index, data.join("index")),
            (Folder::Data, data),
            (Folder::Journal, self.folder.clone()),
        ];
        folders.extend(self.server.iter().map(|server| (Folder::ServerLog, server.data.join("pg_wal"))));
        let server = &mut self.server;
        let mut end = |group| {
            let victim = kill.map_or(Victim::Program, |(_, victim)| victim);
            if victim != Victim::Server {
                kill::kill_group(group)?;
            }
            match server {
                Some(server) if victim != Victim::Program => server.kill(),
                _ => Ok(()),
            }
        };
        kill::watch(command, &Watched(folders), kill.map(|(when, _)| when), &mut end)
            .map_err(|error| error.to_string())
    }

    /// Runs to the end; then everything is as the tree is, and another run changes nothing.
    fn finish(&mut self, at: &str) -> std::result::Result<(), Difference> {
        self.journal.repeated.clear();
        let journal = self.folder.join(JOURNAL);
        if journal.exists() {
            self.journal_read = self.journal.read_whole_lines(&journal, self.journal_read)?;
        }
        let unconfirmed = self.unconfirmed()?;
        let ended = self.sync(None)?;
        if ended.status.code() != Some(0) {
            return Err(format!("{at}: the next run ended with {}: {}", ended.status, ended.err));
        }
        self.usual = (ended.seen, ended.took);
        self.slowest = self.slowest.max(ended.took);
        if self.compare(false).map_err(|difference| format!("{at}: {difference}"))? {
            let ended = self.sync(None)?;
            if ended.status.code() != Some(0) {
                return Err(format!("{at}: the run behind ended with {}: {}", ended.status, ended.err));
            }
        }
        self.compare(true).map_err(|difference| format!("{at}: {difference}"))?;
        let is_missing = |id: &String| unconfirmed.contains(&check::key_of(&self.tree, id));
        let needless = self.journal.repeated.iter().find(|id| !is_missing(id));
        if let Some(id) = needless {
            return Err(format!("{at}: {id} was sent again, although its confirmation was not missing"));
        }
        self.repeated += self.journal.repeated.len() as u64;
        self.rest(at)
    }

    /// Another run has nothing to do: what changed within the clock's grain is read once more, and found as it was.
    fn rest(&mut self, at: &str) -> std::result::Result<(), Difference> {
        let (again, before) = (self.sync(None)?, self.journal.changes);
        self.journal_read = self.journal_behind()?;
        let told: Value =
            again.out.lines().next().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
        let unchanged = told["unchanged"].as_u64() == Some(self.tree.files.len() as u64);
        if again.status.code() != Some(0) || !unchanged || self.journal.changes != before {
            return Err(format!("{at}: another run has something to do: {told} {}", again.err));
        }
        Ok(())
    }

    /// Reads on in the journal; where it ends.
    fn journal_behind(&mut self) -> std::result::Result<usize, Difference> {
        let path = self.folder.join(JOURNAL);
        self.journal.repeated.clear();
        if path.exists() { self.journal.read(&path, self.journal_read) } else { Ok(0) }
    }

    /// Compares the outputs with the tree; whether what opened opens with the next run. `settled`: all is open by now.
    fn compare(&mut self, settled: bool) -> std::result::Result<bool, Difference> {
        const ALL: [&str; 5] = ["search", "*", "--limit", "10000", "--json"];
        let now = self.met()?;
        let since = Since { settled: &self.settled, killed: self.met_and_killed.as_ref(), now: &now };
        let index = check::index(&self.ask(&[&ALL[..], &["--all"]].concat())?)
            .and_then(|index| since.entries(&self.settled.index, &index).map(|()| index))
            .map_err(|difference| format!("the index: {difference}"))?;
        self.journal_read = self.journal.read(&self.folder.join(JOURNAL), self.journal_read)?;
        let journal = self.journal.entries(&self.tree);
        since
            .entries(&self.settled.journal, &journal)
            .map_err(|difference| format!("the journal: {difference}"))?;
        let mut seen = Vec::new();
        for (at, person) in self.people.iter().enumerate() {
            let hits = self.ask(&[&ALL[..], &["--as", &person.name]].concat())?;
            let found: BTreeSet<Key> = hits.iter().map(check::key).collect();
            since
                .seen(at, &person.name, &found, &index, settled)
                .map_err(|difference| format!("access: {difference}"))?;
            seen.push(found);
        }
        let opens_late = since.opens_late();
        if !settled {
            return Ok(opens_late);
        }
        let (kept, hidden) = since.kept_and_hidden(&index, &seen);
        self.kept = (self.kept.0 + kept, self.kept.1 + hidden);
        self.settled = Settled::new(now, index, journal, seen);
        self.met_and_killed = None;
        Ok(false)
    }

    /// Asks this program; its lines of JSON.
    fn ask(&self, arguments: &[&str]) -> std::result::Result<Vec<Value>, Difference> {
        let output = self.command(arguments)?.output().map_err(|error| error.to_string())?;
        if output.status.code() != Some(0) {
            return Err(format!("{arguments:?}: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        lines
            .lines()
            .map(|line| serde_json::from_str(line).map_err(|error| format!("{line}: {error}")))
            .collect()
    }

    /// Entries of which the store does not know that the journal holds what was sent.
    fn unconfirmed(&self) -> std::result::Result<BTreeSet<Key>, Difference> {
        let target = match &self.server {
            Some(server) => Target::Postgres(server.url()),
            None => Target::Sqlite(self.folder.join("data/store.db")),
        };
        let read = || -> std::result::Result<BTreeSet<Key>, ingather_store::StoreError> {
            let Some(reader) = Reader::open(&target)? else { return Ok(BTreeSet::new()) };
            reader.read(|sql| {
                let Some(job) = jobs::by_name(sql, "tree")? else { return Ok(BTreeSet::new()) };
                let output =
                    connections::find(sql, connections::Role::Output, &format!("journal:{JOURNAL}"))?;
                let names: BTreeMap<i64, String> =
                    documents::list(sql, job.id, DocumentKey::BEFORE_ALL, PAGE)?
                        .into_iter()
                        .map(|row| (row.id.0, row.name))
                        .collect();
                let ids: Vec<i64> = names.keys().copied().collect();
                let parts: BTreeMap<(i64, i64), String> = deliveries::components(sql, &ids)?
                    .into_iter()
                    .map(|part| ((part.document, part.id), part.name))
                    .collect();
                let held = deliveries::states(sql, &ids)?;
                let missing = held.iter().filter(|delivery| {
                    let state = &delivery.state;
                    output.as_ref().is_none_or(|output| output.id == delivery.output)
                        && state.confirmed != Some(state.intended)
                });
                let key = |delivery: &deliveries::Delivery| {
                    let part = match delivery.component {
                        0 => String::new(),
                        component => parts.get(&(delivery.document, component))?.clone(),
                    };
                    Some((names.get(&delivery.document)?.clone(), part))
                };
                Ok(missing.filter_map(key).collect())
            })
        };
        read().map_err(|error| format!("the store: {error}"))
    }

    fn tell(&self, global: &Global, seed: u64, took: Duration) {
        let store = if self.server.is_some() { "postgres" } else { "sqlite" };
        if global.json {
            let told = json!({
                "kills": self.kills(), "seed": seed, "store": store, "by": self.killed, "sent_again": self.repeated,
                "kept": self.kept.0, "hidden": self.kept.1,
                "slowest_run": self.slowest.as_secs_f64(), "seconds": took.as_secs_f64(),
            });
            show::json(&told);
            return;
        }
        show::line(&format!(
            "{} kills survived on {store} in {:.0} s (seed {seed}): nothing lost, nothing left over, access as the files \
             have it; {} changes sent again, each because its confirmation was missing; {} times an entry stayed that could not be \
             read, {} times hidden from all; slowest run after a kill {:.1} s",
            self.kills(),
            took.as_secs_f64(),
            self.repeated,
            self.kept.0,
            self.kept.1,
            self.slowest.as_secs_f64()
        ));
        for (what, times) in &self.killed {
            show::line(&format!("{times:>7}  {what}"));
        }
    }
}
