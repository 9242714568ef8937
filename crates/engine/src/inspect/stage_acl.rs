//! What the stages of a job say about who may see its documents, in the place of the source or before it.

use ingather_model::access::{Acl, Entry, Judgement, Tokens};
use ingather_model::job::Stage;

use crate::visit::pipeline::Pipeline;

/// Tokens that a sentence names; the others are counted.
const TOKENS_SHOWN: usize = 5;

/// Why a token decides that nobody knows the user to hold.
pub(super) const NOT_WHOLE: &str =
    "and the user may hold that: not all of the user's tokens could be asked for";

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
                let what = instead(allow, acl.judge(tokens));
                Some(format!("{who}, decides in the place of the file's own access: it {what}"))
            }
            (Says::Before(entries), Acl::Ordered(all)) if all.starts_with(entries) => {
                let (word, token, why) = match acl.judge(tokens) {
                    Judgement::Allowed { at, who } if at < entries.len() => ("allows", who, String::new()),
                    Judgement::Denied { at, who } if at < entries.len() => ("denies", who, String::new()),
                    Judgement::Unproven { at, who } if at < entries.len() => {
                        ("denies", who, format!(", {NOT_WHOLE}"))
                    }
                    _ => return None,
                };
                Some(format!("{who}, {word} `{token}` before the file's own access is asked{why}"))
            }
            (Says::Before(entries), Acl::Flat { .. }) => {
                let said = |allow: bool, is_it: &dyn Fn(&str) -> bool| {
                    entries.iter().find(|entry| entry.allow == allow && is_it(&entry.who))
                };
                let held = |token: &str| tokens.holds(token);
                let (word, entry, why) = match acl.judge(tokens) {
                    Judgement::Denied { .. } => ("denies", said(false, &held)?, String::new()),
                    Judgement::Unproven { .. } => {
                        ("denies", said(false, &|_| true)?, format!(", {NOT_WHOLE}"))
                    }
                    _ => ("allows", said(true, &held)?, String::new()),
                };
                Some(format!("{who}, {word} `{}` beside the source's own access{why}", entry.who))
            }
            _ => None,
        }
    }

    /// The sentence that says that the stages said something else when a document was read.
    pub(super) fn changed(&self, name: &str) -> String {
        format!("{}, did not decide who may see `{name}` as it does now when it was last read", self.who)
    }
}

fn instead(allow: &[String], judged: Judgement<'_>) -> String {
    match judged {
        Judgement::Open => "allows everybody".to_owned(),
        Judgement::Denied { who, .. } => format!("denies `{who}`"),
        Judgement::Unproven { who, .. } => format!("denies `{who}`, {NOT_WHOLE}"),
        Judgement::Allowed { who, .. } => format!("allows `{who}`"),
        Judgement::Unlisted if allow.is_empty() => "allows nobody".to_owned(),
        Judgement::Unlisted => {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_whose_deny_nobody_can_disprove_is_named() {
        let list = |token: &str| vec![token.to_owned()];
        let part: Tokens = ["b"].into_iter().collect::<Tokens>().not_whole();
        let stage_acl = |says| StageAcl { who: "stage 1".to_owned(), says };
        let flat = Acl::Flat { allow: list("b"), deny: list("a") };
        let before = || Says::Before(vec![Entry::deny("a"), Entry::allow("b")]);
        let ordered = Acl::Ordered(vec![Entry::deny("a"), Entry::allow("b"), Entry::allow("b")]);
        let instead = Says::Instead { allow: list("b"), deny: list("a") };
        let cases = [
            (instead, &flat, "decides in the place of the file's own access: it denies `a`"),
            (before(), &ordered, "denies `a` before the file's own access is asked"),
            (before(), &flat, "denies `a` beside the source's own access"),
        ];
        for (says, acl, told) in cases {
            let sentence = stage_acl(says).decides(acl, &part);
            assert_eq!(sentence, Some(format!("stage 1, {told}, {NOT_WHOLE}")));
        }
        // Where the source decides, the stage has nothing to say.
        let of_source = Acl::Flat { allow: list("b"), deny: list("c") };
        assert_eq!(stage_acl(Says::Before(vec![Entry::allow("a")])).decides(&of_source, &part), None);
    }
}
