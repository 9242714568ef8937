//! An authority: says which access tokens a user holds (coverage S3.253–S3.267).

use std::sync::Arc;
use std::time::Duration;

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
    /// How long an answer about somebody whom it knows is kept where its definition says nothing of that; none: not at all,
    /// since it costs next to nothing and changes are to count at once.
    pub kept: Duration,
    /// Opens it; settings were checked before. It connects to nothing yet.
    pub open: fn(settings: &serde_json::Value) -> Result<Arc<dyn Authority>, Fault>,
}

/// Whom an authority is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Account<'a> {
    /// The name, as the mapping of the authority spells it. It comes from whoever asks: an authority takes it as data, whatever is in it.
    pub name: &'a str,
    /// How long the answer is waited for; a later one counts as a fault. An authority that waits for others waits no longer.
    pub within: Duration,
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

    /// The tokens of a user.
    ///
    /// # Errors
    /// A fault when it cannot be asked: the caller must then treat the user as seeing nothing of what it rules.
    fn tokens(&self, call: &CallContext, account: &Account<'_>) -> Result<Answer, Fault>;
}
