//! Who asks a service (decision 0025): somebody with an API key, a user of this machine over its socket, somebody whom a
//! reverse proxy vouches for (decision 0035), or whoever presents a token of a provider (decision 0046). What they ask for is done
//! with their roles and as their account, and changes are put on record before they are done.

use std::os::unix::fs::MetadataExt;

use ingather_contract::authority::Answer;
pub use ingather_contract::authority::Presented;
use ingather_engine::authorities::{ByToken, User, Which};
use ingather_model::access::identity::Identity;
use ingather_model::access::unix_user;
use ingather_store::{Durability, audit as stored};
use serde_json::Value;

use crate::access::who;
use crate::callers::answers_log::{self, Answered, AnsweredUser};
use crate::callers::api_keys::{self, ApiKey, KeyAccount};
use crate::callers::audit;
use crate::context::{Caller, Context, Places};
use crate::operation::{Callable, Effect, OwnSources, Role};
use crate::problem::{Code, Problem, Result};

/// Operations whose answers say who may see what, or show it.
const ABOUT_ACCESS: [&str; 4] = ["access.filter", "access.tokens", "access.why", "search"];
/// What whoever presents a token may also ask about themselves.
const ABOUT_THEMSELVES: [&str; 3] = ["access.filter", "access.tokens", "access.why"];

/// Who asks, as a service knows them.
#[derive(Clone, Debug)]
pub struct Asker {
    /// As the record of changes names them.
    pub name: String,
    /// What they may do.
    pub roles: Vec<Role>,
    /// The public part of the key that they ask by.
    pub key: Option<String>,
    account: Account,
    /// Into which sources alone they may push; none where all are theirs.
    sources: Option<Vec<String>>,
}

#[derive(Clone, Debug)]
enum Account {
    /// Sees only what is open to everybody.
    Nobody,
    Named(KeyAccount),
    /// By the name that a reverse proxy vouches for.
    Vouched(String),
    /// By a token, which is verified anew at each question.
    ByToken(Box<ByToken>),
    /// A user of this machine, as its kernel says.
    User(u32),
}

impl Asker {
    /// Whoever presents this key.
    ///
    /// # Errors
    /// `Unauthenticated` when it is none.
    pub fn by_key(context: &Context<'_>, key: &str) -> Result<Asker> {
        Ok(Asker::of(api_keys::presented(context, key)?))
    }

    /// Whoever has presented the key of this public part before, or was let in with it by a login link.
    ///
    /// # Errors
    /// `Unauthenticated` when it is none any more.
    pub fn let_in(context: &Context<'_>, id: &str) -> Result<Asker> {
        Ok(Asker::of(api_keys::by_id(context, id)?))
    }

    fn of(key: ApiKey) -> Asker {
        let account = key.account.map_or(Account::Nobody, Account::Named);
        let name = format!("key {}", key.name);
        Asker { name, roles: key.roles, key: Some(key.id), account, sources: key.sources }
    }

    /// Whom a reverse proxy vouches for: they search, and nothing else, whatever the account of that name may do elsewhere.
    pub fn vouched_for(name: &str) -> Asker {
        let account = Account::Vouched(name.to_owned());
        Asker {
            name: format!("person {name}"),
            roles: vec![Role::Searcher],
            key: None,
            account,
            sources: None,
        }
    }

    /// Whoever presents this token: they search, and nothing else, as those do whom a proxy vouches for.
    ///
    /// # Errors
    /// `InvalidToken` where it does not count, `AuthorityAway` where nobody can tell now.
    pub fn by_token(context: &Context<'_>, presented: &Presented) -> Result<Asker> {
        let by = who::by_token(context, presented)?;
        // The same name is somebody else where another authority says it.
        let name = format!("person {} by {}", by.user.name, by.authority);
        let account = Account::ByToken(Box::new(by));
        Ok(Asker { name, roles: vec![Role::Searcher], key: None, account, sources: None })
    }

    /// A user of this machine: the owner of the data directory may do everything, everybody else searches as themselves.
    ///
    /// # Errors
    /// When nobody can tell whose the data directory is.
    pub fn of_this_machine(context: &Context<'_>, user: u32) -> Result<Asker> {
        let data = context.host.data();
        let owner = std::fs::metadata(data).map_err(|error| Problem::of_path(data, &error))?.uid();
        let role = if user == owner { Role::Admin } else { Role::Searcher };
        let account = Account::User(user);
        Ok(Asker { name: format!("user {user}"), roles: vec![role], key: None, account, sources: None })
    }

    /// Whether they have a role.
    pub fn has(&self, role: Role) -> bool {
        self.caller(&|| Ok(Identity::anonymous())).has(role)
    }

    /// Refuses whoever has not this role, for `what` they ask.
    ///
    /// # Errors
    /// `Forbidden`.
    pub fn needs(&self, role: Role, what: &str) -> Result<()> {
        self.caller(&|| Ok(Identity::anonymous())).needs(role, what)
    }

    /// Them as nobody's account, for questions about roles alone.
    fn caller<'a>(&'a self, identity: &'a dyn Fn() -> Result<Identity>) -> Caller<'a> {
        let places = Places::Below(&[]);
        let sources = self.own_sources();
        Caller { name: &self.name, roles: &self.roles, identity, places, themselves: None, sources }
    }

    fn own_sources(&self) -> OwnSources<'_> {
        self.sources.as_deref().map_or(OwnSources::All, OwnSources::Only)
    }

    /// Whether they may ask for it, by their role or since it is about themselves.
    pub fn may(&self, operation: &dyn Callable, request: &Value) -> bool {
        self.has(operation.role) || self.themselves(operation, request).is_some()
    }

    /// Who they are by their token, where they ask about themselves alone, which needs another role for anybody else.
    fn themselves(&self, operation: &dyn Callable, request: &Value) -> Option<&ByToken> {
        let Account::ByToken(by) = &self.account else { return None };
        let is = |field: &str, own: &str| request[field].as_str().unwrap_or_default() == own;
        let is_own = is("user", &by.user.name) && is("domain", &by.user.domain);
        (ABOUT_THEMSELVES.contains(&operation.name) && is_own).then_some(by)
    }

    /// Whose access tokens count in their searches; none where only what is open to everybody is found.
    pub fn account(&self) -> Option<String> {
        match &self.account {
            Account::Nobody => None,
            Account::Named(account) => Some(account.name.clone()),
            Account::Vouched(name) => Some(name.clone()),
            Account::ByToken(by) => Some(by.user.name.clone()),
            Account::User(number) => Some(number.to_string()),
        }
    }

    /// Does what they ask for; a change is on record before it is done, and what cannot be put on record is not done.
    ///
    /// # Errors
    /// What the operation says, or what hinders the record.
    pub fn ask(
        &self,
        context: &Context<'_>,
        operation: &dyn Callable,
        request: Value,
        each: &mut dyn FnMut(Value),
    ) -> Result<Value> {
        let identity = || self.identity(context);
        let places = match self.account {
            // The owner of the data directory could run the program themselves.
            Account::User(_) => Places::Any,
            Account::Nobody | Account::Named(_) | Account::Vouched(_) | Account::ByToken(_) => {
                Places::Below(context.host.roots())
            }
        };
        let themselves = self.themselves(operation, &request);
        let also: &[Role] = if themselves.is_some() { &[operation.role] } else { &[] };
        let roles = [&self.roles, also].concat();
        let (name, sources) = (self.name.as_str(), self.own_sources());
        let caller = Caller { name, roles: &roles, identity: &identity, places, themselves, sources };
        // What was refused for want of a role is no change: whoever may change nothing would push what others did out of the record.
        if operation.effect != Effect::Changes || !caller.has(operation.role) {
            return match context.host.answers_log().filter(|_| ABOUT_ACCESS.contains(&operation.name)) {
                None => operation.call_json(context, &caller, request, each),
                Some(log) => {
                    let (users, everything) = self.asks_about(&request);
                    let answer = operation.call_json(context, &caller, request, each);
                    let outcome = answer.as_ref().map_or_else(|problem| problem.code.row().word, |_| "done");
                    let digest =
                        answer.as_ref().ok().map(|answer| answers_log::digest(answer.to_string().as_bytes()));
                    let (at, caller, operation) = (context.now(), self.name.as_str(), operation.name);
                    log.add(&Answered { at, caller, operation, users: &users, everything, outcome, digest })?;
                    answer
                }
            };
        }
        let number = self.note(context, operation.name, &audit::about(operation.name, &request))?;
        let answer = operation.call_json(context, &caller, request, each);
        let outcome = answer.as_ref().map_or_else(|problem| problem.code.row().word, |_| "done");
        let writing = context.host.write_beside("record of changes")?;
        writing.store.write(Durability::Synced, |sql| {
            writing.lease.fence(sql)?;
            stored::end(sql, number, outcome)
        })?;
        answer
    }

    /// Whom a question about access is about, and whether it is about everything.
    fn asks_about(&self, request: &Value) -> (Vec<AnsweredUser>, bool) {
        let text = |field: &str| request[field].as_str();
        let user = match (text("user").or(text("as")), &self.account) {
            _ if request["all"].as_bool() == Some(true) => return (Vec::new(), true),
            (Some(user), _) => AnsweredUser::new(user, text("domain").unwrap_or_default()),
            (None, Account::Nobody) => return (Vec::new(), false),
            (None, Account::Named(account)) => AnsweredUser::new(&account.name, &account.domain),
            (None, Account::Vouched(name)) => AnsweredUser::new(name, ""),
            (None, Account::ByToken(by)) => AnsweredUser::new(&by.user.name, &by.user.domain),
            (None, Account::User(number)) => AnsweredUser::new(&number.to_string(), ""),
        };
        (vec![user], false)
    }

    /// Puts a change on record that is about to be done; its number.
    fn note(&self, context: &Context<'_>, operation: &str, about: &str) -> Result<i64> {
        let writing = context.host.write_beside("record of changes")?;
        Ok(writing.store.write(Durability::Synced, |sql| {
            writing.lease.fence(sql)?;
            stored::begin(sql, context.now(), &self.name, operation, about)
        })?)
    }

    fn identity(&self, context: &Context<'_>) -> Result<Identity> {
        match &self.account {
            Account::Nobody => Ok(Identity::anonymous()),
            Account::Named(account) => who::of_name(context, &account.name, &account.domain),
            Account::Vouched(name) => vouched(context, name),
            Account::ByToken(by) => who::of_token(context, by),
            Account::User(number) => {
                let identity = who::of_number(context, *number)?;
                // A user may have a name that is the number of another one.
                if !identity.holds(&unix_user(*number)) {
                    let sentence = format!("the user {number} has no account of their own on this machine");
                    return Err(Problem::new(Code::NoSuchUser, sentence));
                }
                Ok(identity)
            }
        }
    }
}

/// Somebody of a name that a reverse proxy vouches for; where no authority knows it, nobody in particular.
fn vouched(context: &Context<'_>, name: &str) -> Result<Identity> {
    // The authority of this machine takes numbers for users, too: whoever may choose a name elsewhere would choose whose documents they find.
    let user = User { name: name.to_owned(), domain: String::new() };
    let said = who::asked(context, std::slice::from_ref(&user), Which::ByNameAlone)?;
    if said.iter().all(|said| matches!(said.answer.as_deref(), Ok(Answer::Unknown))) {
        return Ok(Identity::anonymous());
    }
    let identity = who::known(&user, &said)?;
    match identity.holds(&unix_user(0)) {
        true => Err(Problem::new(
            Code::NotVouched,
            format!(
                "`{name}` finds everything on this machine, so no proxy vouches for that; ask by an API key or over the socket"
            ),
        )),
        false => Ok(identity),
    }
}
