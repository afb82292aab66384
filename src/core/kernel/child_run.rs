//! The end of a run below a run, as the run above it records it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Outcome;
use crate::contract::{DelegationGrant, Label};
use crate::message::{Digest, RunId};

/// The end of a delegated run: what its seal states, and the labels that it saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChildEnd {
    /// Cost, that of the runs below it included, in millionths of a US dollar.
    pub cost_micro_usd: u64,
    /// Number of its entries.
    pub entries: u64,
    /// The hash of the last one.
    pub head: Digest,
    /// The labels of all that its model was shown, child runs included: `trusted` where there are none, left out where they are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeSet<Label>>,
    /// Its outcome.
    pub outcome: Outcome,
    /// Its name.
    pub run_id: RunId,
    /// Tokens, those of the runs below it included.
    pub tokens: u64,
    /// Ok results of tools that are no agents, in it and in the runs below it.
    pub tools_ok: u64,
}

impl ChildEnd {
    /// The labels of its report. Unknown ones count as private and untrusted.
    pub(super) fn report_labels(&self) -> BTreeSet<Label> {
        Label::stated(self.labels.as_ref())
    }
}

/// The state of an agent call while its message is processed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Delegated {
    /// The grant of its run; `None` if no run was started.
    pub(super) grant: Option<DelegationGrant>,
    /// The labels of its report, once it has returned.
    pub(super) labels: BTreeSet<Label>,
    /// Ok results of tools that are no agents, in its run and below.
    pub(super) tools_ok: u64,
}

/// The share of one message's agent calls whose file states none, for each call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) cost_micro_usd: Option<u64>,
    pub(super) tokens: u64,
}

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
