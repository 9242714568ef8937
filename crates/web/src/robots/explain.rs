//! What a file says of one address, told to a person.

use ingather_model::fault::Reason;

use super::{Robots, product_token};
use crate::urls::UrlRules;

/// An answer for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// Whether the robot may read the address.
    pub allowed: bool,
    /// Says so, with the rule that decides and its line.
    pub sentence: String,
}

/// Says whether a file lets a robot that calls itself `agent` read an address. `url` is a whole address, or a path alone.
///
/// # Errors
/// Those of [`UrlRules::normalise`].
pub fn explain_file(file: &[u8], url: &str, agent: &str) -> Result<Explained, Reason> {
    let whole = if url.starts_with('/') { format!("http://localhost{url}") } else { url.to_owned() };
    let url = UrlRules::default().normalise(&whole)?;
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let robots = Robots::parse(file);
    let verdict = robots.for_agent(agent).verdict(&path);
    let token = product_token(agent);
    let who = if token.is_empty() { "a robot without a name".to_owned() } else { format!("`{token}`") };
    let word = if verdict.allowed { "allowed" } else { "not allowed" };
    let why = match (verdict.line, verdict.rule) {
        (Some(line), Some(rule)) => format!("line {line} decides, `{rule}`"),
        _ => "no rule speaks of it".to_owned(),
    };
    let cut = if robots.is_cut() { "; the file is longer than what is read of one" } else { "" };
    Ok(Explained { allowed: verdict.allowed, sentence: format!("`{path}` is {word} for {who}: {why}{cut}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_that_decides_is_named() {
        let file = b"User-agent: *\nDisallow: /private\n";
        let no = explain_file(file, "http://example.com/private/a?b", "Ingather/0.1").unwrap();
        assert_eq!(
            no.sentence,
            "`/private/a?b` is not allowed for `ingather`: line 2 decides, `Disallow: /private`"
        );
        assert!(!no.allowed);
        let yes = explain_file(file, "/public", "").unwrap();
        assert_eq!(yes.sentence, "`/public` is allowed for a robot without a name: no rule speaks of it");
        assert!(yes.allowed);
        assert_eq!(explain_file(file, "mailto:a@b", "a").unwrap_err().code, "not_web");
    }
}
