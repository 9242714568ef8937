//! The visit of a list, or of a page: one request each, so that each takes its turn.

use std::sync::Arc;

use ingather_contract::call::CallContext;
use ingather_contract::events::EventName;
use ingather_contract::refers::{
    Asked, HandedDown, InPlace, Leads, NamedVersion, ReadPage, Reference, Refers, VisitAnswer,
};
use ingather_model::access::Acl;
use ingather_model::fault::{Fault, Reason};
use ingather_model::limits;

use super::answers::{Answer, Page, State};
use super::login::Got;
use super::names::{ListName, is_title};
use super::{ABOUT, Meant, Names, Wiki};
use crate::session::LOGIN;
use crate::urls;

/// How documents of a wiki are related to those that they lead to.
const RELATIONS: &[&str] = &["list", "link", "redirect"];
pub(super) const LIST: usize = 0;
pub(super) const LINK: usize = 1;
pub(super) const REDIRECT: usize = 2;

/// Why a visit ends before a page is read.
pub(super) enum Halt {
    Answer(Box<VisitAnswer>),
    Fault(Fault),
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Halt {
        Halt::Fault(fault)
    }
}

impl Halt {
    /// The request was made for something else: its turn comes again.
    pub(super) fn again(after: Vec<EventName>) -> Halt {
        Halt::Answer(Box::new(VisitAnswer::Again { after }))
    }

    /// It is none: where it leads to a page, it is found at the first one.
    pub(super) fn no_entry(code: &str, why: impl Into<String>, references: Vec<Reference>) -> Halt {
        let in_place = (!references.is_empty()).then_some(InPlace { reference: 0, has_content: false });
        let leads = Leads { references, in_place, ..Leads::default() };
        Halt::Answer(Box::new(VisitAnswer::NoEntry(Reason::new(code, why), leads)))
    }
}

/// What stands in questions about pages: their last revisions, and whether they may be read.
const STATE: &[(&str, &str)] = &[
    ("action", "query"),
    ("prop", "info|revisions"),
    ("rvprop", "ids|timestamp|user"),
    ("inprop", "readable"),
];

impl Refers for Wiki {
    fn visit(
        &self,
        call: &CallContext,
        asked: &Asked<'_>,
        read: &mut ReadPage<'_>,
    ) -> Result<VisitAnswer, Fault> {
        let mut visit = || -> Result<VisitAnswer, Halt> {
            let names = self.names(call, asked)?;
            match self.meant(&names, asked.key).map_err(Fault::Refused)? {
                Meant::List(list) => self.list_of_pages(call, asked, &names, &list),
                Meant::Start(title) => {
                    let reason = Reason::new("start", "the job begins there, at the page");
                    let key = names.addresses.key(&title);
                    let references =
                        key.map(|key| reference(key, LIST, HandedDown::new())).into_iter().collect();
                    Ok(VisitAnswer::NoEntry(reason, Leads { references, ..Leads::default() }))
                }
                Meant::Page { title, namespace } => {
                    let visit = PageVisit { call, asked, names: &names, title: &title, namespace };
                    self.page(&visit, read)
                }
            }
        };
        match visit() {
            Ok(answer) => Ok(answer),
            Err(Halt::Answer(answer)) => Ok(*answer),
            Err(Halt::Fault(fault)) => Err(fault),
        }
    }

    fn audience(&self) -> Option<&Acl> {
        Some(&self.checked.acl)
    }

    fn relations(&self) -> &'static [&'static str] {
        RELATIONS
    }
}

/// A page that is visited.
pub(super) struct PageVisit<'v> {
    pub(super) call: &'v CallContext,
    pub(super) asked: &'v Asked<'v>,
    pub(super) names: &'v Names,
    pub(super) title: &'v str,
    pub(super) namespace: i32,
}

/// A reference to a document of the wiki.
pub(super) fn reference(key: String, relation: usize, hands_down: HandedDown) -> Reference {
    Reference { parent_bytes: urls::parent_bytes(&key), key, relation, hands_down, ..Reference::default() }
}

/// What is refused here is refused for the whole wiki, and no word about a document.
pub(super) fn of_wiki(fault: Fault) -> Fault {
    match fault {
        Fault::Refused(reason) => Fault::Broken(reason),
        other => other,
    }
}

impl Wiki {
    /// Asks once, as who the job is.
    pub(super) fn ask(
        &self,
        call: &CallContext,
        asked: &Asked<'_>,
        question: &[(&str, &str)],
    ) -> Result<Answer, Halt> {
        let Some(login) = &self.login else { return Ok(self.api.ask(call, question)?) };
        match login.ask(&self.api, call, asked, question) {
            Ok(Got::Answer(answer)) => Ok(*answer),
            Ok(Got::After(event)) => Err(Halt::again(vec![event])),
            Err(fault) => {
                if fault.reason().code == LOGIN {
                    self.note(fault.to_string());
                }
                Err(Halt::Fault(fault))
            }
        }
    }

    /// How the wiki names what is in it; asked for in place of the first document.
    fn names(&self, call: &CallContext, asked: &Asked<'_>) -> Result<Arc<Names>, Halt> {
        if let Some(names) = self.known_names() {
            return Ok(names);
        }
        let answer = self.ask(call, asked, ABOUT).map_err(|halt| match halt {
            Halt::Fault(Fault::Gone) => {
                Halt::Fault(Fault::broken("api", "the wiki does not speak of itself"))
            }
            Halt::Fault(fault) => Halt::Fault(of_wiki(fault)),
            other => other,
        })?;
        let names = Arc::new(self.names_of(answer)?);
        *self.names.lock() = Some(names.clone());
        match self.is_paced() {
            true => Err(Halt::again(Vec::new())),
            false => Ok(names),
        }
    }

    /// What is told of a page beside its text; none where it cannot be told now.
    pub(super) fn state(&self, visit: &PageVisit<'_>) -> Result<Option<State>, Halt> {
        let own = [("titles", visit.title), ("redirects", "1"), ("intestactions", "read")];
        let question = [STATE, &own].concat();
        let answer = self.ask(visit.call, visit.asked, &question).map_err(of_wiki_halt)?;
        let query = answer.query.unwrap_or_default();
        let leads = |title: &str| {
            let key = visit.names.addresses.key(title);
            let is_own = self.checked.judge(visit.names.namespaces.of(title), title).is_ok();
            key.filter(|_| is_own)
                .map(|key| reference(key, REDIRECT, HandedDown::new()))
                .into_iter()
                .collect()
        };
        // Where one redirect leads to the next, each is told.
        let own = query.redirects.iter().find(|redirect| redirect.from == visit.title);
        if let Some(redirect) = own.or(query.redirects.first()) {
            let to: String = redirect.to.chars().take(limits::WIKI_TITLE_BYTES_MAX).collect();
            let references = if redirect.tointerwiki.is_some() { Vec::new() } else { leads(&to) };
            return Err(Halt::no_entry("redirect", format!("it is redirected to `{to}`"), references));
        }
        let Some(page) = query.pages.first().filter(|_| query.pages.len() == 1) else {
            return Err(Fault::broken(
                "api",
                "the wiki was asked about one page, and answers about another number",
            )
            .into());
        };
        if page.invalid {
            return Err(Fault::refused("not_a_title", "the wiki says that no page can be called so").into());
        }
        if page.missing {
            // The word of its database, and not of a server in front of it.
            return Err(Fault::Gone.into());
        }
        if page.title != visit.title && is_title(&page.title) {
            let why = format!("the wiki calls it `{}`", page.title);
            return Err(Halt::no_entry("other_title", why, leads(&page.title)));
        }
        if page.redirect {
            return Err(Halt::no_entry("redirect", "it is redirected", Vec::new()));
        }
        Ok(State::of(page))
    }

    /// A list is no entry, and leads to the pages that it names and to the next list.
    fn list_of_pages(
        &self,
        call: &CallContext,
        asked: &Asked<'_>,
        names: &Names,
        list: &ListName,
    ) -> Result<VisitAnswer, Halt> {
        let listed = self.listed(call, asked, names, list);
        // An answer that it comes again later says nothing of the list.
        let is_failed = matches!(&listed, Err(Halt::Fault(_)));
        if listed.is_ok() {
            self.unread.lock().remove(asked.key);
        } else if is_failed {
            self.unread.lock().insert(asked.key.to_owned());
        }
        let leads = listed?;
        Ok(VisitAnswer::NoEntry(Reason::new("list", "it is a list of pages"), leads))
    }

    fn listed(
        &self,
        call: &CallContext,
        asked: &Asked<'_>,
        names: &Names,
        list: &ListName,
    ) -> Result<Leads, Halt> {
        if !names.namespaces.has(list.namespace) {
            let why = format!("the wiki has no namespace with the number {}", list.namespace);
            self.note(why.clone());
            return Err(Fault::broken("namespace", why).into());
        }
        let namespace = list.namespace.to_string();
        let most = limits::WIKI_LIST_PAGES_MAX.to_string();
        let mut question = STATE.to_vec();
        question.extend([
            ("generator", "allpages"),
            ("gapnamespace", namespace.as_str()),
            ("gaplimit", most.as_str()),
            ("gapfilterredir", "nonredirects"),
        ]);
        question.extend(list.on.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let answer = self.ask(call, asked, &question).map_err(of_wiki_halt)?;
        let goes_on = answer.goes_on();
        // Nothing at all is no list without pages.
        if !answer.batchcomplete && goes_on.is_none() {
            return Err(
                Fault::broken("api", "the wiki does not say whether its list of pages is over").into()
            );
        }
        let pages = answer.query.unwrap_or_default().pages;
        if pages.len() > limits::WIKI_LIST_PAGES_MAX {
            return Err(Fault::broken("api", "the wiki names more pages than it was asked for").into());
        }
        let mut leads = Leads::default();
        leads.references.extend(pages.iter().filter_map(|page| self.listed_page(names, page)));
        if let Some(on) = goes_on {
            leads.references.extend(self.next_list(list, on)?);
        }
        Ok(leads)
    }

    fn listed_page(&self, names: &Names, page: &Page) -> Option<Reference> {
        let is_own = self.checked.judge(names.namespaces.of(&page.title), &page.title).is_ok();
        if page.missing || page.invalid || page.redirect || !is_own {
            return None;
        }
        let Some(key) = names.addresses.key(&page.title) else {
            self.note("a page has too long an address to be taken".to_owned());
            return None;
        };
        let state = State::of(page);
        let version = state
            .as_ref()
            .filter(|state| state.is_readable)
            .map(|state| NamedVersion { content: state.version(), acl: self.checked.acl.clone() });
        let hands_down = state.map(|state| state.handed_down()).unwrap_or_default();
        Some(Reference { version, ..reference(key, LIST, hands_down) })
    }

    fn next_list(&self, list: &ListName, on: Vec<(String, String)>) -> Result<Option<Reference>, Fault> {
        let next = list.next(on);
        let key = next.key(&self.api.url);
        let is_endless = next.round >= limits::WIKI_LISTS_MAX || next.on.is_empty() || next.on == list.on;
        if is_endless || key.len() > limits::WEB_URL_BYTES_MAX {
            let why = "the wiki does not say how its list of pages goes on, or it has no end";
            return Err(Fault::broken("api", why));
        }
        Ok(Some(reference(key, LIST, HandedDown::new())))
    }
}

/// As [`of_wiki`]; a page that is not there is none of a list.
fn of_wiki_halt(halt: Halt) -> Halt {
    match halt {
        Halt::Fault(Fault::Gone) => {
            Halt::Fault(Fault::broken("api", "the wiki does not know what it was asked for"))
        }
        Halt::Fault(fault) => Halt::Fault(of_wiki(fault)),
        other => other,
    }
}
