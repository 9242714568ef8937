//! Rows of the table without their types: whoever has a request as JSON, such as a service or a tool of a model, calls any of them
//! the same way, and keeps no list of its own.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Answering, Operation, Streaming};
use crate::context::{Caller, Context};
use crate::problem::{Problem, Result};

/// A row that can be called with a request as JSON.
pub trait Callable: Sync {
    /// The row.
    fn operation(&self) -> &Operation;

    /// Refuses a request that does not fit its type, and does nothing.
    ///
    /// # Errors
    /// `WrongUse`, as [`Callable::call_json`] says it.
    fn refuse_unreadable(&self, request: &Value) -> Result<()>;

    /// Does it, for a caller who may; `each` is given what is handed out on the way, in order, and the answer is what ends it.
    ///
    /// # Errors
    /// `WrongUse` for a request that does not fit its type, such as one with a field that it does not know; what the typed call
    /// says otherwise.
    fn call_json(
        &self,
        context: &Context<'_>,
        caller: &Caller<'_>,
        request: Value,
        each: &mut dyn FnMut(Value),
    ) -> Result<Value>;
}

/// A row is read as what it says of itself.
impl<'a> std::ops::Deref for dyn Callable + 'a {
    type Target = Operation;

    fn deref(&self) -> &Operation {
        self.operation()
    }
}

impl<Request, Answer> Callable for Answering<Request, Answer>
where
    Request: Serialize + DeserializeOwned,
    Answer: Serialize + DeserializeOwned,
{
    fn operation(&self) -> &Operation {
        &self.operation
    }

    fn refuse_unreadable(&self, request: &Value) -> Result<()> {
        fitting::<Request>(&self.operation, request.clone()).map(drop)
    }

    fn call_json(
        &self,
        context: &Context<'_>,
        caller: &Caller<'_>,
        request: Value,
        _: &mut dyn FnMut(Value),
    ) -> Result<Value> {
        let request = read(&self.operation, caller, request)?;
        written(&self.operation, self.call(context, caller, request)?)
    }
}

impl<Request, Item, Answer> Callable for Streaming<Request, Item, Answer>
where
    Request: Serialize + DeserializeOwned,
    Item: Serialize + DeserializeOwned,
    Answer: Serialize + DeserializeOwned,
{
    fn operation(&self) -> &Operation {
        &self.operation
    }

    fn refuse_unreadable(&self, request: &Value) -> Result<()> {
        fitting::<Request>(&self.operation, request.clone()).map(drop)
    }

    fn call_json(
        &self,
        context: &Context<'_>,
        caller: &Caller<'_>,
        request: Value,
        each: &mut dyn FnMut(Value),
    ) -> Result<Value> {
        let request = read(&self.operation, caller, request)?;
        let mut failed = None;
        let mut hand_out = |item: Item| match written(&self.operation, item) {
            Ok(item) => each(item),
            Err(problem) => failed = Some(problem),
        };
        let answer = self.call(context, caller, request, &mut hand_out)?;
        failed.map_or(Ok(()), Err)?;
        written(&self.operation, answer)
    }
}

/// Whoever may not ask at all is not told what is wrong with the request.
fn read<Request: DeserializeOwned>(
    operation: &Operation,
    caller: &Caller<'_>,
    request: Value,
) -> Result<Request> {
    operation.admit(caller)?;
    fitting(operation, request)
}

fn fitting<Request: DeserializeOwned>(operation: &Operation, request: Value) -> Result<Request> {
    serde_json::from_value(request).map_err(|error| {
        Problem::usage(format!(
            "the request of {} cannot be read: {error}; the description of the API has its fields",
            operation.name
        ))
    })
}

fn written(operation: &Operation, value: impl Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(|error| {
        Problem::unable(format!("the answer of {} cannot be written: {error}", operation.name))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::OPERATIONS;
    use crate::context::tests::{asked, asked_of};
    use crate::operation::Role;
    use crate::problem::Code;

    #[test]
    fn every_row_takes_its_example_and_refuses_a_field_that_it_does_not_know() {
        for one in OPERATIONS {
            let given: serde_json::Value = serde_json::from_str(one.request.examples[0]).unwrap();
            let mut wrong = given.clone();
            wrong["no_such_field"] = 1.into();
            let ask = |roles: &[Role], request: serde_json::Value| {
                asked(roles, |context, caller| one.call_json(context, caller, request, &mut |_| {}))
            };
            // What it asks for cannot be done by a program without anything: that is another problem.
            let told = asked_of(None, &[Role::Admin], |context, caller| {
                one.call_json(context, caller, given, &mut |_| {})
            });
            assert!(!format!("{told:?}").contains("the request of"), "{}: {told:?}", one.name);
            assert_eq!(ask(&[Role::Admin], wrong.clone()), Some(Code::WrongUse), "{}", one.name);
            assert_eq!(ask(&[], wrong), Some(Code::Forbidden), "{}", one.name);
        }
    }

    #[test]
    fn a_call_as_json_answers_what_the_typed_call_answers() {
        let list = OPERATIONS.iter().find(|one| one.name == "jobs.list").unwrap();
        let mut answer = None;
        asked(&[Role::Operator], |context, caller| {
            answer = Some(list.call_json(context, caller, json!({}), &mut |_| {})?);
            Ok(())
        });
        assert_eq!(answer, Some(json!({"jobs": [], "begun": false, "works": false})));
    }
}
