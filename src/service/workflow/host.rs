//! Follows a workflow while it is driven: its progress on the screen, and its accounting. Drives nothing.

use crate::drive::follower::Follower;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::text::escape::line;
use crate::text::numbers::seconds;
use crate::workflow::step_files::Files;
use monolith_core::agent::{StepOrder, StepResult, WorkflowDraft, WorkflowView};
use monolith_core::contract::StepId;
use monolith_core::session::Control;
use monolith_host::driver::{Observer, StepFiles, StepHost};

/// The progress reports of a workflow, and the environment of its steps.
pub(super) struct Host {
    pub(super) files: Arc<Files>,
    /// True if each step is shown when it begins and ends.
    pub(super) is_watched: bool,
    pub(super) live: Follower,
    /// The folder of snapshots of each step, where the layers of its contract name one.
    pub(super) sessions: BTreeMap<StepId, PathBuf>,
    pub(super) view: WorkflowView,
}

impl Host {
    fn note(&self, text: &str) {
        if self.is_watched {
            self.live.step(text);
        }
    }
}

impl StepHost for Host {
    fn files(&self) -> Arc<dyn StepFiles> {
        Arc::clone(&self.files) as Arc<dyn StepFiles>
    }

    fn observer(&self, order: &StepOrder, control: mpsc::Sender<Control>) -> Box<dyn Observer> {
        let path = format!("{}:{}", self.files.spec.definition.id, order.step);
        let workflow = self.files.workflow.clone();
        let step = self.live.follow_step(workflow, path, control);
        if let Some(folder) = self.sessions.get(&order.step) {
            step.keeps_snapshots_in(folder, self.files.store.path());
        }
        Box::new(step)
    }

    fn entry(&mut self, draft: &WorkflowDraft) {
        self.view.take(&draft.action, draft.event.as_ref());
        let at_ms = draft.event.as_ref().map(|event| event.at_ms);
        let time = seconds(at_ms.unwrap_or(self.view.at_ms));
        for begun in &draft.action.begun {
            let undoes = begun.compensates.map(|of| format!(", undoes {of}"));
            let undoes = undoes.unwrap_or_default();
            let (number, place) = (begun.number, line(&begun.place));
            self.note(&format!("{time}  step {number} begins: {place}{undoes}"));
        }
    }

    fn step_ended(&mut self, order: &StepOrder, result: &StepResult) {
        let how = match result {
            StepResult::Run(run) => match &run.reason {
                Some(reason) => format!("failed: {}", line(reason)),
                None => run.outcome.to_string(),
            },
            StepResult::NotBegun(reason) => format!("not begun: {}", line(reason)),
        };
        let (number, place) = (order.number, line(&order.place));
        self.note(&format!("        step {number} ended: {place}   {how}"));
    }
}
