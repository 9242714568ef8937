//! Answers about who may see what, for whoever has to account for them: who asked, about whom, when, and what the answer was. Lines of JSON at
//! the end of a file; what is there is never written over.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ingather_model::limits;
use serde::Serialize;

use crate::problem::{Problem, Result};

/// Modes of a file that only its owner reads and writes.
const FOR_ITS_OWNER: u32 = 0o600;

/// The file. It is moved aside when it is full, and a few older ones are kept: `FILE.1` is the one before.
pub struct AnswersLog {
    path: PathBuf,
    open: Mutex<Open>,
}

struct Open {
    file: File,
    length: u64,
}

/// An answer.
#[derive(Serialize)]
pub struct Answered<'a> {
    /// When it was given, milliseconds since 1970 UTC.
    pub at: i64,
    /// Who asked: as in the record of changes, or an address.
    pub caller: &'a str,
    /// Name of the operation.
    pub operation: &'a str,
    /// Names of the one person whom it is about; none of a search of everything, and of one by nobody in particular.
    pub users: &'a [AnsweredUser],
    /// It is about everything, without regard to access.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub everything: bool,
    /// `done`, or the code of a problem.
    pub outcome: &'a str,
    /// BLAKE3 of the answer, hexadecimal; none of a problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// A name of a person.
#[derive(Clone, Serialize)]
pub struct AnsweredUser {
    /// The name.
    pub user: String,
    /// Its domain; empty: the one without a name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub domain: String,
}

impl AnsweredUser {
    /// A name and its domain, as far as they are put on record: whoever asks may have made them up.
    pub fn new(user: &str, domain: &str) -> AnsweredUser {
        let cut = |text: &str| text.chars().take(limits::ANSWERS_LOG_NAME_MAX).collect();
        AnsweredUser { user: cut(user), domain: cut(domain) }
    }
}

/// The digest of an answer.
pub fn digest(answer: &[u8]) -> String {
    blake3::hash(answer).to_hex().to_string()
}

impl AnswersLog {
    /// Begins or goes on with a file.
    ///
    /// # Errors
    /// When it cannot be written, is no file, or others may read or write it.
    pub fn open(path: PathBuf) -> Result<AnswersLog> {
        let open = Open::at(&path)?;
        Ok(AnswersLog { path, open: Mutex::new(open) })
    }

    /// Adds a line.
    ///
    /// # Errors
    /// When it cannot be written: the answer may not be given then.
    pub fn add(&self, answered: &Answered<'_>) -> Result<()> {
        let mut line = serde_json::to_vec(answered).expect("strings and numbers are always JSON");
        line.push(b'\n');
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |error: std::io::Error| not_on_record(&self.path, &error);
        if !open.is_at(&self.path) {
            // Somebody has moved it aside.
            *open = Open::at(&self.path)?;
        }
        if open.length > 0 && open.length + line.len() as u64 > limits::ANSWERS_LOG_BYTES_MAX {
            make_room(&self.path).map_err(failed)?;
            *open = Open::at(&self.path)?;
        }
        if let Err(error) = open.file.write_all(&line) {
            // A line that was cut off ends where the next one would begin.
            let _ = open.file.set_len(open.length);
            return Err(failed(error));
        }
        open.length += line.len() as u64;
        Ok(())
    }
}

impl Open {
    fn at(path: &Path) -> Result<Open> {
        // Never through a link: whoever can make one there would choose what is written to.
        let no_links = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(FOR_ITS_OWNER)
            .custom_flags(no_links | i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default())
            .open(path)
            .map_err(|error| Problem::of_path(path, &error))?;
        let facts = file.metadata().map_err(|error| Problem::of_path(path, &error))?;
        let shown = path.display();
        if !facts.is_file() {
            return Err(Problem::usage(format!(
                "{shown} is no file, so that answers cannot be put on record there"
            )));
        }
        if facts.permissions().mode() & 0o077 != 0 {
            return Err(Problem::usage(format!(
                "others may read or write {shown}, which says who asked about whom: `chmod 600 {shown}`, or name another file"
            )));
        }
        Ok(Open { file, length: facts.len() })
    }

    fn is_at(&self, path: &Path) -> bool {
        let place = |facts: std::fs::Metadata| (facts.dev(), facts.ino());
        let here = std::fs::symlink_metadata(path).map(place);
        matches!((here, self.file.metadata().map(place)), (Ok(here), Ok(open)) if here == open)
    }
}

/// Moves full files aside; the oldest one goes.
fn make_room(path: &Path) -> std::io::Result<()> {
    let numbered = |number: usize| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    };
    for number in (1..limits::ANSWERS_LOGS_KEPT).rev() {
        match std::fs::rename(numbered(number), numbered(number + 1)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    std::fs::rename(path, numbered(1))
}

fn not_on_record(path: &Path, error: &std::io::Error) -> Problem {
    Problem::unable(format!(
        "the answer cannot be put on record in {}, and is not given without that: {}",
        path.display(),
        crate::in_words::error(error)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(caller: &str) -> Answered<'_> {
        Answered {
            at: 1,
            caller,
            operation: "access.tokens",
            users: &[],
            everything: false,
            outcome: "done",
            digest: None,
        }
    }

    fn lines(path: &Path) -> Vec<String> {
        let text = std::fs::read_to_string(path).unwrap();
        let line =
            |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["caller"].to_string();
        text.lines().map(line).collect()
    }

    #[test]
    fn lines_are_added_and_full_files_go_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answers.jsonl");
        AnswersLog::open(path.clone()).unwrap().add(&answered("first")).unwrap();
        let log = AnswersLog::open(path.clone()).unwrap();
        log.add(&answered("second\nthird")).unwrap();
        assert_eq!(
            lines(&path),
            [r#""first""#, r#""second\nthird""#],
            "nothing is written over, and a name is no line"
        );
        let fill = || File::options().write(true).open(&path).unwrap().set_len(limits::ANSWERS_LOG_BYTES_MAX);
        for _ in 0..limits::ANSWERS_LOGS_KEPT + 2 {
            // As if others had written as much: the length is looked at when it is opened.
            fill().unwrap();
            AnswersLog::open(path.clone()).unwrap().add(&answered("next")).unwrap();
            assert_eq!(lines(&path), [r#""next""#]);
        }
        let kept = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(kept, 1 + limits::ANSWERS_LOGS_KEPT, "the oldest ones are gone");
    }

    #[test]
    fn a_file_that_was_moved_aside_is_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        let (path, aside) = (folder.path().join("answers.jsonl"), folder.path().join("aside"));
        let log = AnswersLog::open(path.clone()).unwrap();
        log.add(&answered("before")).unwrap();
        std::fs::rename(&path, &aside).unwrap();
        log.add(&answered("after")).unwrap();
        assert_eq!(
            (lines(&aside), lines(&path)),
            (vec![r#""before""#.to_owned()], vec![r#""after""#.to_owned()])
        );
    }

    #[test]
    fn what_others_may_read_is_no_link_and_no_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answers.jsonl");
        assert!(AnswersLog::open(folder.path().to_owned()).is_err(), "a folder");
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &path).unwrap();
        assert!(AnswersLog::open(path.clone()).is_err(), "a link");
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let refused = AnswersLog::open(path.clone()).err().unwrap();
        assert!(refused.to_string().contains("chmod 600"), "{refused}");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(AnswersLog::open(path).is_ok());
    }
}
