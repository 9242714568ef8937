//! One spelling for each page: links that differ only in what makes no difference name one document, and a session in an address
//! does not make a new site out of the same one.

use std::borrow::Cow;
use std::fmt::Write;

use ingather_model::fault::Reason;
use ingather_model::limits::{
    BINS_OF_A_DOCUMENT_MAX, WEB_NAMES_MAX, WEB_PATTERN_BYTES_MAX, WEB_URL_BYTES_MAX, WEB_URL_ROUNDS_MAX,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::{Host, Url};

/// What is done to an address beyond the rules of browsers. Fragments and passwords go in any case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UrlSettings {
    /// Puts query parameters in the order of their names; those with one name keep theirs. For sites that do not care.
    pub sort_query: bool,
    /// Parameters that are dropped, in queries and behind semicolons of paths; a `*` at the end stands for any rest, case makes no
    /// difference.
    pub drop_parameters: Vec<String>,
    /// Drops sessions that stand in the path, as old servers write them: `/(S(lit3py55t21z5v55vlm25s55))/page.aspx`.
    pub drop_path_sessions: bool,
    /// Names of pages that stand for their folder; none are folded when the list is empty.
    pub index_pages: Vec<String>,
    /// Drops a `www.` in front of the host, for sites that answer the same under both names.
    pub drop_www: bool,
    /// Writes paths in lower case, for servers that make no difference.
    pub lower_case_paths: bool,
}

/// Parameters that name a visitor or where the visitor came from, and no page.
const SESSION_PARAMETERS: &[&str] = &[
    "jsessionid",
    "phpsessid",
    "aspsessionid*",
    "asp.net_sessionid",
    "sessionid",
    "session_id",
    "sid",
    "cfid",
    "cftoken",
    "bv_sessionid",
    "bv_engineid",
    "utm_*",
    "gclid",
    "fbclid",
    "msclkid",
];

impl Default for UrlSettings {
    fn default() -> UrlSettings {
        UrlSettings {
            sort_query: false,
            drop_parameters: SESSION_PARAMETERS.iter().map(|name| (*name).to_owned()).collect(),
            drop_path_sessions: true,
            index_pages: Vec::new(),
            drop_www: false,
            lower_case_paths: false,
        }
    }
}

/// Settings that were checked and are ready for use.
#[derive(Clone, Debug)]
pub struct UrlRules {
    settings: UrlSettings,
    dropped: Vec<(String, bool)>,
}

impl Default for UrlRules {
    fn default() -> UrlRules {
        UrlRules::of(UrlSettings::default())
    }
}

impl UrlRules {
    /// Checks settings.
    ///
    /// # Errors
    /// `bad_setting` when a list or one of its names is too long.
    pub fn new(settings: UrlSettings) -> Result<UrlRules, Reason> {
        let lists = [("drop_parameters", &settings.drop_parameters), ("index_pages", &settings.index_pages)];
        for (name, list) in lists {
            if list.len() > WEB_NAMES_MAX || list.iter().any(|word| word.len() > WEB_PATTERN_BYTES_MAX) {
                let most = format!("{WEB_NAMES_MAX} names of {WEB_PATTERN_BYTES_MAX} bytes at most");
                return Err(Reason::new("bad_setting", format!("`{name}` is too long: {most}")));
            }
        }
        Ok(UrlRules::of(settings))
    }

    fn of(settings: UrlSettings) -> UrlRules {
        let dropped = settings.drop_parameters.iter().map(|name| match name.strip_suffix('*') {
            Some(start) => (start.to_ascii_lowercase(), true),
            None => (name.to_ascii_lowercase(), false),
        });
        UrlRules { dropped: dropped.collect(), settings }
    }

    /// The one spelling of an absolute address.
    ///
    /// # Errors
    /// `not_an_address`, `not_web` (another scheme than http and https), `address_too_long`.
    pub fn normalise(&self, text: &str) -> Result<Url, Reason> {
        self.finish(parse(None, text)?)
    }

    /// The one spelling of a link on the page at `base`.
    ///
    /// # Errors
    /// Those of [`UrlRules::normalise`].
    pub fn resolve(&self, base: &Url, link: &str) -> Result<Url, Reason> {
        self.finish(parse(Some(base), link)?)
    }

    /// Goes on until nothing changes: a parameter that is dropped may leave dots or an index page behind.
    fn finish(&self, mut url: Url) -> Result<Url, Reason> {
        for _ in 0..WEB_URL_ROUNDS_MAX {
            let before = url.as_str().to_owned();
            url = self.once(url)?;
            if url.as_str() == before {
                return bounded(url);
            }
        }
        Err(not_an_address(url.as_str(), "it has no one spelling"))
    }

    fn once(&self, mut url: Url) -> Result<Url, Reason> {
        url.set_fragment(None);
        // A page is the same whoever asks, and a password does not belong into the name of a document.
        let nobody = url.set_username("").and_then(|()| url.set_password(None));
        nobody.map_err(|()| not_an_address(url.as_str(), "it has no host"))?;
        self.set_host(&mut url)?;
        let path = self.path(url.path());
        let query = url.query().and_then(|query| self.query(query));
        url.set_path(&path);
        url.set_query(query.as_deref());
        // Set piece by piece, dots are not taken away everywhere.
        Url::parse(url.as_str()).map_err(|error| not_an_address(url.as_str(), &error.to_string()))
    }

    fn set_host(&self, url: &mut Url) -> Result<(), Reason> {
        let Some(Host::Domain(host)) = url.host() else { return Ok(()) };
        let mut wanted = host.trim_end_matches('.');
        // `www.com` is a domain of its own.
        let bare = wanted.strip_prefix("www.").filter(|rest| rest.contains('.'));
        wanted = bare.filter(|_| self.settings.drop_www).unwrap_or(wanted);
        if wanted.is_empty() {
            return Err(not_an_address(url.as_str(), "its host has no name"));
        }
        if wanted != host {
            let wanted = wanted.to_owned();
            let set = url.set_host(Some(&wanted));
            set.map_err(|error| not_an_address(url.as_str(), &error.to_string()))?;
        }
        Ok(())
    }

    fn path(&self, path: &str) -> String {
        let mut segments: Vec<Cow<'_, str>> = path.split('/').map(|segment| self.segment(segment)).collect();
        if self.settings.drop_path_sessions {
            segments.retain(|segment| !is_path_session(segment));
        }
        if let Some(last) = segments.last_mut()
            && self.settings.index_pages.iter().any(|page| page.as_str() == last.as_ref())
        {
            *last = Cow::Borrowed("");
        }
        let path = segments.join("/");
        match self.settings.lower_case_paths {
            true => lower_case(&path),
            false => path,
        }
    }

    /// One folder or name, without the parameters behind its semicolons that are dropped.
    fn segment<'a>(&self, segment: &'a str) -> Cow<'a, str> {
        let segment = canonical_escapes(segment);
        if !segment.contains(';') {
            return segment;
        }
        let mut parts = segment.split(';');
        let mut kept = parts.next().unwrap_or_default().to_owned();
        for part in parts.filter(|part| !self.drops(part)) {
            kept.push(';');
            kept.push_str(part);
        }
        Cow::Owned(kept)
    }

    fn query(&self, query: &str) -> Option<String> {
        let query = canonical_escapes(query);
        let mut parts: Vec<&str> =
            query.split('&').filter(|part| !part.is_empty() && !self.drops(part)).collect();
        if self.settings.sort_query {
            parts.sort_by_key(|part| name_of(part));
        }
        (!parts.is_empty()).then(|| parts.join("&"))
    }

    fn drops(&self, parameter: &str) -> bool {
        let name = name_of(parameter).to_ascii_lowercase();
        self.dropped.iter().any(|(word, more)| match more {
            true => name.starts_with(word.as_str()),
            false => name == *word,
        })
    }
}

fn name_of(parameter: &str) -> &str {
    parameter.split('=').next().unwrap_or_default()
}

fn parse(base: Option<&Url>, text: &str) -> Result<Url, Reason> {
    if text.len() > WEB_URL_BYTES_MAX {
        return Err(too_long(text));
    }
    let url = Url::options()
        .base_url(base)
        .parse(text)
        .map_err(|error| not_an_address(text, &error.to_string()))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(Reason::new("not_web", format!("`{other}:` is not read, only http and https"))),
    }
}

fn bounded(url: Url) -> Result<Url, Reason> {
    match url.as_str().len() {
        0..=WEB_URL_BYTES_MAX => Ok(url),
        _ => Err(too_long(url.as_str())),
    }
}

fn too_long(text: &str) -> Reason {
    let message = format!("the address has {} bytes, {WEB_URL_BYTES_MAX} at most", text.len());
    Reason::new("address_too_long", message)
}

fn not_an_address(text: &str, why: &str) -> Reason {
    Reason::new("not_an_address", format!("`{text}` is not the address of a page: {why}"))
}

/// A session as ASP.NET writes it into a path: letters in parentheses, each with a parenthesis of its own.
fn is_path_session(segment: &str) -> bool {
    let Some(inner) = segment.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else { return false };
    let piece = |piece: &str| {
        let (kind, word) = piece.split_once('(').unwrap_or_default();
        matches!(kind, "S" | "A" | "F" | "X")
            && !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    inner.strip_suffix(')').is_some_and(|pieces| pieces.split(')').all(piece))
}

/// Escapes that need not be are undone, the others have capital digits. A broken one is left as it stands, since nobody knows what its server
/// makes of it, and nothing is undone that would make a new escape of it.
fn canonical_escapes(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut pieces = text.split('%');
    let mut result = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let code = piece.get(..2).filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(byte) = code.and_then(|code| u8::from_str_radix(code, 16).ok()) else {
            result.push('%');
            result.push_str(piece);
            continue;
        };
        let ends_broken = result.ends_with('%')
            || result
                .as_bytes()
                .last_chunk::<2>()
                .is_some_and(|[percent, digit]| *percent == b'%' && digit.is_ascii_hexdigit());
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if is_plain && !(ends_broken && byte.is_ascii_hexdigit()) {
            result.push(char::from(byte));
        } else {
            write!(result, "%{byte:02X}").expect("a text takes what is written into it");
        }
        result.push_str(&piece[2..]);
    }
    Cow::Owned(result)
}

/// In lower case but for the digits of escapes.
fn lower_case(path: &str) -> String {
    let mut pieces = path.split('%');
    let mut result = pieces.next().unwrap_or_default().to_ascii_lowercase();
    for piece in pieces {
        let code = piece.bytes().take(2).take_while(u8::is_ascii_hexdigit).count();
        let kept = if code == 2 { 2 } else { 0 };
        result.push('%');
        result.push_str(&piece[..kept]);
        result.push_str(&piece[kept..].to_ascii_lowercase());
    }
    result
}

/// Bytes of the parent part of a key: up to the last slash of its path, which belongs to it. Slashes of a query part nothing.
pub fn parent_bytes(key: &str) -> usize {
    let path_end = key.find(['?', '#']).unwrap_or(key.len());
    ingather_model::key::parent_bytes(&key[..path_end])
}

/// What a page shares with others: its host with its port, the host alone when the port is not the usual one, and the domains above,
/// the widest ones where there are too many. A top level domain is nobody's.
pub fn bins(url: &Url) -> Vec<String> {
    let Some(host) = url.host_str() else { return Vec::new() };
    let mut bins = vec![match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }];
    if url.port().is_some() {
        bins.push(host.to_owned());
    }
    let Some(Host::Domain(domain)) = url.host() else { return bins };
    let dots = domain.match_indices('.').map(|(at, _)| &domain[at + 1..]);
    let above: Vec<&str> = dots.filter(|rest| rest.contains('.')).collect();
    let room = BINS_OF_A_DOCUMENT_MAX - bins.len();
    bins.extend(above[above.len().saturating_sub(room)..].iter().map(|name| (*name).to_owned()));
    bins
}

#[cfg(test)]
mod tests;
