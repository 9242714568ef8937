//! The data directory: where it is, who writes in it, the store inside.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ingather_contract::call::Clock as _;
use ingather_operations::Writing;
use ingather_operations::secrets::Marked;
use ingather_store::leases::{self, Member};
use ingather_store::secrets::{KEY_FILE, Secrets};
use ingather_store::{Durability, Reader, Store, StoreError, Target};

use crate::arguments::Global;
use crate::exit::{self, Code, Failure, Result};
use crate::wiring::SystemClock;
use crate::{interrupt, show};

/// Longest text of a lock file that is read, bytes.
const LOCK_TEXT_MAX: u64 = 4_096;
/// Name of the file that tells directories apart which share a database.
const IDENTITY: &str = "identity";
/// Its length.
const IDENTITY_DIGITS: usize = 64;
/// More of it is not read: it is damaged then.
const IDENTITY_BYTES_MAX: u64 = 1_024;

/// A data directory by its path; it need not exist.
#[derive(Clone, Debug)]
pub(crate) struct DataDirectory {
    pub(crate) path: PathBuf,
    target: Target,
    secrets: Arc<Secrets>,
}

/// The number of a data directory, as it is kept there.
enum Kept {
    Whole(String),
    Missing,
    Damaged,
}

/// Whether a URL names a password: `user:password@`, or as a word of its own.
fn has_password(url: &str) -> bool {
    let after = url.split_once("://").map_or(url, |(_, after)| after);
    let (place, words) = after.split_once('?').unwrap_or((after, ""));
    let user = place.rsplit_once('@').map_or("", |(user, _)| user);
    user.contains(':') || words.split('&').any(|word| word.starts_with("password="))
}

/// The lock of a data directory, until it is dropped. To close its file would not be enough: a child that was begun, and is not yet the
/// program that it is to be, has it open as well, and may be so still when this process is over.
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Where that fails, it ends with the last of those that have it open.
        let _ = self.0.unlock();
    }
}

impl DataDirectory {
    pub(crate) fn of(global: &Global) -> Result<DataDirectory> {
        let path = match &global.data {
            Some(path) => path.clone(),
            None => default_path()?,
        };
        let path = std::path::absolute(&path)
            .map_err(|error| Failure::usage(format!("data directory {}: {error}", path.display())))?;
        let target = match &global.store {
            None => Target::Sqlite(path.join("store.db")),
            Some(url) if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                if has_password(url) && !global.quiet {
                    crate::show::stderr(
                        "warning: everybody on this machine can read the password in --store (ps); put it in PGPASSWORD, in \
                         ~/.pgpass, or in a file that PGPASSFILE or passfile= in the URL names",
                    );
                }
                Target::Postgres(url.clone())
            }
            Some(_) => {
                return Err(Failure::usage("--store takes a URL such as postgres://user@host/database"));
            }
        };
        let key = match global.secrets_key.clone().or_else(|| from_environment("INGATHER_SECRETS_KEY")) {
            Some(key) => std::path::absolute(&key)
                .map_err(|error| Failure::usage(format!("secrets key {}: {error}", key.display())))?,
            None => path.join(KEY_FILE),
        };
        let secrets = Arc::new(Secrets::new(key, Box::new(Marked(ingather_connectors::ALL))));
        Ok(DataDirectory { path, target, secrets })
    }

    /// The store for reading; none when there is none yet.
    pub(crate) fn reader(&self) -> Result<Option<Reader>> {
        self.may_be_read()?;
        Reader::open_with(&self.target, self.secrets()).map_err(|error| self.unusable(error))
    }

    /// The same for a run: a store of an earlier version is brought up to date first.
    pub(crate) fn reader_up_to_date(&self, doing: &str) -> Result<Option<Reader>> {
        self.may_be_read()?;
        let mut reader = Reader::open_with(&self.target, self.secrets());
        if matches!(reader, Err(StoreError::Older)) {
            self.make()?;
            let _lock = self.lock(doing)?;
            interrupt::changes();
            reader = Store::open_with(&self.target, self.secrets()).map(|store| Some(store.reader().clone()));
        }
        reader.map_err(|error| self.unusable(error))
    }

    fn secrets(&self) -> Option<Arc<Secrets>> {
        Some(self.secrets.clone())
    }

    /// Where the key of the secrets is.
    pub(crate) fn secrets_key(&self) -> &Path {
        self.secrets.file()
    }

    fn may_be_read(&self) -> Result<()> {
        // A directory that may not be entered is not an empty one.
        if let Err(error) = self.path.join("store.db").try_exists() {
            let path = self.path.display();
            return Err(Failure::unable(match error.kind() {
                std::io::ErrorKind::PermissionDenied => format!(
                    "the data directory {path} is not yours to read: ask its owner, who alone can search there, or use your own \
                     with --data"
                ),
                _ => format!(
                    "the data directory {path} cannot be read: {}; use another one with --data",
                    exit::in_words(&error)
                ),
            }));
        }
        self.refuse_lost()
    }

    /// Refuses to begin anew where an index says that there was a store.
    fn refuse_lost(&self) -> Result<()> {
        let Target::Sqlite(file) = &self.target else { return Ok(()) };
        // Whoever opens an empty file finds a store without jobs; a store that was ever begun has a first page in it.
        let lost = match std::fs::metadata(file) {
            Ok(facts) if facts.is_file() && facts.len() == 0 => "empty",
            Ok(_) => return Ok(()),
            Err(_) => "missing",
        };
        if !self.path.join("index").exists() {
            return Ok(());
        }
        Err(Failure::unable(format!(
            "the store {} is {lost}, although there is a search index beside it; put it back, or move {} away and then \
             restore a backup or run `ingather sync` again",
            file.display(),
            self.path.display()
        )))
    }

    /// What is wrong with own files, and what to do: they are something else, cannot be read, or are damaged.
    pub(crate) fn own_files(&self) -> Vec<(String, String)> {
        let stops = "the next run would stop there; remove it, and it is made anew";
        let names = ["lock", IDENTITY];
        let odd = names.iter().filter_map(|name| odd(&self.path.join(name)));
        let mut found: Vec<(String, String)> = odd.map(|sentence| (sentence, stops.to_owned())).collect();
        match self.own_number() {
            Ok(Kept::Whole(_) | Kept::Missing) => {}
            Ok(Kept::Damaged) => found.push((self.damaged_number(), "the next run makes it anew".to_owned())),
            Err(failure) if found.is_empty() => {
                found.push((failure.to_string(), "the next run would stop there".to_owned()));
            }
            Err(_) => {}
        }
        found
    }

    /// Refuses what the next command that writes would refuse of this directory, without a write.
    pub(crate) fn refuse_unusable(&self) -> Result<()> {
        refuse_odd(&self.path.join("lock"))?;
        self.own_number().map(drop)
    }

    /// Who holds the right to write, as the lock file says it; none when nobody does.
    pub(crate) fn holder(&self) -> Option<String> {
        if odd(&self.path.join("lock")).is_some() {
            return None;
        }
        let mut file = File::open(self.path.join("lock")).ok()?;
        let mut text = String::new();
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => {
                (&mut file).take(LOCK_TEXT_MAX).read_to_string(&mut text).ok()?;
                Some(text)
            }
            _ => None,
        }
    }

    /// Whether the inventory is in the directory itself.
    pub(crate) fn keeps_the_store(&self) -> bool {
        matches!(self.target, Target::Sqlite(_))
    }

    /// Opens for writing, making the directory where needed. `doing` is told to whoever comes second.
    pub(crate) fn write(&self, doing: &str, now: i64) -> Result<Writing> {
        self.refuse_lost()?;
        self.make()?;
        let lock = self.lock(doing)?;
        // From the lock on, Ctrl-C ends with what is under way.
        interrupt::changes();
        let store = Store::open_with(&self.target, self.secrets()).map_err(|error| self.unusable(error))?;
        let pid = i64::from(std::process::id());
        let member =
            Member { id: format!("{pid}-{now}"), until: 0, pid, host: self.host()?, doing: doing.to_owned() };
        // A store that was migrated took its time.
        let (now, steady) = (SystemClock.now(), SystemClock.steady());
        let lease = store.write(Durability::Synced, |sql| leases::take(sql, &member, now))?;
        lease.note_extended(steady);
        show::changes_something();
        Ok(Writing::new(store, lease, Box::new(lock)))
    }

    /// The sentence for a store that cannot be opened: which one, and what to do.
    fn unusable(&self, error: StoreError) -> Failure {
        let code = Code::from(error.code());
        match (&self.target, error) {
            (Target::Sqlite(file), StoreError::Database { message, .. }) if message.contains("locked") => {
                Failure::new(
                    Code::Held,
                    format!(
                        "the store {} cannot be used: {message}; end the program that holds it, or wait for it",
                        file.display()
                    ),
                )
            }
            // Nothing is wrong with a store that is somebody else's.
            (Target::Sqlite(file), StoreError::Database { .. }) if is_closed(file) => {
                Failure::unable(format!(
                    "the store {} is not yours to read: who searches is the owner of the data directory; ask them, or use your own \
                     with --data",
                    file.display()
                ))
            }
            (
                Target::Sqlite(file),
                StoreError::Database { message, .. }
                | StoreError::Damaged(message)
                | StoreError::ReadOnly(message),
            ) => Failure::new(
                code,
                format!(
                    "the store {} cannot be used: {message}; make it readable and see that its disk works, or move {} away and \
                     then restore a backup or run `ingather sync` again",
                    file.display(),
                    self.path.display()
                ),
            ),
            (Target::Postgres(_), StoreError::Database { message, .. } | StoreError::Away(message)) => {
                Failure::new(
                    Code::StoreAway,
                    format!(
                        "the store that --store names cannot be used: {message}; check the URL, and that its server runs"
                    ),
                )
            }
            (_, error) => error.into(),
        }
    }

    /// Device and inode of its lock, by which another directory in its place is told apart; none when it is not there.
    pub(crate) fn lock_identity(&self) -> Option<(u64, u64)> {
        ingather_operations::context::identity(&self.path.join("lock"))
    }

    fn make(&self) -> Result<()> {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.path);
        made.map_err(|error| {
            Failure::unable(format!(
                "the data directory {} cannot be made: {error}; name another one with --data",
                self.path.display()
            ))
        })
    }

    fn lock(&self, doing: &str) -> Result<Lock> {
        let path = self.path.join("lock");
        refuse_odd(&path)?;
        let failed = |error: std::io::Error| {
            let advice = match error.kind() {
                _ if ingather_store::lacks_handles(&error) => exit::advice(&error),
                std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                    "make room there, or name another data directory with --data"
                }
                _ => "make it writable, or name another data directory with --data",
            };
            Failure::unable(format!("cannot write {}: {error}; {advice}", path.display()))
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {
                file.set_len(0).map_err(failed)?;
                file.rewind().map_err(failed)?;
                write!(file, "process {}: {doing}", std::process::id()).map_err(failed)?;
                Ok(Lock(file))
            }
            Err(TryLockError::WouldBlock) => {
                let data = self.path.display();
                let mut holder = String::new();
                let _ = file.take(LOCK_TEXT_MAX).read_to_string(&mut holder);
                Err(Failure::new(
                    Code::Held,
                    match holder.ends_with(crate::service::DOING) {
                        true => format!(
                            "{data} is being written by {holder}; ask that service: add --server unix:{data}/ingather.sock, or where its \
                             --socket is"
                        ),
                        false => {
                            format!("{data} is being written by {holder}; wait for it, or use another --data")
                        }
                    },
                ))
            }
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// The number of which there is no other, as it is kept.
    fn own_number(&self) -> Result<Kept> {
        let path = self.path.join(IDENTITY);
        refuse_odd(&path)?;
        let mut kept = Vec::new();
        match File::open(&path).and_then(|file| file.take(IDENTITY_BYTES_MAX).read_to_end(&mut kept)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Kept::Missing),
            Err(error) => return Err(self.unusable_number(&error)),
            Ok(_) => {}
        }
        let digits = String::from_utf8(kept).unwrap_or_default().trim().to_owned();
        let is_whole =
            digits.len() == IDENTITY_DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        Ok(if is_whole { Kept::Whole(digits) } else { Kept::Damaged })
    }

    fn unusable_number(&self, error: &std::io::Error) -> Failure {
        let path = self.path.join(IDENTITY);
        let advice = match ingather_store::lacks_handles(error) {
            true => exit::advice(error),
            false => "make it readable, or remove it",
        };
        Failure::unable(format!("{} cannot be used: {error}; {advice}", path.display()))
    }

    fn damaged_number(&self) -> String {
        format!(
            "{} is damaged: it does not hold {IDENTITY_DIGITS} digits",
            self.path.join(IDENTITY).display()
        )
    }

    /// Makes the number. Whoever asks holds the lock of the directory.
    fn make_number(&self) -> std::io::Result<String> {
        let mut random = [0u8; 16];
        File::open("/dev/urandom")?.read_exact(&mut random)?;
        let digits = blake3::hash(&random).to_hex().to_string();
        // Under another name first: a power cut leaves a whole one or none.
        let part = self.path.join(format!("{IDENTITY}.part"));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&part)?;
        file.write_all(digits.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&part, self.path.join(IDENTITY))?;
        Ok(digits)
    }

    /// The name of this directory among those that share a database: for people its machine and path, and a number of which
    /// there is no other, since machines may be called alike. A copy of the directory on another machine is another one.
    fn host(&self) -> Result<String> {
        let kept = self.own_number()?;
        if matches!(kept, Kept::Damaged) {
            show::stderr(&format!(
                "warning: {}, and is made anew; where several data directories share a database, a process of this one that \
                 died is waited for until its lease ends",
                self.damaged_number()
            ));
        }
        let own = match kept {
            Kept::Whole(digits) => digits,
            Kept::Missing | Kept::Damaged => {
                self.make_number().map_err(|error| self.unusable_number(&error))?
            }
        };
        let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
        let number = blake3::hash(format!("{} {}", machine.trim(), own).as_bytes()).to_hex();
        let name = rustix::system::uname();
        Ok(format!("{}:{} ({})", name.nodename().to_string_lossy(), self.path.display(), &number[..12]))
    }
}

/// Whether a file is there and this user may not read it.
fn is_closed(file: &Path) -> bool {
    File::open(file).is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
}

fn from_environment(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn default_path() -> Result<PathBuf> {
    if let Some(named) = from_environment("INGATHER_DATA") {
        return Ok(named);
    }
    from_environment("XDG_DATA_HOME")
        .or_else(|| from_environment("HOME").map(|home| home.join(".local/share")))
        .map(|base| base.join("ingather"))
        .ok_or_else(|| Failure::usage("no home directory is known; name a data directory with --data"))
}

/// What a file of the data directory is that is no file, as a sentence: opening it could wait for ever, or lead elsewhere.
fn odd(path: &Path) -> Option<String> {
    let facts = std::fs::symlink_metadata(path).ok()?;
    (!facts.is_file()).then(|| format!("{} is no ordinary file", path.display()))
}

fn refuse_odd(path: &Path) -> Result<()> {
    match odd(path) {
        Some(sentence) => Err(Failure::unable(format!("{sentence}; remove it, and it is made anew"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_ends_although_a_child_has_its_file_open_as_well() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lock");
        let open =
            || OpenOptions::new().write(true).create(true).truncate(false).open(&path).expect("a file");
        let held = open();
        held.try_lock().expect("nobody holds it");
        // As one that was begun has it, until it is the program that it is to be.
        let of_child = held.try_clone().expect("a handle");
        drop(Lock(held));
        open().try_lock().expect("it is free for the next one");
        drop(of_child);
    }
}
