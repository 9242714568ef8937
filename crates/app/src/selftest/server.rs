//! A PostgreSQL of the test's own, which may be killed.

use std::fs::Permissions;
use std::io::{Error, Result};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Longest wait for the server to start, or for its processes to end.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// Pause between two looks.
const LOOK: Duration = Duration::from_millis(5);
/// Ports that are tried; another program may have taken one.
const PORTS_TRIED: usize = 20;

/// The server. It ends with this process, and with this.
pub(super) struct Server {
    programs: PathBuf,
    /// Its own folder.
    pub(super) data: PathBuf,
    log: PathBuf,
    port: u16,
    running: Option<Child>,
}

impl Server {
    /// Makes a cluster in `folder` and starts it.
    ///
    /// # Errors
    /// A sentence that says what is missing.
    pub(super) fn start(folder: &Path, ports: &mut fastrand::Rng) -> Result<Server> {
        let programs = programs()?;
        std::fs::create_dir(folder)?;
        if let Some((user, group)) = user()? {
            std::os::unix::fs::chown(folder, Some(user), Some(group))?;
        }
        let data = folder.join("data");
        let mut server = Server { programs, log: folder.join("log"), data, port: 0, running: None };
        std::fs::write(&server.log, "")?;
        std::fs::set_permissions(&server.log, Permissions::from_mode(0o666))?;
        let made = server
            .command("initdb")?
            .arg("-D")
            .arg(&server.data)
            .args(["-U", "ingather", "-A", "trust", "--locale=C", "-E", "UTF8"])
            .output()?;
        if !made.status.success() {
            return Err(Error::other(format!("initdb: {}", String::from_utf8_lossy(&made.stderr).trim())));
        }
        for _ in 0..PORTS_TRIED {
            server.port = ports.u16(20_000..32_000);
            if server.resume().is_ok() {
                return Ok(server);
            }
        }
        let said = std::fs::read_to_string(&server.log).unwrap_or_default();
        Err(Error::other(format!("PostgreSQL does not start: {}", said.lines().last().unwrap_or_default())))
    }

    /// What `--store` takes.
    pub(super) fn url(&self) -> String {
        format!("postgres://ingather@127.0.0.1:{}/postgres", self.port)
    }

    /// A program of the server's, run as somebody whom it accepts, and ended with this process.
    fn command(&self, program: &str) -> Result<Command> {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(self.programs.join(program));
        if let Some((user, group)) = user()? {
            command.uid(user).gid(group);
        }
        command.current_dir("/").stdin(Stdio::null());
        Ok(command)
    }

    /// Starts the server where it does not run, and waits until it takes connections.
    ///
    /// # Errors
    /// When it ends, or takes none in time.
    pub(super) fn resume(&mut self) -> Result<()> {
        if let Some(running) = &mut self.running
            && running.try_wait()?.is_none()
        {
            return Ok(());
        }
        let log = std::fs::File::options().append(true).open(&self.log)?;
        let port = self.port.to_string();
        let mut command = self.command("postgres")?;
        command.arg("-D").arg(&self.data).args(["-p", &port, "-c", "listen_addresses=127.0.0.1"]);
        command.args(["-c", "unix_socket_directories=", "-c", "max_connections=50"]);
        let mut child = command.stdout(log.try_clone()?).stderr(log).spawn()?;
        let until = Instant::now() + WAIT_MAX;
        while Instant::now() < until {
            if let Some(status) = child.try_wait()? {
                return Err(Error::other(format!("PostgreSQL ended at once: {status}")));
            }
            let lock = std::fs::read_to_string(self.data.join("postmaster.pid")).unwrap_or_default();
            let mut lines = lock.lines();
            let ours = lines.next().and_then(|line| line.parse().ok()) == Some(child.id());
            if ours && lines.any(|line| line.trim() == "ready") {
                self.running = Some(child);
                return Ok(());
            }
            std::thread::park_timeout(LOOK);
        }
        let _ = child.kill();
        let _ = child.wait();
        Err(Error::other("PostgreSQL takes no connections"))
    }

    /// Kills all its processes, as a power cut would.
    ///
    /// # Errors
    /// When they do not end.
    pub(super) fn kill(&mut self) -> Result<()> {
        let Some(mut running) = self.running.take() else { return Ok(()) };
        let list = format!("/proc/{0}/task/{0}/children", running.id());
        let children: Vec<i32> = std::fs::read_to_string(list)
            .unwrap_or_default()
            .split_whitespace()
            .filter_map(|pid| pid.parse().ok())
            .collect();
        running.kill()?;
        running.wait()?;
        for pid in children.iter().filter_map(|pid| Pid::from_raw(*pid)) {
            // It may have ended with the one above it.
            let _ = kill_process(pid, Signal::KILL);
        }
        let until = Instant::now() + WAIT_MAX;
        while children.iter().any(|pid| Path::new(&format!("/proc/{pid}")).exists()) {
            if Instant::now() > until {
                return Err(Error::other("processes of PostgreSQL do not end"));
            }
            std::thread::park_timeout(LOOK);
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// Whom the server runs as, where this process is root: it refuses root.
fn user() -> Result<Option<(u32, u32)>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let list = std::fs::read_to_string("/etc/passwd")?;
    let of = |wanted: &str| {
        let line = list.lines().find(|line| line.split(':').next() == Some(wanted))?;
        let mut numbers = line.split(':').skip(2).map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    };
    let found = of("postgres").or_else(|| of("nobody"));
    found
        .map(Some)
        .ok_or_else(|| Error::other("PostgreSQL refuses root, and there is no user postgres or nobody"))
}

/// The folder of the newest server programs.
fn programs() -> Result<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    folders.sort_by(|a, b| b.cmp(a));
    folders.extend(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
    let whole = |folder: &PathBuf| folder.join("initdb").is_file() && folder.join("postgres").is_file();
    folders.into_iter().find(whole).ok_or_else(|| {
        Error::other(
            "there is no PostgreSQL server on this machine; install one (Debian: apt-get install postgresql), or leave \
             --postgres out",
        )
    })
}
