//! The search page in Chromium, by clicks and keys: what people see, and that what documents hold is shown and never done.

use std::path::{Path, PathBuf};
use std::process::Command;

use ingather_testkit::rights::not_run;
use serde_json::Value;

use crate::people::must;
use crate::sandbox::Sandbox;
use crate::service::{Service, key};

/// What does something when it is taken for a part of the page.
const PLANTED: &str = "<script>window.planted='text'</script><img src=x onerror=\"window.planted='image'\"><svg onload=\"window.planted='svg'\">";

#[test]
fn people_search_by_clicks_by_keys_and_without_scripts_and_what_was_planted_does_nothing() {
    let here = "service::page::browser::people_search_by_clicks_by_keys_and_without_scripts_and_what_was_planted_does_nothing";
    let Ok(checkers) = std::env::var("INGATHER_TEST_CHECKERS") else {
        return not_run(here, "it needs `scripts/checkers.sh`, which `make test` runs");
    };
    if !["/usr/bin/chromium", "/usr/bin/chromedriver"].iter().all(|program| Path::new(program).exists()) {
        return not_run(
            here,
            "it needs the packages chromium and chromium-driver, which `scripts/install.sh` brings",
        );
    }
    let sandbox = Sandbox::sqlite();
    (0..22).for_each(|n| {
        let text = format!("An apple of the year {n}, and what is said about it in a report that is long enough for a snippet.");
        sandbox.write(&format!("reports/{n}.txt"), &text);
    });
    let title = PLANTED.replace('<', "&lt;");
    let html =
        format!("<html><head><title>{title}</title></head><body>planted {title} planted</body></html>");
    sandbox.write("planted.html", &html);
    sandbox.write(
        "<img src=x onerror=planted=1>/<script>planted=1<\u{2215}script>.txt",
        &format!("planted {PLANTED} planted"),
    );
    (0..3).for_each(|n| sandbox.write(&format!("other/{n}.txt"), "An apple of somebody else."));
    sandbox.run(&["sync", "root", "--name", "first", "--exclude", "other"]).exits(0);
    sandbox.run(&["sync", "root/other", "--name", "second"]).exits(0);
    let own = must(Command::new("id").arg("-un"));
    let searcher = key(&sandbox, "ann", &["searcher"], Some(&own));
    let service = Service::start(&sandbox);
    let link = service.request("POST", "/api/v1/api-keys/ann/login-link").send(service.address).is(200);
    let link: Value = link.json();
    // Whoever changes the page looks at these.
    let pictures = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pages");
    std::fs::create_dir_all(&pictures).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/browser.py");
    let mut command = Command::new(format!("{checkers}/python"));
    command.arg(script).arg(format!("http://{}", service.address)).arg(searcher);
    command.arg(link["url"].as_str().unwrap()).arg(&pictures).current_dir(sandbox.path());
    let told = command.output().unwrap();
    assert!(
        told.status.success(),
        "pictures are in {}: {}{}",
        pictures.display(),
        String::from_utf8_lossy(&told.stdout),
        String::from_utf8_lossy(&told.stderr)
    );
}
