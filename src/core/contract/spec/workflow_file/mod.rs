//! The author's file of a workflow (003): its steps, and the contract that its prompts and tools run under.
//!
//! Knows the keys of the file and of its steps, and which of them go together. The rules of a definition are `contract/workflow`'s:
//! they are shown where the file has what they are about. It reads no other file: what a step delegates to is opened by the caller.
//!
//! ```text
//! text ─▶ tree ─▶ steps, limits, strategies ─▶ WorkflowDefinition ─▶ its faults, at their places
//!            └─▶ `contract` ─▶ layers filled in ─▶ read as a contract file ─▶ ContractSpec of each step run
//! ```

mod keys;
mod workflow_spec;

pub(in crate::contract::spec) use keys::WORKFLOW_FILE;
pub use keys::tool_spec;
pub use workflow_spec::WorkflowSpec;
