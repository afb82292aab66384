//! Invariant C as types: success under `required` takes a [`Proof`] by value, and only OBSERVE can make one.

use super::delegated::Delegated;
use super::{AgentOutcome, Outcome, OutcomeCode};
use crate::contract::ToolProof;
use crate::message::{EnvelopeStatus, ToolEnvelope};

/// That a validated call of this run was executed, in the sense of the contract's `tool_proof`.
///
/// Has no constructor but [`Proof::from_executed`], no Default and no Deserialize.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Proof {
    _made_by_observe: (),
}

impl Proof {
    /// The proof that an executed call gives, if its envelope is of the kind that the contract asks for.
    /// A call of an agent gives one of lineage where a tool of its run, or of one below it, returned an ok envelope.
    pub(super) fn from_executed(
        envelope: &ToolEnvelope,
        kind: ToolProof,
        delegated: Option<&Delegated>,
    ) -> Option<Self> {
        let is_ok = envelope.status == EnvelopeStatus::Ok;
        let counts = match kind {
            ToolProof::Executed => true,
            ToolProof::Succeeded => is_ok,
            ToolProof::Lineage => delegated.map_or(is_ok, |below| below.tools_ok > 0),
        };
        counts.then_some(Self {
            _made_by_observe: (),
        })
    }
}

/// Success under `required`: impossible to call without a proof.
pub(super) fn required_success(_proof: Proof, code: OutcomeCode) -> Outcome {
    Outcome::new(AgentOutcome::CompletedWithTools, code)
}

/// Success under `optional` and `forbidden`: with tools exactly where a call was executed.
pub(super) const fn unproven_success(executed: u64, code: OutcomeCode) -> Outcome {
    let class = if executed > 0 {
        AgentOutcome::CompletedWithTools
    } else {
        AgentOutcome::CompletedChatOnly
    };
    Outcome::new(class, code)
}
