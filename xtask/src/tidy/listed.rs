//! Every connector is in the table of contents, for a file that no list names is dead, and has its promises checked.

use super::{Finding, World, finding};
use crate::scan::{mask, words};

const FOLDER: &str = "crates/connectors/src/";

/// Files without a `mod` line, and roles in no list.
pub(super) fn connectors(world: &World) -> Vec<Finding> {
    let lib = mask(world.tree.text("crates/connectors/src/lib.rs").unwrap_or_default());
    let mut findings = Vec::new();
    for (path, text) in world.tree.ending(".rs") {
        let Some(below) = path.strip_prefix(FOLDER).filter(|below| *below != "lib.rs") else { continue };
        let module = below.split(['/', '.']).next().unwrap_or_default();
        if words(&lib, &format!("mod {module};")).next().is_none() {
            findings.push(finding(path, 0, format!("is in no list: add `mod {module};` to {FOLDER}lib.rs")));
        }
        for line in mask(text).lines().filter(|line| line.contains("Kind =")) {
            let constant = line.strip_prefix("pub const ").or(line.strip_prefix("pub(crate) const "));
            let Some((role, _)) = constant.and_then(|rest| rest.split_once(':')) else { continue };
            let named = lib.split(['&', ' ', '[', '\n']).any(|item| {
                let item = item.trim_end_matches([']', ',', ';']);
                item.starts_with(&format!("{module}::")) && item.ends_with(&format!("::{role}"))
            });
            if !named {
                findings.push(finding(
                    path,
                    0,
                    format!("its {role} is in no list: add `&{module}::{role}` to {FOLDER}lib.rs"),
                ));
            }
        }
    }
    findings
}

/// Connectors whose tests do not call the conformance suite of their role.
pub(super) fn suites(world: &World) -> Vec<Finding> {
    let lib = mask(world.tree.text("crates/connectors/src/lib.rs").unwrap_or_default());
    let named = lib.split('&').filter_map(|item| {
        let path = item.split([',', ']', '\n', ' ']).next()?;
        let (modules, role) = path.rsplit_once("::")?;
        let modules = modules.replace("::", "/");
        // One that is a crate of its own stands in its first file.
        let place = match modules.strip_prefix("ingather_") {
            Some(name) => {
                let (name, below) = name.split_once('/').unwrap_or((name, ""));
                let below = if below.is_empty() { String::new() } else { format!("/{below}") };
                format!("crates/{name}/src{below}")
            }
            None => format!("{FOLDER}{modules}"),
        };
        Some((place, role))
    });
    let unchecked = named.filter(|(place, role)| {
        let call = format!("suites::{}(", role.to_lowercase());
        !world.tree.ending(".rs").any(|(path, text)| {
            // The file itself, or one in the folder of that name.
            let below = path.strip_prefix(place.as_str()).unwrap_or_default();
            below.starts_with(['.', '/']) && mask(text).contains(&call)
        })
    });
    unchecked
        .map(|(place, role)| {
            let call = format!("`suites::{}` of the test kit", role.to_lowercase());
            finding(&format!("{place}.rs"), 0, format!("no test of its {role} calls {call}: add one"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::examples::found;
    use super::*;

    const CONNECTOR: &str = "//! A.\npub(crate) const OUTPUT: OutputKind = OutputKind {};\n";

    fn with(lib: &str) -> Vec<Finding> {
        found(
            connectors,
            &[("crates/connectors/src/lib.rs", lib), ("crates/connectors/src/null.rs", CONNECTOR)],
        )
    }

    #[test]
    fn a_connector_in_no_list_is_refused() {
        assert_eq!(with("mod null;\npub const OUTPUTS: &[&OutputKind] = &[&null::OUTPUT];"), []);
        assert_eq!(with("mod null;\npub const OUTPUTS: &[&OutputKind] = &[];").len(), 1);
        assert_eq!(with("// mod null;\npub const OUTPUTS: &[&OutputKind] = &[&null::OUTPUT];").len(), 1);
    }

    #[test]
    fn a_connector_in_a_folder_is_found_below_it() {
        let lib = "mod web;\npub const REPOSITORIES: &[&RepositoryKind] = &[&web::crawl::REPOSITORY];";
        let file = "pub const REPOSITORY: RepositoryKind = RepositoryKind {};\n";
        let files = [("crates/connectors/src/lib.rs", lib), ("crates/connectors/src/web/crawl.rs", file)];
        assert_eq!(found(connectors, &files), []);
    }

    #[test]
    fn a_connector_that_no_suite_checks_is_refused() {
        let lib = "mod null;\npub const OUTPUTS: &[&OutputKind] = &[&null::OUTPUT];\n";
        let with = |null: &str, inner: &str| {
            let files = [
                ("crates/connectors/src/lib.rs", lib),
                ("crates/connectors/src/null.rs", null),
                ("crates/connectors/src/null/tests.rs", inner),
            ];
            found(suites, &files).len()
        };
        assert_eq!(with("", ""), 1);
        assert_eq!(with("// suites::output(&OUTPUT, s);", ""), 1);
        assert_eq!(with("suites::output(&OUTPUT, s);", ""), 0);
        assert_eq!(with("", "suites::output(&OUTPUT, s);"), 0);
        assert_eq!(with("", "suites::repository(&REPOSITORY, s);"), 1);
    }

    #[test]
    fn a_connector_of_a_crate_of_its_own_is_looked_for_there() {
        let lib = "pub const REPOSITORIES: &[&RepositoryKind] = &[&ingather_web::site::REFERRING];";
        let with = |path: &str| {
            let files = [("crates/connectors/src/lib.rs", lib), (path, "suites::referring(&REFERRING, s);")];
            found(suites, &files).len()
        };
        assert_eq!([with("crates/web/src/site/tests.rs"), with("crates/web/src/feed.rs")], [0, 1]);
    }

    #[test]
    fn the_suite_of_a_neighbour_in_the_same_folder_does_not_count() {
        let lib = "mod transforms;\npub const TRANSFORMS: &[&TransformKind] = &[&transforms::a::TRANSFORM, &transforms::b::TRANSFORM];\n";
        let call = "suites::transform(&TRANSFORM, s);";
        let files = [
            ("crates/connectors/src/lib.rs", lib),
            ("crates/connectors/src/transforms/a.rs", call),
            ("crates/connectors/src/transforms/b.rs", ""),
        ];
        let findings = found(suites, &files);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].path, "crates/connectors/src/transforms/b.rs");
    }
}
