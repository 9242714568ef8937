//! Facts beside the state: what other rows, the clock, the registry and memory tell about a job and a document.

use super::{document, job};

/// A job's state and the facts beside it; none of them is stored twice (design 4.2).
///
/// The store tells `state`, `paused`, `restart` and `minimal`; the schedule `window_open`; the registry the missing
/// connectors; the engine that works on the job the rest. A reader without an engine leaves those false.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct JobFacts {
    /// The state.
    pub state: job::State,
    /// A process has taken up what the state asks for: the start, the notice, the deletion.
    pub taken: bool,
    /// A deletion has begun to walk the inventory.
    pub prepared: bool,
    /// A listing goes on, or a client is pushing.
    pub seeding: bool,
    /// Documents of it are in hands.
    pub draining: bool,
    /// Its waiting documents were put out of memory while it was on hold, and are not read again yet.
    pub unloaded: bool,
    /// A person paused it.
    pub paused: bool,
    /// Its window is open, or it has none, or this run does not heed it.
    pub window_open: bool,
    /// The connector of its repository, or of a stage, is not installed.
    pub repository_missing: bool,
    /// The connector of an output is not installed.
    pub output_missing: bool,
    /// With the stop, another run was asked for.
    pub restart: bool,
    /// The run looks at what is new or changed only.
    pub minimal: bool,
}

impl JobFacts {
    /// A job in `state` with nothing special about it.
    pub fn new(state: job::State) -> JobFacts {
        JobFacts {
            state,
            taken: false,
            prepared: false,
            seeding: false,
            draining: false,
            unloaded: false,
            paused: false,
            window_open: true,
            repository_missing: false,
            output_missing: false,
            restart: false,
            minimal: false,
        }
    }

    /// Whether a fact keeps the job from working in any state.
    pub fn on_hold(&self) -> bool {
        self.paused || !self.window_open || self.repository_missing || self.output_missing
    }
}

/// A document's state and the facts beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DocumentFacts {
    /// The state.
    pub state: document::State,
    /// A delivery row exists: an output may hold it because of this job.
    pub known: bool,
    /// Met in the latest run of its job.
    pub seen: bool,
    /// Not met, and not to be removed for that: the run does not clean up, or its place could not be looked at.
    pub kept: bool,
    /// Wanted once more since it was taken.
    pub wanted_again: bool,
    /// A date for the next look is set.
    pub again: bool,
    /// It leaves because it is gone or expired, not because a run missed it.
    pub absent: bool,
    /// Its removal is in hands.
    pub taken: bool,
    /// Too many hops away.
    pub out_of_scope: bool,
    /// Its job is being deleted.
    pub job_deleting: bool,
}

impl DocumentFacts {
    /// A document in `state` with nothing else known about it.
    pub fn new(state: document::State) -> DocumentFacts {
        DocumentFacts {
            state,
            known: false,
            seen: false,
            kept: false,
            wanted_again: false,
            again: false,
            absent: false,
            taken: false,
            out_of_scope: false,
            job_deleting: false,
        }
    }
}
