//! The manual of sites says what each code means that a page can have.

use std::collections::BTreeSet;
use std::path::Path;

/// Codes of what is no page: wrong settings, defects, and questions that no run asks.
const OF_NO_PAGE: &[&str] = &["bad_setting", "connector", "not_looked_at", "root", "settings"];
/// Where a code stands in the source: behind one of these.
const BEHIND: &[&str] = &["Reason::new(", "refused(", "broken(", "passing(", "passing_soon("];

/// The codes in a text of Rust, up to its tests.
fn codes(text: &str, into: &mut BTreeSet<String>) {
    let text = text.split("mod tests {").next().unwrap_or_default();
    for behind in BEHIND {
        for rest in text.split(behind).skip(1) {
            let code = rest.trim_start().strip_prefix('"').and_then(|rest| rest.split('"').next());
            into.extend(
                code.filter(|code| !OF_NO_PAGE.contains(code) && !code.contains(char::is_whitespace))
                    .map(str::to_owned),
            );
        }
    }
}

fn read_all(folder: &Path, into: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match path.is_dir() {
            true if name != "tests" => read_all(&path, into),
            false if name != "tests.rs" => codes(&std::fs::read_to_string(&path).unwrap(), into),
            _ => {}
        }
    }
}

#[test]
fn every_code_of_a_page_is_explained() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeSet::new();
    read_all(&here.join("src"), &mut found);
    assert!(found.len() > 40, "{found:?}");
    let manual = std::fs::read_to_string(here.join("../../docs/manual/web.md")).unwrap();
    let rows: String = manual.lines().filter(|line| line.starts_with("| `")).collect();
    let missing: Vec<&String> = found.iter().filter(|code| !rows.contains(&format!("`{code}`"))).collect();
    assert!(missing.is_empty(), "docs/manual/web.md, \"What is said of a page\": {missing:?}");
}
