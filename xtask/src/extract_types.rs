//! `cargo x extract-types`: the media types that `ingather extract` tells beside those of `file --mime-type`. They agree,
//! or the difference has a reason here.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::extract_quality;

/// What `file` says, what the program says, and why; a word at the end of a line may stand for more of them by `*`.
const REASONS: &[(&str, &str, &str)] = &[
    ("text/xml", "application/xml", "two names of the same (RFC 7303)"),
    ("text/rtf", "application/rtf", "two names of the same, both registered"),
    ("text/html", "application/xml", "an XML declaration, and an element of another vocabulary first"),
    (
        "text/*",
        "application/mbox",
        "a mailbox begins with a `From ` line and headers, whatever is in its mails",
    ),
    ("text/*", "message/rfc822", "headers of a mail come first, whatever its body is"),
    ("message/news", "message/rfc822", "news have the form of mails and the same reader"),
    ("text/*", "text/markdown", "by the name: text of every kind can stand in it"),
    ("text/xml", "application/vnd.ms-*", "told by the first element: an office document in one file"),
    ("text/xml", "application/xhtml+xml", "told by the first element"),
    ("application/x-ndjson", "application/json", "by the name: one line of JSON is both"),
    ("application/zip", "application/*", "told by what the archive holds"),
    ("application/encrypted", "application/*", "encrypted: what is inside is told by the name alone"),
    ("application/x-ole-storage", "application/*", "encrypted: what is inside is told by the name alone"),
    (
        "application/octet-stream",
        "application/*",
        "`file` does not know; told by what the archive holds, or by the name",
    ),
    ("application/octet-stream", "text/plain", "a charset of mainframes, which is taken for another one"),
];

/// Compares the types of the files in `folder`, or in the usual place.
pub(crate) fn run(root: &Path, folder: Option<&str>) -> Result<String, String> {
    let folder = extract_quality::place(root, folder)?;
    let files = extract_quality::documents(&folder)?;
    let lines = extract_quality::extract(root, &files)?;
    let output = Command::new("file")
        .args(["--brief", "--mime-type"])
        .args(&files)
        .output()
        .map_err(|error| format!("cannot run `file` (Debian: apt-get install file): {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let (mut same, mut groups, mut unexplained) = (0, BTreeMap::<_, usize>::new(), Vec::new());
    for ((path, theirs), line) in files.iter().zip(said.lines()).zip(lines.lines()) {
        let object: Value = serde_json::from_str(line).map_err(|error| format!("{error} in {line}"))?;
        let ours = object["media_type"].as_str().unwrap_or_default();
        match REASONS.iter().position(|(file, own, _)| is_like(theirs, file) && is_like(ours, own)) {
            _ if ours == theirs => same += 1,
            Some(reason) => *groups.entry((reason, theirs.to_owned(), ours.to_owned())).or_default() += 1,
            None => unexplained.push(format!("{}: `file` says {theirs}, `extract` {ours}", path.display())),
        }
    }
    if !unexplained.is_empty() {
        return Err(format!(
            "these types differ without a reason in xtask/src/extract_types.rs:\n{}",
            unexplained.join("\n")
        ));
    }
    let mut out =
        format!("{same} of {} agree.\n\n| Files | `file` | Here | Why |\n|---|---|---|---|\n", files.len());
    for ((reason, theirs, ours), count) in groups {
        out.push_str(&format!("| {count} | {theirs} | {ours} | {} |\n", REASONS[reason].2));
    }
    Ok(out)
}

fn is_like(media: &str, pattern: &str) -> bool {
    pattern.strip_suffix('*').map_or(media == pattern, |begin| media.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_stands_for_all_that_begin_so() {
        assert!(is_like("text/html", "text/*") && is_like("text/html", "text/html"));
        assert!(!is_like("text/html", "text/htm") && !is_like("image/png", "text/*"));
    }
}
