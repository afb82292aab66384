//! Definitions and events for the tests of the machine.

use std::sync::Arc;

use super::*;
use crate::contract::{
    Condition, FailureStrategy, ForEach, If, Label, Parallel, Step, StepId, Test, WORKFLOW_FORMAT,
    While, Work, WorkflowDefinition,
};
use crate::kernel::{AgentOutcome, Outcome, OutcomeCode};
use crate::message::{Digest, RunId};

pub(super) fn id(name: &str) -> StepId {
    StepId::try_from(name.to_owned()).unwrap()
}

pub(super) fn step(name: &str, work: Work) -> Step {
    Step {
        compensate: None,
        depends_on: Vec::new(),
        id: id(name),
        work,
    }
}

pub(super) fn prompt(name: &str) -> Step {
    step(name, Work::Prompt(format!("do {name}")))
}

pub(super) fn given(name: &str, text: &str) -> Step {
    step(name, Work::Prompt(text.to_owned()))
}

impl Step {
    pub(super) fn undone_by(mut self, name: &str) -> Self {
        self.compensate = Some(id(name));
        self
    }

    pub(super) fn after(mut self, names: &[&str]) -> Self {
        self.depends_on = names.iter().map(|name| id(name)).collect();
        self
    }
}

pub(super) fn group(name: &str, most: u32, on_failure: FailureStrategy, steps: Vec<Step>) -> Step {
    let held = Parallel {
        max_concurrency: most,
        on_failure,
        steps,
    };
    step(name, Work::Parallel(held))
}

pub(super) fn each(name: &str, items: &str, steps: Vec<Step>) -> Step {
    let held = ForEach {
        items: items.to_owned(),
        max_iterations: 3,
        steps,
    };
    step(name, Work::ForEach(held))
}

pub(super) fn condition(name: &str, test: Test) -> Condition {
    Condition {
        step: id(name),
        test,
    }
}

pub(super) fn while_(name: &str, condition: Condition, steps: Vec<Step>) -> Step {
    let held = While {
        condition,
        max_iterations: 2,
        steps,
    };
    step(name, Work::While(held))
}

pub(super) fn if_(name: &str, condition: Condition, then: Vec<Step>, otherwise: Vec<Step>) -> Step {
    let held = If {
        condition,
        otherwise,
        then,
    };
    step(name, Work::If(held))
}

/// A definition that keeps every rule.
pub(super) fn workflow(steps: Vec<Step>, compensations: Vec<Step>) -> WorkflowDefinition {
    let definition = WorkflowDefinition {
        compensations,
        file_digest: Digest::ZERO,
        format: WORKFLOW_FORMAT.to_owned(),
        id: id("w"),
        max_steps: 20,
        on_failure: FailureStrategy::FailFast,
        steps,
        total_timeout_ms: 1_000,
    };
    assert_eq!(definition.faults(), []);
    definition
}

pub(super) fn started(definition: &WorkflowDefinition, input: &str) -> WorkflowStarted {
    WorkflowStarted {
        definition_hash: definition.definition_hash(),
        input: input.to_owned(),
        parent: None,
        run_id: RunId::try_from("w".to_owned()).unwrap(),
        started_unix_ms: 1,
    }
}

pub(super) fn result(number: u64, output: &str, failure: Option<StepFailure>) -> StepResult {
    let (class, code) = match failure {
        Some(StepFailure::Outcome) => (AgentOutcome::FailedTimeout, OutcomeCode::TotalTimeout),
        _ => (AgentOutcome::CompletedChatOnly, OutcomeCode::FinalMessage),
    };
    StepResult::Run(StepRun {
        failure,
        head: Digest::of(&number.to_le_bytes()),
        labels: Some([Label::Trusted].into()),
        outcome: Outcome::new(class, code),
        output: output.to_owned(),
        reason: None,
        run_id: RunId::try_from(format!("w.{number}")).unwrap(),
    })
}

pub(super) fn ended(number: u64, result: StepResult) -> WorkflowEventKind {
    let result = Box::new(result);
    WorkflowEventKind::StepEnded { number, result }
}

/// Entries as a store keeps them: written, and read again.
pub(super) fn recorded(drafts: &[WorkflowDraft]) -> Vec<(WorkflowAction, Option<WorkflowEvent>)> {
    let read = |draft: &WorkflowDraft| {
        let action = serde_json::to_string(&draft.action).unwrap();
        let event = serde_json::to_string(&draft.event).unwrap();
        let event = serde_json::from_str(&event).unwrap();
        (serde_json::from_str(&action).unwrap(), event)
    };
    drafts.iter().map(read).collect()
}

/// Returns the drafts as entries.
pub(super) fn stored(drafts: &[WorkflowDraft]) -> Vec<WorkflowEntry> {
    let entry = |(action, event)| WorkflowEntry {
        action,
        event,
        hash: Digest::ZERO,
    };
    recorded(drafts).into_iter().map(entry).collect()
}

/// A workflow with what it did so far.
#[derive(Clone)]
pub(super) struct Driven {
    pub(super) drafts: Vec<WorkflowDraft>,
    pub(super) last: Vec<WorkflowEffect>,
    pub(super) machine: Workflow,
}

impl Driven {
    /// Returns its entries' view.
    pub(super) fn view(&self) -> WorkflowView {
        let mut view = WorkflowView::default();
        for draft in &self.drafts {
            view.take(&draft.action, draft.event.as_ref());
        }
        view
    }

    pub(super) fn new(definition: WorkflowDefinition, input: &str) -> Self {
        let started = started(&definition, input);
        let (machine, last) = Workflow::start(Arc::new(definition), started);
        let mut driven = Self {
            drafts: Vec::new(),
            last,
            machine,
        };
        driven.keep();
        driven
    }

    /// The workflow of those entries as another process has it: written, read again and made from the last checkpoint.
    pub(super) fn resumed(definition: &WorkflowDefinition, drafts: &[WorkflowDraft]) -> Self {
        let mut resume = WorkflowResume::new(Arc::new(definition.clone()));
        for entry in stored(drafts) {
            resume.take(entry);
        }
        Self {
            drafts: drafts.to_vec(),
            last: Vec::new(),
            machine: resume.finish().unwrap().unwrap(),
        }
    }

    fn keep(&mut self) {
        for effect in &self.last {
            if let WorkflowEffect::Append(drafts) = effect {
                self.drafts.extend(drafts.iter().cloned());
            }
        }
    }

    pub(super) fn take(&mut self, event: WorkflowEventKind) -> &mut Self {
        self.take_at(5, event)
    }

    pub(super) fn take_at(&mut self, at_ms: u64, event: WorkflowEventKind) -> &mut Self {
        self.last = self.machine.step(WorkflowEvent { at_ms, event });
        self.keep();
        self
    }

    pub(super) fn ok(&mut self, number: u64, output: &str) -> &mut Self {
        self.take(ended(number, result(number, output, None)))
    }

    pub(super) fn fails(&mut self, number: u64) -> &mut Self {
        let failure = Some(StepFailure::Outcome);
        self.take(ended(number, result(number, "", failure)))
    }

    /// Returns what the last event began: number and place.
    pub(super) fn begun(&self) -> Vec<(u64, String)> {
        let begun = self.last.iter().filter_map(|effect| match effect {
            WorkflowEffect::Begin(order) => Some((order.number, order.place.clone())),
            _ => None,
        });
        begun.collect()
    }

    /// Returns the inputs of the step runs that the last event began.
    pub(super) fn given(&self) -> Vec<StepInput> {
        let begun = self.last.iter().filter_map(|effect| match effect {
            WorkflowEffect::Begin(order) => Some(order.input.clone()),
            _ => None,
        });
        begun.collect()
    }

    /// The ends that the last event requested.
    pub(super) fn end_requests(&self) -> Vec<(u64, EndStep)> {
        let end_requests = self.last.iter().filter_map(|effect| match effect {
            WorkflowEffect::End { number, how } => Some((*number, *how)),
            _ => None,
        });
        end_requests.collect()
    }

    /// Returns the effects of the last event, without its entries.
    pub(super) fn effects(&self) -> Vec<WorkflowEffect> {
        let effects = self.last.iter();
        let effects = effects.filter(|effect| !matches!(effect, WorkflowEffect::Append(_)));
        effects.cloned().collect()
    }

    pub(super) fn outcome(&self) -> Option<String> {
        self.machine.outcome().map(|outcome| outcome.to_string())
    }
}

/// Returns the steps that a test expects to begin.
pub(super) fn places(expected: &[(u64, &str)]) -> Vec<(u64, String)> {
    let owned = expected.iter().map(|(n, place)| (*n, (*place).to_owned()));
    owned.collect()
}
