//! From where a workflow is driven: its beginning, or where its transcript ends.

use std::sync::Arc;

use crate::driver::bring_up::RecordedConfinement;
use crate::driver::clock::unix_ms;
use crate::driver::{DriverError, Environment};
use crate::store::{Invocation, RunLock, Store, StoreError};
use monolith_core::agent::{
    Workflow, WorkflowDraft, WorkflowEffect, WorkflowEvent, WorkflowEventKind, WorkflowResume,
    WorkflowStarted,
};
use monolith_core::contract::{Work, WorkflowDefinition};
use monolith_core::kernel::ParentRun;
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{FirstBad, Flaw};

/// The most characters of a workflow's name: those of its step runs have a number behind it.
const MOST_NAME: usize = 58;

/// A workflow that can begin or resume.
pub struct WorkflowBegin {
    pub(super) definition: Arc<WorkflowDefinition>,
    pub(super) lock: RunLock,
    pub(super) run_id: RunId,
    pub(super) start: Start,
}

impl WorkflowBegin {
    /// Its name.
    pub const fn run_id(&self) -> &RunId {
        &self.run_id
    }

    /// Returns the numbers of the steps that a process resumes or begins, whatever they wait for. Empty for a workflow that is
    /// not in the store yet, and for one that asks its steps to end.
    pub fn next_steps(&self) -> Vec<u64> {
        let Start::Resumed { workflow, .. } = &self.start else {
            return Vec::new();
        };
        let mut workflow = Workflow::clone(workflow);
        let effects = workflow.step(WorkflowEvent {
            at_ms: workflow.at_ms(),
            event: WorkflowEventKind::Resumed,
        });
        let is_end = |effect: &WorkflowEffect| matches!(effect, WorkflowEffect::End { .. });
        if effects.iter().any(is_end) {
            return Vec::new();
        }
        let begun = effects.into_iter().filter_map(|effect| match effect {
            WorkflowEffect::Begin(order) => Some(order.number),
            _ => None,
        });
        begun.collect()
    }
}

/// From where it is driven.
pub(super) enum Start {
    New {
        invocation: Option<Invocation>,
        started: WorkflowStarted,
    },
    Resumed {
        head: Digest,
        workflow: Box<Workflow>,
    },
    /// The beginning of another one under this name.
    Forked {
        drafts: Vec<WorkflowDraft>,
        invocation: Option<Invocation>,
        workflow: Box<Workflow>,
    },
}

/// A new workflow, locked for this process. Nothing is written yet.
///
/// # Errors
/// [`DriverError::Store`] where the name is taken, [`DriverError::WorkflowName`] where step runs could not be named after it, and
/// [`DriverError::NameBelowTaken`] where there are runs that have such a name.
pub fn new_workflow(
    store: &Store,
    definition: WorkflowDefinition,
    input: String,
    run_id: RunId,
    invocation: Option<Invocation>,
) -> Result<WorkflowBegin, DriverError> {
    let (lock, started) = started(store, &definition, input, run_id, None)?;
    Ok(WorkflowBegin {
        definition: Arc::new(definition),
        lock,
        run_id: started.run_id.clone(),
        start: Start::New {
            invocation,
            started,
        },
    })
}

/// The start of a workflow, and the lock of its name.
fn started(
    store: &Store,
    definition: &WorkflowDefinition,
    input: String,
    run_id: RunId,
    parent: Option<ParentRun>,
) -> Result<(RunLock, WorkflowStarted), DriverError> {
    if run_id.as_str().len() > MOST_NAME {
        return Err(DriverError::WorkflowName {
            run_id,
            most: MOST_NAME,
        });
    }
    let lock = store.lock_run(&run_id).map_err(|fault| match fault {
        StoreError::RunLocked { run_id, .. } => StoreError::RunExists { run_id },
        other => other,
    })?;
    // A run of an older tree would be taken for a step that was tampered with.
    if let Some(taken) = store.reader()?.named_below(&run_id)?.into_iter().next() {
        lock.discard();
        return Err(DriverError::NameBelowTaken { run_id, taken });
    }
    let started = WorkflowStarted {
        definition_hash: definition.definition_hash(),
        input,
        parent,
        run_id,
        started_unix_ms: unix_ms(),
    };
    Ok((lock, started))
}

/// A run whose evidence is bad.
fn flawed(run_id: &RunId, flaw: &FirstBad) -> DriverError {
    let FirstBad {
        actual,
        expected,
        field,
        ..
    } = flaw;
    let what = format_args!("{field}: expected {expected}, got {actual}");
    differs(run_id, &what)
}

fn differs(run_id: &RunId, what: &dyn std::fmt::Display) -> DriverError {
    DriverError::WorkflowDiffers {
        run_id: run_id.clone(),
        what: what.to_string(),
    }
}

/// The first step whose agent has another file now.
fn changed_agent(begun: &WorkflowDefinition, now: &WorkflowDefinition) -> Option<String> {
    let steps = begun.all_steps().into_iter().zip(now.all_steps());
    let mut changed = steps.filter_map(|(begun, now)| match (&begun.work, &now.work) {
        (Work::Delegate(begun_with), Work::Delegate(given)) if begun_with != given => Some(
            format!("{}, the agent of step `{}`,", given.agent, begun.id),
        ),
        _ => None,
    });
    changed.next()
}

/// Makes a workflow that begins as another one did, up to and including that entry. Steps that had ended there are not
/// repeated; steps under way restart under the new name. Nothing is written yet.
///
/// # Errors
/// [`DriverError`] where the other one cannot be read, has no such entry, or has ended there.
pub fn fork_workflow(
    store: &Store,
    of: &RunId,
    at: u64,
    run_id: RunId,
) -> Result<ReopenedWorkflow, DriverError> {
    let mut reader = store.reader()?;
    let invocation = reader.invocation(of)?;
    let verified = reader.verify_run(of, true)?;
    if let Some(flaw) = &verified.first_bad {
        return Err(flawed(of, flaw));
    }
    let mut stored = reader.read_run(of)?;
    let definition = stored.definition()?;
    let (mut events, mut head) = (Vec::new(), None);
    let flawed = |_: u64, flaw: Flaw| differs(of, &flaw);
    stored.each_of_workflow(flawed, |entry| {
        let seq = entry.action.seq;
        if seq <= at {
            events.extend(entry.event);
            head = (seq == at).then_some(entry.hash);
        }
        Ok(())
    })?;
    let mut events = events.into_iter();
    let (Some(head), Some(first)) = (head, events.next()) else {
        return Err(differs(of, &format_args!("it has no entry {at}")));
    };
    let WorkflowEventKind::Started(first) = first.event else {
        return Err(differs(of, &"it does not begin with its start"));
    };
    let parent = ParentRun {
        call: None,
        head,
        run_id: of.clone(),
    };
    let (lock, started) = started(store, &definition, first.input, run_id, Some(parent))?;
    let (run_id, definition) = (started.run_id.clone(), Arc::new(definition));
    let (mut workflow, mut effects) = Workflow::start(Arc::clone(&definition), started);
    for event in events {
        effects.extend(workflow.step(event));
    }
    if workflow.outcome().is_some() {
        lock.discard();
        let run_id = of.clone();
        return Err(DriverError::WorkflowForkEnded { at, run_id });
    }
    let drafts = effects.into_iter().filter_map(|effect| match effect {
        WorkflowEffect::Append(drafts) => Some(drafts),
        _ => None,
    });
    let begin = WorkflowBegin {
        definition,
        lock,
        run_id,
        start: Start::Forked {
            drafts: drafts.flatten().collect(),
            invocation: invocation.clone(),
            workflow: Box::new(workflow),
        },
    };
    Ok(ReopenedWorkflow { begin, invocation })
}

/// An unfinished workflow of the store: locked for this process, with the machine where its transcript ends.
pub struct ReopenedWorkflow {
    begin: WorkflowBegin,
    invocation: Option<Invocation>,
}

/// Locks an unfinished workflow, verifies it, and makes its machine from its last checkpoint. Nothing is written.
///
/// # Errors
/// [`DriverError`] if another process drives it, it cannot be read, or there is nothing to resume.
pub fn reopen_workflow(
    store: &Store,
    run_id: &RunId,
    environment: &Environment,
) -> Result<ReopenedWorkflow, DriverError> {
    let lock = store.lock_run(run_id)?;
    let mut reader = store.reader()?;
    let invocation = reader.invocation(run_id)?;
    let verified = reader.verify_run(run_id, true)?;
    if let Some(flaw) = &verified.first_bad {
        return Err(flawed(run_id, flaw));
    }
    let mut stored = reader.read_run(run_id)?;
    if stored.row().outcome.is_some() {
        lock.discard();
        return Err(DriverError::RunEnded {
            run_id: run_id.clone(),
        });
    }
    let definition = Arc::new(stored.definition()?);
    let mut resume = WorkflowResume::new(Arc::clone(&definition));
    let mut head = Digest::ZERO;
    let flawed = |_: u64, flaw: Flaw| differs(run_id, &flaw);
    stored.each_of_workflow(flawed, |entry| {
        head = entry.hash;
        resume.take(entry);
        Ok(())
    })?;
    let workflow = resume.finish().map_err(|fault| differs(run_id, &fault))?;
    let workflow = workflow.ok_or_else(|| DriverError::NothingRecorded {
        run_id: run_id.clone(),
    })?;
    let mut confinement = RecordedConfinement::default();
    confinement.add_below(&mut store.reader()?, run_id)?;
    let checked = confinement.check(environment).map_err(DriverError::from);
    checked.map_err(|fault| fault.of_tree(run_id.clone()))?;
    let start = Start::Resumed {
        head,
        workflow: Box::new(workflow),
    };
    Ok(ReopenedWorkflow {
        begin: WorkflowBegin {
            definition,
            lock,
            run_id: run_id.clone(),
            start,
        },
        invocation,
    })
}

impl ReopenedWorkflow {
    /// Returns its invocation, if recorded.
    pub const fn invocation(&self) -> Option<&Invocation> {
        self.invocation.as_ref()
    }

    /// Resumes it under the file as it is now.
    ///
    /// # Errors
    /// [`DriverError::WorkflowChanged`] where that is another workflow.
    pub fn under(self, now: &WorkflowDefinition) -> Result<WorkflowBegin, DriverError> {
        if *self.begin.definition == *now {
            return Ok(self.begin);
        }
        let begun = &self.begin.definition;
        let what = if begun.file_digest == now.file_digest {
            changed_agent(begun, now)
        } else {
            None
        };
        Err(DriverError::WorkflowChanged {
            what: what.unwrap_or_else(|| "its file".to_owned()),
            run_id: self.begin.run_id,
        })
    }
}
