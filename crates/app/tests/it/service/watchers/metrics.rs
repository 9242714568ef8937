//! What monitoring systems are told, as a parser of theirs reads it.

use std::collections::BTreeMap;

use prometheus_parse::{Scrape, Value};

use crate::sandbox::{Kept, Sandbox};
use crate::service::http::Request;
use crate::service::{Service, key};

/// All samples by name and labels. Those of a histogram are how often it has counted, and their sum.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let scrape = Scrape::parse(text.lines().map(|line| Ok(line.to_owned()))).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.contains("_bucket{")).count();
    let mut found = BTreeMap::new();
    for sample in &scrape.samples {
        let mut labels: Vec<String> =
            sample.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        labels.sort();
        let name = format!("{}{{{}}}", sample.metric, labels.join(","));
        let of_histogram = ["_sum", "_count"].iter().find_map(|end| sample.metric.strip_suffix(end));
        let family = of_histogram.unwrap_or(&sample.metric);
        assert!(scrape.docs.get(family).is_some_and(|said| said.ends_with('.')), "{name} is not explained");
        let value = match &sample.value {
            Value::Counter(value) => {
                assert!(sample.metric.ends_with("_total"), "{name}");
                *value
            }
            Value::Gauge(value) => {
                assert!(!sample.metric.ends_with("_total"), "{name}");
                *value
            }
            // Its buckets, each with all that are in those before it.
            Value::Histogram(buckets) => {
                assert!(buckets.is_sorted_by_key(|bucket| bucket.count), "{name}: {buckets:?}");
                assert_eq!(buckets.last().map(|bucket| bucket.less_than), Some(f64::INFINITY), "{name}");
                continue;
            }
            Value::Untyped(value) if of_histogram.is_some() => *value,
            other => panic!("{name} has no kind: {other:?}"),
        };
        assert_eq!(found.insert(name, value), None, "told twice");
    }
    assert_eq!(found.len(), lines, "each line is read: {text}");
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
            ("ingather_run_duration_seconds_count{}", 1.0),
            ("ingather_http_requests_total{operation=jobs.start,status=200}", 1.0),
            ("ingather_http_requests_total{operation=jobs.show,status=404}", 1.0),
            ("ingather_http_request_duration_seconds_count{operation=jobs.show}", 1.0),
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
