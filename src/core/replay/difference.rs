//! One difference between a recording and its replay, and what to blame for it.

use std::fmt;

use serde::Serialize;

use crate::kernel::State;
use crate::transcript::{FirstBad, FlawKind};

/// The cause of a difference (semantics §10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Attribution {
    /// Stored bytes do not give the stored hash, or bytes that entries name are other bytes.
    Tampered,
    /// The contract is not the one that the run was begun with.
    Contract,
    /// This build encodes a request, or decodes a response, otherwise.
    Adapter,
    /// This build's machine decides otherwise.
    Kernel,
    /// The model, asked again, answers otherwise.
    Model,
    /// The tool, called again, answers otherwise, or is another tool.
    Tool,
    /// Entries or bytes are missing at the end.
    Truncated,
    /// There are entries after the seal.
    Extended,
    /// A format or semantics version that this build does not know.
    UnknownVersion,
}

impl Attribution {
    /// The attribution as it is written in files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tampered => "tampered",
            Self::Contract => "contract",
            Self::Adapter => "adapter",
            Self::Kernel => "kernel",
            Self::Model => "model",
            Self::Tool => "tool",
            Self::Truncated => "truncated",
            Self::Extended => "extended",
            Self::UnknownVersion => "unknown_version",
        }
    }
}

impl From<FlawKind> for Attribution {
    fn from(kind: FlawKind) -> Self {
        match kind {
            FlawKind::Tampered | FlawKind::Unsigned | FlawKind::SplitView => Self::Tampered,
            FlawKind::Truncated
            | FlawKind::Incomplete
            | FlawKind::MissingBlob
            | FlawKind::Rollback => Self::Truncated,
            FlawKind::Extended => Self::Extended,
            FlawKind::UnknownVersion => Self::UnknownVersion,
        }
    }
}

impl fmt::Display for Attribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One place where the recording and the replay are not the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The entry's number; of what is in no entry, a number that holds its place among the others.
    pub seq: u64,
    /// True if it is in no entry: in another line of a file, or in another table of the store.
    #[serde(skip)]
    pub is_outside: bool,
    /// The state after the entry, as recorded; absent where nothing is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// The turn; absent where nothing is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_id: Option<u32>,
    /// The field: an RFC 6901 pointer into `{action, event, hash}`.
    pub pointer: String,
    /// Recorded value, at most 400 bytes.
    pub expected: String,
    /// Value in the replay, at most 400 bytes.
    pub actual: String,
    /// Cause of the difference.
    pub attribution: Attribution,
}

impl Difference {
    /// The flaw that a verification found, as a difference: the evidence is not what was recorded. `entries` hold.
    #[must_use]
    pub fn of_flaw(flaw: &FirstBad, entries: u64) -> Self {
        let line = flaw.line.map(|line| format!(" (line {line})"));
        let location = line.or_else(|| flaw.table.map(|table| format!(" (table {table})")));
        Self {
            seq: flaw.seq.unwrap_or(entries),
            is_outside: flaw.seq.is_none(),
            state: None,
            step_id: None,
            pointer: format!("/{}", flaw.field.replace('.', "/")),
            expected: flaw.expected.clone(),
            actual: format!("{}{}", flaw.actual, location.unwrap_or_default()),
            attribution: flaw.kind.into(),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_outside {
            let state = self.state.map(|s| format!(" ({s})")).unwrap_or_default();
            write!(f, "entry {}{state}: ", self.seq)?;
        }
        write!(
            f,
            "{} differs ({}): recorded {}, replayed {}",
            self.pointer, self.attribution, self.expected, self.actual
        )
    }
}
