//! Notifiers of a real service: a command, a webhook and a mail server are told of ends of runs; what hinders them changes nothing of the runs, is
//! seen, and is tried again, also after the service was killed.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use ingather_model::job::RunKind;
use ingather_model::job::history::HistoryOf;
use ingather_store::runs::{self, Begin};
use ingather_store::{Durability, Store, Target, jobs};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::super::runs::at_rest;
use super::super::{Service, key};
use crate::files;
use crate::safety::certificates::Certificates;
use crate::sandbox::{Kept, Sandbox};
use crate::stops::upgrade::comes;

/// Writes a file that nobody else can read.
fn own(sandbox: &Sandbox, name: &str, text: &str) -> PathBuf {
    let path = sandbox.path().join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    path
}

/// Declares notifiers; the flags of `serve`.
pub(in crate::service) fn declared(sandbox: &Sandbox, notifiers: &Value) -> [String; 2] {
    let path = own(sandbox, "notifiers.yaml", &json!({ "notifiers": notifiers }).to_string());
    ["--notifiers".to_owned(), path.to_str().unwrap().to_owned()]
}

/// A command that appends what it is told to `told`, and does as `before` says before that.
pub(in crate::service) fn appends(sandbox: &Sandbox, before: &str) -> Value {
    let folder = sandbox.path().display();
    let script = format!("cd {folder} && {before} && {{ cat; echo; }} >>told");
    json!({ "run": ["/bin/sh", "-c", script] })
}

/// What the command was told so far.
pub(in crate::service) fn told(sandbox: &Sandbox) -> Vec<Value> {
    let text = std::fs::read_to_string(sandbox.path().join("told")).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn serve<'s>(sandbox: &'s Sandbox, key: &str, flags: &[String]) -> Service<'s> {
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    Service::with(sandbox, key.to_owned(), &flags)
}

/// The latest notice, once it is so.
#[track_caller]
fn notice(service: &Service<'_>, is_so: impl Fn(&Value) -> bool) -> Value {
    let mut latest = Value::Null;
    let came = comes(|| {
        latest = service.answer("GET", "/api/v1/notices")["notices"][0].clone();
        is_so(&latest)
    });
    assert!(came, "{latest}");
    latest
}

#[test]
fn a_command_is_told_of_the_ends_that_a_job_names_and_of_all_jobs_where_it_says_so() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        (0..60).for_each(|n| sandbox.write(&format!("f{n}.txt"), "apple"));
        files::settle(&sandbox.root());
        sandbox.synced(&[]);
        sandbox.run(&["sync", "root", "--name", "second", "--to", "null"]).exits(0);
        let admin = key(&sandbox, "test", &["admin"], None);
        let flags = declared(
            &sandbox,
            &json!({
                "all": {"command": appends(&sandbox, "true"), "on": ["held"]},
                "named": {"command": appends(&sandbox, "true")},
            }),
        );
        let service = serve(&sandbox, &admin, &flags);
        let define = |body: Value| service.request("POST", "/api/v1/jobs").body(&body).send(service.address);
        let root = sandbox.root().to_str().unwrap().to_owned();
        let wanted = json!({"root": root, "name": "second", "notify": ["named:finished"], "update": true});
        assert_eq!(define(wanted).is(200).json()["changes"], json!(["notify: none → named:finished"]));
        // Whoever asks over the network names what whoever runs the service has declared, and nothing else.
        let other = json!({"root": root, "name": "second", "notify": ["/bin/sh"], "update": true});
        define(other).refuses(400, "definition");
        let other = json!({"root": root, "name": "second", "notify": ["other"], "update": true});
        let refused = define(other).refuses(400, "definition").json();
        assert!(refused["detail"].as_str().unwrap().contains("there is all, named"), "{refused}");
        service.answer("POST", "/api/v1/jobs/second/start");
        assert!(comes(|| told(&sandbox).len() == 1), "{:?}", told(&sandbox));
        let first = told(&sandbox).remove(0);
        assert_eq!(
            (&first["job"], &first["event"], &first["run"]),
            (&json!("second"), &json!("finished"), &json!(2))
        );
        assert_eq!((&first["begun_by"], &first["counts"]["unchanged"]), (&json!("key test"), &json!(60)));
        // Of a run that ends well nobody is told who has not asked for it.
        service.answer("POST", "/api/v1/jobs/root/start");
        at_rest(&service, "root");
        (0..40).for_each(|n| std::fs::remove_file(sandbox.root().join(format!("f{n}.txt"))).unwrap());
        service.answer("POST", "/api/v1/jobs/root/start");
        assert!(comes(|| told(&sandbox).len() == 2), "{:?}", told(&sandbox));
        let held = told(&sandbox).remove(1);
        assert_eq!(
            (&held["event"], &held["counts"]["held"], &held["run"]),
            (&json!("held"), &json!(40), &json!(3))
        );
        assert!(held["says"].as_str().unwrap().contains("job confirm root --run 3"), "{held}");
        let latest = notice(&service, |latest| latest["state"] == "sent");
        assert_eq!((&latest["notifier"], &latest["id"]), (&json!("all"), &held["id"]));
        let exported = service.answer("GET", "/api/v1/declaration").to_string();
        assert!(exported.contains("named:finished") && !exported.contains("/bin/sh"), "{exported}");
    }
}

#[test]
fn a_notifier_that_fails_changes_nothing_of_the_run_is_seen_and_is_tried_again_after_a_kill() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&["--notify", "ops:finished"]);
    let admin = key(&sandbox, "test", &["admin"], None);
    let flags = declared(&sandbox, &json!({"ops": {"command": appends(&sandbox, "test -e mended")}}));
    let service = serve(&sandbox, &admin, &flags);
    // The run of the command line is told by the service that comes after it.
    let of_command = notice(&service, |latest| latest["attempts"].as_i64() >= Some(1));
    assert_eq!((&of_command["run"], &of_command["state"]), (&json!(1), &json!("waiting")));
    sandbox.write("b.txt", "apple");
    service.answer("POST", "/api/v1/jobs/root/start");
    let shown = at_rest(&service, "root");
    assert_eq!((&shown["run"]["outcome"], &shown["run"]["error"]), (&json!("done"), &Value::Null));
    let waits = notice(&service, |latest| latest["run"] == 2 && latest["attempts"].as_i64() >= Some(1));
    assert_eq!(waits["state"], "waiting");
    let needs = service.answer("GET", "/api/v1/status")["jobs"][0]["needs"].to_string();
    assert!(needs.contains("notifier ops is to be told again of run 2"), "{needs}");
    sandbox.run(&["status"]).exits(1);
    let examined = sandbox.run(&["doctor"]).exits(1);
    assert!(examined.out.contains("notifier ops is to be told again"), "{examined:?}");
    service.end(Signal::KILL);
    std::fs::write(sandbox.path().join("mended"), "").unwrap();
    let service = serve(&sandbox, &admin, &flags);
    assert!(comes(|| told(&sandbox).len() == 2), "{:?}", told(&sandbox));
    let mut runs: Vec<i64> = told(&sandbox).iter().map(|notice| notice["run"].as_i64().unwrap()).collect();
    runs.sort_unstable();
    assert_eq!(runs, [1, 2]);
    assert!(comes(|| service.answer("GET", "/api/v1/status")["jobs"][0]["well"] == true));
    assert!(told(&sandbox).iter().any(|notice| notice["id"] == waits["id"]), "it has the same id as before");
}

#[test]
fn what_a_kill_cut_off_is_told_again_with_its_id_and_the_end_of_a_service_waits_for_nobody() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    let admin = key(&sandbox, "test", &["admin"], None);
    // It takes note, and then does not end.
    let hangs = appends(&sandbox, "{ test -e mended || { cat >>begun; exec sleep 600; }; }");
    let flags = declared(&sandbox, &json!({"ops": {"command": hangs, "on": ["finished"]}}));
    sandbox.synced(&["--notify", "ops:finished"]);
    let begun = |times: usize| {
        let text = std::fs::read_to_string(sandbox.path().join("begun")).unwrap_or_default();
        text.matches("\"id\"").count() >= times
    };
    let service = serve(&sandbox, &admin, &flags);
    assert!(comes(|| begun(1)));
    service.end(Signal::KILL);
    let service = serve(&sandbox, &admin, &flags);
    assert!(comes(|| begun(2)));
    let ends = std::time::Instant::now();
    service.end(Signal::TERM);
    assert!(ends.elapsed().as_secs() < 20, "it does not wait for the command, which takes 30 s");
    std::fs::write(sandbox.path().join("mended"), "").unwrap();
    let service = serve(&sandbox, &admin, &flags);
    assert!(comes(|| told(&sandbox).len() == 1));
    let sent = notice(&service, |latest| latest["state"] == "sent");
    let all = std::fs::read_to_string(sandbox.path().join("begun")).unwrap();
    assert_eq!(all.matches(sent["id"].as_str().unwrap()).count(), 2, "{all}");
    assert_eq!(told(&sandbox)[0]["id"], sent["id"]);
}

#[test]
fn a_job_that_rests_after_three_interruptions_is_told_of_once() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    let store = Store::open(&Target::Sqlite(sandbox.data().join("store.db"))).unwrap();
    store
        .write(Durability::Synced, |sql| {
            let job = jobs::by_name(sql, "root")?.unwrap();
            for _ in 0..3 {
                let number = jobs::begin(sql, job.id)?.unwrap();
                let begin = Begin { number, kind: RunKind::Full, at: 1, by: "", notes: HistoryOf::Failures };
                runs::open(sql, job.id, begin)?;
            }
            Ok(())
        })
        .unwrap();
    drop(store);
    let admin = key(&sandbox, "test", &["admin"], None);
    let flags =
        declared(&sandbox, &json!({"ops": {"command": appends(&sandbox, "true"), "on": ["interrupted"]}}));
    let service = serve(&sandbox, &admin, &flags);
    assert!(comes(|| told(&sandbox).len() == 1));
    let says = told(&sandbox).remove(0);
    assert_eq!((&says["event"], &says["run"]), (&json!("interrupted"), &json!(4)));
    assert!(says["says"].as_str().unwrap().contains("interrupted 3 times in a row"), "{says}");
    notice(&service, |latest| latest["state"] == "sent");
    service.end(Signal::TERM);
    // The next service sees it, too.
    let mut service = serve(&sandbox, &admin, &flags);
    service.tells("job root: its run was interrupted 3 times");
    notice(&service, |latest| latest["state"] == "sent");
    let page = service.answer("GET", "/api/v1/notices");
    assert_eq!((page["notices"].as_array().unwrap().len(), told(&sandbox).len()), (1, 1));
}

#[test]
fn an_interrupted_run_that_a_person_aborts_is_told_of_as_one_that_has_ended() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    let store = Store::open(&Target::Sqlite(sandbox.data().join("store.db"))).unwrap();
    store
        .write(Durability::Synced, |sql| {
            let job = jobs::by_name(sql, "root")?.unwrap();
            let number = jobs::begin(sql, job.id)?.unwrap();
            let begin = Begin { number, kind: RunKind::Full, at: 1, by: "", notes: HistoryOf::Failures };
            runs::open(sql, job.id, begin)
        })
        .unwrap();
    drop(store);
    sandbox.run(&["job", "pause", "root"]).exits(0);
    let admin = key(&sandbox, "test", &["admin"], None);
    let ops = json!({"ops": {"command": appends(&sandbox, "true"), "on": ["finished"]}});
    let service = serve(&sandbox, &admin, &declared(&sandbox, &ops));
    let aborted = service.ask("POST", "/api/v1/jobs/root/abort").is(200).json();
    assert_eq!((&aborted["stopping"], &aborted["rests"]), (&json!(false), &json!(true)), "{aborted}");
    assert!(comes(|| told(&sandbox).len() == 1));
    let says = told(&sandbox).remove(0);
    let expected = (&json!("finished"), &json!(2), &json!("interrupted"));
    assert_eq!((&says["event"], &says["run"], &says["outcome"]), expected, "{says}");
    notice(&service, |latest| latest["state"] == "sent");
}

/// The mail server of `scripts`; ended with this.
struct MailServer {
    child: Child,
    port: u16,
    mails: PathBuf,
}

impl MailServer {
    fn start(sandbox: &Sandbox, certificates: &Certificates) -> MailServer {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/mail-server.py");
        let mails = sandbox.path().join("mails");
        // The system's Python, for which the package is.
        let mut server = Command::new("/usr/bin/python3");
        server.arg(script).args([certificates.path("server.pem"), certificates.path("server.key")]);
        server.args(["ingather", "s3cret"]).arg(&mails).stdin(Stdio::piped()).stdout(Stdio::piped());
        // It tells of clients that break off, which is what a test wants of them.
        server.stderr(Stdio::null());
        let mut child = server.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().parse();
        MailServer { child, port: port.expect("scripts/install.sh installs python3-aiosmtpd"), mails }
    }

    fn mails(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.mails).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_mail_server_is_given_mails_after_starttls_and_a_login_and_only_one_that_is_trusted() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    let admin = key(&sandbox, "test", &["admin"], None);
    let certificates = Certificates::make(&sandbox.path().join("certificates"));
    let server = MailServer::start(&sandbox, &certificates);
    let password = own(&sandbox, "password", "s3cret\n");
    let mail = |roots: &str| {
        json!({"mail": {
            "server": "localhost", "port": server.port, "ca_file": certificates.path(roots), "user": "ingather",
            "password_file": password, "from": "Ingather <ingather@example.org>", "to": ["ops@example.org", "ann@example.org"],
        }, "on": ["finished"]})
    };
    let service = serve(&sandbox, &admin, &declared(&sandbox, &json!({"ops": mail("stranger.pem")})));
    service.answer("POST", "/api/v1/jobs/root/start");
    let refused = notice(&service, |latest| latest["attempts"].as_i64() >= Some(1));
    assert_eq!((&refused["state"], server.mails().len()), (&json!("waiting"), 0), "{refused}");
    assert!(refused["error"].as_str().unwrap().contains("ertificate"), "{refused}");
    service.end(Signal::TERM);
    let service = serve(&sandbox, &admin, &declared(&sandbox, &json!({"ops": mail("root.pem")})));
    let sent = notice(&service, |latest| latest["state"] == "sent");
    let [mail] = &server.mails()[..] else { panic!("{:?}", server.mails()) };
    assert_eq!(mail["tls"], true);
    assert_eq!(mail["to"], json!(["ops@example.org", "ann@example.org"]));
    let data = mail["data"].as_str().unwrap();
    for line in [
        "Subject: job root: run 2 has ended",
        &format!("Message-ID: <{}@example.org>", sent["id"].as_str().unwrap()),
    ] {
        assert!(data.contains(line), "no {line}: {data}");
    }
    let log = service.end(Signal::TERM).err;
    let answered = serde_json::to_string(&sandbox.run(&["export"]).exits(0).out).unwrap();
    assert!(!log.contains("s3cret") && !answered.contains("s3cret"), "no answer has the password");
}

#[test]
fn a_file_of_notifiers_that_others_could_have_written_or_that_cannot_be_meant_is_refused() {
    let sandbox = Sandbox::sqlite();
    let refused = |text: &str, mode, words: &[&str]| {
        let path = own(&sandbox, "notifiers.yaml", text);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        let listen = ["serve", "--listen", "127.0.0.1:0", "--notifiers", "notifiers.yaml"];
        sandbox.run(&listen).refuses(2, words);
    };
    let good = "notifiers: {ops: {command: {run: [/bin/true]}}}";
    refused(good, 0o666, &["notifiers.yaml", "`chmod go-w`"]);
    refused("notifiers: {ops: {command: {run: [true]}}}", 0o600, &["--notifiers notifiers.yaml"]);
    refused("notifiers: {ops: {shell: x}}", 0o600, &["shell"]);
    let inside = own(&sandbox, "secret", "word");
    let webhook = format!(
        "notifiers: {{ops: {{webhook: {{url: 'http://127.0.0.1/', secret_file: {}}}}}}}",
        inside.display()
    );
    refused(&webhook, 0o600, &["notifier ops", "private: true"]);
    // Nothing of it holds a job back that names one which is not there.
    sandbox.write("a.txt", "apple");
    sandbox.synced(&["--notify", "gone:finished"]);
    let admin = key(&sandbox, "test", &["admin"], None);
    // Somebody who has left the declaration out has given up nobody.
    let service = serve(&sandbox, &admin, &[]);
    service.answer("POST", "/api/v1/jobs/root/start");
    at_rest(&service, "root");
    let waits = notice(&service, |latest| latest["run"] == 2);
    assert_eq!((&waits["state"], &waits["attempts"]), (&json!("waiting"), &json!(0)));
    service.end(Signal::TERM);
    let flags = declared(&sandbox, &json!({"ops": {"command": appends(&sandbox, "true")}}));
    let service = serve(&sandbox, &admin, &flags);
    let given_up = notice(&service, |latest| latest["state"] == "failed");
    assert!(given_up["error"].as_str().unwrap().contains("there is no notifier `gone`"), "{given_up}");
    service.end(Signal::TERM);
}
