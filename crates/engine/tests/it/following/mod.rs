//! Sources that are found by following links.

mod handed;
mod random;
mod reach;
