//! `cargo x mutants CRATE [FILE…]`: changes the files that decide, one small change at a time, and tells which of these mutants the
//! crate's own tests do not catch. Each survivor needs a test, or a line with its reason in docs/mutants.tsv.

use std::path::Path;
use std::process::Command;

/// The accepted survivors.
const LIST: &str = "docs/mutants.tsv";

/// The files of a crate that decide: a wrong word in one of them loses documents, or shows them to the wrong people.
struct Deciding {
    /// The crate's folder below `crates`.
    name: &'static str,
    /// Its tests need a PostgreSQL.
    postgres: bool,
    /// Paths below its `src`.
    files: &'static [&'static str],
}

const DECIDING: &[Deciding] = &[
    Deciding {
        name: "model",
        postgres: false,
        files: &[
            "access/mod.rs",
            "access/identity.rs",
            "decision.rs",
            "guard.rs",
            "merge.rs",
            "retry.rs",
            "scope.rs",
        ],
    },
    Deciding {
        name: "engine",
        postgres: true,
        files: &[
            "containers/looks.rs",
            "containers/mod.rs",
            "containers/openings.rs",
            "delivery/in_flight.rs",
            "delivery/next_owner.rs",
            "delivery/ownership.rs",
            "delivery/removal.rs",
            "delivery/sender.rs",
            "delivery/sender/told.rs",
            "sweep.rs",
            "visit/completion.rs",
        ],
    },
];

/// What is to be tried.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Trial {
    /// The crate's folder below `crates`.
    name: String,
    /// Files from the workspace's folder on, sorted.
    files: Vec<String>,
    /// All deciding files of the crate, and not some that were named.
    whole: bool,
}

/// A mutant that survived, or a line about one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mutant<'a> {
    /// File from the workspace's folder on.
    file: &'a str,
    /// The change, as cargo-mutants words it.
    change: &'a str,
    /// The line from the changed place to its end: unlike a number, it stays when other lines come and go.
    code: &'a str,
}

/// Reads what is wanted; refuses with one sentence what cannot be tried.
pub(crate) fn read(root: &Path, words: &[&str]) -> Result<Trial, String> {
    let trial = wanted(root, words)?;
    let version = Command::new("cargo").args(["mutants", "--version"]).current_dir(root).output();
    if !version.is_ok_and(|output| output.status.success()) {
        return Err(
            "cargo-mutants is not installed: run `cargo install cargo-mutants --locked`, then this again"
                .to_owned(),
        );
    }
    Ok(trial)
}

/// Tries the mutants and compares the survivors with the accepted ones.
pub(crate) fn run(root: &Path, trial: &Trial) -> Result<String, String> {
    let accepted = read_text(root, LIST)?;
    let accepted = accepted_survivors(&accepted)?;
    let results = try_all(root, trial)?;
    let mutants = |kind: &str| read_text(&results, &format!("{kind}.txt"));
    let (missed, caught, hung) = (mutants("missed")?, mutants("caught")?, mutants("timeout")?);
    let texts: Vec<(&str, String)> = trial
        .files
        .iter()
        .map(|file| Ok((file.as_str(), read_text(root, file)?)))
        .collect::<Result<_, String>>()?;
    let survivors = survivors(&missed, &texts)?;
    let (caught, hung) = (caught.lines().count(), hung.lines().count());
    let figures = format!(
        "mutants: {} in {}, of them caught {caught}, caught because tests never end {hung}, survived {}",
        caught + hung + survivors.len(),
        trial.name,
        survivors.len()
    );
    match compare(trial, &survivors, &accepted) {
        differences if differences.is_empty() => Ok(format!("{figures}, each with its reason in {LIST}")),
        differences => Err(format!("{}\n{figures}", differences.join("\n"))),
    }
}

/// The crate and its files, as the command line names them.
fn wanted(root: &Path, words: &[&str]) -> Result<Trial, String> {
    let known = || DECIDING.iter().map(|deciding| deciding.name).collect::<Vec<_>>().join(", ");
    let Some((name, files)) = words.split_first() else {
        return Err(format!("say which crate: cargo x mutants CRATE [FILE...]; CRATE = {}", known()));
    };
    let name = name.strip_prefix("ingather-").unwrap_or(name);
    let sources = format!("crates/{name}/src/");
    let deciding = DECIDING.iter().find(|deciding| deciding.name == name).map(|deciding| deciding.files);
    let (chosen, whole) = match deciding {
        Some(deciding) if files.is_empty() => (deciding, true),
        None if files.is_empty() => {
            return Err(format!(
                "the deciding files of `{name}` are not listed: take one of {}, or name files",
                known()
            ));
        }
        _ => (files, false),
    };
    let mut paths = Vec::new();
    for file in chosen {
        let path = if file.starts_with(&sources) { (*file).to_owned() } else { format!("{sources}{file}") };
        if !path.ends_with(".rs") || !root.join(&path).is_file() {
            return Err(format!(
                "there is no file {path}: name files of `{name}` by their path below {sources}"
            ));
        }
        paths.push(path);
    }
    paths.sort();
    paths.dedup();
    Ok(Trial { name: name.to_owned(), files: paths, whole })
}

/// Runs cargo-mutants on a copy of the workspace; its folder of results.
fn try_all(root: &Path, trial: &Trial) -> Result<std::path::PathBuf, String> {
    let place = root.join("target").join("mutants");
    let results = place.join("mutants.out");
    // Results of before must not pass for those of a trial that could not begin.
    if results.exists() {
        std::fs::remove_dir_all(&results).map_err(|error| format!("{}: {error}", results.display()))?;
    }
    std::fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    let postgres = DECIDING.iter().any(|deciding| deciding.name == trial.name && deciding.postgres);
    let mut command = if postgres && std::env::var_os("INGATHER_TEST_POSTGRES").is_none() {
        let mut beside = Command::new("scripts/postgres.sh");
        beside.arg("cargo");
        beside
    } else {
        Command::new("cargo")
    };
    command.args(["mutants", "--package", &format!("ingather-{}", trial.name), "--output"]).arg(&place);
    // A loaded machine is slow, and no test hangs for that.
    command.args(["--minimum-test-timeout", "60"]);
    trial.files.iter().for_each(|file| {
        command.args(["--file", file]);
    });
    // Each mutant is linked once more; nobody looks at its lines.
    let status = command.env("CARGO_PROFILE_DEV_DEBUG", "0").current_dir(root).status();
    let status = status.map_err(|error| format!("cargo mutants cannot start: {error}"))?;
    match status.code() {
        // All caught; some survived; some never ended.
        Some(0 | 2 | 3) => Ok(results),
        Some(4) => Err("the tests fail before anything is changed: put them right first".to_owned()),
        _ => Err(format!("cargo mutants did not come to its end: {status}")),
    }
}

fn read_text(folder: &Path, file: &str) -> Result<String, String> {
    std::fs::read_to_string(folder.join(file)).map_err(|error| format!("{file}: {error}"))
}

/// The accepted survivors: file, change, code and reason, with tabs between.
fn accepted_survivors(text: &str) -> Result<Vec<Mutant<'_>>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|(number, line)| match line.split('\t').collect::<Vec<_>>().as_slice() {
            [file, change, code, reason]
                if ![file, change, code, reason].iter().any(|cell| cell.is_empty()) =>
            {
                Ok(Mutant { file, change, code })
            }
            _ => {
                Err(format!("{LIST}:{}: write file, change, code and reason, with tabs between", number + 1))
            }
        })
        .collect()
}

/// Reads lines of the form `FILE:LINE:COLUMN: CHANGE` and finds the code that each means.
fn survivors<'a>(missed: &'a str, texts: &'a [(&str, String)]) -> Result<Vec<Mutant<'a>>, String> {
    let read = |line: &'a str| {
        let (place, change) = line.split_once(": ")?;
        let mut cells = place.splitn(3, ':');
        let file = cells.next()?;
        let number: usize = cells.next()?.parse().ok()?;
        let column: usize = cells.next()?.parse().ok()?;
        let (_, text) = texts.iter().find(|(name, _)| *name == file)?;
        let code = text.lines().nth(number.checked_sub(1)?)?;
        let (at, _) = code.char_indices().nth(column.checked_sub(1)?)?;
        Some(Mutant { file, change, code: code[at..].trim() })
    };
    let told = |line| read(line).ok_or_else(|| format!("cargo mutants wrote a line of another form: {line}"));
    missed.lines().map(told).collect()
}

/// Survivors without a line, and lines without a survivor; two equal survivors need two lines.
fn compare(trial: &Trial, survivors: &[Mutant<'_>], accepted: &[Mutant<'_>]) -> Vec<String> {
    let sources = format!("crates/{}/", trial.name);
    let mut rest: Vec<&Mutant<'_>> = accepted
        .iter()
        .filter(|line| {
            trial.files.iter().any(|file| file == line.file) || trial.whole && line.file.starts_with(&sources)
        })
        .collect();
    let mut differences = Vec::new();
    for mutant in survivors {
        match rest.iter().position(|line| *line == mutant) {
            Some(at) => drop(rest.swap_remove(at)),
            None => differences.push(format!(
                "{}\t{}\t{}\tno test fails: write one, or take this line with a reason into {LIST}",
                mutant.file, mutant.change, mutant.code
            )),
        }
    }
    differences.extend(rest.iter().map(|line| {
        format!(
            "{}\t{}\t{}\tis caught now, or not there any more: take the line out of {LIST}",
            line.file, line.change, line.code
        )
    }));
    differences
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "crates/model/src/guard.rs";

    fn root() -> std::path::PathBuf {
        crate::root()
    }

    fn mutant(change: &'static str) -> Mutant<'static> {
        Mutant { file: FILE, change, code: "> 0" }
    }

    #[test]
    fn a_crate_alone_means_its_deciding_files() {
        for deciding in DECIDING {
            let trial = wanted(&root(), &[deciding.name]).expect("each listed file is there");
            assert!(trial.whole && trial.files.len() == deciding.files.len(), "{}", deciding.name);
        }
    }

    #[test]
    fn files_are_named_below_the_crate_or_from_the_workspace_on() {
        let guard = Ok(Trial { name: "model".to_owned(), files: vec![FILE.to_owned()], whole: false });
        assert_eq!(wanted(&root(), &["model", "guard.rs"]), guard);
        assert_eq!(wanted(&root(), &["ingather-model", FILE, "guard.rs"]), guard);
        let other = wanted(&root(), &["kit", "lib.rs"]).expect("a file of any crate may be named");
        assert_eq!(other.files, ["crates/kit/src/lib.rs"]);
    }

    #[test]
    fn what_cannot_be_tried_is_refused_with_what_to_do() {
        let refused = |words: &[&str], with: &str| {
            let said = wanted(&root(), words).expect_err("refused");
            assert!(said.contains(with), "{said}");
        };
        refused(&[], "say which crate");
        refused(&["kit"], "take one of model, engine, or name files");
        refused(&["nothing", "lib.rs"], "there is no file crates/nothing/src/lib.rs");
        refused(&["model", "guard"], "name files of `model` by their path");
        refused(&["model", "../Cargo.toml"], "there is no file");
    }

    #[test]
    fn a_survivor_is_known_by_its_code_and_not_by_its_number() {
        let texts = [(FILE, "fn holds() {\n    removals > 0 // é > 1\n}\n".to_owned())];
        let missed = format!(
            "{FILE}:2:14: replace > with >= in Guard::holds\n{FILE}:2:23: replace > with == in Guard::holds"
        );
        let found = survivors(&missed, &texts).expect("both places are there");
        assert_eq!(found.iter().map(|mutant| mutant.code).collect::<Vec<_>>(), ["> 0 // é > 1", "> 1"]);
        assert_eq!(found[0].change, "replace > with >= in Guard::holds");
        for odd in ["text", "crates/x.rs:1:1: replace", &format!("{FILE}:9:1: x"), &format!("{FILE}:2:0: x")]
        {
            assert!(survivors(odd, &texts).is_err(), "{odd}");
        }
    }

    #[test]
    fn each_survivor_needs_a_line_and_each_line_a_survivor() {
        let trial = Trial { name: "model".to_owned(), files: vec![FILE.to_owned()], whole: false };
        let (one, other) = (mutant("replace > with >="), mutant("replace > with =="));
        assert_eq!(compare(&trial, std::slice::from_ref(&one), std::slice::from_ref(&one)), [""; 0]);
        let said = compare(&trial, &[one.clone(), one.clone()], &[one.clone(), other]);
        assert_eq!(
            said.len(),
            2,
            "the second of two equal ones, and the line of one that is caught: {said:?}"
        );
        assert!(said[0].contains("no test fails") && said[1].contains("is caught now"), "{said:?}");
        let elsewhere = Mutant { file: "crates/model/src/gone.rs", ..one };
        assert_eq!(compare(&trial, &[], std::slice::from_ref(&elsewhere)), [""; 0], "it was not tried");
        assert_eq!(compare(&Trial { whole: true, ..trial }, &[], &[elsewhere]).len(), 1);
    }

    #[test]
    fn a_line_without_a_reason_is_refused() {
        assert_eq!(accepted_survivors("# words\n\na.rs\tb\tc\twhy\n").map(|lines| lines.len()), Ok(1));
        for odd in ["a.rs\tb\tc", "a.rs\tb\tc\t", "a.rs\tb\tc\twhy\tmore"] {
            assert!(accepted_survivors(odd).is_err_and(|said| said.contains("docs/mutants.tsv:1")), "{odd}");
        }
    }

    #[test]
    fn the_code_of_each_accepted_survivor_is_still_there() {
        let text = read_text(&root(), LIST).expect("the list is there");
        for line in accepted_survivors(&text).expect("the list is in order") {
            let file = read_text(&root(), line.file).unwrap_or_default();
            assert!(file.contains(line.code), "{}: {} stands there no more", line.file, line.code);
        }
    }
}
