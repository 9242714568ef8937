//! The lifecycles as one page for people: drawings, tables with reasons, and the translation into ManifoldCF's names.

use std::fmt::{Display, Write};

use super::arrows::{self, Arrows, Way};
use super::steps::{DocumentChange, JobChange};
use super::{Actor, Move, Since, channel, document, job, rules};

/// The text of `docs/generated/lifecycle.md`.
pub fn markdown() -> String {
    let mut page = String::from(
        "# Lifecycles\n\nGenerated from `crates/model/src/lifecycle.rs`; do not edit.\n\nA row marked *later* is \
         decided, but the service that acts is not there yet.\n",
    );
    table(&mut page, "Jobs", job::MOVES, job::State::Gone);
    words(&mut page, "job", JobChange::WORDS);
    table(&mut page, "Documents", document::MOVES, document::State::Gone);
    words(&mut page, "document", DocumentChange::WORDS);
    table(&mut page, "Channels", channel::MOVES, channel::State::Gone);
    line(&mut page, "\n## In ManifoldCF's names\n");
    line(
        &mut page,
        "Each arrow below is allowed; the proof in `crates/model/src/lifecycle/arrows/proof.rs` shows that nothing of ours \
                     leaves them and that each can be taken.\n",
    );
    theirs(&mut page, "Jobs, as the book draws them", arrows::JOB_BOOK);
    theirs(&mut page, "Jobs, only in the program", arrows::JOB_PROGRAM);
    at_once(&mut page, "Jobs, several arrows in one transaction", arrows::JOB_WAYS);
    theirs(&mut page, "Documents, as the book draws them", arrows::DOCUMENT_BOOK);
    theirs(&mut page, "Documents, only in the program or the design", arrows::DOCUMENT_PROGRAM);
    at_once(&mut page, "Documents, several arrows in one transaction", arrows::DOCUMENT_WAYS);
    page
}

fn table<S: Copy + Eq + Display, E: Display>(page: &mut String, title: &str, moves: &[Move<S, E>], gone: S) {
    let (lived, planned) = rules::lived_and_planned(moves);
    line(
        page,
        &format!(
            "\n## {title}\n\n{} moves: {lived} now, {planned} later.\n\n```mermaid\nstateDiagram-v2",
            moves.len()
        ),
    );
    let end = |state: S| if state == gone { "[*]".to_owned() } else { state.to_string() };
    for row in moves {
        for from in row.from {
            line(page, &format!("    {} --> {}: {}", end(*from), end(row.to), row.on));
        }
    }
    line(page, "```\n\n| From | On | To | By | Why | Since |\n|---|---|---|---|---|---|");
    for row in moves {
        let from: Vec<String> = row.from.iter().map(S::to_string).collect();
        let by: Vec<&str> = row.by.iter().map(|actor: &Actor| actor.as_str()).collect();
        let since = match row.since {
            Since::Now => "now",
            Since::Later => "later",
        };
        let (from, by) = (from.join(", "), by.join(", "));
        line(page, &format!("| {from} | {} | {} | {by} | {} | {since} |", row.on, row.to, row.why));
    }
}

fn words(page: &mut String, of: &str, words: &[&str]) {
    line(page, &format!("\nFacts of a {of} change beside its state: `{}`.", words.join("`, `")));
}

fn theirs<S: Copy + Display>(page: &mut String, title: &str, lines: &[Arrows<S>]) {
    line(page, &format!("### {title}\n\n| Source | When | Arrows |\n|---|---|---|"));
    let name = |state: Option<S>| state.map_or("–".to_owned(), |state| state.to_string());
    for entry in lines {
        let drawn: Vec<String> =
            entry.each().map(|(from, to)| format!("{} → {}", name(from), name(to))).collect();
        line(page, &format!("| {} | {} | {} |", entry.id, entry.what, drawn.join(", ")));
    }
    line(page, "");
}

fn at_once<S: Display, T: Display>(page: &mut String, title: &str, ways: &[Way<S, T>]) {
    line(page, &format!("### {title}\n\n| Step | May pass | Why |\n|---|---|---|"));
    for way in ways {
        let through: Vec<String> = way.through.iter().map(S::to_string).collect();
        line(page, &format!("| {} | {} | {} |", way.on, through.join(", "), way.why));
    }
    line(page, "");
}

fn line(page: &mut String, text: &str) {
    writeln!(page, "{text}").expect("writing into a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_shows_every_row_every_reason_and_every_line_of_the_book() {
        let page = markdown();
        for row in job::MOVES {
            assert!(page.contains(row.why), "{}", row.why);
        }
        for row in channel::MOVES {
            assert!(page.contains(row.why), "{}", row.why);
        }
        for row in document::MOVES {
            let from = row.from[0];
            if from != document::State::Gone && row.to != document::State::Gone {
                assert!(page.contains(&format!("    {from} --> {}: {}\n", row.to, row.on)), "{}", row.on);
            }
        }
        assert!(page.contains("    [*] --> waiting: meet\n"));
        assert!(page.contains("| S3.72 |") && page.contains("ABORTINGFORRESTART → READYFORSTARTUP"));
        assert!(page.contains("| S3.68 | no document is left | DELETING → – |"));
    }

    /// A cell with a bar or a line break would tear its table.
    #[test]
    fn every_table_row_has_as_many_cells_as_its_head() {
        let page = markdown();
        let mut head = 0;
        for line in page.lines() {
            let cells = line.matches('|').count();
            if !line.starts_with('|') {
                head = 0;
            } else if head == 0 {
                head = cells;
            }
            assert!(head == 0 || cells == head, "{line}");
        }
    }
}
