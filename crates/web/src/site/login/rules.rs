//! How a job logs in, as its settings say, and by what an answer tells that nobody is logged in.

use std::collections::BTreeMap;

use garde::Validate;
use ingather_model::fault::Fault;
use ingather_model::limits;
use regex::{Regex, RegexBuilder, bytes};
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use super::super::settings::wrong;
use super::form::Forms;
use crate::scope;

/// How the job logs in at a site by a form.
///
/// It does so when an answer says that nobody is logged in: a redirect to the page with the form, the form itself in place of a page, or what
/// is named here. Addresses that are called like a way out, such as `/logout` or `?action=logout`, are not asked for; others that log out are to be
/// excluded.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoginSettings {
    /// Address of the page with the form. What is filled in goes to its scheme, host and port alone.
    #[garde(length(bytes, min = 1, max = limits::WEB_URL_BYTES_MAX))]
    page: String,
    /// Whose pages need it, as `https://host`; those of the host of `page` when left out.
    #[serde(default)]
    #[garde(length(max = limits::WEB_PATTERNS_MAX))]
    origins: Vec<String>,
    /// What is filled in, by the names of the fields.
    #[serde(default)]
    #[garde(length(max = limits::WEB_FORM_FIELDS_MAX))]
    fields: BTreeMap<String, String>,
    /// The same for what nobody is to see, such as the password. A form with all of these fields is the one that is filled in; where it
    /// comes in place of a page, nobody is logged in.
    #[schemars(extend("writeOnly" = true))]
    #[garde(length(min = 1, max = limits::WEB_FORM_FIELDS_MAX))]
    secret_fields: BTreeMap<String, String>,
    /// Statuses that say that nobody is logged in.
    #[serde(default = "usual_statuses")]
    #[garde(length(max = limits::WEB_PATTERNS_MAX))]
    logged_out_status: Vec<u16>,
    /// A regular expression for the addresses that whoever is not logged in is redirected to, besides that of `page`.
    #[serde(default)]
    #[garde(skip)]
    logged_out_redirect: Option<String>,
    /// A regular expression for what stands on a page only when nobody is logged in.
    #[serde(default)]
    #[garde(skip)]
    logged_out_text: Option<String>,
    /// A regular expression for what stands on the page after the form only when that worked.
    #[serde(default)]
    #[garde(skip)]
    logged_in_text: Option<String>,
}

/// Words that lead out, without what stands between their letters.
const LOG_OUT: &[&str] = &["logout", "userlogout", "logoff", "logmeout", "signout", "signoff", "endsession"];

fn usual_statuses() -> Vec<u16> {
    vec![401]
}

/// The same, checked.
pub(in crate::site) struct Rules {
    pub(super) page: Url,
    origins: Vec<Url>,
    fields: BTreeMap<String, String>,
    secret_fields: BTreeMap<String, String>,
    statuses: Vec<u16>,
    redirect: Option<Regex>,
    out_text: Option<bytes::Regex>,
    pub(super) in_text: Option<bytes::Regex>,
}

impl LoginSettings {
    pub(in crate::site) fn checked(&self) -> Result<Rules, Fault> {
        let address = |text: &str, name: &str| {
            let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
            url.ok_or_else(|| wrong(format!("`login.{name}` has what is no address of a web server")))
        };
        let page = address(&self.page, "page")?;
        let mut origins = vec![page.clone()];
        if !self.origins.is_empty() {
            origins = self.origins.iter().map(|text| address(text, "origins")).collect::<Result<_, _>>()?;
        }
        let bad = |error: regex::Error| wrong(format!("`login`: {}", scope::why(&error)));
        let text = |expression: &Option<String>| {
            let built = expression.as_ref().map(|text| {
                let size = limits::WEB_PATTERN_MEMORY_MAX;
                bytes::RegexBuilder::new(text).size_limit(size).dfa_size_limit(size).build()
            });
            built.transpose().map_err(bad)
        };
        let redirect = self.logged_out_redirect.as_ref();
        let redirect =
            redirect.map(|text| RegexBuilder::new(text).size_limit(limits::WEB_PATTERN_MEMORY_MAX).build());
        Ok(Rules {
            page,
            origins,
            fields: self.fields.clone(),
            secret_fields: self.secret_fields.clone(),
            statuses: self.logged_out_status.clone(),
            redirect: redirect.transpose().map_err(bad)?,
            out_text: text(&self.logged_out_text)?,
            in_text: text(&self.logged_in_text)?,
        })
    }
}

impl Rules {
    /// Whether a page may need the login.
    pub(super) fn cover(&self, url: &Url) -> bool {
        self.origins.iter().any(|known| known.origin() == url.origin())
    }

    /// Where its session is: on the page with the form, and on those that need it.
    pub(in crate::site) fn session_origins(&self) -> impl Iterator<Item = Url> + use<'_> {
        self.origins.iter().chain([&self.page]).cloned()
    }

    /// Whether an address is that of the page with the form, whatever is told it besides, such as where to go afterwards.
    pub(super) fn is_page(&self, url: &Url) -> bool {
        let has = |wanted: &(_, _)| url.query_pairs().any(|pair| pair == *wanted);
        url.origin() == self.page.origin()
            && url.path() == self.page.path()
            && self.page.query_pairs().all(|pair| has(&pair))
    }

    /// Whether whoever asks for an address is logged out by that, as its name tells.
    pub(super) fn logs_out(&self, url: &Url) -> bool {
        let letters = |word: &str| {
            let word = word.split('.').next().unwrap_or_default();
            let letters = word.chars().filter(char::is_ascii_alphanumeric);
            letters.collect::<String>().to_ascii_lowercase()
        };
        let says = |word: &str| LOG_OUT.contains(&letters(word).as_str());
        self.cover(url)
            && (url.path().split(['/', ':']).any(says)
                || url.query_pairs().any(|(name, value)| says(&name) || says(&value)))
    }

    pub(super) fn is_out_by_status(&self, status: u16) -> bool {
        self.statuses.contains(&status)
    }

    pub(super) fn is_out_by_redirect(&self, to: &Url) -> bool {
        self.is_page(to) || self.redirect.as_ref().is_some_and(|redirect| redirect.is_match(to.as_str()))
    }

    pub(super) fn is_out_by_text(&self, page: &[u8]) -> bool {
        self.out_text.as_ref().is_some_and(|text| text.is_match(page))
            || self.has_form(&Forms::of(&String::from_utf8_lossy(page)))
    }

    fn has_form(&self, forms: &Forms) -> bool {
        forms.list.iter().any(|form| form.has(self.secret_fields.keys().map(String::as_str)))
    }

    /// What is sent where for a page with the form, or why nothing is.
    pub(super) fn filled(&self, at: &Url, page: &[u8]) -> Result<(Url, String), String> {
        let forms = Forms::of(&String::from_utf8_lossy(page));
        let form = forms.list.iter().find(|form| form.has(self.secret_fields.keys().map(String::as_str)));
        let form = form.ok_or("its page has no form with the fields that are to be filled in")?;
        if !form.is_posted {
            return Err(
                "its form would send what is filled in as an address, which is no place for secrets".into()
            );
        }
        let base = forms.base.as_deref().and_then(|base| at.join(base).ok());
        let action = form.action.as_deref().map(|action| base.as_ref().unwrap_or(at).join(action.trim()));
        let to = action.transpose().map_err(|error| format!("its form is sent nowhere: {error}"))?;
        let to = to.unwrap_or_else(|| at.clone());
        if to.origin() != self.page.origin() {
            let host = to.host_str().unwrap_or_default();
            return Err(format!("its form is sent to another server, `{host}`, for which nothing was given"));
        }
        let values = self.fields.iter().chain(&self.secret_fields);
        Ok((to, form.filled(values.map(|(name, value)| (name.as_str(), value.as_str())))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_called_like_a_way_out_logs_out() {
        let settings = serde_json::json!({"page": "https://h.example/login", "secret_fields": {"p": "x"}});
        let rules = serde_json::from_value::<LoginSettings>(settings).unwrap().checked().unwrap();
        for (address, expected) in [
            ("https://h.example/logout", true),
            ("https://h.example/account/Log-Out.php?next=/", true),
            ("https://h.example/wp-login.php?action=logout&_wpnonce=1", true),
            ("https://h.example/wiki/Special:UserLogout", true),
            ("https://h.example/?sign_out", true),
            ("https://other.example/logout", false),
            ("https://h.example/how-to-log-out-of-it", false),
            ("https://h.example/login", false),
        ] {
            assert_eq!(rules.logs_out(&Url::parse(address).unwrap()), expected, "{address}");
        }
    }
}
