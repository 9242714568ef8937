//! The service under a service manager.

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::sandbox::Sandbox;

/// The unit of the package.
const UNIT: &str = include_str!("../../../../../../packaging/ingather.service");

#[test]
fn a_service_manager_is_told_that_it_is_ready_alive_and_ending() {
    let sandbox = Sandbox::sqlite();
    let path = sandbox.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(150))).unwrap();
    let mut child = sandbox
        .command(&["serve", "--listen", "127.0.0.1:0"])
        .env("NOTIFY_SOCKET", &path)
        .env("WATCHDOG_USEC", "100000")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let told = || {
        let mut some = [0_u8; 64];
        let length = manager.recv(&mut some).unwrap();
        String::from_utf8(some[..length].to_vec()).unwrap()
    };
    assert_eq!(told(), "READY=1");
    assert_eq!([told(), told()], ["WATCHDOG=1", "WATCHDOG=1"]);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    while told() != "STOPPING=1" {}
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[test]
fn the_unit_is_one_that_systemd_takes_and_its_command_is_one_that_the_program_takes() {
    let sandbox = Sandbox::sqlite();
    let program = sandbox.command(&[]).get_program().to_str().unwrap().to_owned();
    assert!(Path::new(&program).is_absolute(), "{program}");
    let unit = sandbox.path().join("ingather.service");
    std::fs::write(&unit, UNIT.replace("/usr/bin/ingather", &program)).unwrap();
    let line = |name: &str| {
        UNIT.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name}"))
    };
    // Whatever it is told beside its places, it knows.
    let words: Vec<&str> = line("ExecStart=/usr/bin/ingather ").split(' ').chain(["--help"]).collect();
    let known = sandbox.plain(&words).output().unwrap();
    assert!(known.status.success(), "{known:?}");
    assert_eq!(line("SuccessExitStatus="), "143");
    assert_eq!(line("AmbientCapabilities="), line("CapabilityBoundingSet="));
    // Where there is no systemd, nobody starts the unit either.
    if let Ok(verified) = Command::new("systemd-analyze").arg("verify").arg(&unit).output() {
        let said = String::from_utf8_lossy(&verified.stderr);
        assert!(verified.status.success() && !said.contains("ingather.service"), "{said}");
    }
}
