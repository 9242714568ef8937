//! The log of SQLite is copied into the store outside of transactions. SQLite by itself does it within the commit that meets the bound,
//! and whoever wants to write waits for it (`busy` in docs/performance.md: a commit of 44 ms).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ingather_model::limits;
use parking_lot::{FairMutex, Mutex};
use rusqlite::Connection;

use super::{failed, stopping};
use crate::db::write_times::WriteTimes;
use crate::error::Result;
use crate::turns::lock_in_turn;

/// When the log is copied, and by which connection.
pub(super) struct Checkpoints {
    /// Pages in the log as of the last commit.
    logged: Arc<AtomicU32>,
    /// From how many pages on it is copied.
    due: AtomicU32,
    /// Locked while somebody copies; a panic of theirs keeps nobody from it for ever.
    connection: Mutex<Option<Connection>>,
}

/// Pages of the log, and how many of them are in the store.
struct Copied {
    logged: u32,
    copied: u32,
}

impl Checkpoints {
    /// Looks at each commit of this writer; it copies nothing by itself any more.
    pub(super) fn of(writer: &mut Connection) -> Result<Checkpoints> {
        let logged = Arc::new(AtomicU32::new(0));
        let told = logged.clone();
        let note = move |_: &mut rusqlite::hooks::Wal, pages| {
            told.store(u32::try_from(pages).unwrap_or_default(), Ordering::Relaxed);
            Ok(())
        };
        writer.wal_hook(Some(note)).map_err(|e| failed("open", &e))?;
        Ok(Checkpoints {
            logged,
            due: AtomicU32::new(limits::SQLITE_LOG_PAGES),
            connection: Mutex::new(None),
        })
    }

    /// Copies the log when it is long enough, and nobody else does; the caller is not the one who writes.
    ///
    /// A failure is none of the caller's, whose transaction is on disk: the log stays as it is, and a later commit tries again.
    pub(super) fn copy_if_due(&self, path: &Path, writer: &FairMutex<Connection>, times: &WriteTimes) {
        if self.logged.load(Ordering::Relaxed) < self.due.load(Ordering::Relaxed) {
            return;
        }
        let Some(mut connection) = self.connection.try_lock() else { return };
        // What a long reader holds back is not tried again at each commit: a look at a log costs in proportion to its length.
        let due = match self.copy(&mut connection, path, writer, times) {
            Ok(Copied { logged, copied }) if logged > copied => logged + limits::SQLITE_LOG_PAGES / 4,
            Ok(_) => limits::SQLITE_LOG_PAGES,
            Err(_) => self.logged.load(Ordering::Relaxed) + limits::SQLITE_LOG_PAGES / 4,
        };
        self.due.store(due, Ordering::Relaxed);
    }

    fn copy(
        &self,
        kept: &mut Option<Connection>,
        path: &Path,
        writer: &FairMutex<Connection>,
        times: &WriteTimes,
    ) -> Result<Copied> {
        let connection = match kept {
            Some(connection) => connection,
            None => kept.insert(open(path)?),
        };
        // Nearly all of it, while others write.
        let copied = copy_now(connection)?;
        if copied.logged == self.logged.load(Ordering::Relaxed) {
            return Ok(copied);
        }
        // What they have added meanwhile, while nobody does: a log begins anew only when all of it is copied, and would grow without end.
        let _writer = lock_in_turn(writer);
        let _timed = times.begin();
        copy_now(connection)
    }
}

fn open(path: &Path) -> Result<Connection> {
    let mut connection = Connection::open(path).map_err(|e| failed("checkpoint", &e))?;
    connection.busy_handler(Some(stopping::waits)).map_err(|e| failed("checkpoint", &e))?;
    // The log is on disk before the store is, and the store before the log begins anew.
    connection.execute_batch("PRAGMA synchronous = NORMAL").map_err(|e| failed("checkpoint", &e))?;
    Ok(connection)
}

fn copy_now(connection: &Connection) -> Result<Copied> {
    let row = |row: &rusqlite::Row<'_>| Ok(Copied { logged: row.get(1)?, copied: row.get(2)? });
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], row).map_err(|e| failed("checkpoint", &e))
}

#[cfg(test)]
mod tests {
    use std::fs::metadata;

    use super::super::{LARGE, Sqlite, open_reader};
    use super::*;
    use crate::Durability;
    use crate::db::Sql;

    /// Pages of a transaction of these tests, and bytes of one.
    const STEP: u32 = 2_000;
    const PAGE: u64 = 4_096;

    fn add(store: &Sqlite, steps: u32) {
        for _ in 0..steps {
            let added = store.write(Durability::Relaxed, |sql| {
                let Sql::Sqlite(session) = sql else { panic!("not SQLite") };
                session.script(&format!("INSERT INTO t VALUES (zeroblob({}))", u64::from(STEP) * PAGE))
            });
            added.expect("a row");
        }
    }

    fn store(folder: &Path) -> Sqlite {
        let store = Sqlite::open(&folder.join("s.db"), true, None).expect("a store");
        let made = store.write(Durability::Relaxed, |sql| {
            let Sql::Sqlite(session) = sql else { panic!("not SQLite") };
            session.script("CREATE TABLE t (b BLOB); CREATE TABLE meta (m)")
        });
        made.expect("a table");
        store
    }

    #[test]
    fn a_log_is_copied_outside_of_commits_and_begins_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(folder.path());
        let length = |name: &str| metadata(folder.path().join(name)).expect("a file").len();
        let whole = limits::SQLITE_LOG_PAGES.div_ceil(STEP);
        let copies = &store.writer.as_ref().expect("a writer").checkpoints;
        {
            let _other = copies.connection.lock();
            add(&store, whole + 1);
            assert!(length("s.db") < PAGE * u64::from(STEP), "a commit has copied the log by itself");
        }
        add(&store, 1);
        assert!(length("s.db") > PAGE * u64::from(whole * STEP), "nobody has copied the log");
        let longest = length("s.db-wal");
        add(&store, 3 * whole);
        assert_eq!(length("s.db-wal"), longest, "the log has not begun anew");
    }

    #[test]
    fn what_a_reader_holds_back_is_copied_once_it_has_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(folder.path());
        let length = |name: &str| metadata(folder.path().join(name)).expect("a file").len();
        let whole = limits::SQLITE_LOG_PAGES.div_ceil(STEP);
        let reader = open_reader(&folder.path().join("s.db"), LARGE).expect("a reader");
        reader.execute_batch("BEGIN; SELECT count(*) FROM t").expect("a view");
        add(&store, 2 * whole);
        assert!(length("s.db") < PAGE * u64::from(STEP), "the view of a reader was written over");
        reader.execute_batch("COMMIT").expect("the end of the view");
        add(&store, whole / 2);
        assert!(length("s.db") > PAGE * u64::from(2 * whole * STEP), "nobody has copied the log");
        let longest = length("s.db-wal");
        add(&store, 2 * whole);
        assert_eq!(length("s.db-wal"), longest, "the log has not begun anew");
    }
}
