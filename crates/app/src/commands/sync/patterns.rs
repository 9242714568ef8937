//! Patterns from files, for `--include-from` and `--exclude-from`: one a line, as one would type them after `--exclude`.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use ingather_model::{limits, names};

use crate::arguments::{JobSettings, STANDARD};
use crate::exit::{self, Failure, Result};
use crate::show;

/// Adds the patterns that files name to those that were typed.
pub(super) fn take_in(job: &mut JobSettings) -> Result<()> {
    let from_standard = job.include_from.iter().chain(&job.exclude_from);
    if from_standard.filter(|file| *file == Path::new(STANDARD)).count() > 1 {
        return Err(Failure::usage("standard input can be read once; name a file instead of one of the `-`"));
    }
    check_typed(&job.include, "--include", "--no-include")?;
    check_typed(&job.exclude, "--exclude", "--no-exclude")?;
    add(&mut job.include, &job.include_from, "--include-from", "--no-include")?;
    add(&mut job.exclude, &job.exclude_from, "--exclude-from", "--no-exclude")
}

/// Refuses what was typed and can be no pattern, before it is compared with what the job has.
fn check_typed(patterns: &[String], flag: &str, back: &str) -> Result<()> {
    for pattern in patterns {
        if pattern.is_empty() {
            return Err(Failure::usage(format!(
                "{flag} takes a pattern such as '*.log', and nothing was typed; {back} takes those of the job back"
            )));
        }
        check(pattern).map_err(|why| Failure::usage(format!("{flag}: {why}")))?;
    }
    Ok(())
}

/// Why a text can be no pattern.
fn check(pattern: &str) -> std::result::Result<(), String> {
    if pattern.starts_with('!') {
        return Err("a pattern cannot take others back with `!`; leave it out, or write `\\!` for a name that begins so".to_owned());
    }
    if pattern.len() > limits::GLOB_BYTES_MAX {
        return Err(format!("a pattern has {} at most", show::bytes(limits::GLOB_BYTES_MAX as u64)));
    }
    ingather_connectors::check_pattern(pattern).map_err(|fault| fault.reason().message)
}

fn add(patterns: &mut Vec<String>, files: &[PathBuf], flag: &str, back: &str) -> Result<()> {
    for file in files {
        let place = match file == Path::new(STANDARD) {
            true => "standard input".to_owned(),
            false => file.display().to_string(),
        };
        let text = read(file).map_err(|why| {
            Failure::usage(format!(
                "{flag}: {place} cannot be read: {why}; name a text file with a pattern in each line"
            ))
        })?;
        let found = parse(&text)
            .map_err(|(line, why)| Failure::usage(format!("{flag}: {place}, line {line}: {why}")))?;
        if found.is_empty() {
            return Err(Failure::usage(format!(
                "{flag}: {place} has no pattern; write one in a line, or take those of the job back with {back}"
            )));
        }
        for (line, pattern) in found {
            if patterns.len() == limits::GLOBS_MAX {
                let most = show::number(limits::GLOBS_MAX as u64);
                return Err(Failure::usage(format!(
                    "{flag}: {place}, line {line}: a job takes {most} patterns at most; put several into one, such as `*.{{o,tmp}}`"
                )));
            }
            patterns.push(pattern);
        }
    }
    Ok(())
}

/// What is in a file, which nobody has to wait for, unless it is a pipe that was named.
fn read(path: &Path) -> std::result::Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| exit::in_words(&error);
    let input: Box<dyn Read> = match path == Path::new(STANDARD) {
        true => Box::new(std::io::stdin().lock()),
        false => {
            if std::fs::metadata(path).map_err(failed)?.is_dir() {
                return Err("it is a folder".to_owned());
            }
            Box::new(File::open(path).map_err(failed)?)
        }
    };
    let mut text = Vec::new();
    input.take(limits::PATTERN_FILE_BYTES_MAX + 1).read_to_end(&mut text).map_err(failed)?;
    match text.len() as u64 > limits::PATTERN_FILE_BYTES_MAX {
        true => Err(format!("it has more than {}", show::bytes(limits::PATTERN_FILE_BYTES_MAX))),
        false => Ok(text),
    }
}

/// A pattern, and the line that it stands in.
type Found = (usize, String);

/// The patterns of a text, each with its line; or the line that cannot be one, and why.
fn parse(text: &[u8]) -> std::result::Result<Vec<Found>, (usize, String)> {
    // As some editors begin a text.
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let mut found = Vec::new();
    for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let refuse = |why: String| Err((at + 1, why));
        let line = without_end(line);
        if line.contains(&0) {
            return refuse("it holds a zero byte; save the file as UTF-8".to_owned());
        }
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let pattern = written(line).into_owned();
        if let Err(why) = check(&pattern) {
            return refuse(why);
        }
        found.push((at + 1, pattern));
    }
    Ok(found)
}

/// A line without the blanks at its end, which nobody sees; one behind a backslash is meant.
fn without_end(line: &[u8]) -> &[u8] {
    let trimmed = line.trim_ascii_end();
    let backslashes = trimmed.iter().rev().take_while(|byte| **byte == b'\\').count();
    match line.get(trimmed.len()) {
        Some(b' ') if backslashes % 2 == 1 => &line[..=trimmed.len()],
        _ => trimmed,
    }
}

/// A pattern as it is stored: what is no text is written `\xNN`, and a backslash stays what it is in patterns.
fn written(line: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(line) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(
            line.utf8_chunks()
                .map(|chunk| format!("{}{}", chunk.valid(), names::escape(chunk.invalid())))
                .collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(text: &[u8]) -> Vec<String> {
        parse(text).unwrap().into_iter().map(|(_, pattern)| pattern).collect()
    }

    #[test]
    fn a_line_is_a_pattern_unless_it_is_blank_or_a_comment() {
        let text = b"\xEF\xBB\xBF# a comment\r\n*.log\r\n\r\n  \t\n/build/  \n\\#x\n\\!y\n a b\nend\\ \nlast";
        let found = ["*.log", "/build/", "\\#x", "\\!y", " a b", "end\\ ", "last"];
        assert_eq!(patterns(text), found);
        assert_eq!(patterns(b"caf\xE9\xFF\\*\n"), ["caf\\xE9\\xFF\\*"]);
        assert_eq!(patterns(b""), [""; 0]);
    }

    #[test]
    fn what_is_no_pattern_is_refused_with_its_line() {
        for (text, line, word) in
            [(&b"a\n\n!b\n"[..], 3, "`!`"), (b"a\nb[c\n", 2, "b[c"), (b"\xFF\xFEa\0\n\0", 1, "UTF-8")]
        {
            let (at, why) = parse(text).unwrap_err();
            assert!(at == line && why.contains(word), "{at}: {why}");
        }
        let long = vec![b'a'; limits::GLOB_BYTES_MAX + 1];
        assert_eq!(parse(&long).unwrap_err().0, 1);
    }
}
