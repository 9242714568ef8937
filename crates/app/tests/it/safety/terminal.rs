//! Nothing that a document, a name or an argument says is an order to a terminal.

use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use crate::sandbox::{Answer, Sandbox, finish};

/// That no character of an answer is an order, wherever it went.
#[track_caller]
fn harmless(answer: Answer) -> Answer {
    for text in [&answer.out, &answer.err] {
        let order = text.chars().find(|c| {
            (c.is_control() && *c != '\n' && *c != '\t')
                || matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{2028}' | '\u{2029}')
                || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
        });
        assert_eq!(order, None, "{answer:#?}");
    }
    answer
}

/// Documents whose titles, names, fields and texts are full of orders; each has the word `orders`.
fn hostile() -> Sandbox {
    let sandbox = Sandbox::sqlite();
    sandbox.write("m.md", "# Head\u{1b}[2J\u{9b}31m\u{202e}dlrow\n\norders\u{1b}]52;c;x\u{7}\n");
    sandbox.write("r.rtf", "{\\rtf1{\\info{\\title a\\u155?b}{\\author c\\u155?d}}orders \\u155?x}");
    sandbox.write("m.eml", "Subject: =?UTF-8?Q?s=C2=9B2J?=\nFrom: a@example.org\n\norders\n");
    sandbox.write("photo-\u{202e}gpj.txt", "orders\u{2028}next");
    sandbox.write("page.html", "<title>t&#155;&#27;&#8238;u</title><p>orders&#x202e;x</p>");
    sandbox
}

#[test]
fn a_person_reads_titles_and_names_without_orders() {
    let sandbox = hostile();
    harmless(sandbox.run(&["sync", "root"]).exits(0));
    let found = harmless(sandbox.run(&["search", "orders", "--all", "--facets"]).exits(0));
    assert!(found.err.contains("5 of 5 found"), "{found:?}");
    assert!(found.out.contains("Head"), "{found:?}");
    assert!(found.out.contains("photo-\\xE2\\x80\\xAEgpj.txt"), "{found:?}");
    for command in [
        &["document", "list", "root"][..],
        &["document", "explain", "root", "m.md"],
        &["job", "show", "root"],
        &["pipeline", "try", "root", "m.md"],
        &["-v", "doctor"],
    ] {
        harmless(sandbox.run(command));
    }
    // What is read can be typed.
    let told =
        sandbox.run(&["document", "explain", "root", "photo-\\xE2\\x80\\xAEgpj.txt", "--json"]).exits(0);
    assert_eq!(told.json()[0]["document"], "photo-\u{202e}gpj.txt");
}

#[test]
fn a_program_reads_what_is_there() {
    let sandbox = hostile();
    sandbox.synced(&[]);
    let found = harmless(sandbox.run(&["search", "orders", "--all", "--json"]).exits(0));
    assert!(found.documents().contains(&"photo-\u{202e}gpj.txt".to_owned()), "{found:?}");
    let exported = harmless(sandbox.run(&["export"]).exits(0));
    serde_json::from_str::<serde_json::Value>(&exported.out).unwrap();
}

#[test]
fn names_of_files_that_are_extracted_are_shown_as_names_are_written() {
    let sandbox = hostile();
    let name = std::ffi::OsStr::from_bytes(b"x\x1b[2J\ny\xff.txt");
    std::fs::write(sandbox.root().join(name), "words").unwrap();
    let mut command: Command = sandbox.command(&["extract"]);
    command.arg(sandbox.root().join(name)).arg(sandbox.root().join("m.md")).arg("no\x1b[2Jthing");
    let answer = harmless(finish(command, None).exits(1));
    assert!(answer.out.contains("x\\x1B[2J\\x0Ay\\xFF.txt"), "{answer:?}");
    assert!(answer.err.contains("no\\x1B[2Jthing cannot be read"), "{answer:?}");
}

#[test]
fn what_was_typed_is_repeated_without_orders() {
    let sandbox = hostile();
    sandbox.synced(&[]);
    for arguments in [
        &["job", "show", "\u{1b}[2J\u{202e}x\ny"][..],
        &["sync", "no\u{1b}where"],
        &["search", "\u{9b}field:x"],
        &["\u{9b}2J"],
        &["search", "x", "--sort\u{202e}", "y"],
        &["sync", "root", "--to", "\u{1b}]0;t\u{7}"],
        &["why", "\u{1b}ann", "m.md"],
    ] {
        let answer = harmless(sandbox.run(arguments));
        assert!((answer.out.clone() + &answer.err).contains("\\x"), "{arguments:?}: {answer:?}");
    }
}
