//! Sitemaps: read where robots.txt or another sitemap names them, wherever they lie on the hosts of a job. Whoever names one hands its role down, and
//! what is read in that role is never an entry, nor are its links followed as those of a page.

use std::collections::BTreeSet;
use std::io::Read;

use ingather_contract::refers::{HandedDown, Leads, Reference, VisitAnswer};
use ingather_model::fault::Reason;
use ingather_model::key::Stamp;
use url::Url;

use super::visit::{REDIRECT, reference};
use super::{Site, kinds};
use crate::robots::HostRules;
use crate::sitemap::{self, Ended, Found};

/// Under which name a role is handed down, and the role of a sitemap.
const ROLE: &str = "role";
const SITEMAP: &str = "sitemap";
/// How sitemaps end that are no pages by their names: those of the format, and texts.
const ENDINGS: &[&str] = &[".xml", ".xml.gz", ".txt", ".txt.gz"];

impl Site {
    /// Whether an address is read as a sitemap and as nothing else: it is the usual one of a host where the job begins, or was named as one.
    pub(super) fn is_read_as_sitemap(&self, url: &Url, handed_down: &HandedDown) -> bool {
        let is_named = handed_down.get(ROLE).is_some_and(|roles| roles.contains(SITEMAP));
        self.checked.sitemaps && !self.is_start(url) && (is_named || self.is_sitemap_of_start(url))
    }

    /// A reference to what somebody says is a sitemap; none where it does not belong to the job. A page of the job that is not called like
    /// a sitemap stays a page, whoever says what of it: it shows by itself what it is.
    pub(super) fn sitemap_reference(&self, url: &Url) -> Option<Reference> {
        let path = url.path().to_ascii_lowercase();
        let is_called_so = ENDINGS.iter().any(|ending| path.ends_with(ending));
        let is_page = self.is_start(url) || (!is_called_so && self.checked.scope.judge(url).is_ok());
        if is_page {
            return Some(reference(url));
        }
        let role = HandedDown::from([(ROLE.to_owned(), BTreeSet::from([SITEMAP.to_owned()]))]);
        let is_own = self.checked.scope.judge_sitemap(url).is_ok();
        is_own.then(|| Reference { hands_down: role, ..reference(url) })
    }

    /// The sitemaps that robots.txt names, for a page where the job begins.
    pub(super) fn sitemaps_of(&self, rules: &HostRules, url: &Url) -> Vec<Reference> {
        let HostRules::File { sitemaps, .. } = rules else { return Vec::new() };
        if !self.checked.sitemaps || !self.is_start(url) {
            return Vec::new();
        }
        let named = sitemaps.iter().filter_map(|address| self.checked.urls.resolve(url, address).ok());
        named.filter_map(|url| self.sitemap_reference(&url)).collect()
    }

    /// Whether robots.txt names an address as a sitemap.
    pub(super) fn is_named_as_sitemap(&self, rules: &HostRules, url: &Url) -> bool {
        let HostRules::File { sitemaps, .. } = rules else { return false };
        let is_it =
            |address: &String| self.checked.urls.resolve(url, address).is_ok_and(|named| named == *url);
        self.checked.sitemaps && sitemaps.iter().any(is_it)
    }

    /// What sitemaps lead to is no part of what a page of the job leads to: a digest of which are named, for its memo.
    pub(super) fn digest_of(references: &[Reference]) -> Stamp {
        let keys: Vec<&str> = references.iter().map(|reference| reference.key.as_str()).collect();
        Stamp::of(keys.join("\n").as_bytes())
    }

    /// Where a sitemap is redirected to, another one is.
    pub(super) fn moved_sitemap(&self, to: &Url, leads: &mut Leads) -> Vec<Reference> {
        let to = self.sitemap_reference(to).filter(|_| self.counted(to, leads).is_ok());
        to.map(|to| Reference { relation: REDIRECT, ..to }).into_iter().collect()
    }

    /// What is read in the role of a sitemap.
    pub(super) fn in_role_of_sitemap(&self, url: &Url, start: &[u8], content: &mut dyn Read) -> VisitAnswer {
        if kinds::is_sitemap(start) || kinds::is_list_of_addresses(start) {
            return self.sitemap(url, content);
        }
        // A page for maintenance stands there perhaps, or one for what is not there that does not say so.
        let reason = Reason::new("no_sitemap", "it is read as a sitemap, and is none");
        let leads = Leads { incomplete: true, for_now: true, ..Leads::default() };
        VisitAnswer::NoEntry(reason, leads)
    }

    /// A sitemap is no entry, and leads to the pages and sitemaps that it names.
    pub(super) fn sitemap(&self, url: &Url, content: &mut dyn Read) -> VisitAnswer {
        let mut leads = Leads::default();
        let is_own = |url: &Url| self.checked.scope.judge_host(url).is_ok();
        let summary = sitemap::read(content, url, &self.checked.urls, &is_own, &mut |found| {
            let to = match found {
                Found::Page(entry) => self.admits(&entry.url, &mut leads).then(|| reference(&entry.url)),
                Found::Sitemap(entry) => self
                    .sitemap_reference(&entry.url)
                    .filter(|_| self.counted(&entry.url, &mut leads).is_ok()),
            };
            leads.references.extend(to);
        });
        if let Some(Ended::Cut(why) | Ended::Broken(why) | Ended::Unread(why)) = summary.ended {
            leads.incomplete = true;
            self.note(format!("the sitemap {url} was not read to its end: {why}"));
        }
        VisitAnswer::NoEntry(Reason::new("sitemap", "it is a sitemap"), leads)
    }
}
