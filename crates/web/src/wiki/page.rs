//! The visit of one page: nothing is asked where lists say that it is as before, and else its text, or first its state where nobody told it.

use std::io::Read;

use ingather_contract::refers::{HandedDown, Leads, ReadPage, VisitAnswer};
use ingather_contract::repository::Observed;
use ingather_model::document::Record;
use ingather_model::fault::{Fault, Reason};
use ingather_model::job::dates::Dates;
use ingather_model::key::Stamp;
use ingather_model::limits;

use super::Wiki;
use super::answers::{Parsed, State};
use super::names::is_title;
use super::visit::{Halt, LINK, PageVisit, of_wiki, reference};
use crate::http::is_too_much;

/// The question for the text of a page as it is shown, without what differs from one question to the next.
const TEXT: &[(&str, &str)] = &[
    ("action", "parse"),
    ("prop", "text|revid|links|categories"),
    ("disablelimitreport", "1"),
    ("disableeditsection", "1"),
    ("disabletoc", "1"),
];

impl Wiki {
    pub(super) fn page(&self, visit: &PageVisit<'_>, read: &mut ReadPage<'_>) -> Result<VisitAnswer, Halt> {
        let key = visit.asked.key;
        let looked = self.looked.lock().remove(key);
        let is_told = looked.is_none() && self.unread.lock().is_empty();
        let told = State::told(visit.asked.handed_down).filter(|(state, _)| is_told && state.is_readable);
        let state = match (looked.flatten(), told) {
            (Some(state), _) => state,
            (None, Some((state, is_sure))) => {
                if is_sure && self.is_as_before(visit, &state) {
                    return Ok(self.unchanged());
                }
                state
            }
            (None, None) => {
                let state = self.state(visit)?.ok_or_else(changing)?;
                if self.is_as_before(visit, &state) {
                    return Ok(self.unchanged());
                }
                if self.is_paced() && self.looks_later(key, Some(state.clone())) {
                    return Err(Halt::again(Vec::new()));
                }
                state
            }
        };
        let parsed = self.text(visit)?;
        if parsed.revid != state.revision || parsed.title != visit.title {
            // Somebody wrote it since it was listed, or it is called otherwise: it is asked what it is now.
            return match self.looks_later(key, None) {
                true => Err(Halt::again(Vec::new())),
                false => Err(changing().into()),
            };
        }
        self.read_page(visit, &state, &parsed, read)
    }

    fn is_as_before(&self, visit: &PageVisit<'_>, state: &State) -> bool {
        state.is_readable && visit.asked.memo == Some(state.memo().as_slice())
    }

    fn unchanged(&self) -> VisitAnswer {
        VisitAnswer::Unchanged { acl: self.checked.acl.clone(), dates: Dates::default() }
    }

    /// Remembers what was told of a page until its turn comes again; false where there are too many of those.
    fn looks_later(&self, key: &str, state: Option<State>) -> bool {
        let mut looked = self.looked.lock();
        let has_room = looked.len() < limits::WIKI_LOOKED_MAX;
        if has_room {
            looked.insert(key.to_owned(), state);
        }
        has_room
    }

    fn text(&self, visit: &PageVisit<'_>) -> Result<Parsed, Halt> {
        let question = [TEXT, &[("page", visit.title)]].concat();
        let answer = self.ask(visit.call, visit.asked, &question).map_err(|halt| match halt {
            // It leads to what it led to before.
            Halt::Fault(fault) if is_too_much(&fault) => {
                let leads = Leads { incomplete: true, ..Leads::default() };
                Halt::Answer(Box::new(VisitAnswer::NoEntry(fault.reason(), leads)))
            }
            Halt::Fault(fault) => Halt::Fault(of_wiki(fault)),
            other => other,
        })?;
        Ok(answer.parse.ok_or_else(|| Fault::broken("api", "the wiki gives no text of the page"))?)
    }

    fn read_page(
        &self,
        visit: &PageVisit<'_>,
        state: &State,
        parsed: &Parsed,
        read: &mut ReadPage<'_>,
    ) -> Result<VisitAnswer, Halt> {
        let mut record = record(visit, state, parsed);
        let mut html: &[u8] = parsed.text.as_bytes();
        let html: &mut dyn Read = &mut html;
        // What links there are, the wiki knows better than its text.
        read(&mut record, &self.checked.acl, html)?;
        let leads = self.leads(visit, state, parsed);
        let acl = self.checked.acl.clone();
        let access = Stamp::of(format!("{acl:?}").as_bytes());
        let dates = Dates::default();
        let observed = Observed { content: state.version(), access, identity: 0, acl, record, dates };
        Ok(VisitAnswer::Read(Box::new(observed), leads))
    }

    /// Where links are followed, pages of the job that a page links to and that are there.
    fn leads(&self, visit: &PageVisit<'_>, state: &State, parsed: &Parsed) -> Leads {
        let mut leads = Leads { memo: Some(state.memo()), ..Leads::default() };
        // Lists lead to all pages, and tell of them what links do not.
        let follows = !self.checked.start.is_empty();
        for link in parsed.links.iter().filter(|link| follows && link.exists) {
            if self.checked.judge(link.ns, &link.title).is_err() {
                continue;
            }
            if leads.references.len() >= limits::LINKS_MAX {
                leads.incomplete = true;
                break;
            }
            let key = visit.names.addresses.key(&link.title);
            leads.references.extend(key.map(|key| reference(key, LINK, HandedDown::new())));
        }
        leads
    }
}

fn changing() -> Fault {
    Fault::Passing {
        reason: Reason::new("changing", "the page was written while it was asked for"),
        retry_in_ms: None,
        attempts_max: None,
        give_up_at: None,
        when_exhausted: ingather_model::fault::Exhausted::Keep,
    }
}

/// The record of a page before it is read.
fn record(visit: &PageVisit<'_>, state: &State, parsed: &Parsed) -> Record {
    let key = visit.asked.key;
    let mut record = Record {
        uri: key.to_owned(),
        path: key.to_owned(),
        title: parsed.title.clone(),
        media_type: Some("text/html".to_owned()),
        modified: state.modified,
        author: state.author.clone(),
        ..Record::default()
    };
    let space = visit.names.namespaces.name(visit.namespace);
    let space = if space.is_empty() { "(Main)" } else { space };
    let shown = parsed.categories.iter().filter(|category| !category.hidden);
    let named = shown.map(|category| category.category.replace('_', " ")).filter(|name| is_title(name));
    let categories: Vec<String> = named.take(limits::WEB_NAMES_MAX).collect();
    record.fields.insert("name".to_owned(), vec![parsed.title.clone()]);
    record.fields.insert("host".to_owned(), visit.names.addresses.host().into_iter().collect());
    record.fields.insert("namespace".to_owned(), vec![space.to_owned()]);
    record.fields.insert("revision".to_owned(), vec![state.revision.to_string()]);
    if !categories.is_empty() {
        record.fields.insert("category".to_owned(), categories);
    }
    record
}
