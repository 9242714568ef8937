//! What a service manager is told (`sd_notify` of systemd): that the service is ready, that it is alive, that it ends. The protocol is a
//! datagram to a socket that the manager names; without one nobody is told anything.

use std::ffi::OsString;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// It answers.
pub(crate) const READY: &str = "READY=1";
/// It has begun to end.
pub(crate) const STOPPING: &str = "STOPPING=1";
/// It is alive.
pub(crate) const ALIVE: &str = "WATCHDOG=1";

/// Tells the manager something, where there is one. What it does not take is its own affair.
pub(crate) fn tell(what: &str) {
    let Some(address) = std::env::var_os("NOTIFY_SOCKET").and_then(address) else { return };
    let _told = UnixDatagram::unbound().and_then(|socket| socket.send_to_addr(what.as_bytes(), &address));
}

fn address(name: OsString) -> Option<SocketAddr> {
    match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name).ok(),
        None => SocketAddr::from_pathname(name).ok(),
    }
}

/// How often the manager wants to be told that the service is alive: twice in the time after which it takes it for dead. None where it does
/// not want to be told, or wants it of another process.
pub(crate) fn alive_every() -> Option<Duration> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let is_other = number("WATCHDOG_PID").is_some_and(|pid| pid != u64::from(std::process::id()));
    let time = number("WATCHDOG_USEC").filter(|time| *time > 0 && !is_other)?;
    Some(Duration::from_micros(time / 2).max(Duration::from_millis(1)))
}
