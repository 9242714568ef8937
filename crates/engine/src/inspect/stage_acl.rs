//! What the stages of a job say about who may see its documents, in the place of the source or before it.

use ingather_model::access::{Acl, Entry, Tokens};
use ingather_model::job::Stage;

use crate::visit::pipeline::Pipeline;

/// Tokens that a sentence names; the others are counted.
const TOKENS_SHOWN: usize = 5;

/// What stages say about access, whatever a source tells.
pub(super) struct StageAcl {
    /// The stages, as the beginning of a sentence.
    who: String,
    says: Says,
}

enum Says {
    /// This counts, and nothing of the source.
    Instead { allow: Vec<String>, deny: Vec<String> },
    /// These are asked before the source's own entries.
    Before(Vec<Entry>),
}

impl StageAcl {
    /// What a pipeline imposes; none when it leaves access as it is.
    pub(super) fn by(pipeline: &Pipeline, stages: &[Stage]) -> Option<StageAcl> {
        // Of a source that admits nobody, what is said afterwards is of the stages alone.
        let (acl, positions) = pipeline.access_by(Acl::Ordered(Vec::new()));
        let named = |at: &usize| format!("stage {} of the pipeline, `{}`", at + 1, stages[*at].transform);
        let who = positions.iter().rev().map(named).collect::<Vec<_>>().join(", after ");
        let says = match acl {
            Acl::Flat { allow, deny } => Says::Instead { allow, deny },
            Acl::Ordered(entries) => Says::Before(entries),
        };
        (!positions.is_empty()).then_some(StageAcl { who, says })
    }

    /// What an acl has of its source; none when the stages leave nothing of that, or said something else when it was made.
    pub(super) fn of_source(&self, acl: &Acl) -> Option<Acl> {
        match (&self.says, acl) {
            (Says::Before(entries), Acl::Ordered(all)) => {
                all.strip_prefix(entries.as_slice()).map(|rest| Acl::Ordered(rest.to_vec()))
            }
            // What joined a set cannot be told from what was in it.
            (Says::Before(_), Acl::Flat { .. }) => Some(acl.clone()),
            (Says::Instead { .. }, _) => None,
        }
    }

    /// The sentence that names what the stages decide for a user; none when the source decides, or stages that said
    /// something else when the acl was made.
    pub(super) fn decides(&self, acl: &Acl, tokens: &Tokens) -> Option<String> {
        let who = &self.who;
        match (&self.says, acl) {
            (Says::Instead { allow, deny }, Acl::Flat { allow: now_allow, deny: now_deny }) => {
                if (allow, deny) != (now_allow, now_deny) {
                    return None;
                }
                let what = instead(allow, deny, tokens);
                Some(format!("{who}, decides in the place of the file's own access: it {what}"))
            }
            (Says::Before(entries), Acl::Ordered(all)) if all.starts_with(entries) => {
                let entry = entries.iter().find(|entry| tokens.holds(&entry.who))?;
                let word = if entry.allow { "allows" } else { "denies" };
                Some(format!("{who}, {word} `{}` before the file's own access is asked", entry.who))
            }
            (Says::Before(entries), Acl::Flat { deny, .. }) => {
                let denied = deny.iter().any(|token| tokens.holds(token));
                let held = |entry: &&Entry| entry.allow != denied && tokens.holds(&entry.who);
                let entry = entries.iter().find(held)?;
                let word = if entry.allow { "allows" } else { "denies" };
                Some(format!("{who}, {word} `{}` beside the source's own access", entry.who))
            }
            _ => None,
        }
    }

    /// The sentence that says that the stages said something else when a document was read.
    pub(super) fn changed(&self, name: &str) -> String {
        format!("{}, did not decide who may see `{name}` as it does now when it was last read", self.who)
    }
}

fn instead(allow: &[String], deny: &[String], tokens: &Tokens) -> String {
    let held = |list: &[String]| list.iter().find(|token| tokens.holds(token)).cloned();
    match (held(deny), held(allow)) {
        _ if allow.is_empty() && deny.is_empty() => "allows everybody".to_owned(),
        (Some(token), _) => format!("denies `{token}`"),
        (None, Some(token)) => format!("allows `{token}`"),
        (None, None) if allow.is_empty() => "allows nobody".to_owned(),
        (None, None) => {
            let shown: Vec<String> =
                allow.iter().take(TOKENS_SHOWN).map(|token| format!("`{token}`")).collect();
            let more = match allow.len() - shown.len() {
                0 => String::new(),
                count => format!(" and {count} more"),
            };
            format!("allows only {}{more}, and the user holds none of them", shown.join(", "))
        }
    }
}
