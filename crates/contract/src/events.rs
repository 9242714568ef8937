//! Events: names by which visits wait for each other, such as for the one of them that logs in.
//!
//! An event is pending from the moment at which a visit begins it until somebody completes it; one that nobody has begun counts as completed.
//! Only the connector that makes a name knows what it stands for. There are four actions and no more: [`Events::begin`],
//! [`Events::complete`], a reference with prerequisites ([`Reference::after`](crate::refers::Reference::after)), and the answer that asks for the
//! current document again ([`VisitAnswer::Again`](crate::refers::VisitAnswer::Again)).
//!
//! A visit looks at its document, and reads it where it can; that is all then. Where something has to be done first, and by one only, it begins an event.
//! Whoever is answered false gives its document up and asks for it again after that event. Whoever is answered true owns the event:
//! it may do whatever it takes, best within this visit, for documents that it asks for may be visited at any time. It completes the event when that is
//! done, *and when it gives up*: no time-out does. An event that is forgotten stays pending until its process ends, or a person frees it with
//! `ingather event free`. Nobody but its owner may complete an event while it is pending: two visits would own it then, and what comes of that is hard to
//! find. A document may have been taken for a visit just before an event began; nothing stops that visit, so its connector must cope
//! (`docs/decisions/0038-events.md`).

use std::fmt;

use ingather_model::fault::Fault;
use ingather_model::limits;

/// The name of an event, which is all that it is. [`EventNames`] makes them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventName(String);

impl EventName {
    /// The name, scope included.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is longer than [`limits::EVENT_NAME_BYTES_MAX`]. Nothing is begun, completed or waited for under such a name: the visit fails.
    pub fn is_too_long(&self) -> bool {
        self.0.len() > limits::EVENT_NAME_BYTES_MAX
    }
}

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Makes names of events, of the job that a visit is for. Names of different scopes, connections and jobs are never the same.
#[derive(Clone, Copy, Debug)]
pub struct EventNames<'a> {
    /// Name of the repository connection.
    pub connection: &'a str,
    /// Name of the job.
    pub job: &'a str,
}

impl EventNames<'_> {
    /// One for all jobs of all connections.
    pub fn global(&self, name: &str) -> EventName {
        EventName(format!("global:{name}"))
    }

    /// One for all jobs of this connection.
    pub fn connection(&self, name: &str) -> EventName {
        EventName(format!("connection:{}:{name}", escaped(self.connection)))
    }

    /// One for this job alone.
    pub fn job(&self, name: &str) -> EventName {
        EventName(format!("job:{}:{name}", escaped(self.job)))
    }
}

/// A name without colons, so that the first one after it ends it.
fn escaped(name: &str) -> String {
    name.replace('%', "%25").replace(':', "%3A")
}

/// Begins and completes events. Unlike all else that a visit says this counts at once, and also where the visit fails.
pub trait Events: Send + Sync {
    /// Begins an event: true where it was not pending, and then the caller is its only owner; false where it is. Of many calls at once just one is
    /// answered true.
    ///
    /// # Errors
    /// `Passing` where the store cannot be written; `Broken` for a name that is too long.
    fn begin(&self, name: &EventName) -> Result<bool, Fault>;

    /// Completes an event, for its owner alone: what waits for it is visited, in whatever job. One that is not pending stays as it is.
    ///
    /// # Errors
    /// `Passing` where the store cannot be written: the event may be pending still.
    fn complete(&self, name: &EventName) -> Result<(), Fault>;
}

/// The events of a visit that is part of no run, such as one that a person tries a pipeline with: nobody else has any, so nothing is waited for.
#[derive(Clone, Copy, Debug)]
pub struct Alone;

impl Events for Alone {
    fn begin(&self, _name: &EventName) -> Result<bool, Fault> {
        Ok(true)
    }

    fn complete(&self, _name: &EventName) -> Result<(), Fault> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_of_different_scopes_connections_and_jobs_are_never_the_same() {
        let parts = ["", "a", ":", "a:", ":a", "::", "%", "%3A", "a:b", "a%3Ab", "global", "job:a"];
        let mut names = BTreeSet::new();
        let mut count = 0;
        for name in parts {
            let of_one = EventNames { connection: "", job: "" };
            names.insert(of_one.global(name));
            count += 1;
            for scope in parts {
                let of_scope = EventNames { connection: scope, job: scope };
                names.extend([of_scope.connection(name), of_scope.job(name)]);
                count += 2;
            }
        }
        assert_eq!(names.len(), count);
        let names = EventNames { connection: "web", job: "docs" };
        assert_eq!(names.connection("login").as_str(), "connection:web:login");
        assert_eq!(names.job("login").to_string(), "job:docs:login");
    }
}
