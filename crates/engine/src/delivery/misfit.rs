//! Whether an output is the one that the inventory speaks of (design 4.7, decision 0011).

use ingather_contract::output::Generation;
use ingather_model::limits;
use ingather_store::connections::Connection;
use ingather_store::failpoints::{Failpoint, failpoint};

/// What the inventory notes as the identity of an output of another day under repair: no output has it.
pub(crate) const UNDER_REPAIR: &str = "";

/// Why an output is not the one that the inventory speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// It was made anew, or another one was put in its place.
    Replaced,
    /// It has lost commits that were confirmed.
    Older,
    /// It holds changes that this store never noted: the store is of an earlier day.
    Newer,
    /// Both were put back, and went different ways since.
    Parted,
}

impl Misfit {
    /// What it means, as a clause about the output.
    pub fn sentence(self, known: &Connection, stands: &Generation) -> String {
        match self {
            Misfit::Replaced if known.identity.as_deref() == Some(UNDER_REPAIR) => {
                "a repair of it has not ended; `ingather verify --repair` goes on with it".to_owned()
            }
            Misfit::Replaced => {
                "it is not the output that the inventory speaks of: it was made anew or put in its place".to_owned()
            }
            Misfit::Older => format!(
                "it is of an earlier day: it stands at commit {}, and the inventory at {}",
                stands.number, known.generation
            ),
            Misfit::Newer if stands.seq > limits::SEQ_MAX => format!(
                "somebody else wrote into it a change with the number {}, which no store gives out; the next `ingather sync` \
                 empties it and sends everything again",
                stands.seq
            ),
            Misfit::Newer => format!(
                "the store is of an earlier day: it noted changes up to number {}, and the output holds some up to {}",
                known.ceiling, stands.seq
            ),
            Misfit::Parted => "it and the store were put back, and went different ways since: its last commit is not of the \
                               writer that the store noted"
                .to_owned(),
        }
    }
}

/// Compares where an output stands with what the store knows of it (design 4.7).
///
/// It fits when it stands at the commit that was confirmed last, or when the opening that was noted before its first change
/// was sent has written to it since; and when it knows no change above those that were noted.
pub fn misfit(known: &Connection, stands: &Generation) -> Option<Misfit> {
    let other = known.identity.as_ref().is_some_and(|identity| *identity != stands.identity);
    let by_numbers = failpoint(Failpoint::SessionsIgnored) || failpoint(Failpoint::OneCeilingForAll);
    let is_of = |session: i64| stands.session == session || by_numbers;
    let goes_on = is_of(known.next_session) && stands.number >= known.generation;
    let is_confirmed = is_of(known.session) && stands.number == known.generation;
    // Nothing was ever confirmed, and nothing is there.
    let is_new = known.identity.is_none() && stands.seq == 0;
    if other {
        Some(Misfit::Replaced)
    } else if stands.seq > known.ceiling {
        Some(Misfit::Newer)
    } else if is_confirmed || goes_on || is_new {
        None
    } else if stands.number < known.generation {
        Some(Misfit::Older)
    } else {
        Some(Misfit::Parted)
    }
}

#[cfg(test)]
mod tests {
    use ingather_model::access::identity::Group;
    use ingather_model::ids::ConnectionId;

    use super::*;

    #[test]
    fn an_output_fits_where_it_was_left_and_where_its_last_writer_left_it() {
        let known = Connection {
            id: ConnectionId(1),
            kind: "k".to_owned(),
            name: "n".to_owned(),
            settings: serde_json::Value::Null,
            group: Group::default(),
            identity: Some("i".to_owned()),
            generation: 5,
            session: 1,
            next_session: 2,
            ceiling: 100,
            health: Default::default(),
        };
        let stands = |number, session, seq| Generation { identity: "i".to_owned(), number, session, seq };
        let judged = |stands: &Generation| misfit(&known, stands);
        assert_eq!(judged(&stands(5, 1, 90)), None, "as it was confirmed");
        assert_eq!(judged(&stands(5, 2, 95)), None, "the next opening wrote, and did not commit");
        assert_eq!(judged(&stands(6, 2, 100)), None, "it committed, and its confirmation was lost");
        assert_eq!(judged(&stands(6, 2, 101)), Some(Misfit::Newer), "a copy of the store, made meanwhile");
        assert_eq!(judged(&stands(5, 1, 101)), Some(Misfit::Newer));
        assert_eq!(judged(&stands(4, 1, 80)), Some(Misfit::Older));
        assert_eq!(judged(&stands(4, 2, 80)), Some(Misfit::Older));
        assert_eq!(judged(&stands(5, 3, 90)), Some(Misfit::Parted), "another commit of that number");
        assert_eq!(judged(&stands(6, 1, 90)), Some(Misfit::Parted));
        let other = Generation { identity: "j".to_owned(), ..stands(5, 1, 90) };
        assert_eq!(judged(&other), Some(Misfit::Replaced));
        let never = Connection { identity: None, generation: 0, session: 0, ceiling: 0, ..known };
        assert_eq!(misfit(&never, &stands(0, 0, 0)), None, "nothing was ever sent");
        assert_eq!(misfit(&never, &stands(3, 7, 9)), Some(Misfit::Newer), "the store is from before it");
    }
}
