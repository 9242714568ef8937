//! What the API of MediaWiki answers, in JSON of its second format version; all that is not named here is passed over.

use std::collections::BTreeMap;

use ingather_contract::refers::HandedDown;
use ingather_model::key::Stamp;
use ingather_model::limits;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

/// One answer.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Answer {
    pub(super) error: Option<Said>,
    /// Where the next question goes on.
    #[serde(rename = "continue")]
    goes_on: Option<BTreeMap<String, Value>>,
    /// All of what was asked for these pages has been told.
    #[serde(default)]
    pub(super) batchcomplete: bool,
    pub(super) query: Option<Query>,
    pub(super) parse: Option<Parsed>,
    pub(super) login: Option<LoggedIn>,
}

/// An error.
#[derive(Debug, Deserialize)]
pub(super) struct Said {
    pub(super) code: String,
    #[serde(default)]
    info: String,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Query {
    #[serde(default)]
    pub(super) pages: Vec<Page>,
    #[serde(default)]
    pub(super) redirects: Vec<Redirect>,
    pub(super) general: Option<General>,
    #[serde(default)]
    namespaces: BTreeMap<String, Namespace>,
    pub(super) tokens: Option<Tokens>,
}

/// What is told of a page beside its text.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Page {
    #[serde(default)]
    pub(super) title: String,
    #[serde(default)]
    pub(super) missing: bool,
    #[serde(default)]
    pub(super) invalid: bool,
    #[serde(default)]
    pub(super) redirect: bool,
    lastrevid: Option<u64>,
    touched: Option<String>,
    #[serde(default)]
    revisions: Vec<Revision>,
    /// Whether this reader may have it, as lists tell.
    readable: Option<bool>,
    /// The same, as it is told of a few pages at once.
    #[serde(default)]
    actions: BTreeMap<String, bool>,
}

#[derive(Debug, Deserialize)]
struct Revision {
    revid: u64,
    timestamp: Option<String>,
    user: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Redirect {
    #[serde(default)]
    pub(super) from: String,
    pub(super) to: String,
    /// It leads out of the wiki.
    pub(super) tointerwiki: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct General {
    #[serde(default)]
    pub(super) sitename: String,
    #[serde(default)]
    pub(super) generator: String,
    pub(super) server: String,
    pub(super) articlepath: String,
}

#[derive(Debug, Deserialize)]
struct Namespace {
    id: i32,
    #[serde(default)]
    name: String,
    #[serde(default)]
    canonical: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Tokens {
    pub(super) logintoken: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct LoggedIn {
    #[serde(default)]
    pub(super) result: String,
}

/// A page as it is shown.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Parsed {
    pub(super) title: String,
    pub(super) revid: u64,
    pub(super) text: String,
    #[serde(default)]
    pub(super) links: Vec<Link>,
    #[serde(default)]
    pub(super) categories: Vec<Category>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Link {
    pub(super) ns: i32,
    pub(super) title: String,
    #[serde(default)]
    pub(super) exists: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Category {
    pub(super) category: String,
    #[serde(default)]
    pub(super) hidden: bool,
}

impl Said {
    /// What it says, as far as people are told.
    pub(super) fn sentence(&self) -> String {
        let sentence = format!("{}: {}", self.code, self.info);
        let mut end = sentence.len().min(limits::WIKI_SENTENCE_BYTES_MAX);
        while !sentence.is_char_boundary(end) {
            end -= 1;
        }
        sentence[..end].chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
    }
}

impl Answer {
    /// Where the next question goes on; none when there is no more.
    pub(super) fn goes_on(&self) -> Option<Vec<(String, String)>> {
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Some(self.goes_on.as_ref()?.iter().map(|(name, value)| (name.clone(), text(value))).collect())
    }
}

impl Query {
    /// Numbers and names of the namespaces.
    pub(super) fn namespaces(&self) -> impl Iterator<Item = (i32, [&str; 2])> {
        let named = |space: &'_ Namespace| space.id;
        self.namespaces
            .values()
            .map(move |space| (named(space), [space.name.as_str(), space.canonical.as_str()]))
    }
}

/// What tells one state of a page from another, and is told of it beside its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// Its last revision.
    pub(super) revision: u64,
    /// When it, or something that it is made of, was changed last, as the wiki writes it.
    touched: String,
    /// When the revision was made, milliseconds since 1970 UTC.
    pub(super) modified: Option<i64>,
    /// Whether the wiki lets this reader have it.
    pub(super) is_readable: bool,
    /// Who made the revision; none where the wiki hides it.
    pub(super) author: Option<String>,
}

/// Under which a list hands down the states of its pages.
const HANDED: &str = "state";

impl State {
    /// None where not all was told.
    pub(super) fn of(page: &Page) -> Option<State> {
        let revision = page.revisions.first()?;
        let touched = page.touched.clone().filter(|touched| is_plain(touched))?;
        let time = revision.timestamp.as_deref().and_then(|time| time.parse::<Timestamp>().ok());
        // The list and the revisions are two questions inside of the wiki: between them somebody may have written.
        let revision_of = Some(revision.revid).filter(|revid| page.lastrevid == Some(*revid))?;
        let author = revision.user.as_deref().map(|user| user.trim().replace(char::is_control, " "));
        Some(State {
            revision: revision_of,
            touched,
            modified: time.map(Timestamp::as_millisecond),
            // A wiki that does not say so is asked for each page.
            is_readable: page.readable.or(page.actions.get("read").copied()).unwrap_or(false),
            author: author.filter(|user| !user.is_empty() && user.len() <= limits::WIKI_TITLE_BYTES_MAX),
        })
    }

    /// What the next visit compares by.
    pub(super) fn memo(&self) -> Vec<u8> {
        format!("1 {} {}", self.revision, self.touched).into_bytes()
    }

    /// What makes it another document, known from a list as well as from a visit. A page whose `touched` has moved is another one even where its text
    /// is the same: it was read for that, and the next list has to name just what is held.
    pub(super) fn version(&self) -> Stamp {
        Stamp::of(self.line().as_bytes())
    }

    /// For the page, from a list.
    pub(super) fn handed_down(&self) -> HandedDown {
        HandedDown::from([(HANDED.to_owned(), [self.line()].into())])
    }

    fn line(&self) -> String {
        let modified = self.modified.map_or_else(|| "-".to_owned(), |time| time.to_string());
        let is_readable = if self.is_readable { "open" } else { "shut" };
        let author = self.author.as_deref().unwrap_or_default();
        format!("{} {} {modified} {is_readable} {author}", self.revision, self.touched)
    }

    /// What lists say of a page, and whether they agree; of several the latest. A page that has moved from one list to the next is told of by both
    /// until the run knows that.
    pub(super) fn told(handed: &HandedDown) -> Option<(State, bool)> {
        let lines = handed.get(HANDED)?;
        let states: Option<Vec<State>> = lines.iter().map(|line| State::of_line(line)).collect();
        let latest =
            states?.into_iter().max_by(|a, b| (a.revision, &a.touched).cmp(&(b.revision, &b.touched)))?;
        Some((latest, lines.len() == 1))
    }

    fn of_line(line: &str) -> Option<State> {
        let mut words = line.splitn(5, ' ');
        let revision = words.next()?.parse().ok()?;
        let touched = words.next().filter(|touched| is_plain(touched))?.to_owned();
        let modified = match words.next()? {
            "-" => None,
            time => Some(time.parse().ok()?),
        };
        let is_readable = words.next()? == "open";
        let author = words.next().filter(|author| !author.is_empty()).map(str::to_owned);
        Some(State { revision, touched, modified, is_readable, author })
    }
}

/// Whether a time has the signs of one; other ones are no times, and would not fit into what is remembered.
fn is_plain(time: &str) -> bool {
    !time.is_empty() && time.len() <= 40 && time.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn page(value: Value) -> Page {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn what_lists_say_of_a_page_reaches_its_visit() {
        let told = page(json!({
            "ns": 0, "title": "A", "lastrevid": 7, "touched": "2024-01-02T03:04:05Z", "readable": false,
            "revisions": [{"revid": 7, "parentid": 6, "user": "Ann Example", "timestamp": "2024-01-01T00:00:00Z"}]
        }));
        let state = State::of(&told).unwrap();
        assert_eq!((state.modified, state.is_readable), (Some(1_704_067_200_000), false));
        assert_eq!(State::told(&state.handed_down()), Some((state.clone(), true)));
        let hidden = State { author: None, modified: None, is_readable: true, ..state.clone() };
        assert_eq!(State::told(&hidden.handed_down()), Some((hidden.clone(), true)));
        let later = State { revision: 8, ..hidden.clone() };
        let mut both = state.handed_down();
        both.get_mut(HANDED).unwrap().extend(later.handed_down()[HANDED].iter().cloned());
        assert_eq!(State::told(&both), Some((later, false)));
        both.get_mut(HANDED).unwrap().insert("else".to_owned());
        assert_eq!(State::told(&both), None);
        assert!(state.memo().len() <= limits::MEMO_BYTES_MAX);
    }

    #[test]
    fn a_page_that_changed_while_it_was_listed_has_no_state() {
        let told = |lastrevid: u64, touched: &str| {
            State::of(&page(json!({
                "title": "A", "lastrevid": lastrevid, "touched": touched, "revisions": [{"revid": 7, "user": "Ann"}]
            })))
        };
        assert!(told(7, "2024-01-02T03:04:05Z").is_some());
        assert_eq!(told(8, "2024-01-02T03:04:05Z"), None);
        assert_eq!(told(7, "a b"), None);
        assert_eq!(State::of(&page(json!({"title": "A", "lastrevid": 7, "touched": "x"}))), None);
    }

    #[test]
    fn sentences_of_a_wiki_are_short_and_of_one_line() {
        let said = Said { code: "c".to_owned(), info: format!("a\nb\u{1b}{}", "é".repeat(500)) };
        let sentence = said.sentence();
        assert!(sentence.len() <= limits::WIKI_SENTENCE_BYTES_MAX && !sentence.contains(char::is_control));
        assert!(sentence.starts_with("c: a b é"), "{sentence}");
    }

    proptest! {
        #[test]
        fn what_is_handed_down_is_a_state_or_none(line in "[ -~]{0,60}") {
            let handed = HandedDown::from([(HANDED.to_owned(), [line].into())]);
            if let Some((state, _)) = State::told(&handed) {
                prop_assert_eq!(State::told(&state.handed_down()), Some((state, true)));
            }
        }
    }
}
