//! What the output promises, against a real server.

mod continuity;
mod faults;
mod promises;
mod secure;

use std::path::PathBuf;
use std::sync::Arc;

use ingather_contract::call::{CallContext, Cancel};
use ingather_contract::output::{Change, Op, Output, OutputContext, Says, Statement};
use ingather_model::document::Record;
use ingather_model::fault::Fault;
use ingather_model::ids::{AclId, ContainerId, Digest};
use ingather_testkit::clock::HandClock;
use ingather_testkit::nats::{Message, Server, Stream};
use serde_json::{Value, json};

use super::OUTPUT;

fn call() -> CallContext {
    CallContext { clock: Arc::new(HandClock::at(0)), cancel: Cancel::default() }
}

fn context(session: i64) -> OutputContext {
    OutputContext { data: PathBuf::from("/nowhere"), store: "store-1".to_owned(), session }
}

fn opened(settings: &Value, session: i64) -> Result<Box<dyn Output>, Fault> {
    (OUTPUT.open)(settings, &context(session))
}

/// Why a stream cannot be opened, which is also what is answered to whoever only asks.
fn refused(settings: &Value) -> Fault {
    let fault = opened(settings, 1).err().expect("it is refused");
    assert_eq!((OUTPUT.check)(settings, &context(1)), Err(fault.clone()));
    fault
}

fn change(name: &str, seq: i64, op: Op) -> Change {
    let id = format!("test://{name}");
    let address = Digest::of(id.as_bytes()).0;
    Change { id, address, job: 1, job_name: "job".into(), document: name.to_owned(), seq, op }
}

fn put(name: &str, seq: i64, text: &str) -> Change {
    let record = Record { title: name.to_owned(), body: Some(text.to_owned()), ..Record::default() };
    let (acl_id, container) = (Some(AclId(3)), Some(ContainerId(1)));
    let version = Digest::of(text.as_bytes());
    change(name, seq, Op::Put { record: Arc::new(record), version, acl_id, container })
}

/// A run begins in an opening.
fn begin(seq: i64, opening: i64) -> Statement {
    let says = Says::Begin { state: 9, job: "job".into(), run: Some(1), work: "full", opening, follows: 0 };
    Statement { seq, says }
}

fn apply(output: &mut dyn Output, batch: &[Change]) -> Vec<Result<(), Fault>> {
    output.apply(&call(), batch)
}

/// A batch in which all is taken.
#[track_caller]
fn applied(output: &mut dyn Output, batch: &[Change]) {
    let answers = apply(output, batch);
    assert_eq!(answers.len(), batch.len());
    assert!(answers.iter().all(Result::is_ok), "{:?}", answers.iter().find(|answer| answer.is_err()));
}

/// What messages put: the number of each change, and its text.
fn texts(messages: &[Message]) -> Vec<(i64, &str)> {
    let number = |message: &Message| message.body["seq"].as_i64().unwrap_or_default();
    messages.iter().map(|one| (number(one), one.body["fields"]["body"].as_str().unwrap_or("-"))).collect()
}
