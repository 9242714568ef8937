//! Paths that a page names exist: a map that is wrong is worse than none.

use super::{Finding, World, finding};
use crate::scan;

/// The page that draws the house.
const MAP: &str = "ARCHITECTURE.md";

/// Paths in backticks that begin with a folder of ours, with the items named in them, and relative links.
pub(super) fn paths(world: &World) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (page, text) in world.tree.ending(".md").filter(|(page, _)| *page != "CHANGELOG.md") {
        let mut fenced = false;
        for (number, line) in text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
            }
            if fenced {
                continue;
            }
            let missing = named(line).chain(linked(page, line)).filter(|name| {
                name.split_once('/').is_some_and(|(top, _)| world.tree.top().contains(top))
                    && !there(world, name)
            });
            findings.extend(missing.map(|name| {
                finding(
                    page,
                    number + 1,
                    format!("`{name}` does not exist: name what does it now, or drop the line"),
                )
            }));
        }
    }
    findings
}

/// Every crate is on the map, when there is one.
pub(super) fn map(world: &World) -> Vec<Finding> {
    let Some(map) = world.tree.text(MAP) else { return Vec::new() };
    let folders = world.packages.iter().map(|package| package.folder.as_str());
    let missing = folders.filter(|folder| {
        let name = folder.rsplit('/').next().unwrap_or_default();
        scan::words(map, name).next().is_none()
    });
    missing
        .map(|folder| {
            finding(MAP, 0, format!("does not show {folder}: give it a line that says what it is for"))
        })
        .collect()
}

/// Words inside backticks, without line numbers and parts of pages.
fn named(line: &str) -> impl Iterator<Item = String> {
    let spans = line.split('`').skip(1).step_by(2);
    spans.flat_map(str::split_whitespace).map(|word| {
        let word =
            word.split('#').next().unwrap_or_default().trim_end_matches([',', ';', '.', ')', ':', '(']);
        match word.rsplit_once(':') {
            Some((path, line)) if line.starts_with(|c: char| c.is_ascii_digit()) => path.to_owned(),
            _ => word.to_owned(),
        }
    })
}

/// Targets of links to files, from the root.
fn linked(page: &str, line: &str) -> impl Iterator<Item = String> {
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://") && !target.starts_with(['#', '/'])).map(move |target| {
        let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
        for part in target.split('#').next().unwrap_or_default().split('/') {
            match part {
                ".." => drop(parts.pop()),
                "." | "" => {}
                name => parts.push(name),
            }
        }
        parts.join("/")
    })
}

/// Whether the path exists, and the item named behind `::` in it; of a path with a placeholder (`*`, `<name>`,
/// `{a,b}`, `…`) the part before it counts.
fn there(world: &World, name: &str) -> bool {
    if let Some(at) = name.find(['*', '<', '{', '…', '$']) {
        return name[..at].rsplit_once('/').is_none_or(|(folder, _)| world.tree.exists(folder));
    }
    match name.split_once("::") {
        Some((path, item)) => {
            let item = item.rsplit("::").next().unwrap_or_default();
            world.tree.text(path).is_some_and(|text| scan::words(text, item).next().is_some())
        }
        None => world.tree.exists(name),
    }
}

#[cfg(test)]
mod tests {
    use super::super::examples::found;
    use super::*;
    use crate::packages::Package;
    use crate::tree::Tree;

    fn on_a_page(line: &str) -> usize {
        found(paths, &[("docs/x.md", line), ("crates/a/src/lib.rs", "fn run() {}"), ("docs/y.md", "")]).len()
    }

    #[test]
    fn a_path_that_does_not_exist_is_refused() {
        assert_eq!(on_a_page("see `crates/a/src/gone.rs`"), 1);
        assert_eq!(on_a_page("see `crates/a/src/gone.rs:12` and `cat crates/b`"), 2);
        assert_eq!(on_a_page("see `crates/gone/*.rs`"), 1);
        assert_eq!(on_a_page("see `crates/a/src/lib.rs::stop`"), 1);
    }

    #[test]
    fn what_exists_or_is_no_path_of_ours_is_taken() {
        assert_eq!(
            on_a_page("see `crates/a/src/lib.rs:3`, `crates/a/src/lib.rs::run`, `crates/a/`, `crates/*/src`"),
            0
        );
        assert_eq!(on_a_page("`application/json`, `a/b`, `/api/v1`, crates/b\n```\ncrates/b/c\n```\n"), 0);
    }

    #[test]
    fn links_lead_somewhere() {
        assert_eq!(on_a_page("[y](y.md) [y](../docs/y.md#part) [w](https://docs/z.md)"), 0);
        assert_eq!(on_a_page("[z](z.md)"), 1);
    }

    #[test]
    fn a_crate_that_is_not_on_the_map_is_refused() {
        let package = Package { folder: "crates/model".into(), ..Package::default() };
        let found = |map: &str| {
            let tree = Tree::of(&[(MAP, map)]);
            super::map(&World { tree, packages: vec![package.clone()] }).len()
        };
        assert_eq!(found("store, models"), 1);
        assert_eq!(found("model: words and rules"), 0);
    }
}
