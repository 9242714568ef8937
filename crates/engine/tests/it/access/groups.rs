//! Tokens of one authority group say nothing to what another one rules, whatever judges.

use ingather_testkit::database::BOTH;
use ingather_testkit::together::{FOUND_BY_GROUP, found_across_groups};

#[test]
fn two_systems_with_equal_tokens_in_one_output_do_not_cross() {
    for kind in BOTH {
        for output in ["memory", "committing", "told"] {
            assert_eq!(found_across_groups(kind, output), FOUND_BY_GROUP, "{output} on {kind:?}");
        }
    }
}
