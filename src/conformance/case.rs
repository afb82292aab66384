//! The form of a case, as its file has it. What becomes of it is `case_row.rs`.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};
use serde_saphyr::Spanned;

use super::casting::Casting;
use super::expect::Expect;
use super::script::StepText;

/// One case as its file says it (corpus/README.md).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    /// The shown behaviour, as a sentence.
    pub(super) name: String,
    /// Sections of docs/audit/semantics.md.
    pub(super) proves: Vec<String>,
    /// Sentences of the session contract, by their ids in `sentences.yaml`, for cases of its guarantees.
    #[serde(default)]
    pub(super) session: Shown,
    /// Sentences of the machine's own contract, by their ids in `sentences_002.yaml`.
    #[serde(default)]
    pub(super) machine: Shown,
    /// True if its transcript is kept under replay/.
    #[serde(default)]
    pub(super) golden: bool,
    /// Keys of a contract file, laid over the base.
    #[serde(default)]
    pub(super) contract: Option<Spanned<Map<String, Value>>>,
    /// The results of bring-up, laid over the base.
    #[serde(default)]
    pub(super) servers: BTreeMap<String, ServerText>,
    /// Changes to the finished contract document.
    #[serde(default)]
    pub(super) document: Option<DocumentText>,
    #[serde(default)]
    pub(super) probe: ProbeText,
    #[serde(default)]
    pub(super) script: Vec<Spanned<StepText>>,
    pub(super) expect: Expect,
    /// The casting of the model, if it differs from the base.
    #[serde(skip)]
    pub(super) casting: Option<Casting>,
}

/// The sentences that a case shows, each with the assertion that carries it: a pointer into `expect`, or into `script`.
pub(super) type Shown = BTreeMap<String, String>;

/// `base.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Base {
    pub(super) contract: Map<String, Value>,
    pub(super) servers: BTreeMap<String, ServerText>,
}

/// One tool server as bring-up finds it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerText {
    #[serde(default = "yes")]
    pub(super) available: bool,
    #[serde(default)]
    pub(super) tools: BTreeMap<String, ToolText>,
}

/// One tool as its server offers it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolText {
    #[serde(default)]
    pub(super) description: String,
    pub(super) schema: Value,
    pub(super) schema_tokens: u64,
}

/// A contract document that somebody changed after it was made.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DocumentText {
    /// Keys of the document and their new values.
    #[serde(default)]
    pub(super) set: Map<String, Value>,
    /// True if the document is hashed again.
    #[serde(default)]
    pub(super) reseal: bool,
    /// True if the driver got the hash of another contract.
    #[serde(default)]
    pub(super) started_with_other_hash: bool,
}

/// The targets' answers to the probe.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ProbeText {
    /// True if only the step `probed` answers the probe.
    pub(super) held: bool,
    /// For each target in order whether it answers; all do where nothing is said.
    pub(super) responsive: Vec<bool>,
}

const fn yes() -> bool {
    true
}

impl Case {
    pub(super) fn parse(id: &str, text: &str) -> Result<Self, CaseError> {
        let case: Self = parse(&file_of(id), text)?;
        let refuse = |rule: &str| Err(CaseError::new(&file_of(id), None, rule));
        if !id.contains('/') {
            return refuse("a case stands in the folder of its group");
        }
        if case.proves.is_empty() || case.proves.iter().any(|section| !is_section(section)) {
            return refuse("`proves` lists sections of docs/audit/semantics.md, such as \"§2.3\"");
        }
        let of = |contract: &str, shown: &Shown| shown.keys().all(|id| is_sentence(contract, id));
        if !of("000/", &case.session) {
            let rule = "`session` has ids of sentences.yaml with the assertions that carry them, such as {000/5.source.1: report}";
            return refuse(rule);
        }
        if !of("002/", &case.machine) {
            let rule = "`machine` has ids of sentences_002.yaml with the assertions that carry them, such as {002/3.proof.1: outcome}";
            return refuse(rule);
        }
        case.expect.fault().map_or(Ok(case), |rule| refuse(&rule))
    }
}

impl Base {
    pub(super) fn parse(text: &str) -> Result<Self, CaseError> {
        parse("base.yaml", text)
    }
}

/// The file of a case, relative to the folder of the corpus; `@` and what plays the model are no part of its name.
pub(super) fn file_of(id: &str) -> String {
    format!("{}.yaml", bare(id))
}

/// The id of a case without what plays the model in it.
pub(super) fn bare(id: &str) -> &str {
    id.split_once('@').map_or(id, |(id, _)| id)
}

fn parse<'de, T: Deserialize<'de>>(file: &str, text: &'de str) -> Result<T, CaseError> {
    serde_saphyr::from_str(text).map_err(|error| {
        let line = error.location().map(|location| location.line());
        CaseError::new(file, line, error.without_snippet().to_string())
    })
}

/// `§` and a number, with parts after dots.
fn is_section(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    text.strip_prefix('§')
        .is_some_and(|number| number.split('.').all(digits))
}

/// The contract, the number of a section, a subject and a running number, with dots between the last three.
fn is_sentence(contract: &str, text: &str) -> bool {
    let number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let word = |part: &str| part.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    let parts = text.strip_prefix(contract).map(|rest| rest.split('.'));
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    matches!(parts.as_slice(), [section, subject, n]
        if number(section) && word(subject) && !subject.is_empty() && number(n))
}

/// An error in a case, for its author to fix.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        let fault = Case::parse("group/case", text).unwrap_err().to_string();
        assert!(fault.starts_with(expect), "{text}\n{fault}");
    }

    #[test]
    fn an_unknown_key_is_refused_with_file_and_line() {
        let head = "name: a\nproves: [§1]\nexpect: {outcome: X}\n";
        let at = "group/case.yaml:";
        check(&format!("{head}scripts: []\n"), &format!("{at}4: "));
        check(
            &format!("{head}script:\n- stop\n- {{ok: a, okay: b}}\n"),
            &format!("{at}6: "),
        );
        check(&format!("{head}script:\n- halt\n"), &format!("{at}5: "));
        check(
            &format!("{head}servers:\n  fs: {{up: true}}\n"),
            &format!("{at}5: "),
        );
    }

    #[test]
    fn a_case_must_say_what_it_proves_and_expects() {
        check(
            "name: a\nproves: []\nexpect: {outcome: X}\n",
            "group/case.yaml: `proves`",
        );
        check(
            "name: a\nproves: [two]\nexpect: {outcome: X}\n",
            "group/case.yaml: `proves`",
        );
        check(
            "name: a\nproves: [§2.]\nexpect: {outcome: X}\n",
            "group/case.yaml: `proves`",
        );
        check(
            "name: a\nproves: [§2]\nexpect: {}\n",
            "group/case.yaml: `expect`",
        );
    }
}
