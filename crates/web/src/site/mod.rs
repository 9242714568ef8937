//! Web sites and feeds as repositories: pages lead to pages, and each is asked for as its owner wants it.

mod login;
pub(crate) mod paces;
mod page;
mod robots;
mod seeds;
pub(crate) mod settings;
#[cfg(test)]
mod tests;
mod visit;

use std::sync::{Arc, OnceLock};

use ingather_contract::call::CallContext;
use ingather_contract::refers::{Asked, Refers, VisitAnswer};
use ingather_contract::repository::{
    ContainerReport, Listing, Named, Observed, Presence, ReadContent, Repository, RepositoryCapabilities,
    RepositoryKind, SourceStatus,
};
use ingather_contract::settings::schema_of;
use ingather_model::access::Acl;
use ingather_model::document::Links;
use ingather_model::fairness::pace::Pace;
use ingather_model::fault::{Fault, Reason};
use ingather_model::key::Stamp;
use parking_lot::Mutex;
use url::Url;

use self::login::Login;
use self::paces::Paces;
use self::seeds::Seeds;
use self::settings::Checked;
pub(crate) use self::settings::SiteSettings;
use crate::http::Client;
use crate::robots::RobotsCache;
use crate::scope::Alike;
use crate::urls;

/// What web sites and feeds are able to do.
pub(crate) const CAPABILITIES: RepositoryCapabilities =
    RepositoryCapabilities { list: false, access: true, unique_uris: true, looks: false, bins: true };

/// The `web` repository.
pub static REFERRING: RepositoryKind = RepositoryKind {
    name: "web",
    about: "Pages of web sites, found by following links from where it begins.",
    capabilities: CAPABILITIES,
    source_schema: schema_of::<SiteSettings>,
    open: |source, _| open(source, false),
};

/// The container of all pages: who may see one, it says itself.
const CONTAINER: &str = "web:";

/// Opens a site, or a feed.
pub(crate) fn open(source: &serde_json::Value, is_feed: bool) -> Result<Arc<dyn Repository>, Fault> {
    let mut checked = settings::read(source, is_feed)?;
    let paces = Paces::new(checked.delay_ms, checked.at_once);
    let login = checked.login.take().map(Login::new);
    Ok(Arc::new(Site {
        checked,
        login,
        client: OnceLock::new(),
        robots: RobotsCache::default(),
        alike: Alike::default(),
        paces,
        notes: Mutex::default(),
    }))
}

/// One site of one job.
struct Site {
    checked: Checked,
    login: Option<Login>,
    /// Made when it is needed first: reading the certificates of a system takes longer than most questions about a job.
    client: OnceLock<Result<Client, Reason>>,
    robots: RobotsCache,
    alike: Alike,
    paces: Paces,
    /// What a person should know, each once.
    notes: Mutex<Vec<String>>,
}

impl Site {
    fn client(&self) -> Result<&Client, Fault> {
        let made = self.client.get_or_init(|| Client::new(self.checked.client.clone()));
        made.as_ref().map_err(|reason| Fault::Refused(reason.clone()))
    }

    fn note(&self, sentence: String) {
        let mut notes = self.notes.lock();
        if notes.len() < ingather_model::limits::WEB_NOTES_MAX && !notes.contains(&sentence) {
            notes.push(sentence);
        }
    }

    /// Where all documents are; everybody may pass, and each says who may see it.
    fn container() -> ContainerReport {
        ContainerReport {
            name: CONTAINER.to_owned(),
            parent: None,
            identity: CONTAINER.to_owned(),
            acl: Acl::open(),
            folder: Some(String::new()),
            stamp: Stamp::NONE,
        }
    }

    /// An address that names a document of the job, as far as its name tells.
    fn judged(&self, key: &str) -> Result<Url, Reason> {
        let url = Url::parse(key).map_err(|error| Reason::new("not_an_address", error.to_string()))?;
        let is_start = self.checked.scope.start().contains(&url);
        if !is_start && !self.is_sitemap_of_start(&url) {
            let judged = self.checked.scope.judge(&url);
            // Sitemaps of a host lie wherever it likes.
            let is_sitemap = self.checked.sitemaps && visit::is_sitemap_name(&url);
            if !(is_sitemap && self.checked.scope.judge_host(&url).is_ok()) {
                judged?;
            }
        }
        Ok(url)
    }
}

impl Repository for Site {
    fn check(&self, call: &CallContext) -> Result<String, Fault> {
        let start = &self.checked.scope.start()[0];
        let response = self.client()?.ask(call, start, crate::http::Condition::default())?;
        let status = response.head.status;
        match status {
            404 | 410 => Err(Fault::Gone),
            401 | 403 => {
                Err(Fault::unreadable(format!("{start} answers {status}: this reader may not have it")))
            }
            _ => Ok(format!("{start} answers {status}")),
        }
    }

    fn list(&self, _call: &CallContext) -> Result<Box<dyn Listing>, Fault> {
        Ok(Box::new(Seeds::of(self)))
    }

    fn look(&self, _call: &CallContext, key: &str) -> Result<Observed, Fault> {
        self.judged(key).map_err(Fault::Refused)?;
        Err(Fault::passing("not_looked_at", "a page is only looked at when a run visits it"))
    }

    fn fetch(&self, call: &CallContext, key: &str, read: &mut ReadContent<'_>) -> Result<Observed, Fault> {
        let asked = Asked::of(key);
        let mut once = || {
            self.visit(call, &asked, &mut |record, acl, content| {
                read(record, acl, content).map(|()| Links::default())
            })
        };
        let answer = match once()? {
            // The rules of its host have been read.
            VisitAnswer::Again { .. } => once()?,
            answer => answer,
        };
        match answer {
            VisitAnswer::Read(observed, _) => Ok(*observed),
            VisitAnswer::NoEntry(reason, _) => Err(Fault::Refused(reason)),
            VisitAnswer::Unchanged { .. } | VisitAnswer::Again { .. } => {
                Err(Fault::broken("connector", "nothing was asked for that could be unchanged"))
            }
        }
    }

    fn probe(&self, _call: &CallContext, _key: &str) -> Presence {
        Presence::Unknown
    }

    fn bins(&self, key: &str) -> Vec<String> {
        Url::parse(key).map(|url| urls::bins(&url)).unwrap_or_default()
    }

    fn pace(&self, bin: &str) -> Option<Pace> {
        Some(self.paces.of(bin))
    }

    fn uri(&self, key: &str) -> String {
        key.to_owned()
    }

    fn named(&self, text: &str) -> Result<Named, Reason> {
        let url = self.checked.urls.normalise(text)?;
        Ok(Named { parent_bytes: urls::parent_bytes(url.as_str()), key: url.into() })
    }

    fn explain(&self, call: &CallContext, key: &str) -> SourceStatus {
        let url = match self.judged(key) {
            Ok(url) => url,
            Err(reason) => return SourceStatus::Left(reason),
        };
        match self.rules_of(call, &url) {
            Ok((rules, _)) => match self.disallowed(&rules, &url) {
                Some(reason) => SourceStatus::Left(reason),
                None => SourceStatus::Unknown(Reason::new(
                    "not_looked_at",
                    "a page is only looked at when a run visits it; its rules take it",
                )),
            },
            Err(fault) => SourceStatus::of_fault(fault, key),
        }
    }

    fn notes(&self) -> Vec<String> {
        self.notes.lock().clone()
    }

    fn refers(&self) -> Option<&dyn Refers> {
        Some(self)
    }
}
