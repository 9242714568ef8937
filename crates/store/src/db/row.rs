//! One row of an answer of either database.

use super::postgres;
use super::sqlite;
use crate::error::{Result, StoreError};

/// One row of an answer.
pub enum Row<'r> {
    /// SQLite.
    #[doc(hidden)]
    Sqlite(&'r rusqlite::Row<'r>),
    /// PostgreSQL.
    #[doc(hidden)]
    Postgres(&'r tokio_postgres::Row),
}

/// Reads one column; a macro because the two drivers share no trait for it.
macro_rules! get {
    ($row:expr, $index:expr, $type:ty) => {
        match $row {
            Row::Sqlite(row) => row.get::<_, $type>($index).map_err(|e| sqlite::failed("row", &e)),
            Row::Postgres(row) => row.try_get::<_, $type>($index).map_err(|e| postgres::failed("row", &e)),
        }
    };
}

fn unknown_word(word: &str) -> StoreError {
    StoreError::Refused(format!(
        "a row of the store has the word `{word}`, which this program does not know; run `ingather doctor`, or restore a backup"
    ))
}

impl Row<'_> {
    /// A number without the conversions, which cost twice as much as reading it: most of what is read are such.
    fn plain(&self, index: usize) -> Option<i64> {
        match self {
            Row::Sqlite(row) => row.get_ref(index).ok()?.as_i64().ok(),
            Row::Postgres(_) => None,
        }
    }

    /// A number.
    pub fn int(&self, index: usize) -> Result<i64> {
        if let Some(number) = self.plain(index) {
            return Ok(number);
        }
        get!(self, index, i64)
    }

    /// A number or NULL.
    pub fn opt_int(&self, index: usize) -> Result<Option<i64>> {
        if let Some(number) = self.plain(index) {
            return Ok(Some(number));
        }
        get!(self, index, Option<i64>)
    }

    /// A text.
    pub fn text(&self, index: usize) -> Result<String> {
        get!(self, index, String)
    }

    /// A text or NULL.
    pub fn opt_text(&self, index: usize) -> Result<Option<String>> {
        get!(self, index, Option<String>)
    }

    /// A word of an enumeration.
    ///
    /// # Errors
    /// `Refused` when it is none of them: the row is of a newer program, or was written by somebody else.
    pub fn word<T>(&self, index: usize, parse: impl Fn(&str) -> Option<T>) -> Result<T> {
        let word = self.text(index)?;
        parse(&word).ok_or_else(|| unknown_word(&word))
    }

    /// A word of an enumeration, or NULL.
    ///
    /// # Errors
    /// As [`Row::word`].
    pub fn opt_word<T>(&self, index: usize, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>> {
        let word = self.opt_text(index)?;
        word.map(|word| parse(&word).ok_or_else(|| unknown_word(&word))).transpose()
    }

    /// Bytes or NULL.
    pub fn opt_bytes(&self, index: usize) -> Result<Option<Vec<u8>>> {
        get!(self, index, Option<Vec<u8>>)
    }
}
