//! The test suite of feedparser, whose files say what a reader must find in them: how much of it ours finds.

mod expressions;
mod seen;

use std::path::{Path, PathBuf};

use ingather_extract::{Extracted, Input, Request, extract};

use self::expressions::{Value, demands, is_true, parse, shown, value};

/// Where the feeds are, from the folder of this crate.
const FOLDER: &str = "../../../shared/data/feeds";
/// What is expected by feedparser and by nobody who reads a feed, each with the reason.
const ODDITIES: &str = "../../docs/feed-oddities.tsv";
/// Of what applies to us, how many in a hundred are met at least.
const MET_PERCENT_MIN: usize = 98;

fn files(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, all) } else { all.push(path) }
    }
}

/// What a file says that a reader must find in it.
fn expected(bytes: &[u8]) -> Option<String> {
    let narrow: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
    let text = String::from_utf8_lossy(&narrow);
    let (_, rest) = text.split_once("Expect:")?;
    Some(rest.split("-->").next()?.trim().to_owned())
}

fn read(bytes: Vec<u8>) -> Extracted {
    let request = Request { name: "feed.xml".to_owned(), links: true, ..Request::default() };
    extract(&request, Input::memory(bytes))
}

/// The oddities: what a demand has in it, or its file, and the reason.
fn oddities() -> Vec<String> {
    let list = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(ODDITIES)).unwrap();
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (part, reason) = line.split_once('\t').unwrap();
            assert!(!part.is_empty() && !reason.is_empty(), "{line}");
            part.to_owned()
        })
        .collect()
}

/// Whether a demand is met; if not, what was found.
fn met(demand: &expressions::Expression, found: &Extracted) -> Result<(), String> {
    let named = |name: &str| match name {
        "feed" => Some(seen::feed(found)),
        "entries" => Some(seen::entries(found)),
        "version" => Some(seen::version(found)),
        _ => None,
    };
    match value(demand, &named, &seen::same)? {
        Value::Number(1) if found.media_type.contains("xml") || found.media_type.contains("cdf") => Ok(()),
        value if is_true(&value) => Ok(()),
        value => Err(format!("{value:?}")),
    }
}

#[test]
fn what_feedparser_finds_in_its_test_suite_is_found() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
    if !folder.is_dir() {
        eprintln!("not run: there are no feeds in {}", folder.display());
        return;
    }
    let oddities = oddities();
    let mut paths = Vec::new();
    files(&folder, &mut paths);
    paths.sort();
    let (mut applicable, mut odd, mut missed) = (0, 0, Vec::new());
    let mut used: Vec<usize> = vec![0; oddities.len()];
    for path in &paths {
        let name = path.strip_prefix(&folder).unwrap().display().to_string();
        let bytes = std::fs::read(path).unwrap();
        let expected = expected(&bytes).unwrap_or_else(|| panic!("{name} expects nothing"));
        let found = read(bytes);
        let reason = found.reason.clone().unwrap_or_default();
        assert!(!reason.contains("cannot cope"), "{name}: {found:?}");
        assert!(found.links.is_some(), "{name} is no feed: {found:?}");
        for demand in demands(parse(&expected).unwrap_or_else(|error| panic!("{name}: {expected}: {error}")))
        {
            let shown = format!("{name}: {}", shown(&demand));
            let is_odd = oddities.iter().position(|part| shown.contains(part.as_str()));
            if let Some(at) = is_odd {
                used[at] += 1;
                odd += 1;
                continue;
            }
            applicable += 1;
            if let Err(error) = met(&demand, &found) {
                missed.push(format!("{shown}: {error}"));
            }
        }
    }
    let share = (applicable - missed.len()) * 1_000 / applicable;
    eprintln!(
        "{} feeds, {applicable} demands that apply, {odd} that do not; met: {}.{} %\n{}",
        paths.len(),
        share / 10,
        share % 10,
        missed.join("\n")
    );
    let unused: Vec<_> = oddities.iter().zip(used).filter(|(_, used)| *used == 0).collect();
    assert!(unused.is_empty(), "oddities that nobody expects: {unused:?}");
    assert!((applicable - missed.len()) * 100 >= applicable * MET_PERCENT_MIN, "{missed:#?}");
}
