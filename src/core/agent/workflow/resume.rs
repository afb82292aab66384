//! A workflow where its entries end, made from its last checkpoint (INV-CP-001, INV-CP-002). What ended
//! before that is not decided again.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::checkpoint::CheckpointRecord;
use super::fold::{FoldFault, WorkflowFold};
use super::interpreter::{Interpreter, Scope};
use super::memory::{Active, Member, OutputPlace, Outputs, Phase, Rollback, Root, Sequence};
use super::step_input::input_of;
use super::{StepInput, StepResult, Workflow, WorkflowEntry, WorkflowEventKind, WorkflowStarted};
use crate::contract::{Dependencies, Part, Step, Work, WorkflowDefinition};

/// Takes the entries of a workflow: the last checkpoint, what that names, and the entries after it make the
/// machine.
#[derive(Clone, Debug)]
pub struct WorkflowResume {
    /// The entries after the checkpoint; all of them before the first one.
    after: Vec<WorkflowEntry>,
    /// The entry of the last checkpoint.
    checkpoint: Option<WorkflowEntry>,
    definition: Arc<WorkflowDefinition>,
    /// Outputs by the entry whose event holds them.
    outputs: BTreeMap<u64, String>,
    started: Option<WorkflowStarted>,
}

impl WorkflowResume {
    /// A resume before entry 0.
    #[must_use]
    pub const fn new(definition: Arc<WorkflowDefinition>) -> Self {
        Self {
            after: Vec::new(),
            checkpoint: None,
            definition,
            outputs: BTreeMap::new(),
            started: None,
        }
    }

    /// Takes the next entry.
    pub fn take(&mut self, entry: WorkflowEntry) {
        match entry.event.as_ref().map(|event| &event.event) {
            Some(WorkflowEventKind::Started(started)) if self.started.is_none() => {
                self.started = Some((**started).clone());
            }
            Some(WorkflowEventKind::StepEnded { result, .. }) => {
                if let StepResult::Run(run) = &**result {
                    self.outputs.insert(entry.action.seq, run.output.clone());
                }
            }
            _ => {}
        }
        if entry.action.checkpoint.is_some() {
            self.after.clear();
            self.checkpoint = Some(entry);
        } else {
            self.after.push(entry);
        }
    }

    /// Returns the machine where the entries of a workflow that has not ended end; `None` if they end inside
    /// of a step, or before the first.
    ///
    /// # Errors
    /// [`FoldFault`] where the checkpoint gives no machine, or the machine decides an entry after it
    /// otherwise.
    pub fn finish(self) -> Result<Option<Workflow>, FoldFault> {
        let mut fold = match (&self.checkpoint, &self.started) {
            (Some(entry), Some(started)) => WorkflowFold::behind(self.restored(entry, started)?),
            _ => WorkflowFold::new(Arc::clone(&self.definition)),
        };
        for entry in &self.after {
            fold.take(&entry.action, entry.event.as_ref())?;
        }
        Ok(fold.into_workflow())
    }

    fn restored(
        &self,
        entry: &WorkflowEntry,
        started: &WorkflowStarted,
    ) -> Result<Workflow, FoldFault> {
        let seq = entry.action.seq;
        let output = |place: &OutputPlace| self.outputs.get(&place.entry).cloned();
        let checkpoint = entry.action.checkpoint.as_deref();
        let workflow = checkpoint
            .and_then(|record| Workflow::restored(&self.definition, started, record, output));
        let is_of_entry = |workflow: &Workflow| {
            workflow.entries == seq.saturating_add(1)
                && workflow.memory.digest() == entry.action.state_digest
        };
        workflow.filter(is_of_entry).ok_or_else(|| FoldFault {
            seq,
            field: "checkpoint".to_owned(),
            expected: "the state that the entry's digests cover".to_owned(),
            actual: "another state".to_owned(),
        })
    }
}

impl Workflow {
    /// The machine of a checkpoint; `None` if its parts do not fit each other. `output` gives the text at a
    /// place.
    pub(super) fn restored(
        definition: &Arc<WorkflowDefinition>,
        started: &WorkflowStarted,
        record: &CheckpointRecord,
        output: impl Fn(&OutputPlace) -> Option<String>,
    ) -> Option<Self> {
        let mut outputs = Outputs::default();
        for place in &record.step_outputs.runs {
            outputs.keep(place.clone(), &output(place)?);
        }
        let started_digest = started.digest();
        if outputs.digest() != record.step_outputs.digest
            || started_digest != record.context.started
        {
            return None;
        }
        let mut workflow = Self {
            at_ms: record.context.at_ms,
            definition: Arc::clone(definition),
            entries: record.context.entries,
            inputs: BTreeMap::new(),
            memory: record.memory_snapshot.clone(),
            outcome: record.context.outcome,
            outputs,
            started: started.clone(),
            started_digest,
        };
        let mut root = std::mem::take(&mut workflow.memory.root);
        let mut interpreter = Interpreter {
            begun: Vec::new(),
            definition,
            ended: None,
            ending: Vec::new(),
            input: &workflow.started.input,
            inputs: &mut workflow.inputs,
            memory: &mut workflow.memory,
            notes: Vec::new(),
            orders: Vec::new(),
            outputs: &workflow.outputs,
        };
        interpreter.supply_root(&mut root)?;
        workflow.memory.root = root;
        Some(workflow)
    }
}

/// Supplies the parts that a checkpoint omits, because the definition and the outputs determine them: the inputs of
/// runs under way, the items of loops, and the dependencies in groups. `None` if something does not fit the
/// definition.
impl Interpreter<'_> {
    fn supply_root(&mut self, root: &mut Root) -> Option<()> {
        let definition = self.definition;
        let scope = Scope {
            halting: false,
            item: None,
            place: "",
        };
        self.supply_sequence(&definition.steps, &mut root.sequence, scope)?;
        self.supply_compensation(&root.phase)
    }

    fn supply_sequence(
        &mut self,
        steps: &[Step],
        sequence: &mut Sequence,
        scope: Scope<'_>,
    ) -> Option<()> {
        let Some(active) = sequence.under_way.as_deref_mut() else {
            return Some(());
        };
        self.supply_step(steps.get(sequence.at)?, active, scope)
    }

    fn supply_step(&mut self, step: &Step, active: &mut Active, scope: Scope<'_>) -> Option<()> {
        match (&step.work, active) {
            (Work::Prompt(_) | Work::Tool(_) | Work::Delegate(_), Active::Run(number)) => {
                let labels = RefCell::default();
                let input = input_of(&step.work, &|part: &Part| self.part(part, scope, &labels));
                self.supply_input(*number, input?)
            }
            (Work::If(held), Active::Branch { inside, then }) => {
                let steps = if *then { &held.then } else { &held.otherwise };
                self.supply_sequence(steps, inside, scope)
            }
            (Work::ForEach(held), Active::Loop(at)) => {
                let items = self.items(held, scope)?;
                at.items = Arc::clone(&items);
                let inner = Scope {
                    item: Some((&items, at.iteration.saturating_sub(1))),
                    ..scope
                };
                self.supply_sequence(&held.steps, &mut at.inside, inner)
            }
            (Work::While(held), Active::Loop(at)) => {
                self.supply_sequence(&held.steps, &mut at.inside, scope)
            }
            (Work::Parallel(held), Active::Group(group)) => {
                group.dependencies = Dependencies::of(&held.steps).ok().map(Arc::new);
                for (step, member) in held.steps.iter().zip(&mut group.members) {
                    if let Member::Active(active) = member {
                        self.supply_step(step, active, scope)?;
                    }
                }
                self.supply_compensation(&group.phase)
            }
            // What is under way was made from the definition.
            _ => None,
        }
    }

    fn supply_compensation(&mut self, phase: &Phase) -> Option<()> {
        let Phase::RollingBack(Rollback {
            current: Some((number, of)),
            ..
        }) = phase
        else {
            return Some(());
        };
        let (_, _, (input, _)) = self.compensation(*of).ok()?;
        self.supply_input(*number, input)
    }

    fn supply_input(&mut self, number: u64, input: StepInput) -> Option<()> {
        let run = self.memory.in_flight.get(&number)?;
        if run.input_hash != input.hash() {
            return None;
        }
        self.inputs.insert(number, input);
        Some(())
    }
}
