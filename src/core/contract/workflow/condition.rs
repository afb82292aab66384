//! What an `if` or a `while` asks of an earlier step. Does not know which step that is.

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::StepId;
use crate::contract::pattern_states::pattern_states;

/// A question about a step that has ended, or has not run: then its output is empty, and it has not succeeded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The step.
    pub step: StepId,
    /// The question.
    pub test: Test,
}

/// What is asked of the step's output, white space at its ends left out, or of its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    content = "value",
    rename_all = "snake_case",
    deny_unknown_fields
)]
pub enum Test {
    /// Whether it is that text.
    Equals(String),
    /// Whether it is another.
    NotEquals(String),
    /// Whether the text is in it.
    Contains(String),
    /// Whether it is not.
    NotContains(String),
    /// Whether the regular expression finds something in it.
    Matches(String),
    /// Whether the step has completed, or else has not.
    Succeeded(bool),
}

impl Test {
    /// The answer for a step that ended `ok` with that output.
    pub(crate) fn holds(&self, ok: bool, output: &str) -> bool {
        let output = output.trim();
        match self {
            Self::Equals(text) => output == text.trim(),
            Self::NotEquals(text) => output != text.trim(),
            Self::Contains(text) => output.contains(text.as_str()),
            Self::NotContains(text) => !output.contains(text.as_str()),
            // A definition whose pattern does not compile is never begun.
            Self::Matches(pattern) => Regex::new(pattern).is_ok_and(|regex| regex.is_match(output)),
            Self::Succeeded(wanted) => ok == *wanted,
        }
    }

    /// Why its pattern cannot be matched in linear time; `None` if it can, or there is none.
    pub(crate) fn fault(&self) -> Option<String> {
        let Self::Matches(pattern) = self else {
            return None;
        };
        let judged = pattern_states(pattern).map(|_| ());
        let judged = judged.and_then(|()| {
            let built = Regex::new(pattern).map(|_| ());
            built.map_err(|_| "its pattern is no regular expression".to_owned())
        });
        judged.err()
    }
}
