//! Which addresses belong to a job: by host, by what its definition takes in and leaves out, and by bounds that no honest site needs
//! and every trap runs into.

mod patterns;
mod traps;

pub use traps::{Alike, TrapSettings};

use ingather_model::fault::Reason;
use ingather_model::limits::{WEB_PATTERN_BYTES_MAX, WEB_PATTERNS_MAX};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

pub(crate) use self::patterns::Patterns;
use crate::urls::UrlRules;

/// What belongs to a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScopeSettings {
    /// Where it begins; at least one.
    pub start: Vec<String>,
    /// How far from the start addresses it goes.
    pub reach: Reach,
    /// Of these addresses alone; all when there are none.
    pub include: Vec<PatternSettings>,
    /// None of these, whatever takes them in.
    pub exclude: Vec<PatternSettings>,
    /// Beginnings of paths, such as `/docs/`; all when there are none.
    pub path_prefixes: Vec<String>,
    /// Bounds against traps.
    pub traps: TrapSettings,
}

/// How far from the start addresses a job goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// The hosts of the start addresses, by either scheme and at their ports.
    #[default]
    Hosts,
    /// These hosts and all below them; `www.example.com` counts as `example.com`.
    Domains,
    /// Anywhere that links lead.
    Anywhere,
}

/// A pattern over whole addresses, as they are spelled in one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatternSettings {
    /// Over the whole address; `*` stands for any text without a slash, `**` for any text.
    Glob(String),
    /// Anywhere in the address, unless it is tied by `^` and `$`.
    Regex(String),
}

/// Settings that were checked and are ready for use.
#[derive(Debug)]
pub struct Scope {
    start: Vec<Url>,
    reach: Reach,
    hosts: Vec<Place>,
    include: Option<Patterns>,
    exclude: Option<Patterns>,
    path_prefixes: Vec<String>,
    traps: TrapSettings,
}

#[derive(Debug, PartialEq, Eq)]
struct Place {
    host: String,
    port: Option<u16>,
}

impl Scope {
    /// Checks settings.
    ///
    /// # Errors
    /// `bad_setting`, with the setting and what is wrong with it.
    pub fn new(settings: ScopeSettings, urls: &UrlRules) -> Result<Scope, Reason> {
        if settings.start.is_empty() {
            return Err(bad("start", "name an address at least, where it begins"));
        }
        for (name, list) in [("start", &settings.start), ("path_prefixes", &settings.path_prefixes)] {
            check_list(name, list.iter())?;
        }
        // What is typed may be a password that was meant for another setting: it is told by its number.
        let normalised = settings.start.iter().enumerate().map(|(at, text)| {
            let refused = |reason: Reason| {
                bad("start", &format!("number {} is no address of a page ({})", at + 1, reason.code))
            };
            urls.normalise(text.trim()).map_err(refused)
        });
        let start: Vec<Url> = normalised.collect::<Result<_, _>>()?;
        if let Some(at) = settings.path_prefixes.iter().position(|prefix| !prefix.starts_with('/')) {
            return Err(bad("path_prefixes", &format!("number {} does not begin with a slash", at + 1)));
        }
        let mut hosts: Vec<Place> = Vec::new();
        for place in start.iter().filter_map(|url| Place::of(url, settings.reach)) {
            if !hosts.contains(&place) {
                hosts.push(place);
            }
        }
        Ok(Scope {
            start,
            reach: settings.reach,
            hosts,
            include: Patterns::of("include", &settings.include)?,
            exclude: Patterns::of("exclude", &settings.exclude)?,
            path_prefixes: settings.path_prefixes,
            traps: settings.traps,
        })
    }

    /// Where the job begins, in one spelling.
    pub fn start(&self) -> &[Url] {
        &self.start
    }

    /// Bounds against traps, for [`Alike`].
    pub fn traps(&self) -> &TrapSettings {
        &self.traps
    }

    /// Whether an address in its one spelling belongs to the job, by itself alone.
    ///
    /// # Errors
    /// `outside` (host), `outside_path`, `excluded`, `not_included`, and those of traps: `path_too_long`, `too_deep`, `repeats`,
    /// `too_many_parameters`.
    pub fn judge(&self, url: &Url) -> Result<(), Reason> {
        self.judge_host(url)?;
        let path = url.path();
        if !self.path_prefixes.is_empty() && !self.path_prefixes.iter().any(|prefix| path.starts_with(prefix))
        {
            return Err(Reason::new(
                "outside_path",
                format!("`{path}` is below none of the paths of the job"),
            ));
        }
        self.judge_excluded(url)?;
        self.judge_included(url)?;
        self.traps.judge(url)
    }

    /// Whether an address that its host calls a sitemap may be read: wherever it lies on the hosts of the job, unless it is left out.
    ///
    /// # Errors
    /// As of [`Scope::judge`], but for those of paths and of what is taken in.
    pub fn judge_sitemap(&self, url: &Url) -> Result<(), Reason> {
        self.judge_host(url)?;
        self.judge_excluded(url)?;
        self.traps.judge(url)
    }

    /// Why a page where the job begins is no entry itself and only leads to others; none where it is one.
    pub fn is_only_followed(&self, url: &Url) -> Option<Reason> {
        let why = self.judge_excluded(url).and_then(|()| self.judge_included(url)).err()?;
        let message = format!("the job begins there, and only follows its links: {}", why.message);
        Some(Reason { message, ..why })
    }

    fn judge_included(&self, url: &Url) -> Result<(), Reason> {
        match self.include.as_ref().is_some_and(|patterns| !patterns.fit(url.as_str())) {
            true => Err(Reason::new("not_included", "no pattern of the job takes it in")),
            false => Ok(()),
        }
    }

    fn judge_excluded(&self, url: &Url) -> Result<(), Reason> {
        match self.exclude.as_ref().is_some_and(|patterns| patterns.fit(url.as_str())) {
            true => Err(Reason::new("excluded", "a pattern of the job leaves it out")),
            false => Ok(()),
        }
    }

    /// Whether its host belongs to the job.
    ///
    /// # Errors
    /// `outside`.
    pub fn judge_host(&self, url: &Url) -> Result<(), Reason> {
        let host = url.host_str().unwrap_or_default();
        let belongs = match self.reach {
            Reach::Anywhere => true,
            Reach::Hosts => self.hosts.iter().any(|place| place.host == host && place.port == url.port()),
            Reach::Domains => self.hosts.iter().any(|place| is_below(host, &place.host)),
        };
        match belongs {
            true => Ok(()),
            false => Err(Reason::new("outside", format!("`{host}` is not among the hosts of the job"))),
        }
    }
}

impl Place {
    fn of(url: &Url, reach: Reach) -> Option<Place> {
        let host = url.host_str()?;
        let host = match (reach, host.strip_prefix("www.")) {
            (Reach::Domains, Some(bare)) if bare.contains('.') => bare,
            _ => host,
        };
        Some(Place { host: host.to_owned(), port: url.port() })
    }
}

fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|above| above.is_empty() || above.ends_with('.'))
}

impl PatternSettings {
    fn text(&self) -> &String {
        match self {
            PatternSettings::Glob(text) | PatternSettings::Regex(text) => text,
        }
    }
}

fn check_list<'a>(name: &str, mut list: impl ExactSizeIterator<Item = &'a String>) -> Result<(), Reason> {
    if list.len() > WEB_PATTERNS_MAX {
        return Err(bad(name, &format!("{} are too many, {WEB_PATTERNS_MAX} at most", list.len())));
    }
    match list.any(|text| text.len() > WEB_PATTERN_BYTES_MAX) {
        true => Err(bad(name, &format!("one is too long, {WEB_PATTERN_BYTES_MAX} bytes at most"))),
        false => Ok(()),
    }
}

/// What is wrong with an expression, without the expression, which may be what belongs to another setting.
pub(crate) fn why(error: &regex::Error) -> String {
    error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

fn bad(name: &str, why: &str) -> Reason {
    Reason::new("bad_setting", format!("`{name}`: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(change: impl FnOnce(&mut ScopeSettings)) -> Result<Scope, Reason> {
        let mut settings =
            ScopeSettings { start: vec!["http://www.example.com/docs/".into()], ..ScopeSettings::default() };
        change(&mut settings);
        Scope::new(settings, &UrlRules::default())
    }

    #[track_caller]
    fn code(scope: &Scope, url: &str) -> String {
        scope.judge(&Url::parse(url).unwrap()).map_or_else(|reason| reason.code, |()| "taken".into())
    }

    #[test]
    fn a_job_stays_on_the_hosts_where_it_begins() {
        let hosts = scope(|settings| settings.start.push("https://example.org:8443/".into())).unwrap();
        for (url, expected) in [
            ("http://www.example.com/", "taken"),
            ("https://www.example.com/a", "taken"),
            ("http://example.com/", "outside"),
            ("http://www.example.com:81/", "outside"),
            ("https://example.org:8443/", "taken"),
            ("https://example.org/", "outside"),
            ("http://www.example.com.evil.org/", "outside"),
        ] {
            assert_eq!(code(&hosts, url), expected, "{url}");
        }
    }

    #[test]
    fn a_job_may_go_to_all_hosts_of_a_domain_or_anywhere() {
        let domains = scope(|settings| settings.reach = Reach::Domains).unwrap();
        for (url, expected) in [
            ("http://example.com/", "taken"),
            ("http://a.b.example.com:81/", "taken"),
            ("http://notexample.com/", "outside"),
            ("http://com/", "outside"),
        ] {
            assert_eq!(code(&domains, url), expected, "{url}");
        }
        let anywhere = scope(|settings| settings.reach = Reach::Anywhere).unwrap();
        assert_eq!(code(&anywhere, "http://[::1]/"), "taken");
    }

    #[test]
    fn patterns_take_in_and_leave_out() {
        let patterns = scope(|settings| {
            settings.path_prefixes = vec!["/docs/".into(), "/help".into()];
            settings.include = vec![
                PatternSettings::Glob("http://*/docs/**".into()),
                PatternSettings::Regex(r"/help/\d+$".into()),
            ];
            settings.exclude = vec![
                PatternSettings::Regex(r"\.(gif|png)$".into()),
                PatternSettings::Glob("**/old/**".into()),
            ];
        })
        .unwrap();
        for (url, expected) in [
            ("http://www.example.com/docs/a/b?c", "taken"),
            ("http://www.example.com/help/12", "taken"),
            ("http://www.example.com/help/twelve", "not_included"),
            ("http://www.example.com/docs/a.png", "excluded"),
            ("http://www.example.com/docs/old/b", "excluded"),
            ("http://www.example.com/blog/", "outside_path"),
            ("http://other.example.com/docs/", "outside"),
        ] {
            assert_eq!(code(&patterns, url), expected, "{url}");
        }
    }

    #[test]
    fn settings_that_mean_nothing_are_refused_by_their_name() {
        let refused = |change: fn(&mut ScopeSettings)| {
            let reason = scope(change).unwrap_err();
            assert_eq!(reason.code, "bad_setting");
            reason.message
        };
        assert!(refused(|settings| settings.start.clear()).starts_with("`start`"));
        assert!(refused(|settings| settings.start = vec!["mailto:a@b".into()]).starts_with("`start`"));
        assert!(refused(|settings| settings.path_prefixes = vec!["a".into()]).starts_with("`path_prefixes`"));
        assert!(
            refused(|settings| settings.include = vec![PatternSettings::Glob("[".into())])
                .starts_with("`include`")
        );
        assert!(
            refused(|settings| settings.exclude = vec![PatternSettings::Regex("(".into())])
                .starts_with("`exclude_regex`")
        );
        let huge = |settings: &mut ScopeSettings| {
            settings.exclude = vec![PatternSettings::Regex(r"(\w{200}){200}".into())];
        };
        assert!(refused(huge).starts_with("`exclude_regex`"));
        let many = |settings: &mut ScopeSettings| {
            settings.include = vec![PatternSettings::Glob("**".into()); WEB_PATTERNS_MAX + 1];
        };
        assert!(refused(many).contains("too many"));
        let long = |settings: &mut ScopeSettings| {
            settings.path_prefixes = vec!["/".repeat(WEB_PATTERN_BYTES_MAX + 1)]
        };
        assert!(refused(long).contains("too long"));
    }

    #[test]
    fn where_a_job_begins_is_told_in_one_spelling() {
        let one = scope(|settings| settings.start = vec![" HTTP://Example.com/a/../b#c ".into()]).unwrap();
        assert_eq!(one.start()[0].as_str(), "http://example.com/b");
    }
}
