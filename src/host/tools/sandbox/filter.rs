//! The filter of system calls: what no tool needs and attacks on the kernel begin with. Does not know the program.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

use super::part::{Fault, Part, PartFault as _};
use monolith_core::message::MemoryScope;

/// Calls that are refused, whatever their arguments.
const REFUSED: &[i64] = &[
    // other processes
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // mounts and roots
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_quotactl,
    libc::SYS_acct,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    // keys
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // the kernel itself
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    // input and output past this filter
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];
/// Calls that give memory which no limit of a single process counts. They are absent where no control group counts it.
const UNCOUNTED: [i64; 5] = [
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_shmget,
];
/// Flags of mmap(2) that together ask for such memory: shared by processes without a file, or growing as a stack does.
const UNCOUNTED_MAPS: [libc::c_int; 2] =
    [libc::MAP_SHARED | libc::MAP_ANONYMOUS, libc::MAP_GROWSDOWN];
/// The kinds of socket that there are, the one of files first. Others lead past a network namespace (vsock), or into rarely used parts of the kernel.
const SOCKETS: [libc::c_int; 4] = [
    libc::AF_UNIX,
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_NETLINK,
];
/// Flags of clone(2) and unshare(2) that make namespaces.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];
/// asm-generic/ioctls.h: types into the terminal, or into the console.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541c;
/// linux/sched.h: shares its bits with the signal of clone(2), so only unshare(2) has it.
const CLONE_NEWTIME: u64 = 0x80;
/// The same calls under other numbers (asm/unistd_x32.h), on kernels that have them.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;
/// The calls with a different number there.
#[cfg(target_arch = "x86_64")]
const X32_OWN: [(i64, i64); 5] = [
    (libc::SYS_ioctl, 514),
    (libc::SYS_ptrace, 521),
    (libc::SYS_kexec_load, 528),
    (libc::SYS_process_vm_readv, 539),
    (libc::SYS_process_vm_writev, 540),
];

/// Calls whose arguments lie in memory, where no filter looks. Programs use clone and openat where they are absent.
const ABSENT: [libc::c_long; 2] = [libc::SYS_clone3, libc::SYS_openat2];
/// Mode bits that run a file as its owner or its group. A file with one outlives the sandbox, whose mounts alone ignore them.
const RUN_AS_OWNER: [libc::mode_t; 2] = [libc::S_ISUID, libc::S_ISGID];
/// Calls that set the mode of a file, each with the place of the mode among its arguments.
const SET_MODE: &[(i64, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
];
/// Calls whose mode counts only if their flags make a file, each with the place of the flags; the mode follows.
const OPEN_FILE: &[(i64, u8)] = &[
    (libc::SYS_openat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
];
/// Flags of open(2) that make a file.
const MAKE_FILE: [libc::c_int; 2] = [libc::O_CREAT, libc::O_TMPFILE];
/// Types of socket that a pair of them is not bound to: it sends to any socket of a file.
const UNCONNECTED: [libc::c_int; 2] = [libc::SOCK_DGRAM, libc::SOCK_RAW];
/// linux/net.h: the bits of a socket's type; the others are flags.
const SOCKET_TYPE: u64 = 0xf;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Filters the system calls of this process and of all that it starts. Without `unix_sockets` it connects to no socket of a file; a pair of
/// sockets leads nowhere and stays. `memory` is what its limit of memory counts, where it has one.
pub(super) fn apply(unix_sockets: bool, memory: Option<MemoryScope>) -> Result<(), Fault> {
    let part = Part::Seccomp;
    let refused = refused(unix_sockets).map_err(part.while_at("its rules"))?;
    let mut absent: Rules = ABSENT.map(|call| (call, Vec::new())).into();
    if memory == Some(MemoryScope::Process) {
        absent.extend(UNCOUNTED.map(|call| (call, Vec::new())));
        let mapped = uncounted_maps().map_err(part.while_at("its rules of memory"))?;
        let mapped = compiled(everywhere(mapped), libc::ENOMEM);
        let mapped = mapped.map_err(part.while_at("its filter of memory"))?;
        apply_filter(&mapped).map_err(part.while_at("the filter of memory"))?;
    }
    let (refused, absent) = (everywhere(refused), everywhere(absent));
    let absent = compiled(absent, libc::ENOSYS).map_err(part.while_at("its first filter"))?;
    let refused = compiled(refused, libc::EPERM).map_err(part.while_at("its second filter"))?;
    apply_filter(&absent).map_err(part.while_at("the first filter"))?;
    apply_filter(&refused).map_err(part.while_at("the second filter"))
}

fn refused(unix_sockets: bool) -> Result<Rules, BackendError> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let flags = NAMESPACES.into_iter().map(bits);
    let flags: Vec<u64> = flags.collect();
    let makes = |flag: &u64| one(0, SeccompCmpOp::MaskedEq(*flag), *flag);
    let clone = flags.iter().map(makes).collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_clone, clone);
    let unshare = flags.iter().chain([&CLONE_NEWTIME]).map(makes);
    rules.insert(libc::SYS_unshare, unshare.collect::<Result<_, _>>()?);
    let typed = [TIOCSTI, TIOCLINUX].map(|request| one(1, SeccompCmpOp::Eq, request));
    rules.insert(
        libc::SYS_ioctl,
        typed.into_iter().collect::<Result<_, _>>()?,
    );
    let all_but = |kinds: &[libc::c_int]| {
        let other = kinds.iter();
        let other = other.map(|kind| condition(0, SeccompCmpOp::Ne, bits(*kind)));
        SeccompRule::new(other.collect::<Result<_, _>>()?)
    };
    let [_unix, others @ ..] = &SOCKETS;
    let sockets = if unix_sockets {
        SOCKETS.as_slice()
    } else {
        others
    };
    rules.insert(libc::SYS_socket, vec![all_but(sockets)?]);
    let mut pairs = vec![all_but(&SOCKETS)?];
    if !unix_sockets {
        for kind in UNCONNECTED {
            pairs.push(one(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), bits(kind))?);
        }
    }
    rules.insert(libc::SYS_socketpair, pairs);
    refuse_run_as_owner(&mut rules)?;
    Ok(rules)
}

/// Refuses files that run as their owner or their group.
fn refuse_run_as_owner(rules: &mut Rules) -> Result<(), BackendError> {
    let has = |argument, bit: u64| condition(argument, SeccompCmpOp::MaskedEq(bit), bit);
    for bit in RUN_AS_OWNER.map(u64::from) {
        for (call, mode) in SET_MODE {
            let rule = SeccompRule::new(vec![has(*mode, bit)?])?;
            rules.entry(*call).or_default().push(rule);
        }
        for (call, flags) in OPEN_FILE {
            for flag in MAKE_FILE.map(bits) {
                let rule = SeccompRule::new(vec![has(*flags, flag)?, has(flags + 1, bit)?])?;
                rules.entry(*call).or_default().push(rule);
            }
        }
    }
    Ok(())
}

/// Refuses such maps.
fn uncounted_maps() -> Result<Rules, BackendError> {
    let flags = UNCOUNTED_MAPS.map(bits);
    let rules = flags.map(|flags| one(3, SeccompCmpOp::MaskedEq(flags), flags));
    let rules = rules.into_iter().collect::<Result<_, _>>()?;
    Ok([(libc::SYS_mmap, rules)].into())
}

fn bits(flag: libc::c_int) -> u64 {
    u64::from(flag.cast_unsigned())
}

fn condition(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, BackendError> {
    // All of these arguments are ints: the upper half of the register is ignored by the kernel.
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

fn one(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![condition(argument, operator, value)?])
}

/// The rules under every number that a call has.
#[cfg(target_arch = "x86_64")]
fn everywhere(rules: Rules) -> Rules {
    let other = |call: i64| X32_OWN.iter().find(|(usual, _)| *usual == call);
    let others: Rules = rules
        .iter()
        .map(|(call, rules)| {
            let number = other(*call).map_or(*call, |(_, number)| *number);
            (number | X32, rules.clone())
        })
        .collect();
    rules.into_iter().chain(others).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn everywhere(rules: Rules) -> Rules {
    rules
}

fn compiled(rules: Rules, errno: libc::c_int) -> Result<BpfProgram, BackendError> {
    let answer = SeccompAction::Errno(errno.cast_unsigned());
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, SeccompAction::Allow, answer, architecture)?.try_into()
}
