//! Drives a workflow: its steps become runs of their own, and their ends become events. Decides nothing.
//!
//! Knows the names of step runs, that one which has begun is gone on with and one which is sealed is read, and in which order
//! entries become durable. It does not know what a step runs under: that is asked of a [`StepHost`].
//!
//! ```text
//! WorkflowBegin ─▶ drive_workflow ─▶ Workflow::step ─▶ Append ─▶ store (durable)
//!                     ▲                            └─▶ Begin ─▶ step run `<workflow>.<number>` ─▶ sealed ─┐
//!                     └──────────────── StepEnded ◀── StepHost::ended ◀─────────────────────────────────┘
//! ```

mod begin;
mod drive;
mod record;
mod step_run;

pub use begin::fork_workflow;
pub use begin::{ReopenedWorkflow, WorkflowBegin, new_workflow, reopen_workflow};
pub use drive::drive_workflow;
pub use step_run::{StepFiles, StepHost, StepTerms};
