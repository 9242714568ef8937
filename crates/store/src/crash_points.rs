//! Crash points for tests: before and after the commit of every transaction a hook may say that the process is dead.

use std::cell::RefCell;
use std::sync::Arc;

use crate::db::Durability;
use crate::error::{Result, StoreError};

/// Asked at every crash point; true: the process is dead, nothing is written any more.
pub type Hook = Arc<dyn Fn(&Point<'_>) -> bool + Send + Sync>;

/// A place in a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    /// Statements that the transaction ran, in order.
    pub statements: &'a [&'static str],
    /// Its commit has returned.
    pub committed: bool,
    /// Whether its commit must be on disk when it returns.
    pub durability: Durability,
}

thread_local! {
    static STATEMENTS: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

/// Takes note of a statement of this thread's transaction.
pub(crate) fn note(statement: &'static str) {
    STATEMENTS.with_borrow_mut(|statements| statements.push(statement));
}

/// Runs a transaction between its two crash points; `run` calls what it is given before it commits.
pub(crate) fn write<T>(
    hook: &Hook,
    durability: Durability,
    run: impl FnOnce(&dyn Fn() -> Result<()>) -> Result<T>,
) -> Result<T> {
    STATEMENTS.with_borrow_mut(Vec::clear);
    let dead = |committed: bool| {
        let statements = STATEMENTS.with_borrow(Vec::clone);
        match hook(&Point { statements: &statements, committed, durability }) {
            true => Err(StoreError::Refused("the process is dead".to_owned())),
            false => Ok(()),
        }
    };
    let done = run(&|| dead(false))?;
    dead(true)?;
    Ok(done)
}
