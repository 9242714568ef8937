//! Whether the secrets in definitions are sealed, and can be opened.

use ingather_store::jobs::Job;
use ingather_store::{Reader, secrets};

use super::Look;
use crate::context::Host;
use crate::problem::Result;

/// The key, and the jobs whose secrets it does not open; nothing where nothing is sealed.
pub(super) fn of_secrets(host: &dyn Host, reader: &Reader, jobs: &[Job]) -> Result<Vec<Look>> {
    let (wanted, unwiped) = reader.read(|sql| Ok((secrets::key_wanted(sql)?, secrets::is_unwiped(sql)?)))?;
    let mut looks = Vec::new();
    if unwiped {
        looks.push(Look::bad(
            "secrets",
            "secrets that were stored as they are before they were sealed may still be in unused parts of the store's file",
            "make room on its disk; the next command that writes to the store makes its file anew",
        ));
    }
    let Some(wanted) = wanted else { return Ok(looks) };
    let file = host.secrets_key();
    let place = file.display();
    let apart = "keep a copy of that file, apart from backups: without it nobody can open them";
    let put_back =
        "put the file of this key there, or name it with --secrets-key; other jobs go on without it";
    looks.push(match secrets::key_in(&file) {
        Ok(Some(id)) if id == wanted => Look::noted(
            "secrets",
            format!("secrets in definitions are sealed with the key in {place}"),
            apart,
        ),
        Ok(Some(id)) => Look::bad(
            "secrets",
            format!("secrets in definitions are sealed with the key {wanted}, and {place} holds {id}"),
            put_back,
        ),
        Ok(None) => Look::bad(
            "secrets",
            format!("secrets in definitions are sealed with the key {wanted}, and {place} is not there"),
            put_back,
        ),
        Err(why) => Look::bad("secrets", why, "until then jobs with secrets do not run; other jobs do"),
    });
    looks.extend(jobs.iter().filter_map(of_job));
    Ok(looks)
}

/// What nothing opens in the definition of a job, which does not run until then.
pub(super) fn of_job(job: &Job) -> Option<Look> {
    let (place, why) = job.definition.still_sealed()?;
    Some(Look::bad(
        "secrets",
        format!("job {}: `{place}` cannot be opened: {why}", job.name),
        "the job does not run until then; nothing of it is removed",
    ))
}
