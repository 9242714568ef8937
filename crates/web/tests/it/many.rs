//! Many who ask at the same time, and what that takes.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::server::{Server, client, page, read};

/// As many threads as nothing in the program starts: a job has a few dozen.
const THREADS: usize = 512;
/// Bytes of memory for each of them, client and server in one process, with what their threads touch of their stacks.
const BYTES_EACH_MAX: usize = 256 << 10;

/// Memory that the process has at its most, bytes.
fn most() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// Set where the test runs in a process of its own: others would take memory beside it.
const ALONE: &str = "INGATHER_TEST_ALONE";

#[test]
fn a_slow_server_is_asked_by_512_threads_at_once_in_little_memory() {
    if std::env::var_os(ALONE).is_none() {
        let own = [
            "many::a_slow_server_is_asked_by_512_threads_at_once_in_little_memory",
            "--exact",
            "--nocapture",
        ];
        let program = std::env::current_exe().unwrap();
        let output = std::process::Command::new(program).args(own).env(ALONE, "1").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains("1 passed"),
            "{said}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        return;
    }
    many();
}

fn many() {
    // It answers nobody before all have asked.
    let waiting = Arc::new((Mutex::new(0), Condvar::new()));
    let gate = Arc::clone(&waiting);
    let server = Server::saying(move |head, stream| {
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let (count, all) = (&gate.0, &gate.1);
        let mut asked = count.lock().unwrap();
        *asked += 1;
        if *asked == THREADS {
            all.notify_all();
        }
        let late = Duration::from_secs(15);
        let (asked, _) = all.wait_timeout_while(asked, late, |asked| *asked < THREADS).unwrap();
        drop(asked);
        drop(stream.write_all(page(&path).as_bytes()));
    });
    let client = client();
    let before = most();
    std::thread::scope(|scope| {
        for number in 0..THREADS {
            let (client, url) = (&client, server.url(&format!("/{number}")));
            scope.spawn(move || assert_eq!(read(client, &url).unwrap(), format!("/{number}").as_bytes()));
        }
    });
    assert_eq!(*waiting.0.lock().unwrap(), THREADS);
    let more = most().saturating_sub(before);
    assert!(more < THREADS * BYTES_EACH_MAX, "{} KiB for {THREADS} at once", more >> 10);
}
