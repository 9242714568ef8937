//! The rules of the host of a page: asked for once a day, before the first page of the host.

use std::io::Read;
use std::sync::Arc;

use ingather_contract::call::CallContext;
use ingather_model::fault::{Exhausted, Fault, Reason};
use ingather_model::limits;
use url::Url;

use super::Site;
use crate::http::{self, Condition};
use crate::robots::{Answer, HostRules};
use crate::urls;

/// Codes of what is no word of a host: settings, and the networks that they allow.
const OWN_FAULTS: &[&str] = &["private_address", "no_contact", "bad_setting"];

/// Where a host has them.
const FILE: &str = "/robots.txt";

fn retry_in_ms(fault: &Fault) -> Option<i64> {
    match fault {
        Fault::Passing { retry_in_ms, .. } => *retry_in_ms,
        _ => None,
    }
}

impl Site {
    /// The rules of the host of an address, and whether it was asked for them just now.
    ///
    /// # Errors
    /// Nobody knows them now, so that nothing of the host may be read.
    pub(super) fn rules_of(&self, call: &CallContext, url: &Url) -> Result<(Arc<HostRules>, bool), Fault> {
        let origin = url.origin().ascii_serialization();
        let (mut was_asked, mut own_fault) = (false, None);
        let (rules, again_in_ms) = self.robots.rules(&origin, &self.checked.client.agent, call.now(), || {
            was_asked = true;
            self.ask_for_rules(call, url).unwrap_or_else(|fault| {
                let (why, retry_in_ms) = (fault.to_string(), retry_in_ms(&fault));
                own_fault = Some(fault).filter(|fault| OWN_FAULTS.contains(&fault.reason().code.as_str()));
                Answer::Unreachable { why, retry_in_ms }
            })
        });
        if let HostRules::Unknown(why) = rules.as_ref() {
            // What settings forbid is no word of the host.
            return Err(own_fault.unwrap_or_else(|| Fault::Passing {
                reason: Reason::new("robots", format!("nothing is read of its host: {why}")),
                retry_in_ms: Some(again_in_ms),
                give_up_at: None,
                attempts_max: None,
                when_exhausted: Exhausted::Skip,
            }));
        }
        if was_asked && let (Some(delay), Some(host)) = (rules.delay_ms(), urls::bins(url).first()) {
            self.paces.wants(host, delay);
        }
        Ok((rules, was_asked))
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
            let answer = match status {
                204 | 205 => return Ok(Answer::Status(status, Vec::new())),
                _ => response.answer(),
            };
            match answer {
                Ok(http::Answer::Page(_, body)) => {
                    let mut file = Vec::new();
                    // One byte more tells that there is more.
                    let longest = limits::ROBOTS_BYTES_MAX as u64 + 1;
                    body.take(longest).read_to_end(&mut file).map_err(|error| http::fault_of(&error))?;
                    return Ok(Answer::Status(status, file));
                }
                Ok(http::Answer::Moved(_, to)) => at = to,
                Ok(http::Answer::Absent(_) | http::Answer::Unchanged(_)) => {
                    return Ok(Answer::Status(status, Vec::new()));
                }
                Err(Fault::Unreadable(_) | Fault::Broken(_)) if (400..500).contains(&status) => {
                    return Ok(Answer::Status(status, Vec::new()));
                }
                // Whatever it is, it is not the file, and none is not there either.
                Err(fault) => {
                    let host = urls::bins(&at).into_iter().next().unwrap_or_default();
                    let fault = self.slowed(&host, fault);
                    let retry_in_ms = retry_in_ms(&fault);
                    return Ok(Answer::Unreachable { why: fault.to_string(), retry_in_ms });
                }
            }
        }
        Ok(Answer::RedirectedTooOften)
    }
}
