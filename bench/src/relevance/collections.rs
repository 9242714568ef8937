//! Collections of texts and questions with judgements by people: those that are held, and others that somebody has.

use std::collections::HashSet;
use std::path::Path;

use serde::Deserialize;

use super::forms::{self, Files, Form};
use crate::Result;

/// Where those are that are held: beside the checkout, or beside the folder of checkouts.
pub(super) const PLACES: &[&str] = &["../shared/data/relevance", "../../shared/data/relevance"];
/// What says of a folder which collection it is.
const DESCRIPTION: &str = "collection.json";

/// One collection.
pub(super) struct Collection {
    /// As the table names it.
    pub(super) name: String,
    /// Where it is from; empty for those that are held.
    pub(super) source: String,
    /// Its texts.
    pub(super) documents: Vec<Document>,
    /// Questions that somebody judged.
    pub(super) queries: Vec<Query>,
}

/// One text.
pub(super) struct Document {
    /// What judgements call it.
    pub(super) name: String,
    /// Title.
    pub(super) title: String,
    /// Text without the title.
    pub(super) text: String,
}

/// One question.
pub(super) struct Query {
    /// As somebody types it.
    pub(super) text: String,
    /// Names of relevant documents.
    pub(super) relevant: HashSet<String>,
}

/// The collections that are held; none where they are not.
pub(super) fn held(root: &Path) -> Result<Option<Vec<Collection>>> {
    let Some(folder) = PLACES.iter().map(|place| root.join(place)).find(|place| place.is_dir()) else {
        return Ok(None);
    };
    let smart = |documents: &str, queries: &str, judgements: &str| Files {
        form: Form::Smart,
        documents: documents.to_owned(),
        queries: queries.to_owned(),
        judgements: judgements.to_owned(),
        text: "W".to_owned(),
        counted: false,
        grade: None,
    };
    let cranfield = smart("cran.all.1400", "cran.qry", "cranqrel");
    let all = [
        ("Cranfield", Files { counted: true, grade: Some(2), ..cranfield }),
        ("CISI", smart("CISI.ALL", "CISI.QRY", "CISI.REL")),
    ];
    let read = all.iter().map(|(name, files)| {
        let (documents, queries) = forms::read(&folder, files)?;
        Ok(Collection { name: (*name).to_owned(), source: String::new(), documents, queries })
    });
    read.collect::<Result<_>>().map(Some)
}

/// What [`DESCRIPTION`] says.
#[derive(Deserialize)]
struct Description {
    /// As the table names it.
    name: String,
    /// Where it is from, for the table.
    source: String,
    /// What it is read from.
    files: Files,
}

/// The collections that somebody has in folders below `folder`, by the names of the folders.
pub(super) fn below(folder: &Path) -> Result<Vec<Collection>> {
    let told = |error| format!("{}: {error}", folder.display());
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(told)? {
        folders.extend(Some(entry?.path()).filter(|path| path.join(DESCRIPTION).is_file()));
    }
    folders.sort();
    if folders.is_empty() {
        let told = format!("no folder in {} has a {DESCRIPTION}; see docs/performance.md", folder.display());
        return Err(told.into());
    }
    folders.iter().map(|folder| described(folder)).collect()
}

fn described(folder: &Path) -> Result<Collection> {
    let path = folder.join(DESCRIPTION);
    let told = |error| format!("{}: {error}; see docs/performance.md", path.display());
    let Description { name, source, files } =
        serde_json::from_str(&std::fs::read_to_string(&path)?).map_err(told)?;
    let (documents, queries) = forms::read(folder, &files)?;
    Ok(Collection { name, source, documents, queries })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_that_somebody_has_are_described_where_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let told = below(folder.path()).err().unwrap().to_string();
        assert!(told.contains(DESCRIPTION), "{told}");
        let own = folder.path().join("one");
        std::fs::create_dir(&own).unwrap();
        std::fs::write(own.join("texts"), "1\nsome text\n/\n").unwrap();
        std::fs::write(own.join("asked"), "1\nwhat\n/\n").unwrap();
        std::fs::write(own.join("judged"), "1\n1\n/\n").unwrap();
        let files = r#"{"form": "npl", "documents": "texts", "queries": "asked", "judgements": "judged"}"#;
        let description = format!(r#"{{"name": "One", "source": "a folder", "files": {files}}}"#);
        std::fs::write(own.join(DESCRIPTION), &description).unwrap();
        let all = below(folder.path()).unwrap();
        assert_eq!((all[0].name.as_str(), all[0].source.as_str()), ("One", "a folder"));
        assert_eq!((all[0].documents.len(), all[0].queries.len()), (1, 1));
        std::fs::write(own.join(DESCRIPTION), description.replace("npl", "trec")).unwrap();
        let told = below(folder.path()).err().unwrap().to_string();
        assert!(told.contains("trec") && told.contains("smart"), "{told}");
    }
}
