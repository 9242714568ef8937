//! 7z archives.

use std::io;

use sevenz_rust2::{ArchiveReader, Error, Password};

use crate::Input;
use crate::dates;
use crate::page::{Expanding, Outcome, ParseError, Stated, TextSink};

/// Members are parts. Passwords are tried until one opens something.
pub(crate) fn read(mut input: Input, sink: &mut TextSink<'_>) -> Outcome {
    let passwords = sink.options().passwords.iter().map(|word| Password::from(word.as_str()));
    let mut outcome = Ok(());
    for password in std::iter::once(Password::empty()).chain(passwords) {
        let before = sink.parts();
        outcome = with(password, &mut input, sink);
        if outcome.as_ref().err().is_none_or(|parse_error| parse_error.0 != PROTECTED)
            || sink.parts() > before
        {
            break;
        }
    }
    outcome
}

/// What is said when no password fits.
const PROTECTED: &str = "it is protected by a password";

fn with(password: Password, input: &mut Input, sink: &mut TextSink<'_>) -> Outcome {
    let mut archive = ArchiveReader::new(input, password).map_err(parse_error)?;
    archive
        .for_each_entries(|entry, content| {
            if entry.is_directory() {
                return Ok(true);
            }
            let mut content = Expanding::over(sink.budget(), &mut *content);
            let (input, outcome) = sink.budget().collect(entry.name(), &mut content);
            // The next member begins where this one ends.
            match outcome.and_then(|()| io::copy(&mut content, &mut io::sink())) {
                Ok(_) => {
                    let time = Some(entry.last_modified_date()).filter(|_| entry.has_last_modified_date);
                    let modified = time.and_then(|time| dates::stated_file_time(time.into()));
                    let stated = Stated { size: Some(entry.size()), modified };
                    sink.member(entry.name(), stated, None, input);
                }
                Err(error) => {
                    sink.lost_part(entry.name(), &error.to_string());
                    return Err(error.into());
                }
            }
            Ok(true)
        })
        .map_err(parse_error)
}

fn parse_error(error: Error) -> ParseError {
    match error {
        Error::PasswordRequired | Error::MaybeBadPassword(_) => ParseError(PROTECTED.to_owned()),
        error => ParseError(error.to_string()),
    }
}
