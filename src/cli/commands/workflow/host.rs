//! Follows a workflow while it is driven: its progress on the screen, its accounting, the answers of people. Drives nothing.

use std::sync::Arc;

use super::step_files::Files;
use crate::agent::{StepOrder, StepResult, WorkflowDraft, WorkflowView};
use crate::cli::commands::drive::{Accounts, Live, left_answer, refused_now};
use crate::cli::ui::escape::line;
use crate::cli::ui::numbers::seconds;
use crate::driver::{Observer, StepFiles, StepHost};
use crate::kernel::CallOrder;
use crate::message::RunId;
use crate::session::Control;

/// Where the progress of a workflow is reported, and what its steps run under.
pub(super) struct Host {
    pub(super) accounts: Accounts,
    pub(super) files: Arc<Files>,
    pub(super) live: Live,
    pub(super) view: WorkflowView,
}

impl Host {
    fn note(&self, text: &str) {
        let app = &self.files.app;
        if app.accounting.verbose {
            app.screen.write_err(&format!("{text}\n"));
        } else if !app.accounting.quiet {
            app.screen.note(text);
        }
    }
}

impl StepHost for Host {
    fn files(&self) -> Arc<dyn StepFiles> {
        Arc::clone(&self.files) as Arc<dyn StepFiles>
    }

    fn observer(&mut self, _: &StepOrder) -> Box<dyn Observer> {
        let Files { app, workflow, .. } = &*self.files;
        let live = Live::of_step(app, self.accounts.clone(), workflow.clone());
        Box::new(live)
    }

    fn answer(&self, order: &CallOrder, run_id: &RunId) -> Option<Control> {
        let left = left_answer(&self.live, &self.files.store, order, run_id);
        let answer = left.or_else(|| refused_now(order));
        let app = &self.files.app;
        if answer.is_none() && !app.accounting.quiet {
            let tool = line(&order.invocation.name);
            let approve = app.hint(&format!("approve {run_id}"));
            let text = format!("run {run_id} waits for an approval of {tool}: {approve}\n");
            app.screen.write_err(&text);
        }
        answer
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
