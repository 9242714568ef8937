//! Patterns over whole addresses: with `*` and `**`, or as regular expressions.

use ingather_model::fault::Reason;
use ingather_model::limits::WEB_PATTERN_MEMORY_MAX;
use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

use super::{PatternSettings, bad, check_list, why};

/// The patterns of one setting.
#[derive(Debug)]
pub(crate) struct Patterns(RegexSet);

impl Patterns {
    /// Patterns over addresses; none where there are none.
    pub(super) fn of(name: &str, settings: &[PatternSettings]) -> Result<Option<Patterns>, Reason> {
        Patterns::over(name, settings, &can_match)
    }

    /// The same over titles of pages, which have any form.
    pub(crate) fn of_titles(name: &str, settings: &[PatternSettings]) -> Result<Option<Patterns>, Reason> {
        Patterns::over(name, settings, &|_| true)
    }

    fn over(
        name: &str,
        settings: &[PatternSettings],
        can_match: &dyn Fn(&str) -> bool,
    ) -> Result<Option<Patterns>, Reason> {
        check_list(name, settings.iter().map(PatternSettings::text))?;
        if settings.is_empty() {
            return Ok(None);
        }
        // What is typed may be what belongs to another setting: it is told by its number.
        let mut numbers = [0, 0];
        let expressions = settings.iter().map(|pattern| match pattern {
            PatternSettings::Glob(text) => {
                numbers[0] += 1;
                let told = |why: String| bad(name, &format!("number {} {why}", numbers[0]));
                let expression = expression_of(text).map_err(told)?;
                match can_match(text) {
                    true => Ok(expression),
                    false => Err(told(format!("matches no address: {WHOLE}"))),
                }
            }
            PatternSettings::Regex(text) => {
                numbers[1] += 1;
                let told = |error: regex::Error| {
                    let name = format!("{name}_regex");
                    bad(&name, &format!("number {} is no regular expression: {}", numbers[1], why(&error)))
                };
                RegexBuilder::new(text)
                    .size_limit(WEB_PATTERN_MEMORY_MAX)
                    .build()
                    .map_err(told)
                    .map(|_| text.clone())
            }
        });
        let expressions: Vec<String> = expressions.collect::<Result<_, Reason>>()?;
        let all = RegexSetBuilder::new(expressions).size_limit(WEB_PATTERN_MEMORY_MAX).build();
        Ok(Some(Patterns(all.map_err(|error| bad(name, &why(&error)))?)))
    }

    /// Whether one of them fits.
    pub(crate) fn fit(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

/// What is said of a pattern that cannot match.
const WHOLE: &str =
    "patterns are over whole addresses, such as `**/*.pdf`, `**/drafts/**` or `https://host/drafts/**`";

/// The regular expression of a pattern: `**` stands for any text, `*` and `?` for any without a slash; `/**/` for folders, also for none.
fn expression_of(pattern: &str) -> Result<String, String> {
    let mut expression = "(?s)^".to_owned();
    let mut rest = pattern;
    let mut groups = 0;
    while let Some(letter) = rest.chars().next() {
        if let Some(behind) = rest.strip_prefix("/**/") {
            expression.push_str("/(?:.*/)?");
            rest = behind;
            continue;
        }
        rest = &rest[letter.len_utf8()..];
        match letter {
            '*' => {
                let others = rest.len() - rest.trim_start_matches('*').len();
                rest = &rest[others..];
                expression.push_str(if others > 0 { ".*" } else { "[^/]*" });
            }
            '?' => expression.push_str("[^/]"),
            '\\' => {
                let letter =
                    rest.chars().next().ok_or("ends with a backslash, which is to stand before a letter")?;
                rest = &rest[letter.len_utf8()..];
                expression.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4])));
            }
            '[' => {
                let (letters, behind) = rest.split_once(']').ok_or("has a `[` without its `]`")?;
                let (not, letters) = match letters.strip_prefix(['!', '^']) {
                    Some(letters) => ("^/", letters),
                    None => ("", letters),
                };
                if letters.is_empty() {
                    return Err("has a `[]` without a letter".to_owned());
                }
                let escaped: String = letters
                    .chars()
                    .map(|letter| match letter {
                        '\\' | '[' | '^' | '&' | '~' => format!("\\{letter}"),
                        letter => letter.to_string(),
                    })
                    .collect();
                expression.push_str(&format!("[{not}{escaped}]"));
                rest = behind;
            }
            '{' => {
                groups += 1;
                expression.push_str("(?:");
            }
            '}' if groups > 0 => {
                groups -= 1;
                expression.push(')');
            }
            ',' if groups > 0 => expression.push('|'),
            letter => expression.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4]))),
        }
    }
    if groups > 0 {
        return Err("has a `{` without its `}`".to_owned());
    }
    expression.push('$');
    match Regex::new(&expression) {
        Ok(_) => Ok(expression),
        Err(error) => Err(format!("is no pattern: {}", why(&error))),
    }
}

/// Whether a pattern can match an address at all: what stands before its first `**` has to fit the beginning of one.
fn can_match(pattern: &str) -> bool {
    // What stands in braces may be anything.
    if pattern.contains('{') {
        return true;
    }
    let (head, is_open) = pattern.split_once("**").map_or((pattern, false), |(head, _)| (head, true));
    let fits = |piece: &str, text: &str| {
        expression_of(piece)
            .ok()
            .and_then(|piece| Regex::new(&piece).ok())
            .is_some_and(|piece| piece.is_match(text))
    };
    let pieces: Vec<&str> = head.split('/').collect();
    let (scheme, more) = (pieces[0], &pieces[1..]);
    ["http:", "https:"].iter().any(|begin| match more {
        [] => is_open && fits(&format!("{scheme}*"), begin),
        [last] => is_open && last.is_empty() && fits(scheme, begin),
        [second, ..] => second.is_empty() && fits(scheme, begin),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, url: &str) -> bool {
        let patterns = Patterns::of("include", &[PatternSettings::Glob(pattern.to_owned())]);
        patterns.unwrap_or_else(|why| panic!("{pattern}: {why:?}")).unwrap().fit(url)
    }

    #[test]
    fn two_stars_are_any_text_and_one_is_any_without_a_slash() {
        let url = "http://h.example/lim/files/report.pdf";
        for (pattern, expected) in [
            ("**.pdf", true),
            ("http://**.pdf", true),
            ("**files**", true),
            ("**lim/files**", true),
            ("**/*.pdf", true),
            ("**/files/*", true),
            ("http://*/lim/**", true),
            ("http{,s}://h.example/lim/**", true),
            ("**/lim/**/files/**", true),
            ("**/[fg]iles/**", true),
            ("**/report.??f", true),
            ("***.pdf", true),
            ("**/*.{doc,pdf}", true),
            ("http://*.pdf", false),
            ("**/lim/*", false),
            ("**/report?pdf", true),
            ("**/files[!x]report.pdf", false),
            ("**/report\\?pdf", false),
            ("**/Files/**", false),
            ("https://**", false),
        ] {
            assert_eq!(fits(pattern, url), expected, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_that_matches_no_address_is_refused_with_what_is_meant() {
        for text in
            ["*.pdf", "/lim/a/**", "/lim/files/*", "*.html", "lim/**", "a", "http:/x/**", "*foo**", ""]
        {
            let refused = Patterns::of("exclude", &[PatternSettings::Glob(text.to_owned())]).unwrap_err();
            let message = &refused.message;
            assert!(
                message.contains("number 1 matches no address") && message.contains("**/*.pdf"),
                "{text}: {message}"
            );
        }
        for text in ["*://h/**", "http*://*/x", "https:**", "h**", "**", "http://h.example/"] {
            assert!(can_match(text), "{text}");
        }
        for text in ["**[", "**{a", "**\\", "**[]"] {
            assert!(Patterns::of("exclude", &[PatternSettings::Glob(text.to_owned())]).is_err(), "{text}");
        }
        let regex = Patterns::of("exclude", &[PatternSettings::Regex("(pdf".to_owned())]).unwrap_err();
        assert!(regex.message.starts_with("`exclude_regex`: number 1 is no regular expression"), "{regex:?}");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_pattern_or_none(text in "(\\*|/|\\[|\\]|\\{|\\}|,|!|-|\\\\|\\PC){0,12}") {
            let _ = Patterns::of("include", &[PatternSettings::Glob(text)]);
        }
    }
}
