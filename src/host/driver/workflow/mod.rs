//! Drives a workflow: its steps become separate runs, and their ends become events. Decides nothing.
//!
//! Knows the names of step runs and the order in which entries become durable. Resumes a step run that has begun, and reads one
//! that is sealed. It does not know what a step runs under: a [`StepHost`] tells it.
//!
//! ```text
//! WorkflowBegin ─▶ drive_workflow ─▶ Workflow::step ─▶ Append ─▶ store (durable)
//!                     ▲                            └─▶ Begin ─▶ step run `<workflow>.<number>` ─▶ sealed ─┐
//!                     └──────────────── StepEnded ◀── StepHost::ended ◀─────────────────────────────────┘
//! ```

mod begin;
mod drive;
mod step_run;

pub use begin::fork_workflow;
pub use begin::{ReopenedWorkflow, WorkflowBegin, new_workflow, reopen_workflow};
pub use drive::drive_workflow;
pub use step_run::{StepFiles, StepHost, StepTerms};
