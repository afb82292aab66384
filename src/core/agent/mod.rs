//! Agents (003): which are registered, which one is for a task, and what is put into its prompt.
//!
//! Knows profiles as they were read, and texts of abilities. It opens no file and does not know where a profile is: the caller reads,
//! and is given what to run. Every decision is a function of what it is given, so the same task finds the same agent.
//!
//! ```text
//! profiles ─▶ Registry ─▶ select(task) ─▶ scores ─┐
//!                                                 ├─▶ AgentTerms of the contract
//! abilities, task ─▶ matched ─▶ injected ─▶ system┘
//! ```

mod ability;
mod injection;
mod registry;
mod selection;
mod workflow;

pub use ability::{Ability, matched};
pub use injection::injected;
pub use registry::{AbilityFault, Registry, RegistryFault, standard};
pub use selection::{Selection, select};
pub use workflow::{
    EndStep, FoldFault, MAX_OUTPUT_BYTES, MAX_REASON_BYTES, StepFailure, StepInput, StepOrder,
    StepResult, StepRun, StepState, StepView, Workflow, WorkflowAction, WorkflowCounters,
    WorkflowDraft, WorkflowEffect, WorkflowEntry, WorkflowEntryKind, WorkflowEvent,
    WorkflowEventKind, WorkflowFold, WorkflowResume, WorkflowStarted, WorkflowView,
};
