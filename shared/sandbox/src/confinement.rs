//! The walls of a child: capabilities that it gives up for good before it reads a document.

use std::fmt;
use std::io;

use rlimit::Resource;

/// The most memory that a child may allocate, in bytes, including the stack of its parser. Together
/// with the pages of the program itself, it stays below 512 MiB resident. Parsers of hostile files
/// took 2 to 6 GiB.
const MEMORY_BYTES: u64 = 480 * 1024 * 1024;
/// The address space of a child, in bytes, for systems that do not count allocations.
const ADDRESS_SPACE_BYTES: u64 = 1024 * 1024 * 1024;
/// The processor time of a child, in seconds. Several threads share it.
const CPU_SECONDS: u64 = 60;
/// The number of open files: standard input, output and error. While these are open, a child can
/// open nothing else, neither a file nor a socket.
const OPEN_FILES: u64 = 3;

/// The walls around a child that depend on the kernel. Limits on memory, time and open files are
/// always in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Confinement {
    /// Landlock: no file and no network, whatever the user of the process is allowed to do.
    pub landlock: bool,
    /// Seccomp: only the system calls that a computation needs, so that no program can be started
    /// and nothing can be opened.
    pub seccomp: bool,
}

impl Confinement {
    /// Checks whether all walls are in force.
    pub fn are_complete(self) -> bool {
        self.landlock && self.seccomp
    }
}

impl fmt::Display for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = |is_active: bool| {
            if is_active {
                "in force"
            } else {
                "not offered by this kernel"
            }
        };
        let (landlock, seccomp) = (state(self.landlock), state(self.seccomp));
        write!(f, "limits in force, landlock {landlock}, seccomp {seccomp}")
    }
}

/// Confines this process for good: it can only read its document and write its result. It must be
/// called before a second thread runs.
///
/// # Errors
/// An error if a limit cannot be set. A wall that the kernel lacks is not an error: the return
/// value says which ones are in force.
pub fn confine_process() -> io::Result<Confinement> {
    // If memory runs out, the system then ends the child and not the server. This is only an
    // improvement, so an error is ignored.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let landlock = kernel::close_files();
    set_limits(&[
        (Resource::DATA, MEMORY_BYTES),
        (Resource::AS, ADDRESS_SPACE_BYTES),
        (Resource::CPU, CPU_SECONDS),
        (Resource::CORE, 0),
        (Resource::FSIZE, 0),
        (Resource::NOFILE, OPEN_FILES),
    ])?;

    Ok(Confinement {
        landlock,
        seccomp: kernel::filter_calls(),
    })
}

/// Sets limits that the process cannot raise again.
fn set_limits(limits: &[(Resource, u64)]) -> io::Result<()> {
    for (resource, limit) in limits {
        // A lower limit of the environment stays.
        let (_, hard_limit) = resource.get()?;
        let limit = (*limit).min(hard_limit);
        resource.set(limit, limit)?;
    }
    Ok(())
}

// On all processors that the filter supports, system call numbers are 64 bits wide.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod kernel {
    use std::collections::BTreeMap;

    use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetStatus, Scope};
    use seccompiler::{
        BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
        SeccompFilter, SeccompRule, apply_filter,
    };

    /// The system calls of a computation that reads and writes open pipes, allocates memory and
    /// runs threads.
    const ALLOWED_CALLS: &[i64] = &[
        libc::SYS_brk,
        libc::SYS_clock_gettime,
        libc::SYS_clock_nanosleep,
        libc::SYS_close,
        libc::SYS_exit,
        libc::SYS_exit_group,
        libc::SYS_fcntl,
        libc::SYS_fstat,
        libc::SYS_futex,
        libc::SYS_getpid,
        libc::SYS_getrandom,
        libc::SYS_gettid,
        libc::SYS_lseek,
        libc::SYS_madvise,
        libc::SYS_mmap,
        libc::SYS_mprotect,
        libc::SYS_mremap,
        libc::SYS_munmap,
        libc::SYS_nanosleep,
        libc::SYS_ppoll,
        libc::SYS_read,
        libc::SYS_restart_syscall,
        libc::SYS_rseq,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sched_getaffinity,
        libc::SYS_sched_yield,
        libc::SYS_set_robust_list,
        libc::SYS_sigaltstack,
        libc::SYS_write,
        libc::SYS_writev,
    ];

    /// Forbids every file and every connection. Returns whether the kernel enforces it.
    pub(super) fn close_files() -> bool {
        // The crate leaves out the parts of this version that an older kernel lacks.
        const VERSION: ABI = ABI::V6;
        let ruleset = Ruleset::default()
            .handle_access(AccessFs::from_all(VERSION))
            .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(VERSION)))
            .and_then(|ruleset| ruleset.scope(Scope::from_all(VERSION)))
            .and_then(Ruleset::create)
            .and_then(|ruleset| ruleset.restrict_self());
        ruleset.is_ok_and(|status| status.ruleset != RulesetStatus::NotEnforced)
    }

    /// Forbids every other system call. Returns whether the kernel enforces it.
    pub(super) fn filter_calls() -> bool {
        build_filter().is_ok_and(|program| apply_filter(&program).is_ok())
    }

    fn build_filter() -> Result<BpfProgram, BackendError> {
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> = ALLOWED_CALLS
            .iter()
            .map(|call| (*call, Vec::new()))
            .collect();
        // Threads are allowed, but processes are not.
        let thread_flag = libc::CLONE_THREAD as u64;
        rules.insert(
            libc::SYS_clone,
            vec![argument_rule(
                0,
                SeccompCmpOp::MaskedEq(thread_flag),
                thread_flag,
            )?],
        );
        // Signals and limits are allowed for this process only.
        let process_id = u64::from(std::process::id());
        rules.insert(
            libc::SYS_tgkill,
            vec![argument_rule(0, SeccompCmpOp::Eq, process_id)?],
        );
        rules.insert(
            libc::SYS_prlimit64,
            vec![argument_rule(0, SeccompCmpOp::Eq, 0)?],
        );
        // The error is that of a kernel without the call, so that the C library falls back to an
        // older call, such as `clone` for `clone3`.
        let blocked_action = SeccompAction::Errno(libc::ENOSYS as u32);
        let architecture = std::env::consts::ARCH.try_into()?;

        SeccompFilter::new(rules, blocked_action, SeccompAction::Allow, architecture)?.try_into()
    }

    fn argument_rule(
        index: u8,
        operator: SeccompCmpOp,
        value: u64,
    ) -> Result<SeccompRule, BackendError> {
        let condition = SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, value)?;
        SeccompRule::new(vec![condition])
    }
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
mod kernel {
    pub(super) fn close_files() -> bool {
        false
    }

    pub(super) fn filter_calls() -> bool {
        false
    }
}
