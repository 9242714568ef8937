//! table: why an operation was not done. Exit codes of the command line and statuses over HTTP stand here and nowhere else.

use std::io::ErrorKind;
use std::path::Path;

use ingather_engine::{EngineCode, EngineError, Refusal};
use ingather_model::fault::Fault;
use ingather_model::lifecycle::outcome::FaultCode;
use ingather_store::{StoreCode, StoreError};

use crate::in_words;

/// Exit code of what is wrongly asked (design 5.1).
const USAGE: u8 = 2;
/// Exit code of what cannot be done as things are: store, lock, version.
const UNABLE: u8 = 3;

/// A kind of problem, as callers are told it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The kind.
    pub code: Code,
    /// Its stable word.
    pub word: &'static str,
    /// Status over HTTP.
    pub status: u16,
    /// Exit code of the command line.
    pub exit: u8,
    /// What it means, in a sentence.
    pub says: &'static str,
    /// What to do next.
    pub next: &'static str,
}

macro_rules! problems {
    ($($code:ident = $word:literal, $status:literal, $exit:ident, $says:literal, $next:literal;)+) => {
        /// Kinds of problems.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code {
            $(#[doc = $says] $code,)+
        }

        /// Every kind, in the order of [`Code`].
        pub const ROWS: &[Row] = &[$(Row {
            code: Code::$code, word: $word, status: $status, exit: $exit, says: $says, next: $next,
        },)+];
    };
}

problems! {
    WrongUse = "wrong_use", 400, USAGE, "What was asked for cannot be meant.", "Correct the request; the sentence says how.";
    Settings = "settings", 400, USAGE, "A setting is unknown or out of its bounds.", "Correct the setting that the sentence names.";
    Query = "query", 400, USAGE, "The query cannot be read.", "Correct it; `docs/manual/search.md` has the language.";
    NoSuchPath = "no_such_path", 404, USAGE, "There is nothing at this path.", "Take a path of `/api/v1/openapi.json`.";
    WrongVerb = "wrong_verb", 405, USAGE, "What is at this path is not asked for by this verb.", "Take a verb of `/api/v1/openapi.json`.";
    TooSlow = "too_slow", 408, USAGE, "The request did not come in time.", "Send it again, all of it at once.";
    TooLarge = "too_large", 413, USAGE, "The request is longer than one may be.", "Send less at once.";
    Differs = "differs", 409, USAGE, "The job is stored with other settings.", "Say that it is to be changed, or leave out what differs.";
    WholeMachine = "whole_machine", 400, USAGE, "The source is everything on this machine.", "Name the folders that are wanted, or say that it is meant.";
    Unauthenticated = "unauthenticated", 401, USAGE, "Nobody knows who asks.", "Give an API key that counts: `Authorization: Bearer …`; one that was deleted, has expired or is of another service does not.";
    InvalidToken = "invalid_token", 401, USAGE, "The token that says who asks does not count.", "Log in at its provider anew, and send the token of that; the sentence says what is wrong with this one.";
    Forbidden = "forbidden", 403, USAGE, "Whoever asks has not the role for it.", "Ask an administrator.";
    NotVouched = "not_vouched", 403, USAGE, "No reverse proxy of this service vouches for the name that the request says.", "Leave the header out, or ask through the proxy.";
    OutsideRoots = "outside_roots", 403, USAGE, "The place is not open to callers from elsewhere.", "Start the service with `--root`, or ask over its socket as its owner.";
    NoSuchJob = "no_such_job", 404, USAGE, "There is no job of that name.", "Take a name of `ingather job list`, or where you push, of `GET /api/v1/sources`.";
    NoSuchDocument = "no_such_document", 404, USAGE, "There is no document, or nothing in it, of that name.", "Take a name of `ingather document list`.";
    NoSuchEvent = "no_such_event", 404, USAGE, "No event of that name is pending.", "Take a name of `ingather event list`.";
    Key = "key", 400, USAGE, "What was given for a document is no name of one.", "Copy the name from `ingather document list`.";
    NoSuchOutput = "no_such_output", 404, USAGE, "There is no output of that name.", "Take one that the sentence names.";
    NoSuchConnector = "no_such_connector", 404, USAGE, "This program has no connector or transform of that name.", "Take one that `ingather pipeline stages` or the manual names.";
    NoSuchAuthority = "no_such_authority", 404, USAGE, "There is no authority of that name.", "Take a name of `ingather authority list`.";
    NoSuchUser = "no_such_user", 404, USAGE, "Nobody of that name may enter.", "Check the name.";
    NoSuchPerson = "no_such_person", 404, USAGE, "Nobody of that id was pushed.", "Look for them by their name.";
    PersonExists = "person_exists", 409, USAGE, "Somebody has that name.", "Change that person, or take another name.";
    WrongValue = "wrong_value", 400, USAGE, "A value of somebody who is pushed cannot be kept.", "Correct the value that the sentence names.";
    WrongPath = "wrong_path", 400, USAGE, "What is to be changed of somebody cannot be meant.", "Correct the path that the sentence names.";
    WrongFilter = "wrong_filter", 400, USAGE, "The filter cannot be meant.", "Take a condition that `docs/manual/scim.md` has.";
    Definition = "definition", 400, USAGE, "The definition of a job cannot work.", "Correct what the sentence names.";
    Source = "source", 422, USAGE, "The source cannot be looked at.", "Mount it, or check its path or address, and whether it may be read.";
    Deleting = "deleting", 409, USAGE, "The job is being deleted.", "Let `ingather job delete` come to its end.";
    Paused = "paused", 409, USAGE, "The job is paused.", "Let `ingather job resume` end the pause.";
    NotPaused = "not_paused", 409, USAGE, "The job is not paused.", "Begin a run with `ingather job start`, where one is wanted.";
    NothingHeld = "nothing_held", 412, USAGE, "The run is not the last one, or holds nothing.", "Look at `ingather job held` again.";
    Outdated = "outdated", 412, USAGE, "What it goes by has changed since it was looked at.", "Look again, then ask again.";
    KeyReused = "key_reused", 422, USAGE, "The idempotency key belongs to another request.", "Take a new key for each request.";
    TooMany = "too_many", 429, UNABLE, "Whoever asks has asked for more than their share.", "Ask again when `Retry-After` says.";
    ReadOnly = "read_only", 409, USAGE, "The inventory is open for reading only.", "Ask a process that may write.";
    Stopped = "stopped", 409, USAGE, "A person or a signal stopped it.", "Ask again; it goes on.";
    NoSuchTicket = "no_such_ticket", 404, USAGE, "There is no ticket of that number.", "Take one that a push was answered with.";
    SourceLocked = "source_locked", 409, UNABLE, "Somebody else makes a delta run over the source.", "Wait until it has ended; the sentence says whose it is.";
    RunExpired = "run_expired", 410, USAGE, "The delta run is not open any more.", "Open another one.";
    NoSuchChannel = "no_such_channel", 404, USAGE, "There is no such channel.", "`GET /api/v1/channels` has those that there are; open another one.";
    Shutdown = "shutdown", 410, USAGE, "The channel takes nothing any more.", "Open another one.";
    Throttled = "throttled", 429, UNABLE, "The channel, or its source, takes nothing more for a time.", "Push again later: a channel takes more when reports say that tickets are completed, a source as many a minute as its settings say.";
    SinkFailed = "sink_failed", 502, UNABLE, "The webhook of the channel does not take its first report.", "See to it that it answers with 2xx within ten seconds, and open the channel again.";
    ReportFailed = "report_failed", 502, UNABLE, "The webhook of the channel was not told of these records: none of them is taken.", "Push them again when it answers; what it may have heard of them is completed as failed (`queue_aborted`).";
    UnsupportedMode = "unsupported_mode", 501, UNABLE, "The mode is not offered.", "Take one of `GET /api/v1/capabilities`.";
    BadToken = "bad_token", 412, USAGE, "The token does not belong to the delta run.", "Send the one that the run was opened with.";
    NoSuchApiKey = "no_such_api_key", 404, USAGE, "There is no API key of that name.", "Take a name of `ingather api-key list`.";
    ApiKeyExists = "api_key_exists", 409, USAGE, "There is an API key of that name.", "Delete it, or take another name.";
    NothingYet = "nothing_yet", 404, UNABLE, "There is no inventory yet.", "Begin with `ingather sync FOLDER`.";
    Held = "held", 423, UNABLE, "Somebody else writes.", "Wait for it.";
    Unable = "unable", 500, UNABLE, "It cannot be done as things are.", "Do what the sentence says, then ask again.";
    Resources = "resources", 503, UNABLE, "The machine has no room, memory or threads left for it.", "Make room, then ask again.";
    AuthorityAway = "authority_away", 503, UNABLE, "An authority that could tell who asks cannot be asked now.", "Ask again later; `ingather authority list` says what is wrong with it.";
    Busy = "busy", 503, UNABLE, "A bound of the program is met.", "Ask again when a run has ended.";
    Running = "running", 409, UNABLE, "The job is being worked on.", "Wait until that has ended, or stop it.";
    Output = "output", 502, UNABLE, "An output cannot be opened or committed.", "Do what the sentence says about it.";
    Connector = "connector", 502, UNABLE, "A connector cannot answer.", "Do what the sentence says about it.";
    IndexOlder = "index_older", 503, UNABLE, "An earlier version of the program made the search index.", "Run `ingather sync` once, which makes it anew.";
    Store = "store", 500, UNABLE, "The inventory cannot be read or written.", "Do what the sentence says, then ask again.";
    StoreAway = "store_away", 503, UNABLE, "The server of the inventory went away.", "Start it, then ask again.";
    StoreFull = "store_full", 507, UNABLE, "There is no room for the inventory.", "Make room on its disk, then ask again.";
    StoreDamaged = "store_damaged", 500, UNABLE, "The inventory is not as it was written.", "Restore a backup.";
    StoreVersion = "store_version", 500, UNABLE, "Another version of the program wrote the inventory.", "Use that version, or run `ingather sync` once.";
    TakenOver = "taken_over", 409, UNABLE, "Another process has taken over the inventory.", "Ask that one.";
}

/// What any operation may meet, whatever it does.
pub const ALWAYS: &[Code] = &[
    Code::WrongUse,
    Code::Forbidden,
    Code::NothingYet,
    Code::Held,
    Code::Unable,
    Code::Resources,
    Code::Busy,
    Code::Running,
    Code::Store,
    Code::StoreAway,
    Code::StoreFull,
    Code::StoreDamaged,
    Code::StoreVersion,
    Code::TakenOver,
    Code::Stopped,
];

impl Code {
    /// What the table says of it.
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Exit code of a command that met it.
    pub fn exit(self) -> u8 {
        self.row().exit
    }
}

/// Why one operation was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its kind: callers go by it, never by the sentence.
    pub code: Code,
    message: String,
    /// What else is to be said, to those alone who read the log.
    in_the_log: String,
}

/// Short form.
pub type Result<T> = std::result::Result<T, Problem>;

impl Problem {
    /// A problem with its sentence: what is wrong, then what to do next.
    pub fn new(code: Code, message: impl Into<String>) -> Problem {
        Problem { code, message: message.into(), in_the_log: String::new() }
    }

    /// The same with more behind its sentence.
    pub(crate) fn with(self, more: &str) -> Problem {
        Problem { message: format!("{}{more}", self.message), ..self }
    }

    /// The same, with a reason for those who read the log: whoever has asked is nobody to be told of it.
    pub(crate) fn logged(self, why: String) -> Problem {
        Problem { in_the_log: why, ..self }
    }

    /// The sentence for the log.
    pub fn in_the_log(&self) -> String {
        match self.in_the_log.as_str() {
            "" => self.message.clone(),
            why => format!("{}: {why}", self.message),
        }
    }

    /// Wrong use: the sentence says what to do instead.
    pub fn usage(message: impl Into<String>) -> Problem {
        Problem::new(Code::WrongUse, message)
    }

    /// A person or a signal ended it amid something.
    pub fn stopped() -> Problem {
        StoreError::Stopped.into()
    }

    /// It cannot be done as things are.
    pub fn unable(message: impl Into<String>) -> Problem {
        Problem::new(Code::Unable, message)
    }

    /// A file or folder cannot be read or written.
    pub fn of_path(path: &Path, error: &std::io::Error) -> Problem {
        let lacks_room = matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
        let lacks = lacks_room || ingather_store::lacks_handles(error);
        Problem::new(
            if lacks { Code::Resources } else { Code::Unable },
            format!("{}: {}; {}", path.display(), in_words::error(error), in_words::advice(error)),
        )
    }

    /// The same of one of several, named first.
    pub(crate) fn about(self, what: &str) -> Problem {
        match self.message.starts_with(what) {
            true => self,
            false => Problem { message: format!("{what}: {}", self.message), ..self },
        }
    }

    /// Exit code of a command that met it.
    pub fn exit(&self) -> u8 {
        self.code.exit()
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<StoreCode> for Code {
    fn from(code: StoreCode) -> Code {
        match code {
            StoreCode::Database | StoreCode::Conflict | StoreCode::ReadOnly | StoreCode::Refused => {
                Code::Store
            }
            StoreCode::Full => Code::StoreFull,
            StoreCode::Handles => Code::Resources,
            StoreCode::Damaged => Code::StoreDamaged,
            StoreCode::Away => Code::StoreAway,
            StoreCode::Newer | StoreCode::Older => Code::StoreVersion,
            StoreCode::Held => Code::Held,
            StoreCode::Fenced => Code::TakenOver,
            StoreCode::Stopped => Code::Stopped,
        }
    }
}

impl From<Refusal> for Code {
    fn from(refusal: Refusal) -> Code {
        match refusal {
            Refusal::NoSuchConnector => Code::NoSuchConnector,
            Refusal::NoSuchOutput => Code::NoSuchOutput,
            Refusal::NoSuchDocument => Code::NoSuchDocument,
            Refusal::Key => Code::Key,
            Refusal::NoSuchJob => Code::NoSuchJob,
            Refusal::Definition => Code::Definition,
            Refusal::Source => Code::Source,
            Refusal::Deleting => Code::Deleting,
            Refusal::Paused => Code::Paused,
            Refusal::NothingHeld => Code::NothingHeld,
            Refusal::ReadOnly => Code::ReadOnly,
            Refusal::Stopped => Code::Stopped,
            Refusal::Resources => Code::Resources,
            Refusal::Busy => Code::Busy,
            Refusal::Running => Code::Running,
            Refusal::Locked => Code::SourceLocked,
            Refusal::NotOpen => Code::RunExpired,
            Refusal::WrongToken => Code::BadToken,
            Refusal::NoSuchChannel => Code::NoSuchChannel,
            Refusal::Ended => Code::Shutdown,
            Refusal::Throttled => Code::Throttled,
            Refusal::Sink => Code::SinkFailed,
            Refusal::NotReported => Code::ReportFailed,
        }
    }
}

impl From<FaultCode> for Code {
    fn from(code: FaultCode) -> Code {
        match code {
            FaultCode::Query => Code::Query,
            FaultCode::Settings => Code::Settings,
            FaultCode::Key => Code::Key,
            FaultCode::IndexOlder => Code::IndexOlder,
            FaultCode::IndexDamaged => Code::Connector,
        }
    }
}

impl From<EngineCode> for Code {
    fn from(code: EngineCode) -> Code {
        match code {
            EngineCode::Store(code) => code.into(),
            // Only of an index it matters which output it is: all else about outputs is for people.
            EngineCode::Output(Some(FaultCode::IndexOlder)) => Code::IndexOlder,
            EngineCode::Output(_) => Code::Output,
            EngineCode::Refused(refusal) => refusal.into(),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Problem {
        Problem::new(error.code().into(), error.to_string())
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Problem {
        Problem::new(error.code().into(), error.to_string())
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Problem {
        Problem::new(fault.code().map_or(Code::Connector, Code::from), fault.to_string())
    }
}

/// Where problems of a kind come from, but for operations themselves: `store.`, `engine.` and `fault.` with the code there.
pub fn sources(code: Code) -> Vec<String> {
    let store = StoreCode::ALL.iter().filter(|one| Code::from(**one) == code);
    let engine = Refusal::ALL.iter().filter(|one| Code::from(**one) == code);
    let fault = FaultCode::ALL.iter().filter(|one| Code::from(**one) == code);
    let store = store.map(|one| format!("store.{}", one.as_str()));
    let engine = engine.map(|one| format!("engine.{}", one.as_str()));
    store.chain(engine).chain(fault.map(|one| format!("fault.{}", one.as_str()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_lacks_is_no_wrong_use() {
        let exit = |refusal| Problem::from(EngineError::refused(refusal, "why")).exit();
        assert_eq!([Refusal::Resources, Refusal::Busy].map(exit), [UNABLE; 2]);
        assert_eq!([Refusal::NoSuchOutput, Refusal::Deleting, Refusal::ReadOnly].map(exit), [USAGE; 3]);
        assert_eq!(Problem::from(StoreError::Fenced).exit(), UNABLE);
        assert_eq!(Problem::from(Fault::refused("query", "why")).exit(), USAGE);
        assert_eq!(Problem::from(Fault::broken("disk", "why")).exit(), UNABLE);
    }

    /// Codes that operations, or whoever calls them, give themselves.
    const OF_OPERATIONS: &[Code] = &[
        Code::WrongUse,
        Code::Differs,
        Code::Outdated,
        Code::NotVouched,
        Code::OutsideRoots,
        Code::WholeMachine,
        Code::NoSuchPath,
        Code::WrongVerb,
        Code::TooSlow,
        Code::TooLarge,
        Code::KeyReused,
        Code::TooMany,
        Code::NoSuchPerson,
        Code::PersonExists,
        Code::WrongValue,
        Code::WrongPath,
        Code::WrongFilter,
        Code::Unauthenticated,
        Code::InvalidToken,
        Code::AuthorityAway,
        Code::Forbidden,
        Code::NotPaused,
        Code::NoSuchApiKey,
        Code::NoSuchEvent,
        Code::NoSuchTicket,
        Code::UnsupportedMode,
        Code::ApiKeyExists,
        Code::NoSuchAuthority,
        Code::NoSuchUser,
        Code::NothingYet,
        Code::Unable,
        Code::Output,
    ];

    #[test]
    fn every_code_of_store_engine_and_connectors_has_a_row_and_no_row_is_without_a_source() {
        for row in ROWS {
            assert_eq!(sources(row.code).is_empty(), OF_OPERATIONS.contains(&row.code), "{}", row.word);
        }
        let named: Vec<String> = ROWS.iter().flat_map(|row| sources(row.code)).collect();
        let words = StoreCode::ALL.len() + Refusal::ALL.len() + FaultCode::ALL.len();
        let each: std::collections::HashSet<&String> = named.iter().collect();
        assert_eq!((named.len(), each.len()), (words, words));
    }

    #[test]
    fn an_error_keeps_its_code_and_its_sentence_on_every_way_to_a_problem() {
        let errors = [
            (StoreError::Damaged("why".to_owned()), Code::StoreDamaged),
            (StoreError::Checksum(3), Code::StoreDamaged),
            (StoreError::Handles("why".to_owned()), Code::Resources),
            (StoreError::Older, Code::StoreVersion),
            (StoreError::Newer { found: 9, known: 8 }, Code::StoreVersion),
            (StoreError::Away("why".to_owned()), Code::StoreAway),
        ];
        for (error, code) in errors {
            let told = Problem::new(code, error.to_string());
            assert_eq!(Problem::from(error.clone()), told);
            assert_eq!(Problem::from(EngineError::Store(error)), told);
        }
        for code in FaultCode::ALL {
            let fault = Fault::refused(code.as_str(), "why");
            assert_eq!(Problem::from(fault), Problem::new(Code::from(*code), "why"));
        }
        let output =
            |code: &str| EngineError::Output { name: "index".to_owned(), fault: Fault::refused(code, "why") };
        assert_eq!(Problem::from(output("index_older")).code, Code::IndexOlder);
        assert_eq!(Problem::from(output("settings")).code, Code::Output);
    }

    #[test]
    fn a_machine_without_room_or_handles_is_no_fault_of_a_file() {
        let code =
            |error: i32| Problem::of_path(Path::new("/x"), &std::io::Error::from_raw_os_error(error)).code;
        let [no_handle, no_room, no_right] = [24, 28, 13];
        assert_eq!(
            [no_handle, no_room, no_right].map(code),
            [Code::Resources, Code::Resources, Code::Unable]
        );
    }

    #[test]
    fn a_problem_of_the_caller_has_a_status_that_blames_the_caller() {
        for (place, row) in ROWS.iter().enumerate() {
            assert_eq!(row.code.row(), row, "{place}");
            assert!(row.exit == UNABLE || (400..500).contains(&row.status), "{row:?}");
            let twice = ROWS.iter().filter(|other| other.word == row.word).count();
            assert!(twice == 1 && row.says.ends_with('.') && row.next.ends_with('.'), "{row:?}");
        }
    }
}
