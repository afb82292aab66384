//! The outer process: makes the namespaces and the control group, starts the process inside, and waits for it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::UnshareFlags;

use super::group::Groups;
use super::identity::Held;
use super::part::{
    CANNOT_SET_UP, Fault, INNER, NOT_STARTED, PARTS, Part, PartFault as _, PartStatus,
    SANDBOX_COMMAND,
};
use super::report::written;
use super::{Confined, SandboxProfile, identity, raw, report};
use monolith_core::message::SandboxStrength;

/// Signals to the group of a tool server; they are for the server.
const FOR_THE_PROGRAM: [i32; 3] = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM];

/// Confines and runs a program; its exit code.
pub(super) fn outer(profile: &OsStr, command: impl Iterator<Item = OsString>) -> u8 {
    let command: Vec<OsString> = command.collect();
    let text = profile.to_str().unwrap_or_default();
    let profile: SandboxProfile = match serde_json::from_str(text) {
        Ok(profile) => profile,
        Err(fault) => return failed(&format!("its profile cannot be read: {fault}")),
    };
    let Some((program, arguments)) = command.split_first() else {
        return failed("there is no program");
    };
    let strength = match profile.confined {
        Confined::Always(strength) => strength,
        Confined::Never => return unconfined(&profile, program, arguments),
    };
    let groups = Groups::join(&profile.limits);
    let memory = profile.limits.memory_bytes.map(|_| groups.memory());
    let mut lines = Vec::new();
    let code = if memory < strength.memory {
        Err(Part::Limits.lacks("no control group can be made any more"))
    } else {
        confined(&profile, text, &command, groups, &mut lines)
    };
    let landlock = report::ready(&lines);
    if program == PARTS {
        if let Err(fault) = &code {
            lines.extend_from_slice(written(fault.part, fault.status, &fault.reason).as_bytes());
        } else if let Some(landlock) = landlock {
            let found = SandboxStrength { landlock, memory };
            lines.extend_from_slice(report::written_strength(found).as_bytes());
        }
        return u8::from(io::stdout().write_all(&lines).is_err());
    }
    let code = match code {
        Ok(code) => code,
        Err(fault) => return failed(&fault.to_string()),
    };
    if landlock.is_some() {
        return code;
    }
    let mut found = report::read(&lines).into_iter();
    match found.find(|found| found.status != PartStatus::Here) {
        Some(found) => failed(&format!("{}: {}", found.part, found.detail)),
        None => failed(&format!("its process ended with {code}")),
    }
}

fn failed(reason: &str) -> u8 {
    let _ = writeln!(io::stderr(), "{CANNOT_SET_UP}{reason}");
    NOT_STARTED
}

fn unconfined(profile: &SandboxProfile, program: &OsStr, arguments: &[OsString]) -> u8 {
    if profile.joined_output && rustix::stdio::dup2_stderr(io::stdout()).is_err() {
        return NOT_STARTED;
    }
    if let Err(fault) = raw::hand_nothing_down() {
        return failed(&fault.to_string());
    }
    let mut command = Command::new(program);
    let fault = command
        .args(arguments)
        .current_dir(&profile.workspace)
        .exec();
    let _ = writeln!(io::stderr(), "cannot be started: {fault}");
    NOT_STARTED
}

fn confined(
    profile: &SandboxProfile,
    text: &str,
    command: &[OsString],
    groups: Groups,
    lines: &mut Vec<u8>,
) -> Result<u8, Fault> {
    // Whatever becomes of the process that started this one: it ends, and with it everything inside.
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(Part::PidNamespace.while_at("prctl"))?;
    // A handler, not a refusal to hear: that would be inherited.
    for signal in FOR_THE_PROGRAM {
        let unheard = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal, unheard)
            .map_err(Part::PidNamespace.while_at("signals"))?;
    }
    let mut note = |part: Part, detail: &str| {
        lines.extend_from_slice(written(part, PartStatus::Here, detail).as_bytes());
        lines.push(b'\n');
    };
    note(Part::Linux, "");
    let held = identity::take(profile)?;
    note(
        Part::UserNamespace,
        &held.as_ref().map_or_else(
            || "with the caller's own id".to_owned(),
            |held| format!("root becomes {}", held.id),
        ),
    );
    let mut namespaces = vec![(
        Part::MountNamespace,
        UnshareFlags::NEWNS | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS,
    )];
    if !profile.network {
        namespaces.push((Part::NetworkNamespace, UnshareFlags::NEWNET));
    }
    namespaces.push((Part::PidNamespace, UnshareFlags::NEWPID));
    for (part, flags) in namespaces {
        raw::unshare(flags).map_err(part.while_at("unshare"))?;
        note(part, "");
    }
    note(Part::Limits, &groups.detail());
    let (mut reports, there) = io::pipe().map_err(Part::PidNamespace.while_at("a pipe"))?;
    rustix::io::fcntl_setfd(&there, rustix::io::FdFlags::empty())
        .map_err(Part::PidNamespace.while_at("a pipe"))?;
    let profile = handed_down(text).map_err(Part::PidNamespace.while_at("the profile"))?;
    let mut inner = Command::new("/proc/self/exe")
        .arg(SANDBOX_COMMAND)
        .arg(INNER)
        .arg(there.as_raw_fd().to_string())
        .arg(held.as_ref().map_or(0, Held::pid).to_string())
        .arg(profile.as_raw_fd().to_string())
        .args(command)
        .spawn()
        .map_err(Part::PidNamespace.while_at("the process inside"))?;
    drop((there, profile));
    reports
        .read_to_end(lines)
        .map_err(Part::PidNamespace.while_at("its report"))?;
    // It has the namespace now, or needs none.
    drop(held);
    let status = inner
        .wait()
        .map_err(Part::PidNamespace.while_at("its end"))?;
    drop(groups);
    Ok(code_of(status))
}

/// A file without a path that the process inside inherits. The program inside could read an argument of that process.
fn handed_down(text: &str) -> io::Result<File> {
    let mut file = File::from(memfd_create("profile", MemfdFlags::empty())?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

fn code_of(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(255)
}
