//! Directories, databases and providers of other people that tests ask, and what they need: their tools, and certificates.

pub mod nats;
pub mod postgres;
pub mod provider;
pub mod samba;
pub mod search_engine;
pub mod slapd;

use std::path::Path;
use std::process::Command;

/// Runs a program to its end, and gives what it said.
///
/// # Panics
/// When it cannot be run, or fails.
fn run(command: &mut Command) -> String {
    let done = command.output().unwrap_or_else(|error| {
        panic!("{command:?} cannot be run: {error}; scripts/install.sh installs what tests need")
    });
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{command:?}: {out}{err}");
    out.into_owned()
}

/// A port that nobody listens at. Those that the system gives out are refused: while the server is away, any connection of another test may be
/// given them.
fn free_port() -> u16 {
    let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    (0..1_000).map(|_| fastrand::u16(20_000..32_000)).find(is_free).expect("loopback has free ports")
}

/// A root, and a certificate by it for a server at an address of this machine: `root.pem`, `server.pem`, `server.key`.
fn certify(folder: &Path, address: &str) {
    let openssl =
        |arguments: &str| run(Command::new("openssl").args(arguments.split(' ')).current_dir(folder));
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(&format!("req -x509 {key} -days 2 -subj /CN=root -keyout root.key -out root.pem"));
    openssl(&format!("req {key} -subj /CN=server -keyout server.key -out server.csr"));
    let extensions = format!("subjectAltName=IP:{address},DNS:localhost\nbasicConstraints=CA:FALSE\n");
    std::fs::write(folder.join("extensions"), extensions).expect("a temporary folder takes a file");
    openssl(
        "x509 -req -days 2 -in server.csr -CA root.pem -CAkey root.key -CAcreateserial -extfile extensions -out server.pem",
    );
}
