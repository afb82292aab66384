//! The process between this program and a tool server: `monolith __supervise PARENT PROGRAM ARGS…`.
//!
//! A server may start processes that leave its group and its session; no signal to the group reaches those. On Linux their
//! supervisor is the nearest subreaper (prctl(2), PR_SET_CHILD_SUBREAPER): each of them becomes its child when its own parent ends.
//! So it can end all of them: when the server has ended, when it is asked to, and when the process that started it is gone. It knows
//! nothing of MCP; the server has its standard streams. A server that kills its own supervisor has the user's rights, and is
//! not stopped from that.

use std::ffi::OsString;

/// The hidden command of this program.
pub const SUPERVISE_COMMAND: &str = "__supervise";
/// The exit code where the server cannot be started.
const NOT_STARTED: u8 = 126;

/// Starts the server, waits for its end, and ends what is left of it. Its exit code is the server's.
#[cfg(target_os = "linux")]
pub fn supervise(given: Vec<OsString>) -> u8 {
    linux::supervise(given).unwrap_or(NOT_STARTED)
}

/// There is no subreaper on this system.
#[cfg(not(target_os = "linux"))]
pub fn supervise(_given: Vec<OsString>) -> u8 {
    NOT_STARTED
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsString;
    use std::fs;
    use std::io::{self, Write as _};
    use std::process::Command;
    use std::time::Duration;

    use rustix::process::{
        Pid, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process, set_child_subreaper,
        wait,
    };
    use tokio::signal::unix::{SignalKind, signal};

    /// Interval of checks for the process that started this one.
    const LOOK: Duration = Duration::from_millis(200);
    /// Delay after killing processes, before killing those that took their place.
    const AGAIN: Duration = Duration::from_millis(2);
    /// Maximum number of those rounds.
    const ROUNDS: u32 = 2_500;

    pub(super) fn supervise(given: Vec<OsString>) -> Option<u8> {
        let mut given = given.into_iter();
        let parent = given.next()?.to_str()?.parse().ok()?;
        let parent = Pid::from_raw(parent)?;
        let mut server = Command::new(given.next()?);
        server.args(given);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.ok()?.block_on(supervised(parent, server)).ok()
    }

    async fn supervised(parent: Pid, mut server: Command) -> io::Result<u8> {
        // First what ends it, then what is to be ended.
        let mut requested = signal(SignalKind::user_defined1())?;
        let mut children = signal(SignalKind::child())?;
        // These are for the server, which is in the same group.
        let mut ignored = [
            signal(SignalKind::hangup())?,
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
        ];
        set_child_subreaper(Some(getpid()))?;
        let started = match server.spawn() {
            Ok(started) => started,
            Err(fault) => {
                let _ = writeln!(io::stderr(), "cannot be started: {fault}");
                return Err(fault);
            }
        };
        drop(server);
        let server = i32::try_from(started.id()).ok().and_then(Pid::from_raw);
        // The streams are the server's alone: their end must be seen when it closes them.
        let null = fs::File::options()
            .read(true)
            .write(true)
            .open("/dev/null")?;
        rustix::stdio::dup2_stdin(&null)?;
        rustix::stdio::dup2_stdout(&null)?;
        rustix::stdio::dup2_stderr(&null)?;
        let mut look = tokio::time::interval(LOOK);
        let mut code = 0;
        loop {
            let [hangup, interrupt, terminate] = &mut ignored;
            tokio::select! {
                _ = children.recv() => {}
                _ = requested.recv() => break,
                _ = look.tick() => if getppid() != Some(parent) { break },
                _ = hangup.recv() => {}
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            let mut ended = false;
            while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
                if Some(pid) == server {
                    (code, ended) = (code_of(status), true);
                }
            }
            if ended {
                break;
            }
        }
        end_all().await;
        Ok(code)
    }

    /// Kills what is there until nothing is: what a killed process has started becomes a child of this one. What cannot be killed,
    /// such as a process of another user, is given up after a while.
    async fn end_all() {
        for _ in 0..ROUNDS {
            for child in children() {
                let _ = kill_process(child, Signal::KILL);
            }
            loop {
                match wait(WaitOptions::NOHANG) {
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    // No child is left.
                    Err(_) => return,
                }
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// The processes whose parent this one is.
    fn children() -> Vec<Pid> {
        let own = getpid().as_raw_nonzero().get();
        let Ok(processes) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        let child = |entry: io::Result<fs::DirEntry>| {
            let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            // The name in brackets may hold anything; behind it come the state and the parent.
            let (_, rest) = stat.rsplit_once(')')?;
            let parent: i32 = rest.split_ascii_whitespace().nth(1)?.parse().ok()?;
            (parent == own).then(|| Pid::from_raw(pid)).flatten()
        };
        processes.filter_map(child).collect()
    }

    fn code_of(status: WaitStatus) -> u8 {
        let code = status
            .exit_status()
            .or_else(|| status.terminating_signal().map(|signal| 128 + signal));
        code.and_then(|code| u8::try_from(code).ok()).unwrap_or(255)
    }
}
