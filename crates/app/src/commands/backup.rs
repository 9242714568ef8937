//! `ingather backup` and `ingather restore`: the data directory's state in one file, and back.

use std::path::{Path, PathBuf};

use ingather_contract::output::{Generation, OutputContext};
use ingather_engine::outputs::misfit;
use ingather_model::fault::Fault;
use ingather_store::connections::{self, Role};
use ingather_store::{Durability, Reader, Sql, Store, StoreError, Target, doctor, leases};

use super::export;
use super::why::INDEX;
use crate::archive::{self, Manifest};
use crate::arguments::Global;
use crate::data::DataDirectory;
use crate::exit::{self, Failure, Result};
use crate::{interrupt, show, wiring};

/// Attempts to meet store and index in step.
const ATTEMPTS_MAX: usize = 100;

/// A folder that goes away with this.
struct Scratch(PathBuf);

impl Scratch {
    fn at(path: PathBuf) -> Scratch {
        interrupt::unfinished(&path);
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may have become the data directory, or never been made.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn backup(global: &Global, file: &Path) -> Result<u8> {
    let data = DataDirectory::of(global)?;
    let reader = data.existing()?;
    let to_standard = file == Path::new(archive::STANDARD);
    if to_standard && show::is_terminal_out() {
        return Err(Failure::usage(
            "a backup is not for a terminal; name a file, or send it on, such as to a pipe",
        ));
    }
    if !to_standard && file.exists() {
        return Err(Failure::usage(format!("{} exists; name a file that does not", file.display())));
    }
    let (scratch, index) = collect(&reader, &data, file)?;
    if data.keeps_the_store() {
        refuse_damaged_store(&scratch.0, &data)?;
    }
    refuse_damaged(&scratch.0, &data, &reader)?;
    let mut manifest = Manifest {
        format: archive::FORMAT,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        made_at: wiring::now(),
        store: if data.keeps_the_store() { "sqlite" } else { "postgres" }.to_owned(),
        store_id: reader.id().to_owned(),
        index: index.map(|index| (index.identity, index.number)),
        files: Vec::new(),
    };
    if to_standard {
        return archive::write_out(&scratch.0, &mut manifest).map(|()| exit::DONE);
    }
    archive::write(file, &scratch.0, &mut manifest)?;
    told(global, "backed up", file, &manifest);
    if !data.keeps_the_store() && !global.quiet {
        show::stderr(
            "the index and the settings are in it; the inventory is not: save the PostgreSQL database with pg_dump at the \
             same time",
        );
    }
    Ok(exit::DONE)
}

/// Puts what goes into the backup into a folder of its own: beside the index, so that its files can be linked instead of
/// copied; where nothing can be written or there is no room, beside the backup.
fn collect(reader: &Reader, data: &DataDirectory, file: &Path) -> Result<(Scratch, Option<Generation>)> {
    let name = format!("backup-{}", std::process::id());
    let inside = Scratch::at(data.path.join(&name));
    match fill(reader, data, &inside.0) {
        Ok(index) => return Ok((inside, index)),
        Err(failure) if interrupt::stopped().is_some() => return Err(failure),
        Err(_) => {}
    }
    drop(inside);
    let beside = match file == Path::new(archive::STANDARD) {
        true => std::env::temp_dir(),
        false => file.parent().unwrap_or(Path::new("")).to_owned(),
    };
    let outside = Scratch::at(beside.join(format!(".ingather-{name}")));
    let index = fill(reader, data, &outside.0)?;
    Ok((outside, index))
}

fn fill(reader: &Reader, data: &DataDirectory, folder: &Path) -> Result<Option<Generation>> {
    archive::make_folder(folder)?;
    let index = match data.keeps_the_store() {
        true => in_step(reader, &data.path, folder)?,
        false => ingather_index::snapshot(&data.path, &folder.join(INDEX))?,
    };
    let settings = folder.join("settings.json");
    std::fs::write(&settings, export::declaration(reader)?)
        .map_err(|error| archive::failed(&settings, &error))?;
    Ok(index)
}

/// Copies store and index so that the delivery log speaks of this very index: neither has lost or knows what the other does not.
fn in_step(reader: &Reader, data: &Path, into: &Path) -> Result<Option<Generation>> {
    for _ in 0..ATTEMPTS_MAX {
        let file = into.join("store.db");
        let copied = reader.copy(&file, |sql| match ingather_index::snapshot(data, &into.join(INDEX)) {
            Ok(Some(index)) => Ok(fits(sql, &index)?.then_some(Some(index))),
            Ok(None) => Ok(Some(None)),
            Err(fault) => Err(StoreError::Refused(fault.to_string())),
        })?;
        if let Some(index) = copied {
            return Ok(index);
        }
    }
    Err(Failure::unable("the index is written faster than it can be copied; try again when less is going on"))
}

/// Whether an index is the one that the delivery log speaks of, neither behind nor ahead of them.
fn fits(sql: &mut Sql<'_>, index: &Generation) -> std::result::Result<bool, StoreError> {
    let known = connections::find(sql, Role::Output, INDEX)?;
    Ok(known.map_or(index.seq == 0, |connection| misfit(&connection, index).is_none()))
}

/// Looks at the store that was copied: nobody could restore one that is damaged.
fn refuse_damaged_store(copied: &Path, data: &DataDirectory) -> Result<()> {
    let target = Target::Sqlite(copied.join("store.db"));
    let looked = Reader::open(&target)
        .and_then(|reader| reader.map_or(Ok(None), |reader| reader.read(doctor::integrity)));
    let damage = match looked {
        Ok(None) => return Ok(()),
        Ok(Some(damage)) => damage,
        Err(StoreError::Stopped) => return Err(Failure::stopped()),
        Err(error) => error.to_string(),
    };
    Err(Failure::unable(format!(
        "nothing was backed up: the store in {} is damaged ({damage}); restore an earlier backup, or move {0} away and run \
         `ingather sync` again",
        data.path.display()
    )))
}

/// What is damaged of the index in a folder; none when it is whole, or none is there.
fn damage(folder: &Path, store: &str) -> Result<Option<String>> {
    let Some(look) = ingather_connectors::ALL.output(INDEX).and_then(|kind| kind.look) else {
        return Ok(None);
    };
    let context = OutputContext { data: folder.to_owned(), store: store.to_owned(), session: 0 };
    match look(&serde_json::json!({}), &context) {
        Ok(Some(mut snapshot)) => Ok(snapshot.damage(&wiring::call(), false)?.into_iter().next()),
        Ok(None) => Ok(None),
        Err(Fault::Broken(_)) => Ok(Some("it cannot be opened".to_owned())),
        // An index of an older format is rebuilt by the next sync, also after it was restored.
        Err(fault) if fault.reason().code == "index_older" => Ok(None),
        Err(fault) => Err(fault.into()),
    }
}

/// Looks at what was copied: a backup with a damaged index could not be restored, and nobody would know before that day.
fn refuse_damaged(copied: &Path, data: &DataDirectory, reader: &Reader) -> Result<()> {
    let Some(damage) = damage(copied, reader.id())? else { return Ok(()) };
    Err(Failure::unable(format!(
        "nothing was backed up: the search index in {} is damaged ({damage}); `ingather verify index --repair` makes it anew \
         and sends everything again, then back up again",
        data.path.display()
    )))
}

fn told(global: &Global, what: &str, place: &Path, manifest: &Manifest) {
    let bytes: u64 = manifest.files.iter().map(|file| file.bytes).sum();
    if global.json {
        let line = serde_json::json!({
            "file": place.to_string_lossy(), "store": manifest.store, "index": manifest.index, "bytes": bytes,
            "files": manifest.files.len(), "made_at": manifest.made_at, "program": manifest.program,
        });
        show::json(&line);
    } else if !global.quiet {
        let files = show::counted(manifest.files.len() as u64, "file");
        show::line(&format!("{what}: {} ({files}, {})", place.display(), show::bytes(bytes)));
    }
}

pub(crate) fn restore(global: &Global, file: &Path) -> Result<u8> {
    let data = DataDirectory::of(global)?;
    match std::fs::read_dir(&data.path).map(Iterator::count) {
        Ok(entries) if entries > 0 => {
            return Err(Failure::usage(format!(
                "{} is not empty; move it away, or restore to another --data",
                data.path.display()
            )));
        }
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(archive::failed(&data.path, &error));
        }
        _ => {}
    }
    let mut beside = data.path.clone().into_os_string();
    beside.push(format!(".restoring-{}", std::process::id()));
    let scratch = Scratch::at(PathBuf::from(beside));
    let mut manifest = archive::read(file, &scratch.0)?;
    let damage = check(&scratch.0, &mut manifest, file)?;
    let above = data.path.parent().unwrap_or(Path::new("/"));
    for folder in [scratch.0.join(INDEX), scratch.0.clone()].iter().filter(|folder| folder.exists()) {
        archive::sync_folder(folder)?;
    }
    // An empty directory of that name gives way; one that is not empty any more does not.
    std::fs::rename(&scratch.0, &data.path).map_err(|error| archive::failed(&data.path, &error))?;
    archive::sync_folder(above)?;
    told(global, "restored", &data.path, &manifest);
    if manifest.store == "postgres" && !global.quiet {
        show::stderr(
            "the inventory is not in this backup: restore the PostgreSQL database of the same time and name it with --store, \
             then run `ingather verify --repair`",
        );
    }
    let Some(damage) = damage else { return Ok(exit::DONE) };
    show::stderr(&format!(
        "the search index in this backup is damaged ({damage}) and was left out; the next `ingather sync` of each job makes it \
         anew and sends everything again"
    ));
    Ok(exit::TROUBLED)
}

/// Opens what was restored, so that nothing is put in place that cannot be used. An index that was damaged when it was backed
/// up is left out, for it can be made anew; what is damaged about it.
fn check(folder: &Path, manifest: &mut Manifest, file: &Path) -> Result<Option<String>> {
    let unusable = |why: String| match interrupt::stopped() {
        Some(_) => Failure::stopped(),
        None => Failure::unable(format!(
            "{} cannot be restored: {why}; nothing was restored, use another one",
            file.display()
        )),
    };
    if manifest.store == "sqlite" {
        let target = Target::Sqlite(folder.join("store.db"));
        if !folder.join("store.db").is_file() {
            return Err(unusable("it has no store".to_owned()));
        }
        let store = Store::open(&target).map_err(|error| unusable(error.to_string()))?;
        let damage = store.reader().read(doctor::integrity).map_err(|error| unusable(error.to_string()))?;
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
    let damage = damage(folder, &manifest.store_id).map_err(|failure| unusable(failure.to_string()))?;
    if damage.is_some() {
        let index = folder.join(INDEX);
        std::fs::remove_dir_all(&index).map_err(|error| archive::failed(&index, &error))?;
        manifest.index = None;
        manifest.files.retain(|file| !file.name.starts_with("index/"));
    }
    Ok(damage)
}
