//! Who somebody is: all authorities are asked at once about the names of a person, each within its own time, and their answers are one
//! identity (coverage S3.253–S3.267, decision 0042).
//!
//! Everything fails closed. Of a group one of whose authorities cannot be asked, or shuts the person out, the tokens are not whole: they
//! pass no deny that they do not disprove. Tokens never leave their group.

mod kept;
mod lane;
mod mapping;
mod presented;
mod pushed;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ingather_contract::authority::{Answer, Authority, AuthorityKind, Presented, Pushed};
use ingather_contract::call::CallContext;
use ingather_contract::registry::Registry;
use ingather_model::access::Tokens;
use ingather_model::access::authority::Asking;
use ingather_model::access::identity::{Group, Identity};
use ingather_model::fault::{Fault, Reason};
use ingather_model::ids::ConnectionId;
use ingather_model::limits;
use ingather_store::turns::lock;
use ingather_store::{Reader, authorities};
use serde_json::json;

use self::lane::{Begun, Lane, Outcome, Waits};
use self::mapping::Mapping;
pub use self::presented::{ByToken, Verified};
use crate::error::Result;

/// The authority that is there without being declared: the users of this machine, in the group without a name.
pub const MACHINE: &str = "unix";

/// One name of a person.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct User {
    /// The name.
    pub name: String,
    /// The authorisation domain that it is a name in; empty: the one without a name.
    pub domain: String,
}

/// Which authorities are asked about a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All of its domain.
    All,
    /// Those that know users of this machine, whom its kernel names by number.
    Machine,
    /// All of its domain, but not those that know users of this machine where the name, as they spell it, is a number: one that somebody chose
    /// elsewhere as their name is no user of this machine.
    ByNameAlone,
}

/// What one authority said about one name.
#[derive(Clone, Debug)]
pub struct Said {
    /// The authority.
    pub authority: String,
    /// Kind of its connector.
    pub kind: String,
    /// The group that its tokens count in.
    pub group: Group,
    /// The name that was asked for.
    pub user: User,
    /// How the authority spells it; none where its mapping makes it a name of nobody, and it was not asked.
    pub asked_as: Option<String>,
    /// What it answered, or why it did not.
    pub answer: std::result::Result<Arc<Answer>, Reason>,
    /// When it was asked, milliseconds since 1970.
    pub at: i64,
    /// It was asked before, and its answer was kept.
    pub was_kept: bool,
}

/// An authority, and whether it can be asked.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Its name.
    pub name: String,
    /// Kind of its connector.
    pub kind: String,
    /// The group that its tokens count in.
    pub group: Group,
    /// The domain whose names it understands.
    pub domain: String,
    /// What was found, or why it cannot be asked.
    pub found: std::result::Result<String, Reason>,
}

/// The authorities of a program, with what they answered.
#[derive(Default)]
pub struct Authorities {
    opened: Mutex<Opened>,
}

#[derive(Default)]
struct Opened {
    /// Of which inventory.
    store: Option<String>,
    revisions: Vec<(ConnectionId, i64)>,
    lanes: Option<Arc<[Arc<Lane>]>>,
}

impl Authorities {
    /// Asks about all names of one person; `reader` is none where there is no inventory yet.
    ///
    /// # Errors
    /// What the store says. An authority that fails is none: its answer says so.
    pub fn ask(
        &self,
        (reader, registry): (Option<&Reader>, &Registry),
        call: &CallContext,
        (users, which): (&[User], Which),
    ) -> Result<Vec<Said>> {
        self.ask_all((reader, registry), call, (users, which), None)
    }

    /// The same about somebody with what they presented, which those authorities are given that have verified it, and no other.
    fn ask_all(
        &self,
        (reader, registry): (Option<&Reader>, &Registry),
        call: &CallContext,
        (users, which): (&[User], Which),
        by: Option<&ByToken>,
    ) -> Result<Vec<Said>> {
        let lanes = self.lanes(reader, registry)?;
        let is_asked = |lane: &Lane, user: &User| match which {
            Which::All => true,
            Which::Machine => lane.kind == MACHINE,
            Which::ByNameAlone => lane.kind != MACHINE || !is_a_number(lane, user),
        };
        let mut begun: Vec<(Said, Option<(Arc<Lane>, Waits)>)> = Vec::new();
        for user in users {
            let of_domain = lanes.iter().filter(|lane| lane.asking.domain == user.domain);
            for lane in of_domain.filter(|lane| is_asked(lane, user)) {
                begun.push(begin(lane, user, by, call));
            }
        }
        let end = |(said, waits): (Said, Option<(Arc<Lane>, Waits)>)| match waits {
            None => said,
            Some((lane, waits)) => {
                let Outcome { answer, at, was_kept } = lane.wait(waits, call);
                Said { answer, at, was_kept, ..said }
            }
        };
        Ok(begun.into_iter().map(end).collect())
    }

    /// Forgets what authorities answered: about everybody, or about all names of a person. Of how many answers.
    ///
    /// # Errors
    /// What the store says.
    pub fn forget(&self, of: (Option<&Reader>, &Registry), user: Option<&User>) -> Result<usize> {
        let lanes = self.lanes(of.0, of.1)?;
        Ok(lanes
            .iter()
            .map(|lane| match user {
                None => lane.forget(None),
                Some(user) if user.domain != lane.asking.domain => 0,
                Some(user) => {
                    // By a token a name is asked about as it is, and else as it is spelled.
                    let spelled = lane.spelled(&user.name).ok().flatten().filter(|name| *name != user.name);
                    let of = |name: &String| lane.forget(Some(name));
                    of(&user.name) + spelled.as_ref().map_or(0, of)
                }
            })
            .sum())
    }

    /// Whether each authority can be asked, in a sentence, or why not.
    ///
    /// # Errors
    /// What the store says.
    pub fn check(&self, of: (Option<&Reader>, &Registry), call: &CallContext) -> Result<Vec<Checked>> {
        let lanes = self.lanes(of.0, of.1)?;
        let checked = |lane: &Arc<Lane>| Checked {
            name: lane.name.clone(),
            kind: lane.kind.clone(),
            group: lane.group.clone(),
            domain: lane.asking.domain.clone(),
            found: lane.check(call),
        };
        Ok(lanes.iter().map(checked).collect())
    }

    /// All authorities, as they are declared now; what did not change goes on with what it has.
    fn lanes(&self, reader: Option<&Reader>, registry: &Registry) -> Result<Arc<[Arc<Lane>]>> {
        let store = reader.map(|reader| reader.id().to_owned());
        let revisions =
            reader.map(|reader| reader.read(authorities::revisions)).transpose()?.unwrap_or_default();
        let mut opened = lock(&self.opened);
        if let Some(lanes) =
            opened.lanes.as_ref().filter(|_| opened.store == store && opened.revisions == revisions)
        {
            return Ok(lanes.clone());
        }
        let declared = reader.map(|reader| reader.read(authorities::list)).transpose()?.unwrap_or_default();
        let known: HashMap<(ConnectionId, i64), Arc<Lane>> = match opened.lanes.take() {
            Some(lanes) if opened.store == store => {
                // The one of this machine has no revision, and keeps nothing.
                let declared = lanes.iter().skip(lanes.len() - opened.revisions.len()).cloned();
                opened.revisions.iter().copied().zip(declared).collect()
            }
            _ => HashMap::new(),
        };
        let revisions = declared.iter().map(|one| (one.id, one.revision)).collect();
        let lanes: Arc<[Arc<Lane>]> = open_all(declared, (reader, registry), &known).into();
        *opened = Opened { store, revisions, lanes: Some(lanes.clone()) };
        Ok(lanes)
    }
}

/// Whether a mapping can work, and every number is within its bounds.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn check_asking(asking: &Asking) -> std::result::Result<(), String> {
    let within = |name: &str, value: u32, least: u32, most: u32| match (least..=most).contains(&value) {
        true => Ok(()),
        false => Err(format!("`{name}` is {value}; it is a number from {least} to {most}")),
    };
    within("within_ms", asking.within_ms, 1, limits::AUTHORITY_WITHIN_MS_MAX)?;
    within("at_once", asking.at_once, 1, limits::AUTHORITY_AT_ONCE_MAX)?;
    within("kept_ms", asking.kept_ms.unwrap_or_default(), 0, limits::AUTHORITY_KEPT_MS_MAX)?;
    if asking.domain.len() > limits::USER_NAME_BYTES_MAX {
        return Err(format!("`domain` is longer than {} bytes", limits::USER_NAME_BYTES_MAX));
    }
    Mapping::of(&asking.mapping).map(drop)
}

fn open_all(
    declared: Vec<authorities::Authority>,
    (reader, registry): (Option<&Reader>, &Registry),
    known: &HashMap<(ConnectionId, i64), Arc<Lane>>,
) -> Vec<Arc<Lane>> {
    let mut lanes = Vec::with_capacity(declared.len() + 1);
    let machine = registry.authority(MACHINE).filter(|_| declared.iter().all(|one| one.name != MACHINE));
    if let Some(kind) = machine {
        let of = (MACHINE.to_owned(), MACHINE.to_owned(), Group::default());
        lanes.push(Arc::new(Lane::new(of, Asking::default(), (kind.open)(&json!({}), None), kind.kept)));
    }
    for authorities::Authority { id, name, declared, revision } in declared {
        if let Some(lane) = known.get(&(id, revision)) {
            lanes.push(lane.clone());
            continue;
        }
        let kind = registry.authority(&declared.kind);
        let kept = kind.map_or(Duration::ZERO, |kind| kind.kept);
        let pushed = reader.map(|reader| pushed::of(reader.clone(), id));
        let opened = open(kind, &declared, pushed);
        let of = (name, declared.kind, declared.group);
        lanes.push(Arc::new(Lane::new(of, declared.asking, opened, kept)));
    }
    lanes
}

fn open(
    kind: Option<&AuthorityKind>,
    declared: &authorities::Declared,
    pushed: Option<Arc<dyn Pushed>>,
) -> std::result::Result<Arc<dyn Authority>, Fault> {
    let none =
        || Fault::refused("no_such_connector", format!("this program has no authority `{}`", declared.kind));
    (kind.ok_or_else(none)?.open)(&declared.settings, pushed)
}

/// Whether a name is a number as an authority spells it, which its mapping may have made of it.
fn is_a_number(lane: &Lane, user: &User) -> bool {
    let Ok(Some(name)) = lane.spelled(&user.name) else { return false };
    let digits = name.trim_start_matches(['+', '-']);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn begin(
    lane: &Arc<Lane>,
    user: &User,
    by: Option<&ByToken>,
    call: &CallContext,
) -> (Said, Option<(Arc<Lane>, Waits)>) {
    let said = |asked_as, answer, at, was_kept| Said {
        authority: lane.name.clone(),
        kind: lane.kind.clone(),
        group: lane.group.clone(),
        user: user.clone(),
        asked_as,
        answer,
        at,
        was_kept,
    };
    let unknown = || Ok(Arc::new(Answer::Unknown));
    let presented: Option<(&Presented, i64)> = by.and_then(|by| by.presented_to(&lane.name));
    let spelled = match presented {
        // The authority has said this name itself: there is nothing to translate.
        Some(_) => Ok(Some(user.name.clone())),
        None => lane.spelled(&user.name),
    };
    match spelled {
        Err(reason) => (said(None, Err(reason), call.now(), false), None),
        // Whom a mapping does not know, nobody knows.
        Ok(None) => (said(None, unknown(), call.now(), false), None),
        Ok(Some(name)) => match lane.begin(&name, presented, call) {
            Begun::Now(Outcome { answer, at, was_kept }) => (said(Some(name), answer, at, was_kept), None),
            Begun::Waits(waits) => (said(Some(name), unknown(), 0, false), Some((lane.clone(), waits))),
        },
    }
}

/// Who somebody is by what all authorities said.
pub fn identity(all: &[Said]) -> Identity {
    let mut groups: BTreeMap<&Group, Vec<&Said>> = BTreeMap::new();
    for said in all {
        groups.entry(&said.group).or_default().push(said);
    }
    let known = groups.into_iter().filter_map(|(group, said)| Some((group.clone(), tokens(&said)?)));
    known.fold(Identity::anonymous(), |identity, (group, tokens)| identity.with(group, tokens))
}

/// What somebody holds in a group; none where all of its authorities say that there is nobody of that name.
fn tokens(said: &[&Said]) -> Option<Tokens> {
    let mut known: Vec<&Tokens> = Vec::new();
    let mut may_hold_more = false;
    for said in said {
        match said.answer.as_deref() {
            Ok(Answer::Known(tokens)) => known.push(tokens),
            Ok(Answer::Unknown) => {}
            // Whom an authority shuts out it gives nothing, and it tells no token of theirs that denies: as if it could not be asked. More, such
            // as to shut them out of the group, would show less with its answer than without one.
            Ok(Answer::Unauthorized) | Err(_) => may_hold_more = true,
        }
    }
    if known.is_empty() && !may_hold_more {
        return None;
    }
    let whole = !may_hold_more && known.iter().all(|tokens| tokens.are_whole());
    let all: Tokens = match known.as_slice() {
        [one] => (*one).clone(),
        several => several.iter().flat_map(|tokens| tokens.iter()).collect(),
    };
    Some(if whole { all } else { all.not_whole() })
}
