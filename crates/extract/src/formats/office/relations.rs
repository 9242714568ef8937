//! Which part of a package belongs to which.

use crate::formats::archives::zip::Zip;
use crate::page::Budget;
use crate::xml::{self, Go, Met};

/// One relation.
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    /// Id within its owner.
    pub(crate) id: String,
    /// Last word of its type.
    pub(crate) kind: String,
    /// Path of the target inside the package, or its address outside.
    pub(crate) target: String,
    /// Whether the target is outside.
    pub(crate) external: bool,
}

/// The relations of one part.
#[derive(Debug, Default)]
pub(crate) struct Relations {
    /// In order.
    pub(crate) all: Vec<Relation>,
}

impl Relations {
    /// Those of a part; of the package itself when the path is empty.
    pub(crate) fn of(zip: &mut Zip, part: &str, budget: &Budget) -> Self {
        let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
        let list = if folder.is_empty() {
            format!("_rels/{name}.rels")
        } else {
            format!("{folder}/_rels/{name}.rels")
        };
        let mut all = Vec::new();
        let bytes = zip.find_read(&list, budget).unwrap_or_default();
        // A broken list gives those before the damage.
        let _ = xml::walk(bytes.as_slice(), |met| {
            if let Met::Open(tag) = met
                && tag.name() == "Relationship"
            {
                let kind = tag.attribute("Type").unwrap_or_default();
                let target = tag.attribute("Target").unwrap_or_default();
                let external = tag.attribute("TargetMode").is_some_and(|mode| mode == "External");
                all.push(Relation {
                    id: tag.attribute("Id").unwrap_or_default(),
                    kind: kind.rsplit('/').next().unwrap_or_default().to_owned(),
                    target: if external { target } else { resolve(folder, &target) },
                    external,
                });
            }
            Go::On
        });
        Self { all }
    }

    /// The first one of a kind.
    pub(crate) fn kind(&self, kind: &str) -> Option<&Relation> {
        self.all.iter().find(|relation| relation.kind == kind)
    }

    /// Addresses outside the file that a part links to.
    pub(crate) fn links(&self) -> impl Iterator<Item = &str> {
        let links = self.all.iter().filter(|relation| relation.external && relation.kind == "hyperlink");
        links.map(|relation| relation.target.as_str())
    }

    /// Paths of the targets of a kind inside the package.
    pub(crate) fn targets(&self, kind: &str) -> Vec<String> {
        let inside = self.all.iter().filter(|relation| relation.kind == kind && !relation.external);
        inside.map(|relation| relation.target.clone()).collect()
    }

    /// Path of the target with an id.
    pub(crate) fn target(&self, id: &str) -> Option<&str> {
        self.all
            .iter()
            .find(|relation| relation.id == id && !relation.external)
            .map(|relation| relation.target.as_str())
    }
}

/// The part whose relations a list holds: `word/_rels/document.xml.rels` belongs to `word/document.xml`.
pub(super) fn owner_of(list: &str) -> Option<String> {
    let list = list.replace('\\', "/");
    let owner = list.strip_suffix(".rels")?;
    match owner.rsplit_once("_rels/")? {
        ("", name) => Some(name.to_owned()),
        (folder, name) => Some(format!("{folder}{name}")),
    }
}

/// A path relative to a folder, without dots.
fn resolve(folder: &str, target: &str) -> String {
    let target = target.split('#').next().unwrap_or_default();
    let (from, rest) = match target.strip_prefix('/') {
        Some(rest) => ("", rest),
        None => (folder, target),
    };
    let mut path: Vec<&str> = from.split('/').filter(|part| !part.is_empty()).collect();
    for part in rest.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => {
                path.pop();
            }
            part => path.push(part),
        }
    }
    path.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_paths_of_the_package() {
        assert_eq!(resolve("xl/worksheets", "../comments1.xml"), "xl/comments1.xml");
        assert_eq!(resolve("word", "/word/media/a.png"), "word/media/a.png");
        assert_eq!(resolve("", "word/document.xml"), "word/document.xml");
        assert_eq!(resolve("a", "../../../b#c"), "b");
        assert_eq!(owner_of("word/_rels/document.xml.rels").as_deref(), Some("word/document.xml"));
        assert_eq!(owner_of("_rels/.rels").as_deref(), Some(""));
    }
}
