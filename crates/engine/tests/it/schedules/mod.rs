//! What begins by itself, and when.

mod compressed_day;
mod dated;
mod scheduler;
mod watches;
