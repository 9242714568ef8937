//! Names of the documents of a wiki. A page is named by the address under which people read it, and a list of pages by the question that gives it; so every
//! name is an address, and no two of them are the same.

use std::collections::{BTreeMap, HashMap};

use ingather_model::fault::Reason;
use ingather_model::limits;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use url::Url;

/// Stands for the title in the address of a page.
const TITLE: &str = "$1";
/// What MediaWiki writes as it is in addresses; all else but letters and digits is encoded.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b';')
    .remove(b'@')
    .remove(b'$')
    .remove(b'!')
    .remove(b'*')
    .remove(b'(')
    .remove(b')')
    .remove(b',')
    .remove(b'/')
    .remove(b'~')
    .remove(b':');

/// Whether a page may be called so. Anything else could be read as several titles, or as a part of a page.
pub(super) fn is_title(title: &str) -> bool {
    let is_forbidden = |letter: char| letter.is_control() || "#<>[]|{}\u{fffd}".contains(letter);
    !title.trim_matches([' ', '_']).is_empty()
        && title.len() <= limits::WIKI_TITLE_BYTES_MAX
        && !title.contains(is_forbidden)
        && !title.starts_with(':')
}

/// How addresses of pages are made of titles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Addresses {
    before: String,
    behind: String,
}

impl Addresses {
    /// From an address with `$1` in place of the title.
    pub(super) fn of(pattern: &str) -> Result<Addresses, Reason> {
        let bad = |why: &str| Reason::new("pages", why);
        let (before, behind) =
            pattern.split_once(TITLE).ok_or_else(|| bad("it has no `$1` where the title is to be"))?;
        let with = |title: &str| Url::parse(&format!("{before}{title}{behind}"));
        let example =
            with("A").map_err(|_| bad("it is no address such as https://wiki.example.org/wiki/$1"))?;
        let is_plain = matches!(example.scheme(), "http" | "https") && example.fragment().is_none();
        // The title belongs behind the host, and the rest has one spelling.
        let is_spelled = example.as_str() == format!("{before}A{behind}");
        let is_own = with("B").is_ok_and(|other| other.origin() == example.origin());
        match is_plain
            && is_spelled
            && is_own
            && example.username().is_empty()
            && example.password().is_none()
        {
            true => Ok(Addresses { before: before.to_owned(), behind: behind.to_owned() }),
            false => {
                Err(bad("it is no address such as https://wiki.example.org/wiki/$1 in its one spelling"))
            }
        }
    }

    /// The address of a page.
    pub(super) fn key(&self, title: &str) -> Option<String> {
        let title = title.replace(' ', "_");
        let key = format!("{}{}{}", self.before, utf8_percent_encode(&title, ENCODED), self.behind);
        (is_title(&title) && key.len() <= limits::WEB_URL_BYTES_MAX).then_some(key)
    }

    /// The title of the page that has this address.
    pub(super) fn title(&self, key: &str) -> Option<String> {
        let encoded = key.strip_prefix(&self.before)?.strip_suffix(&self.behind)?;
        let title = percent_decode_str(encoded).decode_utf8().ok()?.replace('_', " ");
        is_title(&title).then_some(title)
    }

    /// The host and port under which pages are read.
    pub(super) fn host(&self) -> Option<String> {
        let url = Url::parse(&format!("{}A{}", self.before, self.behind)).ok()?;
        Some(url.host_str()?.to_owned())
    }
}

/// What a wiki calls its namespaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Namespaces {
    names: BTreeMap<i32, String>,
    numbers: HashMap<String, i32>,
}

impl Namespaces {
    /// One more, with all its names; the first one is shown.
    pub(super) fn put<'n>(&mut self, number: i32, names: impl Iterator<Item = &'n str>) {
        for name in names {
            self.names.entry(number).or_insert_with(|| name.to_owned());
            if !name.is_empty() {
                self.numbers.insert(name.to_lowercase(), number);
            }
        }
    }

    /// Whether the wiki has it.
    pub(super) fn has(&self, number: i32) -> bool {
        self.names.contains_key(&number)
    }

    /// Its name; that of the articles has none.
    pub(super) fn name(&self, number: i32) -> &str {
        self.names.get(&number).map_or("", String::as_str)
    }

    /// The namespace that a title is in.
    pub(super) fn of(&self, title: &str) -> i32 {
        let named = title.split_once(':').map(|(name, _)| name.trim().to_lowercase());
        named.and_then(|name| self.numbers.get(&name).copied()).unwrap_or(0)
    }
}

/// A page where a job begins, as a document that leads to it: the question that tells how the page is called.
pub(super) fn start_key(api: &Url, title: &str) -> String {
    let mut url = api.clone();
    url.query_pairs_mut().append_pair("action", "query").append_pair("titles", title);
    url.into()
}

/// What one list of pages is asked for by, and named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListName {
    pub(super) namespace: i32,
    /// How many lists there were before it.
    pub(super) round: usize,
    /// Where it goes on, as the one before it said.
    pub(super) on: Vec<(String, String)>,
}

/// The question for a list, as far as its name has it.
const LIST: &[(&str, &str)] = &[("action", "query"), ("generator", "allpages")];
const NAMESPACE: &str = "gapnamespace";

impl ListName {
    /// The first list of a namespace.
    pub(super) fn first(namespace: i32) -> ListName {
        ListName { namespace, round: 0, on: Vec::new() }
    }

    /// The one behind it: where it goes on, the wiki says in parameters whose names end in `continue`. Any other would be a question of its own.
    pub(super) fn next(&self, on: Vec<(String, String)>) -> ListName {
        let on = on.into_iter().filter(|(name, _)| goes_on(name)).collect();
        ListName { namespace: self.namespace, round: self.round + 1, on }
    }

    pub(super) fn key(&self, api: &Url) -> String {
        let mut url = api.clone();
        url.query_pairs_mut()
            .extend_pairs(LIST)
            .append_pair(NAMESPACE, &self.namespace.to_string())
            .extend_pairs(&self.on);
        if self.round > 0 {
            url.set_fragment(Some(&self.round.to_string()));
        }
        url.into()
    }

    /// The list that has this name, in its one spelling.
    pub(super) fn of(api: &Url, key: &str) -> Option<ListName> {
        let rest = key.strip_prefix(api.as_str())?;
        let url = Url::parse(key).ok().filter(|_| rest.starts_with('?'))?;
        let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        let namespace = pairs.iter().find(|(name, _)| name == NAMESPACE)?.1.parse().ok()?;
        let round = url.fragment().map_or(Some(0), |round| round.parse().ok())?;
        let on = pairs.into_iter().filter(|(name, _)| goes_on(name)).collect();
        let list = ListName { namespace, round, on };
        (list.key(api) == key).then_some(list)
    }
}

fn goes_on(name: &str) -> bool {
    name.ends_with("continue") && name.bytes().all(|byte| byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_title_and_its_address_name_each_other() {
        let addresses = Addresses::of("https://wiki.example.org/wiki/$1").unwrap();
        for (title, path) in [
            ("Main Page", "Main_Page"),
            ("Talk:A/B", "Talk:A/B"),
            ("Café & Co?", "Caf%C3%A9_%26_Co%3F"),
            ("100%", "100%25"),
            ("C++", "C%2B%2B"),
            ("It's \"so\"", "It%27s_%22so%22"),
        ] {
            let key = addresses.key(title).unwrap();
            assert_eq!(key, format!("https://wiki.example.org/wiki/{path}"));
            assert_eq!(Url::parse(&key).unwrap().as_str(), key, "it is in its one spelling");
            assert_eq!(addresses.title(&key).as_deref(), Some(title));
        }
        for none in ["", " ", "A|B", "A#b", "[x]", "a\nb", ":Main"] {
            assert_eq!(addresses.key(none), None, "{none:?}");
        }
        assert_eq!(addresses.title("https://other.example.org/wiki/A"), None);
        assert_eq!(addresses.title("https://wiki.example.org/wiki/A%7CB"), None);
        let query = Addresses::of("https://wiki.example.org/w/index.php?title=$1&x=y").unwrap();
        assert_eq!(query.title(&query.key("A B").unwrap()).as_deref(), Some("A B"));
    }

    #[test]
    fn addresses_that_are_none_are_refused() {
        for bad in [
            "",
            "https://wiki.example.org/",
            "/wiki/$1",
            "https://$1/",
            "https://$1.example.org/",
            "ftp://wiki.example.org/$1",
            "https://wiki.example.org/#$1",
            "https://a:b@wiki.example.org/$1",
            "HTTPS://Wiki.example.org/$1",
        ] {
            assert!(Addresses::of(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_namespace_is_told_by_any_of_its_names() {
        let mut namespaces = Namespaces::default();
        namespaces.put(0, ["", ""].into_iter());
        namespaces.put(1, ["Diskussion", "Talk"].into_iter());
        let of = |title: &str| namespaces.of(title);
        assert_eq!([of("A"), of("talk:A"), of("Diskussion:A"), of("Star: Wars")], [0, 1, 1, 0]);
        assert_eq!((namespaces.name(1), namespaces.has(0), namespaces.has(4)), ("Diskussion", true, false));
    }

    proptest! {
        #[test]
        fn a_list_is_read_from_its_name(namespace in 0..4_000, round in 0_usize..9, on in "[ -~é]{0,20}") {
            let api = Url::parse("https://wiki.example.org/w/api.php").unwrap();
            let list = ListName { namespace, round, on: vec![("gapcontinue".to_owned(), on)] };
            prop_assert_eq!(ListName::of(&api, &list.key(&api)), Some(list));
        }

        #[test]
        fn what_a_wiki_says_of_going_on_changes_no_question(name in "(action|format|titles|a b|gapcontinue|continue|Xcontinue)", value in ".{0,10}") {
            let next = ListName::first(0).next(vec![(name.clone(), value)]);
            prop_assert_eq!(next.on.len(), usize::from(name == "gapcontinue" || name == "continue"));
        }

        #[test]
        fn no_text_is_a_name_that_cannot_be_read_again(text in "\\PC{0,40}") {
            let addresses = Addresses::of("https://wiki.example.org/wiki/$1").unwrap();
            if let Some(title) = addresses.title(&format!("https://wiki.example.org/wiki/{text}")) {
                prop_assert_eq!(addresses.title(&addresses.key(&title).unwrap()), Some(title));
            }
        }
    }
}
