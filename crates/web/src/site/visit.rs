//! The visit of one page: by the rules of its host, on condition that it has changed, and with what it says of others.

use std::io::{self, Read};

use ingather_contract::call::CallContext;
use ingather_contract::refers::{Asked, Leads, ReadPage, Reference, Refers, VisitAnswer};
use ingather_contract::repository::Observed;
use ingather_model::fault::{Fault, Reason};
use ingather_model::job::dates::Dates;
use ingather_model::key::Stamp;
use ingather_model::limits;
use url::Url;

use super::Site;
use super::login::{LOGIN, PageAnswer};
use crate::http::{self, Answer, Condition, Head};
use crate::memo::Memo;
use crate::robots::HostRules;
use crate::sitemap::{self, Ended, Found};
use crate::urls;

impl Refers for Site {
    fn visit(
        &self,
        call: &CallContext,
        asked: &Asked<'_>,
        read: &mut ReadPage<'_>,
    ) -> Result<VisitAnswer, Fault> {
        let url = self.judged(asked.key).map_err(Fault::Refused)?;
        if self.is_login_page(&url) {
            let reason = Reason::new("login_page", "it is the page where the job logs in");
            return Ok(VisitAnswer::NoEntry(reason, Leads::default()));
        }
        let host = urls::bins(&url).into_iter().next().unwrap_or_default();
        let mut sitemaps = Vec::new();
        if self.checked.obey {
            let (rules, was_asked) = self.rules_of(call, &url)?;
            if let HostRules::Unknown(why) = rules.as_ref() {
                return Err(Fault::passing("robots", format!("nothing is read of its host: {why}")));
            }
            if let Some(reason) = self.disallowed(&rules, &url) {
                return Err(Fault::Refused(reason));
            }
            if was_asked && self.paces.of(&host).every_ms > 0 {
                return Ok(VisitAnswer::Again { after: Vec::new() });
            }
            if let HostRules::File { sitemaps: named, .. } = rules.as_ref()
                && self.checked.sitemaps
                && self.checked.scope.start().contains(&url)
            {
                sitemaps.clone_from(named);
            }
        }
        let memo = asked.memo.and_then(Memo::decode).unwrap_or_default();
        let condition =
            Condition { etag: memo.etag.as_deref(), last_modified: memo.last_modified.as_deref() };
        match self.ask_for_page(call, asked, &url, condition) {
            Err(fault) => Err(self.slowed(&host, fault)),
            Ok(PageAnswer::After(login)) => Ok(VisitAnswer::Again { after: vec![login] }),
            Ok(PageAnswer::Page(answer)) => {
                self.paces.answered(&host);
                let mut answer = self.answered(&url, (answer, call.now()), read)?;
                if let VisitAnswer::Read(_, leads) | VisitAnswer::NoEntry(_, leads) = &mut answer {
                    let named =
                        sitemaps.iter().filter_map(|address| self.checked.urls.normalise(address).ok());
                    let own = named.filter(|url| self.judged(url.as_str()).is_ok());
                    leads.references.extend(own.map(|url| reference(&url)));
                }
                Ok(answer)
            }
        }
    }
}

/// A reference to an address in its one spelling.
pub(super) fn reference(url: &Url) -> Reference {
    Reference {
        key: url.as_str().to_owned(),
        parent_bytes: urls::parent_bytes(url.as_str()),
        ..Reference::default()
    }
}

impl Site {
    /// A host that says that it is asked too often is asked less.
    fn slowed(&self, host: &str, fault: Fault) -> Fault {
        if let Fault::Passing { reason, retry_in_ms, .. } = &fault
            && reason.code != LOGIN
            && (reason.code == "too_many_requests" || retry_in_ms.is_some())
        {
            self.paces.slower(host, *retry_in_ms);
        }
        fault
    }

    /// Whether an address is that of the page with the form by which the job logs in; where the job begins there, it is a page as well.
    fn is_login_page(&self, url: &Url) -> bool {
        self.login.as_ref().is_some_and(|login| login.is_page(url))
            && !self.checked.scope.start().contains(url)
    }

    fn answered(
        &self,
        url: &Url,
        (answer, now): (Answer, i64),
        read: &mut ReadPage<'_>,
    ) -> Result<VisitAnswer, Fault> {
        match answer {
            Answer::Unchanged(_) => {
                Ok(VisitAnswer::Unchanged { acl: self.checked.acl.clone(), dates: Dates::default() })
            }
            Answer::Moved(_, to) => self.moved(url, &to),
            Answer::Absent(_) if self.is_sitemap_of_start(url) => {
                let reason = Reason::new("no_sitemap", "its host has no sitemap there");
                Ok(VisitAnswer::NoEntry(reason, Leads::default()))
            }
            Answer::Absent(head) if head.status == 410 => Err(Fault::Gone),
            Answer::Absent(_) => Err(Fault::missing()),
            Answer::Page(head, mut body) => {
                let mut start = Vec::new();
                let longest = limits::SITEMAP_HEAD_BYTES as u64;
                let taken = (&mut body).take(longest).read_to_end(&mut start);
                taken.map_err(|error| http::fault_of(&error))?;
                let mut whole = Whole {
                    content: start.as_slice().chain(body),
                    hash: blake3::Hasher::new(),
                    failed: None,
                };
                if self.is_sitemap(url, &start) {
                    return Ok(self.sitemap(url, &mut whole));
                }
                self.page(url, (&head, now), &mut whole, read)
            }
        }
    }

    /// An address that leads to another one is no entry.
    fn moved(&self, url: &Url, to: &Url) -> Result<VisitAnswer, Fault> {
        let to = self.checked.urls.normalise(to.as_str()).map_err(Fault::Refused)?;
        if to == *url {
            let why = "it is redirected to itself; perhaps its host wants a cookie, or a parameter that is dropped from addresses";
            return Err(Fault::broken("redirect_loop", why));
        }
        match self.judged(to.as_str()) {
            Ok(_) => {
                let leads = Leads { references: vec![reference(&to)], ..Leads::default() };
                Ok(VisitAnswer::NoEntry(Reason::new("redirect", format!("it is redirected to {to}")), leads))
            }
            Err(why) => {
                let message = format!("it is redirected to {to}, which is none of the job: {}", why.message);
                Ok(VisitAnswer::NoEntry(Reason::new("redirect_outside", message), Leads::default()))
            }
        }
    }

    /// Whether what begins so is a sitemap: by its first element, or by its name where it is packed or a text.
    fn is_sitemap(&self, url: &Url, start: &[u8]) -> bool {
        if !self.checked.sitemaps {
            return false;
        }
        let text = String::from_utf8_lossy(start);
        let is_xml = ["<urlset", "<sitemapindex"].iter().any(|element| text.contains(element))
            || (text.contains(":urlset") || text.contains(":sitemapindex"));
        let is_packed = start.starts_with(&[0x1f, 0x8b]);
        is_xml
            || (is_packed && is_sitemap_name(url))
            || (url.path().ends_with("sitemap.txt") && start.starts_with(b"http"))
    }

    /// A sitemap is no entry, and leads to the pages and sitemaps that it names.
    fn sitemap(&self, url: &Url, content: &mut dyn Read) -> VisitAnswer {
        let mut leads = Leads::default();
        let is_own = |url: &Url| self.checked.scope.judge_host(url).is_ok();
        let summary = sitemap::read(content, url, &self.checked.urls, &is_own, &mut |found| {
            let (entry, is_taken) = match found {
                Found::Page(entry) => {
                    let is_taken = self.admits(&entry.url, &mut leads);
                    (entry, is_taken)
                }
                Found::Sitemap(entry) => {
                    let is_taken = self.judged(entry.url.as_str()).is_ok();
                    (entry, is_taken)
                }
            };
            if is_taken {
                leads.references.push(reference(&entry.url));
            }
        });
        if let Some(Ended::Cut(why) | Ended::Broken(why) | Ended::Unread(why)) = summary.ended {
            leads.incomplete = true;
            self.note(format!("the sitemap {url} was not read to its end: {why}"));
        }
        VisitAnswer::NoEntry(Reason::new("sitemap", "it is a sitemap"), leads)
    }

    /// Whether a link leads to a document of the job; where a bound against traps was met, not all that it leads to is known.
    pub(super) fn admits(&self, url: &Url, leads: &mut Leads) -> bool {
        if self.checked.scope.judge(url).is_err() {
            return false;
        }
        match self.alike.admit(url, self.checked.scope.traps()) {
            Ok(()) => true,
            Err(reason) => {
                leads.incomplete = true;
                self.note(format!("{}; the others were not followed", reason.message));
                false
            }
        }
    }

    fn page(
        &self,
        url: &Url,
        (head, now): (&Head, i64),
        whole: &mut Whole<impl Read>,
        read: &mut ReadPage<'_>,
    ) -> Result<VisitAnswer, Fault> {
        let acl = self.checked.acl.clone();
        let mut record = super::page::record(url, head);
        let charset = record.charset.clone();
        let links = read(&mut record, &acl, whole);
        // What a stage says of content that broke off knows less of it than the connection.
        if let Some(fault) = whole.failed.take() {
            return Err(fault);
        }
        let links = links?;
        let digest = whole.hash.finalize();
        let (mut leads, no_entry) = self.leads(url, head, &links);
        let directives = self.directives(head, &links);
        let is_over = !directives.may_be_found(now);
        let is_over = is_over.then(|| Reason::new("noindex", "it says that it is not to be found any more"));
        if let Some(reason) = no_entry.or(is_over) {
            return Ok(VisitAnswer::NoEntry(reason, leads));
        }
        let header = |name: &str| head.header(name).map(str::to_owned);
        let memo = Memo {
            etag: header("etag"),
            last_modified: header("last-modified"),
            digest: Some(*digest.as_bytes()),
            status: head.status,
        };
        // One that says until when it may be found is read each time: an answer that it is as before would not say that.
        let is_comparable = memo.etag.is_some() || memo.last_modified.is_some();
        leads.memo = (is_comparable && directives.until.is_none()).then(|| memo.encode());
        let dates = Dates { expires_not_after: directives.until, ..Dates::default() };
        // The same bytes in another charset are another text.
        let content = match charset {
            Some(charset) => Stamp::of(&[digest.as_bytes(), charset.as_bytes()].concat()),
            None => Stamp::of(digest.as_bytes()),
        };
        let observed = Observed {
            content,
            access: Stamp::of(format!("{acl:?}").as_bytes()),
            identity: 0,
            acl,
            record,
            dates,
        };
        Ok(VisitAnswer::Read(Box::new(observed), leads))
    }
}

/// Whether an address is called like a sitemap.
pub(super) fn is_sitemap_name(url: &Url) -> bool {
    let name = url.path().rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    name.contains("sitemap") && [".xml", ".xml.gz", ".txt", ".txt.gz"].iter().any(|end| name.ends_with(end))
}

/// The content of a page as it is read: its digest, and why it broke off.
struct Whole<R> {
    content: R,
    hash: blake3::Hasher,
    failed: Option<Fault>,
}

impl<R: Read> Read for Whole<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.content.read(buffer) {
            Ok(length) => {
                self.hash.update(&buffer[..length]);
                Ok(length)
            }
            Err(error) => {
                self.failed.get_or_insert_with(|| http::fault_of(&error));
                Err(error)
            }
        }
    }
}
