//! The manual pages of connectors: one per name, and an overview.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ingather_connectors::ALL;
use ingather_contract::registry::Registry;
use serde_json::Value;

use crate::settings;

/// A kind of connector in one role, as a page shows it.
struct Entry {
    role: &'static str,
    name: &'static str,
    about: &'static str,
    abilities: Vec<&'static str>,
    schema: Value,
}

/// The table of all connectors.
pub(crate) fn overview() -> String {
    let mut page = "# Connectors\n\n| Role | Name | What it is | Abilities |\n|---|---|---|---|\n".to_owned();
    for entry in entries(&ALL) {
        let Entry { role, name, about, .. } = entry;
        let _ = writeln!(
            page,
            "| {role} | [{name}](connectors/{name}.md) | {about} | {} |",
            entry.abilities.join(", ")
        );
    }
    page
}

/// One page per name; a name with several roles has a section for each.
pub(crate) fn pages() -> impl Iterator<Item = (String, String)> {
    let mut pages: BTreeMap<&str, String> = BTreeMap::new();
    for entry in entries(&ALL) {
        let page = pages.entry(entry.name).or_insert_with(|| format!("# {}\n", entry.name));
        let _ = write!(page, "\n## {}\n\n{}\n", entry.role, entry.about);
        if !entry.abilities.is_empty() {
            let _ = write!(page, "\nAbilities: {}.\n", entry.abilities.join(", "));
        }
        let _ = write!(page, "\n{}", settings::table(&entry.schema));
    }
    pages.into_iter().map(|(name, page)| (format!("docs/generated/connectors/{name}.md"), page))
}

/// Repositories, transforms, outputs, authorities, each by name.
fn entries(all: &Registry) -> Vec<Entry> {
    let mut entries = Vec::new();
    for kind in all.repositories {
        let capabilities = [
            (kind.capabilities.list, "lists with versions"),
            (kind.capabilities.access, "reports who may see a document"),
        ];
        let (role, schema) = ("Repository", (kind.source_schema)().to_value());
        entries.push(Entry {
            role,
            name: kind.name,
            about: kind.about,
            abilities: able(&capabilities),
            schema,
        });
    }
    for kind in all.transforms {
        let (role, schema) = ("Transform", (kind.schema)().to_value());
        entries.push(Entry { role, name: kind.name, about: kind.about, abilities: Vec::new(), schema });
    }
    for kind in all.outputs {
        let capabilities = [
            (kind.capabilities.commits, "commits"),
            (kind.capabilities.access, "takes access without the record"),
            (kind.capabilities.list, "lists what it holds"),
            (kind.capabilities.told, "is told who may see what"),
        ];
        let (role, schema) = ("Output", (kind.schema)().to_value());
        entries.push(Entry {
            role,
            name: kind.name,
            about: kind.about,
            abilities: able(&capabilities),
            schema,
        });
    }
    for kind in all.authorities {
        let (role, schema) = ("Authority", (kind.schema)().to_value());
        entries.push(Entry { role, name: kind.name, about: kind.about, abilities: Vec::new(), schema });
    }
    entries
}

fn able(capabilities: &[(bool, &'static str)]) -> Vec<&'static str> {
    capabilities.iter().filter(|(able, _)| *able).map(|(_, word)| *word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_connector_has_a_page_and_a_row() {
        let overview = overview();
        let pages: BTreeMap<String, String> = pages().collect();
        for entry in entries(&ALL) {
            let page = &pages[&format!("docs/generated/connectors/{}.md", entry.name)];
            assert!(page.contains(entry.about) && page.contains(&format!("## {}", entry.role)), "{page}");
            assert!(overview.contains(&format!("[{}]", entry.name)), "{overview}");
        }
        assert!(pages.contains_key("docs/generated/connectors/null.md"));
    }
}
