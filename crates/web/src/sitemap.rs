//! Sitemaps: what a site itself says it has. They come from strangers, so all of it is bounded, and of one that is broken counts what
//! stands before the break.

mod dates;
mod layers;
mod xml;

use std::io::{BufRead, Read};

use ingather_model::limits::{SITEMAP_ENTRIES_MAX, SITEMAP_PIECE_BYTES_MAX};
use url::Url;

use crate::urls::UrlRules;
use layers::{Layers, Troubles};

/// One address that a sitemap names.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// In its one spelling.
    pub url: Url,
    /// When it changed last, milliseconds since 1970; a day counts from its beginning.
    pub modified: Option<i64>,
    /// How often it changes.
    pub changes: Option<Changes>,
    /// From 0 to 1, among the pages of its site.
    pub priority: Option<f32>,
}

/// How often a page changes, by its own word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of the format say what they mean")]
pub enum Changes {
    Always,
    Hourly,
    Daily,
    Weekly,
    Monthly,
    Yearly,
    Never,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// A page.
    Page(Entry),
    /// Another sitemap.
    Sitemap(Entry),
}

/// What came of reading a sitemap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Entries that were handed on.
    pub taken: usize,
    /// Entries of other hosts, which are left out: nobody can speak for another site.
    pub elsewhere: usize,
    /// Entries without an address that can be read.
    pub malformed: usize,
    /// Why it was not read to its end; none when it was.
    pub ended: Option<Ended>,
}

/// Why a sitemap was not read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It exceeds a bound.
    Cut(String),
    /// It is no sitemap from here on.
    Broken(String),
    /// It could not be had: another attempt may help.
    Unread(String),
}

/// Reads a sitemap, an index of sitemaps, or a text with an address on each line; packed by gzip or not. `at` is its own address;
/// entries of other hosts are taken only where `elsewhere` says so.
pub fn read(
    source: &mut dyn Read,
    at: &Url,
    urls: &UrlRules,
    elsewhere: &dyn Fn(&Url) -> bool,
    found: &mut dyn FnMut(Found),
) -> Summary {
    let troubles = Troubles::default();
    let mut reading = Reading { at, urls, elsewhere, found, summary: Summary::default() };
    let ended = Layers::open(source, &troubles).and_then(|mut layers| match layers.first()? {
        Some(b'<') => xml::read(layers, &mut reading),
        Some(_) => text(&mut layers, &mut reading),
        None => Ok(()),
    });
    reading.summary.ended = ended.err().map(|ended| troubles.judge(ended));
    reading.summary
}

/// What is under way.
struct Reading<'a> {
    at: &'a Url,
    urls: &'a UrlRules,
    elsewhere: &'a dyn Fn(&Url) -> bool,
    found: &'a mut dyn FnMut(Found),
    summary: Summary,
}

impl Reading<'_> {
    /// Takes one address, as it is written.
    fn take(
        &mut self,
        is_page: bool,
        address: &str,
        details: impl FnOnce(Url) -> Entry,
    ) -> Result<(), Ended> {
        let Summary { taken, elsewhere, malformed, .. } = &mut self.summary;
        if *taken + *elsewhere + *malformed >= SITEMAP_ENTRIES_MAX {
            return Err(Ended::Cut(format!("it has more than {SITEMAP_ENTRIES_MAX} entries")));
        }
        let Ok(url) = self.urls.normalise(address.trim()) else {
            *malformed += 1;
            return Ok(());
        };
        if url.host() != self.at.host() && !(self.elsewhere)(&url) {
            *elsewhere += 1;
            return Ok(());
        }
        *taken += 1;
        let entry = details(url);
        (self.found)(if is_page { Found::Page(entry) } else { Found::Sitemap(entry) });
        Ok(())
    }
}

/// An address on each line.
fn text(layers: &mut Layers<'_>, reading: &mut Reading<'_>) -> Result<(), Ended> {
    let mut line = Vec::new();
    loop {
        line.clear();
        layers.next_piece();
        let length = layers
            .by_ref()
            .take(SITEMAP_PIECE_BYTES_MAX as u64)
            .read_until(b'\n', &mut line)
            .map_err(|error| Ended::Broken(error.to_string()))?;
        if length == 0 {
            return Ok(());
        }
        let address = String::from_utf8_lossy(&line);
        if !address.trim().is_empty() {
            reading.take(true, &address, |url| Entry {
                url,
                modified: None,
                changes: None,
                priority: None,
            })?;
        }
    }
}

impl Changes {
    fn parse(text: &str) -> Option<Changes> {
        Some(match text.trim().to_ascii_lowercase().as_str() {
            "always" => Changes::Always,
            "hourly" => Changes::Hourly,
            "daily" => Changes::Daily,
            "weekly" => Changes::Weekly,
            "monthly" => Changes::Monthly,
            "yearly" => Changes::Yearly,
            "never" => Changes::Never,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests;
