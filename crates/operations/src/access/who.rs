//! Who somebody is, for a search or a question about access.

use ingather_contract::authority::Answer;
use ingather_engine::authorities::{self, Said, User, Which};
use ingather_model::access::identity::Identity;

use crate::context::Context;
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
