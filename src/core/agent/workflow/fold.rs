//! A recorded workflow through a fresh machine: the same definition and the same events give the same entries (invariant 4).

use std::sync::Arc;

use super::{
    Workflow, WorkflowAction, WorkflowDraft, WorkflowEffect, WorkflowEvent, WorkflowEventKind,
};
use crate::contract::WorkflowDefinition;

/// Folds recorded entries, and compares each with what the machine decides.
#[derive(Clone, Debug)]
pub struct WorkflowFold {
    definition: Arc<WorkflowDefinition>,
    /// The machine's decisions that were not compared yet, the next one last.
    expected: Vec<WorkflowDraft>,
    seq: u64,
    workflow: Option<Workflow>,
}

/// The first difference between what is recorded and what the machine decides.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("entry {seq}, {field}: expected {expected}, got {actual}")]
pub struct FoldFault {
    /// The entry.
    pub seq: u64,
    /// The field.
    pub field: String,
    /// The machine's decision.
    pub expected: String,
    /// The recorded value.
    pub actual: String,
}

impl WorkflowFold {
    /// A fold before entry 0.
    #[must_use]
    pub const fn new(definition: Arc<WorkflowDefinition>) -> Self {
        Self {
            definition,
            expected: Vec::new(),
            seq: 0,
            workflow: None,
        }
    }

    /// A fold behind the entries that this machine has written.
    pub(super) fn behind(workflow: Workflow) -> Self {
        Self {
            definition: Arc::clone(&workflow.definition),
            expected: Vec::new(),
            seq: workflow.entries,
            workflow: Some(workflow),
        }
    }

    /// Takes a recorded entry, decoded.
    ///
    /// # Errors
    /// [`FoldFault`] where the machine decides otherwise.
    pub fn take(
        &mut self,
        action: &WorkflowAction,
        event: Option<&WorkflowEvent>,
    ) -> Result<(), FoldFault> {
        let seq = self.seq;
        let fault = |field: &str, expected: String, actual: String| FoldFault {
            seq,
            field: field.to_owned(),
            expected,
            actual,
        };
        if let Some(event) = event {
            if let Some(left) = self.expected.last() {
                let expected = format!("{:?}", left.action.kind);
                return Err(fault("event", expected, "another event".to_owned()));
            }
            let effects = self.step(event.clone());
            let appended = effects.into_iter().find_map(|effect| match effect {
                WorkflowEffect::Append(drafts) => Some(drafts),
                _ => None,
            });
            self.expected = appended.unwrap_or_default();
            self.expected.reverse();
        }
        let Some(expected) = self.expected.pop() else {
            let actual = format!("{:?}", action.kind);
            return Err(fault("entry", "no entry".to_owned(), actual));
        };
        self.seq = seq.saturating_add(1);
        if expected.action == *action && expected.event.as_ref() == event {
            return Ok(());
        }
        let (field, expected, actual) = first_difference(&expected.action, action);
        Err(fault(&field, expected, actual))
    }

    /// The machine where the entries end; `None` if they end inside of a step, or before the first.
    #[must_use]
    pub fn into_workflow(self) -> Option<Workflow> {
        self.workflow.filter(|_| self.expected.is_empty())
    }

    /// The machine so far.
    #[must_use]
    pub const fn workflow(&self) -> Option<&Workflow> {
        self.workflow.as_ref()
    }

    fn step(&mut self, event: WorkflowEvent) -> Vec<WorkflowEffect> {
        match (&mut self.workflow, event.event) {
            (Some(workflow), kind) => workflow.step(WorkflowEvent {
                at_ms: event.at_ms,
                event: kind,
            }),
            (none, WorkflowEventKind::Started(started)) => {
                let (workflow, effects) = Workflow::start(Arc::clone(&self.definition), *started);
                *none = Some(workflow);
                effects
            }
            (None, _) => Vec::new(),
        }
    }
}

/// The first member that differs, with both values.
fn first_difference(
    expected: &WorkflowAction,
    actual: &WorkflowAction,
) -> (String, String, String) {
    let members = |action: &WorkflowAction| serde_json::to_value(action).unwrap_or_default();
    let (expected, actual) = (members(expected), members(actual));
    let mut names: Vec<&String> = [&expected, &actual]
        .into_iter()
        .filter_map(|value| value.as_object())
        .flat_map(|members| members.keys())
        .collect();
    names.sort();
    let differs = names
        .into_iter()
        .find(|name| expected.get(name) != actual.get(name));
    let shown = |value: &serde_json::Value, name: &str| {
        value
            .get(name)
            .map_or("nothing".to_owned(), ToString::to_string)
    };
    match differs {
        Some(name) => (name.clone(), shown(&expected, name), shown(&actual, name)),
        None => (
            "event".to_owned(),
            "the event".to_owned(),
            "another".to_owned(),
        ),
    }
}
