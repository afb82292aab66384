//! What the machine wants done. How it is done is for the driver.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{StepInput, WorkflowDraft};
use crate::contract::{Label, StepId, WorkflowOutcome};

/// What follows from an event. Entries come first: no other effect starts before they are durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkflowEffect {
    /// The entries of the step.
    Append(Vec<WorkflowDraft>),
    /// A step run begins; where it has begun before, it goes on, and where it has ended, its end is read.
    Begin(Box<StepOrder>),
    /// The end of a step run under way is requested.
    End {
        /// Its number.
        number: u64,
        /// How.
        how: EndStep,
    },
    /// The workflow is over.
    Finish(WorkflowOutcome),
}

/// How the end of a step run is requested, the stronger request last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EndStep {
    /// As a person would: it may still answer.
    Stop,
    /// Now.
    Now,
}

/// A step run to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepOrder {
    /// The number of the step that it undoes, where it is a compensation.
    pub compensates: Option<u64>,
    /// What it is given.
    pub input: StepInput,
    /// The labels of the outputs in its input.
    pub labels: BTreeSet<Label>,
    /// Its number, from 1: its run is called `<workflow>.<number>`.
    pub number: u64,
    /// Where it stands.
    pub place: String,
    /// The step.
    pub step: StepId,
}
