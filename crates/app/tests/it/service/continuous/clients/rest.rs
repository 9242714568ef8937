//! Steps of the acceptance suite by plain HTTP: what a client does for its caller is done here by hand.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;

use ingather_model::limits;
use serde_json::{Value, json};

use super::Driver;
use crate::service::http::{Reply, Request};
use crate::stops::upgrade::comes;

/// The driver.
pub(super) struct Rest {
    address: SocketAddr,
    key: String,
    source: String,
    results: Vec<Value>,
    run: Option<Run>,
}

struct Run {
    number: i64,
    token: Value,
    confirm: bool,
    has_met: bool,
}

/// What is told, or a problem.
type Answer = Result<Value, Reply>;

impl Driver for Rest {
    fn ask(&mut self, step: &Value) -> Value {
        match self.does(step) {
            Ok(answer) => answer,
            Err(reply) => {
                let problem = reply.json();
                let is_told = ["detail", "next"]
                    .iter()
                    .all(|field| problem[field].as_str().is_some_and(|said| said.len() > 5));
                json!({"error": [reply.status, problem["code"]], "told": is_told})
            }
        }
    }
}

impl Rest {
    pub(super) fn new(address: SocketAddr) -> Rest {
        Rest { address, key: String::new(), source: String::new(), results: Vec::new(), run: None }
    }

    fn send(&self, verb: &str, path: &str, body: Option<&Value>) -> Answer {
        let request = Request::new(verb, &format!("/api/v1{path}")).key(&self.key);
        let request = body.into_iter().fold(request, Request::body);
        let reply = request.send(self.address);
        if reply.status == 200 { Ok(reply.json()) } else { Err(reply) }
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", &format!("/sources/{}/{path}", self.source), Some(body))
    }

    fn in_run(&self, what: &str, mut body: Value) -> Answer {
        let run = self.run.as_ref().expect("a step that belongs to a run stands in one");
        body["token"] = run.token.clone();
        self.post(&format!("runs/{}/{what}", run.number), &body)
    }

    fn does(&mut self, step: &Value) -> Answer {
        let records = || step["records"].as_array().cloned().unwrap_or_default();
        match step["do"].as_str().unwrap() {
            "use" => {
                self.key = step["key"].as_str().unwrap().to_owned();
                self.source = step["source"].as_str().unwrap().to_owned();
                Ok(json!({}))
            }
            "push" => self.push(&records(), limits::RECORDS_AT_ONCE_MAX),
            "stream" => self.push(&records(), 1),
            "delete" => {
                let keys = step["keys"].as_array().unwrap();
                let records: Vec<Value> =
                    keys.iter().map(|key| json!({"key": key, "delete": true})).collect();
                self.push(&records, limits::RECORDS_AT_ONCE_MAX)
            }
            "touch" => {
                self.run.as_mut().unwrap().has_met = true;
                self.in_run("touch", json!({"keys": step["keys"]})).map(|_| json!({}))
            }
            "wait" => self.wait(),
            "reports" => self.reports(),
            "state" => {
                let shown = self.send("GET", &format!("/sources/{}/run", self.source), None)?;
                let fields = ["state", "mode", "records", "deleted", "touched"];
                Ok(fields.iter().map(|name| ((*name).to_owned(), shown[name].clone())).collect())
            }
            "delta" => self.open(step),
            "raise" => {
                // Where the run is not open any more, what was raised is the failure to tell.
                drop(self.in_run("rollback", json!({})));
                self.run = None;
                Ok(json!({"raised": true}))
            }
            "end" => self.end(step),
            other => panic!("there is no step {other}"),
        }
    }

    fn push(&mut self, records: &[Value], at_once: usize) -> Answer {
        let mut results = Vec::new();
        let (mut batch, mut bytes) = (Vec::new(), 0);
        for record in records {
            let record = hashed(record);
            let length = record.to_string().len() + 1;
            if batch.len() == at_once || bytes + length > limits::RECORDS_BYTES_MAX - 1_024 {
                results.extend(self.call(&batch)?);
                (batch, bytes) = (Vec::new(), 0);
            }
            batch.push(record);
            bytes += length;
        }
        if !batch.is_empty() {
            results.extend(self.call(&batch)?);
        }
        let word = |result: &Value| match result["result"].as_str().unwrap() {
            "refused" => format!("refused {}", result["code"].as_str().unwrap()),
            _ if result["was_there"] == true => "replaced".to_owned(),
            other => other.to_owned(),
        };
        let tickets: Vec<&Value> = results.iter().filter_map(|result| result.get("ticket")).collect();
        let told = json!({"results": results.iter().map(word).collect::<Vec<_>>(), "tickets": tickets});
        self.results = results;
        Ok(told)
    }

    /// Records of one call; within a run those alone that have to be sent.
    fn call(&mut self, batch: &[Value]) -> Result<Vec<Value>, Reply> {
        let Some(run) = &mut self.run else { return self.halved(batch, json!({})) };
        run.has_met = true;
        let claim = json!({"run": run.number, "token": run.token});
        let is_key = |key: &Value| key.as_str().is_some_and(|key| !key.is_empty() && !key.contains('\0'));
        let is_checked = |record: &Value| record["hash"].is_string() && is_key(&record["key"]);
        let asked: Vec<Value> = batch
            .iter()
            .filter(|record| is_checked(record))
            .map(|record| json!({"key": record["key"], "hash": record["hash"]}))
            .collect();
        let checked = self.in_run("check", json!({"records": asked}))?;
        let words = checked["results"].as_array().unwrap();
        // Of several of one key the last one counts: they are sent together, or not at all.
        let mut sends: BTreeMap<&str, bool> = BTreeMap::new();
        for (record, word) in asked.iter().zip(words) {
            *sends.entry(record["key"].as_str().unwrap()).or_default() |= word != "unchanged";
        }
        let is_sent =
            |record: &Value| record["key"].as_str().and_then(|key| sends.get(key)).is_none_or(|sends| *sends);
        let sent: Vec<Value> = batch.iter().filter(|record| is_sent(record)).cloned().collect();
        let mut answers = self.halved(&sent, claim)?.into_iter();
        let mut results = Vec::new();
        for record in batch {
            let result = match is_sent(record) {
                true => answers.next().unwrap(),
                false => json!({"result": "unchanged"}),
            };
            let is_unheard = result["code"] == "too_large" || result["code"] == "wrong_use";
            if is_unheard && is_key(&record["key"]) {
                self.in_run("touch", json!({"keys": [record["key"]]}))?;
            }
            results.push(result);
        }
        Ok(results)
    }

    /// What is refused as a whole is sent by halves.
    fn halved(&self, batch: &[Value], claim: Value) -> Result<Vec<Value>, Reply> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let mut body = claim.clone();
        body["records"] = json!(batch);
        if batch.len() == 1 && batch[0].to_string().len() > limits::RECORDS_BYTES_MAX - 1_024 {
            return Ok(vec![json!({"result": "refused", "code": "too_large"})]);
        }
        let reply = match self.post("records", &body) {
            Ok(answer) => return Ok(answer["results"].as_array().unwrap().clone()),
            Err(reply) => reply,
        };
        let code = reply.json()["code"].clone();
        if code != "too_large" && code != "wrong_use" {
            return Err(reply);
        }
        if batch.len() == 1 {
            return Ok(vec![json!({"result": "refused", "code": code})]);
        }
        let (first, second) = batch.split_at(batch.len() / 2);
        Ok([self.halved(first, claim.clone())?, self.halved(second, claim)?].concat())
    }

    fn wait(&self) -> Answer {
        let outcome = |result: &Value| {
            let Some(ticket) = result.get("ticket") else { return Ok(Value::Null) };
            let mut outcome = Ok(Value::Null);
            assert!(comes(|| {
                outcome = self
                    .send("GET", &format!("/tickets/{ticket}"), None)
                    .map(|look| look["report"]["outcome"].clone());
                !matches!(outcome, Ok(Value::Null))
            }));
            outcome
        };
        let outcomes = self.results.iter().map(outcome).collect::<Result<Vec<Value>, Reply>>()?;
        Ok(json!({"outcomes": outcomes}))
    }

    fn reports(&self) -> Answer {
        let (mut all, mut after) = (Vec::new(), json!(0));
        loop {
            let page = self.send("GET", &format!("/sources/{}/reports?after={after}", self.source), None)?;
            let told = page["reports"].as_array().unwrap().iter();
            all.extend(told.map(|one| json!([one["key"], one["op"], one["outcome"]])));
            if page["more"] == false {
                return Ok(json!({"reports": all}));
            }
            after = page["last"].clone();
        }
    }

    fn open(&mut self, step: &Value) -> Answer {
        let mut body = json!({});
        for (name, field) in [("mode", "mode"), ("lease_seconds", "lease_seconds"), ("name", "client")] {
            if !step[name].is_null() {
                body[field] = step[name].clone();
            }
        }
        let opened = self.post("runs", &body)?;
        let confirm = step["confirm"] == true;
        let (number, token) = (opened["run"].as_i64().unwrap(), opened["token"].clone());
        // The guard against a run that met nothing is the clients' own, and for those that delete.
        let has_met = confirm || step["mode"] == "additive";
        self.run = Some(Run { number, token, confirm, has_met });
        Ok(json!({"opened": true}))
    }

    fn end(&mut self, step: &Value) -> Answer {
        let run = self.run.as_ref().unwrap();
        let own = |code: &str| json!({"error": [0, code], "told": true});
        let is_complete = step["complete"] != false;
        let answer = if is_complete && !run.has_met {
            self.in_run("rollback", json!({}))?;
            own("nothing_pushed")
        } else {
            let asked = json!({"complete": is_complete, "confirm": run.confirm});
            match self.in_run("finish", asked) {
                Ok(ended) if ended["held"].is_object() => {
                    self.in_run("rollback", json!({}))?;
                    own("deletions_held")
                }
                Ok(ended) => json!({"deleted": ended["deleted"], "veto": ended["veto"].is_string()}),
                Err(reply) => {
                    self.run = None;
                    return Err(reply);
                }
            }
        };
        self.run = None;
        Ok(answer)
    }
}

/// A record with a hash of all that it says.
fn hashed(record: &Value) -> Value {
    let mut hashed = record.clone();
    if record["key"].is_string() && record["hash"].is_null() && record["delete"] != true {
        let mut digest = DefaultHasher::new();
        record.to_string().hash(&mut digest);
        hashed["hash"] = json!(format!("{:x}", digest.finish()));
    }
    hashed
}
