//! How far documents are from the seeds: of each relation that a job counts, the fewest hops on any way from a seed, other relations counting
//! nothing. Distances are those of the links as this run finds them. They only ever become smaller while it goes on; when that of a document
//! does whose links were found already, those it leads to are measured again.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use ingather_model::key::DocumentKey;
use ingather_model::lifecycle::outcome::FailureCode;
use ingather_model::limits::{self, RELATIONS_MAX};
use ingather_store::documents::{self, links};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::{Sql, StoreError, deliveries, queue};
use roaring::RoaringTreemap;

use super::Reached;
use super::targets::Targets;

/// Hops from the nearest seed, of each relation by itself.
type Distance = [u16; RELATIONS_MAX];

/// No way to it is known.
const UNKNOWN: Distance = [u16::MAX; RELATIONS_MAX];

/// What a run knows of distances.
pub(crate) struct Distances {
    /// Relations that are counted, each with the most hops of it.
    most: Vec<(usize, u32)>,
    /// What outputs hold stays, however far it is.
    keeps: bool,
    known: HashMap<i64, Distance>,
    /// Documents whose links were found in this run.
    pub(super) expanded: RoaringTreemap,
    /// Documents that something leads to, and that are too far.
    pub(super) beyond: RoaringTreemap,
}

/// What one transaction finds of them.
#[derive(Default)]
pub(super) struct Measured {
    changes: HashMap<i64, Distance>,
    expanded: Vec<i64>,
    pub(super) beyond: RoaringTreemap,
}

/// Documents whose distance has become smaller.
#[derive(Default)]
struct Nearer {
    all: BTreeSet<i64>,
    /// Those of them whose links are known.
    expanded: BTreeSet<i64>,
}

impl Distances {
    pub(crate) fn new(most: Vec<(usize, u32)>, keeps: bool) -> Distances {
        let (expanded, beyond) = (RoaringTreemap::new(), RoaringTreemap::new());
        Distances { most, keeps, known: HashMap::new(), expanded, beyond }
    }

    fn is_near(&self, distance: &Distance) -> bool {
        self.most.iter().all(|(relation, most)| u32::from(distance[*relation]) <= *most)
    }

    /// One hop further.
    fn behind(&self, mut distance: Distance, relation: usize) -> Distance {
        if self.most.iter().any(|(counted, _)| *counted == relation) {
            distance[relation] = distance[relation].saturating_add(1);
        }
        distance
    }

    fn of(&self, measured: &Measured, id: i64) -> Distance {
        *measured.changes.get(&id).or_else(|| self.known.get(&id)).unwrap_or(&UNKNOWN)
    }

    /// There is this way to a document as well.
    fn lead(&self, measured: &mut Measured, nearer: &mut Nearer, id: i64, way: &Distance) {
        let before = self.of(measured, id);
        let now: Distance = std::array::from_fn(|relation| before[relation].min(way[relation]));
        if now == before {
            return;
        }
        measured.changes.insert(id, now);
        nearer.all.insert(id);
        let is_expanded = self.expanded.contains(id as u64) || measured.expanded.contains(&id);
        if is_expanded && !failpoint(Failpoint::ShorterWayStops) {
            nearer.expanded.insert(id);
        }
    }

    /// What a transaction found counts.
    pub(super) fn take(&mut self, measured: Measured) {
        self.known.extend(measured.changes);
        self.expanded.extend(measured.expanded.into_iter().map(|id| id as u64));
        self.beyond |= measured.beyond;
    }
}

/// Measures what seeds name (`led` is empty), or what documents lead to; of what was named, that which is near enough is reached.
pub(super) fn measure(
    sql: &mut Sql<'_>,
    state: &Reached,
    led: Vec<(i64, Targets)>,
    (ids, reached): (&HashMap<DocumentKey, i64>, &mut BTreeMap<i64, String>),
) -> Result<Measured, StoreError> {
    let Some(distances) = &state.distances else { return Ok(Measured::default()) };
    let mut measured = Measured { expanded: led.iter().map(|(id, _)| *id).collect(), ..Measured::default() };
    let mut nearer = Nearer::default();
    if led.is_empty() {
        for id in ids.values() {
            distances.lead(&mut measured, &mut nearer, *id, &[0; RELATIONS_MAX]);
        }
    }
    let mut ways: VecDeque<(i64, Targets)> = led.into();
    loop {
        while let Some((id, targets)) = ways.pop_front() {
            let from = distances.of(&measured, id);
            for (relation, to) in targets.iter() {
                let way = distances.behind(from, relation);
                distances.lead(&mut measured, &mut nearer, to, &way);
            }
        }
        let again: Vec<i64> = std::mem::take(&mut nearer.expanded).into_iter().collect();
        if again.is_empty() {
            break;
        }
        for ids in again.chunks(limits::JUDGED_MAX) {
            for (id, bytes) in links::get(sql, ids)? {
                ways.push_back((id, Targets::from_bytes(&bytes)?));
            }
        }
    }
    let named: BTreeSet<i64> = reached.keys().copied().collect();
    let candidates = named.union(&nearer.all).filter(|id| !state.ids.contains(**id as u64));
    let (near, far): (Vec<i64>, Vec<i64>) =
        candidates.partition(|id| distances.is_near(&distances.of(&measured, **id)));
    let kept = kept(sql, distances, &far)?;
    measured.beyond = far.iter().filter(|id| !kept.contains(id)).map(|id| *id as u64).collect();
    let near: Vec<i64> = near.into_iter().chain(kept).collect();
    let unnamed: Vec<i64> = near.iter().copied().filter(|id| !reached.contains_key(id)).collect();
    for ids in unnamed.chunks(limits::JUDGED_MAX) {
        reached.extend(documents::names(sql, ids)?);
    }
    reached.retain(|id, _| !measured.beyond.contains(*id as u64));
    Ok(measured)
}

/// Those of the documents that were set aside for being too far.
pub(super) fn set_aside(sql: &mut Sql<'_>, ids: &[i64]) -> Result<Vec<i64>, StoreError> {
    let mut far = Vec::new();
    for ids in ids.chunks(limits::JUDGED_MAX) {
        let noted = queue::failures(sql, ids)?;
        // What else is known of one, such as since when it is missing, has nothing to do with the way to it.
        let is_far = |id: &i64| {
            let code = noted.get(id).map(|noted| noted.code);
            code == Some(Some(FailureCode::TooFar)) || failpoint(Failpoint::NearerForgets)
        };
        far.extend(ids.iter().copied().filter(is_far));
    }
    Ok(far)
}

/// Those of the documents that are too far which stay all the same.
fn kept(sql: &mut Sql<'_>, distances: &Distances, far: &[i64]) -> Result<HashSet<i64>, StoreError> {
    let mut kept = HashSet::new();
    if distances.keeps {
        for ids in far.chunks(limits::JUDGED_MAX) {
            kept.extend(deliveries::states(sql, ids)?.into_iter().map(|delivery| delivery.document));
        }
    }
    Ok(kept)
}
