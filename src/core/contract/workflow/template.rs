//! Texts with places for outputs of earlier steps. Does not know which steps there are.

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::contract::AgentId;
use crate::contract::value_bounds::pattern_states;

/// A text whose placeholders were read: `${input}`, `${steps.ID.output}`, in a `for_each` `${item}` and `${index}`, in a compensation
/// `${output}`. `$${` stands for `${` itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template(Vec<Part>);

/// One part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The text itself.
    Text(String),
    /// The input of the workflow.
    Input,
    /// The item of the innermost `for_each`.
    Item,
    /// Its number, from 0.
    Index,
    /// The output of an earlier step.
    Output(StepId),
    /// The output of the step being compensated.
    Compensated,
}

/// The reason a text is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateFault {
    /// `${` without its `}`.
    #[error("a placeholder is not closed: `${{` without `}}`")]
    Open,
    /// No placeholder of that name.
    #[error("there is no placeholder `${{{0}}}`")]
    Unknown(String),
}

impl Template {
    /// Reads a text.
    ///
    /// # Errors
    /// [`TemplateFault`] for the first placeholder that is none.
    pub(crate) fn parse(text: &str) -> Result<Self, TemplateFault> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let (before, from) = rest.split_at(at);
            let from = from.get(2..).unwrap_or_default();
            if let Some(before) = before.strip_suffix('$') {
                literal.push_str(before);
                literal.push_str("${");
                rest = from;
                continue;
            }
            literal.push_str(before);
            let (name, after) = from.split_once('}').ok_or(TemplateFault::Open)?;
            if !literal.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut literal)));
            }
            parts.push(placeholder(name)?);
            rest = after;
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Text(literal));
        }
        Ok(Self(parts))
    }

    /// Its parts, in their order.
    pub(crate) fn parts(&self) -> &[Part] {
        &self.0
    }

    /// The text with `value` in the places; `None` if it has more than `most` bytes.
    pub(crate) fn filled(&self, most: usize, value: &dyn Fn(&Part) -> String) -> Option<String> {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Text(literal) => text.push_str(literal),
                part => text.push_str(&value(part)),
            }
            if text.len() > most {
                return None;
            }
        }
        Some(text)
    }
}

fn placeholder(name: &str) -> Result<Part, TemplateFault> {
    let unknown = || TemplateFault::Unknown(name.chars().take(80).collect());
    match name.trim() {
        "input" => Ok(Part::Input),
        "item" => Ok(Part::Item),
        "index" => Ok(Part::Index),
        "output" => Ok(Part::Compensated),
        name => {
            let id = name.strip_prefix("steps.");
            let id = id.and_then(|id| id.strip_suffix(".output"));
            let id = id.and_then(|id| StepId::try_from(id.to_owned()).ok());
            id.map(Part::Output).ok_or_else(unknown)
        }
    }
}

/// A question about a step that has ended, or has not run: then its output is empty, and it has not succeeded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The step.
    pub step: StepId,
    /// The question.
    pub test: Test,
}

/// A test of the step's output, without white space at its ends, or of its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    content = "value",
    rename_all = "snake_case",
    deny_unknown_fields
)]
pub enum Test {
    /// True if it equals that text.
    Equals(String),
    /// True if it differs.
    NotEquals(String),
    /// True if it contains the text.
    Contains(String),
    /// True if it does not.
    NotContains(String),
    /// True if the regular expression matches somewhere in it.
    Matches(String),
    /// True if the step completed; with `false`, if it did not.
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

    /// Returns why its pattern cannot be matched in linear time; `None` if it can, or if there is no pattern.
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

/// The name of a step, with the form of an agent's.
pub type StepId = AgentId;
