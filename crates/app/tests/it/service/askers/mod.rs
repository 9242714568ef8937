//! Who asks without an API key: users of the machine over the socket, people whom a reverse proxy vouches for, and whoever presents a token; people whom an identity provider pushes; and what is put on record of
//! answers.

mod answers_log;
mod kernel;
mod proxies;
mod proxy_page;
mod scim;
mod socket;
mod tokens;
mod user_acls;

use std::path::PathBuf;

use crate::people::ordinary;
use crate::sandbox::Sandbox;
use crate::service::http::{Reply, Request};
use crate::service::{Service, key};

/// What the proxy of these tests knows.
const SECRET: &str = "5e88489da80e4f1b8a7c6d5e4f3a2b1c";

/// A folder with a file that every user of the machine may read, and one that its owner alone may.
fn two_files() -> Sandbox {
    let sandbox = Sandbox::sqlite();
    sandbox.write("open.txt", "apple");
    // Another text: the page shows one text once.
    sandbox.write("closed.txt", "apple closed");
    let closed = sandbox.root().join("closed.txt");
    std::fs::set_permissions(closed, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    sandbox.synced(&[]);
    sandbox
}

/// A file with a secret, which has this mode.
fn secret_file(sandbox: &Sandbox, secret: &str, mode: u32) -> PathBuf {
    let path = sandbox.path().join("proxy-secret");
    std::fs::write(&path, format!("{secret}\n")).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    path
}

/// A service that takes names from these addresses, and more flags.
fn behind<'s>(sandbox: &'s Sandbox, proxy: &str, flags: &[&str]) -> Service<'s> {
    let file = secret_file(sandbox, SECRET, 0o600);
    let admin = key(sandbox, &format!("behind-{}", proxy.replace('/', "-")), &["admin"], None);
    let own = ["--proxy", proxy, "--proxy-secret", file.to_str().unwrap()];
    Service::with(sandbox, admin, &[&own[..], flags].concat())
}

/// A request that the proxy passes on for somebody.
fn named(verb: &str, path: &str, name: &str) -> Request {
    Request::new(verb, path).header(&format!("X-Ingather-User: {name}")).header(&secret(SECRET))
}

fn secret(secret: &str) -> String {
    format!("X-Ingather-Proxy-Secret: {secret}")
}

const SEARCH: &str = "/api/v1/search?query=apple&limit=9";

/// The documents that a search has found.
#[track_caller]
fn found(reply: Reply) -> Vec<String> {
    let hits = reply.is(200).json();
    let document = |hit: &serde_json::Value| hit["document"].as_str().unwrap().to_owned();
    let mut found: Vec<String> = hits["hits"].as_array().unwrap().iter().map(document).collect();
    found.sort_unstable();
    found
}

/// The number of the ordinary user.
fn number() -> String {
    crate::people::must(std::process::Command::new("id").args(["-u", ordinary()]))
}
