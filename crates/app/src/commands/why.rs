//! `ingather why` and `ingather tokens`: what a user may see, and what decides.

use std::ffi::OsStr;

use ingather_contract::authority::Answer;
use ingather_engine::inspect::why::Access;
use ingather_model::access::Tokens;
use ingather_store::jobs;
use serde_json::json;

use super::lookup::Lookup;
use crate::arguments::Global;
use crate::data::DataDirectory;
use crate::exit::{self, Failure, Result};
use crate::{show, wiring};

/// Name of the output that is searched.
pub(super) const INDEX: &str = "index";

/// What this machine says about a user.
fn ask(user: &str) -> Result<Answer> {
    let kind = ingather_connectors::ALL
        .authority("unix")
        .ok_or_else(|| Failure::unable("this program was built without the unix authority"))?;
    let authority = (kind.open)(&json!({}))?;
    Ok(authority.tokens(&wiring::call(), user)?)
}

/// The tokens of a user, or the sentence that there is none.
pub(super) fn tokens_of(user: &str) -> Result<Tokens> {
    match ask(user)? {
        Answer::Known(tokens) => Ok(tokens),
        Answer::Unknown => Err(Failure::usage(format!(
            "there is no user `{user}` on this machine; `getent passwd` lists those there are"
        ))),
        Answer::Unauthorized => Err(Failure::usage(format!("the user `{user}` may not enter"))),
    }
}

pub(crate) fn tokens(global: &Global, user: &str) -> Result<u8> {
    let tokens = tokens_of(user)?;
    let mut held: Vec<&str> = tokens.iter().collect();
    held.sort_unstable();
    if global.json {
        show::json(&json!({"user": user, "tokens": held}));
    } else {
        held.into_iter().for_each(show::line);
    }
    Ok(exit::DONE)
}

pub(crate) fn why(global: &Global, user: &str, document: &OsStr) -> Result<u8> {
    let data = DataDirectory::of(global)?;
    let tokens = Some(tokens_of(user)?);
    let engine = wiring::engine(global, &data, data.existing()?, None, &[]);
    let jobs = engine.reader.read(jobs::list)?;
    let lookup = Lookup::of(&engine, &jobs, document)?;
    let (document, file) = (&lookup.text, lookup.file(&jobs));
    let answers = engine.why(INDEX, user, tokens.as_ref(), document)?;
    if answers.is_empty() {
        return Err(Failure::usage(format!(
            "no job could have `{document}`; `ingather job list` shows those there are"
        )));
    }
    // What is nowhere needs no answer for each job.
    let is_nowhere = |answer: &Access| matches!(answer.cause.code.as_str(), "absent" | "outside");
    if !global.json && answers.len() > 1 && answers.iter().all(is_nowhere) {
        show::line(&format!("user {user} cannot find `{document}`: it does not exist in any job"));
    } else {
        for answer in &answers {
            if global.json { json_line(user, answer, file.as_deref()) } else { tell(answer) }
        }
    }
    if let Some(file) = file.filter(|_| !global.json) {
        show::line(&format!("  file       {file}"));
    }
    Ok(exit::DONE)
}

fn json_line(user: &str, answer: &Access, file: Option<&str>) {
    let layers: Vec<_> = answer
        .layers
        .iter()
        .map(|layer| json!({"layer": layer.name, "admits": layer.admits, "by": layer.by}))
        .collect();
    let line = json!({
        "user": user, "job": answer.job, "document": answer.document, "may_see": answer.may_see,
        "code": answer.cause.code, "cause": answer.cause.message, "layers": layers, "file": file,
    });
    show::json(&line);
}

fn tell(answer: &Access) {
    show::line(&answer.cause.message);
    show::line(&format!("  document   {}", answer.document));
    show::line(&format!("  job        {}", answer.job));
    for layer in &answer.layers {
        let word = if layer.admits { "allows" } else { "denies" };
        show::line(&format!("  {word:<9}  {}", layer.by));
    }
}
