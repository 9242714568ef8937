//! What one user may see, as a filter that a search engine applies inside its own query (design 4.20, R4 of the service page).

use std::collections::BTreeSet;

use ingather_contract::access_filter::{AccessFilter, Admitting, IdSet};
use ingather_engine::access_filter;
use ingather_engine::authorities::User;
use ingather_model::access::Tokens;
use ingather_model::limits;
use ingather_store::StoreError;
use ingather_store::connections::{self, Declared, Role as ConnectionRole};
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
    /// The store that sent it.
    pub(super) const STORE: &str = "store";
    /// The number of its change.
    pub(super) const SEQ: &str = "seq";
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

const FILTERS: &str = r#"{"user": "ann", "domain": "acme", "engine": "opensearch", "output": "opensearch:docs", "whole": true, "acls": 2, "containers": 1,
    "filter": {"bool": {"filter": [{"terms": {"acl": [1, 4]}}, {"terms": {"container": [1]}},
    {"terms": {"store": ["7f3a"]}}, {"range": {"seq": {"lte": 90}}}],
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
    /// The output that is searched; where only one is of this engine, it need not be named.
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
    /// The output that it is for: it finds nothing that others have sent, nor what a store of an earlier day does not know of.
    pub output: String,
    /// Whether all that the user holds could be asked for: else less is found than they may see, never more.
    pub whole: bool,
    /// Access lists that admit the user.
    pub acls: u64,
    /// Containers that admit the user, together with all above them.
    pub containers: u64,
    /// The filter, by the fields `acl`, `container`, `job`, `address`, `store` and `seq` of entries. Addresses are written as texts: most readers of JSON
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
    // One read: what was sent is as old as what is on its way.
    let (known, found) = reader.read(|sql| {
        let known = connections::list(sql)?.into_iter().filter(|one| one.role == ConnectionRole::Output);
        let known: Vec<Declared> = known.collect();
        let Some(wanted) = engine.wanted(&known, output.as_deref()) else { return Ok((known, None)) };
        let Some(found) = connections::find(sql, ConnectionRole::Output, &wanted)? else {
            return Ok((known, None));
        };
        let filter = filters.of(sql, Some(found.id), &identity)?;
        Ok::<_, StoreError>((known, Some((found, filter))))
    })?;
    let Some((found, filter)) = found else { return Err(no_output(output.as_deref(), &known)) };
    let filter = filter.ok_or_else(access_filter::too_many)?;
    let nothing = Admitting::default();
    let admitting = match &*filter {
        AccessFilter::Only { admitting, .. } => admitting,
        AccessFilter::All => &nothing,
    };
    let count = |ids: &IdSet| ids.iter().count() as u64;
    Ok(FilterFor {
        acls: count(&admitting.acl_ids),
        containers: count(&admitting.containers),
        filter: engine.filter(admitting, &filter.refused(), (reader.id(), found.ceiling)),
        user: user.name,
        domain: user.domain,
        engine,
        output: found.name,
        whole,
    })
}

/// A filter in the language of OpenSearch and Elasticsearch, as [`FILTER`] hands it out; for whoever sees everything what this store has sent.
pub(crate) fn of_server(filter: &AccessFilter, known: (&str, i64)) -> Value {
    let language = Language::Opensearch;
    match filter {
        AccessFilter::All => language.all_of(language.known(known), Vec::new()),
        AccessFilter::Only { admitting, .. } => language.filter(admitting, &filter.refused(), known),
    }
}

fn no_output(asked: Option<&str>, known: &[Declared]) -> Problem {
    let names: Vec<&str> = known.iter().map(|one| one.name.as_str()).collect();
    let there = if names.is_empty() { "none so far".to_owned() } else { names.join(", ") };
    let sentence = match asked {
        Some(name) => format!("there is no output `{name}`; there are: {there}"),
        None => format!("say which output is searched, by `--output` or `output`; there are: {there}"),
    };
    Problem::new(Code::NoSuchOutput, sentence)
}

impl Language {
    /// The output that is meant: the one of that name, else the only one of this engine.
    fn wanted(self, known: &[Declared], name: Option<&str>) -> Option<String> {
        if let Some(name) = name {
            return Some(name.to_owned());
        }
        let mut fits = known.iter().filter(|one| self != Language::Solr && one.kind == "opensearch");
        fits.next().filter(|_| fits.next().is_none()).map(|one| one.name.clone())
    }

    /// Entries whose acl and container admit, but for those of jobs that have not looked at a container since it opened, and for those at a
    /// refused address. Exactly what [`AccessFilter::permits`] says, or less where very many jobs have such containers.
    ///
    /// Numbers of acls and containers are those of one store, and of one history of it: entries of another store, and with numbers above
    /// `ceiling`, the largest that this one has sent, are left out.
    fn filter(self, admitting: &Admitting, refused: &[i64], known: (&str, i64)) -> Value {
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
        let all = [self.one_of(field::ACL, acls), self.one_of(field::CONTAINER, open)];
        self.all_of(all.into_iter().chain(self.known(known)), not)
    }

    /// What this store has sent, as far as it has noted.
    fn known(self, (store, ceiling): (&str, i64)) -> [Value; 2] {
        [self.one_of(field::STORE, vec![store]), self.at_most(field::SEQ, ceiling)]
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

    fn at_most(self, field: &str, most: i64) -> Value {
        match self {
            Language::Solr => json!(format!("{field}:[* TO {most}]")),
            Language::Opensearch | Language::Elasticsearch => json!({"range": {field: {"lte": most}}}),
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
