//! `cargo x extract-quality`: what `ingather extract` gets out of files, word by word, beside what Apache Tika gets.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Where the files are: beside the checkout, or beside the folder of checkouts.
const PLACES: &[&str] = &["../shared/data/extraction", "../../shared/data/extraction"];
/// Files with fewer words at Tika say nothing.
const WORDS_MIN: usize = 3;
/// Files whose text by Tika says little, each with the reason.
const ODDITIES: &str = "docs/tika-oddities.tsv";
/// Below this recall a file is named.
const RECALL_NAMED: f64 = 0.8;

/// Families of formats by extension.
const FAMILIES: &[(&str, &[&str])] = &[
    ("DOCX", &["docx", "docm", "dotx"]),
    ("XLSX", &["xlsx", "xlsm", "xltx"]),
    ("PPTX", &["pptx", "pptm", "ppsx"]),
    ("ODF", &["odt", "ods", "odp"]),
    ("PDF", &["pdf"]),
    ("HTML", &["html", "htm", "xhtml"]),
    ("TXT", &["txt", "md", "csv", "json"]),
    ("XML", &["xml"]),
    ("EML", &["eml"]),
    ("MBOX", &["mbox"]),
    ("archives", &["zip", "tar", "gz", "tgz", "bz2", "7z", "zst", "ar", "deb", "warc", "arc"]),
    ("DOC", &["doc"]),
    ("XLS", &["xls"]),
    ("PPT", &["ppt"]),
    ("MSG", &["msg"]),
    ("RTF", &["rtf"]),
    ("EPUB", &["epub"]),
];

/// One file, measured.
struct Measured {
    name: String,
    words: usize,
    recall: f64,
    precision: f64,
    reason: String,
}

/// Measures the files in `folder`, or in the usual place, and gives the tables.
pub(crate) fn run(root: &Path, folder: Option<&str>) -> Result<String, String> {
    let folder = place(root, folder)?;
    let files = documents(&folder)?;
    let lines = extract(root, &files)?;
    let mut all = Vec::new();
    for line in lines.lines() {
        let object: Value = serde_json::from_str(line).map_err(|error| format!("{error} in {line}"))?;
        let name =
            object["file"].as_str().and_then(|file| file.rsplit('/').next()).unwrap_or_default().to_owned();
        let text = folder.join("tika-text").join(format!("{name}.txt"));
        let Ok(bytes) = std::fs::read(&text) else { continue };
        all.extend(measure(&name, &String::from_utf8_lossy(&bytes), &object));
    }
    let list =
        std::fs::read_to_string(root.join(ODDITIES)).map_err(|error| format!("{ODDITIES}: {error}"))?;
    Ok(tables(&all, &oddities(&list)))
}

/// The files of the list.
fn oddities(list: &str) -> HashSet<&str> {
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once('\t').map(|(file, _)| file)).collect()
}

/// The folder that was named, or the usual one.
pub(crate) fn place(root: &Path, folder: Option<&str>) -> Result<PathBuf, String> {
    match folder {
        Some(folder) => Ok(PathBuf::from(folder)),
        None => PLACES.iter().map(|place| root.join(place)).find(|place| place.is_dir()).ok_or_else(|| {
            format!("there is none of {PLACES:?}; name a folder with `documents` and `tika-text` in it")
        }),
    }
}

/// Its documents, in order.
pub(crate) fn documents(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder.join("documents"))
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
        .map_err(|error| format!("{}: {error}", folder.display()))?;
    files.sort();
    Ok(files)
}

/// Runs the program over all files.
pub(crate) fn extract(root: &Path, files: &[PathBuf]) -> Result<String, String> {
    let output = Command::new("cargo")
        .args(["run", "--quiet", "-p", "ingather-app", "--", "extract", "--json"])
        .args(files)
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    match output.status.code() {
        Some(0 | 1) => String::from_utf8(output.stdout).map_err(|error| error.to_string()),
        _ => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Words and how often each one is there: runs of letters and digits, in lower case.
fn words(text: &str) -> HashMap<String, usize> {
    let mut words = HashMap::new();
    for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty()) {
        *words.entry(word.to_lowercase()).or_default() += 1;
    }
    words
}

/// Text and titles of an object and its parts.
fn gather(object: &Value, out: &mut String) {
    for text in [&object["text"], &object["fields"]["title"]] {
        out.push_str(text.as_str().unwrap_or_default());
        out.push('\n');
    }
    object["parts"].as_array().into_iter().flatten().for_each(|part| gather(part, out));
}

fn measure(name: &str, tika: &str, object: &Value) -> Option<Measured> {
    let mut ours = String::new();
    gather(object, &mut ours);
    let (tika, ours) = (words(tika), words(&ours));
    let total: usize = tika.values().sum();
    if total < WORDS_MIN {
        return None;
    }
    let shared: usize =
        tika.iter().map(|(word, count)| (*count).min(ours.get(word).copied().unwrap_or(0))).sum();
    let own: usize = ours.values().sum();
    Some(Measured {
        name: name.to_owned(),
        words: total,
        recall: shared as f64 / total as f64,
        precision: if own == 0 { 0.0 } else { shared as f64 / own as f64 },
        reason: object["reason"].as_str().unwrap_or_default().to_owned(),
    })
}

fn family(name: &str) -> &'static str {
    let extension = name.rsplit('.').next().unwrap_or_default().to_lowercase();
    FAMILIES.iter().find(|(_, all)| all.contains(&extension.as_str())).map_or("other", |(family, _)| family)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[count / 2],
        count => f64::midpoint(values[count / 2 - 1], values[count / 2]),
    }
}

fn row(name: &str, all: &[&Measured]) -> String {
    let mean =
        |of: fn(&Measured) -> f64| all.iter().map(|one| of(one)).sum::<f64>() / all.len().max(1) as f64;
    let middle = median(all.iter().map(|one| one.recall).collect());
    format!(
        "| {name} | {} | {middle:.3} | {:.3} | {:.3} |\n",
        all.len(),
        mean(|one| one.recall),
        mean(|one| one.precision)
    )
}

fn tables(all: &[Measured], odd: &HashSet<&str>) -> String {
    let mut out = String::from(
        "| Format | Files | Median recall | Mean recall | Mean precision |\n|---|---|---|---|---|\n",
    );
    let mut families: BTreeMap<&str, Vec<&Measured>> = BTreeMap::new();
    for one in all {
        families.entry(family(&one.name)).or_default().push(one);
    }
    for (name, files) in &families {
        out.push_str(&row(name, files));
    }
    out.push_str(&row("all", &all.iter().collect::<Vec<_>>()));
    let plain: Vec<&Measured> = all.iter().filter(|one| !odd.contains(one.name.as_str())).collect();
    out.push_str(&row("all but oddities", &plain));
    out.push_str("\n| File | Words | Recall | Precision | Reason |\n|---|---|---|---|---|\n");
    let mut poor: Vec<&Measured> = all.iter().filter(|one| one.recall < RECALL_NAMED).collect();
    poor.sort_by(|a, b| a.recall.total_cmp(&b.recall));
    for one in poor {
        let Measured { name, words, recall, precision, reason } = one;
        out.push_str(&format!("| {name} | {words} | {recall:.2} | {precision:.2} | {reason} |\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_are_counted_with_titles_and_parts() {
        let object = json!({
            "text": "one two", "fields": {"title": "Three"}, "reason": null,
            "parts": [{"text": "two", "fields": {}, "parts": []}],
        });
        let measured = measure("a.docx", "one, TWO; two: five", &object).unwrap();
        assert_eq!((measured.words, measured.recall, measured.precision), (4, 0.75, 0.75));
        assert!(measure("a.docx", "one two", &object).is_none());
        let told = tables(&[measured], &oddities("# a list\na.docx\twhy\n"));
        assert!(told.contains("| DOCX | 1 | 0.750 |") && told.contains("| all but oddities | 0 |"), "{told}");
        assert_eq!(median(vec![3.0, 1.0, 2.0, 9.0]), 2.5);
    }
}
