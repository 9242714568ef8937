//! Statements: twins say why they differ, and a statement that writes a state names the move it makes.

use super::{Finding, World, finding};

/// Endings of the two halves of a pair.
const HALVES: [&str; 2] = [".sqlite.sql", ".postgres.sql"];
/// Tables whose rows have a lifecycle.
const TABLES: &[&str] = &["job", "document", "queue"];

/// Both halves of a split statement exist, and each says why it differs.
pub(super) fn twins(world: &World) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (half, other) in [(HALVES[0], HALVES[1]), (HALVES[1], HALVES[0])] {
        for (path, text) in world.tree.ending(half) {
            let stem = path.trim_end_matches(half);
            if !world.tree.exists(&format!("{stem}{other}")) {
                findings.push(finding(
                    path,
                    0,
                    format!("has no twin: write {stem}{other}, or share it as {stem}.sql"),
                ));
            }
            if world.tree.exists(&format!("{stem}.sql")) {
                findings.push(finding(
                    path,
                    0,
                    format!("stands beside {stem}.sql: keep the pair or the shared one"),
                ));
            }
            if reason(text, "Differs from").is_none() {
                findings.push(finding(
                    path,
                    1,
                    "say in the first lines `-- Differs from …: because …`, or share one text",
                ));
            }
        }
    }
    findings
}

/// A statement that writes a table with a lifecycle names its move, or says why it makes none.
pub(super) fn moves(world: &World) -> Vec<Finding> {
    let statements = world.tree.ending(".sql").filter(|(path, _)| !path.contains("/migrations/"));
    let silent = statements.filter_map(|(path, text)| {
        let table = writes(text)?;
        let said = reason(text, "move:").is_some() || reason(text, "no move:").is_some();
        (!said).then(|| {
            let advice =
                "begin with `-- move: …` (a row of the lifecycle) or `-- no move: …` (why the state stays)";
            finding(path, 1, format!("writes table {table}: {advice}"))
        })
    });
    silent.collect()
}

/// A column of a literal number has four bytes in PostgreSQL, and rows are read by eight: it would fail there, and nowhere else.
pub(super) fn literals(world: &World) -> Vec<Finding> {
    let statements = world.tree.ending(".sql").filter(|(path, _)| !path.ends_with(HALVES[0]));
    let narrow = statements.filter_map(|(path, text)| {
        let line = text.lines().position(|line| {
            let column = line.strip_prefix("SELECT ").and_then(|rest| rest.split([' ', ',']).next());
            column.is_some_and(|column| column.bytes().all(|byte| byte.is_ascii_digit()))
        })?;
        Some(finding(path, line + 1, "select a column, or say `1::bigint` in a twin for PostgreSQL"))
    });
    narrow.collect()
}

/// What follows `key` in the comment at the head of a statement; none when it is missing or empty.
fn reason<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let head = text.lines().map_while(|line| line.trim().strip_prefix("--"));
    let said = head.filter_map(|line| line.trim().strip_prefix(key)).map(str::trim);
    said.into_iter().find(|reason| !reason.is_empty())
}

/// The first table with a lifecycle that the statement writes.
fn writes(text: &str) -> Option<&'static str> {
    let code: String =
        text.lines().map(|line| line.split("--").next().unwrap_or_default()).collect::<Vec<_>>().join(" ");
    let code = code.to_lowercase().replace(['(', ')', ',', ';', '"'], " ");
    let words: Vec<&str> = code.split_whitespace().collect();
    words.iter().enumerate().find_map(|(at, word)| {
        let target = match (*word, words.get(at + 1)?) {
            ("into", name) => name,
            ("update", name) if words.get(at.wrapping_sub(1)) != Some(&"for") => match *name {
                "only" | "or" => words.get(at + if *name == "or" { 3 } else { 2 })?,
                _ => name,
            },
            ("from", name) if words.get(at.wrapping_sub(1)) == Some(&"delete") => match *name {
                "only" => words.get(at + 2)?,
                _ => name,
            },
            _ => return None,
        };
        TABLES.iter().find(|table| *table == target).copied()
    })
}

#[cfg(test)]
mod tests {
    use super::super::examples::{found, refuses};
    use super::*;

    #[test]
    fn twins_say_why_they_differ() {
        let said = "-- Differs from SQLite: arrays.\nSELECT 1";
        let pair = |text| found(twins, &[("s/a.sqlite.sql", said), ("s/a.postgres.sql", text)]);
        assert_eq!(pair(said), []);
        assert_eq!(pair("SELECT 1 -- Differs from SQLite: too late").len(), 1);
        assert_eq!(found(twins, &[("s/a.sqlite.sql", said)]).len(), 1);
        assert_eq!(
            found(twins, &[("s/a.sqlite.sql", said), ("s/a.postgres.sql", said), ("s/a.sql", "")]).len(),
            2
        );
    }

    #[test]
    fn a_literal_number_is_no_column_for_postgres() {
        refuses(literals, ("s/a.sql", "-- Whether.\nSELECT 1 FROM a"), ("s/a.sql", "SELECT a.id FROM a"));
        refuses(literals, ("s/a.postgres.sql", "SELECT 1 FROM a"), ("s/a.postgres.sql", "SELECT 1::bigint"));
        assert_eq!(found(literals, &[("s/a.sqlite.sql", "SELECT 1 FROM a")]), []);
    }

    #[test]
    fn a_writing_statement_names_its_move() {
        let bad = ("s/a.sql", "-- Marks it.\nUPDATE job SET state = 'x'");
        refuses(moves, bad, ("s/a.sql", "-- Marks it.\n-- move: job Start\nUPDATE job SET state = 'x'"));
        let bad = ("s/a.sql", "WITH a AS (DELETE FROM document WHERE x) SELECT 1");
        refuses(moves, bad, ("s/a.sql", "-- no move: counts only\nDELETE FROM document"));
        let bad = ("s/a.sql", "-- no move:\nINSERT OR IGNORE INTO queue(a) VALUES ($1)");
        refuses(moves, bad, ("s/a.sql", "SELECT a FROM job FOR UPDATE"));
        refuses(moves, ("s/a.sql", "UPDATE OR IGNORE queue SET a = 1"), ("s/a.sql", "UPDATE jobs SET a = 1"));
        assert_eq!(found(moves, &[("crates/store/migrations/1.sql", "UPDATE job SET a = 1")]), []);
    }
}
