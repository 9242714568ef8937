//! Logging in to a database server: passwords that nobody sees, TLS as it was asked for.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::certificates::Certificates;
use crate::sandbox::{Answer, Sandbox, finish};
use crate::server::Server;

const PASSWORD: &str = "TOPSECRET:\\word";

/// A sandbox with one file, and a server of the test's own.
struct Trial {
    sandbox: Sandbox,
    server: Server,
}

impl Trial {
    fn make() -> Trial {
        let sandbox = Sandbox::sqlite();
        sandbox.write("a.txt", "apple");
        // Servers of tests that run beside each other need ports of their own.
        static MADE: AtomicU64 = AtomicU64::new(0);
        let seed = u64::from(std::process::id()) << 8 | MADE.fetch_add(1, Ordering::Relaxed);
        let server = Server::start(&sandbox.path().join("postgres"), &mut fastrand::Rng::with_seed(seed));
        Trial { sandbox, server: server.unwrap() }
    }

    /// Gives the server other rules for logging in, and more settings; it starts anew.
    fn configure(&mut self, rules: &str, settings: &str) {
        std::fs::write(self.server.data.join("pg_hba.conf"), rules).unwrap();
        let file = std::fs::OpenOptions::new().append(true).open(self.server.data.join("postgresql.conf"));
        file.unwrap().write_all(settings.as_bytes()).unwrap();
        self.server.kill().unwrap();
        self.server.resume().unwrap();
    }

    /// The same server by this name, with these words in the URL.
    fn url(&self, host: &str, words: &str) -> String {
        format!("{}{words}", self.server.url().replace("127.0.0.1", host))
    }

    /// A sync into the store of this URL.
    fn sync(&self, url: &str, variables: &[(&str, &str)]) -> Answer {
        let mut command = self.sandbox.command(&["--store", url, "sync", "root", "--json", "--to", "null"]);
        command.env("HOME", self.sandbox.path());
        for name in ["PGPASSWORD", "PGPASSFILE", "PGSSLMODE", "PGSSLROOTCERT", "PGSSLCERT", "PGSSLKEY"] {
            command.env_remove(name);
        }
        command.envs(variables.iter().copied());
        finish(command, None)
    }
}

#[test]
fn a_password_comes_from_where_nobody_sees_it() {
    let mut trial = Trial::make();
    let mut client = postgres::Client::connect(&trial.server.url(), postgres::NoTls).unwrap();
    client.batch_execute(&format!("ALTER ROLE ingather PASSWORD '{PASSWORD}'")).unwrap();
    drop(client);
    trial.configure("host all all 127.0.0.1/32 scram-sha-256\n", "");
    let url = trial.url("127.0.0.1", "");
    trial.sync(&url, &[]).refuses(3, &["wants a password", "PGPASSWORD", "~/.pgpass"]);
    trial.sync(&url, &[("PGPASSWORD", PASSWORD)]).exits(0);
    let wrong = trial.sync(&url, &[("PGPASSWORD", "TOPSECRET wrong")]).exits(3);
    assert!(
        wrong.err.contains("password authentication failed") && !wrong.err.contains("TOPSECRET"),
        "{wrong:?}"
    );
    // As it is written in such a file: the colon and the backslash have a meaning there.
    let file = trial.sandbox.path().join("secret");
    std::fs::write(&file, "127.0.0.1:*:postgres:ingather:TOPSECRET\\:\\\\word\n").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    let path = file.to_str().unwrap();
    trial.sync(&url, &[("PGPASSFILE", path)]).exits(0);
    trial.sync(&trial.url("127.0.0.1", &format!("?passfile={path}")), &[]).exits(0);
    std::fs::copy(&file, trial.sandbox.path().join(".pgpass")).unwrap();
    trial.sync(&url, &[]).exits(0);
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    trial.sync(&url, &[("PGPASSFILE", path)]).refuses(3, &["may be read by others", "chmod 600"]);
    // On the command line it works, and everybody can read it there.
    let shown = url.replace("ingather@", "ingather:TOPSECRET%3A%5Cword@");
    let answer = trial.sync(&shown, &[]).exits(0);
    assert!(answer.err.contains("ps") && answer.err.contains("PGPASSWORD"), "{answer:?}");
    assert!(!answer.err.contains("TOPSECRET"), "{answer:?}");
}

impl Certificates {
    /// Puts what a server needs where it may read it, and nobody else.
    fn install(&self, data: &Path) {
        let owner = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(data).unwrap());
        for (name, there) in
            [("server.pem", "server.crt"), ("server.key", "server.key"), ("root.pem", "root.crt")]
        {
            let there = data.join(there);
            std::fs::copy(self.0.join(name), &there).unwrap();
            std::fs::set_permissions(&there, PermissionsExt::from_mode(0o600)).unwrap();
            std::os::unix::fs::chown(&there, Some(owner), None).unwrap();
        }
    }
}

#[test]
fn tls_is_used_and_checked_as_it_was_asked_for() {
    let mut trial = Trial::make();
    let own = Certificates::make(&trial.sandbox.path().join("certificates"));
    // Without TLS a demand for it is refused, and what only prefers it goes on.
    let words = "?sslmode=require";
    trial.sync(&trial.url("127.0.0.1", words), &[]).refuses(3, &["server does not support TLS"]);
    trial.sync(&trial.url("127.0.0.1", ""), &[]).exits(0);
    own.install(&trial.server.data);
    trial.configure(
        "hostssl all all 127.0.0.1/32 trust\nhostssl all all ::1/128 trust\n",
        "ssl = on\nssl_ca_file = 'root.crt'\nlisten_addresses = '127.0.0.1'\n",
    );
    let (root, stranger) = (own.path("root.pem"), own.path("stranger.pem"));
    trial.sync(&trial.url("127.0.0.1", "?sslmode=disable"), &[]).refuses(3, &["no encryption"]);
    trial.sync(&trial.url("127.0.0.1", ""), &[]).exits(0);
    trial.sync(&trial.url("127.0.0.1", words), &[]).exits(0);
    for (host, mode, roots, code) in [
        ("127.0.0.1", "verify-ca", &root, 0),
        ("127.0.0.1", "verify-ca", &stranger, 3),
        ("127.0.0.1", "require", &stranger, 3),
        ("127.0.0.1", "verify-full", &root, 3),
        ("localhost", "verify-full", &root, 0),
        ("localhost", "verify-full", &stranger, 3),
    ] {
        let url = trial.url(host, &format!("?sslmode={mode}&sslrootcert={roots}"));
        let answer = trial.sync(&url, &[]).exits(code);
        assert!(code == 0 || answer.err.contains("certificate"), "{mode} as {host}: {answer:?}");
    }
    let by_variables = [("PGSSLMODE", "verify-full"), ("PGSSLROOTCERT", root.as_str())];
    trial.sync(&trial.url("localhost", ""), &by_variables).exits(0);
    // A server that asks who we are.
    trial.configure("hostssl all all 127.0.0.1/32 cert\nhostssl all all ::1/128 cert\n", "");
    trial.sync(&trial.url("127.0.0.1", words), &[]).exits(3);
    let (certificate, key) = (own.path("client.pem"), own.path("client.key"));
    let words = format!("?sslmode=verify-ca&sslrootcert={root}&sslcert={certificate}");
    trial.sync(&trial.url("127.0.0.1", &words), &[]).refuses(3, &["sslkey"]);
    trial.sync(&trial.url("127.0.0.1", &format!("{words}&sslkey={key}")), &[]).exits(0);
}
