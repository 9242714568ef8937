//! Crash points and failpoints are for tests: nothing that a program is built from switches them on.

use super::{Finding, World, finding};

/// Features that a program must not have.
const FOR_TESTS: &[&str] = &["crash-points", "failpoints"];
/// Packages that only tests use; the table of floors keeps them out of every program.
const TESTS_ONLY: &[&str] = &["crates/testkit/", "crates/simulator/"];

/// Manifests that ask for such a feature outside `[dev-dependencies]`.
pub(super) fn features(world: &World) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in world.tree.ending("Cargo.toml") {
        if TESTS_ONLY.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        let mut for_tests = false;
        for (number, line) in text.lines().enumerate() {
            if line.starts_with('[') {
                for_tests = line.contains("dev-dependencies");
            }
            let asks = |feature: &&str| {
                line.contains(&format!("\"{feature}\"")) || line.contains(&format!("/{feature}\""))
            };
            if let Some(feature) = FOR_TESTS.iter().find(|feature| asks(feature)).filter(|_| !for_tests) {
                let advice = "ask for it below [dev-dependencies]";
                let message =
                    format!("a program would be built with the feature {feature} of tests: {advice}");
                findings.push(finding(path, number + 1, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::examples::refuses;
    use super::features;

    #[test]
    fn a_program_has_no_failpoints() {
        for asks in [
            "[dependencies]\nstore = { workspace = true, features = [\"failpoints\"] }\n",
            "[features]\ndefault = [\"store/crash-points\"]\n",
        ] {
            let good = asks
                .replace("[dependencies]", "[dev-dependencies]")
                .replace("[features]", "[dev-dependencies]");
            refuses(features, ("crates/app/Cargo.toml", asks), ("crates/app/Cargo.toml", &good));
        }
    }
}
