//! The `tika` transform against answers as a server gives them, and against a real one where there is one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use ingather_model::document::Parts;
use ingather_model::fault::Exhausted;
use ingather_testkit::suites;
use serde_json::{Value, json};

use super::super::trial::{apply_to, refused, without_reading};
use super::*;

/// A server that reads one request to its end and gives one answer; its address, and what it was sent.
fn server(status: &str, body: &str) -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer =
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = String::new();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        while !request.ends_with("\r\n0\r\n\r\n") {
            if reader.read_line(&mut request).unwrap() == 0 {
                break;
            }
        }
        stream.write_all(answer.as_bytes()).unwrap();
        request
    });
    (url, served)
}

fn named(name: &str) -> Record {
    Record { path: format!("dir/{name}"), title: name.to_owned(), ..Record::default() }
}

/// What becomes of a document when the server gives that answer.
fn answered(settings: Value, status: &str, body: &str) -> (Result<Verdict, Fault>, Record, Parts) {
    let (url, served) = server(status, body);
    let mut settings = settings;
    settings["url"] = url.into();
    let mut record = named("a.eml");
    let (verdict, parts) = apply_to(&TRANSFORM, &settings, &mut record, &mut b"content".as_slice());
    served.join().unwrap();
    (verdict, record, parts)
}

const MAIL: &str = r#"[
    {"Content-Type": "message/rfc822", "dc:title": "Budget", "dc:creator": ["Ann", "Bob"], "X-TIKA:content": "\n\n\n outer\n \n\nwords\n",
     "pdf:x": "1", "pdf:y": "2"},
    {"Content-Type": "application/zip", "resourceName": "a.zip", "X-TIKA:embedded_id_path": "/1", "X-TIKA:content": ""},
    {"Content-Type": "text/plain; charset=UTF-8", "resourceName": "in/b.txt", "X-TIKA:embedded_id_path": "/1/2",
     "X-TIKA:content": "inner words"},
    {"Content-Type": "image/png", "X-TIKA:embedded_id_path": "/3",
     "X-TIKA:EXCEPTION:embedded_exception": "org.x.BadException: no image\n\tat org.x.Y"}
]"#;

#[test]
fn parts_become_entries_or_text_as_in_the_text_stage() {
    let (verdict, record, parts) = answered(json!({"metadata": ["pdf:y"]}), "200 OK", MAIL);
    assert_eq!(verdict.unwrap(), Verdict::Pass);
    assert_eq!(record.media_type.as_deref(), Some("message/rfc822"));
    assert_eq!((record.title.as_str(), record.author.as_deref()), ("Budget", Some("Ann, Bob")));
    assert_eq!(record.body.as_deref(), Some(" outer\n\nwords"));
    assert_eq!((record.fields.get("pdf:x"), record.fields["pdf:y"][0].as_str()), (None, "2"));
    let names: Vec<&str> = parts.list.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["a.zip", "a.zip!/in/b.txt", "part-3"]);
    let inner = parts.list[1].record.as_ref().unwrap();
    assert_eq!(
        (inner.body.as_deref(), inner.media_type.as_deref()),
        (Some("inner words"), Some("text/plain"))
    );
    let image = parts.list[2].record.as_ref().unwrap();
    assert_eq!(image.fields["extraction"], ["the Tika server could not read it: BadException: no image"]);

    let (_, record, parts) = answered(json!({"parts": "text"}), "200 OK", MAIL);
    assert_eq!((record.body.as_deref(), parts.list.len()), (Some(" outer\n\nwords\ninner words"), 0));
    let (_, record, parts) = answered(json!({"parts": "none"}), "200 OK", MAIL);
    assert_eq!((record.body.as_deref(), parts.list.len()), (Some(" outer\n\nwords"), 0));
    let (verdict, ..) = answered(json!({"container": "drop"}), "200 OK", MAIL);
    assert_eq!(verdict.unwrap(), Verdict::PartsOnly);
}

#[test]
fn limits_that_the_server_kept_are_told_and_take_no_part_away() {
    let cut = |word: &str| {
        let mut mail: Value = serde_json::from_str(MAIL).unwrap();
        mail[0][format!("X-TIKA:EXCEPTION:{word}")] = "true".into();
        answered(json!({}), "200 OK", &mail.to_string())
    };
    let (_, record, parts) = cut("write_limit_reached");
    assert_eq!(
        (&record.fields["truncated"][0], parts.incomplete, parts.list.len()),
        (&"true".to_owned(), true, 3)
    );
    let (_, record, parts) = cut("embedded_resource_limit_reached");
    assert_eq!((parts.incomplete, parts.list.len()), (true, 0));
    assert!(record.fields["extraction"][0].contains("compound limit"));
}

#[test]
fn a_document_that_the_server_cannot_read_is_an_entry_without_text() {
    for status in ["415 Unsupported Media Type", "422 Unprocessable Entity", "204 No Content"] {
        let (verdict, record, _) = answered(json!({}), status, "");
        assert_eq!(verdict.unwrap(), Verdict::Pass, "{status}");
        assert!(record.fields["extraction"][0].contains("Tika server"), "{status}");
    }
    let (verdict, ..) = answered(json!({}), "500 Server Error", "");
    assert!(matches!(verdict.unwrap_err(), Fault::Broken(_)));
    for nonsense in ["", "[]", "{}", "[1]"] {
        assert!(
            matches!(answered(json!({}), "200 OK", nonsense).0.unwrap_err(), Fault::Broken(_)),
            "{nonsense:?}"
        );
    }
}

/// That the fault blames no document: it waits, and outputs keep what they hold.
#[track_caller]
fn waits(fault: Fault) -> String {
    match fault {
        Fault::Passing { reason, retry_in_ms: Some(500), when_exhausted: Exhausted::Keep, .. } => {
            reason.message
        }
        other => panic!("{other}"),
    }
}

#[test]
fn while_the_server_is_down_documents_wait_and_none_fails() {
    for status in ["503 Service Unavailable", "429 Too Many Requests", "404 Not Found", "302 Found"] {
        let (verdict, record, _) = answered(json!({"retry_ms": 500}), status, "");
        assert!(waits(verdict.unwrap_err()).contains(&status[..3]));
        assert_eq!(record, named("a.eml"), "nothing is known of it");
    }
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let settings = json!({"url": format!("http://{free}"), "retry_ms": 500});
    let (verdict, _) = apply_to(&TRANSFORM, &settings, &mut named("a"), &mut b"x".as_slice());
    assert!(waits(verdict.unwrap_err()).contains("cannot be reached"));
    // A server that takes a document and says nothing is not down: that document is tried again, then it has failed.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let settings = json!({"url": format!("http://{}", silent.local_addr().unwrap()), "answer_ms": 100});
    let (verdict, _) = apply_to(&TRANSFORM, &settings, &mut named("a"), &mut b"x".as_slice());
    let fault = verdict.unwrap_err();
    assert!(matches!(&fault, Fault::Passing { when_exhausted: Exhausted::Skip, .. }), "{fault}");
    assert!(fault.reason().message.contains("answer_ms"));
}

#[test]
fn documents_leave_this_machine_only_when_that_was_said() {
    let open = |settings: Value| (TRANSFORM.open)(&settings).map(|_| ());
    for url in ["http://127.0.0.1:9998", "http://[::1]:1/tika/", "http://localhost"] {
        open(json!({"url": url})).unwrap();
    }
    for url in ["http://10.1.2.3:9998", "http://192.168.0.9", "http://[fd00::1]:1"] {
        assert!(refused(&TRANSFORM, json!({"url": url})).contains("private_network"), "{url}");
        open(json!({"url": url, "private_network": true})).unwrap();
    }
    for url in [
        "http://1.2.3.4",
        "http://[2001:db8::1]",
        "http://169.254.1.1",
        "http://0.0.0.0",
        "http://[::ffff:8.8.8.8]",
    ] {
        refused(&TRANSFORM, json!({"url": url, "private_network": true}));
    }
    for url in
        ["https://127.0.0.1", "127.0.0.1:9998", "http://", "http://ann:secret@127.0.0.1", "file:///etc"]
    {
        assert!(refused(&TRANSFORM, json!({"url": url})).contains("http://127.0.0.1:9998"), "{url}");
    }
}

/// What is no address is a name, and a name is judged by what it resolves to: these resolve without a name server.
#[test]
fn a_name_that_resolves_far_away_is_not_connected_to() {
    for (name, private_network) in [("134744072", true), ("0x08080808", true), ("167772161", false)] {
        let settings =
            json!({"url": format!("http://{name}:9"), "private_network": private_network, "retry_ms": 500});
        let (verdict, _) = apply_to(&TRANSFORM, &settings, &mut named("a"), &mut b"content".as_slice());
        let why = waits(verdict.unwrap_err());
        assert!(why.contains(&format!("{name} is too far away")), "{why}");
    }
}

#[test]
fn what_is_too_large_is_not_sent_to_its_end_and_errors_of_the_content_are_passed_on() {
    let mut record = Record { size: Some(11), ..named("a") };
    let (verdict, _) = without_reading(&TRANSFORM, &json!({"bytes_max": 10}), &mut record);
    assert_eq!(verdict.unwrap(), Verdict::Pass);
    assert!(record.fields["extraction"][0].contains("bytes_max"));
    let (url, served) = server("200 OK", "[]");
    let mut record = named("a");
    let settings = json!({"url": url, "bytes_max": 1_000});
    let (verdict, _) = apply_to(&TRANSFORM, &settings, &mut record, &mut std::io::repeat(b'x'));
    assert_eq!(verdict.unwrap(), Verdict::Pass);
    assert!(record.fields["extraction"][0].contains("bytes_max"));
    drop(served);
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("disk on fire"))
        }
    }
    let (url, _) = server("200 OK", "[]");
    let (verdict, _) = apply_to(&TRANSFORM, &json!({"url": url}), &mut named("a"), &mut Failing);
    assert!(verdict.unwrap_err().reason().message.contains("disk on fire"));
}

#[test]
fn a_request_names_the_document_and_the_limits() {
    let (url, served) = server("200 OK", MAIL);
    let settings = json!({"url": url, "characters_max": 7, "parts_max": 3});
    apply_to(&TRANSFORM, &settings, &mut named("Übersicht 1.pdf"), &mut b"content".as_slice()).0.unwrap();
    let request = served.join().unwrap().to_ascii_lowercase();
    for words in [
        "put /rmeta/text ",
        "filename*=utf-8''%c3%9cbersicht%201.pdf",
        "writelimit: 7",
        "maxembeddedresources: 3",
        "content",
    ] {
        assert!(request.contains(words), "`{words}` is not in {request}");
    }
}

const REAL_MAIL: &[u8] = b"From: ann@example.org\r\nSubject: Budget\r\nMIME-Version: 1.0\r\n\
    Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: text/plain\r\n\r\nouter words\r\n\
    --x\r\nContent-Type: text/html; name=page.html\r\nContent-Disposition: attachment; filename=\"page.html\"\r\n\r\n\
    <html><head><title>Inner</title></head><body>inner words</body></html>\r\n--x--\r\n";

/// Against the server that `scripts/tika-server.sh` starts; where there is none, against a port that nobody listens on.
#[test]
fn it_keeps_what_a_transform_promises() {
    let real = std::env::var("INGATHER_TEST_TIKA").ok();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = real.unwrap_or_else(|| format!("http://{free}"));
    let samples: [(&str, &[u8]); 3] =
        [("a.txt", b"some words"), ("mail.eml", REAL_MAIL), ("a.html", b"<html><title>T</title><p>words")];
    // The suite sends more than twice this.
    suites::transform(&TRANSFORM, &json!({"url": url, "bytes_max": 1 << 20}), &samples);
}

#[test]
fn a_real_server_reads_a_mail_and_what_is_in_it() {
    let Ok(url) = std::env::var("INGATHER_TEST_TIKA") else {
        ingather_testkit::rights::not_run(
            "a_real_server_reads_a_mail_and_what_is_in_it",
            "there is no Tika server",
        );
        return;
    };
    let mut record = named("mail.eml");
    let (verdict, parts) = apply_to(&TRANSFORM, &json!({"url": url}), &mut record, &mut &*REAL_MAIL);
    assert_eq!(verdict.unwrap(), Verdict::Pass);
    assert_eq!((record.title.as_str(), record.media_type.as_deref()), ("Budget", Some("message/rfc822")));
    assert!(record.body.is_some_and(|body| body.contains("outer words") && !body.contains("inner words")));
    assert_eq!(parts.list.iter().map(|part| part.name.as_str()).collect::<Vec<_>>(), ["page.html"]);
    let inner = parts.list[0].record.as_ref().unwrap();
    assert!(inner.title == "Inner" && inner.body.as_deref().is_some_and(|body| body.contains("inner words")));
    let mut record = named("mail.eml");
    let cut = json!({"url": url, "characters_max": 30});
    apply_to(&TRANSFORM, &cut, &mut record, &mut &*REAL_MAIL).0.unwrap();
    assert_eq!(record.fields["truncated"], ["true"]);
    assert!(record.body.is_none_or(|body| body.chars().count() <= 30));
    let mut record = named("broken.pdf");
    apply_to(&TRANSFORM, &json!({"url": url}), &mut record, &mut b"%PDF-1.4 nothing".as_slice()).0.unwrap();
    assert!(record.fields["extraction"][0].contains("could not read it"), "{record:?}");
}
