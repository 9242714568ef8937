//! Web sites and feeds as repositories: pages lead to pages, and each is asked for as its owner wants it.

mod kinds;
mod left_out;
mod login;
pub(crate) mod paces;
mod page;
mod robots;
mod seeds;
pub(crate) mod settings;
mod sitemaps;
#[cfg(test)]
mod tests;
mod visit;

use std::io::Read;
use std::sync::{Arc, OnceLock};

use ingather_contract::call::CallContext;
use ingather_contract::refers::{Asked, HandedDown, Refers, VisitAnswer};
use ingather_contract::repository::{
    Listing, Named, Observed, Presence, ReadContent, Repository, RepositoryCapabilities, RepositoryKind,
    SourceStatus,
};
use ingather_contract::settings::schema_of;
use ingather_model::document::Links;
use ingather_model::fairness::pace::Pace;
use ingather_model::fault::{Fault, Reason};
use parking_lot::Mutex;
use url::Url;

use self::left_out::LeftOut;
use self::login::Login;
use self::login::missing::{self, Redirected};
use self::paces::Paces;
use self::seeds::Seeds;
use self::settings::Checked;
pub(crate) use self::settings::SiteSettings;
use crate::http::{Answer, Client, Response};
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

/// Opens a site, or a feed.
pub(crate) fn open(source: &serde_json::Value, is_feed: bool) -> Result<Arc<dyn Repository>, Fault> {
    let mut checked = settings::read(source, is_feed)?;
    let paces = Arc::new(Paces::new(checked.delay_ms, checked.at_once));
    let login = checked.login.take().map(Login::new);
    Ok(Arc::new(Site {
        checked,
        login,
        redirected: Redirected::default(),
        client: OnceLock::new(),
        robots: RobotsCache::default(),
        alike: Alike::default(),
        left_out: LeftOut::default(),
        paces,
        notes: Mutex::default(),
    }))
}

/// One site of one job.
struct Site {
    checked: Checked,
    login: Option<Login>,
    /// Where it may want one and has none.
    redirected: Redirected,
    /// Made when it is needed first: reading the certificates of a system takes longer than most questions about a job.
    client: OnceLock<Result<Client, Reason>>,
    robots: RobotsCache,
    alike: Alike,
    /// What bounds left out.
    left_out: LeftOut,
    paces: Arc<Paces>,
    /// What a person should know, each once.
    notes: Mutex<Vec<String>>,
}

impl Site {
    fn client(&self) -> Result<&Client, Fault> {
        let made = self.client.get_or_init(|| {
            let client = Client::new(self.checked.client.clone())?;
            Ok(client.by_turns(self.paces.clone()))
        });
        // A file of certificates that cannot be read now says nothing of any page.
        made.as_ref().map_err(|reason| Fault::Broken(reason.clone()))
    }

    /// A job whose first page leads out of it would find nothing, and one whose first page leads to a login not much.
    fn check_redirect(&self, call: &CallContext, start: &Url, response: Response) -> Result<String, Fault> {
        let is_for_now = !matches!(response.head.status, 301 | 308);
        let Answer::Moved(_, to) = response.answer()? else { return Ok(format!("{start} is there")) };
        let judged = self.checked.urls.normalise(to.as_str());
        match judged.and_then(|to| self.judged(to.as_str(), &HandedDown::new())) {
            Ok(to) => {
                let wants_login = missing::look_behind(self.client()?, call, start, &to);
                Ok(wants_login.unwrap_or_else(|| format!("{start} is redirected to {to}")))
            }
            Err(why) => {
                let why = format!(
                    "{start} is redirected to {to}, which is none of the job: {}; name that address as the root, or take it in by `start`",
                    why.message
                );
                if is_for_now { Ok(why) } else { Err(Fault::refused("redirect_outside", why)) }
            }
        }
    }

    /// Whether what is answered is a feed.
    fn check_feed(&self, url: &Url, response: Response) -> Result<(), Fault> {
        if let Answer::Page(head, body) = response.answer()? {
            let mut start = Vec::new();
            let read = body.take(ingather_model::limits::SITEMAP_HEAD_BYTES as u64).read_to_end(&mut start);
            read.map_err(|error| crate::http::fault_of(&error))?;
            self.is_what_it_is_to_be(url, &head, &start)?;
        }
        Ok(())
    }

    fn note(&self, sentence: String) {
        let mut notes = self.notes.lock();
        if notes.len() < ingather_model::limits::WEB_NOTES_MAX && !notes.contains(&sentence) {
            notes.push(sentence);
        }
    }

    /// Whether the job begins at an address.
    fn is_start(&self, url: &Url) -> bool {
        self.checked.scope.start().contains(url)
    }

    /// An address that names a document of the job, as far as its name and what leads to it tell.
    fn judged(&self, key: &str, handed_down: &HandedDown) -> Result<Url, Reason> {
        let url = Url::parse(key).map_err(|error| Reason::new("not_an_address", error.to_string()))?;
        if self.is_read_as_sitemap(&url, handed_down) {
            self.checked.scope.judge_sitemap(&url)?;
        } else if !self.is_start(&url) {
            self.judged_page(&url)?;
        }
        Ok(url)
    }

    /// Whether a page belongs to the job, as far as its name tells.
    fn judged_page(&self, url: &Url) -> Result<(), Reason> {
        self.checked.scope.judge(url)?;
        self.login.as_ref().map_or(Ok(()), |login| login.judge(url))
    }
}

impl Repository for Site {
    fn check(&self, call: &CallContext) -> Result<String, Fault> {
        let start = &self.checked.scope.start()[0];
        if self.checked.obey {
            let (rules, _) = self.rules_of(call, start)?;
            if let Some(reason) = self.disallowed(&rules, start) {
                let why = format!("{start}: {}; begin where robots may read", reason.message);
                return Err(Fault::refused("robots", why));
            }
        }
        let response = self.client()?.ask(call, start, crate::http::Condition::default())?;
        let status = response.head.status;
        // What whoever is not logged in is answered says nothing of what the job will find.
        let is_known = self.login.is_none();
        match status {
            404 | 410 => Err(Fault::Gone),
            401 | 403 if is_known => {
                let next = match self.checked.client.credentials.is_empty() {
                    true => {
                        "where it wants a name and a password, give them in the setting `credentials` or `login`"
                    }
                    false => {
                        "it does not take what `credentials` gives; look whether they are for its scheme, host and port"
                    }
                };
                Err(Fault::unreadable(format!(
                    "{start} answers {status}: this reader may not have it; {next}"
                )))
            }
            200 | 203 if self.checked.feed.is_some() => {
                self.check_feed(start, response).map(|()| format!("{start} is a feed"))
            }
            301 | 302 | 303 | 307 | 308 if is_known => self.check_redirect(call, start, response),
            _ => Ok(format!("{start} answers {status}")),
        }
    }

    fn list(&self, _call: &CallContext) -> Result<Box<dyn Listing>, Fault> {
        Ok(Box::new(Seeds::of(self)))
    }

    fn look(&self, _call: &CallContext, key: &str) -> Result<Observed, Fault> {
        self.judged(key, &HandedDown::new()).map_err(Fault::Refused)?;
        let why = "a page is only read when a run visits it; run the job, or one with `--to null`";
        Err(Fault::passing("not_looked_at", why))
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
        let judged = self.judged(key, &HandedDown::new());
        let url = judged.clone().or_else(|_| self.checked.urls.normalise(key));
        let url = match url {
            Ok(url) => url,
            Err(reason) => return SourceStatus::Left(reason),
        };
        if let Err(reason) = &judged
            && !(self.checked.obey && self.checked.scope.judge_sitemap(&url).is_ok())
        {
            return SourceStatus::Left(reason.clone());
        }
        let unknown = |why: &str| SourceStatus::Unknown(Reason::new("not_looked_at", why));
        let (rules, _) = match self.rules_of(call, &url) {
            Ok(rules) => rules,
            Err(fault) => return SourceStatus::of_fault(fault, key),
        };
        match (self.disallowed(&rules, &url), judged) {
            (Some(reason), _) => SourceStatus::Left(reason),
            (None, Ok(_)) => unknown(
                "a page is only looked at when a run visits it; no rule leaves it out, and it is found where a page that was found leads to it",
            ),
            (None, Err(_)) if self.is_named_as_sitemap(&rules, &url) => {
                unknown("robots.txt names it as a sitemap: runs read it, and it is never found itself")
            }
            (None, Err(reason)) => SourceStatus::Left(reason),
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.lock().clone();
        notes.extend(self.left_out.notes());
        notes
    }

    fn refers(&self) -> Option<&dyn Refers> {
        Some(self)
    }
}
