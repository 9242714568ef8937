//! JSON schemas, by a library that only tests use.

use serde_json::Value;

pub use jsonschema::Validator;

/// What tells whether a value fits a schema.
///
/// # Panics
/// When the schema is none.
#[must_use]
pub fn of(schema: &Value) -> Validator {
    jsonschema::validator_for(schema).unwrap_or_else(|why| panic!("{why}: {schema}"))
}
