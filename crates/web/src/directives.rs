//! What a page says of itself to robots: in the header `X-Robots-Tag`, in its meta element, and beside a link. All of it becomes one
//! value, in which the stricter word holds.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::rfc2822::DateTimeParser;
use jiff::tz::TimeZone;

use crate::robots::product_token;

/// What a page lets robots do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directives {
    /// It may be found.
    pub index: bool,
    /// Its links may be followed.
    pub follow: bool,
    /// From then on it may not be found any more, milliseconds since 1970.
    pub until: Option<i64>,
}

impl Default for Directives {
    /// A page that says nothing.
    fn default() -> Directives {
        Directives { index: true, follow: true, until: None }
    }
}

impl Directives {
    /// Of the headers `X-Robots-Tag`, for a robot that calls itself `agent`. A name in front, as in `otherbot: noindex`, holds for
    /// what follows it in the same header.
    pub fn of_headers<'a>(headers: impl IntoIterator<Item = &'a str>, agent: &str) -> Directives {
        let token = product_token(agent);
        headers.into_iter().fold(Directives::default(), |all, header| all.and(of_header(header, &token)))
    }

    /// Of a meta element, by its name and content: `robots`, or the name of our robot.
    pub fn of_meta(name: &str, content: &str, agent: &str) -> Directives {
        let name = name.trim().to_ascii_lowercase();
        let ours = name == "robots" || name == product_token(agent);
        // An element without a name is about something else, also for a robot without one.
        match ours && !name.is_empty() {
            true => words(content).fold(Directives::default(), Directives::with),
            false => Directives::default(),
        }
    }

    /// Both together: what either forbids is forbidden, and the earlier end holds.
    #[must_use]
    pub fn and(self, other: Directives) -> Directives {
        Directives {
            index: self.index && other.index,
            follow: self.follow && other.follow,
            until: [self.until, other.until].into_iter().flatten().min(),
        }
    }

    /// Whether it may be found at a time, milliseconds since 1970.
    pub fn may_be_found(&self, now: i64) -> bool {
        self.index && self.until.is_none_or(|until| now < until)
    }

    /// One directive added; those that are about how hits look make no difference.
    fn with(mut self, word: &str) -> Directives {
        let (name, value) = word.split_once(':').unwrap_or((word, ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "none" => (self.index, self.follow) = (false, false),
            "noindex" => self.index = false,
            "nofollow" => self.follow = false,
            "unavailable_after" => {
                self.until = [self.until, date_ms(value.trim())].into_iter().flatten().min();
            }
            _ => {}
        }
        self
    }
}

/// Whether a link with this `rel` is followed: `ugc` and `sponsored` say who wrote it, and not that nobody should go there.
pub fn link_is_followed(rel: &str) -> bool {
    !rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("nofollow"))
}

/// Directives that have a value behind a colon, so that their name is not that of a robot.
const WITH_VALUE: &[&str] = &["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"];

fn of_header(header: &str, token: &str) -> Directives {
    let mut ours = true;
    let mut directives = Directives::default();
    for word in words(header) {
        let mut word = word;
        if let Some((name, rest)) = word.split_once(':') {
            let name = name.trim();
            if !WITH_VALUE.iter().any(|known| name.eq_ignore_ascii_case(known)) {
                let is_everybody = name == "*" || name.eq_ignore_ascii_case("robots");
                ours = is_everybody || (!token.is_empty() && product_token(name) == token);
                word = rest.trim();
            }
        }
        if ours {
            directives = directives.with(word);
        }
    }
    directives
}

/// Parts between commas; the comma behind a day of the week belongs to its date.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut commas = text.match_indices(',').map(|(at, _)| at);
        let end = commas.find(|at| !ends_with_weekday(&text[..*at]));
        rest = end.map(|end| &text[end + 1..]);
        Some(text[..end.unwrap_or(text.len())].trim())
    })
}

fn ends_with_weekday(text: &str) -> bool {
    const DAYS: &[&str] = &["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let is_date = text.to_ascii_lowercase().trim_start().contains("unavailable_after");
    let day = text.rsplit([':', ' ']).next().unwrap_or_default().to_ascii_lowercase();
    is_date && DAYS.iter().any(|known| day.starts_with(known))
}

/// Dates as in mails; a wrong day of the week is of no account.
const DATES: DateTimeParser = DateTimeParser::new().relaxed_weekday(true);

/// A date as RFC 822, RFC 850 or ISO 8601 have it; without a zone it is meant in UTC. None when it cannot be read.
fn date_ms(text: &str) -> Option<i64> {
    let civil = || {
        let date: DateTime = text.parse().ok()?;
        Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp())
    };
    let rfc_850 = || {
        let text = text.split_once(',').map_or(text, |(_, rest)| rest).trim();
        let text = text.strip_suffix("GMT").or(text.strip_suffix("UTC"))?.trim();
        let date = DateTime::strptime("%d-%b-%y %H:%M:%S", text).ok()?;
        Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp())
    };
    let rfc_822 = || DATES.parse_timestamp(text).ok();
    let instant: Option<Timestamp> = text.parse().ok().or_else(rfc_822).or_else(rfc_850).or_else(civil);
    instant.map(Timestamp::as_millisecond)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> (bool, bool) {
        let directives = Directives::of_headers([text], "Ingather/0.1");
        (directives.index, directives.follow)
    }

    #[test]
    fn headers_say_what_may_be_done() {
        for (text, expected) in [
            ("", (true, true)),
            ("all", (true, true)),
            ("noindex", (false, true)),
            ("NOINDEX , nofollow", (false, false)),
            ("none", (false, false)),
            ("noarchive, nosnippet, max-snippet: 10, nofollow", (true, false)),
            ("noindexing", (true, true)),
            ("ingather: noindex", (false, true)),
            ("Ingather/2: noindex", (false, true)),
            ("*: noindex", (false, true)),
            ("otherbot: noindex, nofollow", (true, true)),
            ("otherbot: noindex, ingather: nofollow", (true, false)),
            ("unavailable_after: not a date, noindex", (false, true)),
        ] {
            assert_eq!(header(text), expected, "{text}");
        }
    }

    #[test]
    fn a_robot_without_a_name_is_not_meant_by_a_name() {
        let directives = Directives::of_headers(["otherbot: noindex", "5: noindex"], "");
        assert_eq!(directives, Directives::default());
    }

    #[test]
    fn of_several_headers_the_stricter_word_holds() {
        let directives =
            Directives::of_headers(["all", "otherbot: none", "nofollow", "ingather: all"], "ingather");
        assert_eq!(directives, Directives { index: true, follow: false, until: None });
    }

    #[test]
    fn a_page_may_say_until_when_it_can_be_found() {
        let expected: Timestamp = "2010-06-25T15:00:00Z".parse().unwrap();
        for date in [
            "Fri, 25 Jun 2010 15:00:00 GMT",
            "25 Jun 2010 15:00:00 +0000",
            "25 Jun 2010 08:00:00 PDT",
            "Friday, 25-Jun-10 15:00:00 GMT",
            "2010-06-25T15:00:00Z",
            "2010-06-25T17:00:00+02:00",
            "2010-06-25 15:00:00",
        ] {
            let text = format!("unavailable_after: {date}, nofollow");
            let directives = Directives::of_headers([text.as_str()], "a");
            assert_eq!(directives.until, Some(expected.as_millisecond()), "{date}");
            assert!(!directives.follow, "{date}");
            assert!(directives.may_be_found(expected.as_millisecond() - 1));
            assert!(!directives.may_be_found(expected.as_millisecond()));
        }
        assert_eq!(Directives::of_headers(["unavailable_after: soon"], "a").until, None);
    }

    #[test]
    fn the_earlier_end_holds() {
        let headers = ["unavailable_after: 2011-01-01", "unavailable_after: 2010-01-01"];
        let one = Directives::of_headers(headers, "a");
        let day: Timestamp = "2010-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(one.until, Some(day.as_millisecond()));
    }

    #[test]
    fn meta_elements_for_all_robots_and_for_ours_count() {
        let meta = |name, content| Directives::of_meta(name, content, "Ingather/0.1");
        assert!(!meta("ROBOTS", "noindex,follow").index);
        assert!(!meta("ingather", " NoFollow ").follow);
        assert_eq!(meta("googlebot", "noindex"), Directives::default());
        assert_eq!(meta("description", "noindex"), Directives::default());
        assert_eq!(Directives::of_meta("", "noindex", ""), Directives::default());
        let until = meta("robots", "unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, noindex");
        assert!(until.until.is_some() && !until.index);
    }

    #[test]
    fn links_that_are_not_to_be_followed_say_so() {
        assert!(!link_is_followed("nofollow"));
        assert!(!link_is_followed("external\tNoFollow"));
        assert!(link_is_followed("ugc sponsored"));
        assert!(link_is_followed(""));
        assert!(link_is_followed("nofollowing"));
    }

    proptest::proptest! {
        #[test]
        fn any_header_is_understood_somehow(text in "(noindex|none|unavailable_after|:|,|Mon|\\PC){0,20}") {
            let one = Directives::of_headers([text.as_str()], "ingather");
            let twice = Directives::of_headers([text.as_str(), text.as_str()], "ingather");
            proptest::prop_assert_eq!(one, twice);
        }
    }
}
