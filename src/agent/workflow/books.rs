//! What the machine remembers: the tree of what is under way, and what has ended. Decides nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::WorkflowCounters;
use super::value::Value;
use crate::contract::{StepId, WorkflowCode};
use crate::message::Digest;

/// All that the next decision is made from, but the texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Books {
    /// What each step came to that a later one can name.
    pub(super) bindings: BTreeMap<StepId, Bound>,
    /// Step runs that completed, in the order in which they did.
    pub(super) completed: Vec<Completed>,
    pub(super) counters: WorkflowCounters,
    /// What failed, in the order in which it did.
    pub(super) errors: Vec<StepError>,
    pub(super) in_flight: BTreeMap<u64, InFlight>,
    /// The step that completed last.
    pub(super) last_completed: Option<StepId>,
    /// How many step runs were begun, compensations included.
    pub(super) numbers: u64,
    pub(super) root: Root,
    pub(super) stop: Option<Stop>,
    pub(super) suspended: bool,
}

/// The workflow's own sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Root {
    pub(super) phase: Phase,
    pub(super) sequence: Sequence,
}

/// Whether steps are done or undone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    content = "value",
    rename_all = "snake_case",
    deny_unknown_fields
)]
pub(super) enum Phase {
    #[default]
    Forward,
    Back(Rollback),
}

/// What is compensated, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rollback {
    /// The number of the run that compensates, and of the one that it undoes.
    pub(super) current: Option<(u64, u64)>,
    /// The numbers of the runs to be undone, the next one last.
    pub(super) waiting: Vec<u64>,
}

/// Steps one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sequence {
    /// The index of the step that is under way, or comes next.
    pub(super) at: usize,
    pub(super) last: Value,
    pub(super) under_way: Option<Box<Active>>,
}

/// A step that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    content = "value",
    rename_all = "snake_case",
    deny_unknown_fields
)]
pub(super) enum Active {
    /// The run of that number.
    Run(u64),
    /// One of two sequences.
    Branch { inside: Sequence, then: bool },
    /// A loop.
    Loop(Loop),
    /// A parallel group.
    Group(Group),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Loop {
    /// How many items there are, where it goes over a list.
    pub(super) count: Option<u32>,
    pub(super) ends: Vec<Value>,
    pub(super) inside: Sequence,
    /// How many iterations were begun.
    pub(super) iteration: u32,
    /// Whether one is under way.
    pub(super) open: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Group {
    pub(super) failed: bool,
    pub(super) members: Vec<Member>,
    pub(super) phase: Phase,
}

/// A step of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    content = "value",
    rename_all = "snake_case",
    deny_unknown_fields
)]
pub(super) enum Member {
    Waiting,
    Active(Active),
    Completed(Value),
    Failed,
    /// Its end was requested.
    Halted,
    /// It was never begun.
    Skipped,
}

/// What a step came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Bound {
    pub(super) ok: bool,
    pub(super) value: Value,
}

/// A step run that completed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Completed {
    /// What undoes it.
    pub(super) compensate: Option<StepId>,
    /// Whether that worked, once it was tried.
    pub(super) compensated: Option<bool>,
    /// What the compensation is given, as it was when the step completed: an iteration later it is another's.
    pub(super) given: BTreeMap<StepId, Bound>,
    pub(super) number: u64,
    pub(super) place: String,
}

/// A step run under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InFlight {
    pub(super) compensates: Option<u64>,
    /// Whether its end was requested.
    pub(super) ending: bool,
    pub(super) input_hash: Digest,
    pub(super) place: String,
    pub(super) step: StepId,
}

/// What failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepError {
    /// Why.
    pub(crate) code: WorkflowCode,
    /// Whether it is the failure of a compensation.
    pub(crate) compensation: bool,
    /// Where.
    pub(crate) place: String,
}

/// Why nothing more is begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stop {
    Timeout,
    Asked,
    Now,
}

impl Phase {
    /// Whether what has completed is being undone.
    pub(super) const fn is_back(&self) -> bool {
        matches!(self, Self::Back(_))
    }
}

impl Group {
    /// A group of which nothing is begun yet.
    pub(super) fn of(steps: usize) -> Self {
        Self {
            members: vec![Member::Waiting; steps],
            ..Self::default()
        }
    }
}
