//! Paths that a page names exist: a map that is wrong is worse than none.

use super::{Finding, World, finding};

/// Paths in backticks that begin with a folder of ours, and relative links.
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
            let missing = named(line).chain(linked(page, line)).filter(|path| {
                path.split_once('/').is_some_and(|(top, _)| world.tree.top().contains(top))
                    && !there(world, path)
            });
            findings.extend(missing.map(|path| {
                finding(
                    page,
                    number + 1,
                    format!("`{path}` does not exist: name the file that does it now, or drop the line"),
                )
            }));
        }
    }
    findings
}

/// Words inside backticks, without what follows the path.
fn named(line: &str) -> impl Iterator<Item = String> {
    let spans = line.split('`').skip(1).step_by(2);
    spans.flat_map(str::split_whitespace).map(|word| {
        let word = word.split("::").next().unwrap_or_default().split('#').next().unwrap_or_default();
        word.split(':').next().unwrap_or_default().trim_end_matches([',', ';', '.', ')']).to_owned()
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

/// Whether the path exists; of one with a placeholder (`*`, `<name>`, `{a,b}`, `…`) the part before it counts.
fn there(world: &World, path: &str) -> bool {
    match path.find(['*', '<', '{', '…', '$']) {
        Some(at) => path[..at].rsplit_once('/').is_none_or(|(folder, _)| world.tree.exists(folder)),
        None => world.tree.exists(path),
    }
}

#[cfg(test)]
mod tests {
    use super::super::examples::found;
    use super::*;

    fn on_a_page(line: &str) -> usize {
        found(paths, &[("docs/x.md", line), ("crates/a/src/lib.rs", ""), ("docs/y.md", "")]).len()
    }

    #[test]
    fn a_path_that_does_not_exist_is_refused() {
        assert_eq!(on_a_page("see `crates/a/src/gone.rs`"), 1);
        assert_eq!(on_a_page("see `crates/a/src/gone.rs:12` and `cat crates/b`"), 2);
        assert_eq!(on_a_page("see `crates/gone/*.rs`"), 1);
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
}
