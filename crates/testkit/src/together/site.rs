//! A job over a scripted site, whose pages are found by following links.

use ingather_contract::call::Clock as _;
use ingather_model::job::Definition;
use ingather_store::Durability;
use ingather_store::connections::{self, Role};
use serde_json::json;

use super::definition;
use crate::database::Kind;
use crate::script_repository::site::{self, SITE, Site};
use crate::world::World;

/// Name of the connection to the scripted site.
pub const WEB: &str = "web";

/// A world with the job `docs` over its site, which sends to `one`.
///
/// # Panics
/// When the store takes no connection.
pub fn world_of_a_site(kind: Kind) -> World {
    let mut world = World::new(kind);
    world.output("one", "memory");
    connect(&world);
    world.job(Definition { repository: WEB.to_owned(), ..definition(&world, "docs", "", &["one"]) });
    world
}

/// Adds the connection to the scripted site, where it is not there yet.
pub fn connect(world: &World) {
    connect_as(world, WEB);
}

/// Adds a connection of this name to the scripted site, where it is not there yet.
///
/// # Panics
/// When the store takes no connection.
pub fn connect_as(world: &World, name: &str) {
    let (settings, now) = (json!({}), world.clock.now());
    world
        .store()
        .write(Durability::Synced, |sql| {
            connections::find_or_add(sql, Role::Repository, SITE.name, name, &settings, now).map(|_| ())
        })
        .expect("the store takes a connection");
}

/// Changes the site of a world, or looks at it.
pub fn site<T>(world: &World, change: impl FnOnce(&mut Site) -> T) -> T {
    change(&mut site::locked(&site::shared(&world.name)))
}
