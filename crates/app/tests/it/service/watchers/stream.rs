//! Events of jobs and runs, as a client follows them.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use ingather_model::limits;
use serde_json::{Value, json};

use crate::sandbox::{Kept, Sandbox};
use crate::service::http::{Request, connect};
use crate::service::runs::hold;
use crate::service::{Service, key};

/// A stream that is followed.
struct Stream {
    lines: BufReader<TcpStream>,
    id: String,
}

impl Stream {
    fn open(service: &Service<'_>, key: &str, last: Option<&str>) -> Stream {
        let mut stream = connect(service.address);
        // Without chunks: what comes is what is meant.
        let request = Request::new("GET", "/api/v1/stream").key(key);
        let request = last.map_or(request.clone(), |id| request.header(&format!("Last-Event-ID: {id}")));
        stream.write_all(request.text().replace("HTTP/1.1", "HTTP/1.0").as_bytes()).unwrap();
        let mut opened = Stream { lines: BufReader::new(stream), id: String::new() };
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(opened.lines.read_line(&mut head).unwrap() > 0, "{head}");
        }
        let head = head.to_ascii_lowercase();
        assert!(
            head.starts_with("http/1.0 200") && head.contains("content-type: text/event-stream"),
            "{head}"
        );
        let mut first = String::new();
        opened.lines.read_line(&mut first).unwrap();
        first.trim().strip_prefix("id: ").unwrap().clone_into(&mut opened.id);
        opened
    }

    /// The next event, its name and what it tells; none at the end.
    fn next(&mut self) -> Option<(String, Value)> {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some(id) = line.trim_end().strip_prefix("id: ") {
                id.clone_into(&mut self.id);
            } else if let Some(event) = line.trim_end().strip_prefix("event: ") {
                event.clone_into(&mut name);
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((name, serde_json::from_str(data).unwrap()));
            }
        }
    }

    /// The next event that is no progress.
    #[track_caller]
    fn tells(&mut self, name: &str) -> Value {
        loop {
            let (told, data) = self.next().expect("the stream goes on");
            if told != "run.progress" {
                assert_eq!(told, name, "{data}");
                return data;
            }
        }
    }
}

#[test]
fn a_client_follows_runs_and_pauses_and_goes_on_where_it_was_cut_off() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        (0..60).for_each(|n| sandbox.write(&format!("{n}.txt"), "apple"));
        sandbox.synced(&[]);
        (0..40).for_each(|n| std::fs::remove_file(sandbox.root().join(format!("{n}.txt"))).unwrap());
        let service = Service::start(&sandbox);
        let mut stream = Stream::open(&service, &service.key, None);
        service.answer("POST", "/api/v1/jobs/root/start");
        let begun = stream.tells("run.begun");
        assert_eq!((&begun["job"], &begun["kind"]), (&json!("root"), &json!("full")));
        let ended = stream.tells("run.ended");
        assert_eq!(
            (&ended["run"], &ended["outcome"], &ended["error"]),
            (&json!(2), &json!("done"), &json!(null))
        );
        assert_eq!((&ended["counts"]["unchanged"], &ended["counts"]["held"]), (&json!(20), &json!(40)));
        let cut_off = stream.id.clone();
        assert_eq!(stream.tells("run.held")["held"], 40);
        service.answer("POST", "/api/v1/jobs/root/pause");
        assert_eq!(stream.tells("job.paused")["job"], "root");
        drop(stream);
        // What is so already is nothing that happens.
        service.answer("POST", "/api/v1/jobs/root/pause");
        service.answer("POST", "/api/v1/jobs/root/resume");
        let mut again = Stream::open(&service, &service.key, Some(&cut_off));
        for name in ["run.held", "job.paused", "job.resumed"] {
            again.tells(name);
        }
        // Of another service, or of this one before it was started again.
        let mut stranger = Stream::open(&service, &service.key, Some("0-1"));
        assert!(stranger.tells("lost")["next"].as_str().unwrap().contains("/api/v1/jobs"));
        service.answer("POST", "/api/v1/jobs/root/pause");
        stranger.tells("job.paused");
        again.tells("job.paused");
        // The end of the service ends what follows it, and is not kept waiting.
        service.end(rustix::process::Signal::TERM).exits(143);
        assert!(again.next().is_none() && stranger.next().is_none());
    }
}

#[test]
fn the_progress_of_a_run_is_told_while_it_goes_on() {
    let sandbox = Sandbox::new(Kept::Postgres);
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    let service = Service::start(&sandbox);
    let mut stream = Stream::open(&service, &service.key, None);
    let mut held = hold(&sandbox);
    service.answer("POST", "/api/v1/jobs/root/start");
    stream.tells("run.begun");
    let (name, told) = stream.next().unwrap();
    assert_eq!((name.as_str(), &told["job"], &told["seen"]), ("run.progress", &json!("root"), &json!(0)));
    // Whoever comes in the middle is told, too.
    let (name, _) = Stream::open(&service, &service.key, None).next().unwrap();
    assert_eq!(name, "run.progress");
    held.batch_execute("ROLLBACK").unwrap();
    stream.tells("run.ended");
}

#[test]
fn streams_are_for_operators_as_long_as_they_are_and_so_many_at_once() {
    let sandbox = Sandbox::sqlite();
    sandbox.synced(&[]);
    let [operator, searcher] = ["operator", "searcher"].map(|role| key(&sandbox, role, &[role], None));
    let service = Service::start(&sandbox);
    let ask = |request: Request| request.send(service.address);
    let path = "/api/v1/stream";
    ask(Request::new("GET", path)).refuses(401, "unauthenticated");
    ask(Request::new("GET", path).key(&searcher)).refuses(403, "forbidden");
    let twice =
        Request::new("GET", path).key(&operator).header("Last-Event-ID: 1").header("Last-Event-ID: 2");
    ask(twice).refuses(400, "wrong_use");
    let mut streams: Vec<Stream> =
        (0..limits::STREAMS_MAX).map(|_| Stream::open(&service, &operator, None)).collect();
    ask(Request::new("GET", path).key(&operator)).refuses(503, "busy");
    service.ask("DELETE", "/api/v1/api-keys/operator").is(200);
    service.answer("POST", "/api/v1/jobs/root/pause");
    for stream in &mut streams {
        assert!(stream.next().is_none(), "the key opens nothing any more");
    }
    // Their places are free again.
    let mut stream = connect(service.address);
    stream.write_all(service.request("GET", path).text().as_bytes()).unwrap();
    let mut some = [0_u8; 15];
    std::io::Read::read_exact(&mut stream, &mut some).unwrap();
    assert_eq!(&some, b"HTTP/1.1 200 OK");
    let told = service.answer("GET", "/api/v1/openapi.json");
    assert!(told["paths"][path]["get"]["responses"]["200"]["content"]["text/event-stream"].is_object());
}
