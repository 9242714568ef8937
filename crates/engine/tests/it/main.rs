//! The engine in worlds of its own: text scenarios, crashes at every point, random worlds against a naive model.

mod crashes;
mod moves;
mod owners;
mod random_worlds;
mod scenarios;
