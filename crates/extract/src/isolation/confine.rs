//! Takes away from this process everything that reading does not need: files, sockets, other processes, memory, time.

use std::io;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetStatus, Scope,
};
use rustix::process::{Resource, Rlimit};
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
    /// Address space, bytes.
    pub memory_bytes: u64,
}

/// Open files: the socket, the scratch file, standard error, and some to spare.
const FILES_MAX: u64 = 16;

/// Confines memory, files and privileges for this thread and all it starts. Call it first, while there is one thread.
///
/// # Errors
/// When a limit cannot be set that every kernel knows.
pub fn begin(memory_bytes: u64, file_bytes: u64) -> io::Result<InForce> {
    let limit = |resource: Resource, most: u64| {
        rustix::process::setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
    };
    limit(Resource::As, memory_bytes)?;
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, file_bytes)?;
    limit(Resource::Nofile, FILES_MAX)?;
    rustix::thread::set_no_new_privs(true)?;
    let landlock = match no_files() {
        Ok(RulesetStatus::FullyEnforced) => "full",
        Ok(RulesetStatus::PartiallyEnforced) => "partly",
        Ok(RulesetStatus::NotEnforced) | Err(_) => "none",
    };
    Ok(InForce { no_new_privileges: true, landlock: landlock.to_owned(), seccomp: false, memory_bytes })
}

/// Forbids every access to files, and to the network where the kernel can.
fn no_files() -> Result<RulesetStatus, landlock::RulesetError> {
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V5))?
        .handle_access(AccessNet::from_all(ABI::V5))?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?
        .create()?
        .restrict_self()?;
    Ok(status.ruleset)
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
    let used = u64::try_from(used).unwrap_or(0);
    let maximum = rustix::process::getrlimit(Resource::Cpu).maximum;
    rustix::process::setrlimit(Resource::Cpu, Rlimit { current: Some(used + seconds + 1), maximum })?;
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
    libc::SYS_setrlimit,
];

/// System calls that are allowed about this process only: their first argument, and what it has to be.
fn own_calls() -> Vec<(libc::c_long, u64)> {
    let own = u64::from(std::process::id());
    vec![(libc::SYS_prlimit64, 0), (libc::SYS_tgkill, own)]
}

fn filter() -> Result<BpfProgram, Box<dyn std::error::Error>> {
    let mut rules: std::collections::BTreeMap<i64, Vec<SeccompRule>> =
        CALLS.iter().map(|call| (*call, Vec::new())).collect();
    for (call, first) in own_calls() {
        let condition = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, first)?;
        rules.insert(call, vec![SeccompRule::new(vec![condition])?]);
    }
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let filter =
        SeccompFilter::new(rules, refused, SeccompAction::Allow, std::env::consts::ARCH.try_into()?)?;
    Ok(filter.try_into()?)
}
