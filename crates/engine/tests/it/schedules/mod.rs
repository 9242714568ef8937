//! What begins by itself, and when.

mod compressed_day;
mod scheduler;
mod watches;
