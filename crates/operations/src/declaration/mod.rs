//! The declaration: connections and jobs as they can be asked for, without secrets. What `export` writes, `apply` takes.

mod apply;
mod authorities;
mod declared_job;
mod outputs;
mod repositories;

pub use apply::{APPLY, Applied, ApplyDeclaration, ConnectionChange, JobChange, JobChangeKind};
pub use authorities::{CaseWord, DeclaredAuthority, DeclaredRule};
pub use declared_job::{DeclaredJob, DeclaredRoute};

use std::collections::BTreeMap;

use ingather_contract::registry::Registry;
use ingather_store::connections::{self, Role as ConnectionRole};
use ingather_store::{Reader, jobs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::context::{Caller, Context};
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::problem::Result;
use crate::secrets;

const DECLARED: &str = r#"{"version": 1, "repositories": {"files": {"kind": "filesystem", "settings": {}, "group": "staff"}},
    "outputs": {"index": {"kind": "index", "settings": {}}},
    "authorities": {"directory": {"kind": "listed", "settings": {"file": "/etc/ingather/people.json"}, "group": "staff",
    "mapping": [{"pattern": "(.+)@acme[.]example", "name": "$1", "case": "lower"}]}}, "jobs": [{"name": "share", "repository": "files",
    "source": {"root": "/srv/share"}, "stages": [{"transform": "text", "settings": {}}], "outputs": ["index"],
    "delete_guard": {"limits": {"percent": 10, "documents": 20}}, "compare_content": false}]}"#;

/// What has been created, as a declaration that can be kept.
pub static EXPORT: Answering<ExportDeclaration, Declaration> = Answering {
    operation: Operation {
        name: "declaration.export",
        summary: "What has been created, as a declaration that can be kept.",
        request: Shape::of::<ExportDeclaration>("ExportDeclaration", &["{}"]),
        item: None,
        answer: Shape::of::<Declaration>("Declaration", &[DECLARED]),
        role: Role::Operator,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/declaration"),
        words: Words::Are("export"),
        tool: true,
        problems: &[],
    },
    run: export,
};

/// Asks for the declaration.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExportDeclaration {}

/// Version of the form of declarations.
pub const VERSION: u32 = 1;

/// Connections and jobs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    /// Version of this form: 1.
    pub version: u32,
    /// Connections to sources: kind, settings, and the authority group where it has a name; by name.
    #[serde(default)]
    pub repositories: BTreeMap<String, DeclaredConnection>,
    /// Connections to outputs: kind and settings, by name; of kinds that are declared, such as `opensearch`, by `KIND:NAME`.
    #[serde(default)]
    pub outputs: BTreeMap<String, DeclaredConnection>,
    /// Authorities: who says which access tokens somebody holds; by name. The users of this machine are known without one: `unix`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub authorities: BTreeMap<String, DeclaredAuthority>,
    /// Jobs.
    #[serde(default)]
    pub jobs: Vec<DeclaredJob>,
}

/// JSON Schema of declarations.
pub fn schema() -> Value {
    schemars::schema_for!(Declaration).to_value()
}

/// A connection as it can be asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeclaredConnection {
    /// Kind of its connector.
    pub kind: String,
    /// Its settings, without secrets; of a repository, `throttle`: a list of rules that say how much of it is read.
    #[serde(default = "none")]
    pub settings: Value,
    /// The authority group whose tokens judge what it rules, where it is not the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// Settings that are not given are none.
fn none() -> Value {
    json!({})
}

fn export(context: &Context<'_>, _: &Caller<'_>, _: ExportDeclaration) -> Result<Declaration> {
    declaration(&context.registry, &context.existing()?)
}

/// Connections and jobs of an inventory.
pub fn declaration(registry: &Registry, reader: &Reader) -> Result<Declaration> {
    let (connections, jobs) = reader.read(|sql| Ok((connections::list(sql)?, jobs::list(sql)?)))?;
    let of_role = |role: ConnectionRole| -> BTreeMap<String, DeclaredConnection> {
        let one = |one: &connections::Declared| {
            let declared = DeclaredConnection {
                kind: one.kind.clone(),
                settings: secrets::hidden(registry, role, &one.kind, one.settings.clone()),
                group: (!one.group.is_default()).then(|| one.group.name().to_owned()),
            };
            (one.name.clone(), declared)
        };
        connections.iter().filter(|one| one.role == role).map(one).collect()
    };
    let of_authority = |one: ingather_store::authorities::Authority| {
        let declared = DeclaredAuthority::of(&one.declared, registry);
        (one.name, declared)
    };
    let authorities = authorities::stored(Some(reader))?.into_iter().map(of_authority).collect();
    Ok(Declaration {
        version: VERSION,
        authorities,
        repositories: of_role(ConnectionRole::Repository),
        outputs: of_role(ConnectionRole::Output),
        jobs: jobs
            .into_iter()
            .map(|job| {
                DeclaredJob::of(secrets::hidden_in(registry, job.connector.as_deref(), job.definition))
            })
            .collect(),
    })
}
