//! A repository whose panics cost the document that they happen at, and not the run.
//!
//! A panic is a defect of a connector, or of a stage that reads what the connector gives. The document counts as failed and is tried
//! again when it changes; a listing ends without proving anything more. What a connector left half done in memory stays with it: its
//! contract has no state between two calls that a call could break.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ingather_contract::call::CallContext;
use ingather_contract::refers::{Asked, ReadPage, Refers, VisitAnswer};
use ingather_contract::repository::{
    ContainerReport, Listing, Named, Observed, Page, Presence, ReadContent, Receives, Repository,
    SourceStatus, Told, Watch, Watching,
};
use ingather_model::access::Acl;
use ingather_model::fairness::pace::Pace;
use ingather_model::fault::{Fault, Reason};
use ingather_model::key::Stamp;

thread_local! {
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// True if a panic of this thread is caught, and told with its document: a panic hook says nothing of it.
pub fn catches_panics_here() -> bool {
    CONTAINED.get()
}

/// Puts the panics of a repository into faults.
pub(crate) fn contained(inner: Arc<dyn Repository>) -> Arc<dyn Repository> {
    Arc::new(Contained(inner))
}

/// Runs a connector's code; its answer, or what it said when it panicked.
pub(crate) fn run<T>(work: impl FnOnce() -> T) -> Result<T, Reason> {
    let outer = CONTAINED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    CONTAINED.set(outer);
    done.map_err(|panic| reason(panic.as_ref()))
}

fn reason(panic: &(dyn Any + Send)) -> Reason {
    let said = panic.downcast_ref::<&str>().copied();
    let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let said = said.and_then(|said| said.lines().next()).unwrap_or("no reason given");
    Reason::new("panic", format!("a fault of this program met it: {said}; report this"))
}

struct Contained(Arc<dyn Repository>);

impl Repository for Contained {
    fn pushed(&self) -> Option<Receives> {
        self.0.pushed()
    }

    fn check(&self, call: &CallContext) -> Result<String, Fault> {
        run(|| self.0.check(call)).unwrap_or_else(|reason| Err(Fault::Broken(reason)))
    }

    fn list(&self, call: &CallContext) -> Result<Box<dyn Listing>, Fault> {
        let listing = run(|| self.0.list(call)).unwrap_or_else(|reason| Err(Fault::Broken(reason)))?;
        Ok(Box::new(ContainedListing(Some(listing))))
    }

    fn look(&self, call: &CallContext, key: &str) -> Result<Observed, Fault> {
        run(|| self.0.look(call, key)).unwrap_or_else(|reason| Err(Fault::Broken(reason)))
    }

    fn fetch(&self, call: &CallContext, key: &str, read: &mut ReadContent<'_>) -> Result<Observed, Fault> {
        run(|| self.0.fetch(call, key, read)).unwrap_or_else(|reason| Err(Fault::Broken(reason)))
    }

    fn stamps(&self, call: &CallContext, containers: &[&str]) -> Vec<Stamp> {
        // Containers without a stamp did not stand.
        run(|| self.0.stamps(call, containers)).unwrap_or_else(|_| vec![Stamp::NONE; containers.len()])
    }

    fn containers_of(&self, call: &CallContext, key: &str) -> Result<Vec<ContainerReport>, Fault> {
        run(|| self.0.containers_of(call, key)).unwrap_or_else(|reason| Err(Fault::Broken(reason)))
    }

    fn grain_ms(&self) -> i64 {
        self.0.grain_ms()
    }

    fn probe(&self, call: &CallContext, key: &str) -> Presence {
        run(|| self.0.probe(call, key)).unwrap_or(Presence::Unknown)
    }

    fn acl_of_left_out(&self, call: &CallContext, key: &str) -> Option<Acl> {
        run(|| self.0.acl_of_left_out(call, key)).unwrap_or_default()
    }

    fn bins(&self, key: &str) -> Vec<String> {
        run(|| self.0.bins(key)).unwrap_or_default()
    }

    fn pace(&self, bin: &str) -> Option<Pace> {
        run(|| self.0.pace(bin)).unwrap_or_default()
    }

    fn uri(&self, key: &str) -> String {
        self.0.uri(key)
    }

    fn place(&self, key: &str) -> String {
        self.0.place(key)
    }

    fn named(&self, text: &str) -> Result<Named, Reason> {
        self.0.named(text)
    }

    fn may_hold(&self, folder: &str) -> bool {
        self.0.may_hold(folder)
    }

    fn explain(&self, call: &CallContext, key: &str) -> SourceStatus {
        run(|| self.0.explain(call, key)).unwrap_or_else(SourceStatus::Unknown)
    }

    fn notes(&self) -> Vec<String> {
        self.0.notes()
    }

    fn credentials_fingerprint(&self) -> String {
        self.0.credentials_fingerprint()
    }

    fn refers(&self) -> Option<&dyn Refers> {
        self.0.refers().map(|_| self as &dyn Refers)
    }

    fn watch(&self, call: &CallContext, watching: Watching) -> Option<Box<dyn Watch>> {
        let watch = run(|| self.0.watch(call, watching)).unwrap_or_default()?;
        Some(Box::new(ContainedWatch(watch)))
    }
}

impl Refers for Contained {
    fn relations(&self) -> &'static [&'static str] {
        self.0.refers().map(Refers::relations).unwrap_or_default()
    }

    fn audience(&self) -> Option<&Acl> {
        self.0.refers().and_then(Refers::audience)
    }

    fn visit(
        &self,
        call: &CallContext,
        asked: &Asked<'_>,
        read: &mut ReadPage<'_>,
    ) -> Result<VisitAnswer, Fault> {
        let Some(refers) = self.0.refers() else {
            return Err(Fault::broken("connector", "the connector does not follow links any more"));
        };
        run(|| refers.visit(call, asked, read)).unwrap_or_else(|reason| Err(Fault::Broken(reason)))
    }
}

/// A watch that ends when it panics.
struct ContainedWatch(Box<dyn Watch>);

impl Watch for ContainedWatch {
    fn told(&mut self) -> Told {
        run(|| self.0.told()).unwrap_or_else(Told::Ended)
    }

    fn grain_ms(&self) -> i64 {
        self.0.grain_ms()
    }
}

/// A listing that is over once it panicked.
struct ContainedListing(Option<Box<dyn Listing>>);

impl Listing for ContainedListing {
    fn next(&mut self) -> Option<Result<Page, Fault>> {
        let listing = self.0.as_mut()?;
        match run(|| listing.next()) {
            Ok(page) => page,
            Err(reason) => {
                self.0 = None;
                Some(Err(Fault::Broken(reason)))
            }
        }
    }
}
