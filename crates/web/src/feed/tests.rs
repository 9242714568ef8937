//! The promises of the contract, for feeds.

use ingather_contract::repository::HostContext;
use ingather_testkit::script_repository::server::{Answer, SiteServer};
use ingather_testkit::suites::{self, ReferringSample};
use serde_json::json;

use super::REFERRING;

const FIRST: &str = "<rss version=\"2.0\"><channel><title>News</title></channel></rss>";
const SECOND: &str = "<rss version=\"2.0\"><channel><title>Other news</title></channel></rss>";

#[test]
fn it_keeps_what_a_repository_that_refers_promises() {
    let server = SiteServer::start();
    server.put("/feed.xml", Answer::of("application/rss+xml", FIRST));
    let (feed, absent) = (server.url("/feed.xml"), server.url("/other.xml"));
    suites::referring(
        &REFERRING,
        &ReferringSample {
            source: json!({
                "root": format!("feed+{feed}"), "private_networks": ["127.0.0.1"], "access": ["everybody"], "delay_ms": 0
            }),
            host: HostContext::default(),
            present: (&feed, FIRST.as_bytes()),
            absent: &absent,
            change: (
                &|| server.put("/feed.xml", Answer::of("application/rss+xml", SECOND)),
                SECOND.as_bytes(),
            ),
        },
    );
}
