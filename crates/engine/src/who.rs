//! Who may see what: a user's tokens become sets of classes and places that an output filters by (design 4.20).

use std::collections::{HashMap, HashSet};

use ingather_connector::model::access::Tokens;
use ingather_connector::model::ids::{ClassId, ConnectionId, PlaceId};
use ingather_connector::model::limits;
use ingather_connector::permitted::{IdSet, Narrow, Permitted, Reference};
use ingather_store::{Reader, Sql, StoreError, deliveries, jobs, places};

use crate::error::{EngineError, Result};

/// Longer than any path can be.
pub(crate) const CHAIN_MAX: usize = 100_000;

/// Judges every class and every place once; `output` names the entries whose access may be on its way.
///
/// # Errors
/// When more access changes are on their way than can be taken into account: nothing is answered then.
pub fn permitted(reader: &Reader, output: Option<ConnectionId>, tokens: &Tokens) -> Result<Permitted> {
    reader.read(|sql| permitted_in(sql, output, tokens))?.ok_or_else(too_many)
}

/// The same inside a read that asks for more: what an output was told by then. None where [`too_many`] changes are on their way.
///
/// # Errors
/// What the store says.
pub fn permitted_in(
    sql: &mut Sql<'_>,
    output: Option<ConnectionId>,
    tokens: &Tokens,
) -> std::result::Result<Option<Permitted>, StoreError> {
    let admits: HashSet<ClassId> = places::levels(sql)?
        .into_iter()
        .filter(|(_, level)| level.admits(tokens))
        .map(|(id, _)| id)
        .collect();
    let mut judged = Judged::new();
    for place in places::all(sql)? {
        judged.insert(place.id, (admits.contains(&place.level), place.parent));
    }
    let places = judged.keys().filter(|id| open(&judged, **id)).map(|id| id.0).collect::<IdSet>();
    let narrow = narrow(sql, &admits, &judged)?;
    let rows = match output {
        Some(output) => deliveries::pending_access(sql, output, limits::PENDING_ACCESS_MAX + 1)?,
        None => Vec::new(),
    };
    if rows.len() > limits::PENDING_ACCESS_MAX {
        return Ok(None);
    }
    let mut pending: HashMap<i64, Vec<Reference>> = HashMap::new();
    for (address, job, class, place) in rows {
        pending.entry(address).or_default().push(Reference { job: Some(job), class, place });
    }
    let classes = admits.into_iter().map(|id| id.0).collect::<IdSet>();
    Ok(Some(Permitted::Only { classes, places, narrow, pending }))
}

/// More access changes are on their way than can be taken into account.
pub fn too_many() -> EngineError {
    EngineError::Refused(
        "more access changes are on their way than a search can take into account; let `ingather sync` finish"
            .to_owned(),
    )
}

/// Places: whether each admits by itself, and the place above it.
type Judged = HashMap<PlaceId, (bool, Option<PlaceId>)>;

/// What opened and was not looked at since by some jobs.
fn narrow(
    sql: &mut Sql<'_>,
    admits: &HashSet<ClassId>,
    judged: &Judged,
) -> std::result::Result<Narrow, StoreError> {
    let mut shut: HashMap<i64, HashSet<PlaceId>> = HashMap::new();
    for narrow in places::all_narrow(sql)?.into_iter().filter(|narrow| !admits.contains(&narrow.class)) {
        shut.entry(narrow.job).or_default().insert(narrow.place);
    }
    if shut.is_empty() {
        return Ok(Narrow::default());
    }
    let jobs = jobs::list(sql)?.into_iter().map(|job| job.id.0).collect();
    let closed = shut.into_iter().map(|(job, shut)| {
        let above: Judged = judged.iter().map(|(id, (_, p))| (*id, (!shut.contains(id), *p))).collect();
        (job, above.keys().filter(|id| !open(&above, **id)).map(|id| id.0).collect::<IdSet>())
    });
    Ok(Narrow { jobs, closed: closed.collect() })
}

/// Whether a place and every place above it admit; a chain that is broken or longer than any path does not.
fn open(judged: &Judged, place: PlaceId) -> bool {
    let mut at = Some(place);
    for _ in 0..CHAIN_MAX {
        let Some(id) = at else { return true };
        match judged.get(&id) {
            Some((true, parent)) => at = *parent,
            _ => return false,
        }
    }
    false
}
