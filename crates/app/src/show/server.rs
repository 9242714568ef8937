//! Commands that a line proposes, as they have to be typed where a service was asked: without `--server` they would ask the data directory of
//! this machine.

use std::borrow::Cow;
use std::sync::OnceLock;

use ingather_operations::operation::{Rest, Words};
use ingather_operations::table::OPERATIONS;

/// The service that was named.
static SERVER: OnceLock<String> = OnceLock::new();

/// From here on commands are proposed for this service.
pub(crate) fn asks(server: &str) {
    // It is named once on a command line.
    let _ = SERVER.set(server.to_owned());
}

/// A line with its commands for the service that was asked.
pub(super) fn proposed(text: &str) -> Cow<'_, str> {
    SERVER.get().map_or(Cow::Borrowed(text), |server| for_server(text, server))
}

fn for_server<'t>(text: &'t str, server: &str) -> Cow<'t, str> {
    if !text.contains("`ingather ") {
        return Cow::Borrowed(text);
    }
    let piece = |(at, piece): (usize, &str)| match piece.strip_prefix("ingather ") {
        Some(command) if at % 2 == 1 && is_asked(command) => format!("{piece} --server {server}"),
        _ => piece.to_owned(),
    };
    // Between marks stands what is to be typed.
    Cow::Owned(text.split('`').enumerate().map(piece).collect::<Vec<_>>().join("`"))
}

/// Whether a service answers a command.
fn is_asked(command: &str) -> bool {
    let begins = |words: &str| {
        command.strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let is_at_service = OPERATIONS.iter().map(|row| row.operation()).any(|operation| {
        matches!((operation.rest, operation.words), (Rest::At(..), Words::Are(words)) if begins(words))
    });
    (is_at_service || begins("sync")) && !command.contains("--server")
}

#[cfg(test)]
mod tests {
    use super::for_server;

    #[test]
    fn a_command_that_a_service_answers_is_proposed_with_its_address_and_others_stay() {
        let told = |text: &str| for_server(text, "unix:/s").into_owned();
        assert_eq!(
            told("`ingather job start a` goes on; `ingather sync /srv` begins one"),
            "`ingather job start a --server unix:/s` goes on; `ingather sync /srv --server unix:/s` begins one"
        );
        for stays in [
            "`ingather serve` goes on",
            "ingather job start a",
            "`a` and `ingather job start a --server unix:/t`",
            "`ingather restore FILE` makes one",
        ] {
            assert_eq!(told(stays), stays);
        }
    }
}
