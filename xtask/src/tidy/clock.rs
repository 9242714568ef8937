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

/// Where no wait has a length of its own.
const BOUNDED: &[&str] = &["crates/engine/src/", "crates/store/src/", "crates/model/src/"];
const LENGTHS: &[&str] =
    &["Duration::from_secs(", "Duration::from_millis(", "Duration::from_micros(", "Duration::from_nanos("];

/// Waits whose length is written where they are made, and not in the list of bounds.
pub(super) fn wait(world: &World) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in world.tree.ending(".rs") {
        if !BOUNDED.iter().any(|place| path.starts_with(place)) {
            continue;
        }
        let code = mask(text);
        let end = code.find("mod tests {").unwrap_or(code.len());
        for length in LENGTHS {
            for (at, _) in code[..end].match_indices(length) {
                if code[at + length.len()..].starts_with(|c: char| c.is_ascii_digit()) {
                    let advice = "name it, with its reason, in `crates/model/src/limits/mod.rs`";
                    findings.push(finding(
                        path,
                        line_of(text, at),
                        format!("a wait of a fixed length: {advice}"),
                    ));
                }
            }
        }
    }
    findings
}

/// Where a seed may decide which thread goes on (decision 0023).
const SEEDED: &str = "crates/engine/src/";
const AROUND: &[&str] = &["Condvar", "thread::spawn(", "thread::Builder", ".spawn(", "mpsc::", "PoisonError"];

/// Locks, waits and threads of the engine that go around the turns that a seed decides.
pub(super) fn turns(world: &World) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in world.tree.ending(".rs").filter(|(path, _)| path.starts_with(SEEDED)) {
        let code = mask(text);
        let end = code.find("mod tests {").unwrap_or(code.len());
        for around in AROUND {
            findings.extend(code[..end].match_indices(around).map(|(at, _)| {
                let advice = "use `ingather_store::turns`, so that one seed stays one order of threads";
                finding(path, line_of(text, at), format!("`{around}` goes around turns: {advice}"))
            }));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::examples::{found, refuses};
    use super::*;

    #[test]
    fn a_wait_of_a_fixed_length_is_refused_where_bounds_are_listed() {
        let path = "crates/engine/src/a.rs";
        let named = "Duration::from_millis(limits::LOOK_MS)";
        refuses(wait, (path, "Duration::from_millis(20)"), (path, named));
        refuses(wait, (path, "Duration::from_secs(1)"), (path, "mod tests {\nDuration::from_secs(1)\n}"));
        assert_eq!(found(wait, &[("crates/app/src/main.rs", "Duration::from_secs(1)")]), []);
    }

    #[test]
    fn locks_and_threads_of_the_engine_take_turns() {
        let path = "crates/engine/src/a.rs";
        refuses(turns, (path, "changed: Condvar,"), (path, "changed: Monitor<bool>,"));
        refuses(turns, (path, "scope.spawn(|| ());"), (path, "turns::spawn_scoped(scope, || ());"));
        assert_eq!(found(turns, &[("crates/store/src/turns/mod.rs", "Condvar")]), []);
    }

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
