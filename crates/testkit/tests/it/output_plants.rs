//! Outputs with one fault each.

use std::sync::atomic::{AtomicU64, Ordering};

use ingather_contract::call::CallContext;
use ingather_contract::output::{
    AsOpened, Change, Generation, Op, Output, OutputCapabilities, OutputContext, OutputEntry, OutputKind,
};
use ingather_contract::settings::{NoSettings, schema_of};
use ingather_model::fault::Fault;
use ingather_testkit::memory_kinds::{COMMITTING, MEMORY, PLAIN};
use ingather_testkit::memory_output;
use ingather_testkit::suites::{OutputSample, output_breaches};

#[derive(Clone, Copy, PartialEq)]
enum Plant {
    FewerAnswers,
    LosesCommitted,
    MissingIsFine,
    DeletesFail,
    ListsBackwards,
    OpensForAnybody,
    CountsByTwo,
    LosesApplied,
    RefusesRepeats,
    ClearsNothing,
    ChecksNothing,
}

/// An output with one fault, the world that it belongs to, and the largest number that it has seen.
struct Bad(Box<dyn Output>, Plant, String, i64);

impl Output for Bad {
    fn apply(&mut self, call: &CallContext, batch: &[Change]) -> Vec<Result<(), Fault>> {
        let mut answers = self.0.apply(call, batch);
        for (answer, change) in answers.iter_mut().zip(batch) {
            match self.1 {
                Plant::MissingIsFine if *answer == Err(Fault::Gone) => *answer = Ok(()),
                Plant::RefusesRepeats if change.seq <= self.3 => {
                    *answer = Err(Fault::refused("conflict", "it is there already"));
                }
                Plant::DeletesFail if change.op == Op::Delete => *answer = Err(Fault::Gone),
                _ => {}
            }
        }
        self.3 = batch.last().map_or(self.3, |change| change.seq);
        if self.1 == Plant::FewerAnswers {
            answers.pop();
        }
        answers
    }
    fn commit(&mut self, call: &CallContext) -> Result<Generation, Fault> {
        if self.1 == Plant::CountsByTwo {
            self.0.commit(call)?;
        }
        self.0.commit(call)
    }
    fn generation(&self) -> Generation {
        self.0.generation()
    }
    fn clear(&mut self, call: &CallContext) -> Result<Generation, Fault> {
        if self.1 == Plant::ClearsNothing { Ok(self.generation()) } else { self.0.clear(call) }
    }
    fn list(
        &mut self,
        call: &CallContext,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<OutputEntry>, Fault> {
        let mut page = self.0.list(call, after, most)?;
        if self.1 == Plant::ListsBackwards {
            page.reverse();
        }
        Ok(page)
    }
}

impl Drop for Bad {
    fn drop(&mut self) {
        if matches!(self.1, Plant::LosesCommitted | Plant::LosesApplied) {
            let shelf = memory_output::shared(&self.2, "bad");
            let mut shelf = memory_output::locked(&shelf);
            shelf.entries.clear();
            if self.1 == Plant::LosesCommitted {
                shelf.go_back();
            }
        }
    }
}

fn bad(
    settings: &serde_json::Value,
    context: &OutputContext,
    plant: Plant,
) -> Result<Box<dyn Output>, Fault> {
    let world = settings["world"].as_str().unwrap_or_default().to_owned();
    if plant == Plant::ChecksNothing && context.store != "store" {
        return Err(Fault::refused("foreign", "it belongs to another store"));
    }
    let kind = if plant == Plant::LosesApplied { &MEMORY } else { &COMMITTING };
    Ok(Box::new(Bad((kind.open)(settings, context)?, plant, world, 0)))
}

macro_rules! plants {
    ($($name:ident: $plant:ident is told by $word:literal;)*) => {
        $(
            #[test]
            fn $name() {
                static KIND: OutputKind = OutputKind {
                    name: "bad",
                    about: "has one fault",
                    capabilities: OutputCapabilities { commits: !matches!(Plant::$plant, Plant::LosesApplied), access: true, list: true, told: false },
                    schema: schema_of::<NoSettings>,
                    open: |settings, context| bad(settings, context, Plant::$plant),
                    check: |settings, context| match Plant::$plant {
                        Plant::ChecksNothing => Ok(()),
                        plant => bad(settings, context, plant).map(drop),
                    },
                    look: Some(|settings, context| Ok(Some(Box::new(AsOpened(bad(settings, context, Plant::$plant)?))))),
                    discard: None,
                    search: None,
                    copy: None,
                    place: None,
                    ask: None,
                };
                let told = check(&KIND, matches!(Plant::$plant, Plant::OpensForAnybody | Plant::ChecksNothing));
                assert!(told.iter().any(|told| told.contains($word)), "{told:#?}");
            }
        )*
    };
}

plants! {
    fewer_answers_than_changes: FewerAnswers is told by "5 changes got 4 answers";
    confirmed_and_lost: LosesCommitted is told by "it stands elsewhere after it was opened again";
    access_of_a_missing_entry_confirmed: MissingIsFine is told by "instead of gone";
    deletions_of_what_is_not_there_fail: DeletesFail is told by "is not taken";
    listed_backwards: ListsBackwards is told by "not told in the order of ids";
    open_for_any_store: OpensForAnybody is told by "does not belong to";
    commits_that_count_by_two: CountsByTwo is told by "does not count on by one";
    applied_and_lost: LosesApplied is told by "instead of";
    the_same_change_refused_the_second_time: RefusesRepeats is told by "is not taken";
    would_open_for_any_store: ChecksNothing is told by "it answers that it would open";
    cleared_and_still_there: ClearsNothing is told by "it was cleared and holds";
}

#[test]
fn sound_outputs_pass() {
    for kind in [&MEMORY, &COMMITTING, &PLAIN] {
        assert_eq!(check(kind, false), Vec::<String>::new(), "{}", kind.name);
    }
}

fn check(kind: &OutputKind, local: bool) -> Vec<String> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let world = format!("suite {}", MADE.fetch_add(1, Ordering::Relaxed));
    let folder = tempfile::tempdir().expect("tests need a temporary folder");
    output_breaches(
        kind,
        &OutputSample {
            settings: serde_json::json!({"world": world, "name": "bad"}),
            context: OutputContext { data: folder.path().to_owned(), store: "store".to_owned(), session: 1 },
            local,
        },
    )
}
