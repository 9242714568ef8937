//! A service tells nobody a secret, holds the jobs alone whose secrets it cannot open, and goes on with them when their key is back.

use rustix::process::Signal;
use serde_json::json;

use crate::safety::secrets::{OPENS, PLANTED, found, synced};
use crate::sandbox::Kept;
use crate::service::runs::at_rest;
use crate::service::{Service, key};

#[test]
fn a_service_without_the_key_holds_the_jobs_that_need_it_and_goes_on_when_it_is_back() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = synced(kept);
        sandbox.run(&["sync", "root", "--update", "--schedule", "every 1h"]).exits(0);
        sandbox.run(&["sync", "temporary", "--name", "other"]).exits(0);
        let (file, away) = (sandbox.data().join("secrets.key"), sandbox.path().join("away.key"));
        std::fs::rename(&file, &away).unwrap();
        let admin = key(&sandbox, "test", &["admin"], None);
        let mut service = Service::with(&sandbox, admin, &[]);
        service.ask("POST", "/api/v1/jobs/root/start");
        let refused = service.tells("run of job root: ");
        assert!(refused.contains("secrets.key is not there"), "{refused}");
        let shown = at_rest(&service, "root");
        assert!(shown.to_string().contains("secrets.key is not there"), "{shown}");
        service.answer("POST", "/api/v1/jobs/other/start");
        service.tells("run of job other: ended");
        std::fs::rename(&away, &file).unwrap();
        service.answer("POST", "/api/v1/jobs/root/start");
        let told = service.tells("run of job root: ended");
        assert!(told.contains("unchanged"), "{told}");
        let mut answers: Vec<String> = Vec::new();
        for path in ["/api/v1/jobs", "/api/v1/jobs/root", "/api/v1/declaration", "/metrics", "/api/v1/audit"]
        {
            answers.push(service.ask("GET", path).body);
        }
        let other = json!({"root": sandbox.root(), "name": "root", "update": true, "stages":
            [{"transform": "text", "settings": {"passwords": [OPENS, PLANTED]}}]});
        at_rest(&service, "root");
        answers.push(service.request("POST", "/api/v1/jobs").body(&other).send(service.address).body);
        service.answer("POST", "/api/v1/jobs/root/start");
        service.tells("run of job root: ended");
        let ended = service.end(Signal::TERM);
        answers.extend([ended.out, ended.err]);
        for answer in &answers {
            assert!(!answer.contains(PLANTED) && !answer.contains(OPENS), "{answer}");
        }
        assert_eq!(found(&sandbox), [""; 0]);
    }
}
