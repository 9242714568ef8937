//! Words that the project has given up for those of the field (`docs/glossary.md`): nobody has to learn them again.

use super::{Finding, World, finding};
use crate::scan::{self, line_of, mask};

/// Names that mean nothing else, refused wherever they stand; put together here so that this file may be checked as well.
const NAMES: &[(&str, &str)] = &[
    (concat!("Place", "Id"), "ContainerId"),
    (concat!("Place", "Report"), "ContainerReport"),
    (concat!("Output", "Place"), "OutputContext"),
    (concat!("Class", "Id"), "AclId"),
    (concat!("Output", "Slot"), "OutputQueue"),
    (concat!("Output", "Can"), "OutputCapabilities"),
    (concat!("Repository", "Can"), "RepositoryCapabilities"),
    (concat!("Held", "Addresses"), "AddressFilter"),
    (concat!("place", "_narrow"), "container_pending"),
    (concat!("access", "_class"), "acl"),
    (concat!("sent", "_access"), "intended_acl"),
    (concat!("held", "_access"), "confirmed_acl"),
    (concat!("the ", "books"), "the inventory (of documents) or the delivery log (of outputs)"),
    (concat!("deliv", "erer"), "sender"),
];
/// Names that are ordinary words as well: refused in code alone.
const TYPES: &[(&str, &str)] = &[
    ("Holding", "DeliveryState"),
    ("Holdings", "Deliveries, or OutputSnapshot"),
    ("Telling", "DecidedChange"),
    ("Prepared", "QueuedChange"),
    ("Deliverer", "Sender"),
    ("Heir", "NextOwner"),
    ("Settling", "Completion"),
    ("Visiting", "Visitor"),
    ("Visited", "DocumentUpdate"),
    ("Board", "Dispatcher"),
    ("Task", "WorkItem"),
    ("Cause", "VisitReason"),
    ("Permitted", "AccessFilter"),
    ("Surroundings", "HostContext, JobEnvironment or system checks"),
    ("Booked", "LogRow"),
    ("Balance", "RunCounts"),
    ("balance", "counts"),
    ("Call", "CallContext"),
    ("Hold", "BlockedReason"),
    ("Imposed", "StageAcl"),
    ("KeptFields", "StoredSchema"),
    ("Standing", "SourceStatus, or OutputStatus"),
    ("Trouble", "Failure, or InjectedFault in tests"),
    ("ByTongue", "ByStemming"),
    ("tongue", "stemming"),
    ("tongues", "stemmings"),
    ("deed", "step"),
    ("deeds", "steps"),
    ("flight", "byte_budget"),
    ("hides", "masks"),
    ("hurtful", "malformed"),
    ("nameless", "unaddressable"),
    ("reads_as", "credentials_fingerprint"),
    ("reader_changed", "credentials_changed"),
    ("remember_reader", "remember_credentials"),
    ("troubled", "failed"),
];
/// Texts that keep what was written: steps of the schema, and stores that earlier versions have filled.
const KEPT: &[&str] = &["crates/store/migrations/", "crates/engine/tests/stores/"];

/// Retired words in code, statements, comments and pages.
pub(super) fn words(world: &World) -> Vec<Finding> {
    let mut findings = Vec::new();
    let refused = |path: &str, text: &str, at: usize, (word, instead): (&str, &str)| {
        finding(path, line_of(text, at), format!("`{word}` is retired: say {instead} (docs/glossary.md)"))
    };
    for (path, text) in world.tree.files() {
        let is_code = path.ends_with(".rs");
        if KEPT.iter().any(|kept| path.starts_with(kept))
            || !(is_code || path.ends_with(".sql") || path.ends_with(".md"))
        {
            continue;
        }
        for name in NAMES {
            findings.extend(scan::words(text, name.0).map(|at| refused(path, text, at, *name)));
        }
        if is_code {
            let code = mask(text);
            for name in TYPES {
                findings.extend(scan::words(&code, name.0).map(|at| refused(path, text, at, *name)));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::examples::{found, refuses};
    use super::*;

    #[test]
    fn a_retired_word_is_refused_wherever_it_means_nothing_else() {
        let bad = format!("-- Rows of {}.\nSELECT 1", NAMES[8].0);
        refuses(words, ("crates/store/sql/a.sql", &bad), ("crates/store/sql/a.sql", "SELECT container"));
        let bad = format!("/// What {} say.\nfn a() {{}}", NAMES[12].0);
        refuses(
            words,
            ("crates/engine/src/a.rs", &bad),
            ("crates/engine/src/a.rs", "/// Books are read.\nfn a() {}"),
        );
        let bad = format!("let a: {} = b;", TYPES[0].0);
        let good = format!("/// {} the lock.\nlet a = \"{}\";", TYPES[0].0, TYPES[0].0);
        refuses(words, ("crates/engine/src/a.rs", &bad), ("crates/engine/src/a.rs", &good));
        assert_eq!(found(words, &[("crates/store/migrations/0001_start.sql", NAMES[8].0)]), []);
    }
}
