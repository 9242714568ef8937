//! How runs, visits and deliveries end, and why a visit is due: words of the store and of lists.

use super::words;

words! {
    /// How a run ended.
    pub enum RunOutcome {
        /// To its end.
        Done = "done",
        /// Its process died; the next run of the job says so.
        Interrupted = "interrupted",
        /// A person stopped it.
        Stopped = "stopped",
        /// By an error, which the run has beside.
        Failed = "failed",
    }
}

words! {
    /// What became of removals that the delete guard kept back in a run.
    pub enum GuardState {
        /// They wait for a person.
        Held = "held",
        /// A person had them carried out.
        Confirmed = "confirmed",
        /// A later run listed again, and judged anew.
        Void = "void",
    }
}

words! {
    /// How the last change that was sent to an output ended, where a confirmation does not say it.
    pub enum DeliveryOutcome {
        /// The output does not take it.
        Refused = "refused",
        /// Another owner of the address sent its own since.
        Superseded = "overwritten",
        /// The output lost what it held.
        Lost = "lost",
        /// Nothing was sent: the entry of another owner is equal.
        Shared = "shared",
    }
}

words! {
    /// What a document is whose last visit did not end well.
    pub enum FailureKind {
        /// Tried again, within a bound.
        Retrying = "retrying",
        /// Tried again once it changes.
        Failed = "failed",
        /// Not wanted: a stage or a rule declines it.
        Skipped = "skipped",
    }
}

words! {
    /// Codes of failures that the engine goes by; all others are told to people alone.
    pub enum FailureCode {
        /// The source does not let this reader have it.
        Unreadable = "unreadable",
        /// It, or a folder above it, changed each time that it was looked at.
        Unsteady = "unsteady",
        /// The source says that it is not there, and is not believed yet.
        Missing = "missing",
        /// It is no entry by an answer that its source calls temporary.
        ForNow = "for_now",
        /// It is further from the seeds than its job goes.
        TooFar = "too_far",
        /// It has expired: outputs do not hold it, and it is not looked at any more.
        Expired = "expired",
    }
}

words! {
    /// Codes of faults that callers go by, whichever connector they come from; all others are told to people alone.
    pub enum FaultCode {
        /// A query cannot be read.
        Query = "query",
        /// A setting is unknown, or out of its bounds.
        Settings = "settings",
        /// What was given for a document is no name of one.
        Key = "key",
        /// An index was made by an earlier version, and has to be made anew.
        IndexOlder = "index_older",
        /// The files of an index are not as they were written.
        IndexDamaged = "index_damaged",
    }
}

words! {
    /// Whether an output takes what it is sent.
    pub enum OutputHealth {
        /// As far as is known.
        Healthy = "healthy",
        /// It cannot be opened, or takes nothing: it is tried again and again.
        Unavailable = "unavailable",
        /// What it holds is damaged: somebody has to repair it.
        Corrupt = "corrupt",
    }
}

words! {
    /// Why a document is to be visited.
    pub enum VisitReason {
        /// Named for the first time.
        New = "new",
        /// Its content changed, or may have.
        Changed = "changed",
        /// Who may see it changed, or may have.
        Access = "access",
        /// The settings it passes through changed.
        Settings = "settings",
        /// An attempt failed before.
        Retry = "retry",
        /// It could not be read before, and the source is read with other credentials now.
        Credentials = "reader",
        /// An output lost it, or somebody else's entry there went away.
        Resend = "resend",
        /// It is as before, and the job goes by other dates now, or knows none of it.
        Dates = "dates",
    }
}
