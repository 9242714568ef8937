//! `ingather extract`: what becomes of files, read as a run would read them.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ingather_extract::{Extracted, Options, Pool, Request, pictures, worker};
use ingather_model::{limits, names};
use rustix::fs::{Mode, OFlags};
use serde_json::{Map, Value, json};

use crate::arguments::{Extract, Global};
use crate::exit::{self, Failure, Result};
use crate::{show, wiring};

pub(crate) fn run(global: &Global, extract: &Extract) -> Result<u8> {
    let settings = wiring::reading(global, 1)
        .map_err(|error| Failure::unable(format!("no reader can be started: {error}")))?;
    let pool = Pool::new(settings);
    let passwords = extract.passwords.as_deref().map(passwords).transpose()?.unwrap_or_default();
    let mut code = exit::DONE;
    for path in &extract.files {
        match read(&pool, extract, &passwords, path) {
            Ok(found) if global.json => show::json(&object(&written(path), &found)),
            Ok(found) => tell(&written(path), &found, 0),
            Err(error) => {
                show::stderr(&format!(
                    "ingather: {} cannot be read: {}",
                    written(path),
                    exit::in_words(&error)
                ));
                code = exit::HAS_FAILURES;
            }
        }
    }
    Ok(code)
}

/// A path as names of documents are written.
fn written(path: &Path) -> Cow<'_, str> {
    names::escape(path.as_os_str().as_bytes())
}

/// The other side: reads what the parent gives it, until that one is gone.
pub(crate) fn serve() -> Result<u8> {
    worker::serve(ingather_extract::extract).map_err(|error| {
        Failure::unable(format!(
            "{error}; this command is for `ingather` itself, people use `ingather extract FILE`"
        ))
    })?;
    Ok(exit::DONE)
}

/// Becomes the program that reads the words in pictures.
pub(crate) fn read_picture(global: &Global, program: &OsStr, languages: &OsStr) -> Result<u8> {
    Err(Failure::unable(pictures::become_program(program, languages, !global.require_sandbox)))
}

fn read(pool: &Pool, extract: &Extract, passwords: &[String], path: &Path) -> std::io::Result<Extracted> {
    let request = Request {
        name: path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        options: Options {
            hidden: !extract.skip_hidden_sheets,
            boilerplate: !extract.skip_boilerplate,
            parts: !extract.skip_parts,
            markdown: extract.markdown,
            pictures: false,
            passwords: passwords.to_vec(),
        },
        ..Request::default()
    };
    if path == Path::new("-") {
        return pool.extract(&request, &mut std::io::stdin().lock());
    }
    pool.extract(&request, &mut open(path)?)
}

/// Opens what a sync would open, without waiting for whoever may be at the other end of it.
fn open(path: &Path) -> std::io::Result<File> {
    let other = |sentence: &str| Err(std::io::Error::other(sentence));
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // Asked by its path first: to open a device may already do something.
    let facts = std::fs::metadata(path)?;
    if facts.is_dir() {
        return other("it is a folder; `ingather sync` reads folders");
    }
    if !facts.is_file() {
        return other("it is a special file (device, pipe or socket); those are never opened");
    }
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let facts = file.metadata()?;
    if !facts.is_file() {
        return other("it is no file any more");
    }
    if facts.len() > limits::FILE_BYTES_MAX {
        let sentence = format!(
            "it is too large: {}, and a file of more than {} is read by nobody",
            show::bytes(facts.len()),
            show::bytes(limits::FILE_BYTES_MAX)
        );
        return other(&sentence);
    }
    Ok(file)
}

/// The passwords in a file, one in each line.
fn passwords(path: &Path) -> Result<Vec<String>> {
    let named = |what: String| Failure::usage(format!("{} {what}", written(path)));
    let advice = "name a text file with a password in each line";
    let file = File::open(path)
        .map_err(|error| named(format!("cannot be read: {}; {advice}", exit::in_words(&error))))?;
    match ingather_connectors::passwords_in(file).map_err(named)? {
        none if none.is_empty() => Err(named(format!("has no password; {advice}"))),
        passwords => Ok(passwords),
    }
}

/// One file or part as an object; a title is one value, other fields are lists.
fn object(file: &str, found: &Extracted) -> Value {
    let fields: Map<String, Value> = found
        .fields
        .iter()
        .map(|(name, values)| match name.as_str() {
            "title" => (name.clone(), values.join(" ").into()),
            _ => (name.clone(), values.as_slice().into()),
        })
        .collect();
    let parts: Vec<Value> = found.parts.iter().map(|part| object(&part.name, part)).collect();
    json!({
        "file": file, "media_type": found.media_type, "text": found.text, "fields": fields, "parts": parts,
        "reason": found.reason, "size": found.size, "modified": found.modified,
    })
}

/// One file or part for people, parts further in.
fn tell(file: &str, found: &Extracted, depth: usize) {
    let margin = "  ".repeat(depth);
    show::line(&format!("{margin}{file}  {}", found.media_type));
    if let Some(reason) = &found.reason {
        show::line(&format!("{margin}  ! {reason}"));
    }
    let facts = [("size", found.size.map(show::bytes)), ("modified", found.modified.map(show::time))];
    for (name, value) in facts.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        show::line(&format!("{margin}  {name}: {value}"));
    }
    for (name, values) in &found.fields {
        show::line(&format!("{margin}  {name}: {}", values.join(", ")));
    }
    for line in found.text.lines() {
        show::line(&format!("{margin}  | {line}"));
    }
    for part in &found.parts {
        tell(&part.name, part, depth + 1);
    }
}
