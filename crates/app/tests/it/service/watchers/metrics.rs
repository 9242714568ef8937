//! What monitoring systems are told, as a parser of theirs reads it.

use std::collections::BTreeMap;

use openmetrics_parser::prometheus::parse_prometheus;
use openmetrics_parser::{PrometheusType, PrometheusValue};

use crate::sandbox::{Kept, Sandbox};
use crate::service::http::Request;
use crate::service::{Service, key};

/// All samples of counters and gauges by name and labels, and how often each histogram has counted.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let exposition = parse_prometheus(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let mut found = BTreeMap::new();
    for family in exposition.families.values() {
        assert!(!family.help.is_empty(), "{}", family.family_name);
        let counts = family.family_type == PrometheusType::Counter;
        assert_eq!(counts, family.family_name.ends_with("_total"), "{}", family.family_name);
        for sample in family.iter_samples() {
            let labels = sample.get_labelset().unwrap();
            let mut labels: Vec<String> =
                labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
            labels.sort();
            let name = format!("{}{{{}}}", family.family_name, labels.join(","));
            let value = match &sample.value {
                PrometheusValue::Histogram(histogram) => histogram.count.unwrap() as f64,
                PrometheusValue::Counter(counter) => counter.value.as_f64(),
                PrometheusValue::Gauge(value) | PrometheusValue::Unknown(value) => value.as_f64(),
                PrometheusValue::Summary(_) => panic!("{name} is a summary"),
            };
            found.insert(name, value);
        }
    }
    found
}

#[test]
fn metrics_are_read_by_a_parser_of_prometheus_and_say_what_jobs_and_clients_did() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        sandbox.write("a.txt", "apple");
        sandbox.write("b.txt", "pear");
        sandbox.run(&["sync", "root", "--name", "share"]).exits(0);
        let mut service = Service::start(&sandbox);
        std::fs::remove_file(sandbox.root().join("b.txt")).unwrap();
        service.answer("POST", "/api/v1/jobs/share/start");
        service.tells("run of job share: ended");
        service.ask("GET", "/api/v1/jobs/none").is(404);
        let told = service.ask("GET", "/metrics").is(200);
        assert!(told.head.contains("content-type: text/plain; version=0.0.4; charset=utf-8"), "{told:#?}");
        let samples = samples(&told.body);
        let version = env!("CARGO_PKG_VERSION");
        for (name, value) in [
            ("ingather_jobs{state=resting}", 1.0),
            ("ingather_jobs{state=working}", 0.0),
            ("ingather_jobs_paused{}", 0.0),
            ("ingather_jobs_summed{}", 0.0),
            ("ingather_job_documents{job=share}", 1.0),
            ("ingather_job_last_run_documents{became=unchanged,job=share}", 1.0),
            ("ingather_job_last_run_documents{became=deleted,job=share}", 1.0),
            ("ingather_runs_total{outcome=done}", 1.0),
            ("ingather_runs_total{outcome=failed}", 0.0),
            ("ingather_runs_in_progress{}", 0.0),
            ("ingather_run_duration_seconds{}", 1.0),
            ("ingather_http_requests_total{operation=jobs.start,status=200}", 1.0),
            ("ingather_http_requests_total{operation=jobs.show,status=404}", 1.0),
            ("ingather_http_request_duration_seconds{operation=jobs.show}", 1.0),
            ("ingather_http_operations_in_progress{}", 0.0),
            (&format!("ingather_build_info{{version={version}}}"), 1.0),
        ] {
            assert_eq!(samples.get(name), Some(&value), "{name}: {}", told.body);
        }
        assert!(samples["ingather_http_connections{listener=network}"] >= 1.0);
        assert!(samples["process_resident_memory_bytes{}"] > 1e6);
        let succeeded = samples["ingather_job_last_success_timestamp_seconds{job=share}"];
        assert!((1.7e9..1e11).contains(&succeeded), "seconds since 1970: {succeeded}");
    }
}

#[test]
fn metrics_are_for_operators_and_for_the_machine_only_where_it_was_said_so() {
    let sandbox = Sandbox::sqlite();
    sandbox.run(&["sync", "root", "--name", "share"]).exits(0);
    let [operator, searcher] = ["operator", "searcher"].map(|role| key(&sandbox, role, &[role], None));
    let ask = |service: &Service<'_>, key: Option<&str>| {
        let request = Request::new("GET", "/metrics");
        key.map_or(request.clone(), |key| request.key(key)).send(service.address)
    };
    let service = Service::start(&sandbox);
    ask(&service, Some(&service.key)).is(200);
    ask(&service, Some(&operator)).is(200);
    ask(&service, Some(&searcher)).refuses(403, "forbidden");
    ask(&service, Some("ing_0_0")).refuses(401, "unauthenticated");
    ask(&service, None).refuses(401, "unauthenticated");
    drop(service);
    let service = Service::with(&sandbox, String::new(), &["--metrics-open"]);
    assert!(ask(&service, None).is(200).body.contains("ingather_job_documents{job=\"share\"} 0"));
    ask(&service, Some(&searcher)).refuses(403, "forbidden");
    Request::new("GET", "/api/v1/jobs").send(service.address).refuses(401, "unauthenticated");
}
