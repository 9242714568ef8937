//! The rules of the host of a page: asked for once a day, before the first page of the host.

use std::cell::Cell;
use std::io::Read;
use std::sync::Arc;

use ingather_contract::call::CallContext;
use ingather_model::fault::{Fault, Reason};
use ingather_model::limits;
use url::Url;

use super::Site;
use crate::http::{self, Condition};
use crate::robots::{Answer, HostRules};
use crate::urls;

/// Where a host has them.
const FILE: &str = "/robots.txt";

impl Site {
    /// The rules of the host of an address, and whether it was asked for them just now.
    pub(super) fn rules_of(&self, call: &CallContext, url: &Url) -> Result<(Arc<HostRules>, bool), Fault> {
        let asked = Cell::new(false);
        let origin = url.origin().ascii_serialization();
        let failed: Cell<Option<Fault>> = Cell::new(None);
        let rules = self.robots.rules(&origin, &self.checked.client.agent, call.now(), || {
            asked.set(true);
            match self.ask_for_rules(call, url) {
                Ok(answer) => answer,
                Err(fault) => {
                    let why = fault.to_string();
                    failed.set(Some(fault));
                    Answer::Unreachable(why)
                }
            }
        });
        // What settings or addresses forbid is no word of the host.
        if let Some(fault @ Fault::Refused(_)) = failed.take() {
            return Err(fault);
        }
        if asked.get()
            && let (Some(delay), Some(host)) = (rules.delay_ms(), urls::bins(url).first())
        {
            self.paces.wants(host, delay);
        }
        Ok((rules, asked.get()))
    }

    /// Why the rules of its host keep a page out; none where they let it be read.
    pub(super) fn disallowed(&self, rules: &HostRules, url: &Url) -> Option<Reason> {
        let path =
            url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
        let verdict = rules.verdict(&path);
        if verdict.allowed {
            return None;
        }
        let line = verdict.line.map(|line| format!(" in line {line}")).unwrap_or_default();
        let rule = verdict.rule.map(|rule| format!(" by `{rule}`{line}")).unwrap_or_default();
        Some(Reason::new("robots", format!("robots.txt of its host keeps robots out{rule}")))
    }

    fn ask_for_rules(&self, call: &CallContext, url: &Url) -> Result<Answer, Fault> {
        let mut at = url.join(FILE).map_err(|error| Fault::broken("bad_request", error.to_string()))?;
        for _ in 0..=limits::ROBOTS_REDIRECTS_MAX {
            let response = self.client()?.ask(call, &at, Condition::default())?;
            let status = response.head.status;
            match response.answer() {
                Ok(http::Answer::Page(_, body)) => {
                    let mut file = Vec::new();
                    // One byte more tells that there is more.
                    let longest = limits::ROBOTS_BYTES_MAX as u64 + 1;
                    body.take(longest).read_to_end(&mut file).map_err(|error| http::fault_of(&error))?;
                    return Ok(Answer::Status(status, file));
                }
                Ok(http::Answer::Moved(_, to)) => at = to,
                Ok(http::Answer::Absent(_) | http::Answer::Unchanged(_)) | Err(_) => {
                    return Ok(Answer::Status(status, Vec::new()));
                }
            }
        }
        Ok(Answer::Status(310, Vec::new()))
    }
}
