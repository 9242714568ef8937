//! What a record says of itself decides where it goes (coverage S4.21–S4.23); a search that was asked before finds what comes (S4.14), and nobody is asked for
//! anything but who searches (S4.96).

use std::io::ErrorKind;
use std::net::TcpListener;

use serde_json::{Value, json};

use super::{Service, finds};
use crate::sandbox::{Kept, Sandbox};
use crate::service::http::Request;
use crate::service::key;
use crate::stops::upgrade::comes;

#[test]
fn a_record_goes_where_its_fields_say_and_is_found_while_its_address_is_asked_for_nothing() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        let journal = sandbox.path().join("sales.jsonl");
        let pipeline = format!(
            "[[stages]]\ntransform = \"text\"\n\n[[outputs]]\noutput = \"journal:{}\"\nwhen = {{ field = \"department\", equals = \"sales\" }}\n\n\
             [[outputs]]\noutput = \"index\"\n",
            journal.display()
        );
        std::fs::write(sandbox.path().join("pipeline.toml"), pipeline).unwrap();
        // Somebody listens where the records are said to be.
        let place = TcpListener::bind("127.0.0.1:0").unwrap();
        place.set_nonblocking(true).unwrap();
        let address = format!("http://{}/", place.local_addr().unwrap());
        let prefixes = format!("address_prefixes=[\"{address}\"]");
        let define = ["job", "define", "push:tickets", "--schedule", "continuous", "--set", &prefixes];
        sandbox.run(&[&define[..], &["--pipeline", "pipeline.toml"]].concat()).exits(0);
        let pusher = key(&sandbox, "pusher", &["pusher"], None);
        let service = Service::start(&sandbox);
        let departments: [&[&str]; 4] = [&[], &["sales"], &["hr", "sales", "it"], &["hr"]];
        let mut pushed = Vec::new();
        for (number, departments) in departments.iter().enumerate() {
            let key = format!("{address}{number}");
            let mut record =
                json!({"key": key, "text": "apple", "access": ["everybody"], "fields": {"url": [key]}});
            if !departments.is_empty() {
                record["fields"]["department"] = json!(departments);
            }
            let request = Request::new("POST", "/api/v1/sources/tickets/records").key(&pusher);
            request.body(&json!({"records": [record]})).send(service.address).is(200);
            pushed.push(key);
            finds(&service, &pushed.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let sold = || -> Vec<String> {
            let text = std::fs::read_to_string(&journal).unwrap();
            let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let puts = lines.filter(|line| line["op"] == "put");
            puts.map(|line| line["uri"].as_str().unwrap().to_owned()).collect()
        };
        assert!(comes(|| sold() == pushed[1..3]), "{:?}", sold());
        assert_eq!(place.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    }
}
