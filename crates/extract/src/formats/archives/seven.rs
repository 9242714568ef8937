//! 7z archives.

use std::io;

use sevenz_rust2::{ArchiveReader, Error, Password};

use crate::Input;
use crate::page::{Expanding, Outcome, Page, Trouble};

/// Members are parts.
pub(crate) fn read(input: Input, page: &mut Page<'_>) -> Outcome {
    let mut archive = ArchiveReader::new(input, Password::empty()).map_err(trouble)?;
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
        Error::PasswordRequired | Error::MaybeBadPassword(_) => Trouble("it is encrypted".to_owned()),
        Error::UnsupportedCompressionMethod(method) if method.contains("AES") => {
            Trouble("it is encrypted".to_owned())
        }
        error => Trouble(error.to_string()),
    }
}
