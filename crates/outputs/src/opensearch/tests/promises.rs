//! The suite of outputs, and what it does not ask: entries that the server refuses, long addresses, an index that is somebody else's.

use ingather_contract::output::OutputContext;
use ingather_testkit::search_engine::{index_name, search_engine};
use ingather_testkit::suites::{self, OutputSample};
use serde_json::json;

use crate::opensearch::OUTPUT;

fn context() -> OutputContext {
    OutputContext { data: std::path::PathBuf::from("/nowhere"), store: "store-1".to_owned(), session: 7 }
}

#[test]
fn it_keeps_what_an_output_promises() {
    let Some(url) = search_engine("it_keeps_what_an_output_promises") else { return };
    let settings = json!({"url": url, "index": index_name()});
    suites::output(&OUTPUT, &OutputSample { settings, context: context(), local: true });
}
