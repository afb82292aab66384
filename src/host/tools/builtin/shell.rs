//! The tool `shell`: runs a command and returns what it wrote. What the command may reach is decided by the sandbox it is started in; no part of it is
//! read here.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::change_log::ChangeLog;
use super::git_guard::GitGuard;
use super::guarded_command::GuardedCommand;
use super::watched::Watched;
use super::workspace::{Refusal, Workspace};
use crate::tools::command::{program_of, variables_of};
use crate::tools::envelope::ToolResponse;
use crate::tools::process::Process;
use crate::tools::{CallTerms, ShellSpec};
use monolith_core::message::{Scrubber, amount, char_prefix};

/// Bytes of the beginning of an output that are kept, and as many of its end.
const KEPT_BYTES: usize = 2 * 1024 * 1024;
/// Bytes at the front of an end that was cut there which are not shown: they may be the rest of a secret, which no one could recognise any more.
const OVERLAP_BYTES: usize = 128 * 1024;
/// Bytes of a result that are left for what is said about the output.
const WORDS_BYTES: usize = 160;
/// A command that was killed, or whose output has ended, has so long to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(5);
/// The exit code of the sandbox's own process where it has started nothing.
const NOT_STARTED: i32 = 125;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shell {
    command: String,
    timeout_ms: Option<u64>,
}

pub(super) fn description() -> String {
    "Runs a command with /bin/sh in the workspace and returns its exit code and what it wrote to both of its outputs. It has no input. Of a long output the \
     beginning and the end are returned. Processes that it leaves behind are killed."
        .to_owned()
}

pub(super) fn properties() -> Value {
    json!({
        "command": {"type": "string", "minLength": 1, "description": "The command, as for sh -c."},
        "timeout_ms": {"type": "integer", "minimum": 1, "description": "Milliseconds after which it is killed. Default: the contract's tool_timeout_ms, which holds in any case."},
    })
}

/// The end of a command.
enum Ended {
    Exited(i32),
    Killed(u64),
}

/// Runs a command to its end. Dropping the future kills it, and everything that it has started.
pub(super) async fn perform(
    (shell, workspace, git): (Option<&ShellSpec>, &Workspace, &Arc<GitGuard>),
    request: Shell,
    terms: &CallTerms<'_>,
    log: &ChangeLog,
) -> Result<ToolResponse, Refusal> {
    let not_run = |message: String| Refusal {
        code: "SHELL_NOT_STARTED",
        message,
    };
    let Some(shell) = shell else {
        return Err(not_run("this host has no shell".to_owned()));
    };
    let (args, env) = (["-c".to_owned(), request.command], variables_of(shell));
    let program = program_of(shell, &args, &env);
    let mut guarded = GuardedCommand::begin(git, workspace).await?;
    let watched = match log.files() {
        Some(files) => Some(Watched::begin(files, workspace).await?),
        None => None,
    };
    let started = Process::start(&program);
    let (mut process, streams) = started.map_err(|fault| not_run(format!("failed to {fault}")))?;
    guarded.started(process.gone());
    // It has no input.
    drop(streams.stdin);
    let mut output = Output::default();
    let mut own = Output::default();
    let limit = request.timeout_ms.unwrap_or(terms.timeout_ms);
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
    let in_time = tokio::time::timeout(Duration::from_millis(limit), whole).await;
    let ended = if in_time.is_ok() {
        let status = process.ended(GONE_WITHIN).await;
        Ended::Exited(status.and_then(|status| status.code()).unwrap_or(-1))
    } else {
        process.kill();
        let _gone = process.ended(GONE_WITHIN).await;
        Ended::Killed(limit)
    };
    let repositories = guarded.end().await;
    if let Some(watched) = watched {
        log.note_all(watched.changes(workspace).await);
    }
    let words = terms.scrub.cut_text(&repositories.words());
    // The command's errors are its output: this text is the sandbox's own.
    let own = own.text(terms.scrub, WORDS_BYTES * 4);
    match ended {
        Ended::Exited(NOT_STARTED) if !own.is_empty() => Err(not_run(own.trim().to_owned())),
        ended => Ok(response(&ended, &output, &words, terms)),
    }
}

fn response(
    ended: &Ended,
    output: &Output,
    repositories: &str,
    terms: &CallTerms<'_>,
) -> ToolResponse {
    let limit = usize::try_from(terms.output_limit_bytes).unwrap_or(usize::MAX);
    let words = WORDS_BYTES.saturating_add(repositories.len());
    let text = output.text(terms.scrub, limit.saturating_sub(words));
    let (words, code) = match ended {
        Ended::Exited(0) => ("exit code 0".to_owned(), None),
        Ended::Exited(code) => (format!("exit code {code}"), Some(format!("EXIT_{code}"))),
        Ended::Killed(limit) => (
            format!("killed after {limit} ms"),
            Some("KILLED".to_owned()),
        ),
    };
    let mut said = words;
    said.push_str(repositories);
    if !text.is_empty() {
        let _ = write!(said, "\n{text}");
    }
    let mut response = ToolResponse::of_text(said);
    if let Some(code) = code {
        response.mark_failed_as(code);
    }
    response
}

/// The output of a command: its beginning, and its end if that is not all.
#[derive(Debug, Default)]
struct Output {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Output {
    /// Takes everything up to the end of a stream.
    async fn take(&mut self, mut from: impl AsyncRead + Unpin) -> std::io::Result<()> {
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
        self.total = self
            .total
            .saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        let room = KEPT_BYTES.saturating_sub(self.head.len()).min(bytes.len());
        let (head, tail) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.head.extend_from_slice(head);
        self.tail.extend(tail);
        let over = self.tail.len().saturating_sub(KEPT_BYTES);
        self.tail.drain(..over);
    }

    /// Returns the output without secrets, in about `limit` bytes: the whole, or its beginning and its end.
    fn text(&self, scrub: &dyn Scrubber, limit: usize) -> String {
        let kept = u64::try_from(self.head.len() + self.tail.len()).unwrap_or(u64::MAX);
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        // Secrets go before anything is cut: a part of one is not recognised.
        let (head, tail) = if kept == self.total {
            let whole = [self.head.as_slice(), &tail].concat();
            let whole = scrub.owned_text(String::from_utf8_lossy(&whole).into_owned());
            if whole.len() <= limit {
                return whole;
            }
            (whole.clone(), whole)
        } else {
            let tail = scrub.owned_text(String::from_utf8_lossy(&tail).into_owned());
            let shown = char_suffix(&tail, tail.len().saturating_sub(OVERLAP_BYTES)).to_owned();
            (scrub.cut_text(&String::from_utf8_lossy(&self.head)), shown)
        };
        let head = char_prefix(&head, limit / 4);
        let tail = char_suffix(&tail, limit.saturating_sub(limit / 4));
        let all = usize::try_from(self.total).unwrap_or(usize::MAX);
        format!(
            "{head}\n[the beginning and the end of {}]\n{tail}",
            amount(all, "byte")
        )
    }
}

/// The longest end of a text that has at most so many bytes.
fn char_suffix(text: &str, bytes: usize) -> &str {
    let mut from = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text.get(from..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use monolith_core::message::NoSecrets;

    fn output(bytes: &[u8]) -> Output {
        let mut output = Output::default();
        for part in bytes.chunks(65_536) {
            output.push(part);
        }
        output
    }

    #[test]
    fn a_short_output_is_shown_as_it_is() {
        assert_eq!(output(b"one\ntwo\n").text(&NoSecrets, 100), "one\ntwo\n");
        assert_eq!(output(b"").text(&NoSecrets, 100), "");
    }

    #[test]
    fn of_a_long_output_the_beginning_and_the_end_are_shown() {
        let check = |length: usize, limit: usize| {
            let mut bytes = vec![b'x'; length];
            bytes[0] = b'A';
            bytes[length - 1] = b'Z';
            let output = output(&bytes);
            let text = output.text(&NoSecrets, limit);
            assert!(text.starts_with('A') && text.ends_with('Z'), "{length}");
            assert!(text.len() <= limit + WORDS_BYTES, "{length}");
            assert!(text.contains("the end of"), "{length}");
            assert!(output.head.len() + output.tail.len() <= 2 * KEPT_BYTES);
        };
        check(1_000, 100);
        check(3 * KEPT_BYTES, 12_000);
        check(9 * KEPT_BYTES + 7, 12_000);
    }

    #[test]
    fn a_character_is_shown_whole_or_not_at_all() {
        assert_eq!(char_suffix("aé", 1), "");
        assert_eq!(char_suffix("aé", 2), "é");
        assert_eq!(char_suffix("aé", 9), "aé");
    }
}
