//! A workflow as it is declared (003): its steps, what they are given, what they wait for, and what undoes them.
//!
//! Knows the document of a workflow, its steps, templates, conditions and strategies, and every rule that a definition keeps before
//! anything is begun. It does not know how the file looks (`spec`), nor what happens to a workflow (`agent`).
//!
//! ```text
//! file text ─▶ spec ─▶ WorkflowDefinition ─▶ faults (ids, references, dependencies, cycles, limits)
//!                               └─▶ canonical document ─▶ definition_hash, H_0 of the workflow's chain
//! ```

mod definition;
mod fault;
mod outcome;
mod plan;
mod scope;
mod template;
#[cfg(test)]
pub(crate) mod tests;

#[cfg(test)]
pub(crate) use definition::WorkflowDocumentFault;
pub(crate) use definition::{Delegate, ForEach, If, Parallel, ToolUse, WORKFLOW_FORMAT, While};
pub use definition::{FailureStrategy, Step, Work, WorkflowDefinition};
pub(crate) use fault::{WorkflowFault, WorkflowRule};
pub use outcome::{WorkflowClass, WorkflowCode, WorkflowOutcome};
pub(crate) use plan::{Dependencies, GroupFault, circles};
pub use template::StepId;
pub(crate) use template::{Condition, Part, Template, TemplateFault, Test};
