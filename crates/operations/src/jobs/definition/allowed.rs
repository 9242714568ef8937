//! What whoever asks may name as a source, and what of this machine settings may reach (design 4.16).

use std::path::Path;

use ingather_contract::registry::Registry;
use ingather_contract::secrets;
use ingather_model::job::Stage;
use ingather_model::names;
use ingather_store::jobs::Job;
use serde_json::Value;

use std::os::unix::ffi::OsStrExt;

use super::wanted::{Terms, Wanted, path_of};
use crate::connections::{Sources, refuse_inside};
use crate::context::{Context, Places};
use crate::pipeline::StageSettings;
use crate::problem::{Code, Problem, Result};

/// A new job for the whole machine is hardly ever meant: whoever asks has to say so.
fn refuse_machine(root: &Path, is_meant: bool) -> Result<()> {
    if root != Path::new("/") || is_meant {
        return Ok(());
    }
    Err(Problem::new(
        Code::WholeMachine,
        "the source is /, everything on this machine; name the folders that are wanted, or add --whole-machine",
    ))
}

/// One source has one name: that which no link is part of.
pub(crate) fn refuse_links(root: &Path) -> Result<()> {
    match std::fs::canonicalize(root) {
        // By its bytes: two paths are equal that differ in a slash at the end.
        Ok(canonical) if canonical.as_os_str() != root.as_os_str() => Err(Problem::usage(format!(
            "{} is {}; name the source so",
            root.display(),
            names::escape(canonical.as_os_str().as_bytes())
        ))),
        // Whether it is there is asked last.
        _ => Ok(()),
    }
}

/// Refuses settings of stages that name something of this machine which the stored job does not name: the program would reach it with its
/// own rights for somebody who has none here. Before they are looked at, which tells of what there is.
pub(crate) fn refuse_of_the_machine(
    places: Places<'_>,
    registry: &Registry,
    stored: Option<&Job>,
    given: Option<&[StageSettings]>,
) -> Result<()> {
    let Places::Below(_) = places else { return Ok(()) };
    let before = stored.map_or(&[][..], |job| &job.definition.stages);
    for stage in given.unwrap_or_default() {
        let Some(kind) = registry.transform(&stage.transform) else { continue };
        let schema = (kind.schema)();
        let place = secrets::Place::of(&schema);
        let Some(settings) = stage.settings.as_object() else { continue };
        for (name, value) in settings.iter().filter(|(name, _)| place.field(name).is_of_the_machine()) {
            let is_as_before =
                |other: &Stage| other.transform == stage.transform && other.settings.get(name) == Some(value);
            if !before.iter().any(is_as_before) {
                return Err(Problem::new(
                    Code::OutsideRoots,
                    format!(
                        "`{name}` of the stage `{}` names something of the machine of the service; only its owner sets it, over the socket \
                         of the service or without one",
                        stage.transform
                    ),
                ));
            }
        }
    }
    Ok(())
}

impl Wanted {
    /// Refuses a folder that a job cannot have as its source.
    pub(super) fn refuse_folder(
        &self,
        context: &Context<'_>,
        places: Places<'_>,
        terms: Terms,
    ) -> Result<()> {
        let root = path_of(&self.root)?;
        // First: what else is refused tells of what is there.
        if self.stored.is_none() {
            places.refuse_elsewhere(&root)?;
        }
        refuse_inside(context.host.data(), &root)?;
        if self.stored.is_none() {
            refuse_machine(&root, terms.whole_machine)?;
            refuse_links(&root)?;
        }
        Ok(())
    }

    /// Refuses an address that whoever asks may not name, and settings by which the program would reach for them what they cannot.
    pub(super) fn refuse_address(&self, registry: &Registry, places: Places<'_>) -> Result<()> {
        if self.stored.is_none() {
            places.refuse_address(&self.root)?;
        }
        let Places::Below(_) = places else { return Ok(()) };
        let Some(kind) = registry.repository(Sources::of_root(&self.root).connector) else { return Ok(()) };
        let schema = (kind.source_schema)();
        let place = secrets::Place::of(&schema);
        let stored = self.stored.as_ref().map(|job| &job.definition.source);
        let settings = self.definition.source.as_object().into_iter().flatten();
        let is_new = |(name, value): &(&String, &Value)| {
            place.field(name).is_of_the_machine()
                && stored.and_then(|stored| stored.get(name.as_str())) != Some(value)
        };
        match settings.into_iter().find(is_new) {
            None => Ok(()),
            Some((name, _)) => Err(Problem::new(
                Code::OutsideRoots,
                format!(
                    "`source.{name}` names something of the machine of the service or its network; only its owner sets it, over the socket of the \
                     service or without one"
                ),
            )),
        }
    }
}
