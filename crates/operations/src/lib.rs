//! Operations: all that people and programs can ask for, with one meaning whether it comes from the command line, over HTTP
//! or from a model's tool.
//!
//! Reading order: [`operation`] is what a row of the table says · [`table`] has the rows · [`context`] is what an operation
//! is given · [`problem`] is why one was not done, with exit code and HTTP status · one file for each noun.
//!
//! An operation takes a request and returns an answer, both plain data. It parses no arguments, asks nobody and writes to no
//! terminal: that is its caller's.
#![warn(missing_docs)]

pub mod access;
pub mod backup;
pub mod callers;
pub mod connections;
pub mod context;
pub mod declaration;
pub mod documents;
pub mod in_words;
pub mod jobs;
pub mod new_file;
pub mod operation;
mod page;
pub mod pipeline;
pub mod problem;
pub mod search;
pub mod secrets;
pub mod system;
pub mod table;
pub mod verify;

pub use callers::askers::{Asker, Presented};
pub use callers::{answers_log, api_keys, audit, links};
pub use context::{Background, Caller, Context, Doing, Host, LogEntry, Places, Service, Work, Writing};
pub use problem::{Code, Problem, Result};
pub use table::OPERATIONS;
