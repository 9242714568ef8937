//! Clients push through a channel with a sink, and the process dies at each of its transactions: what the sink was told of has an end, and nothing else is delivered.

use ingather_testkit::database::BOTH;
use ingather_testkit::together::sinks::{Says, told};

#[test]
fn what_a_sink_says_decides_what_is_taken() {
    for kind in BOTH {
        for says in [Says::Yes, Says::No, Says::Nothing] {
            let told = told(kind, says, None);
            assert!(told.wrong.is_empty() && !told.died, "{kind:?} {says:?}: {:#?}", told.wrong);
        }
    }
}

#[test]
fn a_death_at_any_transaction_leaves_nothing_that_a_sink_heard_without_an_end() {
    for kind in BOTH {
        for says in [Says::Yes, Says::No, Says::Nothing] {
            for point in ["before write", "after write"] {
                let mut nth = 1;
                loop {
                    let told = told(kind, says, Some((point, nth)));
                    assert!(told.wrong.is_empty(), "{kind:?} {says:?}, {point} {nth}: {:#?}", told.wrong);
                    if !told.died {
                        break;
                    }
                    nth += 1;
                }
                assert!(nth > 6, "{kind:?} {says:?}: it died {nth} times");
            }
        }
    }
}
