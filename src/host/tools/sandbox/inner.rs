//! The process inside, the first of its pid namespace: takes the new root, gives up every power, starts the program and reaps what is left by its
//! parents. With it everything inside ends.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::io::{BufReader, Write as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::Command;

use landlock::{
    ABI, Access as _, AccessFs, LandlockStatus, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socket_with};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, getrlimit,
    set_parent_process_death_signal, setrlimit, wait,
};

use super::contents::Layout;
use super::layout::layout;
use super::part::{Fault, NOT_STARTED, PARTS, Part, PartFault as _};
use super::report::Report;
use super::root::Owner;
use super::{Confined, Limits, SandboxProfile, discarded, filter, identity, raw, root};

/// Runs the program inside; its exit code.
pub(super) fn inner(mut given: impl Iterator<Item = OsString>) -> u8 {
    let mut number = || given.next()?.to_str()?.parse::<u32>().ok();
    let (Some(reports), Some(holder), Some(profile)) = (number(), number(), number()) else {
        return NOT_STARTED;
    };
    let inherited = |number: u32| {
        let number = i32::try_from(number).map_err(io::Error::other);
        number.and_then(raw::inherited).map(File::from)
    };
    let (Ok(reports), Ok(profile)) = (inherited(reports), inherited(profile)) else {
        return NOT_STARTED;
    };
    let mut report = Report::to(reports);
    let profile: SandboxProfile = match serde_json::from_reader(BufReader::new(profile)) {
        Ok(profile) => profile,
        Err(fault) => {
            report.lacking(&Part::Files.lacks(fault));
            return NOT_STARTED;
        }
    };
    let landlock = match set_up(&profile, holder, &mut report) {
        Ok(landlock) => landlock,
        Err(fault) => {
            report.lacking(&fault);
            return NOT_STARTED;
        }
    };
    // Fails where the outer process is gone: before its end was this one's, too.
    if report.ready(landlock).is_err() {
        return NOT_STARTED;
    }
    let Some(program) = given.next().filter(|program| program != PARTS) else {
        return 0;
    };
    if profile.joined_output && rustix::stdio::dup2_stderr(io::stdout()).is_err() {
        return NOT_STARTED;
    }
    let mut command = Command::new(program);
    set_variables(&mut command, &profile);
    let started = command.args(given).current_dir(&profile.workspace).spawn();
    drop(command);
    match started {
        Ok(started) => {
            let code = reaped(i32::try_from(started.id()).ok().and_then(Pid::from_raw));
            if !profile.joined_output
                && let Some(line) = discarded::line(&profile)
            {
                let _ = writeln!(io::stderr(), "{line}");
            }
            code
        }
        Err(fault) => {
            let _ = writeln!(io::stderr(), "cannot be started: {fault}");
            NOT_STARTED
        }
    }
}

/// Sets the variables that name folders to folders that are there.
fn set_variables(command: &mut Command, profile: &SandboxProfile) {
    let is_here = |name: &str| std::env::var_os(name).is_some_and(|path| Path::new(&path).is_dir());
    if let Some(home) = profile.home.as_ref().filter(|_| !is_here("HOME")) {
        command.env("HOME", home);
    }
    for name in ["TEMP", "TMP", "TMPDIR"] {
        if std::env::var_os(name).is_some() && !is_here(name) {
            command.env(name, "/tmp");
        }
    }
    let search = profile.search.iter().map(|folder| &folder.path);
    if let Ok(search) = std::env::join_paths(search)
        && !search.is_empty()
    {
        command.env("PATH", search);
    }
}

fn set_up(profile: &SandboxProfile, holder: u32, report: &mut Report) -> Result<u32, Fault> {
    let Confined::Always(strength) = profile.confined else {
        return Err(Part::Files.lacks("the profile wants no sandbox"));
    };
    let layout = if profile.is_probe() {
        Layout::new()
    } else {
        layout(profile)?
    };
    let held = if holder == 0 {
        None
    } else {
        let namespace = identity::namespace_of(holder)
            .map_err(Part::UserNamespace.while_at("the namespace"))?;
        let owner = profile
            .owner()
            .map_err(Part::Files.while_at("the workspace"))?;
        let id = identity::id_outside(holder).map_err(Part::UserNamespace.while_at("its ids"))?;
        Some((namespace, owner, id))
    };
    let owner = Owner {
        users: held.as_ref().map(|(namespace, ..)| namespace.as_fd()),
        id: held.as_ref().map(|(.., id)| *id),
    };
    let memory = (profile.limits.memory_bytes, strength.memory);
    with_many_files(|| root::replace(&layout, &profile.held, &owner, memory))?;
    report.here(Part::Files, "")?;
    if held.is_some() && !profile.is_probe() {
        report.here(Part::IdMapping, "")?;
    }
    report.here(Part::Proc, "")?;
    if !profile.network {
        loopback_up().map_err(Part::NetworkNamespace.while_at("its loopback"))?;
    }
    apply(&profile.limits)?;
    identity::give_up(held.map(|(namespace, ids, _)| (namespace, ids)))?;
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(Part::PidNamespace.while_at("prctl"))?;
    raw::hand_nothing_down().map_err(Part::Files.while_at("inherited descriptors"))?;
    let writable: Vec<_> = root::writable(&layout).collect();
    let landlock = restrict(writable.iter().map(AsRef::as_ref))?;
    if landlock < strength.landlock {
        let words = format!(
            "version {landlock}, and version {} was probed",
            strength.landlock
        );
        return Err(Part::Landlock.lacks(words));
    }
    report.here(Part::Landlock, &format!("version {landlock}"))?;
    filter::apply(profile.has_unix_sockets(), strength.memory)?;
    report.here(Part::Seccomp, "")?;
    Ok(landlock)
}

/// Switches on the network of this namespace's own: programs talk to themselves over it.
fn loopback_up() -> io::Result<()> {
    /// linux/rtnetlink.h and linux/netlink.h: RTM_NEWLINK, a request that is answered with an acknowledgement.
    const NEW_LINK: u16 = 16;
    const REQUEST: u16 = 1;
    /// The loopback is the first interface of every network.
    const FIRST: u32 = 1;
    const UP: u32 = 1;
    const LENGTH: u32 = 32;
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        // NETLINK_ROUTE is 0.
        None,
    )?;
    let mut message = Vec::with_capacity(32);
    message.extend(LENGTH.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST.to_ne_bytes());
    // The number of the message and its sender, then family, padding and type of the interface: none is said.
    message.extend([0; 12]);
    message.extend(FIRST.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    send(&socket, &message, SendFlags::empty())?;
    Ok(())
}

/// Waits for the program, and meanwhile for everything whose parent has ended; the program's exit code.
fn reaped(program: Option<Pid>) -> u8 {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if Some(pid) == program => return code_of(status),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return NOT_STARTED,
        }
    }
}

fn code_of(status: WaitStatus) -> u8 {
    let code = status
        .exit_status()
        .or_else(|| status.terminating_signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(255)
}

/// The newest rules that are asked for; an older kernel holds those that it knows.
const NEWEST: ABI = ABI::V6;
/// Devices that every program may write to.
const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// Lets this process and all that it starts read everything that is there and write below those folders alone. Returns the version of the rules
/// that the kernel enforces.
pub(super) fn restrict<'p>(writable: impl Iterator<Item = &'p Path>) -> Result<u32, Fault> {
    let part = Part::Landlock;
    let all = AccessFs::from_all(NEWEST);
    let rules = Ruleset::default()
        .handle_access(all)
        .and_then(|rules| rules.scope(Scope::from_all(NEWEST)))
        .and_then(Ruleset::create);
    let mut rules = rules.map_err(part.while_at("a set of rules"))?;
    let devices = DEVICES.iter().map(Path::new);
    let writable = writable.chain(devices).map(|path| (path, all));
    let readable = (Path::new("/"), AccessFs::from_read(NEWEST));
    for (path, access) in std::iter::once(readable).chain(writable) {
        let Ok(folder) = PathFd::new(path) else {
            continue;
        };
        rules = rules
            .add_rule(PathBeneath::new(folder, access))
            .map_err(part.while_at(path.display()))?;
    }
    let status = rules.restrict_self().map_err(part.while_at("restrict"))?;
    match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _)
        | (_, LandlockStatus::NotEnabled | LandlockStatus::NotImplemented) => {
            Err(part.lacks("this kernel has it not, or switched off"))
        }
        (_, LandlockStatus::Available { effective_abi, .. }) => {
            Ok(effective_abi.min(NEWEST) as u32)
        }
    }
}

/// Bytes of the stack of a process whose memory is limited.
const STACK: u64 = 16 << 20;

/// Sets what the profile limits, for this process and all that it starts. None of them may raise it again.
pub(super) fn apply(limits: &Limits) -> Result<(), Fault> {
    let all = [
        (Resource::Cpu, "processor time", limits.cpu_s),
        (Resource::Fsize, "file size", limits.file_bytes),
        // What is reserved and never written does not count, as it would under RLIMIT_AS.
        (Resource::Data, "memory", limits.memory_bytes),
        (Resource::Nofile, "open files", limits.open_files),
        (Resource::Nproc, "processes", limits.processes),
        (Resource::Core, "core files", Some(0)),
    ];
    for (resource, name, limit) in all {
        let Some(limit) = limit else {
            continue;
        };
        let before = getrlimit(resource);
        let limit = before.maximum.map_or(limit, |most| most.min(limit));
        let both = Rlimit {
            current: Some(limit),
            maximum: Some(limit),
        };
        setrlimit(resource, both).map_err(Part::Limits.while_at(name))?;
    }
    if limits.memory_bytes.is_some() {
        // A stack counts as no data.
        let stack = getrlimit(Resource::Stack);
        let bounded = |limit: Option<u64>| Some(limit.map_or(STACK, |limit| limit.min(STACK)));
        let stack = Rlimit {
            current: bounded(stack.current),
            maximum: bounded(stack.maximum),
        };
        setrlimit(Resource::Stack, stack).map_err(Part::Limits.while_at("stack"))?;
    }
    Ok(())
}

/// Lets this process open as many files as it may, for as long as `work` runs: each mount is one.
pub(super) fn with_many_files<T>(work: impl FnOnce() -> T) -> T {
    let before = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: before.maximum,
        ..before
    };
    // Where that is refused, the mounts that do not fit are a fault.
    let _ = setrlimit(Resource::Nofile, raised);
    let done = work();
    let _ = setrlimit(Resource::Nofile, before);
    done
}
