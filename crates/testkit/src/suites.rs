//! Conformance suites: what a connector promises, as one call for each role. A breach is a sentence that names the promise.

mod authority;
pub mod events;
mod output;
mod referring;
mod repository;
pub mod schema;
mod secrets;
mod transform;

pub use authority::{AuthoritySample, authority, authority_breaches};
pub use output::{OutputSample, output, output_breaches};
pub use referring::{ReferringSample, referring, referring_breaches};
pub use repository::{Obstruction, RepositorySample, repository, repository_breaches};
pub use transform::{transform, transform_breaches};

use std::sync::Arc;

use ingather_contract::call::{CallContext, Cancel};

use crate::clock::HandClock;

/// A call late enough that nothing a test makes is racy: in the year 2100.
fn call() -> CallContext {
    CallContext { clock: Arc::new(HandClock::at(4_102_444_800_000)), cancel: Cancel::default() }
}

/// Collects breaches.
#[derive(Default)]
struct Breaches(Vec<String>);

impl Breaches {
    fn unless(&mut self, kept: bool, told: impl FnOnce() -> String) {
        if !kept {
            self.0.push(told());
        }
    }
}

/// Fails a test with what was found.
fn must_be_none(kind: &str, breaches: &[String]) {
    assert!(breaches.is_empty(), "{kind} breaks its contract:\n{}", breaches.join("\n"));
}
