//! Sources that are read over HTTP and found by following links: web sites, feeds.
#![warn(missing_docs)]
