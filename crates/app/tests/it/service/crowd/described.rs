//! A program that knows nothing but the description of the API asks for all that stands there, and for what does not: no answer breaks what is
//! described.

use std::process::Command;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ingather_testkit::rights::not_run;
use rustix::process::Signal;

use super::{number, read_log};
use crate::sandbox::{Kept, Sandbox};
use crate::service::{Service, key};

/// What is asked of each operation.
const EXAMPLES: &str = "10";
/// The one check that is left out: what a schema allows may be refused by what it means, such as a cursor of another list.
const LEFT_OUT: &str = "positive_data_acceptance";

fn schemathesis(kept: Kept, here: &str) {
    let Ok(checkers) = std::env::var("INGATHER_TEST_CHECKERS") else {
        return not_run(here, "it needs `scripts/checkers.sh`, which `make test` runs");
    };
    let sandbox = Sandbox::new(kept);
    (0..12).for_each(|n| sandbox.write(&format!("sub/f{n}.txt"), &format!("apple {n}")));
    sandbox.synced(&[]);
    let roles = ["admin", "operator", "searcher", "token-reader", "provisioner"];
    let own = crate::people::must(Command::new("id").arg("-un"));
    let asks = key(&sandbox, "asks-all-day", &roles, Some(&own));
    let root = sandbox.root().to_str().unwrap().to_owned();
    let mut service = Service::with(&sandbox, asks, &["--root", &root]);
    let last = Arc::default();
    let log = read_log(service.take_log(), Arc::clone(&last));
    let today = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() / 86_400;
    let seed = number("INGATHER_TEST_SCHEMATHESIS_SEED").unwrap_or(today).to_string();
    let ask = |which: [&str; 2], least: u64| {
        let url = format!("http://{}/api/v1/openapi.json", service.address);
        let header = format!("Authorization: Bearer {}", service.key);
        let mut command = Command::new(format!("{checkers}/schemathesis"));
        command.args(["run", &url, "--header", &header, "--checks", "all", "--exclude-checks", LEFT_OUT]);
        command.args([
            "--max-examples",
            EXAMPLES,
            "--seed",
            &seed,
            "--suppress-health-check",
            "all",
            "--no-color",
        ]);
        command.args(["--exclude-operation-id", "stream"]).args(which).current_dir(sandbox.path());
        let told = command.output().unwrap();
        let said = String::from_utf8_lossy(&told.stdout).into_owned();
        let errors = String::from_utf8_lossy(&told.stderr);
        // It ends in the same way when it is at fault itself, which happens where what it makes up is nested deeply.
        let is_well = told.status.success() || said.contains("\nErrors:") && !said.contains("\nFailures:");
        assert!(is_well, "INGATHER_TEST_SCHEMATHESIS_SEED={seed}: {said}{errors}");
        let passed = said.split_once(" generated, ").and_then(|(_, said)| said.split_once(" passed"));
        let passed: u64 = passed.and_then(|(number, _)| number.parse().ok()).unwrap_or_default();
        assert!(passed >= least, "{passed} answers were looked at: {said}{errors}");
    };
    // It finds its own key among those that there are, and would take it back in the middle.
    ask(["--exclude-operation-id", "api_keys.delete"], 1_000);
    ask(["--include-operation-id", "api_keys.delete"], 10);
    let ended = service.end(Signal::TERM);
    let wrong = log.join().unwrap();
    assert_eq!((ended.code, wrong), (143, Vec::new()), "{:#?}", last.lock().unwrap());
    super::left_clean(&sandbox);
}

#[test]
fn no_answer_breaks_what_is_described_on_sqlite() {
    schemathesis(Kept::Sqlite, "service::crowd::described::no_answer_breaks_what_is_described_on_sqlite");
}

#[test]
fn no_answer_breaks_what_is_described_on_postgres() {
    schemathesis(Kept::Postgres, "service::crowd::described::no_answer_breaks_what_is_described_on_postgres");
}
