//! One flaw in stored evidence and what it amounts to. Does not search for flaws.

use std::fmt;

use serde::Serialize;

use crate::message::{char_prefix, escaped_line};

/// The kind of a flaw in stored evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FlawKind {
    /// Bytes differ from those that were written.
    Tampered,
    /// The end is missing.
    Truncated,
    /// Something follows where nothing may, or no entry names it.
    Extended,
    /// There is no seal: the run is in progress, was abandoned, or its end is missing.
    Incomplete,
    /// It was written in a format that this build does not read.
    UnknownVersion,
    /// An entry names a blob that is not there.
    MissingBlob,
    /// Less is here than an earlier record states: an older state was put back, or the end was removed.
    Rollback,
    /// Two heads that were noted cannot both be of one history.
    SplitView,
    /// It does not carry the signature that was asked for.
    Unsigned,
}

/// One flaw: which field, what it would have to be, and what it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{kind}: {}: expected {}, got {}",
    escaped_line(field),
    escaped_line(expected),
    escaped_line(actual)
)]
pub struct Flaw {
    /// Its kind.
    pub kind: FlawKind,
    /// The field of the line, or the column of the row.
    pub field: String,
    /// Expected value; at most 400 bytes.
    pub expected: String,
    /// The value there; at most 400 bytes.
    pub actual: String,
}

impl Flaw {
    /// A flaw of `kind` in `field`.
    #[must_use]
    pub fn new(
        kind: FlawKind,
        field: impl Into<String>,
        expected: impl fmt::Display,
        actual: impl fmt::Display,
    ) -> Self {
        Self {
            kind,
            field: field.into(),
            expected: shown(&expected),
            actual: shown(&actual),
        }
    }

    /// Bytes that differ from those that were written.
    #[must_use]
    pub fn tampered(
        field: impl Into<String>,
        expected: impl fmt::Display,
        actual: impl fmt::Display,
    ) -> Self {
        Self::new(FlawKind::Tampered, field, expected, actual)
    }
}

impl fmt::Display for FlawKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tampered => "tampered",
            Self::Truncated => "truncated",
            Self::Extended => "extended",
            Self::Incomplete => "incomplete",
            Self::UnknownVersion => "unknown version",
            Self::MissingBlob => "missing blob",
            Self::Rollback => "rollback",
            Self::SplitView => "split view",
            Self::Unsigned => "unsigned",
        })
    }
}

/// The text of a value, bounded: foreign bytes may be of any length.
fn shown(value: &impl fmt::Display) -> String {
    let mut text = value.to_string();
    text.truncate(char_prefix(&text, 400).len());
    text
}
