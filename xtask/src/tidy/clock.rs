//! Time is handed in: only the program, tests' tools and lines with a reason look at the machine's clock.

use super::{Finding, World, finding};
use crate::scan::{line_of, mask, words};

const CALLS: &[&str] =
    &["SystemTime::now", "Instant::now", "Timestamp::now", "Zoned::now", "Utc::now", "Local::now"];
/// Places that may: the program, and tools.
const ALLOWED: &[&str] = &["bench/", "crates/app/", "crates/testkit/", "xtask/"];
/// Programs that measure.
const MEASURING: &[&str] = &["/benches/", "/examples/"];

/// Looks at the machine's clock without a reason.
pub(super) fn clock(world: &World) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in world.tree.ending(".rs") {
        if ALLOWED.iter().any(|place| path.starts_with(place))
            || MEASURING.iter().any(|part| path.contains(part))
        {
            continue;
        }
        let code = mask(text);
        let lines: Vec<&str> = text.lines().collect();
        for at in CALLS.iter().flat_map(|call| words(&code, call).collect::<Vec<_>>()) {
            let line = line_of(text, at);
            let above = line.checked_sub(2).map(|above| lines[above]);
            if [Some(lines[line - 1]), above].into_iter().flatten().any(reason) {
                continue;
            }
            let advice = "take the time from the call's clock, or say on the line `// clock:` and why";
            findings.push(finding(path, line, format!("looks at the machine's clock: {advice}")));
        }
    }
    findings
}

fn reason(line: &str) -> bool {
    line.split_once("// clock:").is_some_and(|(_, reason)| reason.trim().len() > 5)
}

#[cfg(test)]
mod tests {
    use super::super::examples::{found, refuses};
    use super::*;

    #[test]
    fn the_machines_clock_is_refused_without_a_reason() {
        let path = "crates/engine/src/a.rs";
        refuses(
            clock,
            (path, "let a = Instant::now();"),
            (path, "let a = Instant::now(); // clock: measures a batch"),
        );
        refuses(
            clock,
            (path, "SystemTime::now() // clock:"),
            (path, "// clock: measures a batch\nSystemTime::now()"),
        );
        assert_eq!(found(clock, &[("crates/app/src/main.rs", "Instant::now()")]), []);
        assert_eq!(found(clock, &[("crates/engine/examples/cost.rs", "Instant::now()")]), []);
    }
}
