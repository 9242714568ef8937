//! An authority: says which access tokens a user holds (coverage S3.253–S3.267).

use std::sync::Arc;

use ingather_model::access::Tokens;
use ingather_model::fault::Fault;

use crate::call::CallContext;
use crate::settings::Schema;

/// A kind of authority, as registered.
pub struct AuthorityKind {
    /// Name in definitions, such as `unix`.
    pub name: &'static str,
    /// One sentence for lists and manuals.
    pub about: &'static str,
    /// Schema of its settings.
    pub schema: fn() -> Schema,
    /// Opens it; settings were checked before.
    pub open: fn(settings: &serde_json::Value) -> Result<Arc<dyn Authority>, Fault>,
}

/// What an authority answers about a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The user is known and holds these tokens; where not all of them could be asked for, they say so
    /// ([`Tokens::not_whole`]), else a token is missing that denies.
    Known(Tokens),
    /// There is no such user.
    Unknown,
    /// The user is known but may not enter.
    Unauthorized,
}

/// One authority, opened. Calls may come from several threads at once.
pub trait Authority: Send + Sync {
    /// Checks that it can be asked; the sentence says what was found.
    ///
    /// # Errors
    /// What [`Authority::tokens`] would answer about everybody.
    fn check(&self, call: &CallContext) -> Result<String, Fault>;

    /// The tokens of the user named `user`.
    ///
    /// # Errors
    /// A fault when it cannot be asked: the caller must then treat the user as seeing nothing of what it rules.
    fn tokens(&self, call: &CallContext, user: &str) -> Result<Answer, Fault>;
}
