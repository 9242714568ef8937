//! What an authority promises (`crates/contract/src/authority.rs`).

use ingather_contract::authority::{Answer, Authority, AuthorityKind};
use ingather_model::access::Tokens;
use ingather_model::fault::Fault;

use super::secrets::secrets;
use super::{Breaches, call, must_be_none};

/// An authority with somebody in it.
pub struct AuthoritySample<'a> {
    /// Settings that open it.
    pub settings: serde_json::Value,
    /// Somebody whom it knows, and tokens that they hold.
    pub known: (&'a str, &'a [&'a str]),
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
    let faults = |settings: &serde_json::Value| match (kind.open)(settings) {
        Ok(authority) => {
            let checked = authority.check(&call()).err();
            checked.into_iter().chain(authority.tokens(&call(), sample.known.0).err()).collect()
        }
        Err(fault) => vec![fault],
    };
    secrets(&(kind.schema)(), &sample.settings, &faults, &mut found);
    let authority = match (kind.open)(&sample.settings) {
        Ok(authority) => authority,
        Err(fault) => {
            found.0.push(format!("it does not open: {fault}"));
            return found.0;
        }
    };
    let authority = authority.as_ref();
    let checked = authority.check(&call());
    found.unless(checked.is_ok(), || format!("check fails on an authority that answers: {checked:?}"));
    let (user, tokens) = sample.known;
    match authority.tokens(&call(), user) {
        Ok(Answer::Known(held)) => {
            for token in tokens.iter().filter(|token| !held.holds(token)) {
                found.0.push(format!("{user} does not hold {token}"));
            }
            found.unless(held.are_whole(), || {
                format!("nothing hides tokens of {user}, and the answer is not whole")
            });
            let again = authority.tokens(&call(), user);
            found.unless(again.as_ref() == Ok(&Answer::Known(held.clone())), || {
                format!("{user} holds other tokens the second time")
            });
            if let Some(cut) = sample.cut {
                cut();
                in_part(authority.tokens(&call(), user), user, &held, &mut found);
            }
        }
        other => found.0.push(format!("{user} is known, and the answer is {other:?}")),
    }
    strangers(authority, user, &mut found);
    if let Some(obstruct) = sample.obstruct {
        obstruct();
        let checked = authority.check(&call());
        found.unless(checked.is_err(), || format!("it cannot be asked, and check says {checked:?}"));
        let answer = authority.tokens(&call(), user);
        found.unless(!matches!(answer, Ok(Answer::Known(_) | Answer::Unknown)), || {
            format!("it cannot be asked, and answers {answer:?}")
        });
    }
    found.0
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
fn strangers(authority: &dyn Authority, user: &str, found: &mut Breaches) {
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
        let answer = authority.tokens(&call(), name);
        let shown: String = name.chars().take(40).collect();
        found.unless(!matches!(answer, Ok(Answer::Known(_))), || {
            format!("{shown:?} is nobody, and the answer is {answer:?}")
        });
    }
}
