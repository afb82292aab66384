//! The flow of data: the labels of tool results, and the calls that may not follow certain results
//! (docs/design/information-flow.md). Plain data; `tool_labels` applies it to a tool, and the kernel tracks what a run has
//! seen.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The origin of a result, and whom it may reach.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Label {
    /// Not everyone may read it.
    Private,
    /// Neither of the others; it stands alone.
    Trusted,
    /// A stranger may have written it, instructions to the model included.
    Untrusted,
}

/// A rule for the labels of tool results. The first rule that matches a tool's name decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelRule {
    /// The labels.
    pub labels: BTreeSet<Label>,
    /// Exposed name of a tool; `*` stands for any characters.
    pub tool: String,
}

/// The action for a call to which a rule of `flow` applies.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FlowAction {
    /// A person is asked first.
    Ask,
    /// It is not made.
    Deny,
}

/// A flow of data that needs a person, or may not be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowRule {
    /// The action for such a call.
    pub action: FlowAction,
    /// The rule holds once the model was shown results of all these labels.
    pub from: BTreeSet<Label>,
    /// Exposed name of the tools that may not be called then; `*` stands for any characters. Left out: every tool that may send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Arguments. The rule does not hold for a call whose values of them all stand in what is not so labelled: the system prompt, the
    /// user's messages, other results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unless_given: Vec<String>,
}

impl FlowRule {
    /// `flow: trifecta`: private data, a stranger's words, and a way out.
    #[must_use]
    pub(crate) fn trifecta() -> Self {
        Self {
            action: FlowAction::Ask,
            from: BTreeSet::from([Label::Private, Label::Untrusted]),
            to: None,
            unless_given: Vec::new(),
        }
    }

    /// Its labels as a sentence names them.
    #[must_use]
    pub(crate) fn source_words(&self) -> String {
        let words: Vec<&str> = self.from.iter().map(|label| label.word()).collect();
        words.join(" and ")
    }
}

impl Label {
    /// The labels of a text of unknown origin: all of them, `trusted` left out.
    #[must_use]
    pub fn every() -> BTreeSet<Self> {
        BTreeSet::from([Self::Private, Self::Untrusted])
    }

    /// The record of labels that are known: `trusted` where there are none.
    #[must_use]
    pub fn recorded(labels: BTreeSet<Self>) -> BTreeSet<Self> {
        if labels.is_empty() {
            return BTreeSet::from([Self::Trusted]);
        }
        labels
    }

    /// The labels that a record states. One that is absent or empty states nothing: the text is private and untrusted.
    #[must_use]
    pub fn stated(recorded: Option<&BTreeSet<Self>>) -> BTreeSet<Self> {
        match recorded {
            Some(labels) if !labels.is_empty() => {
                let labels = labels.iter().copied();
                labels.filter(|label| *label != Self::Trusted).collect()
            }
            _ => Self::every(),
        }
    }

    /// As a contract writes it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
