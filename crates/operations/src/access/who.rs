//! Who somebody is, for a search or a question about access.

use ingather_contract::authority::{Answer, OF_WHAT_IS_PRESENTED, Presented};
use ingather_engine::authorities::{self, ByToken, Said, User, Verified, Which};
use ingather_model::access::identity::Identity;
use ingather_model::access::unix_user;

use crate::context::{Caller, Context};
use crate::problem::{Code, Problem, Result};

/// What all authorities say about names of one person.
///
/// # Errors
/// What the inventory says.
pub(crate) fn asked(context: &Context<'_>, users: &[User], which: Which) -> Result<Vec<Said>> {
    let reader = context.host.reader()?;
    let of = (reader.as_ref(), &context.registry);
    Ok(context.host.process().authorities.ask(of, &context.call(), (users, which))?)
}

/// Whoever presents this token.
///
/// # Errors
/// `InvalidToken` where it does not count, `AuthorityAway` where nobody can tell now.
pub(crate) fn by_token(context: &Context<'_>, presented: &Presented) -> Result<ByToken> {
    let reader = context.host.reader()?;
    let of = (reader.as_ref(), &context.registry);
    match context.host.process().authorities.whose(of, &context.call(), presented)? {
        Verified::Person(by) => Ok(by),
        Verified::Refused(why) => Err(Problem::new(Code::InvalidToken, why)),
        Verified::Nobodys => Err(Problem::new(
            Code::InvalidToken,
            "the token is of no issuer that this service knows; take one of a provider that an authority is declared for",
        )),
        // Who that is nobody knows so far: what authorities there are, and where, is told to the log alone.
        Verified::Unreachable(authority, reason) => Err(Problem::new(
            Code::AuthorityAway,
            "whose token it is cannot be told now; ask again later, or see `ingather authority list`",
        )
        .logged(format!("the authority {authority} says that {}", reason.message))),
    }
}

/// What all authorities of their domain say about somebody who has presented a token.
///
/// # Errors
/// `Forbidden` for root, by whatever name: who is known by a provider finds everything on this machine else. What the inventory says.
pub(crate) fn asked_by_token(context: &Context<'_>, by: &ByToken) -> Result<Vec<Said>> {
    let reader = context.host.reader()?;
    let of = (reader.as_ref(), &context.registry);
    let said = context.host.process().authorities.ask_by_token(of, &context.call(), by)?;
    match authorities::identity(&said).holds(&unix_user(0)) {
        true => Err(Problem::new(
            Code::Forbidden,
            format!(
                "`{}` finds everything on this machine, and no token is enough for that; ask by an API key or over the socket",
                by.user.name
            ),
        )),
        false => Ok(said),
    }
}

/// What all authorities say about a user whom a caller asks about: about the caller themselves by the token that they presented.
///
/// # Errors
/// `Forbidden` where they may ask about themselves alone; what the inventory says.
pub(crate) fn asked_by(context: &Context<'_>, caller: &Caller<'_>, user: &User) -> Result<Vec<Said>> {
    match caller.themselves {
        None => asked(context, std::slice::from_ref(user), Which::All),
        Some(by) if by.user == *user => asked_by_token(context, by),
        Some(_) => Err(Problem::new(Code::Forbidden, "a token asks about whose it is alone")),
    }
}

/// Somebody by name.
///
/// # Errors
/// `NoSuchUser` where every authority says that there is nobody of that name, or that they may not enter; where none of them knows, and one
/// could not be asked, why not.
pub(crate) fn of_name(context: &Context<'_>, name: &str, domain: &str) -> Result<Identity> {
    let user = User { name: name.to_owned(), domain: domain.to_owned() };
    let said = asked(context, std::slice::from_ref(&user), Which::All)?;
    known(&user, &said)
}

/// Whoever has presented a token.
///
/// # Errors
/// As [`of_name`] and [`asked_by_token`]; where it is the provider that does not say what the person holds, `InvalidToken` when it tells nothing
/// about whoever has such a token, else `AuthorityAway`.
pub(crate) fn of_token(context: &Context<'_>, by: &ByToken) -> Result<Identity> {
    let said = asked_by_token(context, by)?;
    let own = said.iter().find(|one| one.authority == by.authority).and_then(|one| one.answer.as_ref().err());
    known(&by.user, &said).map_err(|problem| match own {
        None => problem,
        Some(reason) if reason.code == OF_WHAT_IS_PRESENTED => {
            Problem::new(Code::InvalidToken, reason.message.clone())
        }
        Some(_) => Problem::new(Code::AuthorityAway, problem.to_string()),
    })
}

/// A user of this machine, as its kernel names them.
///
/// # Errors
/// As [`of_name`].
pub(crate) fn of_number(context: &Context<'_>, number: u32) -> Result<Identity> {
    let user = User { name: number.to_string(), domain: String::new() };
    let said = asked(context, std::slice::from_ref(&user), Which::Machine)?;
    known(&user, &said)
}

/// Who that is by what authorities said, where one of them knows.
pub(crate) fn known(user: &User, said: &[Said]) -> Result<Identity> {
    let knows = |said: &Said| matches!(said.answer.as_deref(), Ok(Answer::Known(_)));
    if said.iter().any(knows) {
        return Ok(authorities::identity(said));
    }
    let User { name, domain } = user;
    if let Some((authority, reason)) =
        said.iter().find_map(|one| Some((&one.authority, one.answer.as_ref().err()?)))
    {
        // Who fails alone has always said so in its own words.
        let sentence = match said.len() {
            1 => reason.message.clone(),
            _ => format!("no authority knows `{name}`, and {authority} cannot be asked: {}", reason.message),
        };
        return Err(Problem::unable(sentence));
    }
    if said.iter().any(|said| matches!(said.answer.as_deref(), Ok(Answer::Unauthorized))) {
        return Err(Problem::new(Code::NoSuchUser, format!("the user `{name}` may not enter")));
    }
    let sentence = match said {
        [] => format!(
            "no authority knows users of the domain `{domain}`; `ingather authority list` shows those there are"
        ),
        [one] if one.kind == authorities::MACHINE => {
            format!("there is no user `{name}` on this machine; `getent passwd` lists those there are")
        }
        _ => format!("no authority knows a user `{name}`; `ingather tokens {name}` shows how each was asked"),
    };
    Err(Problem::new(Code::NoSuchUser, sentence))
}
