//! What a client may send, and for how long: a service that is met by clumsy or hostile ones goes on for the others.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use ingather_model::limits;
use serde_json::json;

use super::Service;
use super::http::{Request, connect, reply};
use crate::sandbox::{Kept, Sandbox};
use crate::stops::upgrade::comes;

#[test]
fn what_is_no_path_no_verb_no_json_or_too_long_is_refused_with_its_problem() {
    let sandbox = Sandbox::sqlite();
    let service = Service::start(&sandbox);
    service.ask("GET", "/api/v1/nothing").refuses(404, "no_such_path");
    service.ask("PATCH", "/api/v1/jobs").refuses(405, "wrong_verb");
    service.ask("GET", "/api/v1/jobs?limit=many").refuses(400, "wrong_use");
    service.ask("GET", "/api/v1/jobs?unknown=1").refuses(400, "wrong_use");
    service.ask("GET", "/api/v1/jobs?limit=1&limit=2").refuses(400, "wrong_use");
    let form = service.request("POST", "/api/v1/jobs/root/abort").body(&json!({}));
    let form = form.text().replace("application/json", "text/plain");
    let mut stream = connect(service.address);
    stream.write_all(form.as_bytes()).unwrap();
    reply(stream).refuses(400, "wrong_use");
    let long = json!({"name": "x".repeat(limits::HTTP_BODY_BYTES_MAX)});
    let large = service.request("POST", "/api/v1/api-keys").body(&long);
    large.send(service.address).refuses(413, "too_large");
    let head =
        service.request("GET", &format!("/api/v1/jobs?cursor={}", "x".repeat(limits::HTTP_HEAD_BYTES_MAX)));
    let head = head.send(service.address);
    assert!([414, 431].contains(&head.status), "{head:#?}");
    let mut many = service.request("GET", "/api/v1/jobs");
    for n in 0..=limits::HTTP_HEADERS_MAX {
        many = many.header(&format!("X-Header-{n}: 1"));
    }
    many.send(service.address).is(431);
    assert_eq!(service.answer("GET", "/api/v1/jobs")["begun"], json!(true), "it goes on");
}

#[test]
fn what_is_said_twice_or_in_no_utf_8_is_refused_with_its_name() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    let service = Service::start(&sandbox);
    let no_text = service.ask("GET", "/api/v1/jobs/%ff%fe").refuses(400, "wrong_use");
    assert!(no_text.body.contains("the path is not in UTF-8"), "{no_text:#?}");
    let body = r#"{"name": "ann", "roles": ["searcher"], "roles": ["admin"]}"#;
    let twice = service.request("POST", "/api/v1/api-keys").json_text(body).send(service.address);
    let twice = twice.refuses(400, "wrong_use");
    assert!(twice.body.contains("`roles` is given twice"), "{twice:#?}");
    let query = service.ask("GET", "/api/v1/search?query=a&query=b").refuses(400, "wrong_use");
    assert!(query.body.contains("`query` is given twice"), "{query:#?}");
    for header in ["Authorization: Bearer ing_0_0", "Content-Type: text/plain", "Host: other"] {
        let request = service.request("POST", "/api/v1/jobs/root/abort").body(&json!({})).header(header);
        let refused = request.send(service.address).is(400);
        let name = header.split(':').next().unwrap().to_ascii_lowercase();
        assert!(refused.body.contains(&format!("the header `{name}` is sent twice")), "{refused:#?}");
    }
}

#[test]
fn a_search_has_the_limit_of_the_command_line_and_says_its_bound() {
    let sandbox = Sandbox::sqlite();
    (0..12).for_each(|n| sandbox.write(&format!("{n}.txt"), "apple"));
    sandbox.synced(&[]);
    let service = Service::start(&sandbox);
    let found = service.answer("GET", "/api/v1/search?query=apple&all=true");
    let here = sandbox.run(&["search", "apple", "--all", "--json"]).exits(0).json().len();
    assert_eq!((found["hits"].as_array().unwrap().len(), here), (10, 10));
    for (name, most) in [("limit", limits::SEARCH_PAGE_MAX), ("offset", limits::SEARCH_OFFSET_MAX)] {
        let path = format!("/api/v1/search?query=apple&all=true&{name}={}", most + 1);
        let refused = service.ask("GET", &path).refuses(400, "wrong_use");
        assert!(refused.body.contains(&format!("`{name}` is at most {most}")), "{refused:#?}");
        let told = service.answer("GET", "/api/v1/openapi.json");
        let parameters = told["paths"]["/api/v1/search"]["get"]["parameters"].as_array().unwrap().clone();
        let told = parameters.iter().find(|one| one["name"] == name).unwrap();
        assert_eq!(told["schema"]["maximum"], most, "{told}");
    }
}

#[test]
fn connections_that_are_only_held_keep_nobody_out() {
    let sandbox = Sandbox::sqlite();
    let service = Service::start(&sandbox);
    let path = sandbox.data().join("ingather.sock");
    let begun = Instant::now();
    let answered = |mut stream: TcpStream| {
        let text = service.request("GET", "/api/v1/jobs").text().replace("Connection: close\r\n", "");
        stream.write_all(text.as_bytes()).unwrap();
        let mut some = [0_u8; 4_096];
        let read = stream.read(&mut some).unwrap();
        assert!(some[..read].starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&some[..read]));
        stream
    };
    let mut held = Vec::new();
    for n in 0..300 {
        let mut stream = connect(service.address);
        match n % 3 {
            0 => {}
            1 => stream.write_all(b"GET /api/v1/jobs HTT").unwrap(),
            _ => stream = answered(stream),
        }
        held.push(stream);
    }
    let at_socket: Vec<UnixStream> = (0..100).map(|_| UnixStream::connect(&path).unwrap()).collect();
    service.ask("GET", "/api/v1/jobs").is(200);
    let mut socket = UnixStream::connect(&path).unwrap();
    socket.write_all(Request::new("GET", "/api/v1/jobs").text().as_bytes()).unwrap();
    reply(socket).is(200);
    // Nobody has waited until others were cut off for being slow.
    assert!(begun.elapsed().as_millis() < u128::from(limits::HTTP_HEAD_MS_MAX), "{:?}", begun.elapsed());
    // The one that was answered last has its place yet.
    answered(held.pop().unwrap());
    drop(at_socket);
}

#[test]
fn clients_that_send_slowly_are_cut_off_and_others_are_answered_meanwhile() {
    let sandbox = Sandbox::sqlite();
    let service = Service::start(&sandbox);
    let begun = Instant::now();
    let mut head = connect(service.address);
    head.write_all(b"GET /api/v1/jobs HTTP/1.1\r\nHost: te").unwrap();
    let mut body = connect(service.address);
    let text = service.request("POST", "/api/v1/api-keys").body(&json!({"name": "ann"})).text();
    body.write_all(&text.as_bytes()[..text.len() - 3]).unwrap();
    service.ask("GET", "/api/v1/jobs").is(200);
    reply(body).refuses(408, "too_slow");
    let mut rest = Vec::new();
    std::io::Read::read_to_end(&mut head, &mut rest).unwrap();
    assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 408"), "{}", String::from_utf8_lossy(&rest));
    let bound = u128::from(limits::HTTP_HEAD_MS_MAX.max(limits::HTTP_BODY_MS_MAX));
    assert!(begun.elapsed().as_millis() < 10 * bound, "{:?}", begun.elapsed());
}

#[test]
fn as_many_operations_work_at_once_as_may_and_the_next_one_is_asked_to_come_again() {
    let sandbox = Sandbox::new(Kept::Postgres);
    let service = Service::start(&sandbox);
    // It looks at the keys itself before it answers.
    service.ask("GET", "/api/v1/jobs").is(200);
    let mut holder = postgres::Client::connect(sandbox.url().unwrap(), postgres::NoTls).unwrap();
    let mut held = holder.transaction().unwrap();
    // Whoever presents a key waits.
    held.batch_execute("LOCK TABLE public.api_key IN ACCESS EXCLUSIVE MODE").unwrap();
    let text = service.request("GET", "/api/v1/jobs").text();
    let ask = |_| {
        let mut stream = connect(service.address);
        stream.write_all(text.as_bytes()).unwrap();
        stream.set_nonblocking(true).unwrap();
        stream
    };
    // One more than may be at work: whichever of them comes last is refused, and it alone is answered.
    let mut waiting: Vec<_> = (0..=limits::HTTP_OPERATIONS_MAX).map(ask).collect();
    let is_answered = |stream: &std::net::TcpStream| stream.peek(&mut [0_u8; 1]).is_ok();
    let mut refused = None;
    assert!(comes(|| {
        refused = waiting.iter().position(is_answered);
        refused.is_some()
    }));
    let refused = waiting.swap_remove(refused.unwrap());
    waiting.iter().chain([&refused]).for_each(|stream| stream.set_nonblocking(false).unwrap());
    let busy = reply(refused);
    let busy = busy.refuses(503, "busy");
    assert!(busy.head.contains("retry-after: 1"), "{busy:#?}");
    Request::new("GET", "/healthz").send(service.address).is(200);
    // Whoever watches the service is not told that it is down because it has much to do.
    Request::new("GET", "/readyz").send(service.address).is(200);
    held.rollback().unwrap();
    for stream in waiting {
        stream.set_read_timeout(Some(std::time::Duration::from_secs(150))).unwrap();
        reply(stream).is(200);
    }
    Request::new("GET", "/readyz").send(service.address).is(200);
}

#[test]
fn clients_whose_pushes_wait_keep_nobody_else_from_being_answered() {
    let sandbox = Sandbox::new(Kept::Postgres);
    sandbox.run(&["job", "define", "push:tickets"]).exits(0);
    let service = Service::start(&sandbox);
    let mut holder = postgres::Client::connect(sandbox.url().unwrap(), postgres::NoTls).unwrap();
    let mut held = holder.transaction().unwrap();
    held.batch_execute("LOCK TABLE public.record IN ACCESS EXCLUSIVE MODE").unwrap();
    let push = |client| {
        let body = json!({"records": [{"key": format!("from {client}"), "text": "lamp"}]});
        let mut stream = connect(service.address);
        let text = service.request("POST", "/api/v1/sources/tickets/records").body(&body).text();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    };
    let waiting: Vec<_> = (0..2 * limits::HTTP_OPERATIONS_MAX).map(push).collect();
    let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    let is_waited_for =
        |held: &mut postgres::Transaction<'_>| held.query_one(waits, &[]).unwrap().get::<_, i64>(0) > 0;
    assert!(comes(|| is_waited_for(&mut held)));
    service.ask("GET", "/api/v1/api-keys").is(200);
    held.rollback().unwrap();
    for stream in waiting {
        stream.set_read_timeout(Some(std::time::Duration::from_secs(150))).unwrap();
        assert_eq!(reply(stream).is(200).json()["results"][0]["result"], "pending");
    }
}

#[test]
fn a_large_body_is_not_waited_for_from_a_stranger_and_one_that_is_too_large_from_nobody() {
    let sandbox = Sandbox::sqlite();
    let service = Service::start(&sandbox);
    // Only the head is sent.
    let told = |key: &str, bytes: usize| {
        let head = format!(
            "POST /api/v1/sources/tickets/records HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nConnection: close\r\nContent-Length: {bytes}\r\n\r\n"
        );
        let mut stream = connect(service.address);
        stream.write_all(head.as_bytes()).unwrap();
        reply(stream)
    };
    told("ing_0_0", limits::HTTP_BODY_BYTES_MAX + 1).refuses(401, "unauthenticated");
    told(&service.key, limits::RECORDS_BYTES_MAX + 1).refuses(413, "too_large");
    told("ing_0_0", limits::RECORDS_BYTES_MAX + 1).refuses(413, "too_large");
}

#[test]
fn the_description_of_the_api_is_there_for_everybody() {
    let sandbox = Sandbox::sqlite();
    let service = Service::start(&sandbox);
    let told = Request::new("GET", "/api/v1/openapi.json").send(service.address).is(200).json();
    assert_eq!(told["openapi"], "3.1.0");
    assert_eq!(told["paths"]["/api/v1/jobs/{job}/start"]["post"]["operationId"], "jobs.start");
}
