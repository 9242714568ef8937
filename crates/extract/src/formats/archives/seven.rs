//! 7z archives.

use std::io;

use sevenz_rust2::{ArchiveReader, Error, Password};

use crate::Input;
use crate::page::{Expanding, Outcome, Page, Trouble};

/// Members are parts. Passwords are tried until one opens something.
pub(crate) fn read(mut input: Input, page: &mut Page<'_>) -> Outcome {
    let passwords = page.options().passwords.iter().map(|word| Password::from(word.as_str()));
    let mut outcome = Ok(());
    for password in std::iter::once(Password::empty()).chain(passwords) {
        let before = page.parts();
        outcome = with(password, &mut input, page);
        if outcome.as_ref().err().is_none_or(|trouble| trouble.0 != PROTECTED) || page.parts() > before {
            break;
        }
    }
    outcome
}

/// What is said when no password fits.
const PROTECTED: &str = "it is protected by a password";

fn with(password: Password, input: &mut Input, page: &mut Page<'_>) -> Outcome {
    let mut archive = ArchiveReader::new(input, password).map_err(trouble)?;
    archive
        .for_each_entries(|entry, content| {
            if entry.is_directory() {
                return Ok(true);
            }
            let mut content = Expanding::over(page.budget(), &mut *content);
            let (input, outcome) = page.budget().collect(entry.name(), &mut content);
            // The next member begins where this one ends.
            match outcome.and_then(|()| io::copy(&mut content, &mut io::sink())) {
                Ok(_) => page.part(entry.name(), None, input),
                Err(error) => {
                    page.lost_part(entry.name(), &error.to_string());
                    return Err(error.into());
                }
            }
            Ok(true)
        })
        .map_err(trouble)
}

fn trouble(error: Error) -> Trouble {
    match error {
        Error::PasswordRequired | Error::MaybeBadPassword(_) => Trouble(PROTECTED.to_owned()),
        error => Trouble(error.to_string()),
    }
}
