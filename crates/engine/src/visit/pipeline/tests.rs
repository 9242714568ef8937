//! What a document keeps on its way.

use std::sync::Arc;

use ingather_contract::call::{CallContext, Cancel, Clock};

use super::*;

struct Still;

impl Clock for Still {
    fn now(&self) -> i64 {
        0
    }
}

/// A document expires by when it was written, whatever has read it since (decision 0039).
#[test]
fn what_has_passed_keeps_the_time_of_its_change() {
    let exit = Exit { after: None, when: None, outputs: vec!["one".to_owned()] };
    let tree = Tree { stages: Vec::new(), outputs: vec![None] };
    let pipeline = Pipeline { stages: Vec::new(), tree, exits: vec![exit], versions: Vec::new() };
    let call = CallContext { clock: Arc::new(Still), cancel: Cancel::default() };
    let mut record = Record { uri: "x".to_owned(), modified: Some(7), ..Record::default() };
    let audience = || -> Audience { unreachable!("no stage asks") };
    let passed = pipeline.pass(&call, &audience, &mut record, &mut std::io::empty(), None).unwrap();
    assert_eq!(
        (record, passed.arrivals[0].record.modified),
        (Record { modified: Some(7), ..Record::default() }, Some(7))
    );
}
