//! Errors of the store, each with what to do next.

/// What went wrong with the store.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The database refused or is not there.
    #[error("the store answered: {message} (in {statement})")]
    Database {
        /// Name of the statement, or what was tried.
        statement: &'static str,
        /// What the database said.
        message: String,
    },
    /// A transaction and others waited for each other, several times in a row.
    #[error(
        "the store's transactions were in each other's way too often: {0}; run the same command again, which goes on"
    )]
    Conflict(String),
    /// There is no room.
    #[error(
        "there is no room for the store ({0}); make room on its disk, then run the same command again, which goes on"
    )]
    Full(String),
    /// The disk takes no writes, or this user may not write.
    #[error(
        "the store cannot be written ({0}); make it and its folder writable, or name another data directory with --data"
    )]
    ReadOnly(String),
    /// Its file is not as it was written.
    #[error(
        "the store is damaged ({0}); restore a backup, or move the data directory away and run `ingather sync` again"
    )]
    Damaged(String),
    /// This process, or the machine, can open no more files.
    #[error(
        "no more files can be opened ({0}), and nothing is wrong with the store: raise the limit, such as by `ulimit -n 4096`, \
         then run the same command again"
    )]
    Handles(String),
    /// The database server was stopped, or the way to it is broken.
    #[error(
        "the database server went away ({0}); what was confirmed stands: start it, and run the same command again"
    )]
    Away(String),
    /// The process was asked to end, and the statement was broken off.
    #[error("stopped; what was confirmed stands, and the same command goes on")]
    Stopped,
    /// The database is from a newer program.
    #[error(
        "the store was written by a newer version of ingather (schema {found}, this program knows {known}); use that version"
    )]
    Newer {
        /// Schema number found.
        found: i64,
        /// Highest schema number of this program.
        known: i64,
    },
    /// The database is from an older program, and is only to be read.
    #[error(
        "the store was written by an older version of ingather; run `ingather sync` once, which brings it up to date"
    )]
    Older,
    /// A migration on record is not the one of this program.
    #[error(
        "the store's schema step {0} is not the one this program knows; it may be damaged: restore a backup"
    )]
    Checksum(i64),
    /// Somebody else writes.
    #[error("{0}")]
    Held(String),
    /// A fenced write came too late: another process took over.
    #[error("another process has taken over this store; this one stops without writing")]
    Fenced,
    /// What the caller asked for does not fit what is stored.
    #[error("{0}")]
    Refused(String),
}

/// Stable codes of a [`StoreError`]: callers go by them, never by a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreCode {
    /// [`StoreError::Database`]
    Database,
    /// [`StoreError::Conflict`]
    Conflict,
    /// [`StoreError::Full`]
    Full,
    /// [`StoreError::ReadOnly`]
    ReadOnly,
    /// [`StoreError::Damaged`], or a schema that is not the one that its number says.
    Damaged,
    /// [`StoreError::Handles`]
    Handles,
    /// [`StoreError::Away`]
    Away,
    /// [`StoreError::Stopped`]
    Stopped,
    /// [`StoreError::Newer`]
    Newer,
    /// [`StoreError::Older`]
    Older,
    /// [`StoreError::Held`]
    Held,
    /// [`StoreError::Fenced`]
    Fenced,
    /// [`StoreError::Refused`]
    Refused,
}

impl StoreCode {
    /// Every code.
    pub const ALL: &'static [StoreCode] = &[
        StoreCode::Database,
        StoreCode::Conflict,
        StoreCode::Full,
        StoreCode::ReadOnly,
        StoreCode::Damaged,
        StoreCode::Handles,
        StoreCode::Away,
        StoreCode::Stopped,
        StoreCode::Newer,
        StoreCode::Older,
        StoreCode::Held,
        StoreCode::Fenced,
        StoreCode::Refused,
    ];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            StoreCode::Database => "database",
            StoreCode::Conflict => "conflict",
            StoreCode::Full => "full",
            StoreCode::ReadOnly => "read_only",
            StoreCode::Damaged => "damaged",
            StoreCode::Handles => "handles",
            StoreCode::Away => "away",
            StoreCode::Stopped => "stopped",
            StoreCode::Newer => "newer",
            StoreCode::Older => "older",
            StoreCode::Held => "held",
            StoreCode::Fenced => "fenced",
            StoreCode::Refused => "refused",
        }
    }
}

impl StoreError {
    /// Its code.
    pub const fn code(&self) -> StoreCode {
        match self {
            StoreError::Database { .. } => StoreCode::Database,
            StoreError::Conflict(_) => StoreCode::Conflict,
            StoreError::Full(_) => StoreCode::Full,
            StoreError::ReadOnly(_) => StoreCode::ReadOnly,
            StoreError::Damaged(_) | StoreError::Checksum(_) => StoreCode::Damaged,
            StoreError::Handles(_) => StoreCode::Handles,
            StoreError::Away(_) => StoreCode::Away,
            StoreError::Stopped => StoreCode::Stopped,
            StoreError::Newer { .. } => StoreCode::Newer,
            StoreError::Older => StoreCode::Older,
            StoreError::Held(_) => StoreCode::Held,
            StoreError::Fenced => StoreCode::Fenced,
            StoreError::Refused(_) => StoreCode::Refused,
        }
    }
}

/// Errors of Linux for a process, and for a machine, that has as many files open as it may; the standard library has no
/// names for them.
const TOO_MANY_OPEN: [i32; 2] = [24, 23];

/// Whether no more files can be opened.
pub fn lacks_handles(error: &std::io::Error) -> bool {
    error.raw_os_error().is_some_and(|code| TOO_MANY_OPEN.contains(&code))
}

/// Short form.
pub type Result<T> = std::result::Result<T, StoreError>;
