//! TLS as clients meet it: curl, and the command line.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::client::asked;
use super::{Service, key};
use crate::safety::certificates::Certificates;
use crate::sandbox::Sandbox;

/// A service with a certificate of its own, and those that are trusted.
fn encrypted(sandbox: &Sandbox) -> (Certificates, [String; 2]) {
    let certificates = Certificates::make(&sandbox.path().join("certificates"));
    let files = ["server.pem", "server.key"].map(|name| certificates.path(name));
    closed(&files[1]);
    (certificates, files)
}

fn closed(key: &str) {
    std::fs::set_permissions(key, PermissionsExt::from_mode(0o600)).unwrap();
}

/// What curl is answered, with the head before the body, or its exit code.
fn curl(arguments: &[&str]) -> Result<String, i32> {
    let mut curl = Command::new("curl");
    let done = curl.args(["-sS", "-i", "--max-time", "60"]).args(arguments).output().unwrap();
    match done.status.code() {
        Some(0) => Ok(String::from_utf8(done.stdout).unwrap()),
        code => Err(code.unwrap_or(-1)),
    }
}

/// Who signed the certificate that a service shows.
fn issuer(service: &Service<'_>) -> String {
    let mut openssl = Command::new("openssl");
    openssl.args(["s_client", "-connect", &service.address.to_string()]).stdin(std::process::Stdio::null());
    let told = String::from_utf8_lossy(&openssl.output().unwrap().stdout).into_owned();
    told.lines().find(|line| line.starts_with("issuer=")).unwrap_or_default().to_owned()
}

#[test]
fn a_service_speaks_tls_to_curl_and_to_the_command_line_and_nothing_else() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    let (certificates, [certificate, own_key]) = encrypted(&sandbox);
    let admin = key(&sandbox, "test", &["admin"], None);
    let mut service =
        Service::with(&sandbox, admin.clone(), &["--tls-cert", &certificate, "--tls-key", &own_key]);
    let port = service.address.port();
    let (root, stranger) = (certificates.path("root.pem"), certificates.path("stranger.pem"));
    let header = format!("Authorization: Bearer {admin}");
    let url = format!("https://localhost:{port}");
    let jobs = curl(&["--cacert", &root, "-H", &header, &format!("{url}/api/v1/jobs")]).unwrap();
    assert!(jobs.starts_with("HTTP/1.1 200") && jobs.contains("\"job\":\"root\""), "{jobs}");
    let cannot_verify = 60;
    let wrong = curl(&["--cacert", &stranger, &format!("{url}/healthz")]);
    assert_eq!(wrong, Err(cannot_verify), "nobody stands behind it");
    let plain = curl(&[&format!("http://localhost:{port}/healthz")]);
    assert!(plain.is_err(), "nothing goes unencrypted: {plain:?}");
    let page = curl(&["--cacert", &root, &format!("{url}/")]).unwrap().to_ascii_lowercase();
    let cookie = page.lines().find(|line| line.starts_with("set-cookie: ")).unwrap();
    assert!(
        cookie.contains(&format!("__host-ingather_form_{port}=")) && cookie.contains("; secure"),
        "{cookie}"
    );

    let ask = |server: &str, words: &[&str]| asked(&sandbox, server, Some(&admin), words);
    let list = ["job", "list", "--json"];
    let here = sandbox.run(&list);
    assert_eq!(ask(&url, &[&list[..], &["--server-ca", &root]].concat()).exits(0).out, here.out);
    ask(&url, &["job", "list", "--server-ca", &stranger])
        .refuses(3, &["no authority that is trusted", "--server-ca FILE"]);
    ask(&url, &["job", "list"]).refuses(3, &["no authority that is trusted"]);
    let by_number = format!("https://127.0.0.1:{port}");
    ask(&by_number, &["job", "list", "--server-ca", &root])
        .refuses(3, &["its certificate is for another name"]);
    let unencrypted = format!("http://localhost:{port}");
    ask(&unencrypted, &["job", "list", "--server-ca", &root]).refuses(2, &["needs no --server-ca"]);
    ask(&url, &["job", "list", "--server-ca", "/nowhere"]).refuses(2, &["/nowhere cannot be used for TLS"]);
    let started = ask(&url, &["job", "start", "root", "--json", "--server-ca", &root]).exits(0);
    assert_eq!(started.json(), [json!({"job": "root", "mode": "full"})]);
    service.tells("run of job root: ended");
}

#[test]
fn a_new_certificate_is_taken_with_the_next_connection_and_a_broken_one_is_not() {
    let sandbox = Sandbox::sqlite();
    let (certificates, [certificate, own_key]) = encrypted(&sandbox);
    let mut service =
        Service::with(&sandbox, String::new(), &["--tls-cert", &certificate, "--tls-key", &own_key]);
    assert!(issuer(&service).contains("root"));
    let new =
        |name: &str| [certificates.path(&format!("{name}.pem")), certificates.path(&format!("{name}.key"))];
    let [stranger, stranger_key] = new("stranger");
    closed(&stranger_key);
    // One after the other, as tools do it: between them the pair does not fit.
    std::fs::rename(&stranger, &certificate).unwrap();
    assert!(issuer(&service).contains("root"), "what was there is used yet");
    let told = service.tells("the file");
    assert!(
        told.contains("the key of another certificate; the certificate from before stays in use"),
        "{told}"
    );
    std::fs::rename(&stranger_key, &own_key).unwrap();
    assert!(issuer(&service).contains("stranger"));
    service.tells("the certificate");
    std::fs::write(&certificate, "no certificate").unwrap();
    assert!(issuer(&service).contains("stranger"));
    assert!(service.tells("the file").contains("stays in use"));
    std::fs::remove_file(&certificate).unwrap();
    assert!(issuer(&service).contains("stranger"));
    assert!(service.tells("the file").contains("stays in use"));
}

#[test]
fn files_that_are_no_pair_or_open_to_all_are_refused_and_other_machines_need_one() {
    let sandbox = Sandbox::sqlite();
    let (certificates, [certificate, own_key]) = encrypted(&sandbox);
    let serve = |listen: &str, files: &[&str]| sandbox.run(&[&["serve", "--listen", listen], files].concat());
    serve("0.0.0.0:0", &[]).refuses(2, &["nothing would be encrypted", "--tls-cert"]);
    let here = "127.0.0.1:0";
    serve(here, &["--tls-cert", &certificate]).refuses(2, &["--tls-key"]);
    let other: PathBuf = certificates.path("stranger.key").into();
    closed(other.to_str().unwrap());
    let mismatched = ["--tls-cert", &certificate, "--tls-key", other.to_str().unwrap()];
    serve(here, &mismatched).refuses(2, &["the key of another certificate"]);
    serve(here, &["--tls-cert", &own_key, "--tls-key", &own_key])
        .refuses(2, &["there is no certificate in it"]);
    std::fs::set_permissions(&own_key, PermissionsExt::from_mode(0o644)).unwrap();
    let pair = ["--tls-cert", &certificate, "--tls-key", &own_key];
    serve(here, &pair).refuses(2, &["every user of this machine could take the key", "chmod o="]);
    closed(&own_key);
    let service = Service::on("0.0.0.0:0", &sandbox, &pair);
    assert!(issuer(&service).contains("root"));
}
