//! The one decision about a delivery: skip, deliver, deliver access only, remove, or record without delivery.

use crate::fault::Reason;
use crate::ids::Digest;

/// What one output holds of a document, and what was last intended for it: one row of the delivery log.
///
/// It begins with the first intent, on disk before anything is sent, and nothing confirmed. A confirmation copies what was
/// intended to what is confirmed. An intent after an unanswered one leaves a confirmed digest that equals none, for the output
/// may hold either. An output that lost its state takes the confirmed digests back to none. The row goes with the
/// confirmation of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryState {
    /// Digest of the last intent; [`Digest::NONE`] = a removal.
    pub intended: Digest,
    /// Access digest of the last intent.
    pub intended_acl: Digest,
    /// Digest that the output confirmed; none until the first confirmation. An intent that follows one which was never
    /// confirmed writes a digest that is equal to none: the output may hold either.
    pub confirmed: Option<Digest>,
    /// Access digest that the output confirmed.
    pub confirmed_acl: Option<Digest>,
}

impl DeliveryState {
    /// Whether the output is known to hold just the record that it was sent last, whatever its access.
    pub fn is_confirmed(&self) -> bool {
        self.intended.is_some() && self.confirmed == Some(self.intended)
    }

    /// The record that is known to be there, else the one that may be; none when neither is.
    pub fn known(&self) -> Option<Digest> {
        self.confirmed
            .filter(|confirmed| confirmed.is_some())
            .or(Some(self.intended).filter(|intended| intended.is_some()))
    }
}

/// Access digest of an entry that nobody finds.
pub const NOBODY: Digest = Digest(1);

/// What a visit found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The document, as the pipeline made it: digest of the record, and of its access.
    Made {
        /// Digest of the record and the settings.
        record: Digest,
        /// Digest of acl and container.
        access: Digest,
    },
    /// Only its access was looked at: content is as it was or cannot be read now.
    Looked {
        /// Digest of acl and container.
        access: Digest,
    },
    /// It could not be read this time, and may still be there: what is in a document whose other parts could be read.
    Unread {
        /// Digest of acl and container, as the document has them now.
        access: Digest,
    },
    /// The pipeline or a rule of the job does not want it in this output.
    Declined(Reason),
    /// It is gone, or does not belong to the job any more.
    Absent,
}

/// What follows for one output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The output holds just that.
    Skip,
    /// Send the record with its access.
    Deliver,
    /// Send the access alone.
    DeliverAccess,
    /// Mask the entry: nobody may find it until its content is read again.
    Mask,
    /// Take the entry out.
    Remove,
    /// Remember the outcome; nothing is sent.
    Record(Reason),
}

/// Decides for one output; `state` is none when no intent was ever written for it.
pub fn decide(state: Option<&DeliveryState>, found: &Found) -> Decision {
    let holds_something = state.is_some_and(|h| h.confirmed != Some(Digest::NONE) || h.intended.is_some());
    match (found, state) {
        (Found::Made { record, access }, Some(h)) => {
            if !h.is_confirmed() || h.intended != *record {
                Decision::Deliver
            } else if h.intended_acl != *access || h.confirmed_acl != Some(h.intended_acl) {
                Decision::DeliverAccess
            } else {
                Decision::Skip
            }
        }
        (Found::Made { .. }, None) => Decision::Deliver,
        (Found::Looked { access }, Some(h))
            if holds_something && h.confirmed.is_some_and(Digest::is_some) =>
        {
            if h.intended_acl != *access || h.confirmed_acl != Some(*access) {
                Decision::DeliverAccess
            } else {
                Decision::Skip
            }
        }
        // Nothing is there whose access could change; the content visit brings it.
        (Found::Looked { .. }, _) => Decision::Skip,
        // It stays where it is known to be held, for those who might see it before: the new access was never meant for
        // content of an earlier day. Elsewhere nobody could say what its entry is, or ever confirm it: there it goes.
        (Found::Unread { access }, Some(h)) if h.is_confirmed() => {
            let is_confirmed = |access: Digest| h.intended_acl == access && h.confirmed_acl == Some(access);
            if is_confirmed(*access) || is_confirmed(NOBODY) { Decision::Skip } else { Decision::Mask }
        }
        (Found::Unread { .. }, Some(_)) if holds_something => Decision::Remove,
        (Found::Unread { .. }, _) => Decision::Skip,
        (Found::Declined(_) | Found::Absent, Some(_)) if holds_something => Decision::Remove,
        (Found::Declined(reason), _) => Decision::Record(reason.clone()),
        (Found::Absent, _) => Decision::Skip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn state(
        intended: i64,
        intended_acl: i64,
        confirmed: Option<i64>,
        confirmed_acl: Option<i64>,
    ) -> DeliveryState {
        DeliveryState {
            intended: Digest(intended),
            intended_acl: Digest(intended_acl),
            confirmed: confirmed.map(Digest),
            confirmed_acl: confirmed_acl.map(Digest),
        }
    }

    fn made(record: i64, access: i64) -> Found {
        Found::Made { record: Digest(record), access: Digest(access) }
    }

    #[test]
    fn the_table() {
        let settled = state(5, 6, Some(5), Some(6));
        assert_eq!(decide(None, &made(5, 6)), Decision::Deliver);
        assert_eq!(decide(Some(&settled), &made(5, 6)), Decision::Skip);
        assert_eq!(decide(Some(&settled), &made(7, 6)), Decision::Deliver);
        assert_eq!(decide(Some(&settled), &made(5, 8)), Decision::DeliverAccess);
        assert_eq!(decide(Some(&settled), &Found::Looked { access: Digest(6) }), Decision::Skip);
        assert_eq!(decide(Some(&settled), &Found::Looked { access: Digest(8) }), Decision::DeliverAccess);
        assert_eq!(decide(None, &Found::Looked { access: Digest(8) }), Decision::Skip);
        assert_eq!(decide(Some(&settled), &Found::Absent), Decision::Remove);
        assert_eq!(decide(None, &Found::Absent), Decision::Skip);
        let reason = Reason::new("size", "too large");
        assert_eq!(decide(Some(&settled), &Found::Declined(reason.clone())), Decision::Remove);
        assert_eq!(decide(None, &Found::Declined(reason.clone())), Decision::Record(reason));
    }

    #[test]
    fn what_could_not_be_read_stays_only_where_it_is_known_to_be_held() {
        let unread = Found::Unread { access: Digest(6) };
        let decided = |intended, intended_acl, confirmed, confirmed_acl| {
            decide(Some(&state(intended, intended_acl, confirmed, confirmed_acl)), &unread)
        };
        assert_eq!(decided(5, 6, Some(5), Some(6)), Decision::Skip);
        assert_eq!(decided(5, 7, Some(5), Some(7)), Decision::Mask, "the new access is not for the old text");
        assert_eq!(decided(5, 6, Some(5), Some(7)), Decision::Mask, "what was told is not confirmed");
        assert_eq!(decided(5, NOBODY.0, Some(5), Some(NOBODY.0)), Decision::Skip);
        assert_eq!(decided(5, NOBODY.0, Some(5), Some(6)), Decision::Mask);
        assert_eq!(decided(5, 6, None, None), Decision::Remove, "it may have been sent");
        assert_eq!(decided(5, 6, Some(4), Some(6)), Decision::Remove, "it holds one or the other");
        assert_eq!(decided(0, 0, Some(5), Some(6)), Decision::Remove, "its removal was decided before");
        assert_eq!(decided(0, 0, Some(0), None), Decision::Skip);
        assert_eq!(decide(None, &unread), Decision::Skip);
    }

    #[test]
    fn an_intent_without_a_confirmation_is_sent_again() {
        assert_eq!(decide(Some(&state(5, 6, None, None)), &made(5, 6)), Decision::Deliver);
        assert_eq!(decide(Some(&state(5, 6, Some(4), Some(6))), &made(5, 6)), Decision::Deliver);
        assert_eq!(decide(Some(&state(5, 6, Some(5), Some(3))), &made(5, 6)), Decision::DeliverAccess);
    }

    #[test]
    fn a_half_done_removal_is_finished_or_undone() {
        let half = state(0, 0, Some(5), Some(6));
        assert_eq!(decide(Some(&half), &made(5, 6)), Decision::Deliver);
        assert_eq!(decide(Some(&half), &Found::Absent), Decision::Remove);
        let first_intent_then_crash = state(5, 6, None, None);
        assert_eq!(
            decide(Some(&first_intent_then_crash), &Found::Absent),
            Decision::Remove,
            "it may have been sent"
        );
    }

    /// What is known of an output's entry, told apart as a person would.
    enum Entry {
        /// It holds this record.
        Surely(Digest),
        /// It holds a record, and nobody knows which, or whether it still does.
        Maybe,
        /// It holds none.
        Nothing,
    }

    fn entry(state: Option<&DeliveryState>) -> Entry {
        match state.map(|h| (h.intended, h.confirmed)) {
            None | Some((Digest::NONE, Some(Digest::NONE))) => Entry::Nothing,
            Some((intended, Some(confirmed))) if intended == confirmed => Entry::Surely(intended),
            Some(_) => Entry::Maybe,
        }
    }

    fn expected(state: Option<&DeliveryState>, found: &Found) -> Decision {
        // The access that was told last, where the output confirmed it.
        let told = state.and_then(|h| h.confirmed_acl.filter(|acl| *acl == h.intended_acl));
        let confirmed_a_record = state.is_some_and(|h| !matches!(h.confirmed, None | Some(Digest::NONE)));
        let access_alone =
            |access| if told == Some(access) { Decision::Skip } else { Decision::DeliverAccess };
        match (found, entry(state)) {
            (Found::Made { record, access }, Entry::Surely(held)) if held == *record => access_alone(*access),
            (Found::Made { .. }, _) => Decision::Deliver,
            (Found::Looked { access }, _) if confirmed_a_record => access_alone(*access),
            (Found::Looked { .. }, _) => Decision::Skip,
            (Found::Unread { access }, Entry::Surely(_)) => {
                if [Some(*access), Some(NOBODY)].contains(&told) {
                    Decision::Skip
                } else {
                    Decision::Mask
                }
            }
            (Found::Unread { .. } | Found::Absent, Entry::Nothing) => Decision::Skip,
            (Found::Declined(reason), Entry::Nothing) => Decision::Record(reason.clone()),
            (Found::Unread { .. } | Found::Absent | Found::Declined(_), _) => Decision::Remove,
        }
    }

    /// All delivery states over a few digests, and none.
    fn states() -> impl Iterator<Item = Option<DeliveryState>> {
        let some = (0..4).flat_map(|intended| {
            (0..4).flat_map(move |intended_acl| {
                [None, Some(0), Some(1), Some(2), Some(3)].into_iter().flat_map(move |confirmed| {
                    [None, Some(0), Some(1), Some(2), Some(3)].into_iter().map(move |confirmed_acl| {
                        Some(state(intended, intended_acl, confirmed, confirmed_acl))
                    })
                })
            })
        });
        some.chain([None])
    }

    #[test]
    fn each_delivery_state_meets_each_finding() {
        // 1 is the access of nobody.
        let accesses = [1, 2, 3].map(Digest);
        let found = accesses.into_iter().flat_map(|access| {
            let made = [2, 3].map(|record| Found::Made { record: Digest(record), access });
            made.into_iter().chain([Found::Looked { access }, Found::Unread { access }])
        });
        let found: Vec<Found> =
            found.chain([Found::Declined(Reason::new("size", "too large")), Found::Absent]).collect();
        for state in states() {
            for found in &found {
                let state = state.as_ref();
                assert_eq!(decide(state, found), expected(state, found), "{state:?} {found:?}");
            }
        }
    }

    #[test]
    fn what_is_known_is_what_was_confirmed_else_what_was_intended() {
        for state in states().flatten() {
            let surely = matches!(entry(Some(&state)), Entry::Surely(_));
            assert_eq!(state.is_confirmed(), surely, "{state:?}");
            let either = [state.confirmed.unwrap_or(Digest::NONE), state.intended];
            assert_eq!(state.known(), either.into_iter().find(|digest| digest.is_some()), "{state:?}");
        }
    }

    proptest! {
        /// Skipping is right only when the output is known to hold exactly what was found.
        #[test]
        fn a_made_record_is_skipped_only_when_it_is_held(
            intended in 0i64..3, intended_acl in 0i64..3,
            confirmed in proptest::option::of(0i64..3), confirmed_acl in proptest::option::of(0i64..3),
            record in 1i64..3, access in 1i64..3,
        ) {
            let h = state(intended, intended_acl, confirmed, confirmed_acl);
            let skipped = decide(Some(&h), &made(record, access)) == Decision::Skip;
            let exactly = confirmed == Some(record) && confirmed_acl == Some(access) && intended == record && intended_acl == access;
            prop_assert_eq!(skipped, exactly);
        }
    }
}
