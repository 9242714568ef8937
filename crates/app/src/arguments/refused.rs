//! table: what the program answers to arguments that it cannot take: its own sentence for each kind of mistake, what is
//! probably meant, and where to look. What the library that reads arguments says of them reaches nobody.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};

use super::Arguments;

/// Commands that other programs have, or that people try, with what does it here.
const ELSEWHERE: &[(&[&str], &str)] = &[
    (&["list", "ls", "jobs"], "`ingather job list` lists jobs, `ingather document list JOB` documents"),
    (
        &["stat", "info", "health"],
        "`ingather status` says for each job whether all is well, `ingather doctor` looks at everything",
    ),
    (
        &["index", "reindex", "add", "crawl", "update", "scan"],
        "`ingather sync FOLDER` indexes a folder, and brings the index up to date",
    ),
    (&["check", "fsck", "test"], "`ingather doctor` checks everything, `ingather verify` what outputs hold"),
    (&["query", "find", "grep", "locate"], "`ingather search QUERY` searches"),
    (&["version"], "`ingather --version` shows the version"),
    (
        &["show", "delete", "remove", "rm", "forget"],
        "`ingather job show JOB` and `ingather job delete JOB` are about jobs",
    ),
    (
        &["explain"],
        "`ingather document explain JOB DOCUMENT` says why a document is found or not, `ingather why USER DOCUMENT` for whom",
    ),
    (&["config", "init"], "there is nothing to set up; begin with `ingather sync FOLDER`"),
];

/// Flags and words that people try behind a command, with what does it here; `*` stands for any word, and for any command.
const BEHIND: &[(&str, &[&str], &str)] = &[
    ("search", &["--user", "-u"], "`--as USER` searches as a local user"),
    ("search", &["-n", "--max", "--count", "--size"], "`--limit N` says how many hits are shown"),
    ("sync", &["*"], "one folder or file at a time: run `ingather sync` for each of them"),
    ("sync", &["-a"], "`--all` runs every job"),
    ("sync", &["-n", "--check", "--simulate"], "`--dry-run` counts what would change, and writes nothing"),
    (
        "sync",
        &["--force", "-f", "--full"],
        "`--reread` reads every file again, `--delete-guard off` lets removals go",
    ),
    ("sync", &["-r", "-R", "--recursive"], "a folder is taken with everything below it"),
    ("sync", &["--delete"], "what is gone from the source is removed anyway; `--minimal` removes nothing"),
    ("sync", &["--job"], "`--name NAME` says which job is meant"),
    ("sync", &["--output", "-o"], "`--to OUTPUT` names the output"),
    ("*", &["--fix"], "`--repair` repairs what was found"),
    ("*", &["--user", "--as"], "only `ingather search` and `ingather why` are asked for a user"),
];

/// Commands that are named beside one that does not know a flag.
const OTHERS_MAX: usize = 3;

/// The sentence for arguments that cannot be taken; `words` are what was typed behind the name of the program.
pub(super) fn sentence(error: &clap::Error, words: &[OsString]) -> String {
    let reached = reached(words);
    let told = Told { error, at: &reached.at, command: &reached.command, words };
    let what = match error.kind() {
        ErrorKind::UnknownArgument => return told.unknown_argument(),
        ErrorKind::InvalidSubcommand => return told.unknown_command(),
        ErrorKind::MissingSubcommand => told.missing_command(),
        ErrorKind::MissingRequiredArgument => told.missing(),
        ErrorKind::InvalidValue => return told.value(),
        ErrorKind::ValueValidation => told.refused_value(),
        ErrorKind::TooManyValues => told.too_many_values(),
        ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            format!("{} has not as many values as it takes", told.about())
        }
        ErrorKind::NoEquals => format!("{} takes its value behind a `=`", told.about()),
        ErrorKind::ArgumentConflict => told.conflict(),
        ErrorKind::InvalidUtf8 => told.not_text(),
        _ => format!("what was typed behind `{}` cannot be understood", reached.at),
    };
    told.see_help(&what)
}

/// The command that words lead to.
struct Reached {
    /// As it is typed.
    at: String,
    command: Command,
}

fn reached(words: &[OsString]) -> Reached {
    let mut command = Arguments::command();
    command.build();
    let mut at = "ingather".to_owned();
    let mut words = words.iter();
    while let Some(word) = words.next().map(|word| word.to_string_lossy()) {
        if word == "help" {
            continue;
        }
        if let Some(below) = command.find_subcommand(word.as_ref()).cloned() {
            at = format!("{at} {word}");
            command = below;
        } else if takes_next(&command, &word) {
            words.next();
        }
    }
    Reached { at, command }
}

/// An argument by its name alone, without its value and without the dots of what may be given several times.
fn plain(argument: &str) -> &str {
    argument.split(' ').next().unwrap_or_default().trim_end_matches("...")
}

/// `a, b or c`.
fn one_of(words: &[String]) -> String {
    match words.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => words.concat(),
    }
}

/// Whether a word is a flag whose value is the next one.
fn takes_next(command: &Command, word: &str) -> bool {
    let Some(long) = word.strip_prefix("--") else { return false };
    let mut known = command.get_arguments().filter(|argument| argument.get_long() == Some(long));
    known.any(|argument| argument.get_action().takes_values())
}

/// What is known of a mistake.
struct Told<'a> {
    error: &'a clap::Error,
    at: &'a str,
    command: &'a Command,
    words: &'a [OsString],
}

impl Told<'_> {
    /// For what says nothing of what to do instead.
    fn see_help(&self, what: &str) -> String {
        format!("{what}; see `{} --help`", self.at)
    }

    fn texts(&self, kind: ContextKind) -> Vec<String> {
        match self.error.get(kind) {
            Some(ContextValue::String(text)) => vec![text.clone()],
            Some(ContextValue::Strings(texts)) => texts.clone(),
            _ => Vec::new(),
        }
    }

    fn text(&self, kind: ContextKind) -> String {
        self.texts(kind).into_iter().next().unwrap_or_default()
    }

    /// The argument that it is about, as help writes it.
    fn about(&self) -> String {
        self.texts(ContextKind::InvalidArg).concat()
    }

    /// The same by its name alone: `--limit`, `<SOURCE>`.
    fn name(&self) -> String {
        plain(&self.about()).to_owned()
    }

    fn unknown_argument(&self) -> String {
        let typed = self.text(ContextKind::InvalidArg);
        let flag = typed.split('=').next().unwrap_or(&typed);
        let is_flag = flag.starts_with('-') && flag != "-";
        let of = if self.at == "ingather" { " here".to_owned() } else { format!(" of `{}`", self.at) };
        if let Some(meant) = self.behind(flag, is_flag) {
            return match is_flag {
                true => format!("there is no `{flag}`{of}; {meant}"),
                false => format!("`{typed}` is one argument too many for `{}`; {meant}", self.at),
            };
        }
        if !is_flag {
            return self.see_help(&format!("`{typed}` is one argument too many for `{}`", self.at));
        }
        let none = format!("there is no `{flag}`{of}");
        // A flag of another command is spelled right, so what is nearly called so here is not what was meant.
        let others = self.others(flag);
        if !others.is_empty() {
            let have = if others.len() == 1 { "has" } else { "have" };
            return format!("{none}; {} {have} it", others.join(", "));
        }
        if let Some(near) = self.texts(ContextKind::SuggestedArg).first() {
            return format!("{none}; did you mean `{near}`?");
        }
        // Behind `--` everything is a value, also what begins like a flag.
        match self.command.get_positionals().next().filter(|_| !flag.starts_with("--")) {
            Some(takes) => {
                let value = takes.get_id().as_str().to_uppercase();
                self.see_help(&format!("{none}; where it is meant as {value}, type it behind `--`"))
            }
            None => self.see_help(&none),
        }
    }

    /// What is meant by an argument that other programs take.
    fn behind(&self, flag: &str, is_flag: bool) -> Option<&'static str> {
        let here = self.at.rsplit(' ').next().unwrap_or_default();
        let mut rows = BEHIND.iter().filter(|(command, ..)| *command == "*" || *command == here);
        let row = rows.find(|(_, tried, _)| (!is_flag && tried.contains(&"*")) || tried.contains(&flag));
        row.map(|(.., meant)| *meant)
    }

    /// Commands that know a flag.
    fn others(&self, flag: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut waiting = vec![("ingather".to_owned(), Arguments::command())];
        while let Some((at, command)) = waiting.pop() {
            let knows = command.get_arguments().any(|argument| {
                argument.get_long().is_some_and(|long| flag.strip_prefix("--") == Some(long))
                    && !argument.is_global_set()
            });
            if knows && found.len() < OTHERS_MAX {
                found.push(format!("`{at}`"));
            }
            let below = command.get_subcommands().filter(|below| !below.is_hide_set());
            waiting.extend(below.map(|below| (format!("{at} {}", below.get_name()), below.clone())));
        }
        found.sort();
        found
    }

    fn unknown_command(&self) -> String {
        let typed = self.text(ContextKind::InvalidSubcommand);
        let none = match self.at {
            "ingather" => format!("there is no command `{typed}`"),
            at => format!("there is no command `{typed}` behind `{at}`"),
        };
        let elsewhere = ELSEWHERE.iter().find(|(names, _)| self.at == "ingather" && names.contains(&&*typed));
        if let Some((_, what)) = elsewhere {
            return format!("{none}; {what}");
        }
        let commands = self.commands();
        // The library names the nearest one last.
        match self.texts(ContextKind::SuggestedSubcommand).last() {
            Some(near) => format!("{none}; did you mean `{} {near}`?", self.at),
            // A command of its own has none behind it.
            None if commands.is_empty() => self.see_help(&none),
            None => format!("{none}; there is {commands}: `{}` says what each does", self.help()),
        }
    }

    /// What shows the help of the command, typed before it.
    fn help(&self) -> String {
        self.at.replacen("ingather", "ingather help", 1)
    }

    fn missing_command(&self) -> String {
        format!("`{}` needs a command behind it: {}", self.at, self.commands())
    }

    fn commands(&self) -> String {
        let below = self.command.get_subcommands().filter(|below| !below.is_hide_set());
        below.map(Command::get_name).filter(|name| *name != "help").collect::<Vec<&str>>().join(", ")
    }

    fn missing(&self) -> String {
        let about = self.texts(ContextKind::InvalidArg);
        let is = if about.len() == 1 { "is" } else { "are" };
        format!("{} {is} missing", about.join(" and "))
    }

    fn value(&self) -> String {
        let typed = self.text(ContextKind::InvalidValue);
        if typed.is_empty() {
            return self.see_help(&format!("{} needs a value", self.about()));
        }
        let cannot = format!("{} cannot be `{typed}`", self.name());
        match self.texts(ContextKind::SuggestedValue).first() {
            Some(near) => format!("{cannot}; did you mean `{near}`?"),
            None => {
                self.see_help(&format!("{cannot}; it takes {}", one_of(&self.texts(ContextKind::ValidValue))))
            }
        }
    }

    fn refused_value(&self) -> String {
        let typed = self.text(ContextKind::InvalidValue);
        if typed.is_empty() {
            return format!("{} needs a value", self.about());
        }
        let why = std::error::Error::source(self.error).map(ToString::to_string);
        let why = why.unwrap_or_else(|| "it is not what is taken there".to_owned());
        format!("{} cannot be `{typed}`: {why}", self.name())
    }

    fn too_many_values(&self) -> String {
        let typed = self.text(ContextKind::InvalidValue);
        format!("{} takes no value; leave `={typed}` out", self.name())
    }

    fn conflict(&self) -> String {
        let about = self.about();
        let others = self.texts(ContextKind::PriorArg);
        if others.is_empty() || others.contains(&about) {
            return format!("{} is given more than once; leave one of them out", self.name());
        }
        let others: Vec<&str> = others.iter().map(|other| plain(other)).collect();
        format!("{} does not go together with {}; leave one of them out", self.name(), others.join(" and "))
    }

    fn not_text(&self) -> String {
        let raw: Vec<String> = (self.words.iter().map(OsString::as_os_str))
            .filter(|word| word.to_str().is_none())
            .map(|word: &OsStr| format!("`{}`", ingather_model::names::escape(word.as_bytes())))
            .collect();
        let is = if raw.len() == 1 { "is" } else { "are" };
        format!(
            "{} {is} no text in UTF-8; only names of files and folders may hold other bytes",
            raw.join(" and ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_mistake_has_a_sentence_of_this_program() {
        let kinds = [
            ErrorKind::InvalidValue,
            ErrorKind::UnknownArgument,
            ErrorKind::InvalidSubcommand,
            ErrorKind::NoEquals,
            ErrorKind::ValueValidation,
            ErrorKind::TooManyValues,
            ErrorKind::TooFewValues,
            ErrorKind::WrongNumberOfValues,
            ErrorKind::ArgumentConflict,
            ErrorKind::MissingRequiredArgument,
            ErrorKind::MissingSubcommand,
            ErrorKind::InvalidUtf8,
            ErrorKind::Io,
            ErrorKind::Format,
        ];
        for kind in kinds {
            // Also where the library tells nothing beside it.
            let said = sentence(&clap::Error::new(kind), &["job".into(), "runs".into(), "x".into()]);
            assert!(said.contains("; ") && said.contains("`ingather job runs"), "{kind}: {said}");
            let theirs = kind.to_string();
            assert!(theirs.is_empty() || !said.contains(&theirs), "{kind}: {said}");
        }
    }

    /// What is said to words that cannot be taken.
    fn said(words: &[&str]) -> String {
        let typed = std::iter::once("ingather").chain(words.iter().copied());
        let error = <Arguments as clap::Parser>::try_parse_from(typed).expect_err("they are refused");
        sentence(&error, &words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_command_that_there_is_not_is_answered_with_the_nearest_one_or_with_where_to_look() {
        for (words, next) in [
            (&["serch", "x"][..], "did you mean `ingather search`?"),
            (&["job", "lst"], "did you mean `ingather job list`?"),
            (&["frobnicate"], "`ingather help` says what each does"),
            (&["help", "frobnicate"], "`ingather help` says what each does"),
            (&["job", "frobnicate"], "`ingather help job` says what each does"),
            (&["help", "job", "list", "x"], "; see `ingather job list --help`"),
            (&["help", "sync", "search"], "; see `ingather sync --help`"),
            (&["--frobnicate"], "; see `ingather --help`"),
            (&["job", "list", "x"], "; see `ingather job list --help`"),
        ] {
            let said = said(words);
            assert!(said.ends_with(next), "{words:?}: {said}");
            for theirs in ["unexpected argument", "unrecognized subcommand"] {
                assert!(!said.contains(theirs), "{words:?}: {said}");
            }
        }
    }

    #[test]
    fn the_command_is_found_behind_flags_and_their_values() {
        let at = |words: &[&str]| reached(&words.iter().map(OsString::from).collect::<Vec<_>>()).at;
        assert_eq!(at(&["--data", "job", "sync", "search"]), "ingather sync");
        assert_eq!(at(&["--data=job", "--json", "document", "list", "explain"]), "ingather document list");
        assert_eq!(at(&["nothing"]), "ingather");
    }
}
