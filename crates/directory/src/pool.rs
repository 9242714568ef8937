//! Connections that wait for the next question, and a fresh one where one of them broke.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use ingather_model::limits;

use crate::wire::connection::Connection;
use crate::wire::failure::Failure;
use crate::wire::servers::Servers;

/// Connections to one directory. Each question has one for itself: there are as many as questions at once.
pub(crate) struct Pool {
    pub(crate) servers: Servers,
    idle: Mutex<Vec<(Connection, Instant)>>,
}

impl Pool {
    pub(crate) fn new(servers: Servers) -> Pool {
        Pool { servers, idle: Mutex::default() }
    }

    /// Asks on a connection that waits, or on a fresh one. Where one that waited turns out to be broken, as after a restart of the server,
    /// all that waited are thrown away, and the whole question is asked once more.
    pub(crate) fn ask<T>(
        &self,
        until: Instant,
        question: impl Fn(&mut Connection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if let Some(mut connection) = self.take() {
            match connection.begin(until).and_then(|()| question(&mut connection)) {
                Ok(answer) => {
                    self.put(connection);
                    return Ok(answer);
                }
                Err(failure) => {
                    if failure.is_of_one_server() {
                        // What waited beside it is no better.
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

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(Connection, Instant)>> {
        // A list of connections is whole after each step.
        self.idle.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The one that was used last; those that waited for too long go.
    fn take(&self) -> Option<Connection> {
        let mut idle = self.lock();
        let most = Duration::from_millis(limits::LDAP_IDLE_MS_MAX);
        idle.retain(|(_, since)| since.elapsed() <= most);
        idle.pop().map(|(connection, _)| connection)
    }

    fn put(&self, connection: Connection) {
        let mut idle = self.lock();
        if idle.len() < limits::LDAP_IDLE_MAX {
            // clock: how long it waits from here on.
            idle.push((connection, Instant::now()));
        }
    }
}
