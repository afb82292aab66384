//! Names and numbers of runs, inferences and calls. Does not make them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The name of a run: 1 to 64 characters of `a-z 0-9 - _ .`, first a letter or digit.
///
/// ```
/// use monolith_core::message::RunId;
///
/// assert!(RunId::try_from("nightly-7".to_owned()).is_ok());
/// assert!(RunId::try_from("No!".to_owned()).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

/// A text that cannot name a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "run id {got:?} is not 1 to 64 characters of a-z 0-9 - _ . starting with a letter or digit{}",
    lower_case(got)
)]
pub struct RunIdError {
    /// The text as given, cut to 80 characters.
    pub got: String,
}

/// Suggests the lower-case form if capitals are the only fault.
fn lower_case(got: &str) -> String {
    let lower = got.to_ascii_lowercase();
    match RunId::try_from(lower) {
        Ok(lower) if lower.as_str() != got => format!("; {:?} would do", lower.as_str()),
        _ => String::new(),
    }
}

impl RunId {
    /// The most characters of one.
    const MOST_CHARS: usize = 64;

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RunId {
    type Error = RunIdError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
        let starts_well = text
            .chars()
            .next()
            .is_some_and(|c| c.is_ascii_alphanumeric());
        if starts_well && text.len() <= Self::MOST_CHARS && text.chars().all(allowed) {
            Ok(Self(text))
        } else {
            Err(RunIdError {
                got: text.chars().take(80).collect(),
            })
        }
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The number of an inference within its run, from 1. Retries and lost inferences count.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct InferenceSeq(pub u64);

/// The number of a tool call within its run, from 1, in call order.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct CallSeq(pub u64);

impl fmt::Display for InferenceSeq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for CallSeq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
