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
mod host;
mod record;
mod step_run;

pub(crate) use begin::{
    ReopenedWorkflow, WorkflowBegin, fork_workflow, new_workflow, reopen_workflow,
};
pub(crate) use drive::drive_workflow;
pub(crate) use host::{StepFiles, StepHost};
pub(crate) use step_run::StepTerms;
