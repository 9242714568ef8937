//! A directory of OpenLDAP on loopback, filled from LDIF, with TLS by a root of its own; it goes away with its value.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::{certify, free_port, run};

/// What everything in it is below.
pub const SUFFIX: &str = "dc=example,dc=org";
/// Who may see and do anything.
pub const ADMIN: &str = "cn=admin,dc=example,dc=org";
/// Their password.
pub const PASSWORD: &str = "narrow-gauge-7";

/// A server that answers.
pub struct Slapd {
    folder: tempfile::TempDir,
    ports: [u16; 2],
    child: Option<Child>,
}

fn configuration(folder: &Path, more: &str) -> String {
    let place = folder.display();
    let schemas: String = ["core", "cosine", "inetorgperson", "nis"]
        .map(|name| format!("include /etc/ldap/schema/{name}.schema\n"))
        .concat();
    format!(
        "{schemas}modulepath /usr/lib/ldap\nmoduleload back_mdb\nmoduleload memberof\nmoduleload refint\n\
         pidfile {place}/pid\nTLSCACertificateFile {place}/root.pem\nTLSCertificateFile {place}/server.pem\n\
         TLSCertificateKeyFile {place}/server.key\n{more}\n\
         database mdb\nsuffix \"{SUFFIX}\"\nrootdn \"{ADMIN}\"\nrootpw {PASSWORD}\ndirectory {place}/data\n\
         maxsize 104857600\ndbnosync\nindex objectClass,uid,cn,member,uniqueMember,memberUid eq\n\
         overlay memberof\nmemberof-group-oc groupOfNames\nmemberof-refint TRUE\n"
    )
}

fn free_ports() -> [u16; 2] {
    let first = free_port();
    let other = std::iter::repeat_with(free_port).find(|other| *other != first);
    [first, other.expect("there is always another one")]
}

impl Slapd {
    /// A directory with what `ldif` holds below [`SUFFIX`], and `more` lines before its database is defined.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start(ldif: &str, more: &str) -> Slapd {
        let folder = tempfile::tempdir().expect("tests need a temporary folder");
        certify(folder.path(), "127.0.0.1");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("a temporary folder takes a file");
            path
        };
        std::fs::create_dir(folder.path().join("data")).expect("a temporary folder takes a folder");
        let file = write("slapd.conf", &configuration(folder.path(), more));
        let head = format!(
            "dn: {SUFFIX}\nobjectClass: dcObject\nobjectClass: organization\no: Example\ndc: example\n\n"
        );
        let ldif = write("content.ldif", &format!("{head}{ldif}"));
        run(Command::new("/usr/sbin/slapadd").arg("-q").arg("-f").arg(file).arg("-l").arg(ldif));
        let mut server = Slapd { folder, ports: free_ports(), child: None };
        server.go_on();
        server
    }

    /// Starts it again with what it held.
    ///
    /// # Panics
    /// When it does not start.
    pub fn go_on(&mut self) {
        self.stop();
        let listeners = format!("{} {}", self.url(), self.secure_url());
        let mut child = Command::new("/usr/sbin/slapd")
            .args(["-d", "none", "-h", &listeners, "-f"])
            .arg(self.folder.path().join("slapd.conf"))
            .stderr(Stdio::piped())
            .spawn()
            .expect("scripts/install.sh installs slapd");
        let said = child.stderr.take().expect("it is piped");
        self.child = Some(child);
        let (started, start) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(said).lines().map_while(Result::ok) {
                // Nobody listens after the start.
                let _ = started.send(line);
            }
        });
        let mut lines = Vec::new();
        while !lines.last().is_some_and(|line: &String| line.contains("slapd starting")) {
            match start.recv_timeout(Duration::from_secs(60)) {
                Ok(line) => lines.push(line),
                Err(_) => panic!("slapd does not start: {}", lines.join("\n")),
            }
        }
        // It says so shortly before it listens.
        for _ in 0..1_000 {
            if self.ports.iter().all(|port| TcpStream::connect(("127.0.0.1", *port)).is_ok()) {
                return;
            }
            lines.extend(start.recv_timeout(Duration::from_millis(10)));
        }
        panic!("slapd does not listen: {}", lines.join("\n"));
    }

    /// Ends it, as a crash would.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Where it is without TLS.
    pub fn url(&self) -> String {
        format!("ldap://127.0.0.1:{}", self.ports[0])
    }

    /// Where it is with TLS.
    pub fn secure_url(&self) -> String {
        format!("ldaps://127.0.0.1:{}", self.ports[1])
    }

    /// Its port without TLS.
    pub fn port(&self) -> u16 {
        self.ports[0]
    }

    /// The root that its certificate is by.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("root.pem")
    }

    /// What `ldapsearch` finds below its suffix, as LDIF without line breaks in values.
    ///
    /// # Panics
    /// When the search fails.
    pub fn found(&self, filter: &str, attributes: &[&str]) -> String {
        let options = ["-x", "-LLL", "-o", "ldif-wrap=no", "-D", ADMIN, "-w", PASSWORD, "-b", SUFFIX, "-H"];
        run(Command::new("ldapsearch").args(options).arg(self.url()).arg(filter).args(attributes))
    }

    /// Changes it by lines of LDIF.
    ///
    /// # Panics
    /// When it refuses them.
    pub fn change(&self, ldif: &str) {
        let file = self.folder.path().join("change.ldif");
        std::fs::write(&file, ldif).expect("a temporary folder takes a file");
        let options = ["-x", "-D", ADMIN, "-w", PASSWORD, "-H"];
        run(Command::new("ldapmodify").args(options).arg(self.url()).arg("-f").arg(file));
    }
}

impl Drop for Slapd {
    fn drop(&mut self) {
        self.stop();
    }
}
