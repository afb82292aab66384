use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

use crate::tools::ToolServerError;

/// Variables that a child inherits; everything else it gets from the author's map.
const INHERITED: &[&str] = &[
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

/// A running child and everything in its process group. Dropping it kills the group.
///
/// A descendant that makes a session of its own leaves the group and is not reached.
#[derive(Debug)]
pub(super) struct Process {
    child: Box<dyn ChildWrapper>,
}

/// The child's ends of its standard streams.
pub(super) struct Streams {
    pub(super) stderr: Option<ChildStderr>,
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
}

impl Process {
    /// Starts a program in `workspace`. A relative path with a separator is taken from there, a bare name from `PATH`.
    pub(super) fn start(
        command: &str,
        args: &[String],
        env: &BTreeMap<String, String>,
        workspace: &Path,
    ) -> Result<(Self, Streams), ToolServerError> {
        let spawn = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => ToolServerError::CommandNotFound {
                command: command.to_owned(),
            },
            _ => ToolServerError::Spawn {
                command: command.to_owned(),
                reason: error.to_string(),
            },
        };
        let path = Path::new(command);
        let mut program = if path.components().count() > 1 && path.is_relative() {
            Command::new(workspace.join(path))
        } else {
            Command::new(command)
        };
        program
            .args(args)
            .current_dir(workspace)
            .env_clear()
            .envs(
                INHERITED
                    .iter()
                    .filter_map(|name| std::env::var_os(name).map(|value| (*name, value))),
            )
            .envs(env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut wrapped = CommandWrap::from(program);
        wrapped.wrap(KillOnDrop);
        #[cfg(unix)]
        wrapped.wrap(process_wrap::tokio::ProcessGroup::leader());
        #[cfg(windows)]
        wrapped.wrap(process_wrap::tokio::JobObject);
        let mut process = Self {
            child: wrapped.spawn().map_err(spawn)?,
        };
        let (stdin, stdout, stderr) = (
            process.child.stdin().take(),
            process.child.stdout().take(),
            process.child.stderr().take(),
        );
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

    /// How it ended, where it ends within `patience`.
    pub(super) async fn ended(&mut self, patience: Duration) -> Option<ExitStatus> {
        let wait = tokio::time::timeout(patience, self.child.wait()).await;
        wait.ok().and_then(Result::ok)
    }

    /// Waits for the child to end, its input being closed; then SIGTERM, then SIGKILL, to the whole group.
    pub(super) async fn end(mut self) {
        if self.ended(END_BY_ITSELF).await.is_some() {
            return;
        }
        #[cfg(unix)]
        if self.child.signal(SIGTERM).is_ok() && self.ended(END_ON_SIGNAL).await.is_some() {
            return;
        }
        self.kill();
        let _ = self.ended(END_ON_SIGNAL).await;
    }

    fn kill(&mut self) {
        // Fails only where nothing is left to kill.
        let _ = self.child.start_kill();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
