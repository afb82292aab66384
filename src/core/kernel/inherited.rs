//! The text that a run begins with and that neither its user nor its contract wrote: a task from a parent's model, the output of an
//! earlier step, an earlier conversation. Knows the labels of that text, not the rules about them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::contract::Label;

/// The inherited part of an opening conversation, and its labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inherited {
    /// The labels that the runs behind the text had seen.
    pub labels: BTreeSet<Label>,
    /// Number of messages, counted from the first, that belong to it. The contract's own system prompt may be among them; it has no
    /// labels.
    pub messages: u64,
}

impl Inherited {
    /// Text of unknown origin: private and untrusted.
    #[must_use]
    pub fn unknown(messages: u64) -> Self {
        let labels = Label::every();
        Self { labels, messages }
    }
}
