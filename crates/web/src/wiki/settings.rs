//! What a job over a wiki is told.

use std::path::PathBuf;

use garde::Validate;
use ingather_contract::settings;
use ingather_kit::literal;
use ingather_model::access::Acl;
use ingather_model::fault::{Fault, Reason};
use ingather_model::limits;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use url::Url;

use super::names::{Addresses, is_title};
use crate::http::{ClientSettings, ProxySettings};
use crate::scope::{PatternSettings, Patterns};
use crate::site::settings::{Credential, EVERYBODY, read as read_as_of_site, wrong, wrong_root};
use crate::urls::UrlRules;

/// What roots of wikis begin with, before the address of the API.
pub(super) const WIKI: &str = "wiki+";
/// Settings about asking a server and about who may see what it gives: checked as those of a site are.
const AS_OF_SITES: &[&str] = &[
    "contact",
    "agent",
    "delay_ms",
    "at_once",
    "size_max",
    "access",
    "private_networks",
    "credentials",
    "proxy",
    "roots_file",
    "certificate_file",
    "key_file",
];

/// Which pages of a wiki are taken, how politely it is asked, and who may see what is found.
///
/// Pages are listed by the API of MediaWiki (`api.php`), namespace by namespace, and read as HTML. A page is read again when it, or a template in
/// it, was changed.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WikiSettings {
    /// Address of `api.php`, behind `wiki+`, such as `wiki+https://wiki.example.org/w/api.php`.
    #[garde(length(bytes, min = 1, max = limits::WEB_URL_BYTES_MAX))]
    root: String,
    /// Numbers of the namespaces that are taken; 0 is that of the articles.
    #[garde(length(min = 1, max = limits::WEB_NAMES_MAX))]
    namespaces: Vec<i32>,
    /// Titles of pages where the job begins, in place of all pages of its namespaces: then it takes these pages and what can be reached by links between
    /// pages. How far it goes, `hops` of the job say.
    #[garde(length(max = limits::WEB_PATTERNS_MAX))]
    start: Vec<String>,
    /// Takes only pages whose whole title matches, such as `Manual/**` or `Help:*`: `*` stands for any text without a slash, `**` for any text.
    #[garde(skip)]
    include: Vec<String>,
    /// Leaves out what matches.
    #[garde(skip)]
    exclude: Vec<String>,
    /// Address of a page, with `$1` in place of its title, such as `https://wiki.example.org/wiki/$1`. The wiki is asked for it when it is left out, and
    /// believed where it names its own host.
    #[garde(length(bytes, max = limits::WEB_URL_BYTES_MAX))]
    pages: Option<String>,
    /// How the job logs in, best by a bot password (`Special:BotPasswords`). What is read so is for those whom `access` names, and never for everybody.
    #[garde(dive)]
    login: Option<LoginSettings>,
    /// A mail or web address for owners of wikis; without it no public server is asked.
    #[garde(length(bytes, max = limits::WEB_PATTERN_BYTES_MAX))]
    contact: Option<String>,
    /// Name of the program, as it is told to the wiki.
    #[garde(length(bytes, min = 1, max = limits::WEB_PATTERN_BYTES_MAX))]
    agent: String,
    /// Between the end of a request and the beginning of the next one, milliseconds.
    #[garde(range(min = 0, max = limits::WEB_DELAY_MS_MAX))]
    delay_ms: i64,
    /// Requests at the same time.
    #[garde(range(min = 1, max = limits::FETCHERS))]
    at_once: usize,
    /// Pages whose answer is larger are left out: bytes, or a text such as `20MB`. 16 MiB when left out.
    #[serde(deserialize_with = "literal::read_size_if_any")]
    #[schemars(schema_with = "literal::size_schema")]
    #[garde(skip)]
    size_max: Option<u64>,
    /// Who may see what is found: `everybody`, or access tokens such as `unix:g:1000`. Everybody when left out; where pages are read
    /// with credentials, or from networks that are not public, it has to be said.
    #[garde(length(min = 1, max = limits::WEB_PATTERNS_MAX))]
    access: Option<Vec<String>>,
    /// Networks that may be reached although they are not public, such as `10.0.0.0/8` or `127.0.0.1/32`.
    #[garde(length(max = limits::WEB_PATTERNS_MAX))]
    #[schemars(extend("x-of-the-machine" = true))]
    private_networks: Vec<String>,
    /// What the server in front of the wiki is told so that it lets requests through.
    #[garde(length(max = limits::WEB_PATTERNS_MAX), dive)]
    credentials: Vec<Credential>,
    /// A proxy for all requests.
    #[garde(skip)]
    #[schemars(extend("x-of-the-machine" = true))]
    proxy: Option<ProxySettings>,
    /// A file in PEM of roots that are trusted besides those of the system.
    #[garde(skip)]
    #[schemars(extend("x-of-the-machine" = true))]
    roots_file: Option<PathBuf>,
    /// A file in PEM of the certificate that the program shows, with those above it.
    #[garde(skip)]
    #[schemars(extend("x-of-the-machine" = true))]
    certificate_file: Option<PathBuf>,
    /// A file in PEM of its key.
    #[garde(skip)]
    #[schemars(extend("x-of-the-machine" = true))]
    key_file: Option<PathBuf>,
}

/// A name and a password at the wiki.
#[derive(Clone, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoginSettings {
    /// Such as `Ann@search`, the name of a bot password.
    #[garde(length(bytes, min = 1, max = limits::WEB_PATTERN_BYTES_MAX))]
    pub(super) user: String,
    /// Its password.
    #[schemars(extend("writeOnly" = true))]
    #[garde(length(bytes, min = 1, max = limits::WEB_PATTERN_BYTES_MAX))]
    pub(super) password: String,
}

impl std::fmt::Debug for LoginSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoginSettings").field("user", &self.user).finish_non_exhaustive()
    }
}

impl Default for WikiSettings {
    fn default() -> WikiSettings {
        WikiSettings {
            root: String::new(),
            namespaces: vec![0],
            start: Vec::new(),
            include: Vec::new(),
            exclude: Vec::new(),
            pages: None,
            login: None,
            contact: None,
            agent: ClientSettings::default().agent,
            delay_ms: limits::WIKI_DELAY_MS,
            at_once: 1,
            size_max: None,
            access: None,
            private_networks: Vec::new(),
            credentials: Vec::new(),
            proxy: None,
            roots_file: None,
            certificate_file: None,
            key_file: None,
        }
    }
}

/// Settings that were checked.
pub(super) struct Checked {
    /// Address of the API.
    pub(super) api: Url,
    /// Each once, in order.
    pub(super) namespaces: Vec<i32>,
    /// Titles where it begins, each once; where there are any, links are followed.
    pub(super) start: Vec<String>,
    include: Option<Patterns>,
    exclude: Option<Patterns>,
    /// Addresses of pages, where the job names them.
    pub(super) pages: Option<Addresses>,
    pub(super) login: Option<LoginSettings>,
    pub(super) client: ClientSettings,
    pub(super) acl: Acl,
    pub(super) delay_ms: i64,
    pub(super) at_once: u32,
}

/// Reads and checks them.
pub(super) fn read(value: &Value) -> Result<Checked, Fault> {
    let given: WikiSettings = settings::read(value)?;
    let api = given.api()?;
    let asking = read_as_of_site(&given.of_site(value, &api), false)?;
    let mut namespaces = given.namespaces.clone();
    namespaces.sort_unstable();
    namespaces.dedup();
    if namespaces[0] < 0 {
        return Err(wrong(
            "`namespaces`: those below 0 hold no pages, only what the wiki makes up when it is asked",
        ));
    }
    if let Some(at) = given.start.iter().position(|title| !is_title(title)) {
        return Err(wrong(format!("`start`: number {} is no title of a page", at + 1)));
    }
    let mut start: Vec<String> = given.start.iter().map(|title| title.replace('_', " ")).collect();
    start.sort();
    start.dedup();
    let pages = given.pages.as_deref().map(Addresses::of).transpose();
    let pages = pages.map_err(|reason| wrong(format!("`pages`: {}", reason.message)))?;
    given.refuse_open_login()?;
    let patterns = |name: &str, list: &[String]| {
        let globs: Vec<_> = list.iter().cloned().map(PatternSettings::Glob).collect();
        Patterns::of_titles(name, &globs).map_err(|reason| wrong(reason.message))
    };
    let answer_max = given.size_max.unwrap_or(limits::WIKI_ANSWER_BYTES);
    Ok(Checked {
        include: patterns("include", &given.include)?,
        exclude: patterns("exclude", &given.exclude)?,
        api,
        namespaces,
        start,
        pages,
        // An answer is held in memory as a whole.
        client: ClientSettings { body_bytes_max: answer_max, ..asking.client },
        acl: asking.acl,
        delay_ms: asking.delay_ms,
        at_once: asking.at_once,
        login: given.login,
    })
}

impl WikiSettings {
    /// The address of the API; a root has one spelling, for it is the name by which its job is found.
    fn api(&self) -> Result<Url, Fault> {
        let address = self.root.strip_prefix(WIKI).ok_or_else(|| {
            wrong_root(format!("the root of a wiki is the address of its api.php behind `{WIKI}`"))
        })?;
        let spelled = UrlRules::default().normalise(address).map_err(|reason| wrong_root(reason.message))?;
        if spelled.as_str() != address {
            return Err(wrong_root(format!("the root is {}; name it so: {WIKI}{spelled}", self.root)));
        }
        if spelled.query().is_some() {
            return Err(wrong_root(format!(
                "{} has a query; the root is the address of api.php alone",
                self.root
            )));
        }
        Ok(spelled)
    }

    /// What a site there would be told.
    fn of_site(&self, given: &Value, api: &Url) -> Value {
        let mut of_site: Map<String, Value> = AS_OF_SITES
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), given.get(*name)?.clone())))
            .collect();
        of_site.insert("root".to_owned(), json!(api.as_str()));
        of_site.insert("delay_ms".to_owned(), json!(self.delay_ms));
        Value::Object(of_site)
    }

    /// What is read behind a login is shown to nobody who was not named (service P15).
    fn refuse_open_login(&self) -> Result<(), Fault> {
        let is_for_all = |tokens: &Vec<String>| tokens.iter().any(|token| token == EVERYBODY);
        match (&self.login, &self.access) {
            (None, _) => Ok(()),
            (Some(_), Some(tokens)) if !is_for_all(tokens) => Ok(()),
            (Some(_), _) => Err(wrong(format!(
                "what is read behind a login is not for everybody: let `access` name those who may see it, such as [\"unix:g:1000\"], and not \
                 `{EVERYBODY}`"
            ))),
        }
    }
}

impl Checked {
    /// Whether a page of a namespace belongs to the job, by its title.
    pub(super) fn judge(&self, namespace: i32, title: &str) -> Result<(), Reason> {
        if !is_title(title) {
            return Err(Reason::new("not_a_title", "no page of a wiki is called so"));
        }
        if self.namespaces.binary_search(&namespace).is_err() {
            let message = format!("its namespace, number {namespace}, is none of the job");
            return Err(Reason::new("namespace", message));
        }
        if self.exclude.as_ref().is_some_and(|patterns| patterns.fit(title)) {
            return Err(Reason::new("excluded", "a pattern of the job leaves it out"));
        }
        if self.include.as_ref().is_some_and(|patterns| !patterns.fit(title)) {
            return Err(Reason::new("not_included", "no pattern of the job takes it in"));
        }
        Ok(())
    }
}
