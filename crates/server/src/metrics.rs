//! `/metrics`: figures in the text format of Prometheus. What is asked of the service and what runs end as is counted here; all else is
//! read when somebody looks.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ingather_model::lifecycle::job::State;
use ingather_model::lifecycle::outcome::OutputHealth;
use ingather_model::limits;
use ingather_operations::jobs::events::{RunEvent, RunHappening};
use ingather_operations::jobs::figures::{self, Watched, Writes};
use ingather_operations::problem::{Problem, Result};
use prometheus::core::{Collector, GenericCounter};
use prometheus::process_collector::ProcessCollector;
use prometheus::{
    Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts, Registry, TextEncoder,
};

/// The kind of what [`Metrics::text`] writes.
pub(crate) const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Upper bounds of the time that a request takes, seconds.
const REQUEST_BUCKETS: [f64; 8] = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0];
/// Upper bounds of the time that a run takes, seconds: from a look at a small folder to a day.
const RUN_BUCKETS: [f64; 8] = [0.1, 1.0, 10.0, 60.0, 600.0, 3_600.0, 21_600.0, 86_400.0];

/// What a request was counted as, beside its response: the name of an operation.
#[derive(Clone, Copy)]
pub(crate) struct CountedAs(pub(crate) &'static str);

/// What is counted from the beginning of the service on.
pub(crate) struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    request_seconds: HistogramVec,
    connections: IntGaugeVec,
    at_work: IntGauge,
    runs: IntCounterVec,
    runs_under_way: IntGauge,
    run_seconds: Histogram,
}

/// A connection that is open, until it is dropped.
pub(crate) struct Open(IntGauge);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Names and labels are those of this file: the library refuses none of them, as a test sees.
fn made<T>(made: prometheus::Result<T>) -> T {
    made.expect("names and labels are such that the library takes them")
}

fn gauge(name: &str, help: &str) -> IntGauge {
    made(IntGauge::new(name, help))
}

fn gauges(name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
    made(IntGaugeVec::new(Opts::new(name, help), labels))
}

fn counters(name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
    made(IntCounterVec::new(Opts::new(name, help), labels))
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let seconds = |name: &str, help: &str, buckets: &[f64]| {
            HistogramOpts::new(name, help).buckets(buckets.to_vec())
        };
        let requests = seconds(
            "ingather_http_request_duration_seconds",
            "Time from the head of a request to that of its answer.",
            &REQUEST_BUCKETS,
        );
        let runs = seconds("ingather_run_duration_seconds", "Time that runs have taken.", &RUN_BUCKETS);
        let metrics = Metrics {
            registry: Registry::new(),
            requests: counters(
                "ingather_http_requests_total",
                "Requests that were answered, by operation and status; `other` is what is no operation.",
                &["operation", "status"],
            ),
            request_seconds: made(HistogramVec::new(requests, &["operation"])),
            connections: gauges("ingather_http_connections", "Connections that are open.", &["listener"]),
            at_work: gauge("ingather_http_operations_in_progress", "Operations at work for clients."),
            runs: counters(
                "ingather_runs_total",
                "Runs that have ended since the service began.",
                &["outcome"],
            ),
            runs_under_way: gauge("ingather_runs_in_progress", "Runs that are under way."),
            run_seconds: made(Histogram::with_opts(runs)),
        };
        for outcome in ["done", "stopped", "failed"] {
            metrics.runs.with_label_values(&[outcome]);
        }
        metrics.register(metrics.requests.clone());
        metrics.register(metrics.request_seconds.clone());
        metrics.register(metrics.connections.clone());
        metrics.register(metrics.at_work.clone());
        metrics.register(metrics.runs.clone());
        metrics.register(metrics.runs_under_way.clone());
        metrics.register(metrics.run_seconds.clone());
        metrics.register(ProcessCollector::for_self());
        let build = gauges("ingather_build_info", "The version of the program; always 1.", &["version"]);
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        metrics.register(build);
        metrics
    }

    fn register(&self, collector: impl Collector + 'static) {
        made(self.registry.register(Box::new(collector)));
    }

    pub(crate) fn answered(&self, counted_as: Option<CountedAs>, status: u16, begun: Instant) {
        let operation = counted_as.map_or("other", |CountedAs(operation)| operation);
        let counter: GenericCounter<_> = self.requests.with_label_values(&[operation, &status.to_string()]);
        counter.inc();
        self.request_seconds.with_label_values(&[operation]).observe(begun.elapsed().as_secs_f64());
    }

    pub(crate) fn open(&self, listener: &'static str) -> Open {
        let gauge = self.connections.with_label_values(&[listener]);
        gauge.inc();
        Open(gauge)
    }

    pub(crate) fn heard(&self, event: &RunEvent) {
        match &event.what {
            RunHappening::Ended { outcome, millis, .. } => {
                self.runs.with_label_values(&[outcome.as_str()]).inc();
                self.run_seconds.observe(Duration::from_millis(*millis).as_secs_f64());
            }
            RunHappening::Begun { .. } | RunHappening::Paused(_) => {}
        }
    }

    /// All figures of this moment.
    ///
    /// # Errors
    /// When they cannot be written as text.
    pub(crate) fn text(&self, at_work: usize, runs_under_way: usize, watched: &Watched) -> Result<String> {
        self.at_work.set(i64::try_from(at_work).unwrap_or(i64::MAX));
        self.runs_under_way.set(i64::try_from(runs_under_way).unwrap_or(i64::MAX));
        let of_now = Registry::new();
        of_jobs(watched)
            .into_iter()
            .chain(of_writes(&watched.writes))
            .for_each(|one| made(of_now.register(one)));
        let mut families = self.registry.gather();
        families.extend(of_now.gather());
        TextEncoder::new()
            .encode_to_string(&families)
            .map_err(|error| Problem::unable(format!("the metrics cannot be written: {error}")))
    }
}

/// Figures of jobs and of queues: those of jobs beyond the bound are added up, under no name.
fn of_jobs(watched: &Watched) -> Vec<Box<dyn Collector>> {
    let states = gauges("ingather_jobs", "Jobs, by where they are in their lives.", &["state"]);
    State::WORDS.iter().for_each(|state| states.with_label_values(&[state]).set(0));
    let paused = gauge("ingather_jobs_paused", "Jobs that a person has paused.");
    let summed = gauge(
        "ingather_jobs_summed",
        "Jobs without figures of their own: what is said of them stands together, under an empty name.",
    );
    let documents = gauges("ingather_job_documents", "Documents in the inventory of a job.", &["job"]);
    let became = gauges(
        "ingather_job_last_run_documents",
        "What became of the documents of the last run of a job.",
        &["job", "became"],
    );
    let success = made(GaugeVec::new(
        Opts::new(
            "ingather_job_last_success_timestamp_seconds",
            "When a run of a job has ended well last; of jobs that are added up, the longest ago.",
        ),
        &["job"],
    ));
    let mut longest_ago: BTreeMap<&str, f64> = BTreeMap::new();
    for (place, job) in watched.jobs.iter().enumerate() {
        let name = if place < limits::METRICS_JOBS_MAX { job.name.as_str() } else { "" };
        states.with_label_values(&[job.state.as_str()]).inc();
        paused.add(job.paused.into());
        summed.add(name.is_empty().into());
        documents.with_label_values(&[name]).add(job.documents as i64);
        let counts = serde_json::to_value(figures::counts(job)).unwrap_or_default();
        for (word, count) in counts.as_object().into_iter().flatten() {
            became.with_label_values(&[name, word]).add(count.as_i64().unwrap_or_default());
        }
        if let Some(at) = job.succeeded_at {
            let at = at as f64 / 1_000.0;
            longest_ago.entry(name).and_modify(|known| *known = known.min(at)).or_insert(at);
        }
    }
    for (name, at) in longest_ago {
        let gauge: Gauge = success.with_label_values(&[name]);
        gauge.set(at);
    }
    let queued = gauges("ingather_output_queued_changes", "Changes that wait for an output.", &["output"]);
    for (output, changes) in &watched.queued {
        queued.with_label_values(&[output]).set(i64::try_from(*changes).unwrap_or(i64::MAX));
    }
    let healthy = gauges(
        "ingather_output_healthy",
        "Whether an output takes what it is sent, as was found last: 1, or 0 where it is away or damaged.",
        &["output"],
    );
    for (output, health) in &watched.outputs {
        healthy.with_label_values(&[output]).set((*health == OutputHealth::Healthy).into());
    }
    vec![
        Box::new(states),
        Box::new(paused),
        Box::new(summed),
        Box::new(documents),
        Box::new(became),
        Box::new(success),
        Box::new(queued),
        Box::new(healthy),
    ]
}

/// Figures of what was written to the inventory.
fn of_writes(writes: &Writes) -> Vec<Box<dyn Collector>> {
    let count = |name: &str, help: &str, count: u64| {
        let counter = made(IntCounter::new(name, help));
        counter.inc_by(count);
        counter
    };
    let written = count(
        "ingather_store_writes_total",
        "Transactions that this program has written to its inventory.",
        writes.all,
    );
    let slow = count(
        "ingather_store_slow_writes_total",
        "Those of them that took longer than 20 ms, for which others had to wait.",
        writes.slow,
    );
    let longest = made(Gauge::new(
        "ingather_store_longest_write_seconds",
        "The longest of them since the service began.",
    ));
    longest.set(writes.longest.as_secs_f64());
    vec![Box::new(written), Box::new(slow), Box::new(longest)]
}

#[cfg(test)]
mod tests {
    use ingather_operations::jobs::figures::Figures;

    use super::*;

    fn job(name: String) -> Figures {
        Figures {
            name,
            state: State::Resting,
            paused: false,
            documents: 3,
            outcome: None,
            counts: Some(r#"{"added": 2}"#.to_owned()),
            succeeded_at: Some(1_500),
        }
    }

    #[test]
    fn jobs_beyond_the_bound_are_added_up_and_names_are_written_as_names() {
        let mut jobs: Vec<Figures> =
            (0..limits::METRICS_JOBS_MAX + 2).map(|n| job(format!("job {n:05}"))).collect();
        jobs[0].name = "a \"quoted\" name\nwith \\".to_owned();
        jobs.last_mut().expect("a job").succeeded_at = Some(1_000);
        let longest = Duration::from_millis(30);
        let writes = Writes { all: 5, slow: 1, longest };
        let outputs = vec![
            ("index".to_owned(), OutputHealth::Healthy),
            ("nats:docs".to_owned(), OutputHealth::Unavailable),
            ("old".to_owned(), OutputHealth::Corrupt),
        ];
        let queued = vec![("index".to_owned(), 7)];
        let text = Metrics::new().text(0, 0, &Watched { jobs, queued, outputs, writes });
        let text = text.expect("a text");
        for line in [
            "ingather_job_documents{job=\"a \\\"quoted\\\" name\\nwith \\\\\"} 3",
            "ingather_job_documents{job=\"job 00999\"} 3",
            "ingather_job_documents{job=\"\"} 6",
            "ingather_job_last_run_documents{became=\"added\",job=\"\"} 4",
            "ingather_job_last_success_timestamp_seconds{job=\"\"} 1",
            "ingather_job_last_success_timestamp_seconds{job=\"job 00999\"} 1.5",
            "ingather_jobs_summed 2",
            "ingather_jobs{state=\"resting\"} 1002",
            "ingather_output_queued_changes{output=\"index\"} 7",
            "ingather_output_healthy{output=\"index\"} 1",
            "ingather_output_healthy{output=\"nats:docs\"} 0",
            "ingather_output_healthy{output=\"old\"} 0",
            "ingather_store_writes_total 5",
            "ingather_store_slow_writes_total 1",
            "ingather_store_longest_write_seconds 0.03",
        ] {
            assert!(text.lines().any(|told| told == line), "{line}");
        }
        assert!(!text.contains("job 01000"));
    }
}
