//! Licences of all libraries that are in the program: each text once, with the libraries that it is of.
//!
//! Texts are what the packages bring along. A package without any takes that of another one from the same repository of sources;
//! else it must offer Apache-2.0, whose text is that of the program, or MIT, whose words are in `packaging`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

/// The package of the program.
pub(super) const PROGRAM: &str = "ingather-app";
/// How names of files begin that say what a licence grants, in capitals.
const BEGINNINGS: &[&str] = &["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
/// Folders of packages of which nothing is in the program; samples in them have licences of their own.
const SET_ASIDE: &[&str] = &["benches", "examples", "fuzz", "resources", "test", "tests"];
/// How deep licences of what a library contains may lie.
const DEPTH: usize = 6;
/// Longest text; what is longer is no licence.
const BYTES: u64 = 1 << 20;
/// Data in the program whose licence is another one than ours.
const DATA: &str = "crates/index/data/compounds";
const MIT: &str = "packaging/MIT.txt";

/// A library, and its licences as they lie in its package.
#[derive(Debug, Default)]
struct Library {
    /// Name and version.
    called: String,
    /// The licence expression.
    licence: String,
    authors: String,
    repository: String,
    /// Names of files, with what they say.
    texts: BTreeMap<String, String>,
}

/// The page on all libraries, from what cargo says of the workspace.
pub(super) fn collect(root: &Path, metadata: &Value) -> Result<String, String> {
    let mut libraries = Vec::new();
    for package in in_program(metadata)? {
        let text = |key: &str| package[key].as_str().unwrap_or_default();
        // Ours are under the licence of the program.
        if package["source"].is_null() {
            continue;
        }
        let folder = Path::new(text("manifest_path")).parent().unwrap_or(root);
        let mut texts = BTreeMap::new();
        look(folder, folder, 0, &mut texts)?;
        let authors = package["authors"].as_array().map(Vec::as_slice).unwrap_or_default();
        let authors = authors.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
        libraries.push(Library {
            called: format!("{} {}", text("name"), text("version")),
            licence: text("license").to_owned(),
            authors,
            repository: text("repository").to_owned(),
            texts,
        });
    }
    let file =
        |name: &str| std::fs::read_to_string(root.join(name)).map_err(|error| format!("{name}: {error}"));
    complete(&mut libraries, &file("LICENSE")?, &file(MIT)?)?;
    let mut data = BTreeMap::new();
    look(&root.join(DATA), &root.join(DATA), 0, &mut data)?;
    data.insert("README.md".to_owned(), file(&format!("{DATA}/README.md"))?);
    libraries.push(Library {
        called: format!("the lists of words in {DATA}"),
        licence: "see its README.md".to_owned(),
        texts: data,
        ..Library::default()
    });
    Ok(page(&libraries))
}

/// Packages that the program is linked from, in order of their names: by normal dependencies of the program alone.
fn in_program(metadata: &Value) -> Result<Vec<&Value>, String> {
    let list = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let nodes: BTreeMap<String, Value> = list(&metadata["resolve"]["nodes"])
        .into_iter()
        .filter_map(|node| Some((node["id"].as_str()?.to_owned(), node)))
        .collect();
    let program = packages.iter().find(|package| package["name"] == PROGRAM);
    let program =
        program.and_then(|package| package["id"].as_str()).ok_or("cargo metadata names no program")?;
    let (mut met, mut waiting) = (BTreeSet::new(), vec![program.to_owned()]);
    while let Some(id) = waiting.pop() {
        let Some(node) = nodes.get(&id).filter(|_| met.insert(id.clone())) else { continue };
        for used in list(&node["deps"]) {
            if list(&used["dep_kinds"]).iter().any(|kind| kind["kind"].is_null()) {
                waiting.extend(used["pkg"].as_str().map(str::to_owned));
            }
        }
    }
    let mut found: Vec<&Value> =
        packages.iter().filter(|package| package["id"].as_str().is_some_and(|id| met.contains(id))).collect();
    found.sort_by_key(|package| (package["name"].as_str(), package["version"].as_str()));
    Ok(found)
}

/// Reads the texts in a package: at its top, and those of what it contains.
fn look(top: &Path, folder: &Path, depth: usize, texts: &mut BTreeMap<String, String>) -> Result<(), String> {
    let failed = |error| format!("{}: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
        let name = entry.file_name().to_string_lossy().into_owned();
        if kind.is_dir() {
            if depth < DEPTH && !SET_ASIDE.contains(&name.as_str()) {
                look(top, &path, depth + 1, texts)?;
            }
            continue;
        }
        let is_named = BEGINNINGS.iter().any(|begins| name.to_uppercase().starts_with(begins));
        let is_code = name.ends_with(".rs") || name.ends_with(".c") || name.ends_with(".h");
        if is_named && !is_code && kind.is_file() && entry.metadata().map_err(failed)?.len() <= BYTES {
            let bytes = std::fs::read(&path).map_err(failed)?;
            let at = path.strip_prefix(top).unwrap_or(&path).to_string_lossy().into_owned();
            texts.insert(at, String::from_utf8_lossy(&bytes).trim().to_owned());
        }
    }
    Ok(())
}

/// Gives texts to those that bring none, or refuses: without its text, a library may not be handed out.
fn complete(libraries: &mut [Library], apache: &str, mit: &str) -> Result<(), String> {
    let of_repositories: BTreeMap<String, BTreeMap<String, String>> = libraries
        .iter()
        .filter(|library| !library.texts.is_empty() && !library.repository.is_empty())
        .map(|library| (library.repository.clone(), library.texts.clone()))
        .collect();
    for library in libraries.iter_mut().filter(|library| library.texts.is_empty()) {
        let offers = |name: &str| library.licence.split([' ', '/', '(', ')']).any(|word| word == name);
        let texts = match of_repositories.get(&library.repository) {
            Some(texts) => texts.clone(),
            None if offers("Apache-2.0") => {
                BTreeMap::from([("Apache-2.0".to_owned(), apache.trim().to_owned())])
            }
            None if offers("MIT") => BTreeMap::from([("MIT".to_owned(), mit.trim().to_owned())]),
            None => {
                return Err(format!(
                    "{} ({}) brings no licence text: put that text into packaging and name it in xtask/src/release/licences.rs",
                    library.called, library.licence
                ));
            }
        };
        library.texts = texts;
    }
    Ok(())
}

fn page(libraries: &[Library]) -> String {
    let mut page = String::from(
        "Libraries in the program ingather, with their licences. The program itself is under the Apache License 2.0, as is, by choice, the
standard library of Rust (https://www.rust-lang.org). Each text below stands once, behind the names of all that it is of.\n\n",
    );
    let mut texts: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for library in libraries {
        let authors =
            if library.authors.is_empty() { String::new() } else { format!(" · {}", library.authors) };
        let _ = writeln!(page, "{} · {}{authors}", library.called, library.licence);
        for (file, text) in &library.texts {
            texts.entry(text).or_default().push(format!("{}: {file}", library.called));
        }
    }
    // In the order of the first library that each is of, so that a new library changes little.
    let mut texts: Vec<(Vec<String>, &str)> = texts.into_iter().map(|(text, of)| (of, text)).collect();
    texts.sort();
    for (of, text) in texts {
        let _ = write!(page, "\n{}\n{}\n\n{text}\n", "=".repeat(100), of.join("\n"));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(called: &str, licence: &str, repository: &str, text: Option<&str>) -> Library {
        let texts = text.map(|text| ("LICENSE".to_owned(), text.to_owned())).into_iter().collect();
        Library {
            called: called.into(),
            licence: licence.into(),
            repository: repository.into(),
            texts,
            ..Library::default()
        }
    }

    #[test]
    fn each_library_has_a_text_and_each_text_stands_once() {
        let mut libraries = [
            library("a 1", "MIT", "r", Some("of r")),
            library("b 1", "BSD-3-Clause", "r", None),
            library("c 1", "MIT/Apache-2.0", "", None),
            library("d 1", "(MIT OR GPL-2.0)", "s", None),
        ];
        complete(&mut libraries, "of apache", "of mit").unwrap();
        let page = page(&libraries);
        for (text, of) in
            [("of r", "a 1: LICENSE\nb 1: LICENSE"), ("of apache", "c 1: Apache-2.0"), ("of mit", "d 1: MIT")]
        {
            assert_eq!(page.matches(&format!("\n{of}\n\n{text}\n")).count(), 1, "{page}");
        }
        let mut bare = [library("e 1", "BSD-3-Clause", "t", None)];
        assert!(
            complete(&mut bare, "", "").unwrap_err().contains("e 1 (BSD-3-Clause) brings no licence text")
        );
    }

    #[test]
    fn what_only_tests_and_builds_use_is_not_in_the_program() {
        let package = |name: &str| serde_json::json!({"id": name, "name": name, "version": "1"});
        let used = |name: &str, kind: Value| serde_json::json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let metadata = serde_json::json!({
            "packages": [package(PROGRAM), package("linked"), package("below"), package("tried"), package("made")],
            "resolve": {"nodes": [
                {"id": PROGRAM, "deps": [used("linked", Value::Null), used("tried", "dev".into()), used("made", "build".into())]},
                {"id": "linked", "deps": [used("below", Value::Null)]},
                {"id": "below", "deps": [used("linked", Value::Null)]},
                {"id": "tried", "deps": []}, {"id": "made", "deps": []},
            ]},
        });
        let names: Vec<_> =
            in_program(&metadata).unwrap().iter().map(|found| found["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["below", PROGRAM, "linked"]);
    }
}
