//! `ingather apply`: jobs made and changed as a file says.

use std::io::Read as _;
use std::path::Path;

use ingather_model::limits;
use ingather_operations::declaration::{
    APPLY, Applied, ApplyDeclaration, ConnectionChange, Declaration, JobChange, JobChangeKind,
};

use super::yaml;
use crate::arguments::{Apply, Global, STANDARD};
use crate::exit::{self, Failure, Result};
use crate::show;
use crate::wiring::{Program, caller};
use ingather_operations::in_words::sentence;

pub(crate) fn run(global: &Global, apply: Apply) -> Result<u8> {
    let program = Program::of(global)?;
    let request = ApplyDeclaration {
        declaration: read(&apply.file)?,
        dry_run: apply.dry_run,
        plan: apply.plan,
        guard_off: apply.delete_guard.is_some(),
        whole_machine: apply.whole_machine,
    };
    let applied = APPLY.call(&program.context(), &caller(), request)?;
    if global.json {
        show::answer(&applied);
    } else if !global.quiet {
        tell(&applied);
    }
    Ok(exit::DONE)
}

fn tell(applied: &Applied) {
    for JobChange { job, change, changes, leads_to } in &applied.jobs {
        let what = match (change, applied.applied) {
            (JobChangeKind::Stays, _) => "as it is".to_owned(),
            (JobChangeKind::Made, true) => "made".to_owned(),
            (JobChangeKind::Made, false) => "would be made".to_owned(),
            (JobChangeKind::Changes, true) => format!("changed: {}", changes.join("; ")),
            (JobChangeKind::Changes, false) => format!("would change: {}", changes.join("; ")),
        };
        show::line(&format!("job {job}: {what}"));
        if let Some(counts) = leads_to {
            show::line(&format!("  its next run: {}", sentence(counts)));
        }
    }
    let what = if applied.applied { "changed" } else { "would change" };
    let changed = [
        ("connection", &applied.connections),
        ("output", &applied.outputs),
        ("authority", &applied.authorities),
    ];
    for (role, changed) in changed {
        for ConnectionChange { connection, changes, unreached } in changed {
            show::line(&format!("{role} {connection}: {what}: {}", changes.join("; ")));
            if let Some(unreached) = unreached {
                show::line(&format!("  {unreached}"));
            }
        }
    }
    match &applied.plan {
        Some(plan) if !applied.applied => {
            show::line(&format!(
                "plan {plan}; nothing was stored, `ingather apply --plan {plan}` with the same file does it"
            ));
        }
        _ if applied.jobs.iter().any(|job| job.change != JobChangeKind::Stays) => {
            show::stderr("nothing runs by that: `ingather job start JOB`, or a schedule, does");
        }
        _ => {}
    }
}

/// The declaration in a file: as its name ends, YAML where it says nothing, of which JSON is a part.
fn read(file: &Path) -> Result<Declaration> {
    let name =
        if file == Path::new(STANDARD) { "standard input".to_owned() } else { file.display().to_string() };
    let wrong = |why: String| Failure::usage(format!("{name}: {why}"));
    let unread = |error: std::io::Error| {
        wrong(format!("it cannot be read: {}; name a text file with a declaration", exit::in_words(&error)))
    };
    let mut text = String::new();
    let reads: Box<dyn std::io::Read> = match file == Path::new(STANDARD) {
        true => Box::new(std::io::stdin()),
        false => Box::new(std::fs::File::open(file).map_err(unread)?),
    };
    let most = limits::DECLARATION_BYTES_MAX;
    reads.take(most as u64 + 1).read_to_string(&mut text).map_err(unread)?;
    if text.len() > most {
        return Err(wrong(format!(
            "it is longer than {}; declare fewer jobs at once",
            show::bytes(most as u64)
        )));
    }
    let ends = |word: &str| file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(word));
    if ends("toml") {
        toml::from_str(&text).map_err(|error| wrong(error.to_string().trim_end().to_owned()))
    } else if ends("json") || text.trim_start().starts_with('{') {
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))
    } else {
        yaml::read(&text).map_err(wrong)
    }
}
