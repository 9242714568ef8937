//! Which PDF can be opened: some are protected by a password, some only pretend to be, some protect attachments alone.

use std::sync::Arc;

use hayro_syntax::{DecryptionError, LoadPdfError, Pdf};

use crate::page::{ParseError, TextSink};

/// What is said of a file that a password protects.
const PROTECTED: &str = "it is protected by a password";

/// Opens a file. One that protects its attachments alone is opened without them.
pub(super) fn open(bytes: Vec<u8>, page: &mut TextSink<'_>) -> Result<Pdf, ParseError> {
    let bytes = Arc::new(bytes);
    let first = Pdf::new(bytes.clone());
    let protected = match &first {
        Err(LoadPdfError::Decryption(DecryptionError::PasswordProtected)) => true,
        // With the wrong password everything looks damaged.
        Err(LoadPdfError::Invalid) => has(&bytes, b"/Encrypt"),
        _ => false,
    };
    let mut passwords = page.options().passwords.iter().filter(|_| protected);
    if let Some(pdf) = passwords.find_map(|word| Pdf::new_with_password(bytes.clone(), word).ok()) {
        return Ok(pdf);
    }
    match first {
        Ok(pdf) => Ok(pdf),
        Err(LoadPdfError::Decryption(DecryptionError::PasswordProtected)) => {
            let open = protects_attachments_alone(&bytes).then(|| without_protection(&bytes));
            let pdf = open.and_then(|bytes| Pdf::new(bytes).ok()).ok_or(PROTECTED)?;
            page.reason("its attachments are protected by a password");
            Ok(pdf)
        }
        Err(LoadPdfError::Decryption(_)) => Err("it is encrypted in a way that is not known".into()),
        Err(LoadPdfError::Invalid) if protected => Err(PROTECTED.into()),
        Err(LoadPdfError::Invalid) => Err("the file is damaged beyond reading".into()),
    }
}

fn has(bytes: &[u8], word: &[u8]) -> bool {
    places(bytes, word).next().is_some()
}

fn places<'b>(bytes: &'b [u8], word: &'b [u8]) -> impl Iterator<Item = usize> + 'b {
    bytes.windows(word.len()).enumerate().filter(move |(_, piece)| *piece == word).map(|(at, _)| at)
}

/// Whether streams and strings are said to be as they are, so that only what is attached is encrypted.
fn protects_attachments_alone(bytes: &[u8]) -> bool {
    let says = |key: &[u8]| {
        places(bytes, key).any(|at| bytes[at + key.len()..].trim_ascii_start().starts_with(b"/Identity"))
    };
    says(b"/StmF") && says(b"/StrF") && has(bytes, b"/EFF")
}

/// The same file without the word that leads to its protection; all other places stay.
fn without_protection(bytes: &[u8]) -> Vec<u8> {
    let mut open = bytes.to_vec();
    for at in places(bytes, b"/Encrypt") {
        // Not the one of `/EncryptMetadata`.
        if bytes.get(at + 8).is_some_and(|next| !next.is_ascii_alphanumeric()) {
            open[at + 1..at + 8].copy_from_slice(b"Omitted");
        }
    }
    open
}
