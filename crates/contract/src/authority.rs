//! An authority: says which access tokens a user holds (coverage S3.253–S3.267), and some of them by what people present who they are
//! (decision 0046).

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
    /// Opens it; settings were checked before. It connects to nothing yet. `pushed`: whom somebody pushes into it; none of one that is only
    /// tried, or that nobody has declared.
    pub open: fn(
        settings: &serde_json::Value,
        pushed: Option<Arc<dyn Pushed>>,
    ) -> Result<Arc<dyn Authority>, Fault>,
}

/// People and groups that somebody pushes into one authority (decision 0048). The program keeps them: an authority only looks.
pub trait Pushed: Send + Sync {
    /// The person of this name, and groups that they are in, directly or by other groups, all as they are at one moment. No more than `most`
    /// groups are looked for.
    ///
    /// # Errors
    /// When they cannot be read.
    fn person(&self, name: &str, most: usize) -> Result<Option<PushedPerson>, Fault>;

    /// How many people and how many groups there are.
    ///
    /// # Errors
    /// As [`Pushed::person`].
    fn count(&self) -> Result<(u64, u64), Fault>;
}

/// A person who was pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushedPerson {
    /// What they are, with what they are called.
    pub called: PushedNames,
    /// Whether they may enter.
    pub active: bool,
    /// Groups that they are in, each once.
    pub groups: Vec<PushedNames>,
    /// Whether these are all.
    pub whole: bool,
}

/// What a person or a group that was pushed is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushedNames {
    /// What the program has called it; nothing else is ever called so.
    pub id: String,
    /// The name that it was pushed with.
    pub name: String,
    /// What whoever pushes calls it, where they have said so.
    pub external_id: Option<String>,
}

/// What a person presents to say who they are, such as a token of OpenID Connect: whoever has it is that person to all who believe it. So
/// nothing shows it, `Debug` included.
#[derive(Clone)]
pub struct Presented(Arc<str>);

impl Presented {
    /// What was presented. Nobody has looked at it so far.
    pub fn new(token: &str) -> Presented {
        Presented(token.into())
    }

    /// The token, for whoever verifies it.
    pub fn token(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Presented {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Presented(..)")
    }
}

/// Whom an authority is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Account<'a> {
    /// The name, as the mapping of the authority spells it. It comes from whoever asks: an authority takes it as data, whatever is in it.
    /// Where this authority has said by [`Authority::whose`] whose token it is, the name is the one that it said.
    pub name: &'a str,
    /// What the person presented to this authority, where they did; an authority believes nothing of it that it does not verify, this time
    /// as well.
    pub presented: Option<&'a Presented>,
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

/// Code of a fault that is about what somebody presented, or did not present, and not about the authority: it is asked about others as before.
pub const OF_WHAT_IS_PRESENTED: &str = "presented";

/// Whose a token is that somebody presented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Not one of this authority: it may be that of another one.
    NotOurs,
    /// One of this authority, and it does not count; a sentence without anything of the token that is secret.
    Refused(String),
    /// That of this person.
    Person {
        /// Their name: what [`Authority::tokens`] is asked about with this token.
        name: String,
        /// It does not count from then on, milliseconds since 1970 UTC.
        until: i64,
    },
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

    /// Whose token this is; an authority that knows people by name alone has none. It is asked before anybody knows who asks, so it costs
    /// little for what is no token of this authority, and waits no longer than `within`.
    ///
    /// # Errors
    /// A fault when nobody can tell now, such as where a provider is away that has the keys.
    fn whose(&self, _call: &CallContext, _presented: &Presented, _within: Duration) -> Result<Whose, Fault> {
        Ok(Whose::NotOurs)
    }
}
