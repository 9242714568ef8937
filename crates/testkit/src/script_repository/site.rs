//! A site in memory that a test scripts: pages that lead to others, and how each of them answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use ingather_contract::call::CallContext;
use ingather_contract::events::{EventName, EventNames};
use ingather_contract::refers::{
    Asked, HandedDown, InPlace, Leads, NamedVersion, ReadPage, Reference, Refers, VisitAnswer,
};
use ingather_contract::repository::{
    ContainerReport, Group, Item, Listing, Named, Observed, Page as ListedPage, Presence, ReadContent,
    Repository, RepositoryCapabilities, RepositoryKind,
};
use ingather_contract::settings::{NoSettings, schema_of};
use ingather_model::access::Acl;
use ingather_model::document::{Links, Record};
use ingather_model::fairness::pace::Pace;
use ingather_model::fault::{Fault, Reason};
use ingather_model::job::dates::Dates;
use ingather_model::key::{Stamp, parent_bytes};

use crate::crash::Crash;
use crate::together::gate::Gate;

/// Follows links of a scripted site: `{"world": name}`.
pub static SITE: RepositoryKind = RepositoryKind {
    name: "site",
    about: "A site in memory that a test scripts.",
    capabilities: RepositoryCapabilities {
        list: false,
        access: true,
        unique_uris: true,
        looks: false,
        bins: true,
    },
    source_schema: schema_of::<NoSettings>,
    open: |source, _| {
        let world = source["world"].as_str().unwrap_or_default().to_owned();
        Ok(Arc::new(ScriptSite { site: shared(&world), name: world }))
    },
};

/// How a page answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Answer {
    /// With its text.
    #[default]
    Text,
    /// With no entry, but with its links.
    NoEntry,
    /// The same, for now: by a temporary redirect, say.
    ForNow,
    /// It is found in the place of that page, to which it leads by the other relation; with a text of its own, or without.
    InPlace(String, bool),
    /// With its text, and not all of its links.
    CutOff,
    /// With this fault.
    Fault(Fault),
}

impl Answer {
    /// Whether its source says that it is not there, and may be wrong.
    pub fn is_missing(&self) -> bool {
        matches!(self, Answer::Fault(fault) if fault.is_missing())
    }
}

/// A scripted page.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Its text.
    pub text: String,
    /// Names of the pages that it leads to.
    pub links: Vec<String>,
    /// Names of the pages that it leads to by the other relation.
    pub redirects: Vec<String>,
    /// It names pages with their versions, and never says that it is as before.
    pub versions: bool,
    /// What it hands down to all of them.
    pub hands: BTreeSet<String>,
    /// How it answers.
    pub answer: Answer,
    /// So often it cannot be read before it answers so.
    pub failing: u32,
    /// Who may see it; none: everybody.
    pub acl: Option<Acl>,
    /// What it says of its dates.
    pub dates: Dates,
    /// Events: whoever leads to it has them completed before; see [`event`].
    pub after: Vec<String>,
    /// Its visit begins this event, or comes again after it.
    pub begins: Option<String>,
    /// Its visit completes this event.
    pub completes: Option<String>,
    /// Its next visits come again after these events, one each; an empty one: at once.
    pub again: Vec<String>,
}

/// An event of a script: `e` of all jobs, `connection/e` of one connection, `job/e` of one job.
pub fn event(names: &EventNames<'_>, text: &str) -> EventName {
    match text.split_once('/') {
        Some(("connection", name)) => names.connection(name),
        Some(("job", name)) => names.job(name),
        _ => names.global(text),
    }
}

impl Page {
    /// All pages that it leads to.
    pub fn all_links(&self) -> BTreeSet<String> {
        self.links.iter().chain(&self.redirects).cloned().collect()
    }

    /// Whether it answers with a text, or may.
    pub fn has_text(&self) -> bool {
        matches!(self.answer, Answer::Text | Answer::CutOff | Answer::InPlace(_, true))
    }
}

/// Everything that a scripted site holds; it outlives every engine that reads it.
#[derive(Debug, Default)]
pub struct Site {
    /// Pages by name.
    pub pages: BTreeMap<String, Page>,
    /// Where to begin.
    pub seeds: Vec<String>,
    /// Naming the seeds fails after so many.
    pub seeding_fails_after: Option<usize>,
    /// Its pages never say that they are as before.
    pub forgetful: bool,
    /// A version of a page stands for all that the page says, and not for its text alone.
    pub versioned: bool,
    /// Names of pages that were asked for, in order.
    pub visited: Vec<String>,
    /// Whoever asks for a page of that name waits here.
    pub gates: BTreeMap<String, Gate>,
    /// The time of each of these.
    pub visited_at: Vec<i64>,
    /// How fast each of its first folders may be fetched; none: [`FREELY`].
    pub pace: Option<Pace>,
    /// How many pages are being asked for, and the most that were at once.
    pub at_once: (usize, usize),
    /// How many of these answers were that the page is as before.
    pub unchanged: usize,
    /// Where the world dies.
    pub crash: Arc<Crash>,
}

impl Site {
    /// The page of that name, made when it is not there.
    pub fn page(&mut self, name: &str) -> &mut Page {
        self.pages.entry(name.to_owned()).or_default()
    }

    /// The version of what a page says.
    fn version(&self, page: &Page) -> Stamp {
        let Page { text, links, redirects, hands, answer, dates, .. } = page;
        match self.versioned {
            true => {
                Stamp::of(format!("{text} {links:?} {redirects:?} {hands:?} {answer:?} {dates:?}").as_bytes())
            }
            false => Stamp::of(text.as_bytes()),
        }
    }

    /// The version with which a page is named: of one that is known to answer otherwise than with its text nobody has one.
    fn named_version(&self, name: &str) -> Option<NamedVersion> {
        let is_plain = |page: &&Page| !self.versioned || page.answer == Answer::Text;
        let page = self.pages.get(name).filter(is_plain)?;
        Some(NamedVersion { content: self.version(page), acl: page.acl.clone().unwrap_or_else(Acl::open) })
    }

    /// Whether a page leads back to itself by pages of which each is found at the next one, and none has a text.
    fn is_moved_in_a_circle(&self, name: &str) -> bool {
        let mut at = name;
        for _ in 0..self.pages.len() {
            match self.pages.get(at).map(|page| &page.answer) {
                Some(Answer::InPlace(to, false)) if to == name => return true,
                Some(Answer::InPlace(to, false)) => at = to,
                _ => return false,
            }
        }
        false
    }

    /// A page with a text and links.
    pub fn put(&mut self, name: &str, text: &str, links: &[&str]) {
        let links = links.iter().map(|link| (*link).to_owned()).collect();
        *self.page(name) = Page { text: text.to_owned(), links, ..Page::default() };
    }

    /// Every page that is there can be read from now on, and all seeds are named.
    pub fn heal(&mut self) {
        (self.seeding_fails_after, self.forgetful) = (None, false);
        let in_circles: Vec<String> =
            self.pages.keys().filter(|name| self.is_moved_in_a_circle(name)).cloned().collect();
        in_circles.iter().for_each(|name| self.page(name).answer = Answer::Text);
        for page in self.pages.values_mut() {
            (page.failing, page.begins, page.completes) = (0, None, None);
            page.again.clear();
            let is_there = !(page.answer.is_missing() || page.answer == Answer::Fault(Fault::Gone));
            if is_there && !matches!(page.answer, Answer::NoEntry | Answer::ForNow | Answer::InPlace(..)) {
                page.answer = Answer::Text;
            }
        }
    }
}

static SITES: LazyLock<Mutex<BTreeMap<String, Arc<Mutex<Site>>>>> = LazyLock::new(Mutex::default);

/// The site of a world.
pub fn shared(world: &str) -> Arc<Mutex<Site>> {
    let mut sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
    sites.entry(world.to_owned()).or_default().clone()
}

/// Locks a site.
pub fn locked(site: &Mutex<Site>) -> MutexGuard<'_, Site> {
    site.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The bin of all folders.
const ALL: &str = ".all";

struct ScriptSite {
    site: Arc<Mutex<Site>>,
    name: String,
}

/// Names its seeds, one a page.
struct Seeds {
    seeds: std::vec::IntoIter<String>,
    fails_after: Option<usize>,
    container: ContainerReport,
}

impl Listing for Seeds {
    fn next(&mut self) -> Option<Result<ListedPage, Fault>> {
        match &mut self.fails_after {
            Some(0) => return Some(Err(Fault::passing("away", "the list of seeds broke off"))),
            Some(left) => *left -= 1,
            None => {}
        }
        let seed = self.seeds.next()?;
        let (parent, name) = seed.split_at(parent_bytes(&seed));
        let item = Item { name: name.to_owned(), content: Stamp::NONE, access: Stamp::NONE, identity: 0 };
        let container = Some(self.container.name.clone());
        let group = Group { parent: parent.to_owned(), container, items: vec![item], ..Group::default() };
        Some(Ok(ListedPage {
            containers: vec![self.container.clone()],
            groups: vec![group],
            ..ListedPage::default()
        }))
    }
}

impl ScriptSite {
    fn observed(&self, key: &str, page: &Page) -> Observed {
        Observed {
            content: locked(&self.site).version(page),
            access: Stamp::of(b"access"),
            identity: 0,
            acl: page.acl.clone().unwrap_or_else(Acl::open),
            record: Record {
                uri: self.uri(key),
                path: key.to_owned(),
                body: Some(page.text.clone()),
                ..Record::default()
            },
            dates: page.dates,
        }
    }

    fn memo(page: &Page, references: &[Reference]) -> Vec<u8> {
        let named = |of: &Reference| match of.after.as_slice() {
            [] => format!("{} {}", of.relation, of.key),
            after => format!("{} {} after {after:?}", of.relation, of.key),
        };
        let links: Vec<String> = references.iter().map(named).collect();
        format!("{}\n{}\n{:?}\n{:?}", page.text, links.join("\n"), page.hands, page.answer).into_bytes()
    }

    /// What its events say to the visit of a page: none where it goes on.
    fn events(&self, asked: &Asked<'_>, page: &Page) -> Result<Option<VisitAnswer>, Fault> {
        let named = |text: &String| event(&asked.names, text);
        if let Some(begins) = page.begins.as_ref().map(named)
            && !asked.events.begin(&begins)?
        {
            return Ok(Some(VisitAnswer::Again { after: vec![begins] }));
        }
        if let Some(again) = page.again.first() {
            locked(&self.site).page(asked.key).again.remove(0);
            let after = Some(again).filter(|event| !event.is_empty()).map(named);
            return Ok(Some(VisitAnswer::Again { after: after.into_iter().collect() }));
        }
        page.completes.as_ref().map(named).map_or(Ok(()), |event| asked.events.complete(&event))?;
        Ok(None)
    }

    /// One that leads to a page of this name.
    fn reference(&self, names: &EventNames<'_>, page: &Page, (relation, name): (usize, &str)) -> Reference {
        let after = locked(&self.site).pages.get(name).map(|page| page.after.clone()).unwrap_or_default();
        Reference {
            key: name.to_owned(),
            parent_bytes: parent_bytes(name),
            relation,
            hands_down: match page.hands.is_empty() {
                true => HandedDown::new(),
                false => HandedDown::from([(HANDED.to_owned(), page.hands.clone())]),
            },
            after: after.iter().map(|text| event(names, text)).collect(),
            version: if page.versions { locked(&self.site).named_version(name) } else { None },
        }
    }

    /// A page is asked for: the world may die meanwhile, and nobody holds the site then.
    fn ask(&self, key: &str, now: i64) -> Result<Page, Fault> {
        let crash = locked(&self.site).crash.clone();
        let is_dead = crash.reach("before read") || crash.reach(&format!("before read:{key}"));
        let mut site = locked(&self.site);
        if !is_dead {
            site.visited.push(key.to_owned());
            site.visited_at.push(now);
        }
        if is_dead {
            return Err(Fault::passing("dead", "the process is dead"));
        }
        let gate = site.gates.get(key).cloned();
        drop(site);
        gate.iter().for_each(Gate::pass);
        let page = {
            let mut site = locked(&self.site);
            let page = site.pages.get_mut(key).ok_or_else(Fault::missing)?;
            if page.failing > 0 {
                page.failing -= 1;
                return Err(Fault::passing("away", "the page cannot be read now"));
            }
            page.clone()
        };
        match &page.answer {
            Answer::Fault(fault) => Err(fault.clone()),
            _ => Ok(page),
        }
    }
}

/// The pace of a site that bears two fetches of a folder at once, with no time between them.
pub const FREELY: Pace = Pace { at_once: 2, every_ms: 0 };

/// Counts a page among those that are being asked for.
struct Asking<'s>(&'s Mutex<Site>);

impl<'s> Asking<'s> {
    fn new(site: &'s Mutex<Site>) -> Asking<'s> {
        let (now, most) = &mut locked(site).at_once;
        *now += 1;
        *most = (*most).max(*now);
        Asking(site)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        locked(self.0).at_once.0 -= 1;
    }
}

/// The name under which pages hand something down, and the field that has it.
pub const HANDED: &str = "handed";

impl Refers for ScriptSite {
    fn relations(&self) -> &'static [&'static str] {
        &["link", "redirect"]
    }

    fn visit(
        &self,
        call: &CallContext,
        asked: &Asked<'_>,
        read: &mut ReadPage<'_>,
    ) -> Result<VisitAnswer, Fault> {
        let _asking = Asking::new(&self.site);
        let page = self.ask(asked.key, call.now())?;
        if let Some(answer) = self.events(asked, &page)? {
            return Ok(answer);
        }
        let incomplete = page.answer == Answer::CutOff;
        let kept = if incomplete { page.links.len() / 2 } else { page.links.len() };
        let named =
            page.links.iter().map(|name| (0, name)).chain(page.redirects.iter().map(|name| (1, name)));
        let references = named.map(|(relation, name)| self.reference(&asked.names, &page, (relation, name)));
        let mut references: Vec<Reference> = references.collect();
        let memo = ScriptSite::memo(&page, &references);
        references.drain(kept..page.links.len());
        let acl = page.acl.clone().unwrap_or_else(Acl::open);
        {
            let mut site = locked(&self.site);
            if asked.memo == Some(memo.as_slice()) && !site.forgetful && !page.versions {
                site.unchanged += 1;
                return Ok(VisitAnswer::Unchanged { acl, dates: page.dates });
            }
        }
        let leads =
            Leads { references, incomplete, memo: Some(memo).filter(|_| !incomplete), ..Leads::default() };
        if page.answer == Answer::ForNow {
            let leads = Leads { for_now: true, memo: None, ..leads };
            return Ok(VisitAnswer::NoEntry(Reason::new("redirect", "it is elsewhere for now"), leads));
        }
        if let Answer::InPlace(to, has_content) = &page.answer
            && !(asked.stands_alone && *has_content)
        {
            let reference = leads.references.iter().position(|one| one.key == *to);
            let in_place = reference.map(|reference| InPlace { reference, has_content: *has_content });
            let leads = Leads { in_place, ..leads };
            return Ok(VisitAnswer::NoEntry(Reason::new("elsewhere", format!("it is found at {to}")), leads));
        }
        if page.answer == Answer::NoEntry {
            return Ok(VisitAnswer::NoEntry(Reason::new("no_entry", "the site wants no entry of it"), leads));
        }
        let mut observed = self.observed(asked.key, &page);
        if let Some(handed) = asked.handed_down.get(HANDED) {
            observed.record.fields.insert(HANDED.to_owned(), handed.iter().cloned().collect());
        }
        let _: Links = read(&mut observed.record, &acl, &mut page.text.as_bytes())?;
        Ok(VisitAnswer::Read(Box::new(observed), leads))
    }
}

impl Repository for ScriptSite {
    fn check(&self, _call: &CallContext) -> Result<String, Fault> {
        Ok("it is there".to_owned())
    }

    fn list(&self, _call: &CallContext) -> Result<Box<dyn Listing>, Fault> {
        let site = locked(&self.site);
        let container = ContainerReport {
            name: format!("/{}/", self.name),
            parent: None,
            identity: "site".to_owned(),
            acl: Acl::open(),
            folder: Some(String::new()),
            stamp: Stamp::NONE,
        };
        let (seeds, fails_after) = (site.seeds.clone().into_iter(), site.seeding_fails_after);
        Ok(Box::new(Seeds { seeds, fails_after, container }))
    }

    fn look(&self, call: &CallContext, key: &str) -> Result<Observed, Fault> {
        let page = self.ask(key, call.now())?;
        Ok(self.observed(key, &page))
    }

    fn fetch(&self, call: &CallContext, key: &str, read: &mut ReadContent<'_>) -> Result<Observed, Fault> {
        let asked = Asked::of(key);
        match self.visit(call, &asked, &mut |record, acl, content| {
            read(record, acl, content).map(|()| Links::default())
        })? {
            VisitAnswer::Read(observed, _) => Ok(*observed),
            VisitAnswer::NoEntry(reason, _) => Err(Fault::Refused(reason)),
            VisitAnswer::Unchanged { .. } | VisitAnswer::Again { .. } => {
                Err(Fault::broken("connector", "it cannot be read now"))
            }
        }
    }

    /// Whether something is there, whatever leads to it.
    fn probe(&self, _call: &CallContext, key: &str) -> Presence {
        let page = locked(&self.site).pages.get(key).cloned();
        match page.map(|page| page.answer) {
            None | Some(Answer::Fault(Fault::Gone)) => Presence::Absent,
            Some(answer) if answer.is_missing() => Presence::Absent,
            Some(_) => Presence::Unknown,
        }
    }

    /// Its first folder, and what all of these have in common, whose name comes before theirs.
    fn bins(&self, key: &str) -> Vec<String> {
        key.split_once('/').map(|(host, _)| vec![host.to_owned(), ALL.to_owned()]).unwrap_or_default()
    }

    fn pace(&self, bin: &str) -> Option<Pace> {
        Some(locked(&self.site).pace.unwrap_or(FREELY)).filter(|_| bin != ALL)
    }

    fn uri(&self, key: &str) -> String {
        format!("mem://{}/{key}", self.name)
    }

    fn named(&self, text: &str) -> Result<Named, Reason> {
        Ok(Named::of(text.strip_prefix(&self.uri("")).unwrap_or(text).to_owned()))
    }

    fn refers(&self) -> Option<&dyn Refers> {
        Some(self)
    }
}
