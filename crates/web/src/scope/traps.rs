//! Bounds against sites without end: paths that grow by themselves, and calendars that always have a next day.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use ingather_model::fault::Reason;
use ingather_model::limits::{
    WEB_ALIKE, WEB_ALIKE_KEPT_MAX, WEB_PARAMETERS, WEB_PATH_BYTES, WEB_PATH_DEPTH, WEB_PATH_REPEATS,
    WEB_VISITED_ALIKE,
};
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

/// Bounds of addresses. A zero means that nothing is bounded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TrapSettings {
    /// Bytes of a path.
    pub path_bytes_max: usize,
    /// Folders above a page.
    pub depth_max: usize,
    /// How often the same run of folders may follow itself: with 2, `/a/b/a/b/c` is taken and `/a/b/a/b/a/b/c` is not.
    pub repeats_max: usize,
    /// Parameters of a query.
    pub parameters_max: usize,
    /// Addresses that differ in nothing but their digits, such as the days of a calendar; what looks like the number of a session counts as a digit.
    pub alike_max: usize,
    /// Pages that are visited of one host, equally many folders deep and with the same names of parameters, whatever they are called.
    pub names_max: usize,
}

impl Default for TrapSettings {
    fn default() -> TrapSettings {
        TrapSettings {
            path_bytes_max: WEB_PATH_BYTES,
            depth_max: WEB_PATH_DEPTH,
            repeats_max: WEB_PATH_REPEATS,
            parameters_max: WEB_PARAMETERS,
            alike_max: WEB_ALIKE,
            names_max: WEB_VISITED_ALIKE,
        }
    }
}

/// Codes of what is left out by the name of an address alone, with the settings that do it.
const BY_NAME: &[(&str, &str)] = &[
    ("path_too_long", "path_bytes_max"),
    ("too_deep", "depth_max"),
    ("repeats", "repeats_max"),
    ("too_many_parameters", "parameters_max"),
];

impl TrapSettings {
    /// The setting that leaves out what has this code; none where no bound does.
    pub fn setting_of(code: &str) -> Option<&'static str> {
        let by_number = [(TOO_MANY_ALIKE, "alike_max"), (TOO_MANY_NAMES, "names_max")];
        BY_NAME.iter().chain(&by_number).find(|(known, _)| *known == code).map(|(_, setting)| *setting)
    }

    /// Judges an address by itself alone.
    pub(super) fn judge(&self, url: &Url) -> Result<(), Reason> {
        let path = url.path();
        if exceeds(path.len(), self.path_bytes_max) {
            let message = format!("its path has {} bytes, {} at most", path.len(), self.path_bytes_max);
            return Err(Reason::new("path_too_long", message));
        }
        let mut segments: Vec<&str> = path.split('/').skip(1).collect();
        segments.pop_if(|last| last.is_empty());
        let depth = path.matches('/').count() - 1;
        if exceeds(depth, self.depth_max) {
            let message = format!("it is {depth} folders deep, {} at most", self.depth_max);
            return Err(Reason::new("too_deep", message));
        }
        if self.repeats_max > 0
            && let Some(run) = run_that_repeats(&segments, self.repeats_max)
        {
            let message = format!(
                "`{}` follows itself more than {} times in its path",
                run.join("/"),
                self.repeats_max
            );
            return Err(Reason::new("repeats", message));
        }
        let parameters = url.query().map_or(0, |query| query.split('&').count());
        if exceeds(parameters, self.parameters_max) {
            let message = format!("it has {parameters} parameters, {} at most", self.parameters_max);
            return Err(Reason::new("too_many_parameters", message));
        }
        Ok(())
    }
}

fn exceeds(count: usize, most: usize) -> bool {
    most > 0 && count > most
}

/// The shortest run of segments that stands more than `most` times in a row.
fn run_that_repeats<'a>(segments: &'a [&'a str], most: usize) -> Option<&'a [&'a str]> {
    let times = most + 1;
    (1..=segments.len() / times).find_map(|length| {
        // Where so many segments in a row are those of one run before, the run stands once more than they cover.
        let wanted = length * most;
        let mut equal = 0;
        for at in length..segments.len() {
            equal = if segments[at] == segments[at - length] { equal + 1 } else { 0 };
            if equal == wanted {
                return Some(&segments[at + 1 - length..=at]);
            }
        }
        None
    })
}

/// Codes of what is left out because there are too many like it.
const TOO_MANY_ALIKE: &str = "too_many_alike";
const TOO_MANY_NAMES: &str = "too_many_names";

/// Counts the addresses of a job that are alike. One that was taken is taken again; which ones are the first depends on the order in
/// which links are found.
#[derive(Debug, Default)]
pub struct Alike {
    counts: Mutex<Counts>,
    hashing: RandomState,
}

#[derive(Debug, Default)]
struct Counts {
    taken: HashSet<u64>,
    by_shape: HashMap<u64, usize>,
    /// Visits by what is left of an address without its names.
    visited: HashMap<u64, usize>,
}

impl Alike {
    /// Takes an address in, unless too many that are alike were.
    ///
    /// # Errors
    /// `too_many_alike`, `too_many_names`.
    pub fn admit(&self, url: &Url, settings: &TrapSettings) -> Result<(), Reason> {
        if settings.names_max > 0 {
            let frame = frame(url);
            let visited = self.counts.lock().visited.get(&self.hashing.hash_one(&frame)).copied();
            if visited.is_some_and(|visited| visited >= settings.names_max) {
                let message = format!("so many like `{frame}` were visited, {} at most", settings.names_max);
                return Err(Reason::new(TOO_MANY_NAMES, message));
            }
        }
        let Some(shape) = shape(url.as_str()).filter(|_| settings.alike_max > 0) else { return Ok(()) };
        let (address, kind) = (self.hashing.hash_one(url.as_str()), self.hashing.hash_one(&shape));
        let mut counts = self.counts.lock();
        if counts.taken.contains(&address) {
            return Ok(());
        }
        let count = counts.by_shape.get(&kind).copied().unwrap_or(0);
        if count >= settings.alike_max || counts.taken.len() >= WEB_ALIKE_KEPT_MAX {
            let most = settings.alike_max.min(WEB_ALIKE_KEPT_MAX);
            let message = format!("there are too many addresses like `{shape}`, {most} at most");
            return Err(Reason::new(TOO_MANY_ALIKE, message));
        }
        counts.taken.insert(address);
        counts.by_shape.insert(kind, count + 1);
        Ok(())
    }
}

impl Alike {
    /// Counts the visit of an address.
    pub fn visited(&self, url: &Url) {
        let frame = self.hashing.hash_one(frame(url));
        let mut counts = self.counts.lock();
        if counts.visited.len() < WEB_ALIKE_KEPT_MAX || counts.visited.contains_key(&frame) {
            *counts.visited.entry(frame).or_default() += 1;
        }
    }
}

/// What is left of an address without the names in its path and the values of its parameters: sites that make up names have few of these.
fn frame(url: &Url) -> String {
    let folders = url.path().split('/').skip(1).map(|_| "/*");
    let mut frame = format!("{}{}", url.host_str().unwrap_or_default(), folders.collect::<String>());
    let names: BTreeSet<&str> = url
        .query()
        .into_iter()
        .flat_map(|query| query.split('&'))
        .filter_map(|pair| pair.split('=').next())
        .collect();
    for (at, name) in names.into_iter().enumerate() {
        frame.push(if at == 0 { '?' } else { '&' });
        // Parameters whose names are made up are one kind as well.
        frame.push_str(if is_made_up(name) { "*" } else { name });
    }
    frame
}

/// Whether a word looks like the number of a session or of a digest.
fn is_made_up(word: &str) -> bool {
    let is_hex = word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let is_mixed = word.bytes().any(|byte| byte.is_ascii_alphabetic()) && digits > 2;
    (word.len() >= MADE_UP_HEX_BYTES && is_hex && digits > 0)
        || (word.len() >= MADE_UP_BYTES && is_mixed && word.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Letters from which on a word of hexadecimal digits, and another one, looks like the number of a session.
const MADE_UP_HEX_BYTES: usize = 16;
const MADE_UP_BYTES: usize = 20;

/// An address with a `#` for each number behind its host; none when it has no number.
fn shape(url: &str) -> Option<String> {
    let host = url.find("://").map_or(0, |at| at + 3);
    let path = url[host..].find(['/', '?']).map_or(url.len(), |at| host + at);
    let mut shape = url[..path].to_owned();
    let mut numbers = 0;
    let is_between = |letter: char| !(letter.is_ascii_alphanumeric() || letter == '-');
    for part in url[path..].split_inclusive(is_between) {
        let word = part.trim_end_matches(is_between);
        if is_made_up(word) {
            shape.push('#');
            numbers += 1;
        } else {
            numbers += add_folded(&mut shape, word);
        }
        shape.push_str(&part[word.len()..]);
    }
    (numbers > 0).then_some(shape)
}

/// Adds a word with a `#` for each number; how many there are.
fn add_folded(shape: &mut String, word: &str) -> usize {
    let mut numbers = 0;
    let mut in_number = false;
    for letter in word.chars() {
        let digit = letter.is_ascii_digit();
        if !digit {
            shape.push(letter);
        } else if !in_number {
            shape.push('#');
            numbers += 1;
        }
        in_number = digit;
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(settings: &TrapSettings, path: &str) -> String {
        let url = Url::parse(&format!("http://example.com{path}")).unwrap();
        settings.judge(&url).map_or_else(|reason| reason.code, |()| "taken".into())
    }

    #[test]
    fn paths_that_grow_by_themselves_are_refused() {
        let settings = TrapSettings::default();
        for (path, expected) in [
            ("/", "taken"),
            ("/a/b/a/b/c", "taken"),
            ("/a/b/a/c/a/d", "taken"),
            ("/a/b/a/b/a/b", "repeats"),
            ("/x/a/b/a/b/a/b/", "repeats"),
            ("/a/b/a/b/a/c", "taken"),
            ("/a/a/a", "repeats"),
            ("/1/1/2/2", "taken"),
            ("/?a&b", "taken"),
        ] {
            assert_eq!(code(&settings, path), expected, "{path}");
        }
        let deep = |depth: usize| (0..depth).map(|n| format!("/{n}")).collect::<String>() + "/page";
        assert_eq!(code(&settings, &deep(WEB_PATH_DEPTH)), "taken");
        assert_eq!(code(&settings, &deep(WEB_PATH_DEPTH + 1)), "too_deep");
        assert_eq!(code(&settings, &format!("/{}", "a".repeat(WEB_PATH_BYTES - 1))), "taken");
        assert_eq!(code(&settings, &format!("/{}", "a".repeat(WEB_PATH_BYTES))), "path_too_long");
        assert_eq!(code(&settings, &format!("/?{}", ["a"; WEB_PARAMETERS].join("&"))), "taken");
        assert_eq!(
            code(&settings, &format!("/?{}", ["a"; WEB_PARAMETERS + 1].join("&"))),
            "too_many_parameters"
        );
    }

    #[test]
    fn a_zero_bounds_nothing() {
        let open = TrapSettings {
            path_bytes_max: 0,
            depth_max: 0,
            repeats_max: 0,
            parameters_max: 0,
            alike_max: 0,
            names_max: 0,
        };
        assert_eq!(code(&open, &format!("{}?{}", "/a".repeat(800), ["a"; 400].join("&"))), "taken");
        let alike = Alike::default();
        for day in 0..100 {
            assert!(alike.admit(&day_of(day), &open).is_ok());
        }
    }

    fn day_of(day: u32) -> Url {
        Url::parse(&format!("http://example.com/2024/calendar?day={day}")).unwrap()
    }

    #[test]
    fn a_calendar_comes_to_an_end() {
        let settings = TrapSettings { alike_max: 3, ..TrapSettings::default() };
        let alike = Alike::default();
        for day in [1, 20, 300] {
            assert!(alike.admit(&day_of(day), &settings).is_ok());
        }
        let reason = alike.admit(&day_of(4), &settings).unwrap_err();
        assert_eq!(reason.code, "too_many_alike");
        assert!(reason.message.contains("http://example.com/#/calendar?day=#"), "{reason:?}");
        assert!(alike.admit(&day_of(20), &settings).is_ok(), "one that was taken is taken again");
        let other = Url::parse("http://example.com/2024/list?day=1").unwrap();
        assert!(alike.admit(&other, &settings).is_ok());
    }

    #[test]
    fn sessions_without_end_come_to_an_end() {
        let settings = TrapSettings { alike_max: 2, ..TrapSettings::default() };
        let alike = Alike::default();
        let session = |number: u32| {
            let digest = blake3::hash(&number.to_le_bytes()).to_hex();
            Url::parse(&format!("http://example.com/page?s={}", &digest[..32])).unwrap()
        };
        assert!((0..2).all(|number| alike.admit(&session(number), &settings).is_ok()));
        assert_eq!(alike.admit(&session(2), &settings).unwrap_err().code, "too_many_alike");
        for honest in ["understandability-of-interfaces", "deadbeef", "0123-2024-01-05", "facade"] {
            assert!(!is_made_up(honest), "{honest}");
        }
        for made_up in [
            "0f343b0931126a20f133d67c2b018a3b",
            "123e4567-e89b-12d3-a456-426614174000",
            "Zk3lit3py55t21z5v55vlm25s55",
        ] {
            assert!(is_made_up(made_up), "{made_up}");
        }
    }

    #[test]
    fn names_of_letters_without_end_come_to_an_end() {
        let settings = TrapSettings { names_max: 3, ..TrapSettings::default() };
        let alike = Alike::default();
        let page = |path: &str| Url::parse(&format!("http://example.com{path}")).unwrap();
        for name in ["/a/b", "/c/d", "/a/e"] {
            assert!(alike.admit(&page(name), &settings).is_ok());
            alike.visited(&page(name));
        }
        let reason = alike.admit(&page("/made/up"), &settings).unwrap_err();
        assert_eq!(reason.code, "too_many_names");
        assert!(reason.message.contains("example.com/*/*"), "{reason:?}");
        for other in ["/a", "/a/b/c", "/a/b?c=d"] {
            assert!(alike.admit(&page(other), &settings).is_ok(), "{other}");
        }
    }

    #[test]
    fn pages_without_numbers_and_numbers_of_hosts_are_not_counted() {
        let settings = TrapSettings { alike_max: 1, ..TrapSettings::default() };
        let alike = Alike::default();
        for url in ["http://127.0.0.1:8080/a", "http://127.0.0.2:8080/a", "http://h1.example.com/"] {
            assert!(alike.admit(&Url::parse(url).unwrap(), &settings).is_ok(), "{url}");
        }
        assert_eq!(shape("http://h1.example.com:80?a=12b3"), Some("http://h1.example.com:80?a=#b#".into()));
    }
}
