//! An output is away, fails or is damaged for a time: what is pushed meanwhile is delivered when it is back, each ticket is completed once, and channels of other outputs go on.

use ingather_testkit::database::BOTH;
use ingather_testkit::together::health::{How, went};

#[test]
fn what_is_pushed_while_an_output_is_ill_is_delivered_when_it_is_well() {
    for kind in BOTH {
        for how in [How::Returns, How::FailsOnce, How::StaysAway, How::IsDamaged] {
            let went = went(kind, how, None);
            assert!(went.wrong.is_empty() && !went.died, "{kind:?} {how:?}: {:#?}", went.wrong);
        }
    }
}

#[test]
fn a_death_at_any_transaction_leaves_no_ticket_of_a_channel_that_ends_for_its_output() {
    for kind in BOTH {
        for how in [How::StaysAway, How::IsDamaged] {
            for point in ["before write", "after write"] {
                let mut nth = 1;
                loop {
                    let went = went(kind, how, Some((point, nth)));
                    assert!(went.wrong.is_empty(), "{kind:?} {how:?}, {point} {nth}: {:#?}", went.wrong);
                    if !went.died {
                        break;
                    }
                    nth += 1;
                }
                assert!(nth > 2, "{kind:?} {how:?}: it died {nth} times");
            }
        }
    }
}
