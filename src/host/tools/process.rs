//! A child process and its group. Does not know what it is started for.

use std::collections::BTreeMap;
#[cfg(target_os = "linux")]
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use tokio::io::AsyncWrite;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

use super::ToolServerError;
#[cfg(unix)]
use super::sandbox::DISCARDED_WRITES;
#[cfg(target_os = "linux")]
use super::sandbox::SANDBOX_COMMAND;
use super::sandbox::{Confined, SandboxProfile};
#[cfg(target_os = "linux")]
use super::supervisor::SUPERVISE_COMMAND;

/// Variables that a child inherits; everything else it gets from the author's map.
pub(in crate::tools) const INHERITED: &[&str] = &[
    // where programs and files are
    "PATH",
    "HOME",
    "SHELL",
    "TMPDIR",
    "TMP",
    "TEMP",
    // who, in which language, when
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TERM",
    // without these nothing starts on Windows
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "USERNAME",
    "USERPROFILE",
];
/// After its input is closed a child has so long to end by itself.
const END_BY_ITSELF: Duration = Duration::from_millis(1_500);
/// After SIGTERM, and again after SIGKILL, so long.
const END_ON_SIGNAL: Duration = Duration::from_millis(500);
#[cfg(unix)]
const SIGTERM: i32 = 15;
/// Bytes that a pipe holds (pipe(7)).
#[cfg(unix)]
const LAST_WORDS: usize = 65_536;

/// The program to start.
#[derive(Clone, Copy, Debug)]
pub(in crate::tools) struct Program<'a> {
    pub(in crate::tools) args: &'a [String],
    /// A relative path with a separator begins in `folder`; a bare name is looked up in `PATH`.
    pub(in crate::tools) command: &'a str,
    pub(in crate::tools) env: &'a BTreeMap<String, String>,
    pub(in crate::tools) folder: &'a Path,
    /// The confinement of the child; only a supervisor can set it up.
    pub(in crate::tools) sandbox: Option<&'a SandboxProfile>,
    /// This program, where it is to supervise the child.
    pub(in crate::tools) supervisor: Option<&'a Path>,
    pub(in crate::tools) workspace: &'a Path,
}

/// A running child and everything in its process group. Dropping it kills the group; where the child has a supervisor,
/// everything that it has started.
///
/// Without a supervisor, a descendant that starts a new session leaves the group and is not reached.
#[derive(Debug)]
pub(in crate::tools) struct Process {
    child: Box<dyn ChildWrapper>,
    /// The other end of its standard error, for what it writes when nobody else reads any more.
    #[cfg(unix)]
    last_words: Option<std::os::fd::OwnedFd>,
    supervised: bool,
}

/// The child's ends of its standard streams.
pub(in crate::tools) struct Streams {
    pub(in crate::tools) stderr: Option<ChildStderr>,
    pub(in crate::tools) stdin: ChildStdin,
    pub(in crate::tools) stdout: ChildStdout,
}

/// A look at a child's input pipe that outlives both ends: it tells if the child has read anything.
#[derive(Debug)]
pub(in crate::tools) struct InputWatch {
    #[cfg(unix)]
    pipe: Option<std::os::fd::OwnedFd>,
    written: Arc<AtomicU64>,
}

/// The child's input, whose bytes are counted.
#[derive(Debug)]
pub(in crate::tools) struct WatchedInput {
    stdin: ChildStdin,
    written: Arc<AtomicU64>,
}

impl InputWatch {
    /// The input, to be written to through what comes back with the watch.
    pub(in crate::tools) fn of(stdin: ChildStdin) -> (WatchedInput, Self) {
        let written = Arc::<AtomicU64>::default();
        let watch = Self {
            #[cfg(unix)]
            pipe: std::os::fd::AsFd::as_fd(&stdin).try_clone_to_owned().ok(),
            written: Arc::clone(&written),
        };
        (WatchedInput { stdin, written }, watch)
    }

    /// True if the child has read none of it. Where the system does not say, it counts as read.
    #[cfg(unix)]
    pub(in crate::tools) fn is_unread(&self) -> bool {
        let written = self.written.load(Ordering::Relaxed);
        let pipe = self.pipe.as_ref().filter(|_| written > 0);
        pipe.is_some_and(|pipe| rustix::io::ioctl_fionread(pipe).is_ok_and(|left| left >= written))
    }

    #[cfg(not(unix))]
    #[expect(clippy::unused_self, reason = "elsewhere the pipe says it")]
    pub(in crate::tools) const fn is_unread(&self) -> bool {
        false
    }
}

impl AsyncWrite for WatchedInput {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stdin).poll_write(context, bytes);
        if let Poll::Ready(Ok(count)) = written {
            let count = u64::try_from(count).unwrap_or(u64::MAX);
            self.written.fetch_add(count, Ordering::Relaxed);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stdin).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stdin).poll_shutdown(context)
    }
}

impl Program<'_> {
    fn not_started(&self, error: &io::Error) -> ToolServerError {
        let command = self.command.to_owned();
        match error.kind() {
            io::ErrorKind::NotFound => ToolServerError::CommandNotFound { command },
            _ => ToolServerError::Spawn {
                command,
                reason: error.to_string(),
            },
        }
    }

    /// Returns the path for the system to look up.
    fn path(&self) -> PathBuf {
        let path = Path::new(self.command);
        if path.components().count() > 1 && path.is_relative() {
            self.folder.join(path)
        } else {
            path.to_owned()
        }
    }

    /// The file itself, as the system would look it up: a supervisor can only report that there is none.
    #[cfg(target_os = "linux")]
    fn file(&self) -> io::Result<PathBuf> {
        let runs = |path: &Path| {
            rustix::fs::access(path, rustix::fs::Access::EXEC_OK)?;
            if path.is_dir() {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            Ok(())
        };
        let path = self.path();
        if path.components().count() > 1 {
            return runs(&path).map(|()| path);
        }
        let known = self.sandbox.map_or(&[][..], |profile| &profile.search);
        let folders: Vec<PathBuf> = if known.is_empty() {
            let given = self.env.get("PATH").map(OsString::from);
            let folders = given.or_else(|| std::env::var_os("PATH"));
            let folders = folders.unwrap_or_default();
            let folders = std::env::split_paths(&folders);
            folders.map(|folder| self.workspace.join(folder)).collect()
        } else {
            // No program is started from the outside that a confined one may have made.
            let safe = known.iter().filter(|folder| !folder.is_writable);
            safe.map(|folder| folder.path.clone()).collect()
        };
        let mut fault = io::Error::from(io::ErrorKind::NotFound);
        for folder in folders {
            let file = folder.join(&path);
            match runs(&file) {
                Ok(()) => return Ok(file),
                Err(found) if found.kind() == io::ErrorKind::PermissionDenied => fault = found,
                Err(_) => {}
            }
        }
        Err(fault)
    }

    /// The command, and whether a supervisor runs it.
    fn command(&self) -> io::Result<(Command, bool)> {
        #[cfg(target_os = "linux")]
        if let Some(supervisor) = self.supervisor {
            let file = self.file()?;
            let mut command = Command::new(supervisor);
            command
                .arg(SUPERVISE_COMMAND)
                .arg(std::process::id().to_string());
            if let Some(profile) = self.sandbox {
                let profile = serde_json::to_string(&profile.at_start())?;
                command.arg(supervisor).arg(SANDBOX_COMMAND).arg(profile);
            }
            // Folders that are left again on the way are not there in a sandbox. A link at the end stays: an environment of Python is found by it.
            let is_confined = |profile: &SandboxProfile| profile.confined != Confined::Never;
            let folder = file
                .parent()
                .filter(|_| self.sandbox.is_some_and(is_confined));
            let folder = folder.and_then(|folder| folder.canonicalize().ok());
            let resolved = folder.zip(file.file_name());
            let resolved = resolved.map(|(folder, name)| folder.join(name));
            command.arg(resolved.unwrap_or(file));
            return Ok((command, true));
        }
        if self
            .sandbox
            .is_some_and(|profile| profile.confined != Confined::Never)
        {
            let words = "it is to run in the sandbox, which is built of parts that only Linux has, and by monolith itself";
            return Err(io::Error::new(io::ErrorKind::Unsupported, words));
        }
        Ok((Command::new(self.path()), false))
    }
}

impl Process {
    /// Starts a program in its workspace.
    pub(in crate::tools) fn start(
        program: &Program<'_>,
    ) -> Result<(Self, Streams), ToolServerError> {
        let spawn = |error: io::Error| program.not_started(&error);
        let (mut command, supervised) = program.command().map_err(spawn)?;
        command
            .args(program.args)
            .current_dir(program.workspace)
            .env_clear()
            .envs(
                INHERITED
                    .iter()
                    .filter_map(|name| std::env::var_os(name).map(|value| (*name, value))),
            )
            .envs(program.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut wrapped = CommandWrap::from(command);
        if !supervised {
            wrapped.wrap(KillOnDrop);
        }
        #[cfg(unix)]
        wrapped.wrap(process_wrap::tokio::ProcessGroup::leader());
        #[cfg(windows)]
        wrapped.wrap(process_wrap::tokio::JobObject);
        let mut process = Self {
            child: wrapped.spawn().map_err(spawn)?,
            #[cfg(unix)]
            last_words: None,
            supervised,
        };
        let (stdin, stdout, stderr) = (
            process.child.stdin().take(),
            process.child.stdout().take(),
            process.child.stderr().take(),
        );
        #[cfg(unix)]
        if supervised
            && program
                .sandbox
                .is_some_and(|profile| !profile.joined_output)
        {
            let stderr = stderr.as_ref().map(std::os::fd::AsFd::as_fd);
            process.last_words = stderr.and_then(|stderr| stderr.try_clone_to_owned().ok());
        }
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(spawn(io::Error::other(
                "its standard streams are not piped",
            )));
        };
        let streams = Streams {
            stderr,
            stdin,
            stdout,
        };
        Ok((process, streams))
    }

    /// Returns its exit status, if it ends within `timeouts`.
    pub(in crate::tools) async fn ended(&mut self, timeouts: Duration) -> Option<ExitStatus> {
        let wait = tokio::time::timeout(timeouts, self.child.wait()).await;
        wait.ok().and_then(Result::ok)
    }

    /// Waits for the child to end, its input being closed; then SIGTERM, then SIGKILL, to the whole group. Returns the line of its sandbox about
    /// writes that ended with it.
    pub(in crate::tools) async fn end(mut self) -> Option<String> {
        if self.ended(END_BY_ITSELF).await.is_some() {
            return self.discarded_writes();
        }
        #[cfg(unix)]
        if self.child.signal(SIGTERM).is_ok() && self.ended(END_ON_SIGNAL).await.is_some() {
            return self.discarded_writes();
        }
        self.kill();
        let _ = self.ended(END_ON_SIGNAL).await;
        None
    }

    /// The line of the sandbox in what the child wrote to its standard error at its end.
    #[cfg(unix)]
    fn discarded_writes(&mut self) -> Option<String> {
        let last_words = self.last_words.take()?;
        let mut bytes = vec![0; LAST_WORDS];
        // The transport has set it not to wait.
        let read = rustix::io::read(&last_words, bytes.as_mut_slice()).ok()?;
        let text = String::from_utf8_lossy(bytes.get(..read)?).into_owned();
        let mut lines = text.lines().rev();
        let line = lines.find_map(|line| line.strip_prefix(DISCARDED_WRITES))?;
        Some(line.to_owned())
    }

    #[cfg(not(unix))]
    #[expect(
        clippy::unused_self,
        clippy::needless_pass_by_ref_mut,
        reason = "there is no sandbox"
    )]
    const fn discarded_writes(&mut self) -> Option<String> {
        None
    }

    /// A handle on its end.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(clippy::unused_self, reason = "others have no handle")
    )]
    pub(in crate::tools) fn gone(&self) -> Gone {
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{Pid, PidfdFlags, pidfd_open};

            let pid = self.child.id().and_then(|id| i32::try_from(id).ok());
            let pid = pid.and_then(Pid::from_raw);
            let process = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
            Gone { process }
        }
        #[cfg(not(target_os = "linux"))]
        Gone::default()
    }

    /// Kills it and its group.
    pub(in crate::tools) fn kill(&mut self) {
        #[cfg(target_os = "linux")]
        if self.supervised {
            // The supervisor must outlive what it is to kill.
            let pid = self.child.id().and_then(|id| i32::try_from(id).ok());
            if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::USR1);
            }
            return;
        }
        // Fails only where nothing is left to kill.
        let _ = self.child.start_kill();
    }
}

/// The end of a child, for a waiter that does not own the child.
#[derive(Debug, Default)]
pub(in crate::tools) struct Gone {
    #[cfg(target_os = "linux")]
    process: Option<std::os::fd::OwnedFd>,
}

impl Gone {
    /// Waits for it, at most so long; false if it is not gone then. Where a system offers no such handle, nothing is waited for.
    pub(in crate::tools) fn wait(&self, within: Duration) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(process) = &self.process {
            use rustix::event::{PollFd, PollFlags, Timespec, poll};

            let within = Timespec::try_from(within).ok();
            let mut ended = [PollFd::new(process, PollFlags::IN)];
            return matches!(poll(&mut ended, within.as_ref()), Ok(1..));
        }
        #[cfg(not(target_os = "linux"))]
        let _ = within;
        true
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
