//! What this service says of itself to identity providers (RFC 7643, 5 to 7): what it can, and which attributes mean something to it. All others
//! are kept and shown as they came.

use ingather_model::limits;
use ingather_operations::access::people::SCIM;
use serde_json::{Value, json};

const USER: &str = "urn:ietf:params:scim:schemas:core:2.0:User";
const GROUP: &str = "urn:ietf:params:scim:schemas:core:2.0:Group";
const ENTERPRISE: &str = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

/// Where a description is found; names of authorities that are not plain are no paths, and whoever reads it has the path already.
fn meta(authority: &str, of: &str, id: &str) -> Value {
    json!({ "resourceType": of, "location": format!("{SCIM}/{authority}/{of}s/{id}").trim_end_matches('/') })
}

/// What the service can.
pub(super) fn config(authority: &str) -> Value {
    json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
        "patch": { "supported": true },
        "bulk": { "supported": false, "maxOperations": 0, "maxPayloadSize": 0 },
        "filter": { "supported": true, "maxResults": limits::PUSHED_PAGE_MAX },
        "changePassword": { "supported": false },
        "sort": { "supported": false },
        "etag": { "supported": true },
        "authenticationSchemes": [{
            "type": "oauthbearertoken",
            "name": "API key",
            "description": "An API key with the role `provisioner`, as a bearer token.",
            "primary": true,
        }],
        "meta": { "resourceType": "ServiceProviderConfig", "location": format!("{SCIM}/{authority}/ServiceProviderConfig") },
    })
}

/// Which resources there are.
pub(super) fn resource_types(authority: &str) -> Vec<Value> {
    let one = |name: &str, about: &str, schema: &str, extensions: Value| {
        json!({
            "schemas": ["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],
            "id": name,
            "name": name,
            "description": about,
            "endpoint": format!("/{name}s"),
            "schema": schema,
            "schemaExtensions": extensions,
            "meta": meta(authority, "ResourceType", name),
        })
    };
    vec![
        one(
            "User",
            "A person who holds access tokens.",
            USER,
            json!([{ "schema": ENTERPRISE, "required": false }]),
        ),
        one("Group", "A group, whose token its members hold.", GROUP, json!([])),
    ]
}

/// An attribute.
fn attribute(
    name: &str,
    kind: &str,
    (required, exact): (bool, bool),
    uniqueness: &str,
    about: &str,
) -> Value {
    json!({
        "name": name,
        "type": kind,
        "multiValued": false,
        "description": about,
        "required": required,
        "caseExact": exact,
        "mutability": "readWrite",
        "returned": "default",
        "uniqueness": uniqueness,
    })
}

/// An attribute of several values, each with these parts.
fn several(name: &str, about: &str, parts: Vec<Value>) -> Value {
    json!({
        "name": name,
        "type": "complex",
        "multiValued": true,
        "description": about,
        "required": false,
        "mutability": "readWrite",
        "returned": "default",
        "subAttributes": parts,
    })
}

/// An attribute that has one value with parts.
fn one_of(mut attribute: Value) -> Value {
    attribute["multiValued"] = false.into();
    attribute
}

fn text(name: &str, about: &str) -> Value {
    attribute(name, "string", (false, false), "none", about)
}

fn manager() -> Value {
    one_of(several("manager", "The manager; kept, and nothing else.", vec![text("value", "Their id.")]))
}

/// Members of a group. What one is does not change: another one comes in its place.
fn members() -> Value {
    let mut parts = vec![
        attribute("value", "string", (true, true), "none", "The id."),
        attribute("type", "string", (false, false), "none", "`User` or `Group`."),
        attribute("$ref", "reference", (false, true), "none", "Where it is found."),
    ];
    parts[1]["canonicalValues"] = json!(["User", "Group"]);
    parts[2]["referenceTypes"] = json!(["User", "Group"]);
    parts.iter_mut().for_each(|part| part["mutability"] = "immutable".into());
    several("members", "Who is in it: people and groups.", parts)
}

/// Attributes that mean something here, or that providers send to everybody.
pub(super) fn schemas(authority: &str) -> Vec<Value> {
    let schema = |id: &str, name: &str, about: &str, attributes: Vec<Value>| {
        json!({
            "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Schema"],
            "id": id,
            "name": name,
            "description": about,
            "attributes": attributes,
            "meta": meta(authority, "Schema", id),
        })
    };
    let external = || attribute("externalId", "string", (false, true), "none", "What the provider calls it.");
    let values = || {
        vec![
            text("value", "The value."),
            text("type", "What it is for."),
            attribute("primary", "boolean", (false, false), "none", "Whether it is the first one."),
        ]
    };
    vec![
        schema(
            USER,
            "User",
            "A person.",
            vec![
                attribute(
                    "userName",
                    "string",
                    (true, false),
                    "server",
                    "The name that the person is known by.",
                ),
                external(),
                attribute("active", "boolean", (false, false), "none", "Whether the person may enter."),
                text("displayName", "The name to show."),
                one_of(several(
                    "name",
                    "The parts of the name; kept, and nothing else.",
                    vec![
                        text("formatted", "All of it."),
                        text("familyName", "The family name."),
                        text("givenName", "The given name."),
                    ],
                )),
                several("emails", "Addresses; kept, and nothing else.", values()),
            ],
        ),
        schema(
            GROUP,
            "Group",
            "A group.",
            vec![
                attribute("displayName", "string", (true, false), "none", "The name of the group."),
                external(),
                members(),
            ],
        ),
        schema(
            ENTERPRISE,
            "EnterpriseUser",
            "More of a person; kept, and nothing else.",
            vec![text("employeeNumber", "Their number."), text("department", "Their department."), manager()],
        ),
    ]
}
