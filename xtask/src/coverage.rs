//! The list of what is demanded and which test proves it: read from docs/coverage.tsv, checked, written as a page.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::scan;
use crate::tree::Tree;

/// The list.
pub(crate) const LIST: &str = "docs/coverage.tsv";
/// The page that is made of it.
pub(crate) const PAGE: &str = "docs/coverage.md";
/// The word for a line that nothing proves yet.
const OPEN: &str = "open";

/// One demand.
#[derive(Debug, PartialEq, Eq)]
struct Line<'a> {
    id: &'a str,
    mark: &'a str,
    /// Test (`file::function`), scenario or page; several separated by spaces; or [`OPEN`].
    proof: &'a str,
    /// In our own words; empty where the id names a line of the specification.
    about: &'a str,
}

impl Line<'_> {
    fn proven(&self) -> bool {
        self.proof != OPEN
    }
}

/// A heading with its lines.
type Section<'a> = (&'a str, Vec<Line<'a>>);

/// The page, when the list is in order; `specification` is the text that the ids come from, where it is at hand.
pub(crate) fn page(tree: &Tree, specification: Option<&str>) -> Result<String, String> {
    let sections = parse(tree.text(LIST).ok_or(format!("{LIST} is missing: it lists what is demanded"))?)?;
    let mut faults = repeated(&sections);
    faults.extend(sections.iter().flat_map(|(_, lines)| lines).filter_map(|line| unproven(tree, line)));
    faults.extend(specification.map(|text| differences(&sections, text)).unwrap_or_default());
    if faults.is_empty() { Ok(render(&sections)) } else { Err(faults.join("\n")) }
}

/// Sections begin with `## `, comments with `# `; other lines are id, mark, proof and maybe words, with tabs between.
fn parse(text: &str) -> Result<Vec<Section<'_>>, String> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let wrong = |why: &str| format!("{LIST}:{}: {why}", number + 1);
        if let Some(title) = line.strip_prefix("## ") {
            sections.push((title, Vec::new()));
            continue;
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let cells: Vec<&str> = line.split('\t').collect();
        let (id, mark, proof) = match cells.as_slice() {
            [id, mark, proof] | [id, mark, proof, _] => (*id, *mark, *proof),
            _ => return Err(wrong("write id, mark, proof and maybe words, with tabs between")),
        };
        if !["t", "d", "n"].contains(&mark) {
            return Err(wrong("the mark is t (test), d (design) or n (note)"));
        }
        if proof.is_empty() {
            return Err(wrong("name what proves it, or write `open`"));
        }
        let about = cells.get(3).copied().unwrap_or_default();
        let section = sections.last_mut().ok_or_else(|| wrong("begin with a section: `## Title`"))?;
        section.1.push(Line { id, mark, proof, about });
    }
    Ok(sections)
}

fn repeated(sections: &[Section<'_>]) -> Vec<String> {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    sections.iter().flat_map(|(_, lines)| lines).for_each(|line| *count.entry(line.id).or_default() += 1);
    let twice = count.into_iter().filter(|(_, count)| *count > 1);
    twice.map(|(id, _)| format!("{LIST}: {id} stands there more than once: keep one line")).collect()
}

/// Why the proof of a line is none; nothing for an open line.
fn unproven(tree: &Tree, line: &Line<'_>) -> Option<String> {
    let why = |proof: &str| {
        let (file, test) = proof.split_once("::").map_or((proof, None), |(file, test)| (file, Some(test)));
        let file = file.split('#').next().unwrap_or_default();
        let Some(text) = tree.text(file) else {
            return Some(format!("there is no file {file}"));
        };
        match test {
            Some(test) => {
                let code = scan::mask(text);
                let name = test.rsplit("::").next().unwrap_or_default();
                let found =
                    scan::functions(&code).iter().any(|f| f.name == name && scan::is_test(&code, f.at))
                        || scan::macros_of_tests(&code).iter().any(|made| scan::has_word(made, name));
                (!found).then(|| format!("there is no test {name} in {file}"))
            }
            None if file.contains("/scenarios/") => None,
            None if line.mark != "t" && file.ends_with(".md") => None,
            None => Some(format!("{file} is no proof: name a test (`file::function`) or a scenario")),
        }
    };
    let missing: Vec<String> =
        if line.proven() { line.proof.split(' ').filter_map(why).collect() } else { Vec::new() };
    (!missing.is_empty())
        .then(|| format!("{LIST}: {}: {}; name what proves it now", line.id, missing.join(", ")))
}

/// Ids and marks that only one of list and specification has. Its lines look like `- S1.2 … [t] …`.
fn differences(sections: &[Section<'_>], specification: &str) -> Vec<String> {
    let demanded: BTreeMap<&str, String> = specification
        .lines()
        .filter_map(|line| line.strip_prefix("- S").map(|_| line.trim_start_matches("- ")))
        .filter_map(|line| {
            let id = line.split(' ').next()?;
            let mark = ["t", "d", "n"].into_iter().find(|mark| line.contains(&format!("[{mark}]")))?;
            Some((id, mark.to_owned()))
        })
        .collect();
    let listed: BTreeMap<&str, String> = sections
        .iter()
        .flat_map(|(_, lines)| lines)
        .filter(|line| line.id.starts_with('S') && line.id.contains('.'))
        .map(|line| (line.id, line.mark.to_owned()))
        .collect();
    let missing = demanded.iter().filter(|(id, _)| !listed.contains_key(*id));
    let missing = missing
        .map(|(id, mark)| format!("{LIST}: {id} [{mark}] of the specification is missing: add its line"));
    let wrong = listed.iter().filter(|(id, mark)| demanded.get(*id) != Some(mark));
    let wrong =
        wrong.map(|(id, _)| format!("{LIST}: {id} is not in the specification with that mark: correct it"));
    missing.chain(wrong).collect()
}

fn render(sections: &[Section<'_>]) -> String {
    let all: Vec<&Line<'_>> = sections.iter().flat_map(|(_, lines)| lines).collect();
    let proven = |lines: &[&Line<'_>]| lines.iter().filter(|line| line.proven()).count();
    let mut page = format!(
        "<!-- Made by `cargo x generate` from {LIST}. -->\n# What is demanded, and what proves it\n\n\
         A line is proven by a test that is named here and runs with `cargo x ci`. Marks: t = can be seen from outside, \
         d = a property of the design, n = belongs into the manual. Ids S… are lines of the specification, D-… defects \
         of other systems that must not come back.\n\n\
         **{} of {} lines proven, {} open.**\n\n| Section | Proven | Open |\n|---|---:|---:|\n",
        proven(&all),
        all.len(),
        all.len() - proven(&all)
    );
    for (title, lines) in sections {
        let lines: Vec<&Line<'_>> = lines.iter().collect();
        let proven = proven(&lines);
        let _ = writeln!(page, "| {title} | {proven} | {} |", lines.len() - proven);
    }
    for (title, lines) in sections {
        let _ = write!(page, "\n## {title}\n\n| Line | Mark | Proven by |\n|---|---|---|\n");
        for line in lines {
            let name = if line.about.is_empty() {
                line.id.to_owned()
            } else {
                format!("{} · {}", line.id, line.about)
            };
            let proof = if line.proven() {
                line.proof.split(' ').map(|proof| format!("`{proof}`")).collect::<Vec<_>>().join(", ")
            } else {
                OPEN.to_owned()
            };
            let _ = writeln!(page, "| {name} | {} | {proof} |", line.mark);
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    const TESTS: (&str, &str) =
        ("crates/a/src/a.rs", "#[cfg(test)]\nmod tests {\n#[test]\nfn holds() {}\nfn tool() {}\n}\n");

    fn page_of(list: &str) -> Result<String, String> {
        let scenario = ("crates/engine/tests/scenarios/x.txt", "");
        page(&Tree::of(&[(LIST, list), TESTS, scenario, ("docs/manual/a.md", "")]), None)
    }

    #[test]
    fn a_page_counts_what_is_proven() {
        let list = "# words\n## Events\nS0.1\tt\tcrates/a/src/a.rs::holds\nS0.2\td\topen\n\
                    ## Files\nfs.a\tt\tcrates/engine/tests/scenarios/x.txt\tdeep folders\nS0.3\tn\tdocs/manual/a.md#part\n";
        let page = page_of(list).unwrap();
        assert!(page.contains("**3 of 4 lines proven, 1 open.**"), "{page}");
        assert!(page.contains("| Events | 1 | 1 |") && page.contains("| S0.2 | d | open |"));
        assert!(page.contains("| fs.a · deep folders | t | `crates/engine/tests/scenarios/x.txt` |"));
    }

    #[test]
    fn a_proof_that_is_none_is_refused() {
        for proof in [
            "crates/a/src/a.rs::gone",
            "crates/a/src/a.rs::tool",
            "crates/a/src/gone.rs::holds",
            "crates/a/src/a.rs::holds crates/a/src/a.rs::gone",
            "crates/a/src/a.rs",
            "docs/manual/a.md",
        ] {
            assert!(page_of(&format!("## A\nS0.1\tt\t{proof}\n")).is_err(), "{proof}");
        }
    }

    #[test]
    fn a_test_that_a_macro_makes_is_found_where_the_macro_is_asked_for() {
        let file = (
            "crates/a/src/a.rs",
            "macro_rules! cases { ($($name:ident: $n:literal;)*) => { $(#[test] fn $name() { f($n) })* } }\n\
             macro_rules! tools { ($($name:ident)*) => { $(fn $name() {})* } }\n\
             cases! { holds: 1; also: 2; }\ntools! { helps }\n// cases! { said }\n",
        );
        let page = |test: &str| {
            let list = format!("## A\nS0.1\tt\tcrates/a/src/a.rs::{test}\n");
            page(&Tree::of(&[(LIST, &list), file]), None)
        };
        assert!(page("holds").is_ok() && page("also").is_ok());
        for none in ["helps", "hold", "said", "name"] {
            assert!(page(none).is_err(), "{none}");
        }
    }

    #[test]
    fn a_line_stands_once_and_is_whole() {
        assert!(page_of("## A\nS0.1\tt\topen\n## B\nS0.1\tt\topen\n").is_err());
        assert!(page_of("## A\nS0.1\tt\n").is_err());
        assert!(page_of("## A\nS0.1\tx\topen\n").is_err());
        assert!(page_of("S0.1\tt\topen\n").is_err());
    }

    #[test]
    fn the_specification_and_the_list_have_the_same_lines() {
        let compare = |list: &str| {
            page(&Tree::of(&[(LIST, list)]), Some("- S0.1 A thing [t] → X-1\n- S0.2 (fig) [d]\n"))
        };
        assert!(compare("## A\nS0.1\tt\topen\nS0.2\td\topen\nfs.a\tt\topen\n").is_ok());
        assert!(compare("## A\nS0.1\tt\topen\n").unwrap_err().contains("S0.2"));
        assert!(compare("## A\nS0.1\td\topen\nS0.2\td\topen\n").is_err());
        assert!(compare("## A\nS0.1\tt\topen\nS0.2\td\topen\nS0.3\tt\topen\n").is_err());
    }
}
