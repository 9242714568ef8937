//! What one user may see, as a filter that a search engine applies inside its own query (design 4.20, R4 of the service page).

use std::collections::BTreeSet;
use std::sync::Arc;

use ingather_contract::access_filter::{AccessFilter, Admitting, IdSet};
use ingather_engine::access_filter;
use ingather_engine::authorities::User;
use ingather_model::access::Tokens;
use ingather_model::limits;
use ingather_store::StoreError;
use ingather_store::connections::{self, Role as ConnectionRole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::who;
use crate::context::{Caller, Context};
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::problem::{Code, Problem, Result};

/// Fields of an entry that say who may see it, as every output by reference has them.
mod field {
    /// The acl of the entry.
    pub(super) const ACL: &str = "acl";
    /// The container that it is in.
    pub(super) const CONTAINER: &str = "container";
    /// The job that sent it.
    pub(super) const JOB: &str = "job";
    /// Its address.
    pub(super) const ADDRESS: &str = "address";
}

/// What a user may see, as a filter for a search engine.
pub static FILTER: Answering<AskFilter, FilterFor> = Answering {
    operation: Operation {
        name: "access.filter",
        summary: "What a user may see, as a filter for the queries of a search engine.",
        request: Shape::of::<AskFilter>("AskFilter", &[r#"{"user": "ann", "engine": "opensearch"}"#]),
        item: None,
        answer: Shape::of::<FilterFor>("FilterFor", &[FILTERS]),
        role: Role::TokenReader,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/authority/filter"),
        words: Words::Are("filter"),
        tool: false,
        problems: &[Code::NoSuchUser, Code::NoSuchOutput, Code::Settings, Code::Connector],
    },
    run: filter_for,
};

const FILTERS: &str = r#"{"user": "ann", "engine": "opensearch", "output": "docs", "whole": true, "acls": 2, "containers": 1,
    "filter": {"bool": {"filter": [{"terms": {"acl": [1, 4]}}, {"terms": {"container": [1]}}],
    "must_not": [{"terms": {"address": ["-7316254801"]}}]}}}"#;

/// Asks what a user may see.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskFilter {
    /// Name of a user; of this machine also the number.
    pub user: String,
    /// The authorisation domain that it is a name in, where that has a name.
    #[serde(default)]
    pub domain: String,
    /// Whose query language it is wanted in.
    pub engine: Language,
    /// The output that is searched. Without one, entries are left out whose access is on its way to any output.
    #[serde(default)]
    pub output: Option<String>,
}

/// A query language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// Query DSL of OpenSearch: for `filter` of a `bool` query.
    Opensearch,
    /// Query DSL of Elasticsearch: for `filter` of a `bool` query.
    Elasticsearch,
    /// JSON query DSL of Solr: for `filter` of a JSON request.
    Solr,
}

/// The filter of a user. It says what holds when it is asked for: whoever searches asks for it before each query.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FilterFor {
    /// The user.
    pub user: String,
    /// The authorisation domain; empty: the one without a name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub domain: String,
    /// Whose query language it is in.
    pub engine: Language,
    /// The output that it is for; none: for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Whether all that the user holds could be asked for: else less is found than they may see, never more.
    pub whole: bool,
    /// Access lists that admit the user.
    pub acls: u64,
    /// Containers that admit the user, together with all above them.
    pub containers: u64,
    /// The filter, by the fields `acl`, `container`, `job` and `address` of entries. Addresses are written as texts: most readers of JSON
    /// have no whole numbers of 64 bits.
    pub filter: Value,
}

fn filter_for(context: &Context<'_>, caller: &Caller<'_>, request: AskFilter) -> Result<FilterFor> {
    let AskFilter { user, domain, engine, output } = request;
    let user = User { name: user, domain };
    let said = who::asked_by(context, caller, &user)?;
    let identity = who::known(&user, &said)?;
    let whole = said.iter().filter_map(|said| identity.tokens(&said.group)).all(Tokens::are_whole);
    let reader = context.existing()?;
    let filters = &context.host.process().searches.access_filters;
    // One read: what is on its way to one output is as old as what is on its way to the next.
    let (names, of_outputs) = reader.read(|sql| {
        let known = connections::list(sql)?.into_iter().filter(|one| one.role == ConnectionRole::Output);
        let (mut names, mut of_outputs) = (Vec::new(), Vec::new());
        for one in known {
            if output.as_ref().is_none_or(|wanted| *wanted == one.name) {
                of_outputs.push(filters.of(sql, Some(one.id), &identity)?);
            }
            names.push(one.name);
        }
        Ok::<_, StoreError>((names, of_outputs))
    })?;
    if let Some(name) = output.as_ref().filter(|_| of_outputs.is_empty()) {
        let sentence = format!("there is no output `{name}`; there are: {}", names.join(", "));
        return Err(Problem::new(Code::NoSuchOutput, sentence));
    }
    let of_outputs: Vec<Arc<AccessFilter>> =
        of_outputs.into_iter().collect::<Option<_>>().ok_or_else(access_filter::too_many)?;
    let refused: BTreeSet<i64> = of_outputs.iter().flat_map(|filter| filter.refused()).collect();
    let nothing = Admitting::default();
    let admitting = match of_outputs.first().map(|filter| &**filter) {
        Some(AccessFilter::Only { admitting, .. }) => admitting,
        _ => &nothing,
    };
    let count = |ids: &IdSet| ids.iter().count() as u64;
    Ok(FilterFor {
        acls: count(&admitting.acl_ids),
        containers: count(&admitting.containers),
        filter: engine.filter(admitting, &refused),
        user: user.name,
        domain: user.domain,
        engine,
        output,
        whole,
    })
}

impl Language {
    /// Entries whose acl and container admit, but for those of jobs that have not looked at a container since it opened, and for those at a
    /// refused address. Exactly what [`AccessFilter::permits`] says, or less where very many jobs have such containers.
    fn filter(self, admitting: &Admitting, refused: &BTreeSet<i64>) -> Value {
        let Admitting { acl_ids, containers, pending_containers } = admitting;
        let acls: Vec<i64> = acl_ids.iter().collect();
        let open: Vec<i64> = containers.iter().collect();
        if acls.is_empty() || open.is_empty() {
            return self.none();
        }
        // What is not open for anybody needs no closing.
        let shut = |ids: &IdSet| ids.iter().filter(|id| containers.contains(*id)).collect::<Vec<i64>>();
        let jobs = &pending_containers.jobs;
        let closed = pending_containers.closed.iter().filter(|(job, _)| **job == 0 || jobs.contains(**job));
        let mut closed: Vec<(i64, Vec<i64>)> = closed.map(|(job, ids)| (*job, shut(ids))).collect();
        closed.retain(|(_, ids)| !ids.is_empty());
        closed.sort_unstable();
        let mut not: Vec<Value> = match closed.len() > limits::FILTER_JOBS_MAX {
            // Engines bound the clauses of a query. Closed for all jobs, they show less and never more.
            true => {
                let all: BTreeSet<i64> = closed.into_iter().flat_map(|(_, ids)| ids).collect();
                vec![self.one_of(field::CONTAINER, all.into_iter().collect())]
            }
            false => closed.into_iter().map(|(job, ids)| self.closed(job, ids, jobs)).collect(),
        };
        if !refused.is_empty() {
            let refused: Vec<String> = refused.iter().map(i64::to_string).collect();
            not.push(self.one_of(field::ADDRESS, refused));
        }
        self.all_of([self.one_of(field::ACL, acls), self.one_of(field::CONTAINER, open)], not)
    }

    /// Entries in these containers that are of a job; 0: of none that there is.
    fn closed(self, job: i64, containers: Vec<i64>, jobs: &IdSet) -> Value {
        let containers = self.one_of(field::CONTAINER, containers);
        match job {
            0 => {
                let jobs: Vec<i64> = jobs.iter().collect();
                let known =
                    Some(jobs).filter(|jobs| !jobs.is_empty()).map(|jobs| self.one_of(field::JOB, jobs));
                self.all_of([containers], known.into_iter().collect())
            }
            _ => self.all_of([self.one_of(field::JOB, vec![job]), containers], Vec::new()),
        }
    }

    fn all_of(self, all: impl IntoIterator<Item = Value>, not: Vec<Value>) -> Value {
        let all: Vec<Value> = all.into_iter().collect();
        match not.is_empty() {
            true => json!({"bool": {"filter": all}}),
            false => json!({"bool": {"filter": all, "must_not": not}}),
        }
    }

    fn one_of<V: Serialize + ToString>(self, field: &str, values: Vec<V>) -> Value {
        if self == Language::Solr {
            let values: Vec<String> = values.iter().map(V::to_string).collect();
            return json!({"terms": {"f": field, "query": values.join(",")}});
        }
        let mut clauses: Vec<Value> =
            values.chunks(limits::FILTER_TERMS_MAX).map(|values| json!({"terms": {field: values}})).collect();
        match clauses.len() {
            1 => clauses.remove(0),
            _ => json!({"bool": {"should": clauses, "minimum_should_match": 1}}),
        }
    }

    fn none(self) -> Value {
        match self {
            Language::Solr => json!({"bool": {"must_not": ["*:*"]}}),
            Language::Opensearch | Language::Elasticsearch => json!({"match_none": {}}),
        }
    }
}

#[cfg(test)]
mod tests;
