//! Which failed documents keep a folder as closed as it was: outputs hold an earlier text of them, which is for those alone whom the folder
//! let in then (design 4.20).

use std::collections::BTreeSet;

use ingather_model::fault::Reason;
use ingather_model::ids::{ContainerId, JobId};
use ingather_model::lifecycle::outcome::{DeliveryOutcome, FailureKind};
use ingather_model::limits;
use ingather_store::documents::Listed;
use ingather_store::jobs::Job;
use ingather_store::{Sql, StoreError, containers, documents, explain};

/// A failed document, and the folders that do not open for its job because of it.
pub(crate) struct KeptClosed {
    document: i64,
    name: String,
    /// Why it failed, and the output that refused it, where one did.
    why: String,
    /// The nearest first.
    folders: Vec<(ContainerId, String)>,
}

/// Such documents of a job, of the first of its failed ones. Where no folder waits to open, nothing is looked for.
pub(crate) fn find(sql: &mut Sql<'_>, job: JobId) -> Result<Vec<KeptClosed>, StoreError> {
    let waiting = containers::pending_of(sql, job)?;
    let waiting: BTreeSet<ContainerId> = waiting.into_iter().map(|(container, _)| container).collect();
    if waiting.is_empty() {
        return Ok(Vec::new());
    }
    let failed =
        documents::list_failures(sql, job, FailureKind::Failed, i64::MIN, limits::KEPT_CLOSED_LOOKED_MAX)?;
    if failed.is_empty() {
        return Ok(Vec::new());
    }
    let unproven = documents::unproven(sql, job, None)?;
    let mut found = Vec::new();
    for Listed { id, name, failure, .. } in failed {
        let (Some(container), Some((_, reason))) = (unproven.get(&id.0), failure) else { continue };
        let folders = above(sql, *container, &waiting)?;
        if !folders.is_empty() {
            let why = in_words(sql, id.0, &reason)?;
            found.push(KeptClosed { document: id.0, name, why, folders });
        }
    }
    Ok(found)
}

/// Those of these containers that a document is in, the nearest first.
fn above(
    sql: &mut Sql<'_>,
    from: ContainerId,
    of: &BTreeSet<ContainerId>,
) -> Result<Vec<(ContainerId, String)>, StoreError> {
    let (mut found, mut at) = (Vec::new(), Some(from));
    for _ in 0..limits::LAYERS_MAX {
        let Some(id) = at else { break };
        let Some(container) = containers::some(sql, &[id.0])?.pop() else { break };
        at = container.parent;
        if of.contains(&id) {
            found.push((id, container.name));
        }
    }
    Ok(found)
}

fn in_words(sql: &mut Sql<'_>, document: i64, reason: &Reason) -> Result<String, StoreError> {
    let refused = explain::sent(sql, document, 0)?;
    let refused = refused.into_iter().find(|sent| sent.outcome == Some(DeliveryOutcome::Refused));
    Ok(match refused {
        Some(sent) => format!("output {} refused it ({})", sent.name, reason.message),
        None => format!("it failed ({})", reason.message),
    })
}

impl KeptClosed {
    /// For whoever reads what a run did.
    pub(crate) fn sentence(&self, job: &Job) -> String {
        let folder = self.folders.first().map_or("", |(_, name)| name.as_str());
        format!(
            "folder `{folder}` stays as closed as it was: outputs hold an earlier text of `{}`, and {}; {}",
            self.name,
            self.why,
            advice(job)
        )
    }
}

fn advice(job: &Job) -> String {
    format!(
        "change the document so that it can be sent, or leave it out (`--exclude`), and `ingather sync` {} again",
        job.root
    )
}

/// What keeps the folder of a document closed, where something does: that document itself, or another one.
pub(super) fn about(
    sql: &mut Sql<'_>,
    job: &Job,
    (document, container): (i64, ContainerId),
) -> Result<Option<String>, StoreError> {
    let all = find(sql, job.id)?;
    let theirs: BTreeSet<ContainerId> = all.iter().flat_map(|one| &one.folders).map(|(id, _)| *id).collect();
    let mine = above(sql, container, &theirs)?;
    let shared = |one: &&KeptClosed| mine.iter().any(|folder| one.folders.contains(folder));
    let itself = all.iter().find(|one| one.document == document);
    let (Some(one), Some((_, folder))) = (itself.or_else(|| all.iter().find(shared)), mine.first()) else {
        return Ok(None);
    };
    let (what, why) = match one.document == document {
        true => ("what outputs hold of it keeps".to_owned(), String::new()),
        false => (
            format!("an earlier text of `{}`, which outputs hold, keeps", one.name),
            format!(": {}", one.why),
        ),
    };
    Ok(Some(format!("{what} folder `{folder}` as closed as it was{why}; {}", advice(job))))
}
