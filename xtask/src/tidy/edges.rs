//! Crates use only what the table of floors allows.

use super::{Finding, World, finding};
use crate::floors::{FLOORS, HEAVY};

/// Edges between our crates that the table does not have.
pub(super) fn edges(world: &World) -> Vec<Finding> {
    let ours: Vec<&str> = world.packages.iter().map(|package| package.name.as_str()).collect();
    let mut findings = Vec::new();
    for package in &world.packages {
        let manifest = format!("{}/Cargo.toml", package.folder);
        let Some(floor) = FLOORS.iter().find(|floor| floor.package == package.name) else {
            let advice = "give it a row in xtask/src/floors.rs, with what it may use";
            findings.push(finding(&manifest, 0, format!("{} stands on no floor: {advice}", package.name)));
            continue;
        };
        for used in package.uses.iter().filter(|used| ours.contains(&used.package.as_str())) {
            let name = used.package.as_str();
            if floor.uses.contains(&name) || used.dev && floor.tests_use.contains(&name) {
                continue;
            }
            let advice = "pass a value or a contract down instead, or change xtask/src/floors.rs and say why";
            findings.push(finding(&manifest, 0, format!("{} must not know {name}: {advice}", package.name)));
        }
    }
    findings
}

/// Heavy libraries outside the crate that hides them.
pub(super) fn heavy(world: &World) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &world.packages {
        for used in &package.uses {
            let hidden = HEAVY.iter().find(|heavy| heavy.library == used.package);
            if let Some(heavy) = hidden.filter(|heavy| !heavy.only.contains(&package.name.as_str())) {
                let only = heavy.only.join(", ");
                let message = format!("{} belongs to {only} alone: {}", heavy.library, heavy.instead);
                findings.push(finding(&format!("{}/Cargo.toml", package.folder), 0, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packages::{Package, Use};

    fn world(name: &str, used: &str, dev: bool) -> World {
        let package =
            |name: &str, uses: Vec<Use>| Package { name: name.into(), folder: "crates/x".into(), uses };
        let uses = vec![Use { package: used.into(), ident: used.replace('-', "_"), dev }];
        let packages = vec![
            package(name, uses),
            package("ingather-engine", Vec::new()),
            package("ingather-testkit", Vec::new()),
        ];
        World { packages, ..World::default() }
    }

    #[test]
    fn an_edge_that_is_not_in_the_table_is_refused() {
        assert_eq!(edges(&world("ingather-connectors", "ingather-engine", false)).len(), 1);
        assert_eq!(edges(&world("ingather-connectors", "ingather-engine", true)).len(), 1);
        assert_eq!(edges(&world("ingather-app", "ingather-engine", false)), []);
        assert_eq!(edges(&world("ingather-connectors", "serde", false)), []);
    }

    #[test]
    fn what_tests_may_use_the_crate_itself_may_not() {
        assert_eq!(edges(&world("ingather-store", "ingather-testkit", true)), []);
        assert_eq!(edges(&world("ingather-store", "ingather-testkit", false)).len(), 1);
    }

    #[test]
    fn a_crate_without_a_floor_is_refused() {
        let findings = edges(&world("ingather-attic", "serde", false));
        assert!(findings.len() == 1 && findings[0].message.contains("floors.rs"), "{findings:?}");
    }

    #[test]
    fn a_heavy_library_stays_where_it_is_hidden() {
        assert_eq!(heavy(&world("ingather-engine", "rusqlite", false)).len(), 1);
        assert_eq!(heavy(&world("ingather-store", "rusqlite", false)), []);
    }

    #[test]
    fn the_table_itself_has_no_circle() {
        for floor in FLOORS {
            for used in floor.uses {
                let below =
                    FLOORS.iter().find(|f| f.package == *used).expect("every crate that is used has a row");
                assert!(!below.uses.contains(&floor.package), "{} and {used} use each other", floor.package);
            }
        }
    }
}
