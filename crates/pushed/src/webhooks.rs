//! Addresses that reports of channels may be sent to (decision 0057): those that begin as the setting `webhooks` says. What is compared is what is asked: scheme, host, port and path of an address that
//! was read, and never its text, in which `https://good.example@evil/` begins as `https://good.example` does.

use ingather_contract::sink::Allowed;
use ingather_model::fault::Reason;
use ingather_model::limits;
use url::Url;

/// Beginnings of addresses.
#[derive(Debug)]
pub(crate) struct Beginnings(pub(crate) Vec<String>);

impl Allowed for Beginnings {
    fn address(&self, text: &str) -> Result<String, Reason> {
        let refused = |sentence: String| Err(Reason::new("webhook", sentence));
        let url = match read(text) {
            Ok(url) => url,
            Err(why) => return refused(format!("`webhook.url` {why}")),
        };
        let is_below = |begin: &String| read(begin).is_ok_and(|begin| is_below(&url, &begin));
        match self.0.iter().any(is_below) {
            true => Ok(url.into()),
            false => refused(format!(
                "reports of this source may not be sent to {}; whoever may configure the source names the beginning of such addresses in its setting `webhooks`",
                shown(&url)
            )),
        }
    }
}

/// An address as it is asked; why it cannot be one, behind its name.
pub(crate) fn read(text: &str) -> Result<Url, String> {
    if text.len() > limits::SINK_URL_MAX {
        return Err(format!("has more than {} letters", limits::SINK_URL_MAX));
    }
    let url = Url::parse(text).map_err(|error| format!("is no address: {error}"))?;
    if !matches!(url.scheme(), "https" | "http") || !url.has_host() {
        return Err("is to begin with https:// or http://, and to name a host".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("names a user; whoever is asked knows this service by the signature".to_owned());
    }
    if url.fragment().is_some() {
        return Err("has a part behind `#`, which is sent to nobody".to_owned());
    }
    // Some servers take these for separators after all, and would come out elsewhere than they were compared.
    let path = url.path().to_ascii_lowercase();
    if ["%2f", "%5c", "%2e", "//"].iter().any(|odd| path.contains(odd)) {
        return Err(
            "has `//`, or an encoded `/`, `\\` or `.`, in its path; write the path plainly".to_owned()
        );
    }
    Ok(url)
}

/// Whether an address is one, or lies below it.
fn is_below(url: &Url, begin: &Url) -> bool {
    let is_same_server = url.scheme() == begin.scheme()
        && url.host() == begin.host()
        && url.port_or_known_default() == begin.port_or_known_default();
    let rest = url.path().strip_prefix(begin.path());
    let is_whole = |rest: &str| rest.is_empty() || rest.starts_with('/') || begin.path().ends_with('/');
    is_same_server
        && rest.is_some_and(is_whole)
        && begin.query().is_none_or(|query| url.query() == Some(query))
}

/// Without what may be secret in it.
fn shown(url: &Url) -> String {
    url[..url::Position::BeforePath].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_below_a_beginning_is_allowed_however_it_is_written() {
        let begins = ["https://good.example/hooks/", "http://127.0.0.1:8080/in"].map(str::to_owned);
        let allowed = Beginnings(begins.into());
        for (text, asked) in [
            ("https://good.example/hooks/1", "https://good.example/hooks/1"),
            ("HTTPS://GOOD.example:443/hooks/a/../1?x=y", "https://good.example/hooks/1?x=y"),
            ("http://127.0.0.1:8080/in", "http://127.0.0.1:8080/in"),
            ("http://127.1:8080/in/1", "http://127.0.0.1:8080/in/1"),
        ] {
            assert_eq!(allowed.address(text).as_deref(), Ok(asked));
        }
        for text in [
            "https://good.example@evil.example/hooks/",
            "https://good.example.evil.example/hooks/1",
            "https://evil.example/https://good.example/hooks/1",
            "http://good.example/hooks/1",
            "https://good.example:444/hooks/1",
            "https://good.example/hooks",
            "https://good.example/hooks/../admin",
            "https://good.example/hooks/%2e%2e/admin",
            "https://good.example/hooks/..%2fadmin",
            "https://good.example/hooks/\\..\\..\\admin",
            "https://good.example/hooks//evil",
            "https://user@good.example/hooks/1",
            "https://good.example/hooks/1#x",
            "http://127.0.0.1:8080/inside",
            "ftp://good.example/hooks/1",
            "/hooks/1",
            "",
        ] {
            assert!(allowed.address(text).is_err(), "{text}");
        }
        let why = allowed.address("https://evil.example/token-17").unwrap_err().message;
        assert!(why.contains("`webhooks`") && !why.contains("token-17"), "{why}");
        assert!(Beginnings(Vec::new()).address("https://good.example/hooks/1").is_err());
    }
}
