//! Why a directory did not answer, and what follows.

use ingather_model::fault::Fault;

use crate::pool::Failing;

/// The code of all faults of directories.
pub(crate) const CODE: &str = "directory";
/// Characters of what a server says that people are told.
const TOLD_MAX: usize = 200;

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The connection came to its end, or never began.
    Broken(String),
    /// The time is up.
    Late,
    /// What came is no LDAP.
    Garbled(&'static str),
    /// More came than anybody needs.
    TooMuch(&'static str),
    /// The server says no.
    Said {
        /// Its number for that (RFC 4511, 4.1.9).
        code: u32,
        /// Its words, made safe.
        words: String,
        /// What was asked.
        asked: &'static str,
    },
    /// It says that others know more.
    Refers,
    /// Who answers is not whom the settings trust, or a file of certificates cannot be used.
    Untrusted(String),
    /// Something that has to be put right first, here or in the directory.
    Wrong(String),
}

/// Success.
pub(crate) const SUCCESS: u32 = 0;
/// There is more than may be given.
pub(crate) const SIZE_LIMIT: u32 = 4;
/// The answer is elsewhere.
pub(crate) const REFERRAL: u32 = 10;
/// There is no such entry.
pub(crate) const NO_SUCH_OBJECT: u32 = 32;

/// Result codes by what people may do about them; the others are told by number.
const CODES: &[(u32, &str)] = &[
    (3, "its time limit is exceeded"),
    (SIZE_LIMIT, "its size limit is exceeded, so that the answer would not be whole"),
    (7, "it does not know this way to log in"),
    (8, "it asks for a stronger way to log in; use ldaps:// or StartTLS"),
    (11, "a limit of its administrator is exceeded"),
    (12, "it does not know a control of Active Directory"),
    (13, "it answers over TLS alone; use ldaps:// or StartTLS"),
    (NO_SUCH_OBJECT, "there is no such entry, or `bind_dn` may not see it"),
    (34, "a name is spelled as no DN is"),
    (48, "it does not take this way to log in"),
    (49, "`bind_dn` or `bind_password` is wrong"),
    (50, "`bind_dn` may not do that"),
    (51, "it is busy"),
    (52, "it is not available"),
    (53, "it is not willing"),
];
/// Those that go by.
const PASSING: &[u32] = &[1, 3, 51, 52, 80];

impl Failure {
    /// What a server said, in at most [`TOLD_MAX`] harmless characters.
    pub(crate) fn said(code: u32, words: &str, asked: &'static str) -> Failure {
        let safe = |c: char| if c.is_control() { ' ' } else { c };
        let words = words.trim().chars().take(TOLD_MAX).map(safe).collect();
        Failure::Said { code, words, asked }
    }

    /// Whether another server of the directory may do better.
    pub(crate) fn is_of_one_server(&self) -> bool {
        match self {
            Failure::Said { code, .. } => PASSING.contains(code),
            Failure::Refers | Failure::Wrong(_) => false,
            _ => true,
        }
    }

    /// As the model has it.
    pub(crate) fn fault(self) -> Fault {
        let told = self.to_string();
        let passing = match self {
            Failure::Broken(_) | Failure::Late | Failure::Garbled(_) => true,
            Failure::Said { code, .. } => PASSING.contains(&code),
            Failure::TooMuch(_) | Failure::Refers | Failure::Untrusted(_) | Failure::Wrong(_) => false,
        };
        if passing { Fault::passing(CODE, told) } else { Fault::refused(CODE, told) }
    }
}

impl Failing for Failure {
    fn is_broken(&self) -> bool {
        matches!(self, Failure::Broken(_))
    }

    fn ends_others(&self) -> bool {
        self.is_of_one_server()
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Broken(what) => write!(f, "the directory cannot be reached: {what}"),
            Failure::Late => f.write_str("the directory did not answer in time"),
            Failure::Garbled(what) => write!(f, "what answers is no directory, or a broken one: it sent {what}"),
            Failure::TooMuch(what) => write!(f, "the directory sent too much: {what}"),
            Failure::Said { code, words, asked } => {
                write!(f, "the directory refused {asked} with code {code}")?;
                if let Some((_, told)) = CODES.iter().find(|(known, _)| known == code) {
                    write!(f, ": {told}")?;
                }
                if words.is_empty() { Ok(()) } else { write!(f, " (its words: {words})") }
            }
            Failure::Refers => f.write_str(
                "the directory refers to another server, and referrals are not followed: part of the answer would be missing; choose bases that it holds itself",
            ),
            Failure::Untrusted(what) => write!(f, "the connection is not secure: {what}"),
            Failure::Wrong(what) => f.write_str(what),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        use std::io::ErrorKind::{TimedOut, WouldBlock};
        let of_tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match (of_tls, error.kind()) {
            (Some(rustls::Error::InvalidCertificate(why)), _) => {
                Failure::Untrusted(format!("the certificate of the directory is not accepted: {why}"))
            }
            (Some(other), _) => Failure::Broken(format!("TLS: {other}")),
            (None, TimedOut | WouldBlock) => Failure::Late,
            (None, _) => Failure::Broken(error.to_string()),
        }
    }
}
