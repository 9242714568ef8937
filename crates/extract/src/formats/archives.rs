//! Archives and packed files: their members are parts.

pub(crate) mod ar;
pub(crate) mod packed;
pub(crate) mod seven;
pub(crate) mod tar;
pub(crate) mod web;
pub(crate) mod zip;

use self::zip::Zip;
use crate::Input;
use crate::detect;
use crate::formats::{odf, office};
use crate::page::{Outcome, Page};

/// Reads whatever comes in a ZIP: office documents, books, or members.
pub(crate) fn zipped(input: Input, page: &mut Page<'_>) -> Outcome {
    let mut zip = Zip::open(input)?;
    if let Some(outcome) = office::read(&mut zip, page) {
        return outcome;
    }
    if let Some(outcome) = odf::read(&mut zip, page) {
        return outcome;
    }
    if !matches!(page.media_type(), detect::ZIP | "application/java-archive") {
        page.set_media_type(detect::ZIP);
    }
    for index in 0..zip.len() {
        let name = zip.name(index).to_owned();
        if name.ends_with('/') {
            continue;
        }
        match zip.part(index, page.budget()) {
            Ok(input) => page.part(&name, None, input),
            Err(error) => page.lost_part(&name, &error.to_string()),
        }
    }
    if zip.is_damaged() {
        page.broken_off(
            "its directory is missing or damaged, so that members may be missing; it may be cut off",
        );
    }
    Ok(())
}
