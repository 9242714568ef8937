//! Operations that a service elsewhere does: a program that asks one calls the same rows with the same requests, and reads the same answers.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Operation;
use crate::problem::{Problem, Result};

/// A service that does operations for this program.
pub trait Remote {
    /// Lets it do one; `each` is given what it hands out before the answer.
    ///
    /// # Errors
    /// What the service says, or why it cannot be asked.
    fn ask(&self, operation: &Operation, request: Value, each: &mut dyn FnMut(Value)) -> Result<Value>;
}

/// What a service answers to a typed request.
pub(super) fn asked<Request, Item, Answer>(
    remote: &dyn Remote,
    operation: &Operation,
    request: &Request,
    each: &mut dyn FnMut(Item),
) -> Result<Answer>
where
    Request: Serialize,
    Item: DeserializeOwned,
    Answer: DeserializeOwned,
{
    let strange = |error: serde_json::Error| {
        Problem::unable(format!(
            "what the service says of {} cannot be read: {error}; is it of another version?",
            operation.name
        ))
    };
    let request = serde_json::to_value(request).map_err(strange)?;
    let mut failed = None;
    let mut hand_out = |item: Value| match serde_json::from_value(item) {
        Ok(item) => each(item),
        Err(error) => failed = Some(error),
    };
    let answer = remote.ask(operation, request, &mut hand_out)?;
    failed.map_or(Ok(()), Err).map_err(strange)?;
    serde_json::from_value(answer).map_err(strange)
}
