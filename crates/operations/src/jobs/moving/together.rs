//! Which jobs move together: with a folder, those whose sources lie in it and that share its addresses. One after the other they would give
//! two files one address in between.

use std::os::unix::ffi::OsStrExt;

use ingather_contract::registry::Registry;
use ingather_engine::Relocation;
use ingather_model::job::ADDRESSES;
use ingather_model::names;
use ingather_store::jobs::Job;

use super::addresses::{Clash, Placed, addresses_of, clash};
use crate::jobs::definition::wanted::path_of;
use crate::jobs::refuse_deleting;
use crate::problem::{Code, Problem, Result};

/// The move of a job to `root`, and those of others that have to go with it.
///
/// # Errors
/// Why it cannot be moved without giving two files one address, or two jobs one source.
pub(super) fn of(registry: &Registry, all: &[Job], job: &Job, root: &str) -> Result<Vec<Relocation>> {
    let mut moves = vec![relocation(job, root.to_owned())?];
    let mut at = 0;
    while at < moves.len() {
        for other in all {
            if moves.iter().any(|moving| moving.job.id == other.id) {
                continue;
            }
            let there = moves[at].there();
            let Some(clash) = clash(registry, Placed::of(&there), Placed::of(other))? else { continue };
            match root_with(job, root, other)? {
                Some(root) => moves.push(relocation(other, root)?),
                None => return Err(in_the_way(job, other, clash)?),
            }
        }
        at += 1;
    }
    refuse_taken(all, &moves)?;
    Ok(moves)
}

/// The refusal for a job that stays; the one around it may have moved as well.
fn in_the_way(job: &Job, other: &Job, clash: Clash) -> Result<Problem> {
    if !path_of(&job.root)?.starts_with(path_of(&other.root)?) {
        return Ok(clash.refused());
    }
    let (name, advice) = (&other.name, clash.advice);
    let advice = format!(
        "where all of job {name} was moved, `ingather job move {name}`, with which this one goes; else {advice}"
    );
    Ok(Clash { advice, ..clash }.refused())
}

/// One source is of one job.
fn refuse_taken(all: &[Job], moves: &[Relocation]) -> Result<()> {
    let stays = |job: &&Job| moves.iter().all(|moving| moving.job.id != job.id);
    for other in all.iter().filter(stays) {
        if moves.iter().any(|moving| moving.root == other.root) {
            let (root, name) = (&other.root, &other.name);
            let sentence = format!("{root} is the source of job {name}; delete that one, or let it be");
            return Err(Problem::new(Code::Definition, sentence));
        }
    }
    Ok(())
}

/// Where the source of a job is now that lies in that of another one, which is moved.
fn root_with(moved: &Job, to: &str, job: &Job) -> Result<Option<String>> {
    let root = path_of(&job.root)?;
    let Ok(below) = root.strip_prefix(path_of(&moved.root)?) else { return Ok(None) };
    if below.as_os_str().is_empty() {
        return Ok(Some(to.to_owned()));
    }
    let root = path_of(to)?.join(below);
    Ok(Some(names::escape(root.as_os_str().as_bytes()).into_owned()))
}

fn relocation(job: &Job, root: String) -> Result<Relocation> {
    refuse_deleting(job)?;
    let mut definition = job.definition.clone();
    let Some(source) = definition.source.as_object_mut() else {
        return Err(Problem::new(Code::Definition, format!("job {} has no settings of a source", job.name)));
    };
    let addresses = addresses_of(job);
    source.insert("root".to_owned(), root.as_str().into());
    match root == addresses {
        true => drop(source.remove(ADDRESSES)),
        false => drop(source.insert(ADDRESSES.to_owned(), addresses.into())),
    }
    Ok(Relocation { job: job.clone(), root, definition })
}
