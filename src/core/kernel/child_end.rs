//! The end of a run below a run, as the run above it records it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Outcome;
use crate::contract::Label;
use crate::message::{Digest, RunId};

/// The end of a delegated run: what its seal states, and the labels that it saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChildEnd {
    /// Cost, that of the runs below it included, in millionths of a US dollar.
    pub cost_micro_usd: u64,
    /// How many entries it has.
    pub entries: u64,
    /// The hash of the last one.
    pub head: Digest,
    /// The labels of all that its model was shown, child runs included: `trusted` where there are none, left out where they are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeSet<Label>>,
    /// How it ended.
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
