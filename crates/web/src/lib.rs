//! Sources that are read over HTTP and found by following links: web sites, feeds, wikis.
#![warn(missing_docs)]

mod container;
pub mod directives;
pub mod feed;
pub mod http;
pub mod memo;
pub mod robots;
pub mod scope;
mod session;
pub mod site;
pub mod sitemap;
pub mod urls;
pub mod wiki;
