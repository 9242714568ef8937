//! `ingather why` and `ingather tokens`: what a user may see, and what decides.

use std::ffi::OsStr;

use ingather_operations::access::{self, AskTokens, AskWhy, WhyInJob};

use super::lookup;
use crate::arguments::Global;
use crate::exit::{self, Result};
use crate::show;
use crate::wiring::{Program, caller};

pub(crate) fn tokens(global: &Global, user: &str) -> Result<u8> {
    let request = AskTokens { user: user.to_owned() };
    let held = access::TOKENS.call(&Program::nowhere(global)?.context(), &caller(), request)?;
    if global.json {
        show::answer(&held);
    } else {
        held.tokens.iter().for_each(|token| show::line(token));
        if !held.whole {
            show::stderr(&format!(
                "not all tokens of {user} could be asked for, so that whatever denies somebody before it allows {user} stays \
                 hidden from searches as {user}; see whether `id {user}` lists all groups"
            ));
        }
    }
    Ok(exit::DONE)
}

pub(crate) fn why(global: &Global, user: &str, typed: &OsStr) -> Result<u8> {
    let program = Program::of(global)?;
    let (document, path) = lookup::typed(typed);
    let request = AskWhy { user: user.to_owned(), document, path };
    let why = access::WHY.call(&program.context(), &caller(), request)?;
    if global.json {
        why.answers.iter().for_each(show::answer);
        return Ok(exit::DONE);
    }
    // What is nowhere needs no answer for each job.
    let is_nowhere = |answer: &WhyInJob| matches!(answer.code.as_str(), "absent" | "outside");
    if why.answers.len() > 1 && why.answers.iter().all(is_nowhere) {
        show::line(&format!("user {user} cannot find `{}`: it does not exist in any job", why.document));
    } else {
        why.answers.iter().for_each(tell);
    }
    if let Some(file) = &why.file {
        show::line(&format!("  file       {file}"));
    }
    Ok(exit::DONE)
}

fn tell(answer: &WhyInJob) {
    show::line(&answer.cause);
    show::line(&format!("  document   {}", answer.document));
    show::line(&format!("  job        {}", answer.job));
    for layer in &answer.layers {
        let word = if layer.admits { "allows" } else { "denies" };
        show::line(&format!("  {word:<9}  {}", layer.by));
    }
}
