//! Whom somebody pushes into an authority, as the store has them: read anew for each question, so that a change counts at once.

use std::sync::Arc;

use ingather_contract::authority::{Pushed, PushedNames, PushedPerson};
use ingather_model::fault::Fault;
use ingather_model::ids::ConnectionId;
use ingather_store::people::{self, Held, Kind};
use ingather_store::{Reader, StoreError};

struct InStore {
    reader: Reader,
    authority: ConnectionId,
}

/// People of this authority.
pub(super) fn of(reader: Reader, authority: ConnectionId) -> Arc<dyn Pushed> {
    Arc::new(InStore { reader, authority })
}

impl Pushed for InStore {
    fn person(&self, name: &str, most: usize) -> Result<Option<PushedPerson>, Fault> {
        let found = self.reader.read(|sql| {
            let Some(found) = people::by_name(sql, self.authority, (Kind::Person, name), 1)?.pop() else {
                return Ok(None);
            };
            let (groups, whole) = match found.active {
                true => people::groups_of(sql, self.authority, &found.id, most)?,
                false => (Vec::new(), true),
            };
            let group = |Held { id, name, external_id }| PushedNames { id, name, external_id };
            Ok(Some(PushedPerson {
                called: PushedNames { id: found.id, name: found.name, external_id: found.external_id },
                active: found.active,
                groups: groups.into_iter().map(group).collect(),
                whole,
            }))
        });
        found.map_err(unread)
    }

    fn count(&self) -> Result<(u64, u64), Fault> {
        let count = |kind| self.reader.read(|sql| people::count(sql, self.authority, kind, None));
        let counted = |kind| count(kind).map(i64::cast_unsigned).map_err(unread);
        Ok((counted(Kind::Person)?, counted(Kind::Group)?))
    }
}

fn unread(error: StoreError) -> Fault {
    Fault::passing("store", error.to_string())
}
