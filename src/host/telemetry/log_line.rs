//! A line of the log of a run (001 §1): its severity and its words. Does not print.

use std::fmt;

use serde::Serialize;

/// The severity of a line, or of an entry of a snapshot's log. `TRC` marks payloads, which `tracing` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Severity {
    /// The usual course.
    #[serde(rename = "VRB")]
    Verbose,
    /// A fault that the run survives.
    #[serde(rename = "WRN")]
    Warning,
    /// A failed call, or the end of a failed run.
    #[serde(rename = "ERR")]
    Error,
    /// The beginning of a model's thinking.
    #[serde(rename = "THK")]
    Thinking,
    /// The end of a run, and its usage.
    #[serde(rename = "FIN")]
    Final,
}

/// A line of `--verbose`. Words of models and tools appear unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Its severity.
    pub severity: Severity,
    /// The line without its severity.
    pub words: String,
}

impl LogLine {
    /// A line of that severity.
    #[must_use]
    pub const fn new(severity: Severity, words: String) -> Self {
        Self { severity, words }
    }
}

impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.severity {
            Severity::Verbose => "VRB",
            Severity::Warning => "WRN",
            Severity::Error => "ERR",
            Severity::Thinking => "THK",
            Severity::Final => "FIN",
        };
        write!(f, "[{mark}] {}", self.words)
    }
}
