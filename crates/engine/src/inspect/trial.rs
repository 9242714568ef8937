//! What each stage of a pipeline makes of one document, tried on the document as it is now; nothing is written.

use ingather_connector::model::access::Level;
use ingather_connector::model::document::{Component, Parts, Record};
use ingather_connector::model::fault::{Fault, Reason};
use ingather_connector::model::job::{Definition, Stage};
use ingather_connector::transform::Verdict;
use ingather_store::jobs::Job;

use crate::engine::Engine;
use crate::error::{EngineError, Result};
use crate::visit::pipeline::Pipeline;

/// Characters of a text that are shown.
const BEGINNING_CHARACTERS: usize = 120;
/// Parts that are shown of a document after each stage; all are counted.
const PARTS_MAX: usize = 1_000;

/// A document on its way through a pipeline.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Its name in the job.
    pub document: String,
    /// Where a person finds it.
    pub uri: String,
    /// As the repository gave it.
    pub arrived: Seen,
    /// What the stages made of it, one after the other, as far as they came.
    pub steps: Vec<Step>,
    /// Why the stage after the last step failed, or the content could not be read to its end.
    pub fault: Option<Reason>,
    /// Who may see it: as the source says, and as the stages leave it.
    pub access: [Level; 2],
}

/// What one stage made of a document.
#[derive(Clone, Debug)]
pub struct Step {
    /// Kind of the stage.
    pub transform: String,
    /// What has been decided by now; a document that an earlier stage declined is not sent to later ones.
    pub verdict: Verdict,
    /// The document after it.
    pub seen: Seen,
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
    /// Sends the document that `text` names through `stages`. Reads it once, whatever their number.
    ///
    /// # Errors
    /// Stages or a source that cannot be opened, a document that is not there or cannot be read.
    pub fn try_stages(&self, job: &Job, kind: &str, stages: &[Stage], text: &str) -> Result<Trial> {
        let definition = Definition { stages: stages.to_vec(), ..job.definition.clone() };
        let repository = self.repository(kind, &definition)?;
        let pipeline = Pipeline::open(&definition, &self.registry)?;
        let refused = |reason: Reason| EngineError::Refused(reason.message);
        let named = repository.named(text).map_err(refused)?;
        let call = self.call();
        let absent = |fault: Fault| match fault {
            Fault::Gone => EngineError::Refused(format!(
                "`{text}` is not there; name a document as `ingather document list {}` does",
                job.name
            )),
            fault => refused(fault.reason()),
        };
        let looked = repository.look(&call, &named.key).map_err(absent)?;
        let (mut arrived, mut steps, mut fault) = (None, Vec::new(), None);
        let fetched = repository.fetch(&call, &named.key, &mut |record, content| {
            // A document that changes while it is read is read again.
            steps.clear();
            arrived = Some(Seen::of(record, &Parts::default()));
            let passed = pipeline.pass_watched(&call, record, content, &mut |record, parts, verdict| {
                steps.push((verdict.clone(), Seen::of(record, parts)));
            });
            fault = passed.as_ref().err().map(Fault::reason);
            passed.map(|_| ())
        });
        let level = match fetched {
            Ok(observed) => observed.level,
            Err(_) if fault.is_some() => looked.level,
            Err(fault) => return Err(absent(fault)),
        };
        let arrived = arrived.ok_or_else(|| EngineError::Refused(format!("`{text}` has no content")))?;
        let kinds = stages.iter().map(|stage| stage.transform.clone());
        let steps = kinds.zip(steps);
        Ok(Trial {
            uri: repository.uri(&named.key),
            document: named.key,
            arrived,
            steps: steps.map(|(transform, (verdict, seen))| Step { transform, verdict, seen }).collect(),
            fault,
            access: [level.clone(), pipeline.access(level)],
        })
    }
}

impl Seen {
    fn of(record: &Record, parts: &Parts) -> Seen {
        Seen {
            record: without_text(record),
            text: seen_text(record),
            parts: parts.list.iter().take(PARTS_MAX).map(seen_part).collect(),
            parts_count: parts.list.len(),
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
