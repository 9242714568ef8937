//! What each stage of a pipeline makes of one document, tried on the document as it is now; nothing is written.

use ingather_contract::repository::Repository;
use ingather_contract::transform::{Audience, Verdict};
use ingather_model::access::Acl;
use ingather_model::document::{Component, INSIDE, Parts, Record, component_uri};
use ingather_model::fault::{Fault, Reason};
use ingather_model::job::{Definition, Stage};
use ingather_model::limits;
use ingather_store::jobs::Job;

use super::names::Target;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
pub use crate::visit::pipeline::CONDITION;
use crate::visit::pipeline::{After, Pipeline};

/// Characters of a text that are shown.
const BEGINNING_CHARACTERS: usize = 120;
/// A document, or something in one, on its way through a pipeline.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Its name in the job.
    pub document: String,
    /// Where a person finds it.
    pub uri: String,
    /// As the repository gave it; none for what is in a document: a stage finds it.
    pub arrived: Option<Seen>,
    /// What the stages made of it, each behind the one that it comes after, as far as they came.
    pub steps: Vec<Step>,
    /// What arrives at the outputs; empty when a stage failed.
    pub exits: Vec<Exit>,
    /// What each stage comes after; none is the repository.
    pub after: Vec<Option<usize>>,
    /// Why the stage after the last step failed, or the content could not be read to its end.
    pub fault: Option<Reason>,
    /// Who may see it: as the source says, and as the stages leave it.
    pub access: [Acl; 2],
}

/// What one stage made of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Kind of the stage.
    pub transform: String,
    /// What has become of it by now.
    pub fate: Fate,
    /// As it is after the stage, or was when it was left out; none while nothing has found it.
    pub seen: Option<Seen>,
}

/// What arrives at one output of a document, or of something in one.
#[derive(Clone, Debug, PartialEq)]
pub struct Exit {
    /// Name of the output.
    pub output: String,
    /// What has become of it there; what stages or conditions left out on the way stays so.
    pub fate: Fate,
}

/// What has become of a document, or of something in one, after a stage. What is left out is not sent to later stages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Nothing of that name was found in the document so far.
    Absent,
    /// This stage found it in the document.
    Found,
    /// The stage passed it on.
    Passed,
    /// A stage left only what is in it.
    PartsOnly,
    /// A stage declined it.
    Declined(Reason),
    /// It is there and could not be read; of a document, later stages get its name and fields.
    Unreadable(Reason),
}

/// The course of a document, and of something in it, through stages.
pub(super) struct Course {
    pub(super) arrived: Seen,
    pub(super) whole: Vec<Step>,
    /// The same for what was asked about in it; empty without.
    pub(super) inside: Vec<Step>,
    /// What arrives at the outputs, of what was asked about.
    pub(super) exits: Vec<Exit>,
    pub(super) fault: Option<Reason>,
    acl: Acl,
}

/// A document between two stages.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Its record without the text.
    pub record: Record,
    /// Its text; none when there is none.
    pub text: Option<SeenText>,
    /// What was found in it, as far as it is shown.
    pub parts: Vec<SeenPart>,
    /// How many there are.
    pub parts_count: usize,
    /// Not all that is in it could be found.
    pub incomplete: bool,
}

/// A text, too long to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenText {
    /// Its length.
    pub characters: usize,
    /// Its first words, in one line.
    pub beginning: String,
}

/// Something in a document.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenPart {
    /// Its name inside the document.
    pub name: String,
    /// Its record without the text, and its text; or why it could not be read.
    pub found: std::result::Result<(Record, Option<SeenText>), Reason>,
}

impl Engine {
    /// Sends what `text` names, a document or something in one, through the pipeline of `definition`. Reads the document once, whatever their
    /// number.
    ///
    /// # Errors
    /// Stages or a source that cannot be opened, a document that is not there or cannot be read, or nothing of that name
    /// in it.
    pub fn try_stages(&self, job: &Job, definition: &Definition, text: &str) -> Result<Trial> {
        let stages = definition.stages.as_slice();
        let repository = self.repository(job)?;
        let pipeline = Pipeline::open(definition, &self.registry)?;
        let refused = |reason: Reason| EngineError::refused(Refusal::NoSuchDocument, reason.message);
        let Target { named, part } = match self.at_source(repository.as_ref(), text) {
            Some(target) => target,
            None => Target::whole(repository.named(text).map_err(refused)?),
        };
        let uri = repository.place(&named.key);
        let sent = self.send(repository.as_ref(), &pipeline, stages, &named.key, part.as_deref());
        let sent = sent.map_err(|fault| match fault {
            Fault::Gone => EngineError::refused(Refusal::NoSuchDocument, format!(
                "`{text}` is not there: there is nothing at {uri}; name a document as `ingather document list {}` does",
                job.name
            )),
            fault => refused(fault.reason()),
        })?;
        let is_absent = sent.inside.last().is_some_and(|step| step.fate == Fate::Absent);
        if let (Some(part), true, None) = (&part, is_absent, &sent.fault) {
            return Err(EngineError::refused(
                Refusal::NoSuchDocument,
                format!(
                    "nothing in `{0}` is named `{part}`; `ingather pipeline try {1} '{0}'` shows what is in it",
                    named.key, job.name
                ),
            ));
        }
        let shown_to = pipeline.access(&sent.acl).into_owned();
        let access = [sent.acl, shown_to];
        let after = pipeline.places().to_vec();
        Ok(match part {
            None => Trial {
                document: named.key,
                uri,
                arrived: Some(sent.arrived),
                steps: sent.whole,
                exits: sent.exits,
                after,
                fault: sent.fault,
                access,
            },
            Some(part) => Trial {
                document: format!("{}{INSIDE}{part}", named.key),
                uri: component_uri(&uri, &part),
                arrived: None,
                steps: sent.inside,
                exits: sent.exits,
                after,
                fault: sent.fault,
                access,
            },
        })
    }

    /// Reads a document once and sends it through stages; `part` names what else is watched in it.
    pub(super) fn send(
        &self,
        repository: &dyn Repository,
        pipeline: &Pipeline,
        stages: &[Stage],
        key: &str,
        part: Option<&str>,
    ) -> std::result::Result<Course, Fault> {
        let call = self.call();
        let looked = repository.look(&call, key)?;
        let (mut arrived, mut fault) = (None, None);
        let (mut whole, mut inside, mut exits) = (Vec::new(), Vec::new(), Vec::new());
        let fetched = repository.fetch(&call, key, &mut |record, _, content| {
            // A document that changes while it is read is read again.
            whole.clear();
            inside.clear();
            arrived = Some(Seen::of(record, &Parts::default(), None));
            exits.clear();
            let passed =
                pipeline.pass_watched(&call, &Audience::default, record, (content, None), &mut |after| {
                    let transform = after.stage.map(|at| stages[at].transform.clone()).unwrap_or_default();
                    let before = |steps: &[Step]| after.after.map(|at| steps[at].clone());
                    let in_it = part
                        .map(|name| inside_after(transform.clone(), name, before(&inside).as_ref(), after));
                    let whole_step = whole_after(transform, after);
                    if after.stage.is_none() {
                        let step = in_it.unwrap_or(whole_step);
                        let exit = |output: &String| Exit { output: output.clone(), fate: step.fate.clone() };
                        exits.extend(after.outputs.iter().map(exit));
                        return;
                    }
                    inside.extend(in_it);
                    whole.push(whole_step);
                });
            fault = passed.as_ref().err().map(Fault::reason);
            passed.map(|_| ())
        });
        let acl = match fetched {
            Ok(observed) => observed.acl,
            Err(_) if fault.is_some() => looked.acl,
            Err(fault) => return Err(fault),
        };
        let arrived = arrived.ok_or_else(|| Fault::broken("connector", format!("`{key}` has no content")))?;
        Ok(Course { arrived, whole, inside, exits, fault, acl })
    }
}

fn whole_after(transform: String, after: &After<'_>) -> Step {
    let seen = Some(Seen::of(after.record(), after.parts(), None));
    Step { transform, fate: fate(after.verdict()), seen }
}

fn inside_after(transform: String, name: &str, before: Option<&Step>, after: &After<'_>) -> Step {
    let was_found = before.is_some_and(|step| step.fate != Fate::Absent);
    let seen_before = || before.and_then(|step| step.seen.clone());
    if let Some((_, verdict)) = after.left.iter().find(|(left, _)| left == name) {
        let seen = seen_before().map(|seen| Seen {
            record: seen.record.clone(),
            text: seen.text.clone(),
            ..Seen::of(&seen.record, after.parts(), Some(name))
        });
        return Step { transform, fate: fate(verdict), seen };
    }
    match after.parts().list.iter().find(|part| part.name == name).map(|part| &part.record) {
        Some(Ok(record)) => {
            let fate = if was_found { Fate::Passed } else { Fate::Found };
            Step { transform, fate, seen: Some(Seen::of(record, after.parts(), Some(name))) }
        }
        Some(Err(reason)) => Step { transform, fate: Fate::Unreadable(reason.clone()), seen: seen_before() },
        None => {
            let fate = before.map_or(Fate::Absent, |step| step.fate.clone());
            Step { transform, fate, seen: seen_before() }
        }
    }
}

fn fate(verdict: &Verdict) -> Fate {
    match verdict {
        Verdict::Pass => Fate::Passed,
        Verdict::PartsOnly => Fate::PartsOnly,
        Verdict::Unread(fault) => Fate::Unreadable(fault.reason()),
        Verdict::Decline(reason) => Fate::Declined(reason.clone()),
    }
}

impl Seen {
    /// What a record is, and what is in it: all parts of the document, or those of its part `inside`.
    fn of(record: &Record, parts: &Parts, inside: Option<&str>) -> Seen {
        let beginning = inside.map_or(String::new(), |name| format!("{name}{INSIDE}"));
        let own = || parts.list.iter().filter(|part| part.name.starts_with(&beginning));
        Seen {
            record: without_text(record),
            text: seen_text(record),
            parts: own().take(limits::PARTS_SHOWN_MAX).map(seen_part).collect(),
            parts_count: own().count(),
            incomplete: parts.incomplete,
        }
    }
}

fn seen_part(part: &Component) -> SeenPart {
    let found = part.record.as_ref().map(|record| (without_text(record), seen_text(record)));
    SeenPart { name: part.name.clone(), found: found.map_err(Clone::clone) }
}

fn without_text(record: &Record) -> Record {
    Record { body: None, ..record.clone() }
}

fn seen_text(record: &Record) -> Option<SeenText> {
    let body = record.body.as_deref()?;
    let mut beginning = String::new();
    for word in body.split_whitespace() {
        if !beginning.is_empty() {
            beginning.push(' ');
        }
        beginning.extend(word.chars().take(BEGINNING_CHARACTERS));
        if beginning.chars().count() >= BEGINNING_CHARACTERS {
            break;
        }
    }
    beginning = beginning.chars().take(BEGINNING_CHARACTERS).collect();
    Some(SeenText { characters: body.chars().count(), beginning })
}
