//! What the description of the API promises of each answer: its status, the codes of its problems, and the type of its body.

use std::collections::HashMap;

use ingather_testkit::suites::schema::{self, Validator};
use serde_json::{Value, json};

use crate::service::http::Reply;

/// One operation as it is described.
struct Promise {
    /// What each status is told for.
    statuses: HashMap<u16, String>,
    answer: Validator,
}

/// The whole description, by verb and path.
pub(super) struct Contract {
    promises: HashMap<String, Promise>,
    problem: Validator,
}

impl Contract {
    pub(super) fn of(described: &Value) -> Contract {
        let validator = |schema: &Value| {
            let mut whole = schema.clone();
            whole["components"] = json!({ "schemas": described["components"]["schemas"] });
            schema::of(&whole)
        };
        let mut promises = HashMap::new();
        for (path, verbs) in described["paths"].as_object().unwrap() {
            for (verb, one) in verbs.as_object().unwrap() {
                let Some(answer) = one["responses"]["200"]["content"].get("application/json") else {
                    continue;
                };
                let statuses = one["responses"].as_object().unwrap().iter();
                let statuses = statuses.map(|(status, told)| {
                    (status.parse().unwrap(), told["description"].as_str().unwrap().to_owned())
                });
                let promise = Promise { statuses: statuses.collect(), answer: validator(&answer["schema"]) };
                promises.insert(one["operationId"].as_str().unwrap().to_owned(), promise);
                assert!(path.starts_with("/api/v1/") && ["get", "post", "delete"].contains(&verb.as_str()));
            }
        }
        let problem = validator(&json!({ "$ref": "#/components/schemas/Problem" }));
        Contract { promises, problem }
    }

    /// What is wrong with an answer; its code where it is a problem.
    pub(super) fn judge(&self, operation: &str, reply: &Reply) -> Result<Option<String>, String> {
        let promise = &self.promises[operation];
        let Some(told) = promise.statuses.get(&reply.status) else {
            return Err(format!("the status {} is not described", reply.status));
        };
        let body = reply.json();
        let fits = |validator: &Validator| match validator.validate(&body) {
            Ok(()) => Ok(()),
            Err(why) => Err(format!("it is not of its type: {why}, at {}", why.instance_path())),
        };
        if reply.status == 200 {
            return fits(&promise.answer).map(|()| None);
        }
        fits(&self.problem)?;
        let code = body["code"].as_str().unwrap().to_owned();
        if !told.contains(&format!("`{code}`: ")) || body["status"] != reply.status {
            return Err(format!("the code {code} is not described for the status {}", reply.status));
        }
        // A bound of the service says when to ask again; nothing else of the service's own is in order.
        let is_busy = code == "busy" && reply.head.contains("retry-after: ");
        if reply.status >= 500 && !is_busy {
            return Err("the service itself is at fault".to_owned());
        }
        Ok(Some(code))
    }
}
