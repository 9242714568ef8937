//! Each role may ask for what the table says, and for nothing else.

use ingather_operations::OPERATIONS;
use ingather_operations::operation::{Rest, Role, Verb};
use serde_json::{Value, json};

use super::http::Request;
use super::{Service, key};
use crate::sandbox::Sandbox;

/// The example of a row as a request; one that changes is about a job that there is not.
pub(super) fn example(path: &str, verb: Verb, example: &str) -> (String, Option<Value>) {
    let mut fields: Value = serde_json::from_str(example).unwrap();
    let fields = fields.as_object_mut().unwrap();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let parts =
        path.split('/').map(|part| match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
            Some(name) => text(&fields.remove(name).unwrap()).replace('/', "%2F"),
            None => part.to_owned(),
        });
    let path = parts.collect::<Vec<_>>().join("/");
    if verb == Verb::Post {
        return (format!("/api/v1{path}"), Some(Value::Object(fields.clone())));
    }
    let query: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}={}", text(value).replace(' ', "+"))).collect();
    (format!("/api/v1{path}?{}", query.join("&")), None)
}

#[test]
fn each_role_is_refused_exactly_where_the_table_says() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    let keys: Vec<(Role, String)> =
        Role::ALL.iter().map(|role| (*role, key(&sandbox, role.as_str(), &[role.as_str()], None))).collect();
    let service = Service::start(&sandbox);
    let mut asked = 0;
    for one in OPERATIONS {
        let Rest::At(verb, path) = one.rest else { continue };
        let (path, body) = example(path, verb, one.request.examples[0]);
        for (role, key) in &keys {
            let mut request = Request::new(verb.as_str(), &path).key(key);
            if let Some(body) = &body {
                request = request.body(body);
            }
            let reply = request.send(service.address);
            let may = *role == one.role || *role == Role::Admin;
            let is_forbidden = reply.body.contains("\"forbidden\"");
            assert_eq!(!is_forbidden, may, "{} as {}: {reply:#?}", one.name, role.as_str());
            assert_ne!(reply.status, 401, "{} as {}: {reply:#?}", one.name, role.as_str());
            // Whoever may ask is understood: the example of the table is a request.
            assert!(!may || !reply.body.contains("cannot be read: "), "{}: {reply:#?}", one.name);
            asked += 1;
        }
    }
    assert!(asked >= 20 * Role::ALL.len(), "{asked}");
}

#[test]
fn every_change_is_on_record_with_who_asked_and_what_became_of_it() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    let searcher = key(&sandbox, "ann", &["searcher"], None);
    let operator = key(&sandbox, "bob", &["operator"], None);
    let service = Service::start(&sandbox);
    Request::new("POST", "/api/v1/jobs/root/abort")
        .key(&searcher)
        .send(service.address)
        .refuses(403, "forbidden");
    Request::new("POST", "/api/v1/jobs/root/abort").key(&operator).send(service.address).is(200);
    service.ask("POST", "/api/v1/jobs/root/abort").is(200);
    service.ask("POST", "/api/v1/jobs/none/abort").refuses(404, "no_such_job");
    service.ask("GET", "/api/v1/jobs").is(200);
    let changes = service.answer("GET", "/api/v1/audit?limit=2");
    let row = |change: &Value| {
        ["caller", "operation", "job", "outcome"].map(|name| change[name].as_str().unwrap().to_owned())
    };
    let shown: Vec<[String; 4]> = changes["changes"].as_array().unwrap().iter().map(row).collect();
    assert_eq!(shown[0], ["key test", "jobs.abort", "none", "no_such_job"]);
    assert_eq!(shown[1], ["key test", "jobs.abort", "root", "done"]);
    let next = changes["next"].as_str().unwrap();
    let rest = service.answer("GET", &format!("/api/v1/audit?limit=2&cursor={next}"));
    let shown: Vec<[String; 4]> = rest["changes"].as_array().unwrap().iter().map(row).collect();
    assert_eq!(
        shown,
        [["key bob", "jobs.abort", "root", "done"].map(str::to_owned)],
        "nothing of who may not"
    );
    assert_eq!(rest.get("next"), None);
    let create = json!({"name": "carl", "roles": ["searcher"]});
    service.request("POST", "/api/v1/api-keys").body(&create).send(service.address).is(200);
    service.ask("DELETE", "/api/v1/api-keys/carl").is(200);
    let changes = service.answer("GET", "/api/v1/audit?limit=2");
    for (place, operation) in ["api_keys.delete", "api_keys.create"].into_iter().enumerate() {
        let change = &changes["changes"][place];
        let told = ["operation", "job", "api_key", "outcome"].map(|name| change[name].as_str().unwrap());
        assert_eq!(told, [operation, "", "carl", "done"]);
    }
    let told = sandbox.run(&["audit", "--limit", "1"]).exits(0).out;
    assert!(told.contains("api_keys.delete") && told.contains("carl"), "{told}");
}
