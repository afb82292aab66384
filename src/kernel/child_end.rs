//! The end of a run below a run, as the run above it records it.

use serde::{Deserialize, Serialize};

use super::Outcome;
use crate::message::{Digest, RunId};

/// The end of a delegated run, as its seal has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChildEnd {
    /// Cost, that of the runs below it included, in millionths of a US dollar.
    pub cost_micro_usd: u64,
    /// How many entries it has.
    pub entries: u64,
    /// The hash of the last one.
    pub head: Digest,
    /// How it ended.
    pub outcome: Outcome,
    /// Its name.
    pub run_id: RunId,
    /// Tokens, those of the runs below it included.
    pub tokens: u64,
    /// Ok results of tools that are no agents, in it and in the runs below it.
    pub tools_ok: u64,
}
