//! The lines of a host, and the error that answers one. Takes nothing from them.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, BufRead};

use serde::de::{DeserializeOwned, Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use crate::source::new_run_id;
use monolith_core::message::{Digest, RunId};
use monolith_core::session::Input;
use monolith_core::transcript::MAX_LINE_BYTES;

/// A line of a host.
pub(super) enum HostLine {
    /// An input of the open session, with its moment.
    Input(u64, Box<Input>),
    /// A line that opens or continues a session.
    Session(SessionLine),
}

/// A line that opens or continues a session.
#[derive(Deserialize)]
#[serde(tag = "session", rename_all = "snake_case")]
pub(super) enum SessionLine {
    /// Makes a contract, and opens a run under it.
    Make(Box<Make>),
    /// Opens a run under a contract that was made before.
    New(Opening),
    /// Opens a run that is made again from its record.
    Recorded(Opening),
    /// Continues the recorded run from the end of its record.
    Resume(Resume),
}

/// The material of a contract and of a run under it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Make {
    /// Text of a contract file.
    pub(super) contract: String,
    #[serde(deserialize_with = "new_run")]
    pub(super) run_id: RunId,
    /// Values that must not be recorded.
    #[serde(default)]
    pub(super) secrets: Vec<String>,
    /// The tools of each server that the contract names.
    #[serde(default)]
    pub(super) servers: BTreeMap<String, Vec<OfferedTool>>,
    /// The task; that of the contract if it is absent.
    #[serde(default)]
    pub(super) task: Option<String>,
    /// Wall-clock time, in milliseconds since 1970-01-01 UTC.
    pub(super) unix_ms: u64,
}

/// A tool as the host offers it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfferedTool {
    #[serde(default)]
    pub(super) annotations: Value,
    #[serde(default)]
    pub(super) description: String,
    pub(super) input_schema: Value,
    pub(super) name: String,
}

/// The first line of a transcript, which has the contract and the name of the run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Opening {
    pub(super) header: String,
    /// Values that must not be recorded.
    #[serde(default)]
    pub(super) secrets: Vec<String>,
}

/// The end of a record.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Resume {
    /// The hash of its last entry.
    pub(super) head: Digest,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InputLine {
    at_ms: u64,
    input: Box<Input>,
}

fn new_run<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RunId, D::Error> {
    let text = String::deserialize(deserializer)?;
    new_run_id(&text).map_err(D::Error::custom)
}

/// The key that tells the two kinds of lines apart.
#[derive(Deserialize)]
struct Kind {
    session: Option<IgnoredAny>,
}

impl HostLine {
    pub(super) fn read(line: &[u8]) -> Result<Self, Refusal> {
        let text = std::str::from_utf8(line).map_err(Refusal::malformed)?;
        let Kind { session } = read(text)?;
        if session.is_some() {
            return Ok(Self::Session(read(text)?));
        }
        let InputLine { at_ms, input } = read(text)?;
        Ok(Self::Input(at_ms, input))
    }
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, Refusal> {
    serde_json::from_str(text).map_err(Refusal::malformed)
}

/// A line that is not taken. Nothing has changed.
#[derive(Debug)]
pub(super) struct Refusal {
    kind: RefusalKind,
    message: String,
}

/// The cause of a refusal.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum RefusalKind {
    /// No run is possible under the contract, or with the tools.
    Contract,
    /// The line is no line of the protocol.
    Malformed,
    /// The recorded events do not give the recorded entries.
    Record,
    /// The session takes no such input now.
    Refused,
    /// The machine of this process is at fault.
    System,
    /// The line comes at the wrong time.
    Unexpected,
}

impl Refusal {
    pub(super) fn contract(why: impl Display) -> Self {
        Self::of(RefusalKind::Contract, why)
    }

    pub(super) fn malformed(why: impl Display) -> Self {
        Self::of(RefusalKind::Malformed, why)
    }

    pub(super) fn record(why: impl Display) -> Self {
        Self::of(RefusalKind::Record, why)
    }

    pub(super) fn refused(why: impl Display) -> Self {
        Self::of(RefusalKind::Refused, why)
    }

    pub(super) fn system(why: impl Display) -> Self {
        Self::of(RefusalKind::System, why)
    }

    pub(super) fn unexpected(why: impl Display) -> Self {
        Self::of(RefusalKind::Unexpected, why)
    }

    fn of(kind: RefusalKind, why: impl Display) -> Self {
        let message = why.to_string();
        Self { kind, message }
    }

    /// Returns the answer to the line of that number, from 1.
    pub(super) fn answer(&self, line: u64) -> Value {
        json!({"error": {"kind": self.kind, "line": line, "message": self.message}})
    }
}

/// The next part of the host's input.
pub(super) enum NextLine {
    End,
    /// A whole line; it is in the buffer, without its line feed.
    Line,
    /// A line that is no line of the protocol, and the reason.
    Unusable(&'static str),
}

/// Reads the next line into `line`. A line that is too long is passed over.
pub(super) fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<NextLine> {
    line.clear();
    let mut is_long = false;
    loop {
        let piece = match input.fill_buf() {
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => continue,
            piece => piece?,
        };
        if piece.is_empty() {
            let is_end = line.is_empty() && !is_long;
            return Ok(if is_end {
                NextLine::End
            } else {
                NextLine::Unusable(
                    "the input ends within the line: each line ends with a line feed",
                )
            });
        }
        let end = piece.iter().position(|byte| *byte == b'\n');
        let part = piece.get(..end.unwrap_or(piece.len())).unwrap_or_default();
        is_long |= line.len().saturating_add(part.len()) > MAX_LINE_BYTES;
        if is_long {
            line.clear();
        } else {
            line.extend_from_slice(part);
        }
        let read = part.len().saturating_add(usize::from(end.is_some()));
        input.consume(read);
        match end {
            Some(_) if is_long => return Ok(NextLine::Unusable("a line has at most 128 MiB")),
            Some(_) => return Ok(NextLine::Line),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_the_input_ends_within_is_no_line_and_loses_none_before() {
        let mut input = &b"one\n\ntwo"[..];
        let mut line = Vec::new();
        let mut next = |expect: &[u8]| {
            let read = next_line(&mut input, &mut line).unwrap();
            assert_eq!(line, expect);
            read
        };
        assert!(matches!(next(b"one"), NextLine::Line));
        assert!(matches!(next(b""), NextLine::Line));
        assert!(matches!(next(b"two"), NextLine::Unusable(_)));
        assert!(matches!(next(b""), NextLine::End));
    }

    #[test]
    fn a_line_is_an_input_or_opens_a_session_and_has_no_other_member() {
        let kind = |line: &str| match HostLine::read(line.as_bytes()) {
            Ok(HostLine::Input(..)) => "input",
            Ok(HostLine::Session(_)) => "session",
            Err(refusal) => {
                assert!(matches!(refusal.kind, RefusalKind::Malformed), "{line}");
                "malformed"
            }
        };
        let check = |line: &str, expect: &str| assert_eq!(kind(line), expect, "{line}");
        check(r#"{"at_ms": 1, "input": {"kind": "timer"}}"#, "input");
        check(r#"{"session": "new", "header": "{}"}"#, "session");
        check(
            r#"{"at_ms": 1, "input": {"kind": "timer"}, "x": 1}"#,
            "malformed",
        );
        check(r#"{"session": "new", "header": "{}", "x": 1}"#, "malformed");
        check(r#"{"session": "none"}"#, "malformed");
        check(r#"{"at_ms": 1, "input": {"kind": "none"}}"#, "malformed");
        check(r#"{"input": {"kind": "timer"}}"#, "malformed");
        check("", "malformed");
    }
}
