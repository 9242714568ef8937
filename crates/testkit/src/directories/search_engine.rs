//! A search engine on loopback that tests deliver to: `scripts/opensearch.sh` starts it; where it is not, tests are named as not run.

use std::sync::atomic::{AtomicU64, Ordering};

/// Where it is; none where there is none, and `test` is named as not run.
pub fn search_engine(test: &str) -> Option<String> {
    let url = std::env::var("INGATHER_TEST_OPENSEARCH").ok();
    if url.is_none() {
        crate::rights::not_run(test, "it needs an OpenSearch; scripts/opensearch.sh starts one");
    }
    url
}

/// A name for an index that no other test has.
pub fn index_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("t{}-{number}-{:x}", std::process::id(), fastrand::u64(..))
}
