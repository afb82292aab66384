//! The facts in entry 0 of a run. Does not know later entries.

use super::{DecodedEntry, Entry};
use crate::contract::ExecutionContract;
use crate::kernel::{
    Action, BringUpFault, Check, Counters, EntryKind, Event, EventKind, ParentRun, Predicate,
    ProbedTarget, RunStarted, State,
};
use crate::message::{Digest, Role, RunId};

/// The facts in entry 0 of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunStart {
    /// The words of the task that the intent rules matched, in order of appearance.
    pub intent_words: Vec<String>,
    /// The run that this one was forked from.
    pub parent: Option<ParentRun>,
    /// The name of the run.
    pub run_id: RunId,
    /// Milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// The last message of the user before the run.
    pub task: Option<String>,
    /// The run's commitment to the folder that its tools see.
    pub workspace: Option<Digest>,
}

impl RunStart {
    /// Returns the start of a run, if the event is the first of one.
    pub fn of(event: &Event) -> Option<Self> {
        match &event.event {
            EventKind::RunStarted(started) => Some(Self::from(&**started)),
            _ => None,
        }
    }
}

impl From<&RunStarted> for RunStart {
    fn from(started: &RunStarted) -> Self {
        let mut messages = started.messages.iter().rev();
        let task = messages.find(|message| message.role == Role::User);
        Self {
            intent_words: started.intent_words.clone(),
            parent: started.parent.clone(),
            run_id: started.run_id.clone(),
            started_unix_ms: started.started_unix_ms,
            task: task.map(|task| task.content.clone()),
            workspace: started.workspace,
        }
    }
}

/// The findings before the first request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preflight {
    /// Tool servers that did not come up.
    pub bring_up: Vec<BringUpFault>,
    /// The results of PRECHECK, in its order; empty before it was left.
    pub checks: Vec<Check>,
    /// The results of the last probe of each target, in the contract's order.
    pub probed: Vec<ProbedTarget>,
}

impl Preflight {
    /// The check that failed, where one did.
    pub fn failed(&self) -> Option<&Check> {
        self.checks.iter().find(|check| !check.ok)
    }
}

/// The decision by which the machine left PRECHECK or COMMIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The number of the entry.
    pub seq: u64,
    /// Milliseconds since the run began.
    pub at_ms: u64,
    /// The state before.
    pub from: State,
    /// The state after.
    pub to: State,
    /// The predicate that fired.
    pub predicate: Predicate,
}

impl Decision {
    /// Returns the decision of the entry, if a predicate fired in it.
    pub(super) fn of(action: &Action, at_ms: u64) -> Option<Self> {
        Some(Self {
            at_ms,
            from: action.from,
            predicate: action.predicate?,
            seq: action.seq,
            to: action.to,
        })
    }
}

/// The summary of a run for a list. Reads only its first entry and its last ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOutline {
    /// The id of the contract.
    pub contract_id: String,
    /// The usage so far.
    pub counters: Counters,
    /// Milliseconds since the run began, at the last event.
    pub elapsed_ms: u64,
    /// `provider/model` of each target, in the contract's order.
    pub models: Vec<String>,
    /// True if a process suspended the run and no process has resumed it since; `None` if no entry records it.
    pub suspended: Option<bool>,
    /// The last message of the user before the run.
    pub task: Option<String>,
}

impl RunOutline {
    /// The outline of a run with nothing but its beginning; none if `first` is no beginning.
    pub fn begin(contract: &ExecutionContract, first: &DecodedEntry) -> Option<Self> {
        let start = RunStart::of(first.entry().event?)?;
        let targets = contract.targets.iter();
        let models = targets.map(|target| format!("{}/{}", target.provider, target.model));
        Some(Self {
            contract_id: contract.contract_id().to_owned(),
            counters: Counters::default(),
            elapsed_ms: 0,
            models: models.collect(),
            suspended: None,
            task: start.task,
        })
    }

    /// Takes one of the last entries, in order.
    pub fn take(&mut self, entry: Entry<'_>) {
        self.counters = entry.action.counters;
        if let Some(event) = entry.event {
            self.elapsed_ms = event.at_ms;
            match event.event {
                EventKind::Suspended if entry.action.kind != EntryKind::Ignored => {
                    self.suspended = Some(true);
                }
                EventKind::Resumed(_) => self.suspended = Some(false),
                _ => {}
            }
        }
    }
}
