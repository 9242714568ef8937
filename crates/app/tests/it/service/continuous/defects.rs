//! What may be wrong with a record: a channel takes it all the same, and its one report says what (coverage S2.26–S2.31; where it is found by a part of it, why); also of content that is a file (S2.36).

use rustix::process::Signal;
use serde_json::{Value, json};

use super::Service;
use super::channels::{Client, judge};
use crate::sandbox::{Kept, Sandbox};
use crate::service::key;
use crate::stops::upgrade::comes;

/// What is pushed, and how its ticket ends: an outcome, and its code.
fn defects(outside: &str) -> Vec<(Value, &'static str, &'static str)> {
    let invalid = |mut record: Value| {
        record["access"] = json!(["everybody"]);
        (record, "failed", "invalid_record")
    };
    let of = |mut record: Value, code| {
        record["access"] = json!(["everybody"]);
        (record, "failed", code)
    };
    vec![
        invalid(json!({"text": 7})),
        invalid(json!({"text": "a", "content": "YQ=="})),
        invalid(json!({"text": "a", "file": "a.txt"})),
        invalid(json!({"content": "no base64!"})),
        invalid(json!({"unknown": true})),
        invalid(json!({"modified": "yesterday"})),
        invalid(json!({"title": ["a list"]})),
        invalid(json!({"hash": "h".repeat(2_000)})),
        invalid(json!({"fields": {"a": "x".repeat(2 << 20)}})),
        (json!({"access": ["unix:1"]}), "failed", "invalid_record"),
        (json!({"access": ["everybody", "unix:u:1"]}), "failed", "invalid_record"),
        of(json!({"file": "none.txt"}), "content_unavailable"),
        of(json!({"file": "../secret"}), "path_forbidden"),
        of(json!({"file": outside}), "path_forbidden"),
        of(json!({"file": "large.bin"}), "too_large"),
        // Found by its name alone.
        (json!({"content": BROKEN_XML, "access": ["everybody"]}), "indexed", "partial"),
    ]
}

/// A document of a word processor whose text is no XML.
const BROKEN_XML: &str = "UEsDBBQAAAAIAAAAIQCsbhJangAAANwAAAATAAAAW0NvbnRlbnRfVHlwZXNdLnhtbF2PsQ7CMBBDf6XKitqrGBhQ24UdGPiBU3JtI5pLlBwF/p4EpA6Mlu1nubu9A6Xq5RZOvZpFwhEg\
    6ZkcpsYH4uyMPjqULOMEAfUdJ4J92x5AexZiqaUw1NBdVorRGqquGOWMjnoFTx8NGK8fLiebTFPV6Vcry73CEBarUaxnWNn8bdZ+HK2mrV9oIXpNKVme3NJsjkPLu4KHoYPvqeEDUEsDBBQAAAAIAAAA\
    IQAQZvmpDQAAAAsAAAARAAAAd29yZC9kb2N1bWVudC54bWyzsbGxUcjLV6jIzQEAUEsBAhQDFAAAAAgAAAAhAKxuElqeAAAA3AAAABMAAAAAAAAAAAAAAIABAAAAAFtDb250ZW50X1R5cGVzXS54bWxQ\
    SwECFAMUAAAACAAAACEAEGb5qQ0AAAALAAAAEQAAAAAAAAAAAAAAgAHPAAAAd29yZC9kb2N1bWVudC54bWxQSwUGAAAAAAIAAgCAAAAACwEAAAAA";

#[test]
fn what_is_wrong_with_a_record_is_said_by_its_one_report_and_a_file_is_as_good_as_its_text() {
    let sandbox = Sandbox::new(Kept::Sqlite);
    let folder = sandbox.path().join("scans");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(sandbox.path().join("secret"), "secret lamp").unwrap();
    std::fs::write(folder.join("a.txt"), "a lamp of a file").unwrap();
    std::fs::File::create(folder.join("large.bin")).unwrap().set_len((4 << 20) + 1).unwrap();
    let files = format!("files={}", folder.display());
    sandbox.run(&["job", "define", "push:tickets", "--schedule", "continuous", "--set", &files]).exits(0);
    let pusher = key(&sandbox, "pusher", &["pusher"], None);
    let service = Service::start(&sandbox);
    let client = Client { service: &service, key: pusher };
    let channel = client.open(json!({}));
    let outside = sandbox.path().join("secret");
    let defects = defects(outside.to_str().unwrap());
    let records = defects.iter().enumerate().map(|(number, (record, ..))| {
        let mut record = record.clone();
        record["key"] = json!(format!("defect {number}"));
        record
    });
    let good = [
        json!({"key": "by file", "file": "a.txt", "access": ["everybody"]}),
        json!({"key": "by text", "text": "a lamp of a file", "access": ["everybody"]}),
    ];
    let records: Vec<Value> = records.chain(good).collect();
    client.push(channel, &json!(records)).is(200);
    client.post(&format!("channels/{channel}/terminate"), &json!({})).is(200);
    assert!(comes(|| client.state(channel) == "terminated"));
    let reports = client.reports(channel);
    judge(&reports);
    let ends = |key: &str| {
        let of_key = |report: &&Value| report["kind"] == "completed" && report["key"] == key;
        let report = reports.iter().find(of_key).unwrap_or_else(|| panic!("{key} has no report"));
        (report["outcome"].as_str().unwrap(), report["code"].as_str().unwrap_or_default())
    };
    for (number, (record, outcome, code)) in defects.iter().enumerate() {
        assert_eq!(
            ends(&format!("defect {number}")),
            (*outcome, *code),
            "{}",
            record.to_string().get(..200).unwrap_or(&record.to_string())
        );
    }
    assert_eq!(ends("by file"), ("indexed", ""));
    let why = |report: &&Value| report["message"].as_str().is_some_and(|why| why.starts_with("broken XML"));
    assert_eq!(reports.iter().filter(why).count(), 1, "{reports:?}");
    let found = service.answer("GET", "/api/v1/search?query=lamp&all=true");
    let mut found: Vec<&Value> =
        found["hits"].as_array().unwrap().iter().map(|hit| &hit["document"]).collect();
    found.sort_by_key(|document| document.to_string());
    assert_eq!(found, ["by file", "by text"]);
    drop(service.end(Signal::TERM));
    // Files are named where the source says so alone.
    sandbox
        .run(&["job", "define", "push:tickets", "--set", "files=scans", "--update"])
        .refuses(2, &["/srv/scans"]);
}
