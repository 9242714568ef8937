//! Texts that code cites are in the repository: a reference that nobody can follow explains nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, World, finding};

/// The pages of the design.
const FOLDER: &str = "docs/design/";
/// Those that are cited with their names; sections of the others are cited by number alone.
const NAMED: &[&str] = &["manifoldcf", "parts", "store"];
/// What proves what; its ids are cited, too.
const COVERAGE: &str = "docs/coverage.tsv";
/// Texts from which the design was made and which are not here.
const ELSEWHERE: &[&str] = &[
    "baselines.md",
    "design.md",
    "engine reference",
    "engine-reference",
    "features.md",
    "house.md",
    "peers.md",
    "push-side",
    "seed document",
    "service.md",
    "stack.md",
    "store.md",
    "style.md",
];

/// Citations whose heading, page or line does not exist, and names of texts that are not here.
pub(super) fn citations(world: &World) -> Vec<Finding> {
    let (sections, mut findings) = sections(world);
    let decisions: BTreeSet<&str> = world
        .tree
        .files()
        .filter_map(|(path, _)| path.strip_prefix("docs/decisions/")?.split('-').next())
        .collect();
    let coverage: Option<BTreeSet<&str>> = world
        .tree
        .text(COVERAGE)
        .map(|text| text.lines().filter_map(|line| line.split('\t').next()).collect());
    for (path, text) in world.tree.files().filter(|(path, _)| is_read(path)) {
        let mut lines = text.lines().enumerate().peekable();
        while let Some((number, line)) = lines.next() {
            // A citation may go on behind the end of its line.
            let next = lines.peek().map_or("", |(_, next)| uncommented(next));
            let mut refuse = |message: String| findings.push(finding(path, number + 1, message));
            for section in cited(line, next, &["design"]).filter(|section| !sections.contains_key(section)) {
                refuse(format!(
                    "`design {section}` leads nowhere: cite a heading of {FOLDER}, or write `## {section}`"
                ));
            }
            for page in cited(line, next, &["decision", "decisions"]) {
                if is_page(&page) && !decisions.contains(page.as_str()) {
                    refuse(format!("decision {page} is not in docs/decisions: cite one that is there"));
                }
            }
            if let Some(coverage) = &coverage {
                for id in ids(line).filter(|id| !coverage.contains(id)) {
                    refuse(format!("`{id}` is no line of {COVERAGE}: cite one that is there"));
                }
            }
            if let Some(name) = elsewhere(path, line) {
                refuse(format!("`{name}` is no text of this repository: cite {FOLDER}README.md's forms"));
            }
        }
    }
    findings
}

/// Whether citations in the file count: what people write, but for this rule's own examples and generated lists.
fn is_read(path: &str) -> bool {
    let ending = path.rsplit('.').next().unwrap_or_default();
    let scenario = ending == "txt" && path.contains("/tests/scenarios/");
    let generated = path == COVERAGE || path == "docs/coverage.md";
    let written = matches!(ending, "rs" | "sql" | "md" | "toml" | "sh") || scenario;
    written && !generated && path != "xtask/src/tidy/cited.rs"
}

/// The sections of the design as they are cited, each with its page, and headings that break the form.
fn sections(world: &World) -> (BTreeMap<String, &str>, Vec<Finding>) {
    let mut sections = BTreeMap::new();
    let mut findings = Vec::new();
    for (path, text) in world.tree.ending(".md").filter(|(path, _)| path.starts_with(FOLDER)) {
        for (number, line) in text.lines().enumerate() {
            let Some(heading) = line.strip_prefix("## ") else { continue };
            let Some(section) = section(heading) else { continue };
            let page = section.split_once(' ').map(|(page, _)| format!("{FOLDER}{page}.md"));
            if page.is_some_and(|page| page != path) {
                let message = format!("`{section}` belongs on the page that it names: move it");
                findings.push(finding(path, number + 1, message));
            } else if let Some(other) = sections.insert(section.clone(), path) {
                let message = format!("`{section}` is a heading of {other}, too: give it another number");
                findings.push(finding(path, number + 1, message));
            }
        }
    }
    (sections, findings)
}

/// A section at the beginning of `text`, such as `4.18` or `store 2.1`.
fn section(text: &str) -> Option<String> {
    let page = NAMED.iter().find(|page| text.strip_prefix(**page).is_some_and(|rest| rest.starts_with(' ')));
    match page {
        Some(page) => Some(format!("{page} {}", number(&text[page.len() + 1..])?)),
        None => Some(number(text)?.to_owned()),
    }
}

/// A number at the beginning of `text`: `4.18`, `CMP-2`, `0013`.
fn number(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '-').unwrap_or(text.len());
    let number = text[..end].trim_end_matches(['.', '-']);
    let is_rule = number.split_once('-').is_some_and(|(word, n)| {
        word.bytes().all(|b| b.is_ascii_uppercase()) && n.bytes().all(|b| b.is_ascii_digit())
    });
    let is_section = number.contains('.') && number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    (is_rule || is_section || is_page(number)).then_some(number)
}

/// Whether this is the number of a decision.
fn is_page(number: &str) -> bool {
    number.len() == 4 && number.bytes().all(|b| b.is_ascii_digit())
}

/// What stands behind one of the `words` in `line`, all of an enumeration; `next` is the line that follows.
fn cited<'a>(line: &'a str, next: &'a str, words: &'a [&str]) -> impl Iterator<Item = String> + 'a {
    let lower = line.to_ascii_lowercase();
    let starts: Vec<usize> = words
        .iter()
        .flat_map(|word| lower.match_indices(word).map(|(at, _)| (at, at + word.len())).collect::<Vec<_>>())
        .filter(|(at, end)| {
            let before = line[..*at].chars().next_back();
            let after = line[*end..].chars().next();
            !before.is_some_and(|c| c.is_alphanumeric() || "-_/.".contains(c))
                && after.is_none_or(|c| c == ' ')
        })
        .map(|(_, end)| end)
        .collect();
    starts.into_iter().flat_map(move |start| {
        let rest = format!("{} {next}", line[start..].trim_end());
        let mut rest = rest.trim_start();
        let mut found = Vec::new();
        let Some(first) = section(rest) else { return found };
        let page = first.split_once(' ').map(|(page, _)| format!("{page} ")).unwrap_or_default();
        rest = &rest[first.len()..];
        found.push(first);
        while let Some(other) = [", ", " and ", "–"]
            .iter()
            .find_map(|and| rest.strip_prefix(and))
            .filter(|rest| number(rest).is_some())
        {
            let other_number = number(other).unwrap_or_default();
            found.push(format!("{page}{other_number}"));
            rest = &other[other_number.len()..];
        }
        found
    })
}

/// A line without what marks it as a comment.
fn uncommented(line: &str) -> &str {
    line.trim_start().trim_start_matches(['/', '!', '#', '-']).trim_start()
}

/// Ids of the coverage: `S3.95`, `D-13`.
fn ids(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '-')
        .map(|word| word.trim_end_matches(['.', '-']))
        .filter(|word| {
            let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            let demand = word.strip_prefix('S').and_then(|rest| rest.split_once('.'));
            demand.is_some_and(|(part, n)| digits(part) && digits(n))
                || word.strip_prefix("D-").is_some_and(digits)
        })
}

/// The name of a text that is not here. Pages of the design are here, and may be named by their path.
fn elsewhere(path: &str, line: &str) -> Option<&'static str> {
    let lower = line.to_ascii_lowercase();
    let named = |name: &&str| {
        lower.match_indices(*name).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            !before.is_some_and(|c| c.is_alphanumeric() || "-_/".contains(c))
        })
    };
    ELSEWHERE.iter().copied().filter(|_| !path.starts_with(FOLDER)).find(named)
}

#[cfg(test)]
mod tests {
    use super::super::examples::found;
    use super::*;

    /// What is refused in a comment of a file beside a small design.
    fn refused(comment: &str) -> Vec<String> {
        let files = [
            ("crates/a/src/lib.rs", comment),
            ("docs/design/access.md", "# Access\n\n## 4.20 Access is a list\n"),
            ("docs/design/content.md", "## 4.9 Content\n\n## 4.18 Versions\n"),
            ("docs/design/store.md", "## 4.10 Two\n\n## store 2.1 Rows\n"),
            ("docs/design/parts.md", "## parts CMP-2 Bracket\n"),
            ("docs/decisions/0013-two-looks.md", "# 0013\n"),
            (COVERAGE, "S3.95\tt\topen\tdemand\nD-13\tt\topen\tdefect\n"),
        ];
        found(citations, &files).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_citation_without_its_heading_is_refused() {
        for comment in [
            "//! Who may see (design 4.21).",
            "// design 4.18, 4.21",
            "// Design 2.1",
            "// design store 4.9",
            "// design parts CMP-3",
            "// As told (design\n// 4.21).",
            "// decision 0014",
            "// decisions 0013 and 0014",
            "// coverage S3.95–S3.96",
            "// the defect D-14",
        ] {
            let refused = refused(comment);
            assert_eq!(refused.len(), 1, "{comment}: {refused:?}");
        }
    }

    #[test]
    fn what_leads_somewhere_or_is_no_citation_is_taken() {
        for comment in [
            "//! Who may see (design 4.20, decision 0013).",
            "// design 4.9, 4.18 and 4.20.",
            "// design store 2.1; design parts CMP-2: bracket",
            "// As told (design\n// 4.20).",
            "// coverage S3.95, D-13; S3 and D are letters",
            "// a design of 4.21 metres, redesign 4.21, the decision is yours",
            "// `docs/design/store.md`",
        ] {
            assert_eq!(refused(comment), Vec::<String>::new(), "{comment}");
        }
    }

    #[test]
    fn a_text_from_elsewhere_is_refused() {
        for comment in ["// `store.md` 2.1", "// the engine reference 1.3", "// Seed documents say"] {
            assert_eq!(refused(comment).len(), 1, "{comment}");
        }
        let within = [("docs/design/README.md", "| [store.md](store.md) | rows |")];
        assert_eq!(found(citations, &within), []);
    }

    #[test]
    fn a_number_is_given_once_and_on_its_page() {
        let pages = |other: &str| {
            let files = [
                ("docs/design/a.md", "## 4.1 A\n"),
                ("docs/design/store.md", "## store 1.1 B\n"),
                ("docs/design/z.md", other),
            ];
            found(citations, &files).len()
        };
        assert_eq!(pages("## 4.1 Again\n"), 1);
        assert_eq!(pages("## store 1.2 Not here\n"), 1);
        assert_eq!(pages("## 4.2 Next\n\n## How to cite\n"), 0);
    }
}
