//! A wiki that a test scripts, and that speaks as MediaWiki does (`api.php`, JSON of the second format version): siteinfo, allpages with what is told of each
//! page, redirects, parse, login by a token, lag and errors.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};

use super::server::{Answer, Asked, SiteServer};

/// One page.
#[derive(Clone, Debug, Default)]
struct Page {
    text: String,
    links: Vec<String>,
    categories: Vec<String>,
    redirect: Option<String>,
    user: String,
    revision: u64,
    /// When it was touched, as a count.
    touched: u64,
    /// Code of the error that reading it gives.
    shut: Option<&'static str>,
}

/// What the wiki is.
#[derive(Default)]
struct State {
    pages: BTreeMap<(i32, String), Page>,
    count: u64,
    per_list: usize,
    lags: usize,
    error: Option<(&'static str, &'static str)>,
    account: Option<(String, String)>,
    sessions: BTreeSet<String>,
    articles: String,
}

/// A wiki; it ends with the test.
pub struct ScriptedWiki {
    /// Where it is served.
    pub server: SiteServer,
    state: Arc<Mutex<State>>,
}

/// Where the API is.
const API: &str = "/w/api.php";
const NAMESPACES: &[(i32, &str, &str)] = &[(0, "", ""), (1, "Diskussion", "Talk"), (12, "Hilfe", "Help")];

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ScriptedWiki {
    /// One without pages. `per_list`: how many pages a list names at most.
    pub fn start(per_list: usize) -> ScriptedWiki {
        let server = SiteServer::start();
        let state = State { per_list, articles: "/wiki/$1".to_owned(), ..State::default() };
        let state = Arc::new(Mutex::new(state));
        let (known, address) = (state.clone(), server.url(""));
        server.answer_by(move |asked| {
            let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
            let told = fields(query).into_iter().chain(fields(&asked.body)).collect();
            (path == API).then(|| locked(&known).answer(&address, asked, &told))
        });
        ScriptedWiki { server, state }
    }

    /// The root of a job over it.
    pub fn root(&self) -> String {
        format!("wiki+{}", self.server.url(API))
    }

    /// The address of a page.
    pub fn url(&self, title: &str) -> String {
        self.server.url(&format!("/wiki/{}", title.replace(' ', "_")))
    }

    /// Writes a page: one more revision. Pages that link to it are touched when it is new.
    pub fn write(&self, title: &str, text: &str, links: &[&str]) {
        locked(&self.state).change(title, |page| {
            page.text = text.to_owned();
            page.links = links.iter().map(|link| (*link).to_owned()).collect();
            page.redirect = None;
        });
    }

    /// Puts a page into categories; one more revision.
    pub fn categorise(&self, title: &str, categories: &[&str]) {
        locked(&self.state).change(title, |page| {
            page.categories = categories.iter().map(|category| (*category).to_owned()).collect();
        });
    }

    /// Changes what a page shows without a revision, as a template in it does.
    pub fn render(&self, title: &str, text: &str) {
        let mut state = locked(&self.state);
        state.count += 1;
        let count = state.count;
        if let Some(page) = state.pages.get_mut(&place(title)) {
            (page.text, page.touched) = (text.to_owned(), count);
        }
    }

    /// Deletes a page.
    pub fn delete(&self, title: &str) {
        let mut state = locked(&self.state);
        state.pages.remove(&place(title));
        state.touch_linking(title);
    }

    /// Moves a page, and leaves a redirect behind where that is wanted.
    pub fn rename(&self, from: &str, to: &str, leaves_redirect: bool) {
        let mut state = locked(&self.state);
        if let Some(page) = state.pages.remove(&place(from)) {
            state.pages.insert(place(to), page);
            state.change(to, |_| {});
            state.touch_linking(from);
        }
        if leaves_redirect {
            state.change(from, |page| page.redirect = Some(to.to_owned()));
        }
    }

    /// Shuts a page, or opens it again: reading it gives this error.
    pub fn shut(&self, title: &str, code: Option<&'static str>) {
        if let Some(page) = locked(&self.state).pages.get_mut(&place(title)) {
            page.shut = code;
        }
    }

    /// So many answers from now on say that the databases lag.
    pub fn lag(&self, answers: usize) {
        locked(&self.state).lags = answers;
    }

    /// Each answer to an action is this error from now on.
    pub fn fail(&self, error: Option<(&'static str, &'static str)>) {
        locked(&self.state).error = error;
    }

    /// From now on nobody reads who is not logged in so.
    pub fn close(&self, user: &str, password: &str) {
        locked(&self.state).account = Some((user.to_owned(), password.to_owned()));
    }

    /// Ends all sessions.
    pub fn log_out(&self) {
        locked(&self.state).sessions.clear();
    }

    /// Addresses of pages that it names are made so from now on.
    pub fn articles(&self, path: &str) {
        locked(&self.state).articles = path.to_owned();
    }

    /// What was asked since this was called last: of each question the action or generator, and the title.
    pub fn asked(&self) -> Vec<String> {
        let name = |asked: Asked| {
            let query = asked.path.split_once('?').map_or("", |(_, query)| query).to_owned();
            let told = fields(&query);
            let of = |name: &str| told.get(name).map(String::as_str).unwrap_or_default();
            match (of("generator"), of("action"), of("meta")) {
                ("allpages", ..) => format!("list {}", of("gapnamespace")),
                (_, "query", "") => format!("state {}", of("titles")),
                (_, "query", meta) => meta.to_owned(),
                (_, "parse", _) => format!("text {}", of("page")),
                (_, "", _) => fields(&asked.body).remove("action").unwrap_or_default(),
                (_, action, _) => action.to_owned(),
            }
        };
        self.server.asked().into_iter().map(name).collect()
    }
}

/// The namespace and name of a title.
fn place(title: &str) -> (i32, String) {
    let named = title.split_once(':').and_then(|(space, name)| {
        let space = NAMESPACES.iter().find(|(_, own, usual)| *own == space || *usual == space)?;
        Some((space.0, name.to_owned()))
    });
    named.unwrap_or((0, title.to_owned()))
}

fn title((number, name): &(i32, String)) -> String {
    let space = NAMESPACES.iter().find(|space| space.0 == *number).map_or("", |space| space.1);
    if space.is_empty() { name.clone() } else { format!("{space}:{name}") }
}

/// A time for each count.
fn time(count: u64) -> String {
    format!("2024-01-01T{:02}:{:02}:{:02}Z", count / 3600 % 24, count / 60 % 60, count % 60)
}

/// What a query or a form says.
fn fields(text: &str) -> BTreeMap<String, String> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        Some((decoded(name), decoded(value)))
    };
    text.split('&').filter_map(pair).collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        let number = || u8::from_str_radix(std::str::from_utf8(behind.get(..2)?).ok()?, 16).ok();
        match (first, number()) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            (b'+', _) => bytes.push(b' '),
            _ => bytes.push(*first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

type Told = BTreeMap<String, String>;

impl State {
    fn change(&mut self, title: &str, change: impl FnOnce(&mut Page)) {
        self.count += 1;
        let is_new = !self.pages.contains_key(&place(title));
        let page = self.pages.entry(place(title)).or_default();
        (page.revision, page.touched, page.user) = (100 + self.count, self.count, "Ann Example".to_owned());
        change(page);
        if is_new {
            self.touch_linking(title);
        }
    }

    fn touch_linking(&mut self, title: &str) {
        self.count += 1;
        for page in self.pages.values_mut().filter(|page| page.links.iter().any(|link| link == title)) {
            page.touched = self.count;
        }
    }

    fn answer(&mut self, address: &str, asked: &Asked, told: &Told) -> Answer {
        let of = |name: &str| told.get(name).map(String::as_str).unwrap_or_default();
        if self.lags > 0 && !of("maxlag").is_empty() {
            self.lags -= 1;
            let info = "Waiting for a database server: 7 seconds lagged.";
            return json_of(&error("maxlag", info)).with("Retry-After", "1").with("X-Database-Lag", "7");
        }
        if of("format") != "json" || of("formatversion") != "2" {
            return Answer::page("<html><body>for people</body></html>");
        }
        if let Some((code, info)) = self.error {
            return json_of(&error(code, info)).with("MediaWiki-API-Error", code);
        }
        let cookies = asked.header("cookie").unwrap_or_default();
        let session = cookies.split(';').find_map(|cookie| cookie.trim().strip_prefix("session="));
        let is_in = session.is_some_and(|session| self.sessions.contains(session));
        match (of("action"), of("meta")) {
            ("query", "tokens") => {
                let token = json!({"batchcomplete": true, "query": {"tokens": {"logintoken": "a+\\"}}});
                return json_of(&token).with("Set-Cookie", "session=new; path=/; HttpOnly");
            }
            ("login", _) => return self.login(told),
            _ if of("assert") == "user" && !is_in => {
                return json_of(&error("assertuserfailed", "You are no longer logged in."));
            }
            _ if self.account.is_some() && !is_in => {
                return json_of(&error("readapidenied", "You need read permission to use this module."));
            }
            _ => {}
        }
        json_of(&match (of("action"), of("meta"), of("generator")) {
            ("query", "siteinfo", _) => self.about(address),
            ("query", _, "allpages") => self.list(told),
            ("query", ..) => self.state_of(of("titles")),
            ("parse", ..) => self.text_of(of("page")),
            _ => error("badvalue", "Unrecognized value for parameter \"action\"."),
        })
    }

    fn login(&mut self, told: &Told) -> Answer {
        let of = |name: &str| told.get(name).map(String::as_str).unwrap_or_default();
        let is_right = self.account.as_ref().is_some_and(|(user, password)| {
            of("lgname") == user && of("lgpassword") == password && of("lgtoken") == "a+\\"
        });
        if !is_right {
            return json_of(
                &json!({"login": {"result": "Failed", "reason": "Incorrect username or password."}}),
            );
        }
        self.count += 1;
        let session = format!("s{}", self.count);
        self.sessions.insert(session.clone());
        json_of(&json!({"login": {"result": "Success", "lguserid": 1, "lgusername": of("lgname")}}))
            .with("Set-Cookie", &format!("session={session}; path=/; HttpOnly"))
    }

    fn about(&self, address: &str) -> Value {
        let space = |space: &(i32, &str, &str)| {
            let told = json!({"id": space.0, "case": "first-letter", "name": space.1, "canonical": space.2});
            (space.0.to_string(), told)
        };
        let spaces: Map<String, Value> = NAMESPACES.iter().map(space).collect();
        // Some wikis name their server without a scheme.
        let server = address.trim_start_matches("http:");
        json!({"batchcomplete": true, "query": {
            "general": {
                "sitename": "Scripted", "generator": "MediaWiki 1.43.0", "server": server, "articlepath": self.articles
            },
            "namespaces": spaces
        }})
    }

    fn told_of(&self, place: &(i32, String)) -> Value {
        let Some(page) = self.pages.get(place) else {
            return json!({"ns": place.0, "title": title(place), "missing": true});
        };
        let mut told = json!({
            "pageid": page.revision, "ns": place.0, "title": title(place), "contentmodel": "wikitext",
            "touched": time(page.touched), "lastrevid": page.revision, "length": page.text.len(),
            "readable": page.shut.is_none(),
            "revisions": [{"revid": page.revision, "parentid": 0, "user": page.user, "timestamp": time(page.revision)}]
        });
        if page.redirect.is_some() {
            told["redirect"] = json!(true);
        }
        told
    }

    fn list(&self, told: &Told) -> Value {
        let number: i32 = told.get("gapnamespace").and_then(|number| number.parse().ok()).unwrap_or(0);
        let from = told.get("gapcontinue").cloned().unwrap_or_default();
        let is_listed = |((space, name), page): &(&(i32, String), &Page)| {
            *space == number && *name >= from && page.redirect.is_none()
        };
        let places: Vec<&(i32, String)> =
            self.pages.iter().filter(is_listed).map(|(place, _)| place).collect();
        let pages: Vec<Value> = places.iter().take(self.per_list).map(|place| self.told_of(place)).collect();
        let mut answer = json!({"batchcomplete": true});
        // An empty namespace is answered without a query.
        if !pages.is_empty() {
            answer["query"] = json!({"pages": pages});
        }
        if let Some(next) = places.get(self.per_list) {
            answer["continue"] = json!({"gapcontinue": next.1, "continue": "gapcontinue||"});
        }
        answer
    }

    fn state_of(&self, named: &str) -> Value {
        let place = place(named);
        match self.pages.get(&place).and_then(|page| page.redirect.as_ref()) {
            Some(to) => json!({"batchcomplete": true, "query": {
                "redirects": [{"from": named, "to": to}], "pages": [self.told_of(&self::place(to))]
            }}),
            None => json!({"batchcomplete": true, "query": {"pages": [self.told_of(&place)]}}),
        }
    }

    fn text_of(&self, named: &str) -> Value {
        let Some(page) = self.pages.get(&place(named)) else {
            return error("missingtitle", "The page you specified doesn't exist.");
        };
        if let Some(code) = page.shut {
            return error(code, "The action you have requested is limited.");
        }
        let links: Vec<Value> = page
            .links
            .iter()
            .map(|link| {
                let to = place(link);
                json!({"ns": to.0, "title": title(&to), "exists": self.pages.contains_key(&to)})
            })
            .collect();
        let categories: Vec<Value> = page
            .categories
            .iter()
            .map(|category| json!({"sortkey": "", "category": category.replace(' ', "_")}))
            .collect();
        json!({"parse": {
            "title": title(&place(named)), "pageid": page.revision, "revid": page.revision, "text": html(&page.text),
            "links": links, "categories": categories
        }})
    }
}

/// A text as the wiki shows it.
pub fn html(text: &str) -> String {
    format!("<div class=\"mw-content-ltr mw-parser-output\" lang=\"en\" dir=\"ltr\"><p>{text}\n</p></div>")
}

fn error(code: &str, info: &str) -> Value {
    json!({"error": {"code": code, "info": info, "docref": "See api.php for API usage."}})
}

fn json_of(value: &Value) -> Answer {
    let answer = Answer::of("application/json; charset=utf-8", value.to_string());
    Answer { untagged: true, ..answer }
}
