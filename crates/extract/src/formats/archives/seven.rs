//! 7z archives.

use std::io::Read;

use ingather_model::limits;
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
            let mut bytes = Vec::new();
            let most = limits::EXTRACT_WHOLE_BYTES_MAX;
            let outcome = Expanding::over(page.budget(), &mut *content).take(most).read_to_end(&mut bytes);
            match outcome {
                Ok(_) => page.part(entry.name(), None, bytes),
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
