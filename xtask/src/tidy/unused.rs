//! A dependency that no code names is build time for nothing.

use super::{Finding, World, finding};
use crate::scan::{mask, words};

/// Declared dependencies whose name occurs nowhere in the package's code.
pub(super) fn dependencies(world: &World) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &world.packages {
        let folder = format!("{}/", package.folder);
        let code: String = world
            .tree
            .ending(".rs")
            .filter(|(path, _)| path.starts_with(&folder))
            .map(|(_, text)| mask(text))
            .collect::<Vec<_>>()
            .join("\n");
        for used in package.uses.iter().filter(|used| words(&code, &used.ident).next().is_none()) {
            let message = format!("{} is declared and not used: take it out of this manifest", used.package);
            findings.push(finding(&format!("{folder}Cargo.toml"), 0, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packages::{Package, Use};
    use crate::tree::Tree;

    #[test]
    fn a_dependency_that_no_code_names_is_refused() {
        let used = Use { package: "serde-json".into(), ident: "serde_json".into(), dev: false };
        let packages = vec![Package { name: "a".into(), folder: "crates/a".into(), uses: vec![used] }];
        let found = |text: &str| {
            let tree = Tree::of(&[("crates/a/src/lib.rs", text), ("crates/ab/src/lib.rs", "serde_json::x")]);
            dependencies(&World { tree, packages: packages.clone() }).len()
        };
        assert_eq!(found("use serde_json::Value;"), 0);
        assert_eq!(found("// serde_json\nuse my_serde_json::Value;"), 1);
    }
}
