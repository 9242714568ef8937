//! Connections that wait for the next question, and a fresh one where one of them broke.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use ingather_model::limits;

/// Who is connected to.
pub(crate) trait Asked {
    /// One connection.
    type Connection;
    /// Why a question has no answer.
    type Failure: Failing;

    /// A fresh connection, ready to be asked.
    fn connect(&self, until: Instant) -> Result<Self::Connection, Self::Failure>;

    /// Makes one that waited ready for the next question.
    fn begin(&self, connection: &mut Self::Connection, until: Instant) -> Result<(), Self::Failure>;
}

/// What follows for connections.
pub(crate) trait Failing {
    /// Whether the connection broke, so that another one may do better.
    fn is_broken(&self) -> bool;

    /// Whether those that wait beside it are no better.
    fn ends_others(&self) -> bool;
}

/// Connections to one directory or database. Each question has one for itself: there are as many as questions at once.
pub(crate) struct Pool<A: Asked> {
    pub(crate) servers: A,
    idle: Mutex<Vec<(A::Connection, Instant)>>,
}

impl<A: Asked> Pool<A> {
    pub(crate) fn new(servers: A) -> Pool<A> {
        Pool { servers, idle: Mutex::default() }
    }

    /// Asks on a connection that waits, or on a fresh one. Where one that waited turns out to be broken, as after a restart of the server,
    /// all that waited are thrown away, and the whole question is asked once more.
    pub(crate) fn ask<T>(
        &self,
        until: Instant,
        question: impl Fn(&mut A::Connection) -> Result<T, A::Failure>,
    ) -> Result<T, A::Failure> {
        if let Some(mut connection) = self.take() {
            match self.servers.begin(&mut connection, until).and_then(|()| question(&mut connection)) {
                Ok(answer) => {
                    self.put(connection);
                    return Ok(answer);
                }
                Err(failure) => {
                    if failure.ends_others() {
                        self.lock().clear();
                    }
                    if !failure.is_broken() {
                        return Err(failure);
                    }
                }
            }
        }
        let mut connection = self.servers.connect(until)?;
        let answer = question(&mut connection)?;
        self.put(connection);
        Ok(answer)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(A::Connection, Instant)>> {
        // A list of connections is whole after each step.
        self.idle.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The one that was used last; those that waited for too long go.
    fn take(&self) -> Option<A::Connection> {
        let mut idle = self.lock();
        let most = Duration::from_millis(limits::LDAP_IDLE_MS_MAX);
        idle.retain(|(_, since)| since.elapsed() <= most);
        idle.pop().map(|(connection, _)| connection)
    }

    fn put(&self, connection: A::Connection) {
        let mut idle = self.lock();
        if idle.len() < limits::LDAP_IDLE_MAX {
            // clock: how long it waits from here on.
            idle.push((connection, Instant::now()));
        }
    }
}
