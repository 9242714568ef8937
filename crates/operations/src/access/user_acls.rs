//! What a user holds as the authority service of Apache ManifoldCF says it, for its plug-ins of search engines (its `UserACLServlet`, decision
//! 0042): lines of text, every variable part of them encoded as in a form.

use std::fmt::Write;

use ingather_contract::authority::Answer;
use ingather_engine::authorities::{Said, User, Which};

use super::{sorted, who};
use crate::callers::answers_log::{self, Answered, AnsweredUser};
use crate::context::Context;
use crate::problem::Result;

/// Held by somebody of whom not all is known in a group: documents of a repository that denies anybody deny this token, too, so that it masks them.
const DEAD_AUTHORITY: &str = "DEAD_AUTHORITY";

/// Which lines are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// What each authority said, and the tokens.
    pub acls: bool,
    /// The names that were asked for.
    pub ids: bool,
}

/// The lines about one person, who is asked for by several names: name and domain. `caller` is who asks, for the record of answers.
///
/// # Errors
/// What the inventory says, or what hinders the record. An authority that cannot be asked is a line.
pub fn user_acls(
    context: &Context<'_>,
    caller: &str,
    names: &[(String, String)],
    wanted: Wanted,
) -> Result<String> {
    let user = |(name, domain): &(String, String)| User { name: name.clone(), domain: domain.clone() };
    let users: Vec<User> = names.iter().map(user).collect();
    let said = if wanted.acls { who::asked(context, &users, Which::All)? } else { Vec::new() };
    let ids: &[User] = if wanted.ids { &users } else { &[] };
    let lines = lines(&said, ids);
    if let Some(log) = context.host.answers_log() {
        let users: Vec<AnsweredUser> =
            users.iter().map(|user| AnsweredUser::new(&user.name, &user.domain)).collect();
        let (at, digest) = (context.now(), Some(answers_log::digest(lines.as_bytes())));
        let (operation, users) = ("authority.user_acls", users.as_slice());
        log.add(&Answered { at, caller, operation, users, everything: false, outcome: "done", digest })?;
    }
    Ok(lines)
}

fn lines(all: &[Said], ids: &[User]) -> String {
    let mut text = String::new();
    let mut line = |word: &str, parts: &[&str]| {
        let parts: Vec<String> = parts.iter().map(|part| encoded(part)).collect();
        // Writing to a string does not fail.
        let _ = writeln!(text, "{word}:{}", parts.join(":"));
    };
    for said in all {
        let group = said.group.name();
        let (word, tokens, masks) = match said.answer.as_deref() {
            Ok(Answer::Known(tokens)) => ("AUTHORIZED", sorted(tokens), !tokens.are_whole()),
            Ok(Answer::Unknown) => ("USERNOTFOUND", Vec::new(), !is_known(all, said)),
            Ok(Answer::Unauthorized) => ("UNAUTHORIZED", Vec::new(), true),
            Err(_) => ("UNREACHABLEAUTHORITY", Vec::new(), true),
        };
        line(word, &[&said.authority]);
        tokens.iter().for_each(|token| line("TOKEN", &[group, token]));
        if masks {
            line("TOKEN", &[group, DEAD_AUTHORITY]);
        }
    }
    ids.iter().for_each(|user| line("ID", &[&user.name]));
    text
}

/// Whether another authority of the group knows the person.
fn is_known(all: &[Said], unknown: &Said) -> bool {
    let knows = |said: &Said| matches!(said.answer.as_deref(), Ok(Answer::Known(_)));
    all.iter().any(|said| said.group == unknown.group && knows(said))
}

/// As `java.net.URLEncoder` encodes UTF-8: letters, digits and `.-*_` stay, a space is `+`.
fn encoded(part: &str) -> String {
    let mut text = String::with_capacity(part.len());
    for byte in part.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'*' | b'_' => {
                text.push(char::from(byte))
            }
            b' ' => text.push('+'),
            _ => drop(write!(text, "%{byte:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ingather_model::access::Tokens;
    use ingather_model::access::identity::Group;
    use ingather_model::fault::Reason;

    use super::*;

    fn said(authority: &str, group: &str, answer: std::result::Result<Answer, Reason>) -> Said {
        Said {
            authority: authority.to_owned(),
            kind: "scripted".to_owned(),
            group: Group::named(group),
            user: User { name: "ann".to_owned(), domain: String::new() },
            asked_as: None,
            answer: answer.map(Arc::new),
            at: 0,
            was_kept: false,
        }
    }

    /// The forms of specification 10.3, in their order.
    #[test]
    fn each_answer_has_its_line_and_what_is_missing_masks() {
        let known = |tokens: &[&str]| Ok(Answer::Known(tokens.iter().copied().collect()));
        let part = Ok(Answer::Known(["x"].into_iter().collect::<Tokens>().not_whole()));
        let down = || Err(Reason::new("down", "it does not answer"));
        let table = [
            (
                vec![said("files", "a b", known(&["u:1", "g ä"]))],
                "AUTHORIZED:files\nTOKEN:a+b:g+%C3%A4\nTOKEN:a+b:u%3A1\n",
            ),
            (vec![said("files", "", known(&["t"]))], "AUTHORIZED:files\nTOKEN::t\n"),
            (vec![said("files", "g", part)], "AUTHORIZED:files\nTOKEN:g:x\nTOKEN:g:DEAD_AUTHORITY\n"),
            (vec![said("m:1", "g", down())], "UNREACHABLEAUTHORITY:m%3A1\nTOKEN:g:DEAD_AUTHORITY\n"),
            (vec![said("m", "g", Ok(Answer::Unauthorized))], "UNAUTHORIZED:m\nTOKEN:g:DEAD_AUTHORITY\n"),
            (vec![said("m", "g", Ok(Answer::Unknown))], "USERNOTFOUND:m\nTOKEN:g:DEAD_AUTHORITY\n"),
            (
                vec![
                    said("m", "g", Ok(Answer::Unknown)),
                    said("n", "g", known(&["t"])),
                    said("o", "h", Ok(Answer::Unknown)),
                ],
                "USERNOTFOUND:m\nAUTHORIZED:n\nTOKEN:g:t\nUSERNOTFOUND:o\nTOKEN:h:DEAD_AUTHORITY\n",
            ),
            (vec![], ""),
        ];
        for (all, expected) in table {
            assert_eq!(lines(&all, &[]), expected);
        }
        let user = User { name: "a\nb&c=d+e*".to_owned(), domain: String::new() };
        assert_eq!(lines(&[], &[user]), "ID:a%0Ab%26c%3Dd%2Be*\n", "no name makes a line of its own");
    }
}
