//! Words in pictures: a `tesseract` program reads them, in a process that may read programs and their data, write nothing,
//! reach nobody, and use a bounded share of memory and time.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use ingather_model::limits;
use landlock::{ABI, AccessFs, RulesetCreatedAttr, RulesetStatus, path_beneath_rules};
use rustix::process::{Resource, Rlimit};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

use crate::cipher::Hash;
use crate::isolation::confine;

/// The word after the program's name by which it becomes the one that reads pictures.
pub const COMMAND: &str = "picture-worker";
/// The option by which it refuses to be held by a part of the rules only.
pub const STRICT: &str = "--require-sandbox";
/// What may be read: programs, libraries, and the data of languages.
const READABLE: &[&str] = &["/usr", "/lib", "/lib64", "/bin", "/opt", "/etc/ld.so.cache", "/etc/ld.so.conf"];
/// Bytes of what the program says when it fails.
const COMPLAINT_BYTES_MAX: u64 = 4 << 10;

/// What is seen in a picture: its words, or why there are none to be had.
pub type Seen = Result<String, String>;
/// Looks at one picture of a document after the other. An error ends the reading of the document.
pub type Look<'l> = dyn FnMut(&[u8]) -> io::Result<Seen> + 'l;

/// Media types of pictures that are looked at.
pub const MEDIA: &[&str] = &["image/png", "image/jpeg", "image/tiff", "image/bmp", "image/gif", "image/webp"];
/// Words of a picture that are remembered in case that it comes again, bytes: a mark on each page has a few.
const REMEMBERED_BYTES_MAX: usize = 1 << 10;

/// How the pictures of one document are looked at: so many of them, for so long, and each once.
pub struct Sight<'s> {
    look: &'s dyn Fn(&[u8]) -> Seen,
    /// Whether nobody wants to know any more.
    stopped: &'s dyn Fn() -> bool,
    left: usize,
    spent: Duration,
    known: HashMap<Vec<u8>, Seen>,
}

impl<'s> Sight<'s> {
    /// Nothing was seen yet.
    pub fn new(look: &'s dyn Fn(&[u8]) -> Seen, stopped: &'s dyn Fn() -> bool) -> Self {
        Self { look, stopped, left: limits::PICTURES_MAX, spent: Duration::ZERO, known: HashMap::new() }
    }

    /// What is seen in a picture.
    ///
    /// # Errors
    /// When nobody wants to know any more.
    pub fn look(&mut self, picture: &[u8]) -> io::Result<Seen> {
        if (self.stopped)() {
            return Err(io::Error::other("reading was stopped"));
        }
        let digest = Hash::Sha1.of(&[picture]);
        if let Some(seen) = self.known.get(&digest) {
            return Ok(seen.clone());
        }
        if self.left == 0 || self.spent.as_millis() >= u128::from(limits::PICTURES_MS_MAX) {
            return Ok(Err(format!(
                "the document has more pictures than are read: {} of them, or as many as take {} minutes",
                limits::PICTURES_MAX,
                limits::PICTURES_MS_MAX / 60_000
            )));
        }
        self.left -= 1;
        // clock: what many pictures take together is bounded
        let begun = Instant::now();
        let seen = (self.look)(picture);
        self.spent += begun.elapsed();
        if seen.as_ref().map_or_else(String::len, String::len) <= REMEMBERED_BYTES_MAX {
            self.known.insert(digest, seen.clone());
        }
        Ok(seen)
    }
}

/// Calls to a program that reads pictures.
#[derive(Clone, Debug)]
pub struct Recognizer {
    /// This program, which confines itself and becomes the other one.
    own: PathBuf,
    /// Whether a picture may be read where the kernel does not hold the other program in full.
    may_be_loose: bool,
}

impl Recognizer {
    /// By the program that runs now, which must know [`COMMAND`].
    ///
    /// # Errors
    /// When the program's own path cannot be told.
    pub fn of_this_program(may_be_loose: bool) -> io::Result<Self> {
        Ok(Self { own: std::env::current_exe()?, may_be_loose })
    }

    /// The words in a picture.
    ///
    /// # Errors
    /// One sentence: the program failed, took too long, or cannot be started.
    pub fn read(&self, program: &Path, languages: &str, picture: &[u8]) -> Seen {
        let mut child = Command::new(&self.own)
            .arg(COMMAND)
            .args((!self.may_be_loose).then_some(STRICT))
            .arg(program)
            .arg(languages)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("the reader of pictures cannot be started: {error}"))?;
        let (mut said, mut complaint) = (Vec::new(), Vec::new());
        let ended = talk(&mut child, picture, &mut said, &mut complaint);
        match ended {
            None => Err(format!(
                "reading the picture took longer than {} seconds",
                limits::PICTURE_MS_MAX / 1_000
            )),
            Some(Ok(status)) if status.success() => Ok(String::from_utf8_lossy(&said).trim().to_owned()),
            Some(Ok(status)) => {
                let words = String::from_utf8_lossy(&complaint);
                let words =
                    words.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
                Err(format!("the picture cannot be read: {words} ({status})"))
            }
            Some(Err(error)) => Err(format!("the picture cannot be read: {error}")),
        }
    }
}

/// Gives the picture, takes what is said, and waits for the end; nothing when that does not come in time.
fn talk(
    child: &mut Child,
    picture: &[u8],
    said: &mut Vec<u8>,
    complaint: &mut Vec<u8>,
) -> Option<io::Result<ExitStatus>> {
    let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (done, finished) = mpsc::channel::<()>();
    let in_time = std::thread::scope(|scope| {
        scope.spawn(move || {
            // A program that has seen enough closes its end.
            let _ = input.map(|mut input| input.write_all(picture));
        });
        let read = |from: Option<&mut dyn Read>, most: u64, to: &mut Vec<u8>| {
            // What came before it was ended is of no use, and its end is told by its exit code.
            let _ = from.map(|from| from.take(most).read_to_end(to));
        };
        scope.spawn(move || {
            let mut errors = errors;
            read(errors.as_mut().map(|errors| errors as &mut dyn Read), COMPLAINT_BYTES_MAX, complaint);
        });
        scope.spawn(move || {
            let mut output = output;
            read(output.as_mut().map(|output| output as &mut dyn Read), limits::BODY_BYTES_MAX as u64, said);
            drop(done);
        });
        let wait = Duration::from_millis(limits::PICTURE_MS_MAX);
        let in_time = matches!(finished.recv_timeout(wait), Err(mpsc::RecvTimeoutError::Disconnected));
        if !in_time {
            // It may have ended just now.
            let _ = child.kill();
        }
        in_time
    });
    let status = child.wait();
    in_time.then_some(status)
}

/// Where a program of that name is; a path is taken as it is.
pub fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/local/bin:/usr/bin:/bin"));
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Confines this process and becomes `program`, which reads a picture from standard input. Only returns when it cannot.
pub fn become_program(program: &OsStr, languages: &OsStr, may_be_loose: bool) -> String {
    match hold() {
        Ok(RulesetStatus::NotEnforced) if !may_be_loose => {
            return "this kernel does not confine the reader of pictures: Landlock missing".to_owned();
        }
        Ok(_) => {}
        Err(error) => return format!("the reader of pictures cannot be confined: {error}"),
    }
    let error = Command::new(program)
        .args([OsStr::new("stdin"), OsStr::new("stdout"), OsStr::new("-l"), languages])
        .env_clear()
        // One picture, one thread: as many are read at a time as the run has threads.
        .env("OMP_THREAD_LIMIT", "1")
        .env("LC_ALL", "C.UTF-8")
        .exec();
    format!("{} cannot be started: {error}", Path::new(program).display())
}

fn hold() -> Result<RulesetStatus, Box<dyn std::error::Error>> {
    confine::close_inherited()?;
    let limit = |resource: Resource, most: u64| {
        rustix::process::setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
    };
    limit(Resource::As, limits::PICTURE_MEMORY_BYTES_MAX)?;
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, 0)?;
    limit(Resource::Cpu, limits::PICTURE_MS_MAX.div_ceil(1_000))?;
    confine::drop_capabilities()?;
    rustix::thread::set_no_new_privs(true)?;
    let status = confine::no_access()?
        .add_rules(path_beneath_rules(READABLE, AccessFs::from_read(ABI::V5)))?
        .restrict_self()?;
    let calls = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let filter =
        SeccompFilter::new(calls, SeccompAction::Allow, refused, std::env::consts::ARCH.try_into()?)?;
    let program: BpfProgram = filter.try_into()?;
    seccompiler::apply_filter(&program)?;
    Ok(status.ruleset)
}

/// System calls that reading a picture does not need: other processes, networks, and what changes the system.
const REFUSED: &[libc::c_long] = &[
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_bpf,
    libc::SYS_keyctl,
    libc::SYS_io_uring_setup,
    libc::SYS_perf_event_open,
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_document_with_too_many_pictures_is_looked_at_in_part_and_each_picture_once() {
        let count = Cell::new(0);
        let look = |_: &[u8]| {
            count.set(count.get() + 1);
            Ok("words".to_owned())
        };
        let mut sight = Sight::new(&look, &|| false);
        let pictures = (0..limits::PICTURES_MAX as u32).map(u32::to_be_bytes);
        for picture in pictures.clone().chain(pictures) {
            assert_eq!(sight.look(&picture).unwrap().unwrap(), "words");
        }
        assert_eq!(count.get(), limits::PICTURES_MAX);
        let reason = sight.look(b"one more").unwrap().unwrap_err();
        assert!(reason.contains("more pictures than are read"), "{reason}");
    }

    #[test]
    fn nothing_is_looked_at_when_nobody_wants_to_know() {
        let mut sight = Sight::new(&|_| unreachable!("it was looked at"), &|| true);
        assert_eq!(sight.look(b"a").unwrap_err().to_string(), "reading was stopped");
    }
}
