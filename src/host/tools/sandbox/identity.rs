//! As whom the program runs: the caller's own id without any power, or, where root starts it, an id that no user has.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::process::{DumpableBehavior, getegid, geteuid, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, Gid, LinkNameSpaceType, Uid, UnshareFlags, capabilities,
    clear_ambient_capability_set, configure_capability_in_ambient_set, move_into_link_name_space,
    remove_capability_from_bounding_set, set_capabilities, set_thread_groups, set_thread_res_gid,
    set_thread_res_uid,
};

use super::part::{Fault, HOLD, NOT_STARTED, Part, PartFault as _, SANDBOX_COMMAND};
use super::{SandboxProfile, raw};

/// The first id of the range that belongs to no user: above those of systemd and of containers. The process id is added, so no
/// two sandboxes share an id: the kernel counts processes by id.
const FIRST_ID: u32 = 1_900_000_000;
/// The report of the process that holds a namespace; else it reports the number of the system's error.
const HELD: &str = "held";
/// Number of the last capability of today's kernels, and some room.
const LAST_CAPABILITY: u64 = 47;

/// A user namespace that another process holds open.
#[derive(Debug)]
pub(super) struct Held {
    /// The holding process; it waits for the end of its input.
    child: Child,
    /// The id outside, of user and group.
    pub(super) id: u32,
}

impl Held {
    /// The process that holds it.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// True if this process is root of the whole system, and not of a container.
pub(super) fn is_root() -> bool {
    let whole = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let whole: Vec<&str> = whole.split_ascii_whitespace().collect();
    geteuid().is_root() && whole == ["0", "0", "4294967295"]
}

/// Takes an identity: a user namespace with this process's own id. Where root must not be what runs, one that is held by another process, in which
/// the owner of the workspace is an id that no user has.
pub(super) fn take(profile: &SandboxProfile) -> Result<Option<Held>, Fault> {
    let part = Part::UserNamespace;
    if profile.drops_root && is_root() {
        let at = profile.workspace.display();
        let owner = profile.owner().map_err(part.while_at(at))?;
        return held(owner).map(Some);
    }
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    raw::unshare(UnshareFlags::NEWUSER).map_err(part.while_at("unshare"))?;
    let map = |file: &str, text: &str| {
        fs::write(Path::new("/proc/self").join(file), text).map_err(part.while_at(file))
    };
    map("setgroups", "deny")?;
    map("uid_map", &format!("{user} {user} 1"))?;
    map("gid_map", &format!("{group} {group} 1"))?;
    keep_power_over_exec().map_err(part.while_at("capabilities"))?;
    Ok(None)
}

/// Passes this process's capabilities in its namespace on to the process that it starts, until that drops them.
fn keep_power_over_exec() -> io::Result<()> {
    let own = capabilities(None)?;
    let inheritable = CapabilitySets {
        inheritable: own.permitted,
        ..own
    };
    set_capabilities(None, inheritable)?;
    for capability in each_of(own.permitted) {
        configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

fn each_of(all: CapabilitySet) -> impl Iterator<Item = CapabilitySet> {
    (0..=LAST_CAPABILITY)
        .map(|bit| CapabilitySet::from_bits_retain(1 << bit))
        .filter(move |one| all.contains(*one))
}

fn held((user, group): (u32, u32)) -> Result<Held, Fault> {
    let part = Part::UserNamespace;
    let mut child = Command::new("/proc/self/exe")
        .args([SANDBOX_COMMAND, HOLD])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(part.while_at("a process that holds one"))?;
    let mut said = String::new();
    if let Some(output) = child.stdout.take() {
        let _ = BufReader::new(output).read_line(&mut said);
    }
    let id = FIRST_ID.saturating_add(std::process::id());
    let held = Held { child, id };
    match said.trim_end() {
        HELD => {}
        code => {
            let code = code.parse().map_err(part.while_at("unshare"))?;
            let fault = io::Error::from_raw_os_error(code);
            return Err(part.while_at("unshare")(fault));
        }
    }
    let process = Path::new("/proc").join(held.pid().to_string());
    let map = |file: &str, inside: u32| {
        fs::write(process.join(file), format!("{inside} {id} 1")).map_err(part.while_at(file))
    };
    map("uid_map", user)?;
    map("gid_map", group)?;
    Ok(held)
}

/// The process that only holds a user namespace, until its input ends.
pub(super) fn hold() -> u8 {
    let line = match raw::unshare(UnshareFlags::NEWUSER) {
        Ok(()) => HELD.to_owned(),
        Err(fault) => fault.raw_os_error().unwrap_or_default().to_string(),
    };
    if writeln!(io::stdout(), "{line}").is_err() {
        return NOT_STARTED;
    }
    let _ended = io::copy(&mut io::stdin(), &mut io::sink());
    0
}

/// The namespace that a process holds.
pub(super) fn namespace_of(pid: u32) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY.union(OFlags::CLOEXEC);
    Ok(rustix::fs::open(
        format!("/proc/{pid}/ns/user"),
        flags,
        Mode::empty(),
    )?)
}

/// The id outside of the namespace that a process holds.
pub(super) fn id_outside(pid: u32) -> io::Result<u32> {
    let map = fs::read_to_string(format!("/proc/{pid}/uid_map"))?;
    let outside = map.split_ascii_whitespace().nth(1);
    let outside = outside.and_then(|id| id.parse().ok());
    outside.ok_or_else(|| io::Error::other("no id is mapped"))
}

/// Becomes the id that the program is to have, without any power, for good.
pub(super) fn give_up(held: Option<(OwnedFd, (u32, u32))>) -> Result<(), Fault> {
    let part = Part::UserNamespace;
    let at = |what: &'static str| part.while_at::<rustix::io::Errno>(what);
    if let Some((namespace, (user, group))) = held {
        let kind = Some(LinkNameSpaceType::User);
        move_into_link_name_space(namespace.as_fd(), kind).map_err(at("setns"))?;
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        set_thread_groups(&[]).map_err(at("setgroups"))?;
        set_thread_res_gid(group, group, group).map_err(at("setresgid"))?;
        set_thread_res_uid(user, user, user).map_err(at("setresuid"))?;
    }
    // Not what root of the namespace would get back by starting a program, either.
    for bit in 0..=LAST_CAPABILITY {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        match remove_capability_from_bounding_set(one) {
            // The kernel knows no such capability, or this process has no right to drop any more.
            Ok(()) | Err(rustix::io::Errno::INVAL | rustix::io::Errno::PERM) => {}
            Err(fault) => return Err(at("the bounding set")(fault)),
        }
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
    };
    clear_ambient_capability_set().map_err(at("ambient capabilities"))?;
    set_capabilities(None, none).map_err(at("capabilities"))?;
    // What the program starts can read nothing of this process.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(at("dumpable"))?;
    rustix::thread::set_no_new_privs(true).map_err(at("no_new_privs"))?;
    Ok(())
}
