//! Proof that our lifecycles and the arrows of ManifoldCF fit (design 4.2): every set of facts that can be reached
//! from nothing is visited, every step tried in it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::{Debug, Display};
use std::hash::Hash;

use super::*;
use crate::lifecycle::facts::{DocumentFacts, JobFacts};
use crate::lifecycle::projection::{manifold_document_state, manifold_job_state};
use crate::lifecycle::steps::{Step, document_after, job_after};
use crate::lifecycle::{document, job};

/// One lifecycle with its projection and its arrows.
struct Case<F, T: 'static, S: 'static> {
    start: F,
    steps: Vec<T>,
    after: fn(F, T) -> Option<F>,
    shown: fn(&F) -> Option<S>,
    book: &'static [Arrows<S>],
    program: &'static [Arrows<S>],
    ways: &'static [Way<S, T>],
}

/// What a walk over all facts found.
struct Walk<S> {
    facts: usize,
    states: HashSet<S>,
    /// Arrows that a step takes by itself.
    taken: HashSet<Arrow<S>>,
    /// Arrows that a step takes together with others.
    passed: HashSet<Arrow<S>>,
    ways_used: BTreeSet<usize>,
    faults: Vec<String>,
}

impl<F, T, S> Case<F, T, S>
where
    F: Copy + Eq + Hash + Debug,
    T: Copy + Eq + Display,
    S: Copy + Eq + Hash + Debug,
{
    fn walk(&self) -> Walk<S> {
        let allowed: HashSet<_> = self.book.iter().chain(self.program).flat_map(Arrows::each).collect();
        let mut walk = Walk {
            facts: 0,
            states: HashSet::new(),
            taken: HashSet::new(),
            passed: HashSet::new(),
            ways_used: BTreeSet::new(),
            faults: Vec::new(),
        };
        let mut met: HashSet<F> = HashSet::from([self.start]);
        let mut open = vec![self.start];
        let mut told = HashSet::new();
        while let Some(facts) = open.pop() {
            walk.facts += 1;
            walk.states.extend((self.shown)(&facts));
            for &step in &self.steps {
                let Some(next) = (self.after)(facts, step) else { continue };
                let arrow = ((self.shown)(&facts), (self.shown)(&next));
                if met.insert(next) {
                    open.push(next);
                }
                if arrow.0 == arrow.1 {
                    continue;
                }
                if allowed.contains(&arrow) {
                    walk.taken.insert(arrow);
                    continue;
                }
                let way = self.ways.iter().position(|way| way.on == step);
                let legs = way.and_then(|way| legs(arrow, self.ways[way].through, &allowed));
                if let Some((way, legs)) = way.zip(legs) {
                    walk.ways_used.insert(way);
                    walk.passed.extend(legs);
                } else if told.insert((step.to_string(), arrow)) {
                    walk.faults.push(format!("{step}: {:?} -> {:?}", arrow.0, arrow.1));
                }
            }
        }
        walk
    }

    fn prove(&self, names: usize) -> Walk<S> {
        let walk = self.walk();
        assert!(walk.faults.is_empty(), "steps that leave the arrows:\n{}", walk.faults.join("\n"));
        let unreached = |table: &[Arrows<S>], taken: &dyn Fn(&Arrow<S>) -> bool| -> Vec<String> {
            let each = table.iter().flat_map(|line| line.each().map(move |arrow| (line.id, arrow)));
            each.filter(|(_, arrow)| !taken(arrow)).map(|found| format!("{found:?}")).collect()
        };
        let alone = unreached(self.book, &|arrow| walk.taken.contains(arrow));
        assert_eq!(alone, Vec::<String>::new(), "arrows of the book out of our reach");
        let at_all =
            unreached(self.program, &|arrow| walk.taken.contains(arrow) || walk.passed.contains(arrow));
        assert_eq!(at_all, Vec::<String>::new(), "arrows of the program that nothing takes");
        let unused: Vec<_> = (0..self.ways.len()).filter(|way| !walk.ways_used.contains(way)).collect();
        assert_eq!(unused, Vec::<usize>::new(), "ways that nothing takes");
        assert_eq!(walk.states.len(), names, "names that no facts lead to");
        walk
    }
}

/// One arrow; none stands for "has no state".
type Arrow<S> = (Option<S>, Option<S>);

/// The allowed arrows that lead from one end to the other, passing only states in `through`; none when nothing does.
fn legs<S: Copy + Eq + Hash>(
    (from, to): Arrow<S>,
    through: &[S],
    allowed: &HashSet<Arrow<S>>,
) -> Option<Vec<Arrow<S>>> {
    let mut came_from: HashMap<Option<S>, Option<S>> = HashMap::new();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        if allowed.contains(&(at, to)) {
            let mut legs = vec![(at, to)];
            let mut back = at;
            while back != from {
                legs.push((came_from[&back], back));
                back = came_from[&back];
            }
            return Some(legs);
        }
        for next in through.iter().map(|state| Some(*state)).filter(|next| *next != from) {
            if allowed.contains(&(at, next)) && !came_from.contains_key(&next) {
                came_from.insert(next, at);
                open.push(next);
            }
        }
    }
    None
}

fn jobs() -> Case<JobFacts, JobStep, ManifoldJobState> {
    Case {
        start: JobFacts::new(job::State::Gone),
        steps: JobStep::all().collect(),
        after: job_after,
        shown: manifold_job_state,
        book: JOB_BOOK,
        program: JOB_PROGRAM,
        ways: JOB_WAYS,
    }
}

fn documents() -> Case<DocumentFacts, DocumentStep, ManifoldDocumentState> {
    Case {
        start: DocumentFacts::new(document::State::Gone),
        steps: DocumentStep::all().collect(),
        after: document_after,
        shown: manifold_document_state,
        book: DOCUMENT_BOOK,
        program: DOCUMENT_PROGRAM,
        ways: DOCUMENT_WAYS,
    }
}

#[test]
fn jobs_keep_to_the_arrows_and_reach_them_all() {
    let walk = jobs().prove(ManifoldJobState::ALL.len());
    assert!(walk.facts > 1_000, "only {} sets of facts were walked", walk.facts);
}

#[test]
fn documents_keep_to_the_arrows_and_reach_them_all() {
    let walk = documents().prove(ManifoldDocumentState::ALL.len());
    assert!(walk.facts > 50, "only {} sets of facts were walked", walk.facts);
}

/// A proof that nothing can fail proves nothing: take an arrow, a way or a step away and it must show.
#[test]
fn the_proof_notices_what_is_missing() {
    let mut no_ways = jobs();
    no_ways.ways = &[];
    assert!(no_ways.walk().faults.iter().any(|fault| fault.starts_with("interrupt")));

    let mut no_program = documents();
    no_program.program = &[];
    assert!(no_program.walk().faults.iter().any(|fault| fault.starts_with("decline")));

    let mut no_sweep = documents();
    no_sweep.steps.retain(|step| *step != Step::Move(document::Event::Miss));
    let walk = no_sweep.walk();
    assert!(!walk.states.contains(&ManifoldDocumentState::BeingCleaned));
}

/// Every coverage line from S3.51 to S3.105 that draws an arrow has a row; S3.65 only announces the others.
#[test]
fn every_line_of_the_book_has_a_row() {
    let ids: HashSet<&str> =
        JOB_BOOK.iter().map(|line| line.id).chain(DOCUMENT_BOOK.iter().map(|line| line.id)).collect();
    for line in (51..=82).filter(|line| *line != 65).chain(95..=105) {
        assert!(ids.contains(format!("S3.{line}").as_str()), "S3.{line}");
    }
}
