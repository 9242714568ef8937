//! Backup and restore: the data directory's state in one file, and back.

mod archive;
pub(crate) mod made;

use std::path::{Path, PathBuf};

use ingather_contract::output::{Generation, OutputContext};
use ingather_engine::outputs::misfit;
use ingather_model::fault::Fault;
use ingather_model::lifecycle::outcome::FaultCode;
use ingather_store::connections::{self, Role as ConnectionRole};
use ingather_store::{
    Durability, Reader, Sql, Store, StoreCode, StoreError, Target, doctor, leases, secrets,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::archive::Manifest;
use crate::access::INDEX;
use crate::context::{Caller, Context, Host};
use crate::declaration::declaration;
use crate::new_file::{make_folder, sync_folder};
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Words};
use crate::problem::{Code, Problem, Result};

/// Attempts to meet store and index in step.
const ATTEMPTS_MAX: usize = 100;

const BACKED_UP: &str = r#"{"file": "/backups/monday.tar", "store": "sqlite", "index": ["8c1d", 12], "secrets_key": "7d1f0a52c9e3b684",
    "bytes": 40960, "files": 5,
    "made_at": 1767225600000, "program": "0.1.0"}"#;
const RESTORED: &str = r#"{"file": "/srv/ingather", "store": "postgres", "index": null, "secrets_key": null, "bytes": 40960, "files": 5,
    "made_at": 1767225600000, "program": "0.1.0", "damage": "a file of it is missing"}"#;

/// Writes the data directory's state to one file.
pub static BACKUP: Answering<BackUp, BackedUp> = Answering {
    operation: Operation {
        name: "system.backup",
        summary: "Writes the data directory's state to one file, consistent, also while a sync works.",
        request: Shape::of::<BackUp>("BackUp", &[r#"{"file": "/backups/monday.tar"}"#]),
        item: None,
        answer: Shape::of::<BackedUp>("BackedUp", &[BACKED_UP]),
        role: Role::Admin,
        effect: Effect::Reads,
        rest: Rest::Not("it writes a file of this machine, which its owner names"),
        words: Words::Are("backup"),
        tool: false,
        problems: &[Code::Connector, Code::IndexOlder],
    },
    run: backup,
};

/// Makes a data directory from a backup.
pub static RESTORE: Answering<Restore, Restored> = Answering {
    operation: Operation {
        name: "system.restore",
        summary: "Makes a data directory from a backup; there must be none, or an empty one.",
        request: Shape::of::<Restore>("Restore", &[r#"{"file": "/backups/monday.tar"}"#]),
        item: None,
        answer: Shape::of::<Restored>("Restored", &[RESTORED]),
        role: Role::Admin,
        effect: Effect::Changes,
        rest: Rest::Not("it makes a data directory, before any service works on it"),
        words: Words::Are("restore"),
        tool: false,
        problems: &[Code::Connector, Code::IndexOlder],
    },
    run: restore,
};

/// Asks for a backup.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackUp {
    /// The file to make; left out, the bytes go to whoever asks.
    #[serde(default)]
    pub file: Option<PathBuf>,
}

/// Asks to restore a backup.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Restore {
    /// The backup; left out, the bytes come from whoever asks.
    #[serde(default)]
    pub file: Option<PathBuf>,
}

/// What is in a backup.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BackedUp {
    /// Where it was put.
    pub file: String,
    /// `sqlite`, or `postgres`: then the inventory is not in it.
    pub store: String,
    /// Identity and number of the commit of the search index; none when there was no index.
    pub index: Option<(String, i64)>,
    /// The key that the secrets of the inventory are sealed with: its file is in no backup, and is kept apart. None where there are none.
    #[serde(default)]
    pub secrets_key: Option<String>,
    /// Size of all files together.
    pub bytes: u64,
    /// How many files there are.
    pub files: usize,
    /// When it was made, milliseconds since 1970 UTC.
    pub made_at: i64,
    /// Version of the program that made it.
    pub program: String,
}

impl BackedUp {
    fn of(file: &Path, manifest: Manifest) -> BackedUp {
        BackedUp {
            file: file.to_string_lossy().into_owned(),
            bytes: manifest.files.iter().map(|file| file.bytes).sum(),
            files: manifest.files.len(),
            store: manifest.store,
            index: manifest.index,
            secrets_key: manifest.secrets_key,
            made_at: manifest.made_at,
            program: manifest.program,
        }
    }
}

/// What was restored.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Restored {
    /// What was in the backup, and where it is now.
    #[serde(flatten)]
    pub backup: BackedUp,
    /// What is damaged of its index, which was left out.
    pub damage: Option<String>,
}

/// A folder that goes away with this.
struct Scratch(PathBuf);

impl Scratch {
    fn at(host: &dyn Host, path: PathBuf) -> Scratch {
        host.unfinished(&path);
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may have become the data directory, or never been made.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What stopped it, where that is why it failed: half a file looks damaged.
fn or_stopped(context: &Context<'_>, problem: Problem) -> Problem {
    if context.host.cancel().cancelled() { Problem::stopped() } else { problem }
}

fn backup(context: &Context<'_>, _: &Caller<'_>, request: BackUp) -> Result<BackedUp> {
    write_backup(context, &request).map_err(|problem| or_stopped(context, problem))
}

fn restore(context: &Context<'_>, _: &Caller<'_>, request: Restore) -> Result<Restored> {
    read_backup(context, &request).map_err(|problem| or_stopped(context, problem))
}

fn write_backup(context: &Context<'_>, request: &BackUp) -> Result<BackedUp> {
    let host = context.host;
    let reader = context.existing()?;
    let file = request.file.as_deref();
    if let Some(file) = file.filter(|file| file.exists()) {
        return Err(Problem::usage(format!("{} exists; name a file that does not", file.display())));
    }
    let (scratch, index) = collect(context, &reader, file)?;
    if host.keeps_the_store() {
        refuse_damaged_store(&scratch.0, host.data())?;
    }
    refuse_damaged(context, &scratch.0, &reader)?;
    let mut manifest = Manifest {
        format: archive::FORMAT,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        made_at: context.now(),
        store: if host.keeps_the_store() { "sqlite" } else { "postgres" }.to_owned(),
        store_id: reader.id().to_owned(),
        index: index.map(|index| (index.identity, index.number)),
        secrets_key: reader.read(secrets::key_wanted)?,
        files: Vec::new(),
    };
    let place = match file {
        Some(file) => {
            archive::write(host, file, &scratch.0, &mut manifest)?;
            file
        }
        None => {
            let place = Path::new("standard output");
            archive::write_out(host, place, &mut *host.bytes_out(), &scratch.0, &mut manifest)?;
            place
        }
    };
    made::note(context, place, manifest.made_at);
    Ok(BackedUp::of(place, manifest))
}

fn read_backup(context: &Context<'_>, request: &Restore) -> Result<Restored> {
    let data = context.host.data();
    match std::fs::read_dir(data).map(Iterator::count) {
        Ok(entries) if entries > 0 => {
            return Err(Problem::usage(format!(
                "{} is not empty; move it away, or restore to another --data",
                data.display()
            )));
        }
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Problem::of_path(data, &error));
        }
        _ => {}
    }
    let mut beside = data.to_owned().into_os_string();
    beside.push(format!(".restoring-{}", std::process::id()));
    let scratch = Scratch::at(context.host, PathBuf::from(beside));
    let (file, input) = match &request.file {
        Some(file) => (file.as_path(), archive::open(file)?),
        None => (Path::new("-"), context.host.bytes_in()),
    };
    let mut manifest = archive::read(context.host, file, input, &scratch.0)?;
    let damage = check(context, &scratch.0, &mut manifest, file)?;
    let above = data.parent().unwrap_or(Path::new("/"));
    for folder in [scratch.0.join(INDEX), scratch.0.clone()].iter().filter(|folder| folder.exists()) {
        sync_folder(folder)?;
    }
    // An empty directory of that name gives way; one that is not empty any more does not.
    std::fs::rename(&scratch.0, data).map_err(|error| Problem::of_path(data, &error))?;
    sync_folder(above)?;
    Ok(Restored { backup: BackedUp::of(data, manifest), damage })
}

/// Puts what goes into the backup into a folder of its own: beside the index, so that its files can be linked instead of
/// copied; where nothing can be written or there is no room, beside the backup.
fn collect(
    context: &Context<'_>,
    reader: &Reader,
    file: Option<&Path>,
) -> Result<(Scratch, Option<Generation>)> {
    let name = format!("backup-{}", std::process::id());
    let inside = Scratch::at(context.host, context.host.data().join(&name));
    match fill(context, reader, &inside.0) {
        Ok(index) => return Ok((inside, index)),
        Err(problem) if context.host.cancel().cancelled() => return Err(problem),
        Err(_) => {}
    }
    drop(inside);
    let beside = match file {
        None => std::env::temp_dir(),
        Some(file) => file.parent().unwrap_or(Path::new("")).to_owned(),
    };
    let outside = Scratch::at(context.host, beside.join(format!(".ingather-{name}")));
    let index = fill(context, reader, &outside.0)?;
    Ok((outside, index))
}

fn fill(context: &Context<'_>, reader: &Reader, folder: &Path) -> Result<Option<Generation>> {
    make_folder(folder)?;
    let index = match context.host.keeps_the_store() {
        true => in_step(context, reader, folder)?,
        false => copy_index(context, reader.id(), &folder.join(INDEX))?,
    };
    let settings = folder.join("settings.json");
    std::fs::write(&settings, settings_of(context, reader)?)
        .map_err(|error| Problem::of_path(&settings, &error))?;
    Ok(index)
}

/// The settings as `ingather export` writes them.
fn settings_of(context: &Context<'_>, reader: &Reader) -> Result<String> {
    let declaration = declaration(&context.registry, reader)?;
    Ok(serde_json::to_string_pretty(&declaration).unwrap_or_default())
}

/// Copies store and index so that the delivery log speaks of this very index: neither has lost or knows what the other does not.
fn in_step(context: &Context<'_>, reader: &Reader, into: &Path) -> Result<Option<Generation>> {
    for _ in 0..ATTEMPTS_MAX {
        let file = into.join("store.db");
        let copied = reader.copy(&file, |sql| match copy_index(context, reader.id(), &into.join(INDEX)) {
            Ok(Some(index)) => Ok(fits(sql, &index)?.then_some(Some(index))),
            Ok(None) => Ok(Some(None)),
            Err(fault) => Err(StoreError::Refused(fault.to_string())),
        })?;
        if let Some(index) = copied {
            return Ok(index);
        }
    }
    Err(Problem::unable("the index is written faster than it can be copied; try again when less is going on"))
}

/// Copies the last commit of the index; none when there is none.
fn copy_index(
    context: &Context<'_>,
    store: &str,
    into: &Path,
) -> std::result::Result<Option<Generation>, Fault> {
    let Some(copy) = context.registry.output(INDEX).and_then(|kind| kind.copy) else { return Ok(None) };
    let place = OutputContext { data: context.host.data().to_owned(), store: store.to_owned(), session: 0 };
    copy(&place, into)
}

/// Whether an index is the one that the delivery log speaks of, neither behind nor ahead of them.
fn fits(sql: &mut Sql<'_>, index: &Generation) -> std::result::Result<bool, StoreError> {
    let known = connections::find(sql, ConnectionRole::Output, INDEX)?;
    Ok(known.map_or(index.seq == 0, |connection| misfit(&connection, index).is_none()))
}

/// What an error tells of a store that cannot be looked at. What the machine lacks, and what goes by, is no damage: whoever moved
/// the store away for it would lose it.
///
/// # Errors
/// What is no damage.
fn damage_of(error: StoreError) -> Result<String> {
    match error.code() {
        StoreCode::Database
        | StoreCode::Damaged
        | StoreCode::Newer
        | StoreCode::Older
        | StoreCode::Refused => Ok(error.to_string()),
        StoreCode::Conflict
        | StoreCode::Full
        | StoreCode::ReadOnly
        | StoreCode::Handles
        | StoreCode::Away
        | StoreCode::Stopped
        | StoreCode::Held
        | StoreCode::Fenced => Err(error.into()),
    }
}

/// Looks at the store that was copied: nobody could restore one that is damaged.
fn refuse_damaged_store(copied: &Path, data: &Path) -> Result<()> {
    let target = Target::Sqlite(copied.join("store.db"));
    let looked = Reader::open(&target)
        .and_then(|reader| reader.map_or(Ok(None), |reader| reader.read(doctor::integrity)));
    let damage = match looked {
        Ok(None) => return Ok(()),
        Ok(Some(damage)) => damage,
        Err(error) => damage_of(error)?,
    };
    Err(Problem::unable(format!(
        "nothing was backed up: the store in {} is damaged ({damage}); restore an earlier backup, or move {0} away and run \
         `ingather sync` again",
        data.display()
    )))
}

/// What is damaged of the index in a folder; none when it is whole, or none is there.
fn damage(context: &Context<'_>, folder: &Path, store: &str) -> Result<Option<String>> {
    let Some(look) = context.registry.output(INDEX).and_then(|kind| kind.look) else {
        return Ok(None);
    };
    let place = OutputContext { data: folder.to_owned(), store: store.to_owned(), session: 0 };
    match look(&serde_json::json!({}), &place) {
        Ok(Some(mut snapshot)) => Ok(snapshot.damage(&context.call(), false)?.into_iter().next()),
        Ok(None) => Ok(None),
        Err(Fault::Broken(_)) => Ok(Some("it cannot be opened".to_owned())),
        // An index of an older format is rebuilt by the next sync, also after it was restored.
        Err(fault) if fault.code() == Some(FaultCode::IndexOlder) => Ok(None),
        Err(fault) => Err(fault.into()),
    }
}

/// Looks at what was copied: a backup with a damaged index could not be restored, and nobody would know before that day.
fn refuse_damaged(context: &Context<'_>, copied: &Path, reader: &Reader) -> Result<()> {
    let Some(damage) = damage(context, copied, reader.id())? else { return Ok(()) };
    Err(Problem::unable(format!(
        "nothing was backed up: the search index in {} is damaged ({damage}); `ingather verify index --repair` makes it anew \
         and sends everything again, then back up again",
        context.host.data().display()
    )))
}

/// Opens what was restored, so that nothing is put in place that cannot be used. An index that was damaged when it was backed
/// up is left out, for it can be made anew; what is damaged about it.
fn check(
    context: &Context<'_>,
    folder: &Path,
    manifest: &mut Manifest,
    file: &Path,
) -> Result<Option<String>> {
    let unusable = |why: String| -> Problem {
        Problem::unable(format!(
            "{} cannot be restored: {why}; nothing was restored, use another one",
            file.display()
        ))
    };
    if manifest.store == "sqlite" {
        let target = Target::Sqlite(folder.join("store.db"));
        if !folder.join("store.db").is_file() {
            return Err(unusable("it has no store".to_owned()));
        }
        let or_lacking = |error: StoreError| damage_of(error).map_or_else(|problem| problem, unusable);
        let store = Store::open(&target).map_err(or_lacking)?;
        let damage = store.reader().read(doctor::integrity).map_err(or_lacking)?;
        if let Some(damage) = damage {
            return Err(unusable(format!("its store is damaged: {damage}")));
        }
        if store.reader().id() != manifest.store_id {
            return Err(unusable("its store is not the one that it names".to_owned()));
        }
        store.write(Durability::Synced, leases::forget)?;
    }
    if folder.join(INDEX).exists() != manifest.index.is_some() {
        return Err(unusable("its index is not the one that it names".to_owned()));
    }
    let damage =
        damage(context, folder, &manifest.store_id).map_err(|failure| unusable(failure.to_string()))?;
    if damage.is_some() {
        let index = folder.join(INDEX);
        std::fs::remove_dir_all(&index).map_err(|error| Problem::of_path(&index, &error))?;
        manifest.index = None;
        manifest.files.retain(|file| !file.name.starts_with("index/"));
    }
    Ok(damage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Code;

    #[test]
    fn what_the_machine_lacks_is_no_damage_of_a_store() {
        let lacks =
            |error: StoreError| damage_of(error).map_err(|problem| (problem.code, problem.to_string()));
        let (code, said) = lacks(StoreError::Handles("os error 24".to_owned())).unwrap_err();
        assert_eq!(code, Code::Resources);
        assert!(said.contains("ulimit -n") && said.contains("nothing is wrong with the store"), "{said}");
        assert!(!said.contains("move") && !said.contains("restore"), "{said}");
        for (error, code) in [
            (StoreError::Full("no space".to_owned()), Code::StoreFull),
            (StoreError::Stopped, Code::Stopped),
            (StoreError::Away("reset".to_owned()), Code::StoreAway),
        ] {
            assert_eq!(lacks(error).map_err(|(code, _)| code), Err(code));
        }
        assert!(lacks(StoreError::Damaged("a page".to_owned())).is_ok_and(|said| said.contains("a page")));
    }
}
