//! An OpenID provider (`oidc-provider`) on loopback, whose people log in through all of its pages; it goes away with its value, and with the
//! process. `scripts/provider.sh` brings it; where it is not, tests that need it are named as not run.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{certify, free_port, run};

/// For whom its access tokens are made out.
pub const AUDIENCE: &str = "ingather";
/// The program that people log in with: its ID tokens are made out for it.
pub const CLIENT: &str = "search";

/// How long a log-in may take, seconds.
const SECONDS: &str = "60";

/// How long its start may take.
const START: Duration = Duration::from_secs(120);

/// A provider that answers.
pub struct Provider {
    folder: tempfile::TempDir,
    packages: PathBuf,
    issuer: String,
    accounts: Value,
    seconds: u32,
    child: Option<Child>,
}

/// Tokens of somebody who has logged in.
pub struct LoggedIn {
    /// An access token for [`AUDIENCE`] (`at+jwt`); where it was asked for without an audience, one that nobody but the provider can read.
    pub access: String,
    /// An ID token.
    pub id: String,
}

/// Where its packages are: where `scripts/provider.sh` says, or has put them before.
fn packages() -> Option<PathBuf> {
    let told = std::env::var_os("INGATHER_TEST_PROVIDER").map(PathBuf::from);
    let before = crate::workspace().join("target/provider/node_modules");
    told.or(before.join("oidc-provider").is_dir().then_some(before))
}

impl Provider {
    /// A provider with these accounts, by name with their claims; `test` is named as not run where there is none.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start(test: &str, accounts: Value) -> Option<Provider> {
        Provider::with(test, accounts, "http", 3_600)
    }

    /// The same with TLS, or with tokens that count for so many seconds.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn with(test: &str, accounts: Value, scheme: &str, seconds: u32) -> Option<Provider> {
        let Some(packages) = packages() else {
            crate::rights::not_run(test, "it needs an OpenID provider; scripts/provider.sh brings it");
            return None;
        };
        let folder = tempfile::tempdir().expect("tests need a temporary folder");
        if scheme == "https" {
            certify(folder.path(), "127.0.0.1");
        }
        let issuer = format!("{scheme}://127.0.0.1:{}", free_port());
        let packages = std::path::absolute(packages).expect("a path");
        let mut provider = Provider { folder, packages, issuer, accounts, seconds, child: None };
        provider.sign_with(&["rs1"]);
        Some(provider)
    }

    /// Starts it again with these keys, the first of which signs; a name begins with its kind: `rs`, `es` or `ed`. A key keeps what it is.
    ///
    /// # Panics
    /// When it does not start.
    pub fn sign_with(&mut self, keys: &[&str]) {
        self.stop();
        let told = json!({
            "packages": self.packages, "issuer": self.issuer, "keys": keys, "seconds": self.seconds, "accounts": self.accounts,
        });
        let file = self.folder.path().join("provider.json");
        std::fs::write(file, told.to_string()).expect("a temporary folder takes a file");
        let script = crate::workspace().join("scripts/provider/provider.cjs");
        let mut command = Command::new("node");
        // Without threads of V8 beside the first one: with these, Node.js 20 was twice seen to stand still for ever at its start, on a busy machine
        // (nodejs/node#54918 is alike).
        command.arg("--single-threaded").arg(script).arg(self.folder.path());
        command.env("NODE_EXTRA_CA_CERTS", self.root());
        // It ends with its input, which this process holds alone.
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("scripts/install.sh installs node");
        let output = child.stdout.take().expect("it is piped");
        self.child = Some(child);
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            let mut said = String::new();
            let read = BufReader::new(output).read_line(&mut said).map(|_| said);
            // Nobody waits any more where it took too long.
            let _ = tell.send(read);
        });
        // It ends with this value, also where it says nothing.
        let said = told.recv_timeout(START).expect("the provider says that it listens").expect("it is read");
        assert_eq!(said.trim(), "ready", "the provider does not start");
    }

    /// Ends it, as a crash would.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Where it is, and what it calls itself.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The root that its certificate is by, where it has TLS.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("root.pem")
    }

    /// Logs somebody in.
    ///
    /// # Panics
    /// When the provider does not let them.
    pub fn log_in(&self, who: &str) -> LoggedIn {
        self.log_in_by(&[("who", who)])
    }

    /// The same by a program of another name (`client`), or for another audience (`resource`, which may be empty).
    ///
    /// # Panics
    /// When the provider does not let them.
    pub fn log_in_by(&self, how: &[(&str, &str)]) -> LoggedIn {
        let mut command = Command::new("curl");
        command.args(["--silent", "--show-error", "--fail-with-body", "--get", "--max-time"]);
        command.arg(SECONDS);
        if self.issuer.starts_with("https:") {
            command.arg("--cacert").arg(self.root());
        }
        how.iter().for_each(|(name, value)| {
            command.args(["--data-urlencode", &format!("{name}={value}")]);
        });
        let told = run(command.arg(format!("{}/test/log-in", self.issuer)));
        let told: Value = serde_json::from_str(&told).expect("tokens are JSON");
        let text = |name: &str| told[name].as_str().unwrap_or_else(|| panic!("{told}")).to_owned();
        LoggedIn { access: text("access_token"), id: text("id_token") }
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.stop();
    }
}
