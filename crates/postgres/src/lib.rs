//! How a PostgreSQL server is reached, and who asks it: the URL, what the environment and a password file add to it, and TLS.
//!
//! Apart from the store, for an authority asks databases as well. What is asked is theirs alone.
#![warn(missing_docs)]

mod login;
mod tls;

pub use login::Login;
pub use tls::verified;
pub use tokio_postgres_rustls::MakeRustlsConnect;

/// Why a server cannot be asked with what was said about it: a sentence that says what to write instead. It never repeats a URL, which may
/// hold a password.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

type Result<T> = std::result::Result<T, Refused>;
