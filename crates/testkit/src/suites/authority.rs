//! What an authority promises (`crates/contract/src/authority.rs`).

use std::time::Duration;

use ingather_contract::authority::{Account, Answer, Authority, AuthorityKind, Presented, Whose};
use ingather_model::access::Tokens;
use ingather_model::fault::Fault;

use super::secrets::secrets;
use super::{Breaches, call, must_be_none};

/// An authority with somebody in it.
pub struct AuthoritySample<'a> {
    /// Settings that open it.
    pub settings: serde_json::Value,
    /// Somebody whom it knows, and tokens that they hold; none where it knows nobody.
    pub known: Option<(&'a str, &'a [&'a str])>,
    /// The token by which it knows them; none where it knows people by name.
    pub presented: Option<&'a str>,
    /// Makes some of their tokens unreadable, where the suite can.
    pub cut: Option<&'a dyn Fn()>,
    /// Makes it unreachable, where the suite can; asked last.
    pub obstruct: Option<&'a dyn Fn()>,
}

/// Checks an authority.
///
/// # Panics
/// When a promise is broken, with one line for each.
pub fn authority(kind: &AuthorityKind, sample: &AuthoritySample<'_>) {
    must_be_none(kind.name, &authority_breaches(kind, sample));
}

/// As [`authority`], for tests of the suite itself.
pub fn authority_breaches(kind: &AuthorityKind, sample: &AuthoritySample<'_>) -> Vec<String> {
    let mut found = Breaches::default();
    let somebody = sample.known.map_or("anna", |(user, _)| user);
    let token = sample.presented.map(Presented::new);
    let asked = |authority: &dyn Authority, name: &str| asked(authority, name, token.as_ref());
    let faults = |settings: &serde_json::Value| match (kind.open)(settings, None) {
        Ok(authority) => {
            let checked = authority.check(&call()).err();
            checked.into_iter().chain(asked(authority.as_ref(), somebody).err()).collect()
        }
        Err(fault) => vec![fault],
    };
    secrets(&(kind.schema)(), &sample.settings, &faults, &mut found);
    let authority = match (kind.open)(&sample.settings, None) {
        Ok(authority) => authority,
        Err(fault) => {
            found.0.push(format!("it does not open: {fault}"));
            return found.0;
        }
    };
    let authority = authority.as_ref();
    let checked = authority.check(&call());
    found.unless(checked.is_ok(), || format!("check fails on an authority that answers: {checked:?}"));
    match sample.known {
        Some(known) => knows((authority, token.as_ref()), known, sample.cut, &mut found),
        None => {
            let answer = asked(authority, somebody);
            found.unless(answer == Ok(Answer::Unknown), || {
                format!("it knows nobody, and the answer is {answer:?}")
            });
        }
    }
    strangers((authority, token.as_ref()), somebody, &mut found);
    presents(authority, somebody, sample.presented, &mut found);
    if let Some(obstruct) = sample.obstruct {
        obstruct();
        let checked = authority.check(&call());
        found.unless(checked.is_err(), || format!("it cannot be asked, and check says {checked:?}"));
        let answer = asked(authority, somebody);
        found.unless(!matches!(answer, Ok(Answer::Known(_) | Answer::Unknown)), || {
            format!("it cannot be asked, and answers {answer:?}")
        });
    }
    found.0
}

/// What it says of somebody whom it knows.
fn knows(
    (authority, token): (&dyn Authority, Option<&Presented>),
    (user, tokens): (&str, &[&str]),
    cut: Option<&dyn Fn()>,
    found: &mut Breaches,
) {
    let asked = |authority: &dyn Authority, name: &str| asked(authority, name, token);
    match asked(authority, user) {
        Ok(Answer::Known(held)) => {
            for token in tokens.iter().filter(|token| !held.holds(token)) {
                found.0.push(format!("{user} does not hold {token}"));
            }
            found.unless(held.are_whole(), || {
                format!("nothing hides tokens of {user}, and the answer is not whole")
            });
            let again = asked(authority, user);
            found.unless(again.as_ref() == Ok(&Answer::Known(held.clone())), || {
                format!("{user} holds other tokens the second time")
            });
            if let Some(cut) = cut {
                cut();
                in_part(asked(authority, user), user, &held, found);
            }
        }
        other => found.0.push(format!("{user} is known, and the answer is {other:?}")),
    }
}

const WITHIN: Duration = Duration::from_secs(10);

fn asked(authority: &dyn Authority, name: &str, presented: Option<&Presented>) -> Result<Answer, Fault> {
    authority.tokens(&call(), &Account { name, presented, within: WITHIN })
}

/// Whose it says tokens are, and what it makes of one that is missing or of nobody.
fn presents(authority: &dyn Authority, user: &str, token: Option<&str>, found: &mut Breaches) {
    let whose = |token: &str| authority.whose(&call(), &Presented::new(token), WITHIN);
    let is_by_token = token.is_some();
    let mut nobodys = vec![String::new(), ".".to_owned(), "a.b.c".to_owned(), "x".repeat(100_000)];
    if let Some(token) = token {
        let said = whose(token);
        let is_theirs = matches!(&said, Ok(Whose::Person { name, .. }) if name == user);
        found.unless(is_theirs, || format!("the token is that of {user}, and it says {said:?}"));
        let by_name = asked(authority, user, None);
        found.unless(!matches!(by_name, Ok(Answer::Known(_))), || {
            format!("{user} has presented nothing, and the answer is {by_name:?}")
        });
        let (half, rest) = token.split_at(token.len() / 2);
        nobodys.extend([half.to_owned(), rest.to_owned(), format!("{token}A"), token.to_uppercase()]);
    }
    for token in &nobodys {
        let shown: String = token.chars().take(40).collect();
        let said = whose(token);
        found.unless(!matches!(said, Ok(Whose::Person { .. })), || {
            format!("`{shown}` is the token of nobody, and it says {said:?}")
        });
        // Who is known by name is known whatever is presented.
        if is_by_token {
            let answer = asked(authority, user, Some(&Presented::new(token)));
            found.unless(!matches!(answer, Ok(Answer::Known(_))), || {
                format!("`{shown}` is the token of nobody, and the answer is {answer:?}")
            });
        }
    }
}

/// What an authority may answer that cannot read all tokens of somebody who holds `all`.
fn in_part(answer: Result<Answer, Fault>, user: &str, all: &Tokens, found: &mut Breaches) {
    let Ok(Answer::Known(part)) = answer else { return };
    let lacks = all.iter().any(|token| !part.holds(token));
    found.unless(lacks, || format!("the sample hides no token of {user}"));
    found.unless(!part.are_whole(), || {
        format!("tokens of {user} are missing, one of which may deny, and the answer is whole")
    });
    for token in part.iter().filter(|token| !all.holds(token)) {
        found.0.push(format!("{user} holds {token} only where not all tokens can be read"));
    }
}

/// Names that belong to nobody, some of them near to one that does.
fn strangers((authority, token): (&dyn Authority, Option<&Presented>), user: &str, found: &mut Breaches) {
    let near = [
        format!("{user}\0"),
        format!("{user}\n"),
        format!(" {user}"),
        format!("{user}:x"),
        format!("{user}/../{user}"),
        format!("--{user}"),
        format!("{user},nobody-of-this-name"),
    ];
    let far =
        ["", "nobody-of-this-name", "*", "%", ":", "../../etc/passwd", "-1", "\u{0}"].map(str::to_owned);
    let long = ["x".repeat(100_000)];
    for name in near.iter().chain(&far).chain(&long) {
        let answer = asked(authority, name, token);
        let shown: String = name.chars().take(40).collect();
        found.unless(!matches!(answer, Ok(Answer::Known(_))), || {
            format!("{shown:?} is nobody, and the answer is {answer:?}")
        });
    }
}
