//! The workflow's record of a step's run: the entry that begins it, and its end. Verifies no transcript.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::ServiceError;
use crate::forks::ForkLine;
use crate::verify::decided::decided;
use crate::verify::difference::Difference;
use crate::verify::recorded_call::labels_differ;
use crate::verify::recorded_result::StepRunSays;
use crate::workflow_entries::{each_entry, fork_parent};
use monolith_core::agent::{StepInput, StepResult, StepRun, WorkflowEventKind};
use monolith_core::contract::{Label, Work};
use monolith_core::kernel::ParentRun;
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{FirstBad, FlawKind, VerifyReport};
use monolith_host::store::StoreReader;

/// The workflow's record of a step's run.
pub(super) struct RecordedStep {
    /// The entries that begin it: a resume begins it again, as long as it has no run.
    begun: Vec<(u64, Digest)>,
    /// Its end, and the entry that has it.
    pub(super) end: Option<(u64, StepRun)>,
    /// BLAKE3 over what it was given.
    input_hash: Digest,
    /// The labels of what it was given.
    labels: BTreeSet<Label>,
    number: u64,
    /// Its place.
    pub(super) place: String,
    /// Its run: of a fork it may be that of the workflow that was forked.
    pub(super) run_id: RunId,
    /// Its definition.
    work: Option<Work>,
    pub(super) workflow: RunId,
}

/// The records to compare the steps with that a fork shares with another workflow, read once.
#[derive(Default)]
pub(super) struct BegunSteps {
    begun: BTreeMap<RunId, BTreeMap<u64, Vec<(u64, Digest)>>>,
    lines: BTreeMap<RunId, ForkLine>,
}

impl BegunSteps {
    /// The entries of a workflow that begin that step.
    fn begun(
        &mut self,
        reader: &mut StoreReader,
        workflow: &RunId,
        number: u64,
    ) -> Result<Vec<(u64, Digest)>, ServiceError> {
        if !self.begun.contains_key(workflow) {
            let steps = steps_of(reader, workflow)?.into_iter();
            let begun = steps.map(|step| (step.number, step.begun)).collect();
            self.begun.insert(workflow.clone(), begun);
        }
        let begun = self.begun.get(workflow);
        Ok(begun
            .and_then(|begun| begun.get(&number))
            .cloned()
            .unwrap_or_default())
    }

    /// Tells if a workflow was forked from that one, or from a fork of it, as far as the store has the line. Reads nothing
    /// above that one.
    fn is_forked_from(
        &mut self,
        reader: &mut StoreReader,
        workflow: &RunId,
        from: &RunId,
    ) -> Result<Ancestry, ServiceError> {
        let line = self.lines.entry(workflow.clone());
        let line = line.or_insert_with(|| ForkLine::of(workflow));
        if line.leads_to(reader, from)? {
            return Ok(Ancestry::Leads);
        }
        let last = line.last();
        Ok(if reader.is_workflow(last)? {
            Ancestry::Another
        } else {
            Ancestry::EndsAt(last.clone())
        })
    }
}

/// The relation of a workflow's fork line to another workflow.
enum Ancestry {
    Leads,
    /// The other one is not among them.
    Another,
    /// They end at this one, which the store does not have.
    EndsAt(RunId),
}

/// The step runs that a workflow recorded, in the order in which they were begun. One that could not begin has no run.
pub(super) fn steps_of(
    reader: &mut StoreReader,
    workflow: &RunId,
) -> Result<Vec<RecordedStep>, ServiceError> {
    let definition = reader.read_run(workflow)?.definition()?;
    let mut steps: BTreeMap<u64, RecordedStep> = BTreeMap::new();
    let mut without_run = Vec::new();
    each_entry(reader, workflow, |hash, action, event| {
        if let Some(WorkflowEventKind::StepEnded { number, result }) =
            event.map(|event| &event.event)
        {
            match (&**result, steps.get_mut(number)) {
                (StepResult::NotBegun(_), _) => without_run.push(*number),
                (StepResult::Run(run), Some(step)) => {
                    step.run_id = run.run_id.clone();
                    step.end.get_or_insert((action.seq, run.clone()));
                }
                (StepResult::Run(_), None) => {}
            }
        }
        for begun in &action.begun {
            let Ok(run_id) = workflow.step(begun.number) else {
                continue;
            };
            let work = || {
                let mut all = definition.all_steps().into_iter();
                let step = all.find(|step| step.id == begun.step)?;
                Some(step.work.clone())
            };
            let step = steps.entry(begun.number).or_insert_with(|| RecordedStep {
                begun: Vec::new(),
                end: None,
                input_hash: begun.input_hash,
                labels: begun.labels.clone(),
                number: begun.number,
                place: begun.place.clone(),
                run_id,
                work: work(),
                workflow: workflow.clone(),
            });
            step.begun.push((action.seq, hash));
        }
        Ok(())
    })?;
    steps.retain(|number, _| !without_run.contains(number));
    Ok(steps.into_values().collect())
}

impl RecordedStep {
    /// Describes the record.
    pub(super) fn recorded(&self) -> String {
        let (workflow, place) = (&self.workflow, &self.place);
        match &self.end {
            Some((seq, run)) => format!(
                "step {place} of {workflow}, as its entry {seq} recorded it: {} at head {}",
                run.outcome,
                run.head.short(16)
            ),
            None => format!("step {place} of {workflow}, whose end is not recorded there"),
        }
    }

    /// The first thing in which its run is not what the workflow recorded, and both values.
    pub(super) fn difference(
        &self,
        reader: &mut StoreReader,
        begun_steps: &mut BegunSteps,
        report: &mut VerifyReport,
    ) -> Result<Difference, ServiceError> {
        let Self {
            number, workflow, ..
        } = self;
        let link = reader.lineage(&self.run_id)?;
        let Some(parent) = link.map(|link| link.parent) else {
            let expected = format!("a step of {workflow}");
            return Ok(Some((
                "event.parent".to_owned(),
                expected,
                "none".to_owned(),
            )));
        };
        // A fork has the steps that had ended where it was forked; they are those of the other one.
        let owner = &parent.run_id;
        let is_own = owner == workflow;
        let ancestry = if is_own {
            Ancestry::Leads
        } else {
            begun_steps.is_forked_from(reader, workflow, owner)?
        };
        match ancestry {
            Ancestry::Leads => {}
            Ancestry::EndsAt(missing) => report.not_checked.push(format!(
                "step: whether {workflow} was forked from {owner}: workflow {missing} is not in this store"
            )),
            Ancestry::Another => {
                let found = (
                    "event.parent.run_id".to_owned(),
                    workflow.to_string(),
                    owner.to_string(),
                );
                return Ok(Some(found));
            }
        }
        let owner_is_here = is_own || reader.is_workflow(owner)?;
        let begun = if is_own {
            self.begun.clone()
        } else if owner_is_here {
            begun_steps.begun(reader, owner, *number)?
        } else {
            report.not_checked.push(format!(
                "step: the entry that begins it: workflow {owner} is not in this store"
            ));
            Vec::new()
        };
        if parent.call.is_some()
            || !self.run_id.is_step_of(owner, *number)
            || (owner_is_here && !begun.iter().any(|(_, hash)| *hash == parent.head))
        {
            let entries = begun.iter().map(|(seq, _)| seq.to_string());
            let entries: Vec<String> = entries.collect();
            let expected = format!(
                "entry {} of {owner}, which begins step {number}",
                entries.join(" or ")
            );
            let actual = parent.head.to_string();
            return Ok(Some(("event.parent.head".to_owned(), expected, actual)));
        }
        let first = reader.read_run(&self.run_id)?.next().transpose()?;
        if let Some(found) = labels_differ(&self.labels, first.as_ref()) {
            return Ok(Some(found));
        }
        let Some((seq, end)) = &self.end else {
            return Ok(None);
        };
        let by = format!("as entry {seq} of {workflow} recorded");
        if report.head != Some(end.head) {
            let actual = report.head.map(|head| head.to_string());
            let expected = format!("{}, {by}", end.head);
            let found = ("head".to_owned(), expected, actual.unwrap_or_default());
            return Ok(Some(found));
        }
        let outcome = reader.read_run(&self.run_id)?.row().outcome.clone();
        let outcome = outcome.unwrap_or_default();
        let actual = format!("{} ({})", outcome.0, outcome.1);
        let expected = end.outcome.to_string();
        if expected != actual {
            let expected = format!("{expected}, {by}");
            return Ok(Some(("outcome".to_owned(), expected, actual)));
        }
        let found = self.said_otherwise(reader, end)?;
        Ok(found.map(|(field, expected, actual)| (field, format!("{expected}, {by}"), actual)))
    }

    /// Returns the difference between its run and the record, in input or result.
    fn said_otherwise(
        &self,
        reader: &StoreReader,
        end: &StepRun,
    ) -> Result<Difference, ServiceError> {
        let Some(work) = &self.work else {
            return Ok(None);
        };
        let says = StepRunSays {
            reader,
            run_id: &self.run_id,
            work,
        };
        if let Work::Delegate(delegate) = work {
            let contract = reader.again()?.read_run(&self.run_id)?.contract()?;
            let stands = contract.delegation.as_ref();
            let own = stands.and_then(|stands| stands.chain.last());
            if let Some(own) = own.filter(|own| own.digest != delegate.agent_digest) {
                let field = "contract.delegation".to_owned();
                let [expected, actual] =
                    [delegate.agent_digest, own.digest].map(|one| one.to_string());
                return Ok(Some((field, expected, actual)));
            }
        }
        let gave = || given_by(&mut reader.again()?, &self.workflow, self.number);
        Ok(match says.input_differs(self.input_hash, gave)? {
            None => says.output_differs(end)?,
            found => found,
        })
    }
}

/// Returns the input that a workflow's machine gives that step run, decided again from its entries; `None` if they are not what
/// it decides.
fn given_by(
    reader: &mut StoreReader,
    workflow: &RunId,
    number: u64,
) -> Result<Option<StepInput>, ServiceError> {
    let mut given = None;
    let fault = decided(reader, workflow, |machine, action| {
        let begins = action.begun.iter().any(|step| step.number == number);
        given = machine.input(number).filter(|_| begins).cloned();
        given.is_none()
    })?;
    Ok(given.filter(|_| fault.is_none()))
}

/// Holds a workflow that was forked against the one that it names, where the store has that.
pub(super) fn forked_from(
    reader: &mut StoreReader,
    run_id: &RunId,
    report: &mut VerifyReport,
) -> Result<(), ServiceError> {
    if !reader.is_workflow(run_id)? {
        return Ok(());
    }
    let Some(ParentRun { head, run_id, .. }) = fork_parent(reader, run_id)? else {
        return Ok(());
    };
    if !reader.is_workflow(&run_id)? {
        let note = format!("parent: workflow {run_id} is not in this store");
        report.not_checked.push(note);
        return Ok(());
    }
    let mut found = None;
    each_entry(reader, &run_id, |hash, action, _| {
        if hash == head {
            found = Some(action.seq);
        }
        Ok(())
    })?;
    let detail = match found {
        Some(seq) => format!("forked from {run_id} at entry {seq}"),
        None => format!("forked from {run_id}, which has no such entry"),
    };
    let flaw = found.is_none().then(|| FirstBad {
        seq: Some(0),
        line: None,
        table: Some("entries"),
        field: "event.parent.head".to_owned(),
        expected: format!("the hash of an entry of workflow {run_id}"),
        actual: head.to_string(),
        kind: FlawKind::Tampered,
    });
    report.add("parent", detail, flaw);
    Ok(())
}
