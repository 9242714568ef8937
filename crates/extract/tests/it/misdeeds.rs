//! A child that does what no reader should, by the name of the document. The test program starts itself as such.

use std::ffi::OsString;
use std::io::Read;

use rustix::process::{Resource, Rlimit};

use ingather_extract::{Extracted, Input, Pool, Request, Settings, worker};

/// Set for the test program when it is to be a child.
const CHILD: &str = "INGATHER_TEST_CHILD";
/// What it is set to for a child that reads as it should.
const READERS: &str = "readers";

/// Not a test of its own: the pool of the other tests starts this program with this test's name, and in that process it
/// serves documents. In the other process it proves that the mark of the child is not set there.
#[test]
fn the_child_of_the_other_tests() {
    match std::env::var(CHILD) {
        Ok(work) if work == READERS => worker::serve(ingather_extract::extract).unwrap(),
        Ok(_) => worker::serve(misdeed).unwrap(),
        Err(_) => assert!(std::env::args().all(|argument| argument != "--nocapture")),
    }
}

/// A pool of such children.
pub(crate) fn pool(children: usize, documents: u32) -> Pool {
    pool_of("misdeeds", children, documents)
}

/// The same with its scratch files in a folder of its own.
pub(crate) fn pool_in(scratch: &std::path::Path) -> Pool {
    Pool::new(Settings { scratch: scratch.to_owned(), ..settings_of("misdeeds", 1, 100) })
}

/// A pool of children that read as they should.
pub(crate) fn readers(children: usize) -> Pool {
    pool_of(READERS, children, 1_000)
}

fn pool_of(work: &str, children: usize, documents: u32) -> Pool {
    Pool::new(settings_of(work, children, documents))
}

fn settings_of(work: &str, children: usize, documents: u32) -> Settings {
    let arguments: Vec<OsString> =
        ["misdeeds::the_child_of_the_other_tests", "--exact", "--nocapture"].map(OsString::from).to_vec();
    Settings {
        arguments,
        environment: vec![(CHILD.into(), work.into())],
        documents,
        ..Settings::of_this_program(children).unwrap()
    }
}

/// What becomes of a document of that name.
pub(crate) fn extract(pool: &Pool, name: &str) -> Extracted {
    let mut request = Request { name: name.to_owned(), ..Request::default() };
    // Those that never end are not waited for as long.
    request.limits.time_ms = if matches!(name, "loop" | "sleep") { 300 } else { 20_000 };
    pool.extract(&request, &mut b"some words".as_slice()).unwrap()
}

fn misdeed(request: &Request, mut input: Input) -> Extracted {
    let outcome: std::io::Result<String> = match request.name.as_str() {
        "abort" => std::process::abort(),
        "exit" => std::process::exit(7),
        "loop" => loop {
            std::hint::spin_loop();
        },
        "sleep" => {
            // Nobody ever sends: this waits for ever without using the processor.
            let (_sender, receiver) = std::sync::mpsc::channel::<()>();
            receiver.recv().map(|()| String::new()).map_err(std::io::Error::other)
        }
        "memory" => Ok(eat()),
        "stack" => Ok(fall(1).to_string()),
        "panic" => panic!("a mistake"),
        "fork" => std::process::Command::new("/bin/true").spawn().map(|_| "forked".to_owned()),
        "thread" => std::thread::Builder::new().spawn(|| ()).map(|_| "threaded".to_owned()),
        "tcp" => std::net::TcpListener::bind("127.0.0.1:0").map(|_| "listens".to_owned()),
        "udp" => std::net::UdpSocket::bind("127.0.0.1:0").map(|_| "sends".to_owned()),
        "unix" => std::os::unix::net::UnixStream::pair().map(|_| "talks".to_owned()),
        "read" => std::fs::read("/proc/self/status").map(|_| "read".to_owned()),
        "write" => {
            std::fs::write(std::env::temp_dir().join("ingather-misdeed"), b"x").map(|()| "wrote".to_owned())
        }
        "remove" => std::fs::remove_file("/tmp/ingather-nothing").map(|()| "removed".to_owned()),
        "list" => std::fs::read_dir("/").map(|_| "listed".to_owned()),
        "kill" => kill().map(|()| "killed".to_owned()),
        // What can be closed was open; its own few lie below.
        "handles" => Ok(format!("{} open", (20..256).filter(|fd| nix::unistd::close(*fd).is_ok()).count())),
        "raise memory" => limit(Resource::As, None),
        "raise files" => limit(Resource::Nofile, Some(1_000)),
        "raise time" => limit(Resource::Cpu, None),
        "lower memory" => limit(Resource::As, Some(1 << 20)),
        "long" => Ok("x".repeat(48 << 20)),
        _ => {
            let mut text = String::new();
            input.read_to_string(&mut text).map(|_| text)
        }
    };
    let (text, reason) = match outcome {
        Ok(text) => (text, None),
        Err(error) => (String::new(), Some(format!("{:?}", error.kind()))),
    };
    Extracted { text, reason, name: std::process::id().to_string(), ..Extracted::default() }
}

/// Sets one of its own limits.
fn limit(resource: Resource, most: Option<u64>) -> std::io::Result<String> {
    rustix::process::setrlimit(resource, Rlimit { current: most, maximum: most })?;
    Ok("set".to_owned())
}

/// Asks whether another process may be sent signals, without harm when it may.
fn kill() -> std::io::Result<()> {
    Ok(rustix::process::test_kill_process(rustix::process::Pid::INIT)?)
}

/// Takes memory until there is none.
fn eat() -> String {
    let mut all = Vec::new();
    loop {
        all.push(vec![1u8; 16 << 20]);
        if all.len() > 1_000 {
            return format!("ate {}", all.len());
        }
    }
}

/// Calls itself until the stack is used up.
fn fall(depth: u64) -> u64 {
    let room = std::hint::black_box([depth; 512]);
    if depth == u64::MAX { 0 } else { fall(depth + 1) + room[(depth % 512) as usize] }
}
