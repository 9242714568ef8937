//! What an output promises (`crates/contract/src/output.rs`).

use std::sync::Arc;

use ingather_contract::output::{Change, Generation, Op, Output, OutputContext, OutputEntry, OutputKind};
use ingather_model::document::Record;
use ingather_model::fault::Fault;
use ingather_model::ids::{AclId, ContainerId, Digest};

use super::secrets::secrets;
use super::{Breaches, call, must_be_none};

/// An output that the suite may fill; empty at the beginning.
pub struct OutputSample {
    /// Settings that open it.
    pub settings: serde_json::Value,
    /// Where it keeps its state.
    pub context: OutputContext,
    /// It keeps its state in the data directory: another store must not open it.
    pub local: bool,
}

/// Checks an output.
///
/// # Panics
/// When a promise is broken, with one line for each.
pub fn output(kind: &OutputKind, sample: &OutputSample) {
    must_be_none(kind.name, &output_breaches(kind, sample));
}

/// Makes changes with growing numbers.
struct Changes {
    seq: i64,
}

impl Changes {
    fn one(&mut self, name: &str, op: Op) -> Change {
        self.seq += 1;
        let id = format!("suite://{name}");
        // The keyed hash belongs to the store; here any number that goes with the id will do.
        let address = Digest::of(id.as_bytes()).0;
        Change { id, address, job: 1, job_name: "suite".into(), document: name.to_owned(), seq: self.seq, op }
    }

    fn put(&mut self, name: &str, version: i64, body: &str) -> Change {
        let record = Record {
            uri: format!("suite://{name}"),
            title: name.to_owned(),
            path: name.to_owned(),
            body: Some(body.to_owned()),
            media_type: Some("text/plain".to_owned()),
            ..Record::default()
        };
        let (version, acl_id, container) = (Digest(version), Some(AclId(version)), Some(ContainerId(7)));
        self.one(name, Op::Put { record: Arc::new(record), version, acl_id, container })
    }

    fn access(&mut self, name: &str, acl_id: i64) -> Change {
        self.one(name, Op::Access { version: None, acl_id: Some(AclId(acl_id)), container: None })
    }
}

struct Suite<'s> {
    kind: &'s OutputKind,
    sample: &'s OutputSample,
    changes: Changes,
    found: Breaches,
}

/// As [`output`], for tests of the suite itself.
pub fn output_breaches(kind: &OutputKind, sample: &OutputSample) -> Vec<String> {
    let mut suite = Suite { kind, sample, changes: Changes { seq: 0 }, found: Breaches::default() };
    let faults = |settings: &serde_json::Value| {
        let checked = (kind.check)(settings, &sample.context).err();
        let looked = kind.look.and_then(|look| look(settings, &sample.context).err());
        let opened = (kind.open)(settings, &sample.context).err();
        checked.into_iter().chain(looked).chain(opened).collect()
    };
    secrets(&(kind.schema)(), &sample.settings, &faults, &mut suite.found);
    if let Err(fault) = suite.play() {
        suite.found.0.push(format!("it fails: {fault}"));
    }
    suite.found.0
}

impl Suite<'_> {
    fn open(&self) -> Result<Box<dyn Output>, Fault> {
        (self.kind.open)(&self.sample.settings, &self.sample.context)
    }

    /// Applies a batch in which all must succeed.
    fn apply(&mut self, output: &mut dyn Output, batch: &[Change]) {
        let answers = output.apply(&call(), batch);
        self.found.unless(answers.len() == batch.len(), || {
            format!("{} changes got {} answers", batch.len(), answers.len())
        });
        for (change, answer) in batch.iter().zip(&answers) {
            self.found.unless(answer.is_ok(), || {
                format!("{:?} of {} is not taken: {answer:?}", change.op, change.id)
            });
        }
    }

    fn commit(&mut self, output: &mut dyn Output) -> Result<(), Fault> {
        let before = output.generation();
        let done = output.commit(&call())?;
        if self.kind.capabilities.commits {
            self.found
                .unless(done.number == before.number + 1, || "a commit does not count on by one".to_owned());
        }
        self.found.unless(done.identity == before.identity, || "a commit makes it another output".to_owned());
        self.found
            .unless(output.generation() == done, || "it does not stand where its commit said".to_owned());
        Ok(())
    }

    fn play(&mut self) -> Result<(), Fault> {
        let mut output = self.open()?;
        self.apply(output.as_mut(), &[]);
        let large = "word ".repeat(200_000);
        let names = [("a", "one"), ("b", "two"), ("c/ü ?#", "three"), ("empty", ""), ("large", &large)];
        let batch: Vec<Change> = names.iter().map(|(name, body)| self.changes.put(name, 1, body)).collect();
        self.apply(output.as_mut(), &batch);
        self.commit(output.as_mut())?;
        let standing = output.generation();
        drop(output);

        let mut output = self.open()?;
        self.found.unless(output.generation() == standing, || {
            "it stands elsewhere after it was opened again".to_owned()
        });
        self.holds(
            output.as_mut(),
            "what was committed and opened again",
            |_| 1,
            &["a", "b", "c/ü ?#", "empty", "large"],
        )?;
        // Several changes of one address in one batch: the last one stands.
        let again = vec![
            self.changes.put("a", 2, "other"),
            self.changes.one("a", Op::Delete),
            self.changes.put("a", 3, "last"),
            self.changes.one("b", Op::Delete),
            self.changes.one("never there", Op::Delete),
        ];
        self.apply(output.as_mut(), &again);
        self.commit(output.as_mut())?;
        let version = |name: &str| if name == "a" { 3 } else { 1 };
        self.holds(
            output.as_mut(),
            "changes of one address in one batch",
            version,
            &["a", "c/ü ?#", "empty", "large"],
        )?;
        // After an answer that never came, the same changes come again.
        self.apply(output.as_mut(), &again);
        self.commit(output.as_mut())?;
        self.holds(
            output.as_mut(),
            "the same changes once more",
            version,
            &["a", "c/ü ?#", "empty", "large"],
        )?;
        self.access(output.as_mut())?;
        self.uncommitted(output)?;
        self.looked_at()?;
        self.foreign();
        self.cleared()
    }

    /// Who only looks finds what was kept, also beside a writer.
    fn looked_at(&mut self) -> Result<(), Fault> {
        let Some(look) = self.kind.look else {
            self.found
                .unless(!self.kind.capabilities.list, || "it lists, and cannot be looked at".to_owned());
            return Ok(());
        };
        let held = self.listed(self.open()?.as_mut())?;
        let mut looking = look(&self.sample.settings, &self.sample.context)?
            .ok_or_else(|| Fault::refused("look", "it is there, and who looks finds nothing"))?;
        let seen = looking.list(&call(), None, held.len() + 1)?;
        self.found.unless(seen == held, || format!("who looks finds {seen:?} instead of {held:?}"));
        let damage = looking.damage(&call(), true)?;
        self.found
            .unless(damage.is_empty(), || format!("it is whole and says that it is damaged: {damage:?}"));
        Ok(())
    }

    /// An output with commits can be emptied, for good.
    fn cleared(&mut self) -> Result<(), Fault> {
        if !(self.kind.capabilities.commits && self.kind.capabilities.list) {
            return Ok(());
        }
        self.open()?.clear(&call())?;
        let held = self.listed(self.open()?.as_mut())?;
        self.found.unless(held.is_empty(), || format!("it was cleared and holds {} entries", held.len()));
        Ok(())
    }

    fn access(&mut self, output: &mut dyn Output) -> Result<(), Fault> {
        if !self.kind.capabilities.access {
            return Ok(());
        }
        let batch = [self.changes.access("a", 9), self.changes.access("b", 9)];
        let answers = output.apply(&call(), &batch);
        self.found.unless(answers.first() == Some(&Ok(())), || {
            "the access of an entry cannot be changed".to_owned()
        });
        // One that keeps a record of changes, and not entries, cannot know.
        let knows = self.kind.capabilities.list;
        self.found.unless(!knows || answers.get(1) == Some(&Err(Fault::Gone)), || {
            format!(
                "a change of access of an entry that is not there is answered {:?} instead of gone",
                answers.get(1)
            )
        });
        self.commit(output)?;
        if self.kind.capabilities.list {
            let held = self.listed(output)?;
            let a = held.iter().find(|held| held.id == "suite://a");
            let right = a.is_some_and(|a| {
                a.version == Digest(3) && a.acl_id == Some(AclId(9)) && a.container.is_none()
            });
            self.found.unless(right, || format!("a change of access left {a:?}"));
            self.found.unless(held.iter().all(|held| held.id != "suite://b"), || {
                "a change of access made an entry".to_owned()
            });
        }
        Ok(())
    }

    /// What was not committed is lost, or was durable at once; never something in between.
    fn uncommitted(&mut self, mut output: Box<dyn Output>) -> Result<(), Fault> {
        let before = output.generation();
        let late = [self.changes.put("late", 1, "late")];
        self.apply(output.as_mut(), &late);
        drop(output);
        let mut output = self.open()?;
        if !self.kind.capabilities.list {
            return Ok(());
        }
        let held = self.listed(output.as_mut())?.iter().any(|held| held.id == "suite://late");
        if self.kind.capabilities.commits {
            let stands = output.generation();
            // What was durable at once it has seen.
            let same = Generation { seq: before.seq, ..stands.clone() } == before && stands.seq >= before.seq;
            self.found.unless(same, || "it counts a commit that nobody asked for".to_owned());
        } else {
            self.found.unless(held, || "it took a change and lost it when it was opened again".to_owned());
        }
        Ok(())
    }

    /// Another store's output is refused, also when it is only asked whether it could be opened.
    fn foreign(&mut self) {
        let OutputSample { settings, context, .. } = self.sample;
        if let Err(fault) = (self.kind.check)(settings, context) {
            self.found.unless(false, || format!("it opens, and answers that it would not: {fault}"));
        }
        if self.sample.local {
            let context = OutputContext { store: "another store".to_owned(), ..context.clone() };
            let opened = (self.kind.open)(settings, &context);
            self.found
                .unless(opened.is_err(), || "it opens for a store that it does not belong to".to_owned());
            let checked = (self.kind.check)(settings, &context);
            self.found.unless(opened.is_ok() || checked.is_err(), || {
                "it answers that it would open for a store that it does not belong to".to_owned()
            });
        }
    }

    fn listed(&mut self, output: &mut dyn Output) -> Result<Vec<OutputEntry>, Fault> {
        let mut all: Vec<OutputEntry> = Vec::new();
        // More pages than entries means that a page was told twice.
        for _ in 0..1_000 {
            let after = all.last().map(|held| held.id.clone());
            let page = output.list(&call(), after.as_deref(), 2)?;
            self.found
                .unless(page.len() <= 2, || "a page of what it holds is longer than asked for".to_owned());
            if page.is_empty() {
                break;
            }
            all.extend(page);
        }
        let sorted = all.windows(2).all(|pair| pair[0].id < pair[1].id);
        self.found.unless(sorted, || "what it holds is not told in the order of ids, each once".to_owned());
        Ok(all)
    }

    fn holds(
        &mut self,
        output: &mut dyn Output,
        when: &str,
        version: fn(&str) -> i64,
        names: &[&str],
    ) -> Result<(), Fault> {
        if !self.kind.capabilities.list {
            let refused = matches!(output.list(&call(), None, 1), Err(Fault::Refused(_)));
            self.found.unless(refused, || "it cannot list and does not say so".to_owned());
            return Ok(());
        }
        let expected: Vec<(String, Digest)> =
            names.iter().map(|name| (format!("suite://{name}"), Digest(version(name)))).collect();
        let held = self.listed(output)?;
        let told: Vec<(String, Digest)> = held.iter().map(|held| (held.id.clone(), held.version)).collect();
        self.found
            .unless(told == expected, || format!("after {when} it holds {told:?} instead of {expected:?}"));
        let referred = held.iter().all(|held| held.acl_id.map(|acl_id| acl_id.0) == Some(held.version.0));
        self.found.unless(referred, || format!("after {when} an entry has another acl than it was given"));
        Ok(())
    }
}
