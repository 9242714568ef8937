//! Who may see what: a user's tokens become sets of classes and places that an output filters by (design 4.20).

use std::collections::{HashMap, HashSet};

use ingather_connector::model::access::Tokens;
use ingather_connector::model::ids::{ClassId, ConnectionId, PlaceId};
use ingather_connector::model::limits;
use ingather_connector::permitted::{IdSet, Permitted};
use ingather_store::{Reader, deliveries, places};

use crate::error::{EngineError, Result};

/// Judges every class and every place once; `output` names the entries whose access may be on its way.
///
/// # Errors
/// When more access changes are on their way than can be taken into account: nothing is answered then.
pub fn permitted(reader: &Reader, output: Option<ConnectionId>, tokens: &Tokens) -> Result<Permitted> {
    reader
        .read(|sql| {
            let admits: HashSet<ClassId> = places::levels(sql)?
                .into_iter()
                .filter(|(_, level)| level.admits(tokens))
                .map(|(id, _)| id)
                .collect();
            let mut judged: HashMap<PlaceId, (bool, Option<PlaceId>)> = HashMap::new();
            for place in places::all(sql)? {
                let own = place.classes.iter().all(|class| admits.contains(class));
                judged.insert(place.id, (own, place.parent));
            }
            let open = judged.keys().filter(|id| open(&judged, **id)).map(|id| id.0).collect::<IdSet>();
            let rows = match output {
                Some(output) => deliveries::pending_access(sql, output, limits::PENDING_ACCESS_MAX + 1)?,
                None => Vec::new(),
            };
            Ok((admits.into_iter().map(|id| id.0).collect::<IdSet>(), open, rows))
        })
        .map_err(EngineError::from)
        .and_then(|(classes, places, rows)| {
            if rows.len() > limits::PENDING_ACCESS_MAX {
                return Err(EngineError::Refused(
                    "more access changes are on their way than a search can take into account; let `ingather sync` finish"
                        .to_owned(),
                ));
            }
            let mut pending: HashMap<i64, Vec<(Option<ClassId>, Option<PlaceId>)>> = HashMap::new();
            for (address, class, place) in rows {
                pending.entry(address).or_default().push((class, place));
            }
            Ok(Permitted::Only { classes, places, pending })
        })
}

/// Whether a place and every place above it admit; a chain that is broken or longer than any path does not.
fn open(judged: &HashMap<PlaceId, (bool, Option<PlaceId>)>, place: PlaceId) -> bool {
    const CHAIN_MAX: usize = 100_000;
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
