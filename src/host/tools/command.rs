//! A command that a host runs in a sandbox for itself, such as the tests of a work item. Keeps the end of its output alone. Is no tool.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::Path;
use std::time::Duration;

use monolith_core::message::{Digest, DigestBuilder};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio_util::sync::CancellationToken;

use super::ShellSpec;
use super::process::{Process, Program};
use super::sandbox::Confined;

const SHELL: &str = "/bin/sh";
/// Bytes of the end of an output that are kept.
const KEPT_BYTES: usize = 1024 * 1024;
/// A command that was killed, or whose output has ended, has so long to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(5);
/// The exit code of the sandbox's own process where it has started nothing.
const NOT_STARTED: i32 = 125;
/// Variables for temporary folders; the sandbox has a separate one.
const TEMPORARY: [&str; 3] = ["TEMP", "TMP", "TMPDIR"];

/// The end of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandEnd {
    /// Exit code; `None` if a signal ended it, or it was cancelled.
    pub exit_code: Option<i32>,
    /// The end of its output, at most 1 MiB.
    pub output: Vec<u8>,
    /// BLAKE3 of its whole output.
    pub output_digest: Digest,
}

/// Returns the variables of a command: those of its shell, and the separate folder for temporary files that a sandbox has.
pub(in crate::tools) fn variables_of(shell: &ShellSpec) -> BTreeMap<String, String> {
    let mut env = shell.env.clone();
    if shell.profile.confined != Confined::Never {
        env.extend(TEMPORARY.map(|name| (name.to_owned(), "/tmp".to_owned())));
    }
    env
}

/// Returns the program that runs a command of a shell.
pub(in crate::tools) fn program_of<'a>(
    shell: &'a ShellSpec,
    args: &'a [String],
    env: &'a BTreeMap<String, String>,
) -> Program<'a> {
    Program {
        args,
        command: SHELL,
        env,
        folder: Path::new("/"),
        sandbox: Some(&shell.profile),
        supervisor: shell.program.as_deref(),
        workspace: &shell.profile.workspace,
    }
}

/// Runs a command with `/bin/sh` to its end, or until `cancel` kills it with everything that it has started. It has no input, and both of its
/// outputs are one.
///
/// # Errors
/// The reason why it did not start, for people.
pub(crate) async fn run_command(
    shell: &ShellSpec,
    command: String,
    cancel: &CancellationToken,
) -> Result<CommandEnd, String> {
    let (args, env) = (["-c".to_owned(), command], variables_of(shell));
    let started = Process::start(&program_of(shell, &args, &env));
    let (mut process, streams) = started.map_err(|fault| format!("failed to {fault}"))?;
    drop(streams.stdin);
    let (mut output, mut own) = (Output::default(), Output::default());
    let whole = async {
        let errors = async {
            match streams.stderr {
                Some(errors) => own.take(errors).await,
                None => Ok(()),
            }
        };
        let (read, _) = tokio::join!(output.take(streams.stdout), errors);
        read
    };
    let exit_code = tokio::select! {
        biased;
        () = cancel.cancelled() => {
            process.kill();
            let _gone = process.ended(GONE_WITHIN).await;
            None
        }
        _read = whole => {
            let status = process.ended(GONE_WITHIN).await;
            status.and_then(|status| status.code())
        }
    };
    // The command's errors are its output: this text is the sandbox's own.
    let words = String::from_utf8_lossy(own.bytes()).trim().to_owned();
    if exit_code == Some(NOT_STARTED) && !words.is_empty() {
        return Err(words);
    }
    output.push(own.bytes());
    Ok(CommandEnd {
        exit_code,
        output_digest: output.digest.digest(),
        output: output.end.into(),
    })
}

/// The output of a command: its end, and the hash of all of it.
#[derive(Default)]
struct Output {
    digest: DigestBuilder,
    end: VecDeque<u8>,
}

impl Output {
    /// Takes everything up to the end of a stream.
    async fn take(&mut self, mut from: impl AsyncRead + Unpin) -> io::Result<()> {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let read = from.read(&mut buffer).await?;
            if read == 0 {
                return Ok(());
            }
            self.push(buffer.get(..read).unwrap_or_default());
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.digest.update(bytes);
        self.end.extend(bytes);
        let over = self.end.len().saturating_sub(KEPT_BYTES);
        self.end.drain(..over);
    }

    fn bytes(&mut self) -> &[u8] {
        self.end.make_contiguous()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_output_is_kept_with_the_hash_of_all_of_it() {
        let mut output = Output::default();
        let whole: Vec<u8> = (0..=u8::MAX).cycle().take(3 * KEPT_BYTES).collect();
        for part in whole.chunks(65_536) {
            output.push(part);
        }
        assert_eq!(output.bytes(), &whole[2 * KEPT_BYTES..]);
        assert_eq!(output.digest.digest(), Digest::of(&whole));
    }
}
