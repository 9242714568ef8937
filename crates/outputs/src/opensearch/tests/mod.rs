//! What the output promises, against a real server.

mod promises;
