//! Outputs over a network: search engines that keep what the built-in index keeps, with the same promises.

pub mod opensearch;
