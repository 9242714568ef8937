//! Why a database did not answer, and what follows.

use std::error::Error as _;

use ingather_model::fault::Fault;
use tokio_postgres::error::SqlState;

use crate::pool::Failing;
use crate::wire::failure as directory;

/// The code of all faults of databases.
const CODE: &str = "database";
/// Characters of what a server says that people are told.
const TOLD_MAX: usize = 300;
/// What a server says of a connection that it ends.
const ENDED: [SqlState; 5] = [
    SqlState::ADMIN_SHUTDOWN,
    SqlState::CRASH_SHUTDOWN,
    SqlState::CANNOT_CONNECT_NOW,
    SqlState::DATABASE_DROPPED,
    SqlState::IDLE_SESSION_TIMEOUT,
];
/// Classes of codes that go by: connections, transactions that were in the way, resources, operators.
const PASSING: [&str; 4] = ["08", "40", "53", "57"];

/// What is to be done about codes; the words of the server stand before it.
const CODES: &[(SqlState, &str)] = &[
    (SqlState::INVALID_PASSWORD, "set `password` to that of the role in `url`"),
    (
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        "this role may not log in from here: see `url`, and pg_hba.conf of the server",
    ),
    (SqlState::INVALID_CATALOG_NAME, "see `url`"),
    (
        SqlState::INSUFFICIENT_PRIVILEGE,
        "let the role in `url` read all that the query needs: GRANT SELECT, and BYPASSRLS where policies hide rows",
    ),
    (SqlState::UNDEFINED_TABLE, "name tables with their schema, such as public.people"),
    (SqlState::UNDEFINED_FUNCTION, "name functions with their schema, and say of which type values are"),
    (SqlState::READ_ONLY_SQL_TRANSACTION, "a query of an authority may read and do nothing else"),
];

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The connection came to its end, or never began.
    Broken(String),
    /// The time is up.
    Late,
    /// More came than anybody needs.
    TooMuch,
    /// The server says no.
    Said {
        /// Its code for that.
        code: String,
        /// Its words, made safe.
        words: String,
        /// What was asked.
        asked: &'static str,
    },
    /// Who answers is not whom the settings trust, or a file of certificates cannot be used.
    Untrusted(String),
    /// Something that has to be put right first, here or in the database.
    Wrong(String),
}

impl Failure {
    /// What the driver says of a question.
    pub(super) fn of(error: &tokio_postgres::Error, asked: &'static str) -> Failure {
        if let Some(said) = error.as_db_error() {
            let words = safe(said.message());
            return match said.code() {
                code if ENDED.contains(code) => Failure::Broken(words),
                // Nothing but the time that was set ends a query so.
                &SqlState::QUERY_CANCELED => Failure::Late,
                code => Failure::Said { code: code.code().to_owned(), words, asked },
            };
        }
        let told = error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"));
        let io = error.source().and_then(|cause| cause.downcast_ref::<std::io::Error>());
        let is_tls = io.and_then(|io| io.get_ref()).is_some_and(|inner| inner.is::<rustls::Error>());
        match (is_tls || told.contains("does not support TLS"), error.is_closed() || io.is_some()) {
            (true, _) => Failure::Untrusted(safe(&told)),
            (false, true) => Failure::Broken(safe(&told)),
            // What remains is an answer that is none: the connection is of no use any more.
            (false, false) => {
                Failure::Wrong(format!("the database cannot be asked {asked}: {}", safe(&told)))
            }
        }
    }

    /// As the model has it.
    pub(super) fn fault(self) -> Fault {
        let told = self.to_string();
        let passing = match &self {
            Failure::Broken(_) | Failure::Late => true,
            Failure::Said { code, .. } => PASSING.iter().any(|class| code.starts_with(class)),
            Failure::TooMuch | Failure::Untrusted(_) | Failure::Wrong(_) => false,
        };
        if passing { Fault::passing(CODE, told) } else { Fault::refused(CODE, told) }
    }
}

/// Words of a server in few harmless characters.
fn safe(words: &str) -> String {
    let safe = |c: char| if c.is_control() { ' ' } else { c };
    words.trim().chars().take(TOLD_MAX).map(safe).collect()
}

impl Failing for Failure {
    /// A statement that was prepared for a table which has changed since counts as well: a fresh connection prepares it anew.
    fn is_broken(&self) -> bool {
        match self {
            Failure::Broken(_) => true,
            Failure::Said { code, .. } => code == SqlState::FEATURE_NOT_SUPPORTED.code(),
            _ => false,
        }
    }

    fn ends_others(&self) -> bool {
        self.is_broken() || *self == Failure::Late
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Broken(what) => write!(f, "the database cannot be reached: {what}"),
            Failure::Late => f.write_str("the database did not answer in time"),
            Failure::TooMuch => f.write_str("the database sent too much"),
            Failure::Said { code, words, asked } => {
                write!(f, "the database refused {asked} with code {code}: {words}")?;
                match CODES.iter().find(|(known, _)| known.code() == code) {
                    Some((_, told)) => write!(f, "; {told}"),
                    None => Ok(()),
                }
            }
            Failure::Untrusted(what) => write!(f, "the connection is not secure: {what}"),
            Failure::Wrong(what) => f.write_str(what),
        }
    }
}

impl From<directory::Failure> for Failure {
    fn from(failure: directory::Failure) -> Failure {
        match failure {
            directory::Failure::Late => Failure::Late,
            directory::Failure::Broken(what) => Failure::Broken(what),
            other => Failure::Broken(other.to_string()),
        }
    }
}
