//! What a page is called before it is read, and what it says of itself and of others once it was.

use std::collections::HashSet;

use encoding_rs::{Encoding, UTF_8};
use ingather_contract::refers::{HandedDown, InPlace, Leads, Reference};
use ingather_model::document::{Link, Links, Record};
use ingather_model::fault::{Fault, Reason};
use ingather_model::limits;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use percent_encoding::percent_decode_str;
use url::Url;

use super::visit::{Visit, reference};
use super::{Site, kinds};
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

/// What feeds say of the page of an entry, under the names that they hand it down by.
const TITLE: &str = "title";
const AUTHOR: &str = "author";
const PUBLISHED: &str = "published";
const UPDATED: &str = "updated";
/// Those that become fields as they are.
const FIELDS: &[&str] = &["categories", "summary"];

/// Puts into the record of a page what feeds say of it: where the page itself says something, that takes its place when it is read.
pub(super) fn take_over(record: &mut Record, handed_down: &HandedDown) {
    let first = |name: &str| handed_down.get(name).and_then(|values| values.first());
    let time = |name: &str| first(name).and_then(|value| value.parse::<Timestamp>().ok());
    if let Some(title) = first(TITLE) {
        record.title.clone_from(title);
    }
    if let Some(authors) = handed_down.get(AUTHOR) {
        record.author = Some(authors.iter().cloned().collect::<Vec<_>>().join(", "));
    }
    let published = time(PUBLISHED).map(Timestamp::as_millisecond);
    record.created = record.created.or(published);
    record.modified = record.modified.or(time(UPDATED).map(Timestamp::as_millisecond)).or(published);
    for name in FIELDS {
        let values = handed_down.get(*name).map(|values| values.iter().cloned().collect());
        record.fields.extend(values.map(|values| ((*name).to_owned(), values)));
    }
}

/// What a feed hands down to the page of an entry: no more than may be, and the shorter parts first.
fn of_entry(link: &Link) -> HandedDown {
    let mut handed = HandedDown::new();
    for name in [TITLE, AUTHOR, PUBLISHED, UPDATED].iter().chain(FIELDS) {
        let Some(values) = link.fields.get(*name) else { continue };
        handed.insert((*name).to_owned(), values.iter().cloned().collect());
        let bytes = serde_json::to_string(&handed).map_or(usize::MAX, |text| text.len());
        if bytes > limits::HANDED_DOWN_BYTES_MAX {
            handed.remove(*name);
        }
    }
    handed
}

impl Site {
    /// What a page that was read leads to, and why it is no entry, where it is none.
    pub(super) fn leads(&self, visit: &Visit<'_>, head: &Head, links: &Links) -> (Leads, Option<Reason>) {
        let url = visit.url;
        let mut leads = Leads { incomplete: links.incomplete, ..Leads::default() };
        let directives = self.directives(head, links);
        let base = links.base.as_deref().and_then(|base| url.join(base.trim()).ok());
        let base = base.as_ref().unwrap_or(url);
        let is_start = self.is_start(url);
        if directives.follow {
            self.follow((url, base), links, &mut leads);
        }
        // A page that names another one as the real one is found there; one outside of the job does not make it disappear.
        let canonical = links.canonical.as_deref().filter(|_| directives.follow && self.checked.obey);
        let canonical = canonical.and_then(|link| self.checked.urls.resolve(base, link).ok());
        let canonical = canonical.filter(|canonical| canonical != url);
        if let Some(canonical) = canonical.filter(|canonical| self.admits(canonical, &mut leads)) {
            leads.references.push(visit.found_at(&canonical));
            // Where that one is no page, or leads back, what this page has is found here.
            if !visit.stands_alone {
                leads.in_place = Some(InPlace { reference: leads.references.len() - 1, has_content: true });
                return (leads, Some(Reason::new("canonical", format!("it says that it is {canonical}"))));
            }
        }
        if !directives.may_be_found(visit.now) {
            return (leads, Some(Reason::new("noindex", "it says that robots may not let it be found")));
        }
        let why = match self.checked.feed {
            Some(true) if is_start => Some(Reason::new("feed", "it is a feed, of which the pages are found")),
            None if is_start => self.checked.scope.is_only_followed(url),
            _ => None,
        };
        (leads, why)
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

    fn follow(&self, (url, base): (&Url, &Url), links: &Links, leads: &mut Leads) {
        let is_feed = self.checked.feed.is_some() && self.is_start(url);
        let mut seen = HashSet::new();
        let follows = |rel: &str| match self.checked.feed {
            // Of a feed, only its entries, and only where that is wanted.
            Some(is_followed) => is_followed && is_feed && rel == "entry",
            None => !rel.split_ascii_whitespace().any(|word| NOT_FOLLOWED.contains(&word)),
        };
        for link in &links.list {
            if !follows(&link.rel) || (self.checked.obey && !link_is_followed(&link.rel)) {
                continue;
            }
            let Ok(to) = self.checked.urls.resolve(base, &link.address) else { continue };
            if seen.insert(to.clone()) && self.admits(&to, leads) {
                let hands_down = if is_feed { of_entry(link) } else { HandedDown::new() };
                leads.references.push(Reference { hands_down, ..reference(&to) });
            }
        }
    }

    /// What stands where a feed is to be has to be one: a page for maintenance has no entries, and those of the feed are not gone.
    pub(super) fn is_what_it_is_to_be(&self, url: &Url, head: &Head, start: &[u8]) -> Result<(), Fault> {
        let is_feed = self.checked.feed.is_some() && self.is_start(url);
        if !is_feed || kinds::is_feed(start) {
            return Ok(());
        }
        let media = head.header("content-type").and_then(|value| value.split(';').next());
        let media = media.map(str::trim).filter(|media| !media.is_empty()).unwrap_or("of no type");
        let why = format!(
            "{url} is no feed ({media}), so that it has no entries; where a site is meant, name its address without `feed+`"
        );
        Err(Fault::broken("no_feed", why))
    }
}
