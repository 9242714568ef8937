//! Filters for search engines beside the built-in one: the same entries, within the limits of the engines.

use std::collections::HashMap;
use std::sync::Arc;

use ingather_contract::access_filter::{PendingContainers, Reference};
use ingather_model::ids::{AclId, ContainerId, JobId};

use super::*;

const LANGUAGES: [Language; 3] = [Language::Opensearch, Language::Elasticsearch, Language::Solr];

/// What the filters are of.
const SENT: (&str, i64) = ("ours", 100);

/// An entry as an engine has it.
struct Entry {
    address: i64,
    of: Reference,
    store: &'static str,
    seq: i64,
}

/// One that this store has sent.
fn sent(address: i64, of: Reference) -> Entry {
    Entry { address, of, store: SENT.0, seq: SENT.1 }
}

impl Entry {
    fn value(&self, field: &str) -> Option<i64> {
        match field {
            "acl" => self.of.acl_id.map(|id| id.0),
            "container" => self.of.container.map(|id| id.0),
            "job" => self.of.job.map(|id| id.0),
            "address" => Some(self.address),
            "seq" => Some(self.seq),
            _ => panic!("no entry has a field {field}"),
        }
    }

    /// What an engine does with a filter: written from the pages of both query languages, and knowing nothing of access.
    fn matches(&self, query: &Value) -> bool {
        if let Some(words) = query.as_str() {
            let most = words.strip_prefix("seq:[* TO ").and_then(|rest| rest.strip_suffix(']'));
            assert!(words == "*:*" || most.is_some(), "{words}");
            return most.is_none_or(|most| self.seq <= most.parse::<i64>().unwrap());
        }
        let (kind, body) = query.as_object().unwrap().iter().next().unwrap();
        let each = |name: &str| body[name].as_array().into_iter().flatten();
        match kind.as_str() {
            "match_none" => false,
            "bool" => {
                let known = ["filter", "must_not", "should", "minimum_should_match"];
                assert!(body.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())), "{body}");
                each("filter").all(|one| self.matches(one))
                    && !each("must_not").any(|one| self.matches(one))
                    && (each("should").count() == 0 || each("should").any(|one| self.matches(one)))
                    // A query that only excludes finds nothing by itself.
                    && each("filter").chain(each("should")).count() > 0
            }
            "range" => self.value("seq").unwrap() <= body["seq"]["lte"].as_i64().unwrap(),
            "terms" if body.get("f") == Some(&json!("store")) => body["query"] == self.store,
            "terms" if body.get("store").is_some() => body["store"] == json!([self.store]),
            "terms" if body.get("f").is_some() => {
                let value = self.value(body["f"].as_str().unwrap());
                let given = body["query"].as_str().unwrap().split(',');
                given.map(|given| given.parse::<i64>().unwrap()).any(|given| Some(given) == value)
            }
            "terms" => {
                let (field, given) = body.as_object().unwrap().iter().next().unwrap();
                let number = |given: &Value| match given {
                    Value::String(text) => text.parse().unwrap(),
                    given => given.as_i64().unwrap(),
                };
                given.as_array().unwrap().iter().any(|given| Some(number(given)) == self.value(field))
            }
            kind => panic!("nobody knows a query {kind}"),
        }
    }
}

fn some(dice: &mut fastrand::Rng, most: i64) -> Vec<i64> {
    let one_of = dice.i64(1..=4);
    (1..=most).filter(|_| dice.i64(0..4) < one_of).collect()
}

fn random(dice: &mut fastrand::Rng) -> AccessFilter {
    let jobs: IdSet = some(dice, 4).into_iter().collect();
    let closed: HashMap<i64, IdSet> =
        (0..dice.i64(0..5)).map(|job| (job, some(dice, 6).into_iter().collect())).collect();
    let admitting = Admitting {
        acl_ids: some(dice, 5).into_iter().collect(),
        containers: some(dice, 6).into_iter().collect(),
        pending_containers: PendingContainers { jobs, closed },
    };
    let pending = (0..dice.usize(0..3)).map(|_| (dice.i64(-3..3), vec![reference(dice)])).collect();
    AccessFilter::Only { admitting: Arc::new(admitting), pending }
}

fn reference(dice: &mut fastrand::Rng) -> Reference {
    let mut id = |most: i64| Some(dice.i64(0..=most)).filter(|id| *id > 0);
    Reference { job: id(5).map(JobId), acl_id: id(6).map(AclId), container: id(7).map(ContainerId) }
}

#[test]
fn a_filter_matches_what_the_built_in_one_permits() {
    for seed in 0..3_000 {
        let mut dice = fastrand::Rng::with_seed(seed);
        let built_in = random(&mut dice);
        let AccessFilter::Only { admitting, .. } = &built_in else { panic!("it is for a user") };
        let filters = LANGUAGES.map(|language| language.filter(admitting, &built_in.refused(), SENT));
        for _ in 0..40 {
            let entry = sent(dice.i64(-3..3), reference(&mut dice));
            for filter in &filters {
                let permits = built_in.permits(entry.address, entry.of);
                assert_eq!(entry.matches(filter), permits, "{seed}: {filter} {:?}", entry.of);
            }
        }
    }
}

#[test]
fn a_hundred_thousand_acls_keep_to_the_limits_of_a_clause() {
    let admitting = Admitting {
        acl_ids: (1..=100_000).collect(),
        containers: [1].into_iter().collect(),
        pending_containers: PendingContainers::default(),
    };
    let filter = Language::Opensearch.filter(&admitting, &[], SENT);
    let clauses = filter["bool"]["filter"][0]["bool"]["should"].as_array().unwrap();
    let sizes: Vec<usize> = clauses.iter().map(|one| one["terms"]["acl"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [65_536, 34_464]);
    let of = |acl| Reference { job: None, acl_id: Some(AclId(acl)), container: Some(ContainerId(1)) };
    assert!(sent(1, of(100_000)).matches(&filter));
    assert!(!sent(1, of(100_001)).matches(&filter));
}

#[test]
fn what_more_jobs_than_a_query_has_clauses_for_have_not_looked_at_is_closed_for_all() {
    let jobs = 1..=limits::FILTER_JOBS_MAX as i64 + 1;
    let closed = jobs.clone().map(|job| (job, [2].into_iter().collect())).collect();
    let admitting = Admitting {
        acl_ids: [1].into_iter().collect(),
        containers: [1, 2].into_iter().collect(),
        pending_containers: PendingContainers { jobs: jobs.chain([9_999]).collect(), closed },
    };
    for language in LANGUAGES {
        let filter = language.filter(&admitting, &[], SENT);
        let finds = |container| {
            let of = Reference {
                job: Some(JobId(9_999)),
                acl_id: Some(AclId(1)),
                container: Some(ContainerId(container)),
            };
            sent(1, of).matches(&filter)
        };
        assert!(finds(1) && !finds(2), "{filter}");
    }
}

#[test]
fn addresses_are_texts_for_readers_without_whole_numbers_of_64_bits() {
    let admitting = Admitting {
        acl_ids: [1].into_iter().collect(),
        containers: [1].into_iter().collect(),
        pending_containers: PendingContainers::default(),
    };
    let filter = Language::Elasticsearch.filter(&admitting, &[i64::MIN], SENT);
    assert_eq!(filter["bool"]["must_not"][0]["terms"]["address"][0], "-9223372036854775808");
}

#[test]
fn what_another_store_has_sent_and_what_this_one_has_not_is_found_by_nobody() {
    let admitting = Admitting {
        acl_ids: [1].into_iter().collect(),
        containers: [1].into_iter().collect(),
        pending_containers: PendingContainers::default(),
    };
    let of = Reference { job: None, acl_id: Some(AclId(1)), container: Some(ContainerId(1)) };
    for language in LANGUAGES {
        let filter = language.filter(&admitting, &[], SENT);
        assert!(sent(1, of).matches(&filter), "{filter}");
        assert!(!Entry { store: "another", ..sent(1, of) }.matches(&filter), "{filter}");
        assert!(!Entry { seq: SENT.1 + 1, ..sent(1, of) }.matches(&filter), "{filter}");
    }
}
