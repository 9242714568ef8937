//! What the output promises, against a real server.

mod faults;
mod identity;
mod promises;
mod rights;
mod secure;

use std::path::PathBuf;
use std::sync::Arc;

use ingather_contract::call::{CallContext, Cancel};
use ingather_contract::output::{Change, Generation, Op, Output, OutputContext, OutputEntry};
use ingather_model::document::Record;
use ingather_model::fault::Fault;
use ingather_model::ids::{AclId, ContainerId, Digest};
use ingather_testkit::clock::HandClock;
use ingather_testkit::search_engine::SearchEngine;
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

fn change(name: &str, seq: i64, op: Op) -> Change {
    let id = format!("test://{name}");
    let address = Digest::of(id.as_bytes()).0;
    Change { id, address, job: 1, job_name: "job".into(), document: name.to_owned(), seq, op }
}

fn put(name: &str, seq: i64, text: &str) -> Change {
    let record = Record { title: name.to_owned(), body: Some(text.to_owned()), ..Record::default() };
    let (acl_id, container) = (Some(AclId(seq)), Some(ContainerId(1)));
    change(name, seq, Op::Put { record: Arc::new(record), version: Digest(seq), acl_id, container })
}

fn access(name: &str, seq: i64) -> Change {
    change(name, seq, Op::Access { version: None, acl_id: Some(AclId(seq)), container: None })
}

fn apply(output: &mut dyn Output, batch: &[Change]) -> Vec<Result<(), Fault>> {
    output.apply(&call(), batch)
}

fn commit(output: &mut dyn Output) -> Result<Generation, Fault> {
    output.commit(&call())
}

fn listed(output: &mut dyn Output) -> Vec<OutputEntry> {
    let mut all: Vec<OutputEntry> = Vec::new();
    loop {
        let after = all.last().map(|entry| entry.id.clone());
        let page = output.list(&call(), after.as_deref(), 3).unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}
