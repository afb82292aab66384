//! The sentences of the source contracts (corpus/sentences.yaml, _001, _002, _003, _004) and the Rust tests that show some of them
//! (corpus/tests.yaml, derived). Knows no case.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::CaseError;

/// The lists as texts: those of sentences, and which tests show which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentenceTexts {
    /// The session contract, `corpus/sentences.yaml`.
    pub session: String,
    /// The guide of agents' files, `corpus/sentences_001.yaml`.
    pub files: String,
    /// The machine's own contract, `corpus/sentences_002.yaml`.
    pub machine: String,
    /// The contract of agents, `corpus/sentences_003.yaml`.
    pub agents: String,
    /// The contract of work items, `corpus/sentences_004.yaml`.
    pub work: String,
    /// `corpus/tests.yaml`: for each id the tests that name it.
    pub tests: String,
}

/// The sentences of one subject.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Subject {
    /// `<section>.<subject>`; of 003 what its ids begin with, such as `AGT-SEL`.
    #[serde(rename = "subject")]
    pub(super) name: String,
    pub(super) title: String,
    pub(super) sentences: Vec<Sentence>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sentence {
    pub(super) id: String,
    #[serde(default)]
    pub(super) kind: SentenceKind,
    /// In our words.
    #[serde(default)]
    pub(super) says: Option<String>,
    /// In the contract's own words.
    #[serde(default)]
    pub(super) quote: Option<String>,
    /// Reason if nothing shows it.
    #[serde(default)]
    pub(super) why: Option<String>,
    /// Deliberate deviation of monolith, and its reason.
    #[serde(default)]
    pub(super) differs: Option<String>,
}

/// The kind of a sentence's proof.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SentenceKind {
    /// By cases of the corpus.
    #[default]
    Case,
    /// By tests of this package.
    Test,
    /// It cannot be observed.
    None,
    /// It belongs to a part that this version does not have.
    Later,
    /// It is not built yet.
    Open,
}

/// The tests that name a sentence, by its id.
pub(super) type TestsById = BTreeMap<String, Vec<String>>;

impl SentenceTexts {
    /// Each list of sentences, behind the name of its contract.
    pub(super) fn subjects(&self) -> Result<[(&'static str, Vec<Subject>); 5], CaseError> {
        Ok([
            ("000", parse("sentences.yaml", &self.session)?),
            ("001", parse("sentences_001.yaml", &self.files)?),
            ("002", parse("sentences_002.yaml", &self.machine)?),
            ("003", parse("sentences_003.yaml", &self.agents)?),
            ("004", parse("sentences_004.yaml", &self.work)?),
        ])
    }

    pub(super) fn tests(&self) -> Result<TestsById, CaseError> {
        parse("tests.yaml", &self.tests)
    }
}

fn parse<T: serde::de::DeserializeOwned>(file: &str, text: &str) -> Result<T, CaseError> {
    serde_saphyr::from_str(text).map_err(|error| {
        let line = error.location().map(|location| location.line());
        CaseError::new(file, line, error.without_snippet().to_string())
    })
}
