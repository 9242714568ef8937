//! What a job over a web site, or over a feed, is told.

use std::path::PathBuf;

use garde::Validate;
use ingather_contract::settings;
use ingather_kit::literal;
use ingather_model::access::{Acl, UNIX_EVERYONE, UNIX_FORMS, is_misspelled};
use ingather_model::fault::{Fault, Reason};
use ingather_model::key::Stamp;
use ingather_model::limits;
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::Deserialize;

use super::login::rules::{LoginSettings, Rules};
use crate::http::{ClientSettings, CredentialSettings, ProxySettings, Secret, TlsSettings};
use crate::scope::{PatternSettings, Reach, Scope, ScopeSettings, TrapSettings};
use crate::urls::{UrlRules, UrlSettings};

/// The word of `access` for everybody.
pub(crate) const EVERYBODY: &str = "everybody";
/// What roots of feeds begin with, before the address of the feed.
const FEED: &str = "feed+";

/// Where it begins, how far it goes, how politely it asks, and who may see what it finds.
///
/// Pages are read from the address of the root downwards, from nowhere else; each is asked for by its owner's rules (robots.txt, directives
/// of pages), one at a time and one a second for each host, unless told otherwise here. A public server is asked by nobody who
/// leaves no contact.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SiteSettings {
    /// Address where it begins, in its one spelling; of a feed, behind `feed+`.
    #[garde(length(bytes, min = 1, max = limits::WEB_URL_BYTES_MAX))]
    root: String,
    /// Further addresses where it begins.
    #[garde(length(max = limits::WEB_PATTERNS_MAX))]
    start: Vec<String>,
    /// Beginnings of paths that are taken; when left out, the folder of each address where it begins. `["/"]` takes all of their hosts.
    #[garde(length(max = limits::WEB_PATTERNS_MAX))]
    paths: Option<Vec<String>>,
    /// Which hosts are taken.
    #[garde(skip)]
    reach: Reach,
    /// Takes only what matches, by whole addresses: `*` stands for any text without a slash, `**` for any text, as in `**/*.pdf`. A page where it
    /// begins that does not match is followed, and is not found itself.
    #[garde(skip)]
    include: Vec<String>,
    /// Leaves out what matches.
    #[garde(skip)]
    exclude: Vec<String>,
    /// The same by regular expressions, anywhere in an address.
    #[garde(skip)]
    include_regex: Vec<String>,
    /// The same by regular expressions, anywhere in an address.
    #[garde(skip)]
    exclude_regex: Vec<String>,
    /// Also begins with the sitemaps of the hosts: those that robots.txt names, and `/sitemap.xml`.
    #[garde(skip)]
    sitemaps: bool,
    /// A mail or web address for owners of sites; without it no public server is asked.
    #[garde(length(bytes, max = limits::WEB_PATTERN_BYTES_MAX))]
    contact: Option<String>,
    /// Name of the robot, as robots.txt names it.
    #[garde(length(bytes, min = 1, max = limits::WEB_PATTERN_BYTES_MAX))]
    agent: String,
    /// Whether the rules of robots.txt and the directives of pages count. Only for sites of one's own.
    #[garde(skip)]
    obey: bool,
    /// Between the beginnings of two requests to one host, milliseconds. A longer `Crawl-delay` of robots.txt counts.
    #[garde(range(min = 0, max = limits::WEB_DELAY_MS_MAX))]
    delay_ms: i64,
    /// Requests to one host at the same time.
    #[garde(range(min = 1, max = limits::FETCHERS))]
    at_once: usize,
    /// Larger pages are left out: bytes, or a text such as `20MB`. Sitemaps and robots.txt are read all the same.
    #[serde(deserialize_with = "literal::read_size_if_any")]
    #[schemars(schema_with = "literal::size_schema")]
    #[garde(skip)]
    size_max: Option<u64>,
    /// Of a feed: whether its entries are what is found, or the pages that they lead to.
    #[garde(skip)]
    entries: Entries,
    /// Who may see what is found: `everybody`, or access tokens: `unix:u:NUMBER`, `unix:g:NUMBER`, `unix:everyone`. Everybody when left out; where pages are read
    /// with credentials, or from networks that are not public, it has to be said.
    #[garde(length(min = 1, max = limits::WEB_PATTERNS_MAX))]
    access: Option<Vec<String>>,
    /// Networks that may be reached although they are not public, such as `10.0.0.0/8` or `127.0.0.1/32`.
    #[garde(length(max = limits::WEB_PATTERNS_MAX))]
    #[schemars(extend("x-of-the-machine" = true))]
    private_networks: Vec<String>,
    /// What hosts are told so that they give their pages.
    #[garde(length(max = limits::WEB_PATTERNS_MAX), dive)]
    credentials: Vec<Credential>,
    /// How the job logs in by a form. What is read so is for those whom `access` names, and never for everybody.
    #[garde(dive)]
    login: Option<LoginSettings>,
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
    /// How addresses are spelled.
    #[garde(skip)]
    urls: UrlSettings,
    /// Bounds against sites without end; 0 bounds nothing.
    #[garde(skip)]
    traps: TrapSettings,
}

/// What is found of a feed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Entries {
    /// Its entries.
    #[default]
    Found,
    /// The pages that its entries lead to.
    Followed,
}

/// What one host is told: a name and a password, or a token.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub(crate) struct Credential {
    /// Scheme, host and port, such as `https://example.com`.
    #[garde(length(bytes, min = 1, max = limits::WEB_PATTERN_BYTES_MAX))]
    origin: String,
    /// A name, with a password.
    #[serde(default)]
    #[garde(skip)]
    user: Option<String>,
    /// Its password.
    #[serde(default)]
    #[schemars(extend("writeOnly" = true))]
    #[garde(skip)]
    password: Option<String>,
    /// The password proves itself by a digest (RFC 7616) and is never sent, whatever the server asks for.
    #[serde(default)]
    #[garde(skip)]
    digest: bool,
    /// A token, in place of both.
    #[serde(default)]
    #[schemars(extend("writeOnly" = true))]
    #[garde(skip)]
    token: Option<String>,
}

impl Default for SiteSettings {
    fn default() -> SiteSettings {
        SiteSettings {
            root: String::new(),
            start: Vec::new(),
            paths: None,
            reach: Reach::default(),
            include: Vec::new(),
            exclude: Vec::new(),
            include_regex: Vec::new(),
            exclude_regex: Vec::new(),
            sitemaps: true,
            contact: None,
            agent: ClientSettings::default().agent,
            obey: true,
            delay_ms: limits::WEB_DELAY_MS,
            at_once: 1,
            size_max: None,
            entries: Entries::default(),
            access: None,
            private_networks: Vec::new(),
            credentials: Vec::new(),
            login: None,
            proxy: None,
            roots_file: None,
            certificate_file: None,
            key_file: None,
            urls: UrlSettings::default(),
            traps: TrapSettings::default(),
        }
    }
}

/// Settings that were checked.
pub(crate) struct Checked {
    pub(super) urls: UrlRules,
    pub(super) scope: Scope,
    pub(crate) client: ClientSettings,
    pub(crate) acl: Acl,
    pub(super) login: Option<Rules>,
    pub(crate) delay_ms: i64,
    pub(crate) at_once: u32,
    pub(super) obey: bool,
    pub(super) sitemaps: bool,
    /// Bytes of a page.
    pub(super) size_max: u64,
    /// What decides where pages lead, as a digest: under other settings a page that is as before may lead elsewhere.
    pub(super) basis: Stamp,
    /// It reads a feed, and where its entries lead only where that is asked for.
    pub(super) feed: Option<FollowsEntries>,
}

/// Whether entries of a feed are followed.
pub(super) type FollowsEntries = bool;

pub(crate) fn wrong(why: impl Into<String>) -> Fault {
    Fault::refused("settings", why)
}

fn refused(reason: Reason) -> Fault {
    wrong(reason.message)
}

/// The root is typed behind the command, where every person of the machine reads it: it may be named.
pub(crate) fn wrong_root(why: impl Into<String>) -> Fault {
    Fault::refused("root", why)
}

/// Reads and checks them. `is_feed`: what begins there is a feed.
pub(crate) fn read(value: &serde_json::Value, is_feed: bool) -> Result<Checked, Fault> {
    let given: SiteSettings = settings::read(value)?;
    let urls = UrlRules::new(given.urls.clone()).map_err(refused)?;
    let root = given.address(is_feed)?;
    // A root is the name by which its job is found: it has one spelling, whatever else is dropped from addresses.
    let spelled = UrlRules::default().normalise(root).map_err(|reason| wrong_root(reason.message))?;
    if spelled.as_str() != root {
        let feed = if is_feed { FEED } else { "" };
        return Err(wrong_root(format!("the root is {}; name it so: {feed}{spelled}", given.root)));
    }
    let acl = given.acl()?;
    let mut start = vec![root.to_owned()];
    start.extend(given.start.iter().cloned());
    if !is_feed && given.entries != Entries::default() {
        return Err(wrong(format!(
            "`entries` is for feeds, whose roots begin with `{FEED}`; this one is a site"
        )));
    }
    let is_followed = is_feed && given.entries == Entries::Followed;
    let scope = ScopeSettings {
        path_prefixes: match (&given.paths, is_feed) {
            (Some(paths), _) => paths.clone(),
            (None, true) => Vec::new(),
            (None, false) => folders(&start, &urls),
        },
        start,
        reach: if is_followed { Reach::Anywhere } else { given.reach },
        include: patterns(&given.include, &given.include_regex),
        exclude: patterns(&given.exclude, &given.exclude_regex),
        traps: given.traps.clone(),
    };
    let login = given.login.as_ref().map(LoginSettings::checked).transpose()?;
    let session_origins = login.iter().flat_map(Rules::session_origins).map(String::from).collect();
    Ok(Checked {
        scope: Scope::new(scope, &urls).map_err(refused)?,
        client: ClientSettings { session_origins, ..given.client()? },
        acl,
        size_max: given.size_max.unwrap_or(limits::WEB_BODY_BYTES),
        basis: basis(value),
        login,
        delay_ms: given.delay_ms,
        at_once: u32::try_from(given.at_once).unwrap_or(1),
        obey: given.obey,
        sitemaps: given.sitemaps && !is_feed,
        feed: is_feed.then_some(is_followed),
        urls,
    })
}

/// Settings that say how pages are asked for and who may see them, and nothing of where they lead.
const OF_NO_LINK: &[&str] = &[
    "contact",
    "delay_ms",
    "at_once",
    "access",
    "private_networks",
    "credentials",
    "login",
    "proxy",
    "roots_file",
    "certificate_file",
    "key_file",
];

/// A digest of all other settings.
fn basis(value: &serde_json::Value) -> Stamp {
    let mut of_links = value.clone();
    if let Some(settings) = of_links.as_object_mut() {
        settings.retain(|name, _| !OF_NO_LINK.contains(&name.as_str()));
    }
    Stamp::of(of_links.to_string().as_bytes())
}

/// The folders of addresses, each once.
fn folders(start: &[String], urls: &UrlRules) -> Vec<String> {
    let mut folders = Vec::new();
    // Those that are no addresses are refused with all other settings of the scope.
    for url in start.iter().filter_map(|address| urls.normalise(address).ok()) {
        let folder = url.path().rfind('/').map_or("/", |at| &url.path()[..=at]).to_owned();
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

fn patterns(globs: &[String], expressions: &[String]) -> Vec<PatternSettings> {
    let globs = globs.iter().cloned().map(PatternSettings::Glob);
    globs.chain(expressions.iter().cloned().map(PatternSettings::Regex)).collect()
}

impl SiteSettings {
    fn address(&self, is_feed: bool) -> Result<&str, Fault> {
        match (self.root.strip_prefix(FEED), is_feed) {
            (Some(address), true) => Ok(address),
            (None, false) => Ok(&self.root),
            (None, true) => Err(wrong_root(format!("the root of a feed is its address behind `{FEED}`"))),
            (Some(_), false) => Err(wrong_root(format!("{} is a feed, and no site", self.root))),
        }
    }

    /// A token that nobody can have would hide all from everybody, without a word.
    fn check_tokens(&self) -> Result<(), Fault> {
        for (at, token) in self.access.iter().flatten().enumerate() {
            let it = format!("`access`: number {}", at + 1);
            let near = |word: &str| token.trim().eq_ignore_ascii_case(word);
            if token != EVERYBODY && (near(EVERYBODY) || near("everyone") || near("all") || near("public")) {
                return Err(wrong(format!(
                    "{it} is no token; everybody is `{EVERYBODY}`, and whoever has an account on this machine `{UNIX_EVERYONE}`"
                )));
            }
            // Tokens of all authorities have their name before a colon.
            if token != EVERYBODY && (!token.contains(':') || is_misspelled(token)) {
                return Err(wrong(format!(
                    "{it} is no token that anybody has; there are `{EVERYBODY}`, {UNIX_FORMS}, and those of other authorities, which `ingather tokens USER` shows"
                )));
            }
        }
        Ok(())
    }

    /// Who may see what is found. What not everybody can read is shown to nobody who was not named (service P15).
    fn acl(&self) -> Result<Acl, Fault> {
        self.check_tokens()?;
        let is_closed = !self.credentials.is_empty()
            || !self.private_networks.is_empty()
            || self.certificate_file.is_some()
            || self.login.is_some()
            || self.proxy.is_some();
        match &self.access {
            None if is_closed => Err(wrong(format!(
                "pages that are read with credentials, or from networks that are not public, are not for everybody: say who may see them with \
                 `access`, such as [\"unix:g:1000\"], or \"{EVERYBODY}\" in the list where all may"
            ))),
            None => Ok(Acl::open()),
            Some(tokens) if self.login.is_some() && tokens.iter().any(|token| token == EVERYBODY) => {
                Err(wrong(format!(
                    "what is read behind a login is not for everybody: let `access` name those who may see it, and not `{EVERYBODY}`"
                )))
            }
            Some(tokens) if tokens.iter().any(|token| token == EVERYBODY) => match tokens.len() {
                1 => Ok(Acl::open()),
                _ => Err(wrong(format!("`access` names `{EVERYBODY}` beside others; leave one out"))),
            },
            Some(tokens) => Ok(Acl::Flat { allow: tokens.clone(), deny: Vec::new() }),
        }
    }

    /// A contact that nobody can write to is none.
    fn check_contact(&self) -> Result<(), Fault> {
        let can_be_written_to = |contact: &String| {
            let contact = contact.trim();
            let is_mail =
                contact.split_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty());
            let is_web = ["https://", "http://"]
                .iter()
                .any(|scheme| contact.len() > scheme.len() && contact.starts_with(scheme));
            is_mail || is_web
        };
        let is_none = |contact: &String| contact.trim().is_empty();
        match self.contact.as_ref().is_none_or(|contact| is_none(contact) || can_be_written_to(contact)) {
            true => Ok(()),
            false => Err(wrong("`contact` is no mail or web address, such as me@example.org")),
        }
    }

    fn client(&self) -> Result<ClientSettings, Fault> {
        self.check_contact()?;
        let network = |(at, text): (usize, &String)| {
            let address = || text.parse().map(|address: std::net::IpAddr| IpNet::from(address));
            let found = text.parse::<IpNet>().or_else(|_| address());
            found.map_err(|_| {
                wrong(format!(
                    "`private_networks`: number {} is no network such as `127.0.0.0/8`, nor an address; names of hosts are none",
                    at + 1
                ))
            })
        };
        let credentials = self.credentials.iter().map(Credential::checked);
        let defaults = ClientSettings::default();
        Ok(ClientSettings {
            agent: self.agent.clone(),
            contact: self.contact.clone(),
            private_networks: self
                .private_networks
                .iter()
                .enumerate()
                .map(network)
                .collect::<Result<_, _>>()?,
            credentials: credentials.collect::<Result<_, _>>()?,
            proxy: self.proxy.clone(),
            tls: TlsSettings {
                roots: self.roots_file.clone(),
                own_roots_only: false,
                certificate: self.certificate_file.clone(),
                key: self.key_file.clone(),
            },
            // What a job takes of pages is no bound for robots.txt and sitemaps, which have their own.
            body_bytes_max: self.size_max.unwrap_or(0).max(defaults.body_bytes_max),
            ..defaults
        })
    }
}

impl Credential {
    fn checked(&self) -> Result<CredentialSettings, Fault> {
        let secret = match (&self.user, &self.password, &self.token) {
            (Some(user), Some(password), None) if self.digest => {
                Secret::Digest { user: user.clone(), password: password.clone() }
            }
            (Some(user), Some(password), None) => {
                Secret::Basic { user: user.clone(), password: password.clone() }
            }
            (None, None, Some(token)) if !self.digest => Secret::Bearer(token.clone()),
            _ => return Err(wrong("`credentials`: each are a `user` with a `password`, or a `token`")),
        };
        Ok(CredentialSettings { origin: self.origin.clone(), secret })
    }
}
