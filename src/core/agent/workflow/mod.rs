//! The workflow machine (003): one event in, entries and effects out. It has no clock and begins no run itself.
//!
//! Knows which step comes next, what a step is given, what the failure of one means for the others, what is compensated, and the
//! checkpoint after each step. It deliberately does not know how a step is run, where entries go, or what time it is: a step is
//! a number and a text for the driver.
//!
//! ```text
//!            ┌────────────────────── one step ──────────────────────┐
//! Event ──▶  │ the tree of what is under way, walked once, in order  │ ──▶ [Append(entries), Begin, End, Finish]
//!            └──────────────────────────────────────────────────────┘
//! RUNNING ─▶ STOPPING ─▶ COMPENSATING ─▶ TERMINATE        checkpoint, entries after it ──▶ WorkflowResume ──▶ the machine there
//! ```

mod checkpoint;
mod draft;
mod ending;
mod entry;
mod event;
mod fold;
mod group;
mod interpreter;
mod iteration;
mod machine;
mod memory;
mod resume;
mod rollback;
mod step_input;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_costs;
#[cfg(test)]
mod tests_detail;
#[cfg(test)]
mod tests_explore;
#[cfg(test)]
mod tests_monitor;
#[cfg(test)]
mod tests_resume;
mod view;

pub(crate) use entry::{BegunStep, WorkflowState};
pub use entry::{
    StepInput, StepOrder, WorkflowAction, WorkflowDraft, WorkflowEffect, WorkflowEntry,
    WorkflowEntryKind,
};
pub use event::{
    EndStep, StepFailure, StepResult, StepRun, WorkflowCounters, WorkflowEvent, WorkflowEventKind,
    WorkflowStarted,
};
pub use fold::{FoldFault, WorkflowFold};
pub use machine::{MAX_OUTPUT_BYTES, MAX_REASON_BYTES, Workflow};
pub use resume::WorkflowResume;
pub use view::{StepState, StepView, WorkflowView};
