//! A domain of Active Directory by Samba, at a loopback address of its own, with TLS by a root of its own; it goes away with its value, and
//! with the process. It needs `needs!(Machine)`: its ports cannot be chosen, and are root's.

use std::io::{BufRead, BufReader, PipeWriter, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use super::{certify, run};

/// The entry of the domain.
pub const DOMAIN: &str = "DC=t,DC=test";
/// Who may see and do anything.
pub const ADMIN: &str = "administrator@t.test";
/// Their password, and that of whoever is added with [`secret`].
pub const PASSWORD: &str = "Narrow-gauge.7";

const PORTS: [u16; 2] = [389, 636];
/// Removes a folder at the end of its input, which both the process that started it and the server hold: a test that ends by a signal, and
/// what tests share, remove nothing. The server ends with its own input, which that process holds alone.
const GUARD: &str = r#"cat >/dev/null; rm -rf "$1""#;

/// A server that answers.
pub struct Samba {
    folder: tempfile::TempDir,
    address: Ipv4Addr,
    child: Option<Child>,
    guard: Child,
    /// The other end of the guard's input.
    held: PipeWriter,
}

/// An address of this machine at which nobody serves a directory. Another run may take the same one at the same moment once in some
/// thousands of millions.
fn free_address() -> Ipv4Addr {
    let is_free = |address: &Ipv4Addr| PORTS.iter().all(|port| TcpListener::bind((*address, *port)).is_ok());
    (0..1_000)
        .map(|_| Ipv4Addr::new(127, fastrand::u8(64..128), fastrand::u8(..), fastrand::u8(1..255)))
        .find(is_free)
        .expect("root may listen at some loopback address")
}

/// A password as the attribute `unicodePwd` takes it, as a line of LDIF.
pub fn secret() -> String {
    let bytes: Vec<u8> = format!("\"{PASSWORD}\"").encode_utf16().flat_map(u16::to_le_bytes).collect();
    format!("unicodePwd:: {}\n", base64(&bytes))
}

/// Bytes in the spelling of LDIF.
pub fn base64(bytes: &[u8]) -> String {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut coded = String::new();
    for three in bytes.chunks(3) {
        let all =
            three.iter().chain([&0, &0]).take(3).fold(0_usize, |all, byte| all << 8 | usize::from(*byte));
        for at in 0..4 {
            let digit = char::from(digits[all >> (18 - 6 * at) & 0x3f]);
            coded.push(if at > three.len() { '=' } else { digit });
        }
    }
    coded
}

impl Samba {
    /// A domain `T` (`t.test`) with nobody in it but whom each domain has.
    ///
    /// # Panics
    /// When it cannot be made or started.
    pub fn start() -> Samba {
        let folder = tempfile::tempdir().expect("tests need a temporary folder");
        let address = free_address();
        certify(folder.path(), &address.to_string());
        // Without a file of its own it would take over what the machine is configured for.
        let empty = folder.path().join("empty.conf");
        std::fs::write(&empty, "[global]\n").expect("a temporary folder takes a file");
        let (input, held) = std::io::pipe().expect("a process may have a pipe");
        let mut guard = Command::new("sh");
        guard.args(["-c", GUARD, "sh"]).arg(folder.path()).stdin(input).process_group(0);
        let guard = guard.spawn().expect("a machine has a shell");
        let mut server = Samba { folder, address, child: None, guard, held };
        let mut provision = Command::new("samba-tool");
        provision.args(["domain", "provision", "--realm=T.TEST", "--domain=T", "--server-role=dc"]);
        provision.args(["--dns-backend=NONE", "--host-name=dc1", &format!("--host-ip={address}")]);
        provision.args([format!("--adminpass={PASSWORD}"), format!("--configfile={}", empty.display())]);
        provision.arg(format!("--targetdir={}", server.path("dc").display())).args(server.options());
        run(&mut provision);
        server.go_on();
        server
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// All that keeps it to its address and its folder, and to the one service that is asked.
    fn options(&self) -> Vec<String> {
        let path = |name: &str| self.path(name).display().to_string();
        let options = [
            ("interfaces", format!("{}/8", self.address)),
            ("bind interfaces only", "yes".to_owned()),
            ("server services", "ldap".to_owned()),
            ("ldap server require strong auth", "no".to_owned()),
            ("tls enabled", "yes".to_owned()),
            ("tls keyfile", path("server.key")),
            ("tls certfile", path("server.pem")),
            ("tls cafile", path("root.pem")),
            ("pid directory", path("dc")),
            ("ncalrpc dir", path("dc/ncalrpc")),
            ("ntp signd socket directory", path("dc/ntp")),
        ];
        options.map(|(name, value)| format!("--option={name}={value}")).to_vec()
    }

    /// Starts it again with what it held.
    ///
    /// # Panics
    /// When it does not start.
    pub fn go_on(&mut self) {
        self.stop();
        let mut child = Command::new("samba")
            .args(["--interactive", "--model=single", "--debug-stdout", "--debuglevel=1", "-s"])
            .arg(self.path("dc/etc/smb.conf"))
            .args(self.options())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(self.held.try_clone().expect("a pipe has another end"))
            .spawn()
            .expect("scripts/install.sh installs samba");
        let said = child.stdout.take().expect("it is piped");
        self.child = Some(child);
        let (started, start) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(said).lines().map_while(Result::ok) {
                // Nobody listens after the start.
                let _ = started.send(line);
            }
        });
        let mut lines = Vec::new();
        for _ in 0..3_000 {
            if PORTS.iter().all(|port| TcpStream::connect((self.address, *port)).is_ok()) {
                return;
            }
            match start.recv_timeout(Duration::from_millis(20)) {
                Ok(line) => lines.push(line),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
        }
        panic!("samba does not start: {}", lines.join("\n"));
    }

    /// Ends it, as a crash would.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself.
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            let _ = child.wait();
        }
    }

    /// Where it is without TLS.
    pub fn url(&self) -> String {
        format!("ldap://{}", self.address)
    }

    /// Where it is with TLS.
    pub fn secure_url(&self) -> String {
        format!("ldaps://{}", self.address)
    }

    /// Its address.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// The root that its certificate is by.
    pub fn root(&self) -> PathBuf {
        self.path("root.pem")
    }

    /// Changes it by lines of LDIF, which may add.
    ///
    /// # Panics
    /// When it refuses them.
    pub fn change(&self, ldif: &str) {
        let file = self.lines(ldif);
        // Passwords are taken over TLS alone.
        let mut command = Command::new("ldapmodify");
        command.env("LDAPTLS_REQCERT", "never").args(["-x", "-D", ADMIN, "-w", PASSWORD, "-H"]);
        run(command.arg(self.secure_url()).arg("-f").arg(file.path()));
    }

    /// What `ldapsearch` finds at one entry for somebody who logs in with [`PASSWORD`], as LDIF without line breaks in values.
    ///
    /// # Panics
    /// When the search fails.
    pub fn seen_by(&self, who: &str, base: &str, attributes: &[&str]) -> String {
        let options = ["-x", "-LLL", "-o", "ldif-wrap=no", "-w", PASSWORD, "-s", "base"];
        let mut command = Command::new("ldapsearch");
        command.args(options).args(["-D", who, "-b", base, "-H"]).arg(self.url());
        run(command.arg("(objectClass=*)").args(attributes))
    }

    /// What `ldbsearch`, one of Samba's own tools, reads below (`sub`) or at (`base`) an entry, out of the files of the server. It shows
    /// security identifiers as text.
    ///
    /// # Panics
    /// When the search fails.
    pub fn read(&self, base: &str, scope: &str, filter: &str, attributes: &[&str]) -> String {
        let mut command = Command::new("ldbsearch");
        command.arg("-s").arg(scope).args(["-b", base, "-H"]).arg(self.database());
        let conf = format!("--configfile={}", self.path("dc/etc/smb.conf").display());
        run(command.arg(conf).arg(filter).args(attributes))
    }

    /// Changes its files by lines of LDIF, beside the server, and with what only the system itself may write.
    ///
    /// # Panics
    /// When these are refused.
    pub fn write(&self, ldif: &str) {
        let file = self.lines(ldif);
        let mut command = Command::new("ldbmodify");
        command.args(["--controls=relax:0", "--controls=local_oid:1.3.6.1.4.1.7165.4.3.16:0", "-H"]);
        command.arg(self.database());
        let conf = format!("--configfile={}", self.path("dc/etc/smb.conf").display());
        run(command.arg(conf).arg(file.path()));
    }

    fn lines(&self, ldif: &str) -> tempfile::NamedTempFile {
        let mut file =
            tempfile::NamedTempFile::new_in(self.folder.path()).expect("a temporary folder takes a file");
        file.write_all(ldif.as_bytes()).expect("a file takes some lines");
        file
    }

    fn database(&self) -> PathBuf {
        Path::new(&self.path("dc/private")).join("sam.ldb")
    }
}

impl Drop for Samba {
    fn drop(&mut self) {
        self.stop();
        // It may have been ended by somebody else.
        let _ = kill_process_group(Pid::from_child(&self.guard), Signal::KILL);
        let _ = self.guard.wait();
    }
}
