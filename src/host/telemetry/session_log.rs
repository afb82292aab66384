//! The log of a session and of its operations, for readers of snapshots (001 §12). A function of the accounting and of the record. It
//! holds reasons of failures and no other text of a model or a tool: the transcript has that.

use serde::Serialize;

use super::accounting::{AccountingLine, AccountingStatus, LlmLine, ToolLine};
use super::exit_tag::ExitTag;
use super::log_line::Severity;
use super::reason::why;
use monolith_core::view::RunView;

/// An entry of a log.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LogEntry {
    timestamp: u64,
    severity: Severity,
    turn: u32,
    /// `request` or `response`; absent of an entry of the session itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    direction: Option<&'static str>,
    /// `llm`, `tool` or `system`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// `provider:model` or `server:tool`, as in the accounting; the session's own name.
    remote_identifier: String,
    /// True if the session ended with it and failed.
    fatal: bool,
    message: String,
}

impl LogEntry {
    /// The entries of a request or a call: that it began, and how it ended.
    pub(super) fn of_line(line: &AccountingLine) -> Vec<Self> {
        let (begun, done) = match line {
            AccountingLine::Llm(line) => (format!("attempt {}", line.attempt), answered(line)),
            AccountingLine::Tool(line) => {
                let sent = format!("{} bytes of arguments", line.characters_in);
                (sent, returned(line))
            }
        };
        let (turn, at, latency, status, kind) = match line {
            AccountingLine::Llm(line) => {
                (line.turn, line.timestamp, line.latency, line.status, "llm")
            }
            AccountingLine::Tool(line) => {
                (line.turn, line.timestamp, line.latency, line.status, "tool")
            }
        };
        let severity = match status {
            AccountingStatus::Ok => Severity::Verbose,
            AccountingStatus::Failed => Severity::Error,
        };
        let entry = |timestamp, severity, direction, message| Self {
            timestamp,
            severity,
            turn,
            direction: Some(direction),
            kind,
            remote_identifier: remote(line),
            fatal: false,
            message,
        };
        vec![
            entry(at, Severity::Verbose, "request", begun),
            entry(at.saturating_add(latency), severity, "response", done),
        ]
    }

    /// The entry of the session's beginning.
    pub(super) fn of_start(view: &RunView) -> Self {
        let message = format!("begun under contract {}", view.contract().contract_id());
        let at = (view.started_unix_ms(), 0);
        Self::of_session(view, at, Severity::Verbose, message)
    }

    /// The entry of its end in that turn: the exit tag, the outcome, and why. `None` of a session in progress.
    pub(super) fn of_end(view: &RunView, turn: u32) -> Option<Self> {
        let outcome = view.outcome()?;
        let tag = ExitTag::of_run(view, outcome).as_str();
        let why = why(view).map_or_else(String::new, |why| format!(": {why}"));
        let at = (view.unix_ms(view.at_ms()), turn);
        let message = format!("{tag}: {outcome}{why}");
        Some(Self {
            fatal: !outcome.class.is_success(),
            ..Self::of_session(view, at, Severity::Final, message)
        })
    }

    fn of_session(
        view: &RunView,
        (timestamp, turn): (u64, u32),
        severity: Severity,
        message: String,
    ) -> Self {
        Self {
            timestamp,
            severity,
            turn,
            direction: None,
            kind: "system",
            remote_identifier: view.run_id().map(ToString::to_string).unwrap_or_default(),
            fatal: false,
            message,
        }
    }
}

/// Summarises an answer in numbers, or states the reason of its failure.
fn answered(line: &LlmLine) -> String {
    let (tokens, latency) = (&line.tokens, line.latency);
    match &line.error {
        Some(error) => format!("{error}, {latency} ms"),
        None => format!(
            "tokens {} in, {} out, {} cached, {latency} ms",
            tokens.input_tokens, tokens.output_tokens, tokens.cached_tokens
        ),
    }
}

/// Summarises a result in numbers, or states the reason of its failure.
fn returned(line: &ToolLine) -> String {
    let latency = line.latency;
    match &line.error {
        Some(error) => format!("{error}, {latency} ms"),
        None => format!("ok, {} bytes, {latency} ms", line.characters_out),
    }
}

/// The model or the tool that was asked.
fn remote(line: &AccountingLine) -> String {
    match line {
        AccountingLine::Llm(line) => format!("{}:{}", line.provider, line.model),
        AccountingLine::Tool(line) => format!("{}:{}", line.mcp_server, line.command),
    }
}
