//! What a page is called before it is read, and what it says of itself and of others once it was.

use std::collections::HashSet;

use encoding_rs::{Encoding, UTF_8};
use ingather_contract::refers::Leads;
use ingather_model::document::{Links, Record};
use ingather_model::fault::Reason;
use jiff::fmt::rfc2822::DateTimeParser;
use percent_encoding::percent_decode_str;
use url::Url;

use super::Site;
use super::visit::reference;
use crate::directives::{Directives, link_is_followed};
use crate::http::Head;

/// What is followed of a page: links that lead nowhere else but to things which the page itself is made of are none.
const NOT_FOLLOWED: &[&str] =
    &["canonical", "stylesheet", "icon", "preload", "prefetch", "dns-prefetch", "preconnect"];

/// The record of a page before it is read.
pub(super) fn record(url: &Url, head: &Head) -> Record {
    let last = url.path_segments().and_then(|mut segments| segments.next_back().map(str::to_owned));
    let name = percent_decode_str(last.as_deref().unwrap_or_default()).decode_utf8_lossy().into_owned();
    let title = if name.is_empty() { url.host_str().unwrap_or_default().to_owned() } else { name.clone() };
    let media = head.header("content-type").and_then(|value| value.split(';').next());
    let media = media.map(|media| media.trim().to_ascii_lowercase()).filter(|media| media.contains('/'));
    let dates = DateTimeParser::new().relaxed_weekday(true);
    let modified = head.header("last-modified").and_then(|date| dates.parse_timestamp(date).ok());
    let mut record = Record {
        uri: url.as_str().to_owned(),
        path: url.as_str().to_owned(),
        title,
        media_type: media,
        charset: head.header("content-type").and_then(charset),
        modified: modified.map(|time| time.as_millisecond()),
        ..Record::default()
    };
    record.fields.insert("name".to_owned(), vec![name]);
    record.fields.insert("host".to_owned(), vec![url.host_str().unwrap_or_default().to_owned()]);
    record
}

/// The charset that a media type names beside it: none where that says nothing, or UTF-8, which is recognised by itself.
fn charset(media: &str) -> Option<String> {
    let named = media.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    });
    let label = named?.trim().trim_matches(['"', '\'']);
    let encoding = Encoding::for_label(label.as_bytes()).filter(|encoding| *encoding != UTF_8)?;
    Some(encoding.name().to_ascii_lowercase())
}

impl Site {
    /// What a page that was read leads to, and why it is no entry, where it is none.
    pub(super) fn leads(&self, url: &Url, head: &Head, links: &Links) -> (Leads, Option<Reason>) {
        let mut leads = Leads { incomplete: links.incomplete, ..Leads::default() };
        let directives = self.directives(head, links);
        let base = links.base.as_deref().and_then(|base| url.join(base.trim()).ok());
        let base = base.as_ref().unwrap_or(url);
        let mut canonical =
            links.canonical.as_deref().and_then(|link| self.checked.urls.resolve(base, link).ok());
        canonical = canonical.filter(|canonical| canonical != url && self.checked.obey);
        if directives.follow {
            self.follow(base, links, &mut leads);
        }
        // A page that names another one as the real one is found there; one outside of the job does not make it disappear.
        if let Some(canonical) = canonical.filter(|canonical| self.admits(canonical, &mut leads)) {
            leads.references.push(reference(&canonical));
            return (leads, Some(Reason::new("canonical", format!("it says that it is {canonical}"))));
        }
        let no_index = Reason::new("noindex", "it says that robots may not let it be found");
        let is_hidden = !directives.index;
        (leads, is_hidden.then_some(no_index))
    }

    pub(super) fn directives(&self, head: &Head, links: &Links) -> Directives {
        if !self.checked.obey {
            return Directives::default();
        }
        let agent = &self.checked.client.agent;
        let of_headers = Directives::of_headers(head.headers("x-robots-tag"), agent);
        links
            .robots
            .iter()
            .fold(of_headers, |all, (name, content)| all.and(Directives::of_meta(name, content, agent)))
    }

    fn follow(&self, base: &Url, links: &Links, leads: &mut Leads) {
        let mut seen = HashSet::new();
        let follows = |rel: &str| match self.checked.feed {
            // Of a feed, only its entries, and only where that is wanted.
            Some(is_followed) => is_followed && rel == "entry",
            None => !rel.split_ascii_whitespace().any(|word| NOT_FOLLOWED.contains(&word)),
        };
        for link in &links.list {
            if !follows(&link.rel) || (self.checked.obey && !link_is_followed(&link.rel)) {
                continue;
            }
            let Ok(to) = self.checked.urls.resolve(base, &link.address) else { continue };
            if seen.insert(to.clone()) && self.admits(&to, leads) {
                leads.references.push(reference(&to));
            }
        }
    }
}
