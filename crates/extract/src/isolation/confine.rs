//! Takes away from this process everything that reading does not need: files, sockets, other processes, memory, time.

use std::io;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreated,
    RulesetStatus, Scope,
};
use rustix::process::{Resource, Rlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use serde::{Deserialize, Serialize};

/// What holds a child, as far as the kernel allows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InForce {
    /// No rights are gained by running programs.
    pub no_new_privileges: bool,
    /// Landlock: no file can be opened, written or run; `partly` says that the kernel knows only some of the rules.
    pub landlock: String,
    /// Only the system calls that reading needs; all others fail.
    pub seccomp: bool,
    /// No right of root is left, so that limits bind root's children as well.
    pub no_capabilities: bool,
    /// Address space, bytes.
    pub memory_bytes: u64,
}

impl InForce {
    /// Whether the kernel holds the child as it should: what has no right to open a file, and to call what it does not need,
    /// can do nothing with the rest.
    pub fn is_whole(&self) -> bool {
        self.no_new_privileges && self.seccomp && self.no_capabilities && self.landlock != "none"
    }

    /// What is missing, for people.
    pub fn missing(&self) -> Vec<&'static str> {
        let parts = [
            (self.landlock != "none", "Landlock"),
            (self.seccomp, "seccomp"),
            (self.no_new_privileges, "no_new_privs"),
            (self.no_capabilities, "the dropping of capabilities"),
        ];
        parts.into_iter().filter(|(holds, _)| !holds).map(|(_, name)| name).collect()
    }
}

/// Open files: the socket, the scratch file, standard error, and some to spare.
const FILES_MAX: u64 = 16;

/// Closes all files but the three that every program has: who started this program may have left others open, and what is
/// open needs no right to be used. Call it before anything is opened.
///
/// # Errors
/// When nobody can say which are open.
pub fn close_inherited() -> io::Result<()> {
    let mut open = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        // The folder itself is among them, and closed by the time its number is tried.
        open.extend(entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    for handle in open.into_iter().filter(|handle| *handle > 2) {
        match nix::unistd::close(handle) {
            Ok(()) | Err(nix::errno::Errno::EBADF) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Confines memory, time, files and privileges for this thread and all it starts. Call it first, while there is one thread.
/// `seconds`: of the processor, in all.
///
/// # Errors
/// When a limit cannot be set that every kernel knows.
pub fn begin(memory_bytes: u64, file_bytes: u64, seconds: u64) -> io::Result<InForce> {
    let limit = |resource: Resource, most: u64| {
        rustix::process::setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
    };
    limit(Resource::As, memory_bytes)?;
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, file_bytes)?;
    limit(Resource::Nofile, FILES_MAX)?;
    limit(Resource::Cpu, seconds)?;
    let no_capabilities = drop_capabilities().is_ok();
    rustix::thread::set_no_new_privs(true)?;
    let no_files = no_access().and_then(|rules| rules.restrict_self());
    let landlock = match no_files.map(|in_force| in_force.ruleset) {
        Ok(RulesetStatus::FullyEnforced) => "full",
        Ok(RulesetStatus::PartiallyEnforced) => "partly",
        Ok(RulesetStatus::NotEnforced) | Err(_) => "none",
    };
    Ok(InForce {
        no_new_privileges: true,
        landlock: landlock.to_owned(),
        seccomp: false,
        no_capabilities,
        memory_bytes,
    })
}

/// Gives up all rights of root, for this thread and all it starts.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    for capability in CapabilitySet::all().iter() {
        // Who may not change the bounding set has no rights to bound: programs that this one runs get none.
        let _ = rustix::thread::remove_capability_from_bounding_set(capability);
    }
    // Kernels before 4.3 know no ambient set.
    let _ = rustix::thread::clear_ambient_capability_set();
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(
        None,
        CapabilitySets { effective: none, permitted: none, inheritable: none },
    )?;
    Ok(())
}

/// Rules that forbid every access to files, and to the network where the kernel can; exceptions can be added.
pub(crate) fn no_access() -> Result<RulesetCreated, landlock::RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V5))?
        .handle_access(AccessNet::from_all(ABI::V5))?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?
        .create()
}

/// Leaves only the system calls that reading needs, for all threads. Call it when no more threads are started.
///
/// # Errors
/// When the kernel has no such filters; then only the rest of the confinement holds.
pub fn finish() -> Result<(), String> {
    let program = filter().map_err(|error| error.to_string())?;
    seccompiler::apply_filter_all_threads(&program).map_err(|error| error.to_string())
}

/// Gives the next document so much time of the processor, seconds; the child is ended when it is used up.
///
/// # Errors
/// When the limit cannot be set.
pub fn allow_seconds(seconds: u64) -> io::Result<()> {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime).tv_sec;
    let maximum = rustix::process::getrlimit(Resource::Cpu).maximum;
    let wanted = u64::try_from(used).unwrap_or(0) + seconds + 1;
    let current = maximum.map_or(wanted, |most| most.min(wanted));
    rustix::process::setrlimit(Resource::Cpu, Rlimit { current: Some(current), maximum })?;
    Ok(())
}

/// System calls that are always allowed.
const CALLS: &[libc::c_long] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_statx,
    libc::SYS_ftruncate,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getrandom,
    libc::SYS_clock_gettime,
    libc::SYS_gettimeofday,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_getcpu,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_getrlimit,
];

/// System calls that are allowed with certain arguments only: this process's own limits may be read, that of its time
/// changed; signals go to itself. Each rule is a list of arguments, by number, and what they have to be.
fn bound_calls() -> Vec<(libc::c_long, Vec<(u8, u64)>)> {
    let own = u64::from(std::process::id());
    let time = libc::RLIMIT_CPU as u64;
    vec![
        (libc::SYS_prlimit64, vec![(0, 0), (1, time)]),
        (libc::SYS_prlimit64, vec![(0, 0), (2, 0)]),
        (libc::SYS_setrlimit, vec![(0, time)]),
        (libc::SYS_tgkill, vec![(0, own)]),
    ]
}

fn filter() -> Result<BpfProgram, Box<dyn std::error::Error>> {
    let mut rules: std::collections::BTreeMap<i64, Vec<SeccompRule>> =
        CALLS.iter().map(|call| (*call, Vec::new())).collect();
    for (call, arguments) in bound_calls() {
        let conditions = arguments.into_iter().map(|(number, value)| {
            // Addresses have all bits; the kernel looks at the lower half of the other arguments alone.
            let length = if number == 2 { SeccompCmpArgLen::Qword } else { SeccompCmpArgLen::Dword };
            SeccompCondition::new(number, length, SeccompCmpOp::Eq, value)
        });
        let rule = SeccompRule::new(conditions.collect::<Result<_, _>>()?)?;
        rules.entry(call).or_default().push(rule);
    }
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let filter =
        SeccompFilter::new(rules, refused, SeccompAction::Allow, std::env::consts::ARCH.try_into()?)?;
    Ok(filter.try_into()?)
}
