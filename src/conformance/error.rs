//! What is wrong with a case, for its author.

use std::fmt;

/// What is wrong with a case: its author is to blame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {rule}", file, At(*line))]
pub struct CaseError {
    /// The file, relative to the folder of the corpus.
    pub file: String,
    /// The line, from 1; `None` if the fault is of the case as a whole.
    pub line: Option<u64>,
    /// The rule that it breaks.
    pub rule: String,
}

struct At(Option<u64>);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(line) => write!(f, ":{line}"),
            None => Ok(()),
        }
    }
}

impl CaseError {
    pub(super) fn new(file: &str, line: Option<u64>, rule: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line,
            rule: rule.into(),
        }
    }
}
