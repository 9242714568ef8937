//! Cookies of one job (RFC 6265): kept in memory, bounded, and told to nobody but whom they are from. That is the same scheme, host and port: a session
//! is a secret, and what listens at another port of a host is somebody else. Only origins that a login names share theirs.

use std::sync::atomic::{AtomicU64, Ordering};

use ingather_model::limits::{
    WEB_COOKIE_BYTES_MAX, WEB_COOKIE_HEADER_BYTES_MAX, WEB_COOKIES_MAX, WEB_COOKIES_OF_DOMAIN_MAX,
};
use jiff::fmt::rfc2822::DateTimeParser;
use parking_lot::Mutex;
use url::{Host, Origin, Url};

/// The cookies, from the oldest to the newest, a count of sessions, and origins that are one to them.
#[derive(Default)]
pub(super) struct Jar(Mutex<Vec<Cookie>>, AtomicU64, Vec<Origin>);

#[derive(Clone)]
struct Cookie {
    /// Whose it is; none: of the origins that are one.
    of: Option<Origin>,
    name: String,
    value: String,
    domain: String,
    host_only: bool,
    path: String,
    secure: bool,
    until: Option<i64>,
}

/// Dates of cookies; a wrong day of the week is of no account.
const DATES: DateTimeParser = DateTimeParser::new().relaxed_weekday(true);

impl Jar {
    /// One where these origins share what cookies let them.
    pub(super) fn shared_by(origins: Vec<Origin>) -> Jar {
        Jar(Mutex::default(), AtomicU64::default(), origins)
    }

    fn whose(&self, url: &Url) -> Option<Origin> {
        Some(url.origin()).filter(|origin| !self.2.contains(origin))
    }

    /// The session in which a request is made.
    pub(super) fn session(&self) -> u64 {
        self.1.load(Ordering::SeqCst)
    }

    /// Somebody has logged in: what is answered to requests of earlier sessions sets nothing any more. A server gives a cookie of its own to each
    /// request without one, and one that comes late would take the place of the one that is logged in.
    pub(super) fn session_begins(&self) {
        self.1.fetch_add(1, Ordering::SeqCst);
    }

    /// Takes what the server at `url` sets; what it may not set is left out.
    pub(super) fn take(&self, url: &Url, header: &str, now: i64) {
        let Some(cookie) = parsed(url, header, now) else { return };
        let cookie = Cookie { of: self.whose(url), ..cookie };
        let mut jar = self.0.lock();
        jar.retain(|known| {
            (&known.of, &known.name, &known.domain, &known.path)
                != (&cookie.of, &cookie.name, &cookie.domain, &cookie.path)
        });
        if cookie.until.is_some_and(|until| until <= now) {
            return;
        }
        let of_domain = jar.iter().filter(|known| known.domain == cookie.domain).count();
        let oldest = match of_domain >= WEB_COOKIES_OF_DOMAIN_MAX {
            true => jar.iter().position(|known| known.domain == cookie.domain),
            false => (jar.len() >= WEB_COOKIES_MAX).then_some(0),
        };
        if let Some(oldest) = oldest {
            jar.remove(oldest);
        }
        jar.push(cookie);
    }

    /// The header for a request; longer paths first. None without a cookie.
    pub(super) fn header(&self, url: &Url, now: i64) -> Option<String> {
        let (jar, whose) = (self.0.lock(), self.whose(url));
        let own = jar.iter().filter(|cookie| cookie.of == whose);
        let mut fitting: Vec<&Cookie> = own.filter(|cookie| cookie.goes_to(url, now)).collect();
        fitting.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let mut header = String::new();
        for cookie in fitting {
            let more = header.len() + cookie.name.len() + cookie.value.len() + 3;
            if more <= WEB_COOKIE_HEADER_BYTES_MAX {
                let between = if header.is_empty() { "" } else { "; " };
                header.push_str(&format!("{between}{}={}", cookie.name, cookie.value));
            }
        }
        (!header.is_empty()).then_some(header)
    }
}

impl Cookie {
    fn goes_to(&self, url: &Url, now: i64) -> bool {
        let host = url.host_str().unwrap_or_default();
        let host_fits = host == self.domain || (!self.host_only && is_below(host, &self.domain));
        let rest = url.path().strip_prefix(self.path.as_str());
        let path_fits =
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || self.path.ends_with('/'));
        let open = !self.secure || url.scheme() == "https";
        host_fits && path_fits && open && self.until.is_none_or(|until| now < until)
    }
}

fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|above| above.ends_with('.'))
}

fn parsed(url: &Url, header: &str, now: i64) -> Option<Cookie> {
    let plain = header.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t'));
    if header.len() > WEB_COOKIE_BYTES_MAX || !plain {
        return None;
    }
    let host = url.host_str()?;
    let mut parts = header.split(';');
    let (name, value) = parts.next()?.split_once('=')?;
    let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
    let folder = url.path().rfind('/').filter(|at| *at > 0).map_or("/", |at| &url.path()[..at]);
    let (path, domain) = (folder.to_owned(), host.to_owned());
    let mut cookie =
        Cookie { of: None, name, value, domain, host_only: true, path, secure: false, until: None };
    let mut lasts = None;
    for part in parts {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let value = value.trim();
        match key.trim().to_ascii_lowercase().as_str() {
            "domain" if !value.is_empty() => {
                cookie.domain = value.trim_start_matches('.').to_ascii_lowercase();
                cookie.host_only = cookie.domain == host && !matches!(url.host(), Some(Host::Domain(_)));
            }
            "path" if value.starts_with('/') => cookie.path = value.to_owned(),
            "secure" => cookie.secure = true,
            "max-age" => lasts = value.parse::<i64>().ok().or(lasts),
            "expires" => {
                let date = DATES.parse_timestamp(value.replace('-', " "));
                cookie.until = date.ok().map(|date| date.as_millisecond());
            }
            _ => {}
        }
    }
    if let Some(seconds) = lasts {
        cookie.until = Some(now.saturating_add(seconds.saturating_mul(1_000)));
    }
    // A cookie of a whole top level domain would follow us everywhere.
    let below = is_below(host, &cookie.domain)
        && cookie.domain.contains('.')
        && matches!(url.host(), Some(Host::Domain(_)));
    let may = (cookie.domain == host || below) && (!cookie.secure || url.scheme() == "https");
    (may && !cookie.name.is_empty()).then_some(cookie)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    /// What goes to `to` after the server at `from` has set this, where both are one.
    fn told(from: &str, set: &str, to: &str) -> Option<String> {
        let jar = Jar::shared_by(vec![url(from).origin(), url(to).origin()]);
        jar.take(&url(from), set, 1_000);
        jar.header(&url(to), 1_000)
    }

    #[test]
    fn cookies_go_where_they_are_from_and_nowhere_else() {
        let at = "http://www.example.com/a/b";
        for (from, set, to, goes) in [
            (at, "x=1", "http://www.example.com/a/c", true),
            (at, "x=1", "https://www.example.com/a", true),
            (at, "x=1", "http://www.example.com/", false),
            (at, "x=1", "http://www.example.com/ab", false),
            (at, "x=1", "http://example.com/a/", false),
            (at, "x=1; path=/", "http://www.example.com/z", true),
            (at, "x=1; path=/; Domain=.example.com", "http://other.example.com/", true),
            (at, "x=1; path=/; domain=example.com", "http://notexample.com/", false),
            (at, "x=1; path=/; domain=com", "http://www.example.com/", false),
            (at, "x=1; path=/; domain=other.example", "http://other.example/", false),
            (at, "x=1; path=/; secure", "https://www.example.com/", false),
            ("https://www.example.com/", "x=1; secure", "https://www.example.com/", true),
            ("https://www.example.com/", "x=1; secure", "http://www.example.com/", false),
            ("http://127.0.0.1/", "x=1; domain=0.0.1", "http://127.0.0.1/", false),
            ("http://127.0.0.1/", "x=1", "http://127.0.0.1/", true),
            (at, "x=1; path=/; max-age=1", "http://www.example.com/", true),
            (at, "x=1; path=/; max-age=0", "http://www.example.com/", false),
            (at, "x=1; path=/; expires=Wed, 21-Oct-2015 07:28:00 GMT", "http://www.example.com/", true),
            (
                at,
                "x=1; path=/; max-age=9; expires=Thu, 01 Jan 1970 00:00:00 GMT",
                "http://www.example.com/",
                true,
            ),
            (at, "x=1; path=/; expires=Thu, 01 Jan 1970 00:00:00 GMT", "http://www.example.com/", false),
            (at, "=1; path=/", "http://www.example.com/", false),
            (at, "x=\u{1}; path=/", "http://www.example.com/", false),
        ] {
            assert_eq!(told(from, set, to), goes.then(|| "x=1".to_owned()), "{from} {set} {to}");
        }
    }

    #[test]
    fn a_session_is_told_to_no_other_scheme_host_or_port_and_replaced_by_none() {
        let jar = Jar::default();
        let at = url("https://www.example.com/");
        jar.take(&at, "s=secret; domain=example.com", 0);
        for other in ["http://www.example.com/", "https://www.example.com:8443/", "https://example.com/"] {
            jar.take(&url(other), "s=other", 0);
            assert_eq!(jar.header(&url(other), 0).as_deref(), Some("s=other"), "{other}");
        }
        assert_eq!(jar.header(&at, 0).as_deref(), Some("s=secret"));
        assert_eq!(jar.header(&url("https://a.example.com/"), 0), None);
    }

    #[test]
    fn a_cookie_is_replaced_ends_and_is_taken_back() {
        let (jar, at) = (Jar::default(), url("http://example.com/"));
        jar.take(&at, "x=1", 0);
        jar.take(&at, "y=1; max-age=10", 0);
        jar.take(&at, "x=2", 0);
        assert_eq!(jar.header(&at, 9_999).as_deref(), Some("y=1; x=2"));
        assert_eq!(jar.header(&at, 10_000).as_deref(), Some("x=2"));
        jar.take(&at, "x=; max-age=-1", 0);
        assert_eq!(jar.header(&at, 10_000), None);
    }

    #[test]
    fn cookies_without_end_stay_few() {
        let jar = Jar::default();
        for number in 0..WEB_COOKIES_MAX * 2 {
            let at = url(&format!("http://h{}.example/", number % 100));
            jar.take(&at, &format!("x{number}={}", "a".repeat(1_000)), 0);
        }
        assert_eq!(jar.0.lock().len(), WEB_COOKIES_MAX);
        let one = url("http://one.example/");
        for number in 0..200 {
            jar.take(&one, &format!("x{number}={}", "a".repeat(1_000)), 0);
        }
        let kept = jar.0.lock().iter().filter(|cookie| cookie.domain == "one.example").count();
        assert_eq!(kept, WEB_COOKIES_OF_DOMAIN_MAX);
        assert!(jar.header(&one, 0).unwrap().len() <= WEB_COOKIE_HEADER_BYTES_MAX);
    }
}
