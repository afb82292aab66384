//! The execution contract: what a run may do, fixed before its first inference.
//!
//! Knows the immutable [`ExecutionContract`] (002 §4.1), the author's file it is made from, the
//! [`CapabilityManifest`] that bring-up found, the factory that turns both into a contract, the intent rules
//! that choose a tool policy, pins, profiles, and the compiled argument validators. It is pure: the same file and the
//! same manifest give the same bytes, whatever the machine, the folder or the time (semantics §8). It does not know how
//! tools are started, how a provider is reached, or what the machine does with the terms.
//!
//! ```text
//! file text ─▶ spec ─┐
//!                    ├─▶ ContractFactory ─▶ ExecutionContract ─▶ contract_hash
//! bring-up ─▶ manifest┘
//! ```

mod execution_contract;
mod manifest;
mod terms;

pub use execution_contract::{ContractDecodeError, ExecutionContract};
pub use manifest::{
    CapabilityManifest, ServerCapability, TargetCapability, ToolCapability, ToolPin,
};
pub use terms::{
    BigCount, CONTRACT_FORMAT, CallLimits, Completion, ContextBudget, ContractMetadata,
    CycleException, Grounds, Page, PolicyDecision, ProviderTerms, ProviderType, SEMANTICS_VERSION,
    Sampling, ServerKind, ServerTerms, TargetTerms, Terms, ToolOutputBudget, ToolPolicy, ToolProof,
    ToolTerms, ToolTransport,
};
