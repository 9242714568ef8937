//! `ingather export`: what `sync` has created, as a declaration.

use ingather_store::connections::Role;
use ingather_store::{Reader, connections, jobs};
use serde_json::json;

use crate::arguments::Global;
use crate::data::DataDirectory;
use crate::exit::{self, Result};
use crate::show;
use ingather_operations::secrets;

pub(crate) fn run(global: &Global) -> Result<u8> {
    let reader = DataDirectory::of(global)?.existing()?;
    show::json_page(&declaration(&reader)?);
    Ok(exit::DONE)
}

/// Connections and jobs as a declaration.
pub(super) fn declaration(reader: &Reader) -> Result<String> {
    let (connections, jobs) = reader.read(|sql| Ok((connections::list(sql)?, jobs::list(sql)?)))?;
    let of_role = |role: Role| -> serde_json::Map<String, serde_json::Value> {
        connections
            .iter()
            .filter(|one| one.role == role)
            .map(|one| (one.name.clone(), json!({"kind": one.kind, "settings": one.settings})))
            .collect()
    };
    let declaration = secrets::hidden(json!({
        "version": 1,
        "repositories": of_role(Role::Repository),
        "outputs": of_role(Role::Output),
        "jobs": jobs.iter().map(|job| &job.definition).collect::<Vec<_>>(),
    }));
    Ok(serde_json::to_string_pretty(&declaration).unwrap_or_default())
}
