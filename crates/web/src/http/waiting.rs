//! Calls that block over a network that does not: one runtime drives all connections of the process, and whoever waits looks now and
//! then whether to stop.

use std::sync::LazyLock;
use std::time::Duration;

use ingather_contract::call::Cancel;
use ingather_model::fault::Fault;
use ingather_model::limits::{WEB_LOOK_MS, WEB_NETWORK_THREADS};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, timeout_at};

/// The runtime; its threads wait while nothing is asked.
pub(super) fn network() -> &'static Runtime {
    static NETWORK: LazyLock<Runtime> = LazyLock::new(|| {
        Builder::new_multi_thread()
            .worker_threads(WEB_NETWORK_THREADS)
            .thread_name("web")
            .enable_all()
            .build()
            .expect("a process that reads sites can start two threads more")
    });
    &NETWORK
}

/// Why nothing came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    /// The server was silent for too long.
    Idle,
    /// The whole took too long.
    Late,
    /// The run was stopped.
    Stopped,
}

impl Waited {
    pub(super) fn fault(self, host: &str) -> Fault {
        match self {
            Waited::Idle => Fault::passing("timeout", format!("`{host}` was silent for too long")),
            Waited::Late => Fault::passing("timeout", format!("the answer of `{host}` takes too long")),
            Waited::Stopped => Fault::passing("cancelled", format!("reading from `{host}` was stopped")),
        }
    }
}

/// What comes within `idle`, and before `end`.
pub(super) async fn watched<T>(
    cancel: &Cancel,
    idle: Duration,
    end: Instant,
    future: impl Future<Output = T>,
) -> Result<T, Waited> {
    let mut future = std::pin::pin!(future);
    let silent = now() + idle;
    loop {
        // Also where something comes each time: a server that never ends would keep a run from being stopped.
        if cancel.cancelled() {
            return Err(Waited::Stopped);
        }
        if now() >= end {
            return Err(Waited::Late);
        }
        let look = (now() + Duration::from_millis(WEB_LOOK_MS)).min(silent).min(end);
        if let Ok(value) = timeout_at(look, &mut future).await {
            return Ok(value);
        }
        if now() >= silent.min(end) {
            return Err(if now() >= end { Waited::Late } else { Waited::Idle });
        }
    }
}

/// Waits, unless the run is stopped: whether it was waited to the end.
pub(crate) fn pause(cancel: &Cancel, wait: Duration) -> bool {
    let end = now() + wait;
    let waited = network().block_on(watched(cancel, wait, end, std::future::pending::<()>()));
    waited != Err(Waited::Stopped)
}

/// The time by which networks are waited for.
pub(super) fn now() -> Instant {
    // clock: a silent server is silent by the time of the machine, whatever the clock of a test says.
    Instant::now()
}
