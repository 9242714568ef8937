//! What the program says: help in one form, hints for what people try, no parser's own words, colors only where wanted, names
//! in any bytes, and a manual whose sentences are those of the program.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use crate::files;
use crate::people::{Person, ordinary};
use crate::sandbox::{Answer, Sandbox, finish};

/// Words of parsers and libraries.
const NOT_OURS: [&str; 29] = [
    "unexpected argument",
    "unexpected value",
    "unrecognized",
    "invalid value",
    "subcommand",
    "similar",
    "cannot be used with",
    "multiple times",
    "requires",
    "tip:",
    "error:",
    "try '",
    "Usage",
    "were not provided",
    "none was supplied",
    "possible values",
    "parsing glob",
    "'-- ",
    "invalid digit",
    "invalid type",
    "expected one of",
    "unknown field",
    "unknown variant",
    "length is",
    "invalid UTF-8",
    "panicked",
    "os error 2)",
    "serde",
    "cksum",
];

fn synced() -> Sandbox {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple pie");
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    sandbox
}

/// Every command with the words that lead to it, found in the help itself.
fn commands(sandbox: &Sandbox) -> Vec<Vec<String>> {
    let mut found = vec![Vec::new()];
    let mut at = 0;
    while let Some(words) = found.get(at).cloned() {
        at += 1;
        let help = help(sandbox, &words);
        let listed = help.out.split("Commands:\n").nth(1).unwrap_or_default();
        for line in listed.lines().take_while(|line| !line.is_empty()) {
            let name = line.trim_start().split(' ').next().unwrap();
            if line.starts_with("  ") && !line.starts_with("   ") && name != "help" {
                found.push([words.clone(), vec![name.to_owned()]].concat());
            }
        }
    }
    found
}

fn help(sandbox: &Sandbox, words: &[String]) -> Answer {
    let mut arguments: Vec<&str> = words.iter().map(String::as_str).collect();
    arguments.push("--help");
    finish(sandbox.plain(&arguments), None).exits(0)
}

#[test]
fn each_help_has_exit_codes_and_the_global_options_at_its_end() {
    let sandbox = Sandbox::sqlite();
    let all = commands(&sandbox);
    assert!(all.len() > 20, "{all:?}");
    for words in all {
        let help = help(&sandbox, &words).out;
        assert!(help.contains("Exit codes: "), "{words:?}: no exit codes in {help}");
        let global = help.find("Global options:\n").unwrap_or_else(|| panic!("{words:?}: {help}"));
        for option in ["--data <DIR>", "--store <URL>", "--json", "--quiet", "--verbose", "--threads <N>"] {
            let own = help[global..].lines().take_while(|line| !line.starts_with("Example"));
            let among = own.filter(|line| line.contains(option)).count();
            assert_eq!(among, 1, "{words:?}: {option} is not among them");
            let before = help[..global].lines().filter(|line| line.trim_start().starts_with(option));
            assert_eq!(before.count(), 0, "{words:?}: {option} stands among others");
        }
        // A line that is cut in the middle of a sentence was longer than the terminal.
        let own = &help[global..];
        let examples = own.find("Example").unwrap_or_else(|| panic!("{words:?}: no example"));
        for (line, next) in own[examples..].lines().zip(own[examples..].lines().skip(1)) {
            let cut = line.len() > 80 && !next.is_empty() && next.split(' ').count() == 1;
            assert!(!cut, "{words:?}: a line is too long: {line}");
        }
    }
}

#[test]
fn commands_of_other_programs_lead_to_those_of_this_one() {
    let sandbox = Sandbox::sqlite();
    let cases = [
        ("ls", "ingather job list"),
        ("list", "ingather job list"),
        ("info", "ingather status"),
        ("index", "ingather sync FOLDER"),
        ("check", "ingather verify"),
        ("query", "ingather search"),
        ("version", "ingather --version"),
        ("rm", "ingather job delete"),
        ("explain", "ingather document explain JOB DOCUMENT"),
        ("locate", "ingather search"),
        ("reindex", "ingather sync FOLDER"),
    ];
    for (typed, words) in cases {
        sandbox.run(&[typed, "x"]).refuses(2, &[&format!("there is no command `{typed}`"), words]);
    }
}

#[test]
fn arguments_of_other_programs_lead_to_those_of_this_one() {
    let sandbox = synced();
    let cases: [(&[&str], &[&str]); 8] = [
        (&["search", "pie", "--user", "ann"], &["no `--user`", "--as USER"]),
        (&["search", "pie", "--user=ann"], &["no `--user`", "--as USER"]),
        (&["sync", "-a"], &["no `-a`", "`--all`"]),
        (&["sync", "root", "other"], &["one argument too many", "one folder or file at a time"]),
        (&["sync", "root", "-n"], &["no `-n`", "--dry-run"]),
        (&["sync", "root", "-r"], &["no `-r`", "everything below it"]),
        (&["verify", "--fix"], &["no `--fix`", "--repair"]),
        (&["document", "list", "root", "--user", "ann"], &["no `--user`", "ingather why"]),
    ];
    for (arguments, words) in cases {
        sandbox.run(arguments).refuses(2, words);
    }
    let unknown = sandbox.run(&["search", "pie", "--nonsense"]).exits(2);
    assert!(unknown.err.contains("--nonsense"), "{unknown:?}");
}

#[test]
fn one_of_something_is_not_called_several() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple pie");
    std::fs::write(sandbox.root().join("cut.pdf"), "%PDF-1.7 and nothing else").unwrap();
    files::settle(&sandbox.root());
    let synced = sandbox.run(&["sync", "root"]).exits(0);
    assert!(synced.out.contains("; 1 not read in full"), "{synced:?}");
    assert!(synced.err.contains("1 document could not be read in full."), "{synced:?}");
    files::remove(&sandbox.root().join("cut.pdf"));
    files::settle(&sandbox.root());
    sandbox.run(&["sync", "root"]).exits(0);
    let verified = sandbox.run(&["verify"]).exits(0);
    assert!(verified.out.contains("index: 1 entry held, 1 expected: 0 missing"), "{verified:?}");
    assert!(!verified.out.contains("deliveries"), "{verified:?}");
    let counted = sandbox.run(&["job", "delete", "root", "--dry-run"]).exits(0);
    assert!(counted.out.contains("1 document would be removed"), "{counted:?}");
    std::fs::remove_dir_all(sandbox.data().join("index")).unwrap();
    assert!(sandbox.run(&["doctor"]).exits(1).err.contains("1 problem found"));
}

#[test]
fn a_user_called_nobody_is_told_from_no_person() {
    let sandbox = synced();
    let seen = sandbox.run(&["why", "nobody", "a.txt"]).exits(0);
    assert!(seen.out.starts_with("user nobody may"), "{seen:?}");
    let absent = sandbox.run(&["why", "nobody", "none.txt"]).exits(0);
    assert!(absent.out.starts_with("user nobody cannot find `none.txt`"), "{absent:?}");
}

#[test]
fn one_word_is_used_for_what_is_done() {
    let sandbox = synced();
    let help = sandbox.run(&["document", "list", "--help"]).exits(0).out;
    assert!(help.contains("done") && !help.contains("settled"), "{help}");
    assert!(help.contains("Left out, each with its reason"), "{help}");
    let listed = sandbox.run(&["document", "list", "root", "--state", "done"]).exits(0);
    assert!(listed.out.starts_with("done "), "{listed:?}");
    assert_eq!(sandbox.run(&["document", "list", "root", "--state", "settled"]).exits(0).out, listed.out);
}

#[test]
fn who_may_not_enter_a_data_directory_is_sent_to_its_owner() {
    ingather_testkit::needs!(Users);
    let sandbox = synced();
    let ordinary = Person::named(ordinary());
    for command in [&["search", "pie"][..], &["job", "list"], &["doctor"], &["verify"], &["sync", "root"]] {
        sandbox.run_as(&ordinary, command).refuses(3, &["is not yours to read", "ask its owner", "--data"]);
    }
}

#[test]
fn what_is_typed_wrongly_is_answered_in_own_words() {
    let sandbox = synced();
    std::fs::write(
        sandbox.path().join("bad.toml"),
        "[[stages]]\ntransform = \"limit\"\nsettings = { characters = \"ten\" }\n",
    )
    .unwrap();
    std::fs::write(
        sandbox.path().join("odd.toml"),
        "[[stages]]\ntransform = \"limit\"\nsettings = { size = 1 }\n",
    )
    .unwrap();
    std::fs::write(sandbox.path().join("key.toml"), "[[stage]]\ntransform = \"text\"\n").unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["search", "a", "--limit", "x"], "whole number from 0 to 10000"),
        (&["search", "a", "--limit", "-1"], "whole number from 0 to 10000"),
        (&["search", "a", "--offset", "1.5"], "whole number from 0 to 1000000"),
        (&["search", "a", "--sort", "colour"], "cannot sort by `colour`"),
        (&["job", "runs", "root", "--limit", "0"], "whole number from 1 to 1000"),
        (&["job", "confirm", "root", "--run", "x"], "whole number"),
        (&["--threads", "zero", "job", "list"], "whole number from 1 to 256"),
        (&["sync", "root", "--size-max", "10xb"], "500kB, 20MB or 1GiB"),
        (&["sync", "root", "--size-max", "0"], "500kB, 20MB or 1GiB"),
        (&["sync", "root", "--to", "journal:", "--name", "j"], "journal:FILE"),
        (&["sync", "root", "--to", "index:foo", "--name", "j"], "takes no file"),
        (
            &["sync", "root", "--pipeline", "bad.toml", "--update"],
            "`characters` must be a whole number, 0 or more",
        ),
        (&["sync", "root", "--pipeline", "key.toml", "--update"], "in a list `stages`"),
        (&["sync", "root", "--pipeline", "odd.toml", "--update"], "`size` is no setting; there are"),
        (&["restore", "root/a.txt", "--data", "new"], "is no backup, or is damaged"),
        (&["document", "explain", "root", ""], "is not a valid name of a document"),
        (&["document", "explain", "root"], "<DOCUMENT> is missing; see `ingather document explain --help`"),
        (&["job", "confirm", "root"], "--run <N> is missing; see `ingather job confirm --help`"),
        (&["sync", ""], "[SOURCE] needs a value"),
        (&["sync", "root", "--keep", "all"], "--keep cannot be `all`; it takes extracted or nothing"),
        (&["sync", "root", "--size-max", "-1"], "500kB, 20MB or 1GiB"),
        (&["sync", "root", "--exclude", ""], "--exclude takes a pattern such as '*.log'"),
        (
            &["sync", "root", "--exclude", "["],
            "--exclude: pattern `[` cannot be used: its `[` is not closed by a `]`",
        ),
        (&["sync", "root", "--include", "a{b", "--update"], "pattern `a{b` cannot be used: its `{`"),
        (&["sync", "root", "--include", "!a"], "cannot take others back with `!`"),
        (&["extract", "nothing.txt"], "nothing.txt cannot be read: it does not exist"),
        (&["journal", "snapshot", "nothing.jsonl"], "it does not exist; name a journal"),
        (&["sync", "root", "--pipeline", "nothing.toml"], "it does not exist; name a text file with stages"),
        (&["restore", "nothing.tar", "--data", "new"], "nothing.tar: it does not exist; check the path"),
    ];
    for (arguments, words) in cases {
        let plain = arguments.contains(&"--data");
        let answer = if plain { finish(sandbox.plain(arguments), None) } else { sandbox.run(arguments) };
        assert!(matches!(answer.code, 2 | 3) || arguments[0] == "extract", "{arguments:?}: {answer:?}");
        assert_ne!(answer.code, 0, "{arguments:?}: {answer:?}");
        assert!(answer.err.contains(words), "`{words}` is not in the answer to {arguments:?}: {answer:?}");
        for word in NOT_OURS {
            assert!(!answer.err.contains(word), "{arguments:?}: {answer:?}");
        }
    }
    // Nothing of another file is printed.
    std::fs::write(sandbox.path().join("secret"), "root:x:0:0:root:/root:/bin/bash\n".repeat(100)).unwrap();
    let refused = finish(sandbox.plain(&["--data", "new", "restore", "secret"]), None).exits(3);
    assert!(!refused.err.contains("/bin/bash") && refused.err.lines().count() == 1, "{refused:?}");
}

#[test]
fn flags_are_taken_back_and_sizes_take_units() {
    let sandbox = synced();
    sandbox.write("b.log", "banana");
    sandbox.write(".hidden/c.txt", "cherry");
    sandbox.write("large.txt", &"x".repeat(30_000));
    files::settle(&sandbox.root());
    let narrow =
        ["--exclude", "*.log", "--include", "*.*", "--skip-hidden", "--ignore-files", "--size-max", "20kB"];
    sandbox.synced(&[&narrow[..], &["--compare-content", "--update"]].concat());
    assert_eq!(sandbox.everything(), ["a.txt"]);
    let refused = sandbox.run(&["sync", "root", "--no-exclude"]).exits(2);
    assert!(refused.err.contains("exclude: *.log → none"), "{refused:?}");
    let wide = [
        "no-exclude",
        "no-include",
        "no-skip-hidden",
        "no-ignore-files",
        "no-size-max",
        "no-compare-content",
    ];
    let wide: Vec<String> = wide.iter().map(|flag| format!("--{flag}")).collect();
    let flags: Vec<&str> = wide.iter().map(String::as_str).chain(["--update"]).collect();
    sandbox.synced(&flags);
    assert_eq!(sandbox.everything(), [".hidden/c.txt", "a.txt", "b.log", "large.txt"]);
    let job = &sandbox.run(&["job", "show", "root", "--json"]).exits(0).json()[0];
    let root = sandbox.root().display().to_string();
    assert_eq!(
        job["definition"]["source"],
        serde_json::json!({ "root": root }),
        "as if they had never been given"
    );
    sandbox.run(&["sync", "root", "--exclude", "x", "--no-exclude"]).exits(2);
}

#[test]
fn names_in_any_bytes_are_accepted_as_a_shell_completes_them() {
    let sandbox = Sandbox::sqlite();
    let names: [&[u8]; 3] = [b"non-utf8-\xff.txt", b"two\nlines.txt", b"plain.txt"];
    for name in names {
        std::fs::write(sandbox.root().join(OsStr::from_bytes(name)), "words").unwrap();
    }
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    for name in names {
        for command in [&["document", "explain", "root"][..], &["why", "root"], &["pipeline", "try", "root"]]
        {
            let mut raw = sandbox.command(command);
            raw.arg(OsStr::from_bytes(name));
            let answer = finish(raw, None).exits(0);
            assert!(!answer.out.contains("is not there"), "{command:?} {name:?}: {answer:?}");
        }
    }
}

#[test]
fn a_backup_goes_through_a_pipe() {
    let sandbox = synced();
    let program = env!("CARGO_BIN_EXE_ingather");
    let line = "set -o pipefail; \"$0\" --data data backup - | \"$0\" --data new restore -";
    let mut command = Command::new("bash");
    command.args(["-c", line, program]).current_dir(sandbox.path());
    finish(command, None).exits(0);
    let found =
        finish(sandbox.plain(&["--data", "new", "search", "apple", "--all", "--json"]), None).exits(0);
    assert_eq!(found.documents(), ["a.txt"]);
    assert!(!sandbox.path().join("-").exists());
}

#[test]
fn colors_are_left_out_where_nobody_wants_them() {
    let sandbox = synced();
    let program = env!("CARGO_BIN_EXE_ingather");
    let on_terminal = |name: &str, value: &str| {
        let mut terminal = Command::new("script");
        terminal.args(["-qec", &format!("'{program}' --data data search apple --all"), "/dev/null"]);
        terminal.env("TERM", "xterm").env_remove("NO_COLOR").env_remove("CLICOLOR").env(name, value);
        terminal.current_dir(sandbox.path());
        finish(terminal, None).exits(0).out
    };
    assert!(on_terminal("LANG", "C").contains("\x1b[1m"), "a terminal that takes colors gets them");
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb"), ("CLICOLOR", "0")] {
        let told = on_terminal(name, value);
        assert!(told.contains("apple") && !told.contains('\x1b'), "{name}={value}: {told:?}");
    }
}

/// All texts of the program, as one line each.
fn texts(folder: &Path, into: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            texts(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(path).unwrap();
            for line in text.lines() {
                // A text that goes on in the next line.
                into.push_str(line.trim_start().trim_end_matches('\\'));
                if !line.ends_with('\\') {
                    into.push('\n');
                }
            }
        }
    }
}

#[test]
fn the_manual_quotes_the_sentences_of_the_program() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut texts_of_program = String::new();
    for part in std::fs::read_dir(crates).unwrap().map(Result::unwrap) {
        texts(&part.path().join("src"), &mut texts_of_program);
    }
    let page = crates.parent().unwrap().join("docs/manual/troubleshooting.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut quoted = 0;
    for line in page.lines().filter_map(|line| line.strip_prefix("| `")) {
        let Some((sentence, _)) = line.split_once("` |") else { continue };
        quoted += 1;
        for fragment in sentence.split('…').map(str::trim).filter(|fragment| fragment.len() > 3) {
            assert!(texts_of_program.contains(fragment), "the program nowhere says `{fragment}`");
        }
    }
    assert!(quoted > 40, "only {quoted} sentences are quoted");
}

#[test]
fn wrong_arguments_are_said_in_one_sentence_that_says_where_to_look() {
    let sandbox = Sandbox::sqlite();
    for (command, words) in [
        (&["sync"][..], &["ingather: ", "<SOURCE>", "; see `ingather sync --help`"][..]),
        (&["job", "confirm", "a"], &["--run <N>", "; see `ingather job confirm --help`"]),
        (
            &["sync", "root", "--exlude", "x"],
            &["no `--exlude` of `ingather sync`; did you mean `--exclude`?"],
        ),
        (
            &["sync", "root", "--no-exclude", "--exclude-from", "x"],
            &["--no-exclude does not go together with --exclude-from; leave one of them out"],
        ),
        (&["search", "a", "--all", "--as", "x"], &["--all does not go together with --as"]),
        (&["sync", "root", "--name", "a", "--name", "b"], &["--name is given more than once"]),
        (
            &["sync", "root", "--threads", "many"],
            &["--threads cannot be `many`: it must be a whole number from 1 to 256"],
        ),
        (&["sync", "root", "--keep"], &["--keep <extracted|nothing> needs a value"]),
        (&["sync", "root", "--keep", "extractd"], &["cannot be `extractd`; did you mean `extracted`?"]),
        (
            &["completions", "dos"],
            &["<SHELL> cannot be `dos`; it takes bash, elvish, fish, powershell or zsh; see "],
        ),
        (&["job", "list", "--json=3"], &["--json takes no value; leave `=3` out"]),
        (&["sync", "root", "--facets"], &["no `--facets` of `ingather sync`; `ingather search` has it"]),
        (&["search", "apple", "-pie"], &["no `-p` of `ingather search`", "as QUERY, type it behind `--`"]),
        (&["job", "list", "a"], &["`a` is one argument too many for `ingather job list`; see "]),
        (&["serch"], &["no command `serch`; did you mean `ingather search`?"]),
        (&["job", "lst"], &["no command `lst` behind `ingather job`; did you mean `ingather job list`?"]),
        (&["xyzzy"], &["no command `xyzzy`; there is sync, search, job,"]),
        (&["job", "help", "xyzzy"], &["no command `xyzzy` behind `ingather job`; there is list, show,"]),
        (&[], &["`ingather` needs a command behind it: sync, search, job,", "; see `ingather --help`"]),
        (&["job", "--json"], &["`ingather job` needs a command behind it: list, show,"]),
    ] {
        let answer = sandbox.run(command);
        for word in NOT_OURS {
            assert!(!answer.err.contains(word), "{command:?}: {answer:?}");
        }
        answer.refuses(2, words);
    }
    let mut raw = sandbox.command(&["job", "show"]);
    raw.arg(OsStr::from_bytes(b"a\xff"));
    finish(raw, None).refuses(2, &["`a\\xFF` is no text in UTF-8", "; see `ingather job show --help`"]);
}

/// Whatever is typed behind whatever command: the mistakes that there are, each behind all of them.
#[test]
fn no_command_answers_a_wrong_argument_in_the_words_of_a_library() {
    let sandbox = Sandbox::sqlite();
    for words in commands(&sandbox) {
        let shown = ["ingather".to_owned()].iter().chain(&words).cloned().collect::<Vec<_>>().join(" ");
        let tries: [&[&[u8]]; 9] = [
            &[b"--nonsense"],
            &[b"--jso"],
            &[b"-?"],
            &[b"--json=yes"],
            &[b"--data"],
            &[b"--threads", b"many"],
            &[b"--quiet", b"--verbose"],
            &[b"--store", b"a", b"--store", b"b"],
            &[b"a", b"b", b"c", b"d", b"--nonsense=\xff"],
        ];
        for typed in tries {
            let mut command = sandbox.plain(&words.iter().map(String::as_str).collect::<Vec<_>>());
            command.args(typed.iter().map(|word| OsStr::from_bytes(word)));
            let answer = finish(command, None).exits(2);
            assert!(
                answer.out.is_empty() && answer.err.lines().count() == 1,
                "{shown} {typed:?}: {answer:?}"
            );
            assert!(answer.err.starts_with("ingather: "), "{shown} {typed:?}: {answer:?}");
            for word in NOT_OURS {
                assert!(!answer.err.contains(word), "{shown} {typed:?}: {answer:?}");
            }
            // What is to be typed instead, or where that stands.
            let next = ["; see `ingather", "; did you mean `", "; there is ", "run `ingather"];
            assert!(next.iter().any(|next| answer.err.contains(next)), "{shown} {typed:?}: {answer:?}");
        }
    }
}

#[test]
fn what_an_ordinary_first_hour_meets_names_what_was_typed() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("sub/a.txt", "wombat");
    sandbox.synced(&[]);
    // No flag makes an output of it.
    sandbox
        .run(&["sync", "root", "--to", "index:foo"])
        .refuses(2, &["`index:foo` cannot be", "write `index`"]);
    sandbox.run(&["backup", "nowhere/x.tar"]).refuses(3, &["ingather: nowhere/x.tar: ", "check the path"]);
    let folder = sandbox.run(&["document", "explain", "root", "sub"]).exits(0);
    assert!(
        folder.out.contains("is a folder, not a file") && !folder.out.contains("there is nothing at"),
        "{folder:?}"
    );
}
