//! Left-overs: silenced lints, notes to oneself, paths of one machine, tests that are off or wait.

use super::{Finding, World, finding, for_tests};
use crate::scan::{self, line_of, mask, words};

/// Macros that mark unfinished work or a look inside.
const UNFINISHED: &[&str] = &["todo!", "unimplemented!", "dbg!"];
/// Notes in comments; put together here so that this file may be checked as well.
const NOTES: &[&str] =
    &[concat!("FIX", "ME"), concat!("XX", "X:"), concat!("TO", "DO:"), concat!("HA", "CK:")];
/// Absolute places that exist on one machine only.
const PLACES: &[&str] = &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];

/// A lint is silenced by `expect` with a reason, so that it is noticed when it is not needed any more.
pub(super) fn allows(world: &World) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in world.tree.ending(".rs") {
        let code = mask(text);
        let plain = ["#[allow(", "#![allow("]
            .into_iter()
            .flat_map(|start| code.match_indices(start))
            .map(|(at, _)| at);
        let under_a_condition = code.match_indices("cfg_attr(").map(|(at, _)| at).filter(|at| {
            let end = code[*at..].find(")]").map_or(code.len(), |n| at + n);
            words(&code[*at..end], "allow(").next().is_some()
        });
        findings.extend(plain.chain(under_a_condition).map(|at| {
            finding(path, line_of(text, at), "write `expect(lint, reason = \"…\")` instead of `allow`")
        }));
        for start in ["#[expect(", "#![expect("] {
            let bare = code.match_indices(start).filter(|(at, _)| {
                let end = code[*at..].find(")]").map_or(code.len(), |n| at + n);
                words(&code[*at..end], "reason").next().is_none()
            });
            findings.extend(
                bare.map(|(at, _)| {
                    finding(path, line_of(text, at), "say why: `expect(lint, reason = \"…\")`")
                }),
            );
        }
    }
    findings
}

/// Unfinished work is not committed.
pub(super) fn left_overs(world: &World) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in world.tree.files() {
        if path.ends_with(".rs") {
            let code = mask(text);
            for mark in UNFINISHED {
                findings.extend(words(&code, mark).map(|at| {
                    finding(
                        path,
                        line_of(text, at),
                        format!("`{mark}` is left over: finish it, or leave the feature out"),
                    )
                }));
            }
        }
        for mark in NOTES {
            findings.extend(words(text, mark).map(|at| {
                finding(
                    path,
                    line_of(text, at),
                    format!("`{mark}` is a note to yourself: do it now, or file an issue"),
                )
            }));
        }
    }
    findings
}

/// Nothing in the tree is true on one machine only.
pub(super) fn machine_paths(world: &World) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in world.tree.files() {
        for place in PLACES {
            let absolute = text.match_indices(place).filter(|(at, _)| {
                let before = text[..*at].chars().next_back();
                let after = text[at + place.len()..].chars().next();
                let inside = before.is_some_and(|c| c.is_alphanumeric() || "._-})>*/]$".contains(c));
                !inside && (*place != PLACES[2] || after.is_some_and(char::is_alphanumeric))
            });
            findings.extend(absolute.map(|(at, _)| {
                let advice = "use a temporary folder, a setting or an example such as /srv/share";
                finding(path, line_of(text, at), format!("`{place}` exists on one machine only: {advice}"))
            }));
        }
    }
    findings
}

/// A test that is off proves nothing.
pub(super) fn ignored_tests(world: &World) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in world.tree.ending(".rs") {
        let code = mask(text);
        findings.extend(words(&code, "#[ignore").map(|at| {
            finding(
                path,
                line_of(text, at),
                "a test that is off proves nothing: make it run everywhere, or delete it",
            )
        }));
    }
    findings
}

/// Tests do not sleep: they move the clock by hand or wait for an event.
pub(super) fn sleeps(world: &World) -> Vec<Finding> {
    let mut findings = Vec::new();
    let advice = "move the clock by hand, or wait for an event with a limit (a channel, `pg_ctl -w`)";
    for (path, text) in world.tree.ending(".rs") {
        let code = mask(text);
        let tests = scan::test_modules(&code);
        let sleeping =
            ["sleep(", "sleep_until("].into_iter().flat_map(|call| words(&code, call).collect::<Vec<_>>());
        let in_test = sleeping.filter(|at| for_tests(path) || tests.iter().any(|range| range.contains(at)));
        findings
            .extend(in_test.map(|at| finding(path, line_of(text, at), format!("a test sleeps: {advice}"))));
    }
    for (path, text) in world.tree.ending(".sh") {
        for (number, line) in text.lines().enumerate() {
            let code = line.split('#').next().unwrap_or_default();
            if code.split([' ', ';', '\t', '(']).any(|word| word == "sleep") {
                findings.push(finding(path, number + 1, format!("a script sleeps: {advice}")));
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
    fn allow_is_refused_and_expect_wants_a_reason() {
        refuses(allows, ("a.rs", "#[allow(dead_code)]"), ("a.rs", "#[expect(dead_code, reason = \"x\")]"));
        refuses(
            allows,
            ("a.rs", "#[cfg_attr(test, allow(x))]"),
            ("a.rs", "#[cfg_attr(test, test)] fn allow(a: u8) {}"),
        );
        refuses(allows, ("a.rs", "#![allow(x)]"), ("a.rs", "// #[allow(x)]"));
        refuses(allows, ("a.rs", "#[expect(dead_code)]"), ("a.rs", "a.expect(\"never\")"));
    }

    #[test]
    fn unfinished_work_is_refused() {
        refuses(left_overs, ("a.rs", "fn a() { todo!() }"), ("a.rs", "fn a() { \"todo!\" }"));
        refuses(left_overs, ("a.rs", "dbg!(x)"), ("a.rs", "// dbg!(x) prints"));
        refuses(left_overs, ("a.sql", concat!("-- FIX", "ME later")), ("a.sql", "-- fixed"));
    }

    #[test]
    fn paths_of_one_machine_are_refused() {
        refuses(
            machine_paths,
            ("a.md", concat!("in /wo", "rk/shared")),
            ("a.md", "in crates/store/sql/work/x.sql"),
        );
        refuses(machine_paths, ("a.rs", concat!("\"/ho", "me/ann/x\"")), ("a.rs", "\"/srv/ann\""));
        refuses(machine_paths, ("a.sh", concat!("ls /ro", "ot/x")), ("a.sh", "ls $x/root/y"));
    }

    #[test]
    fn a_test_that_is_off_is_refused() {
        refuses(
            ignored_tests,
            ("a.rs", "#[test]\n#[ignore = \"slow\"]\nfn a() {}"),
            ("a.rs", "// #[ignore]"),
        );
    }

    #[test]
    fn a_sleeping_test_is_refused() {
        let test = "#[cfg(test)]\nmod tests { fn a() { thread::sleep(x) } }";
        refuses(sleeps, ("crates/a/src/a.rs", test), ("crates/a/src/a.rs", "fn a() { condvar.wait(x) }"));
        refuses(
            sleeps,
            ("crates/a/tests/it/a.rs", "fn a() { sleep(x) }"),
            ("crates/a/tests/it/a.rs", "asleep(x)"),
        );
        refuses(sleeps, ("scripts/a.sh", "sleep 1"), ("scripts/a.sh", "pg_ctl -w start # no sleep"));
        assert_eq!(found(sleeps, &[("crates/testkit/src/a.rs", "sleep(1)")]).len(), 1);
    }
}
