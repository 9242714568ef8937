//! `ingather why`, `ingather tokens` and `ingather filter`: what a user may see, and what decides.

pub(super) mod authority;

use std::ffi::OsStr;

use ingather_operations::access::filter::{AskFilter, FILTER, Language};
use ingather_operations::access::{self, AskTokens, AskWhy, HeldInGroup, WhyInJob};

use super::lookup;
use crate::arguments::{EngineWord, Filter, Global};
use crate::exit::{self, Result};
use crate::show;
use crate::wiring::{Program, caller};

pub(crate) fn tokens(global: &Global, user: &str, domain: String) -> Result<u8> {
    let request = AskTokens { user: user.to_owned(), domain };
    let held = access::TOKENS.call(&Program::of(global)?.context(), &caller(), request)?;
    if global.json {
        show::answer(&held);
    } else {
        held.tokens.iter().for_each(|token| show::line(token));
        for HeldInGroup { group, tokens, .. } in &held.groups {
            tokens.iter().for_each(|token| show::line(&format!("{group}: {token}")));
        }
        for said in &held.authorities {
            if let Some(error) = &said.error {
                show::stderr(&format!("authority {} cannot be asked: {error}", said.authority));
            }
        }
        if !held.whole {
            show::stderr(&format!(
                "not all tokens of {user} could be asked for, so that whatever denies somebody before it allows {user} stays \
                 hidden from searches as {user}; `ingather tokens {user} --json` says which authority lacks some, and of users of this \
                 machine `id {user}` lists the groups"
            ));
        }
    }
    Ok(exit::DONE)
}

pub(crate) fn filter(global: &Global, asked: Filter) -> Result<u8> {
    let Filter { user, engine, output, domain } = asked;
    let engine = match engine {
        EngineWord::Opensearch => Language::Opensearch,
        EngineWord::Elasticsearch => Language::Elasticsearch,
        EngineWord::Solr => Language::Solr,
    };
    let request = AskFilter { user, domain, engine, output };
    let found = FILTER.call(&Program::of(global)?.context(), &caller(), request)?;
    if global.json {
        show::answer(&found);
        return Ok(exit::DONE);
    }
    show::line(&found.filter.to_string());
    if !found.whole {
        let user = &found.user;
        show::stderr(&format!(
            "not all tokens of {user} could be asked for, so that the filter finds less than {user} may see; `ingather tokens {user}` says why"
        ));
    }
    Ok(exit::DONE)
}

pub(crate) fn why(global: &Global, (user, domain): (&str, String), typed: &OsStr) -> Result<u8> {
    let program = Program::of(global)?;
    let (document, path) = lookup::typed(typed);
    let request = AskWhy { user: user.to_owned(), domain, document, path };
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
