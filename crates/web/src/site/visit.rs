//! The visit of one page: by the rules of its host, on condition that it has changed, and with what it says of others.

use std::io::{self, Read};

use ingather_contract::call::CallContext;
use ingather_contract::refers::{
    Asked, HandedDown, InPlace, Leads, ReadPage, Reference, Refers, VisitAnswer,
};
use ingather_contract::repository::Observed;
use ingather_model::access::Acl;
use ingather_model::fault::{Fault, Reason};
use ingather_model::job::dates::Dates;
use ingather_model::key::Stamp;
use ingather_model::limits;
use url::Url;

use super::login::PageAnswer;
use super::paces::LEFT_ALONE;
use super::{Site, kinds};
use crate::http::{self, Answer, Condition, Head};
use crate::memo::Memo;
use crate::session::LOGIN;
use crate::urls;

/// How pages are related to those that they lead to, by their places.
const RELATIONS: &[&str] = &["link", "redirect"];
/// Another address of the same: of what is redirected, or names another one as the real one.
pub(super) const REDIRECT: usize = 1;

/// What one visit goes by.
pub(super) struct Visit<'v> {
    pub(super) url: &'v Url,
    pub(super) handed_down: &'v HandedDown,
    pub(super) now: i64,
    /// Where it begins: what the rules of its host lead to besides.
    sitemaps: Vec<Reference>,
    /// What its links are judged by.
    basis: Stamp,
    /// What the last visit left.
    memo: Memo,
    /// It is read as a page of its own, whatever it says of another one.
    pub(super) stands_alone: bool,
}

impl Refers for Site {
    fn audience(&self) -> Option<&Acl> {
        Some(&self.checked.acl)
    }

    fn relations(&self) -> &'static [&'static str] {
        RELATIONS
    }

    fn visit(
        &self,
        call: &CallContext,
        asked: &Asked<'_>,
        read: &mut ReadPage<'_>,
    ) -> Result<VisitAnswer, Fault> {
        let url = self.judged(asked.key, asked.handed_down).map_err(Fault::Refused)?;
        if self.is_login_page(&url) {
            let reason = Reason::new("login_page", "it is the page where the job logs in");
            return Ok(VisitAnswer::NoEntry(reason, Leads::default()));
        }
        let host = urls::bins(&url).into_iter().next().unwrap_or_default();
        let mut sitemaps = Vec::new();
        if self.checked.obey {
            let (rules, was_asked) = self.rules_of(call, &url)?;
            if let Some(reason) = self.disallowed(&rules, &url) {
                return Err(Fault::Refused(reason));
            }
            if was_asked && self.paces.of(&host).every_ms > 0 {
                return Ok(VisitAnswer::Again { after: Vec::new() });
            }
            sitemaps = self.sitemaps_of(&rules, &url);
        }
        let basis =
            Stamp::of(format!("{:?} {:?}", self.checked.basis, Site::digest_of(&sitemaps)).as_bytes());
        // Under other rules what it led to is not what it leads to.
        let memo = asked.memo.and_then(Memo::decode).filter(|memo| memo.basis == basis.0).unwrap_or_default();
        let visit = Visit {
            url: &url,
            handed_down: asked.handed_down,
            now: call.now(),
            sitemaps,
            basis,
            memo,
            stands_alone: asked.stands_alone,
        };
        let asks_if_changed = !visit.is_overdue();
        let condition = Condition {
            etag: visit.memo.etag.as_deref().filter(|_| asks_if_changed),
            last_modified: visit.memo.last_modified.as_deref().filter(|_| asks_if_changed),
        };
        self.alike.visited(&url);
        let answered = match self.ask_for_page(call, asked, &url, condition) {
            Err(fault) => Err(self.slowed(&host, fault)),
            Ok(PageAnswer::After(login)) => Ok(VisitAnswer::Again { after: vec![login] }),
            Ok(PageAnswer::Page(answer)) => {
                self.paces.answered(&host);
                self.answered(&visit, answer, read)
            }
        };
        visit.ended(answered)
    }
}

impl Visit<'_> {
    /// When it is to be looked at again, where it says after which time it will have changed, or when something in it will have: at the first
    /// of these times.
    fn due(&self, changes_in_ms: Option<i64>, changes_at: Option<i64>) -> Dates {
        let paced = changes_in_ms.map(|after| self.now.saturating_add(after));
        let first = [paced, changes_at].into_iter().flatten().min();
        Dates { revisit_not_before: paced.and(first), revisit_not_after: first, ..Dates::default() }
    }

    /// A reference to the page that is found in place of this one. What a feed says of an entry is meant for that page.
    pub(super) fn found_at(&self, url: &Url) -> Reference {
        Reference { relation: REDIRECT, hands_down: self.handed_down.clone(), ..reference(url) }
    }

    /// Something in it has changed by now, as it said itself: an answer that it is as before would not say what is next.
    fn is_overdue(&self) -> bool {
        self.memo.changes_at.is_some_and(|at| at <= self.now)
    }

    /// Whether a page that came in whole has the same bytes as at the last visit, so that a new time of it tells nothing: sites that are built
    /// anew give one to all of their pages. A long page is not looked at for that.
    fn is_as_before(&self, start: &mut Vec<u8>, body: &mut impl Read) -> Result<bool, Fault> {
        let Some(digest) = self.memo.digest else { return Ok(false) };
        let longest = limits::WEB_COMPARED_BYTES_MAX;
        let left = (longest + 1).saturating_sub(start.len());
        body.take(left as u64).read_to_end(start).map_err(|error| http::fault_of(&error))?;
        Ok(start.len() <= longest && *blake3::hash(start).as_bytes() == digest)
    }

    /// What is too much is no entry, and leads to what it led to before; a page where the job begins leads to the sitemaps of its host as well.
    fn ended(self, answered: Result<VisitAnswer, Fault>) -> Result<VisitAnswer, Fault> {
        let mut answer = match answered {
            Err(fault) if http::is_too_much(&fault) => {
                VisitAnswer::NoEntry(fault.reason(), Leads { incomplete: true, ..Leads::default() })
            }
            other => other?,
        };
        if let VisitAnswer::Read(_, leads) | VisitAnswer::NoEntry(_, leads) = &mut answer {
            leads.references.extend(self.sitemaps);
        }
        Ok(answer)
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
    pub(super) fn slowed(&self, host: &str, fault: Fault) -> Fault {
        if let Fault::Passing { reason, retry_in_ms, .. } = &fault
            && ![LOGIN, LEFT_ALONE].contains(&reason.code.as_str())
            && (reason.code == "too_many_requests" || retry_in_ms.is_some())
        {
            self.paces.slower(host, *retry_in_ms);
            let named_ms = retry_in_ms.unwrap_or(0);
            if named_ms > limits::WEB_SLOW_MS_MAX {
                let minutes = named_ms / 60_000;
                self.note(format!(
                    "`{host}` wants to be left alone for {minutes} minutes: nothing is asked of it until then"
                ));
            }
        }
        fault
    }

    /// Whether an address is that of the page with the form by which the job logs in; where the job begins there, it is a page as well.
    fn is_login_page(&self, url: &Url) -> bool {
        self.login.as_ref().is_some_and(|login| login.is_page(url)) && !self.is_start(url)
    }

    fn answered(
        &self,
        visit: &Visit<'_>,
        answer: Answer,
        read: &mut ReadPage<'_>,
    ) -> Result<VisitAnswer, Fault> {
        match answer {
            Answer::Unchanged(_) => {
                let dates = visit.due(visit.memo.changes_in_ms, visit.memo.changes_at);
                Ok(VisitAnswer::Unchanged { acl: self.checked.acl.clone(), dates })
            }
            Answer::Moved(head, to) => self.moved(visit, head.status, &to),
            Answer::Absent(head) if head.status == 410 => Err(Fault::Gone),
            Answer::Absent(_) => Err(Fault::missing()),
            Answer::Page(head, mut body) => {
                let mut start = Vec::new();
                let longest = limits::SITEMAP_HEAD_BYTES as u64;
                let taken = (&mut body).take(longest).read_to_end(&mut start);
                taken.map_err(|error| http::fault_of(&error))?;
                if self.is_read_as_sitemap(visit.url, visit.handed_down) {
                    return Ok(self.in_role_of_sitemap(visit.url, &start, &mut start.as_slice().chain(body)));
                }
                if self.checked.sitemaps && kinds::is_sitemap(&start) {
                    return Ok(self.sitemap(visit.url, &mut start.as_slice().chain(body)));
                }
                self.is_what_it_is_to_be(visit.url, &head, &start)?;
                if self.checked.feed.is_none() && self.is_start(visit.url) && kinds::is_feed(&start) {
                    let url = visit.url;
                    self.note(format!(
                        "{url} is a feed; `ingather sync feed+{url}` finds its entries one by one"
                    ));
                }
                self.look_for_login(visit.url, &mut start, &mut body)?;
                let modified = visit.is_as_before(&mut start, &mut body)?.then_some(visit.memo.modified);
                let mut whole = Whole {
                    content: start.as_slice().chain(body),
                    hash: blake3::Hasher::new(),
                    left: self.checked.size_max,
                    bytes_max: self.checked.size_max,
                    failed: None,
                };
                self.page(visit, (&head, modified), &mut whole, read)
            }
        }
    }

    /// Says that a page wants a password, where others were redirected to it and the job has none.
    fn look_for_login(&self, url: &Url, start: &mut Vec<u8>, body: &mut impl Read) -> Result<(), Fault> {
        if self.redirected.is_target(url) {
            let left = limits::WEB_LOGIN_LOOK_BYTES.saturating_sub(start.len() as u64);
            body.take(left).read_to_end(start).map_err(|error| http::fault_of(&error))?;
            self.redirected.look(url, start).into_iter().for_each(|sentence| self.note(sentence));
        }
        Ok(())
    }

    /// An address that leads to another one is no entry: for now, where the status says so.
    fn moved(&self, visit: &Visit<'_>, status: u16, to: &Url) -> Result<VisitAnswer, Fault> {
        let mut leads = Leads { for_now: matches!(status, 302 | 303 | 307), ..Leads::default() };
        let outside = |to: &Url, why: &str| {
            let message = format!("it is redirected to {to}, which is none of the job: {why}");
            Reason::new("redirect_outside", message)
        };
        let to = match self.checked.urls.normalise(to.as_str()) {
            Ok(to) => to,
            Err(why) => return Ok(VisitAnswer::NoEntry(outside(to, &why.message), leads)),
        };
        if to == *visit.url {
            let why = "it is redirected to itself; perhaps its host wants a cookie, or a parameter that is dropped from addresses";
            return Err(Fault::broken("redirect_loop", why));
        }
        let reason = Reason::new("redirect", format!("it is redirected to {to}"));
        if self.is_read_as_sitemap(visit.url, visit.handed_down) {
            leads.references = self.moved_sitemap(&to, &mut leads);
            return Ok(VisitAnswer::NoEntry(reason, leads));
        }
        let judged = self.judged(to.as_str(), &HandedDown::new());
        // Each of a chain without end leads to one that nobody has seen.
        match judged.and_then(|to| if self.is_start(&to) { Ok(()) } else { self.counted(&to, &mut leads) }) {
            Ok(()) => {
                if self.login.is_none() {
                    self.redirected.note(visit.url, &to);
                }
                leads.references = vec![visit.found_at(&to)];
                leads.in_place = Some(InPlace { reference: 0, has_content: false });
                Ok(VisitAnswer::NoEntry(reason, leads))
            }
            Err(why) => Ok(VisitAnswer::NoEntry(outside(&to, &why.message), leads)),
        }
    }

    /// Whether a link leads to a document of the job; where a bound against names without end was met, not all that it leads to is known.
    pub(super) fn admits(&self, url: &Url, leads: &mut Leads) -> bool {
        if let Err(reason) = self.judged_page(url) {
            self.left_out.note(url, &reason);
            return false;
        }
        self.counted(url, leads).is_ok()
    }

    /// Counts an address among those that are alike; one that is too much leaves unknown what else there is.
    pub(super) fn counted(&self, url: &Url, leads: &mut Leads) -> Result<(), Reason> {
        self.alike.admit(url, self.checked.scope.traps()).inspect_err(|reason| {
            leads.incomplete = true;
            self.left_out.note(url, reason);
        })
    }

    fn page(
        &self,
        visit: &Visit<'_>,
        (head, modified): (&Head, Option<Option<i64>>),
        whole: &mut Whole<impl Read>,
        read: &mut ReadPage<'_>,
    ) -> Result<VisitAnswer, Fault> {
        let acl = self.checked.acl.clone();
        let mut record = super::page::record(visit.url, head);
        record.modified = modified.unwrap_or(record.modified);
        let modified = record.modified;
        super::page::take_over(&mut record, visit.handed_down);
        let charset = record.charset.clone();
        let links = read(&mut record, &acl, whole);
        // What a stage says of content that broke off knows less of it than the connection.
        if let Some(fault) = whole.failed.take() {
            return Err(fault);
        }
        let links = links?;
        let digest = whole.hash.finalize();
        let (mut leads, no_entry) = self.leads(visit, head, &links);
        let directives = self.directives(head, &links);
        if let Some(reason) = no_entry {
            return Ok(VisitAnswer::NoEntry(reason, leads));
        }
        let changes_at = links.changes_at.iter().copied().filter(|at| *at > visit.now).min();
        let header = |name: &str| head.header(name).map(str::to_owned);
        let memo = Memo {
            etag: header("etag"),
            last_modified: header("last-modified"),
            digest: Some(*digest.as_bytes()),
            status: head.status,
            basis: visit.basis.0,
            modified,
            changes_in_ms: links.changes_in_ms,
            changes_at,
        };
        // One that says until when it may be found is read each time: an answer that it is as before would not say that.
        let has_validator = memo.etag.is_some() || memo.last_modified.is_some();
        leads.memo = (has_validator && directives.until.is_none()).then(|| memo.encode());
        let dates =
            Dates { expires_not_after: directives.until, ..visit.due(links.changes_in_ms, changes_at) };
        // The same bytes in another charset are another text, and so they are with another title.
        let handed =
            if visit.handed_down.is_empty() { String::new() } else { format!("{:?}", visit.handed_down) };
        let content = match (charset, handed.as_str()) {
            (None, "") => Stamp::of(digest.as_bytes()),
            (charset, handed) => {
                let charset = charset.unwrap_or_default();
                Stamp::of(&[digest.as_bytes(), charset.as_bytes(), handed.as_bytes()].concat())
            }
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

/// The content of a page as it is read: its digest, and why it broke off.
struct Whole<R> {
    content: R,
    hash: blake3::Hasher,
    /// Bytes that it may still have, of so many.
    left: u64,
    bytes_max: u64,
    failed: Option<Fault>,
}

impl<R: Read> Read for Whole<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(buffer).and_then(|length| {
            self.left = self
                .left
                .checked_sub(length as u64)
                .ok_or_else(|| io::Error::other(http::too_large(self.bytes_max)))?;
            Ok(length)
        });
        match read {
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
