//! A PostgreSQL of a test's own, with TLS by a root of its own, whose rules for logging in a test may change; it goes away with its value.

use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};

use super::certify;

#[path = "../../../app/src/selftest/server.rs"]
mod server;

/// A server that answers.
pub struct Postgres {
    folder: tempfile::TempDir,
    server: server::Server,
}

impl Postgres {
    /// A server with TLS, whose certificate is for `localhost` and for no address of this machine, and with these rules for logging in
    /// (`pg_hba.conf`), once `script` has run.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start(script: &str, rules: &str) -> Postgres {
        let folder = tempfile::tempdir().expect("tests need a temporary folder");
        // The server is another user, where this is root.
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).expect("it is ours");
        certify(folder.path(), "192.0.2.1");
        let server = server::Server::start(&folder.path().join("server"), &mut fastrand::Rng::new());
        let server =
            server.unwrap_or_else(|error| panic!("{error}; scripts/install.sh installs what tests need"));
        let mut made = Postgres { folder, server };
        made.script(script);
        made.stop();
        made.configure(rules);
        made.go_on();
        made
    }

    /// Writes its rules, and lets it use its certificate.
    fn configure(&self, rules: &str) {
        let data = &self.server.data;
        let owner = std::fs::metadata(data).expect("it has a folder").uid();
        for name in ["server.pem", "server.key"] {
            let there = data.join(name);
            std::fs::copy(self.folder.path().join(name), &there).expect("its folder takes a file");
            std::fs::set_permissions(&there, PermissionsExt::from_mode(0o600)).expect("it is ours");
            chown(&there, Some(owner), None).expect("it is ours");
        }
        std::fs::write(data.join("pg_hba.conf"), rules).expect("its folder takes a file");
        let settings = "ssl = on\nssl_cert_file = 'server.pem'\nssl_key_file = 'server.key'\nfsync = off\n";
        let file = std::fs::File::options().append(true).open(data.join("postgresql.conf"));
        file.and_then(|mut file| file.write_all(settings.as_bytes())).expect("it has settings");
    }

    /// Starts it again with what it held.
    ///
    /// # Panics
    /// When it does not start.
    pub fn go_on(&mut self) {
        self.server.resume().expect("a server that ran runs again");
    }

    /// Ends it, as a crash would.
    ///
    /// # Panics
    /// When it does not end.
    pub fn stop(&mut self) {
        self.server.kill().expect("a server can be ended");
    }

    /// Lets all of its processes stand still, or go on.
    ///
    /// # Panics
    /// When that cannot be done.
    pub fn holds_still(&self, still: bool) {
        let lock = std::fs::read_to_string(self.server.data.join("postmaster.pid")).expect("it runs");
        let first: i32 =
            lock.lines().next().and_then(|line| line.parse().ok()).expect("its first line is a number");
        let list = std::fs::read_to_string(format!("/proc/{first}/task/{first}/children")).expect("it runs");
        let others = list.split_whitespace().filter_map(|pid| pid.parse().ok());
        for pid in std::iter::once(first).chain(others).filter_map(Pid::from_raw) {
            // One that it has begun for a moment may have ended.
            let _ = kill_process(pid, if still { Signal::STOP } else { Signal::CONT });
        }
    }

    /// Runs a script over it, as its administrator without TLS.
    ///
    /// # Panics
    /// When it refuses that.
    pub fn script(&self, text: &str) {
        let url = self.url("127.0.0.1", "ingather");
        let mut client = postgres::Client::connect(&url, postgres::NoTls).expect("its rules let us in");
        client.batch_execute(text).expect("the script runs");
    }

    /// Its address for a role, by this name of the machine.
    pub fn url(&self, host: &str, role: &str) -> String {
        self.server.url().replace("ingather@127.0.0.1", &format!("{role}@{host}"))
    }

    /// The root that its certificate is by.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("root.pem")
    }

    /// A root of somebody else, by the same name.
    ///
    /// # Panics
    /// When none can be made.
    pub fn other_root(&self) -> PathBuf {
        let folder = self.folder.path().join("other");
        std::fs::create_dir(&folder).expect("a temporary folder takes a folder");
        certify(&folder, "192.0.2.1");
        folder.join("root.pem")
    }
}
