//! `ingather authority …`: who says which access tokens somebody holds.

use ingather_operations::access::authorities::{
    DELETE, DeleteAuthority, FORGET, ForgetAnswers, LIST, ListAuthorities, ListedAuthority,
};

use crate::arguments::{Authority, Global};
use crate::exit::{self, Result};
use crate::show;
use crate::wiring::{Program, caller};

pub(crate) fn run(global: &Global, command: Authority) -> Result<u8> {
    let program = Program::of(global)?;
    match command {
        Authority::List => list(&program),
        Authority::Forget { user, domain } => {
            let forgotten = FORGET.call(&program.context(), &caller(), ForgetAnswers { user, domain })?;
            if global.json {
                show::answer(&forgotten);
            } else if !global.quiet {
                show::stderr(&format!(
                    "forgot {} of authorities; they are asked again",
                    answers(forgotten.answers)
                ));
            }
            Ok(exit::DONE)
        }
        Authority::Delete { name } => {
            let deleted = DELETE.call(&program.context(), &caller(), DeleteAuthority { name })?;
            if global.json {
                show::answer(&deleted);
            } else if !global.quiet {
                show::stderr(&format!("nobody holds a token from {} any more", deleted.name));
            }
            Ok(exit::DONE)
        }
    }
}

fn answers(count: u64) -> String {
    if count == 1 { "one answer".to_owned() } else { format!("{count} answers") }
}

fn list(program: &Program<'_>) -> Result<u8> {
    let found = LIST.call(&program.context(), &caller(), ListAuthorities {})?;
    let code = match found.authorities.iter().all(|one| one.can_be_asked) {
        true => exit::DONE,
        false => exit::HAS_FAILURES,
    };
    if program.global.json {
        found.authorities.iter().for_each(show::answer);
        return Ok(code);
    }
    let row = |one: &ListedAuthority| {
        let ListedAuthority { name, kind, group, domain, can_be_asked, says } = one;
        let word = if *can_be_asked { "yes" } else { "no" };
        let named = |name: &String| if name.is_empty() { "-".to_owned() } else { name.clone() };
        vec![name.clone(), kind.clone(), named(group), named(domain), word.to_owned(), says.clone()]
    };
    let rows: Vec<Vec<String>> = found.authorities.iter().map(row).collect();
    show::table(&["AUTHORITY", "KIND", "GROUP", "DOMAIN", "ANSWERS", ""], &rows);
    Ok(code)
}
