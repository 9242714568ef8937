//! Somebody by what they present: the authorities whose token it is say who that is, and are asked with it what the person holds; all
//! others of the domain are asked about the name alone, and see nothing of the token (decision 0046).

use std::sync::Arc;
use std::time::Duration;

use ingather_contract::authority::{Presented, Whose};
use ingather_contract::call::CallContext;
use ingather_contract::registry::Registry;
use ingather_model::fault::Reason;
use ingather_store::Reader;

use super::lane::Lane;
use super::{Authorities, Said, User, Which};
use crate::error::Result;

/// Somebody by the token that they presented, as authorities have verified it.
#[derive(Clone, Debug)]
pub struct ByToken {
    /// Their name, in the domain of these authorities.
    pub user: User,
    /// The first authority that knows whose token it is.
    pub authority: String,
    presented: Presented,
    /// By authority: the time up to which the token counts for it, milliseconds since 1970.
    counts: Vec<(String, i64)>,
}

/// What authorities say about a token.
#[derive(Clone, Debug)]
pub enum Verified {
    /// It is that of this person.
    Person(ByToken),
    /// It does not count; why not, in a sentence.
    Refused(String),
    /// No authority knows tokens of this kind.
    Nobodys,
    /// An authority whose token it is cannot tell now: its name, and why not.
    Unreachable(String, Reason),
}

impl ByToken {
    /// What was presented to an authority, and the time up to which that counts for it.
    pub(super) fn presented_to(&self, authority: &str) -> Option<(&Presented, i64)> {
        let until = self.counts.iter().find(|(name, _)| name == authority)?.1;
        Some((&self.presented, until))
    }
}

impl Authorities {
    /// Whose a token is. All authorities are shown it that may know it, and each verifies it by itself; those that have to wait for their
    /// providers have one time together, that of the most patient one.
    ///
    /// # Errors
    /// What the store says.
    pub fn whose(
        &self,
        (reader, registry): (Option<&Reader>, &Registry),
        call: &CallContext,
        presented: &Presented,
    ) -> Result<Verified> {
        let lanes = self.lanes(reader, registry)?;
        let until = call.steady()
            + lanes.iter().map(|lane| lane.within().as_millis() as i64).max().unwrap_or_default();
        let mut said = Vec::with_capacity(lanes.len());
        // Where one had to wait in vain, or was refused to, others tell what they know: they are of the same provider, for a token is of one.
        let mut may_wait = true;
        for lane in lanes.iter() {
            let left = u64::try_from(until - call.steady()).unwrap_or_default();
            let left = Duration::from_millis(if may_wait { left } else { 0 });
            let whose = lane.whose(presented, call, left);
            may_wait &= whose.is_ok();
            said.push((lane, whose));
        }
        Ok(verified(presented, &said))
    }

    /// Asks all authorities of the domain about somebody who has presented a token.
    ///
    /// # Errors
    /// What the store says.
    pub fn ask_by_token(
        &self,
        of: (Option<&Reader>, &Registry),
        call: &CallContext,
        by: &ByToken,
    ) -> Result<Vec<Said>> {
        self.ask_all(of, call, (std::slice::from_ref(&by.user), Which::ByNameAlone), Some(by))
    }
}

/// One person by all that was said. Several authorities may know the tokens of one provider, such as for several groups: of these count
/// those that say the same name in the same domain as the first, which no other one is mixed up with.
fn verified(presented: &Presented, said: &[(&Arc<Lane>, std::result::Result<Whose, Reason>)]) -> Verified {
    let persons = said.iter().filter_map(|(lane, whose)| match whose {
        Ok(Whose::Person { name, until }) => {
            Some((User { name: name.clone(), domain: lane.asking.domain.clone() }, &lane.name, *until))
        }
        _ => None,
    });
    let mut by: Option<ByToken> = None;
    for (user, authority, until) in persons {
        let by = by.get_or_insert_with(|| ByToken {
            user: user.clone(),
            authority: authority.clone(),
            presented: presented.clone(),
            counts: Vec::new(),
        });
        if by.user == user {
            by.counts.push((authority.clone(), until));
        }
    }
    if let Some(by) = by {
        return Verified::Person(by);
    }
    // That nobody can tell now is no reason to log in anew.
    let unreachable = said.iter().find_map(|(lane, whose)| Some((&lane.name, whose.as_ref().err()?)));
    if let Some((authority, reason)) = unreachable {
        return Verified::Unreachable(authority.clone(), reason.clone());
    }
    let refused = said.iter().find_map(|(_, whose)| match whose {
        Ok(Whose::Refused(why)) => Some(why.clone()),
        _ => None,
    });
    refused.map_or(Verified::Nobodys, Verified::Refused)
}
