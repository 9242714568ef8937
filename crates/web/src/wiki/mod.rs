//! Wikis as repositories, by the API of MediaWiki: lists of pages lead to pages, and tell which of them were changed.

mod answers;
mod api;
mod login;
mod names;
mod page;
mod settings;
#[cfg(test)]
mod tests;
mod visit;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ingather_contract::call::CallContext;
use ingather_contract::refers::{Asked, Refers, VisitAnswer};
use ingather_contract::repository::{
    Group, Item, Listing, Named, Observed, Page, Presence, ReadContent, Repository, RepositoryCapabilities,
    RepositoryKind, SourceStatus,
};
use ingather_contract::settings::schema_of;
use ingather_model::document::Links;
use ingather_model::fairness::pace::Pace;
use ingather_model::fault::{Fault, Reason};
use ingather_model::key::Stamp;
use ingather_model::limits;
use parking_lot::Mutex;

use self::answers::{Answer, State};
use self::api::Api;
use self::login::Login;
use self::names::{Addresses, ListName, Namespaces, start_key};
use self::settings::{Checked, WikiSettings};
use crate::container::{self, CONTAINER};
use crate::site::paces::Paces;
use crate::urls;

/// The `wiki` repository.
pub static REFERRING: RepositoryKind = RepositoryKind {
    name: "wiki",
    about: "Pages of a wiki, by the API of MediaWiki.",
    capabilities: RepositoryCapabilities {
        list: false,
        access: true,
        unique_uris: true,
        looks: false,
        bins: true,
    },
    source_schema: schema_of::<WikiSettings>,
    open: |source, _| {
        let mut checked = settings::read(source)?;
        let paces = Arc::new(Paces::new(checked.delay_ms, checked.at_once));
        let login = checked.login.take().map(|settings| Login::new(settings, checked.api.host_str()));
        let api = Api::new(checked.api.clone(), checked.client.clone(), paces);
        Ok(Arc::new(Wiki {
            api,
            login,
            checked,
            names: Mutex::default(),
            looked: Mutex::default(),
            unread: Mutex::default(),
            notes: Mutex::default(),
        }))
    },
};

/// The question for what a wiki says of itself.
const ABOUT: &[(&str, &str)] = &[("action", "query"), ("meta", "siteinfo"), ("siprop", "general|namespaces")];

/// One wiki of one job. No lock is held while anything is asked for.
struct Wiki {
    checked: Checked,
    api: Api,
    login: Option<Login>,
    /// Asked for once.
    names: Mutex<Option<Arc<Names>>>,
    /// Pages that were asked about in place of being read, and what was told of them; none where that is to be asked.
    looked: Mutex<HashMap<String, Option<State>>>,
    /// Lists that could not be read: while there are any, what was handed down before proves nothing of now.
    unread: Mutex<HashSet<String>>,
    /// What a person should know, each once.
    notes: Mutex<Vec<String>>,
}

/// How a wiki names what is in it.
#[derive(Debug)]
struct Names {
    addresses: Addresses,
    namespaces: Namespaces,
    /// A sentence about it.
    about: String,
}

/// What a name stands for.
enum Meant {
    List(ListName),
    /// Where the job begins: it leads to the page.
    Start(String),
    Page {
        title: String,
        namespace: i32,
    },
}

impl Wiki {
    fn note(&self, sentence: String) {
        let mut notes = self.notes.lock();
        if notes.len() < limits::WEB_NOTES_MAX && !notes.contains(&sentence) {
            notes.push(sentence);
        }
    }

    /// What the wiki says of itself.
    fn names_of(&self, answer: Answer) -> Result<Names, Fault> {
        let query = answer.query.unwrap_or_default();
        let mut namespaces = Namespaces::default();
        query.namespaces().for_each(|(number, names)| namespaces.put(number, names.into_iter()));
        let general =
            query.general.ok_or_else(|| Fault::broken("no_wiki", "the wiki says nothing of itself"))?;
        let addresses = match &self.checked.pages {
            Some(addresses) => addresses.clone(),
            None => {
                // Some leave the scheme to whoever reads.
                let server = match general.server.strip_prefix("//") {
                    Some(host) => format!("{}://{host}", self.api.url.scheme()),
                    None => general.server.clone(),
                };
                let addresses =
                    Addresses::of(&format!("{server}{}", general.articlepath)).map_err(|reason| {
                        Fault::broken(
                            "pages",
                            format!(
                                "the wiki gives no address of its pages ({}); set `pages`",
                                reason.message
                            ),
                        )
                    })?;
                if addresses.host().as_deref() != self.api.url.host_str() {
                    let message = "the wiki says that its pages are at another host than its API; where that is so, set `pages`, such as \
                        https://wiki.example.org/wiki/$1";
                    return Err(Fault::broken("pages", message));
                }
                addresses
            }
        };
        let about = format!("{} ({})", general.sitename, general.generator).replace(char::is_control, " ");
        let about = about.chars().take(limits::WIKI_SENTENCE_BYTES_MAX).collect();
        Ok(Names { addresses, namespaces, about })
    }

    fn known_names(&self) -> Option<Arc<Names>> {
        self.names.lock().clone()
    }

    /// Asked singly, beside runs.
    fn names_at_once(&self, call: &CallContext) -> Result<Arc<Names>, Fault> {
        if let Some(names) = self.known_names() {
            return Ok(names);
        }
        let names = Arc::new(self.names_of(self.api.ask(call, ABOUT)?)?);
        *self.names.lock() = Some(names.clone());
        Ok(names)
    }

    /// What a document of the job is, as far as its name tells.
    fn meant(&self, names: &Names, key: &str) -> Result<Meant, Reason> {
        let start = self.checked.start.iter().find(|title| start_key(&self.api.url, title) == key);
        if let Some(title) = start {
            return Ok(Meant::Start(title.clone()));
        }
        if let Some(list) = ListName::of(&self.api.url, key) {
            return match self.checked.namespaces.binary_search(&list.namespace) {
                Ok(_) => Ok(Meant::List(list)),
                Err(_) => Err(Reason::new("namespace", "it lists a namespace that is none of the job")),
            };
        }
        let title = names.addresses.title(key);
        let title = title.ok_or_else(|| Reason::new("outside", "it is no address of a page of this wiki"))?;
        let namespace = names.namespaces.of(&title);
        self.checked.judge(namespace, &title)?;
        Ok(Meant::Page { title, namespace })
    }

    /// Whether a request takes the turn of the document that it was made for.
    fn is_paced(&self) -> bool {
        self.api.bins.first().is_some_and(|host| self.api.paces.of(host).every_ms > 0)
    }
}

impl Repository for Wiki {
    fn check(&self, call: &CallContext) -> Result<String, Fault> {
        match self.names_at_once(call) {
            Ok(names) => Ok(format!("{} is the API of {}", self.api.url, names.about)),
            Err(Fault::Unreadable(_)) if self.login.is_some() => {
                Ok(format!("{} answers, and wants a login", self.api.url))
            }
            Err(fault) => Err(fault),
        }
    }

    fn list(&self, _call: &CallContext) -> Result<Box<dyn Listing>, Fault> {
        let item = |name: &str| Item {
            name: name.to_owned(),
            content: Stamp::NONE,
            access: Stamp::NONE,
            identity: 0,
        };
        let api = &self.api.url;
        let lists: Vec<String> = match self.checked.start.as_slice() {
            [] => self.checked.namespaces.iter().map(|number| ListName::first(*number).key(api)).collect(),
            start => start.iter().map(|title| start_key(api, title)).collect(),
        };
        let groups = lists.into_iter().map(|key| {
            let (parent, name) = key.split_at(urls::parent_bytes(&key));
            Group {
                parent: parent.to_owned(),
                container: Some(CONTAINER.to_owned()),
                items: vec![item(name)],
                ..Group::default()
            }
        });
        let page =
            Page { groups: groups.collect(), containers: vec![container::report()], ..Page::default() };
        Ok(Box::new(Seeds(Some(page))))
    }

    fn look(&self, _call: &CallContext, _key: &str) -> Result<Observed, Fault> {
        Err(Fault::passing("not_looked_at", "a page is only looked at when a run visits it"))
    }

    fn fetch(&self, call: &CallContext, key: &str, read: &mut ReadContent<'_>) -> Result<Observed, Fault> {
        let asked = Asked::of(key);
        for _ in 0..limits::AGAIN_MAX {
            let visited = self.visit(call, &asked, &mut |record, acl, content| {
                read(record, acl, content).map(|()| Links::default())
            });
            match visited? {
                VisitAnswer::Again { .. } => {}
                VisitAnswer::Read(observed, _) => return Ok(*observed),
                VisitAnswer::NoEntry(reason, _) => return Err(Fault::Refused(reason)),
                VisitAnswer::Unchanged { .. } => break,
            }
        }
        Err(Fault::broken("connector", "nothing was asked for that could be unchanged"))
    }

    fn probe(&self, _call: &CallContext, _key: &str) -> Presence {
        Presence::Unknown
    }

    fn bins(&self, _key: &str) -> Vec<String> {
        self.api.bins.clone()
    }

    fn pace(&self, bin: &str) -> Option<Pace> {
        Some(self.api.paces.of(bin))
    }

    fn uri(&self, key: &str) -> String {
        key.to_owned()
    }

    fn named(&self, text: &str) -> Result<Named, Reason> {
        let names = self.known_names();
        let addresses = names.as_ref().map(|names| &names.addresses).or(self.checked.pages.as_ref());
        let key = if text.contains("://") {
            let is_list = text.strip_prefix(self.api.url.as_str()).is_some_and(|rest| rest.starts_with('?'));
            let mut url =
                url::Url::parse(text).map_err(|error| Reason::new("not_an_address", error.to_string()))?;
            url.set_fragment(None);
            let respelled = addresses.and_then(|addresses| addresses.key(&addresses.title(url.as_str())?));
            if is_list { text.to_owned() } else { respelled.unwrap_or_else(|| url.into()) }
        } else {
            // A person may know the title alone.
            addresses.and_then(|addresses| addresses.key(text)).ok_or_else(|| {
                Reason::new(
                    "not_an_address",
                    "name the page by its address, such as https://wiki.example.org/wiki/Title",
                )
            })?
        };
        Ok(Named { parent_bytes: urls::parent_bytes(&key), key })
    }

    fn explain(&self, call: &CallContext, key: &str) -> SourceStatus {
        let names = match self.names_at_once(call) {
            Ok(names) => names,
            Err(fault) => {
                return SourceStatus::Unknown(fault.reason());
            }
        };
        match self.meant(&names, key) {
            Err(reason) => SourceStatus::Left(reason),
            Ok(_) => SourceStatus::Unknown(Reason::new(
                "not_looked_at",
                "a page is only looked at when a run visits it; its rules take it",
            )),
        }
    }

    fn notes(&self) -> Vec<String> {
        self.notes.lock().clone()
    }

    fn credentials_fingerprint(&self) -> String {
        self.login.as_ref().map(|login| login.user().to_owned()).unwrap_or_default()
    }

    fn refers(&self) -> Option<&dyn Refers> {
        Some(self)
    }
}

/// The first lists, in one page.
struct Seeds(Option<Page>);

impl Listing for Seeds {
    fn next(&mut self) -> Option<Result<Page, Fault>> {
        self.0.take().map(Ok)
    }
}
