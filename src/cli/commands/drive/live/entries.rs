//! What is shown of an entry that has become durable. Follows no run.

use std::time::Instant;

use super::super::awaited::waiting;
use super::{Cursor, Following};
use crate::context::reach::unconfined_notes;
use crate::ui::screen::Style;
use monolith_core::kernel::{EntryDraft, EventKind, Run};
use monolith_core::transcript::SealedEntry;
use monolith_core::view::{Entry, RunView};
use monolith_host::telemetry::verbose_lines;
use monolith_service::text::escape::line;
use monolith_service::text::narration::Transition;
use monolith_service::text::numbers::seconds;

impl Following {
    pub(super) fn entry(&mut self, draft: &EntryDraft, sealed: &SealedEntry, run: &Run) {
        let entry = Entry::sealed(draft, sealed.hash);
        let view = self.view(run.contract());
        view.take(entry);
        let transition = Transition::of(view, entry);
        self.report_departure();
        self.report_changed_tools(entry);
        self.report_unconfined(entry);
        let awaited = run.awaited();
        let is_new = awaited.is_some() && awaited != self.awaited;
        self.questions = self.questions.saturating_add(u64::from(is_new));
        self.awaited = awaited;
        self.bill();
        self.keep_snapshot(entry);
        if !self.screen.is_watched() && !self.verbose {
            return;
        }
        self.report_start(entry);
        self.wipe();
        if let (Some(streamed), Some(view)) = (&mut self.streamed, &self.view) {
            streamed.judge(self.screen, view);
        }
        let name = self.name();
        if let Some(view) = self.view.as_ref().filter(|_| self.verbose) {
            for verbose in verbose_lines(view, entry, run.conversation()) {
                self.screen
                    .write_err(&format!("{name}{}\n", line(&verbose)));
            }
        }
        if let Some(transition) = transition {
            let transition = if self.verbose {
                transition.numbered_line()
            } else {
                transition.line()
            };
            let transition = self.screen.paint(Style::Dim, &transition);
            self.screen.write_err(&format!("{name}{transition}\n"));
        }
        if let Some(waiting) = waiting(run.contract(), entry.action) {
            self.waiting = waiting;
        }
        self.reported = None;
        self.since = Instant::now();
    }

    /// Reports how long the start took, if it was shown as waited for: the times of the entries begin after it.
    fn report_start(&mut self, entry: Entry<'_>) {
        if entry.action.seq > 0 || !matches!(self.cursor, Cursor::BehindWhatIsWaitedFor) {
            return;
        }
        let took = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.wipe();
        let words = format!("ready after {}; the run begins", seconds(took));
        let words = self.screen.paint(Style::Dim, &words);
        self.screen.write_err(&format!("{}{words}\n", self.name()));
    }

    /// Names what tool servers offer otherwise than when the run was begun: calls of such tools are refused.
    fn report_changed_tools(&mut self, entry: Entry<'_>) {
        let Some(EventKind::Resumed(resumed)) = entry.event.map(|event| &event.event) else {
            return;
        };
        for server in &resumed.bring_up {
            self.wipe();
            self.screen.write_err(&format!(
                "note: tool server {} offers other tools than the contract holds: {}\n",
                line(&server.server),
                line(&server.detail)
            ));
        }
    }

    /// Names the tool servers that run without the sandbox because this machine has none, and limits of memory that count each process alone.
    fn report_unconfined(&mut self, entry: Entry<'_>) {
        let confinement = match entry.event.map(|event| &event.event) {
            Some(EventKind::RunStarted(started)) => &started.confinement,
            Some(EventKind::Resumed(resumed)) => &resumed.confinement,
            _ => return,
        };
        let Some(view) = &self.view else {
            return;
        };
        let details = self.screen.is_watched() || self.verbose;
        let notes = unconfined_notes(confinement, view.contract(), details);
        if !notes.is_empty() {
            self.wipe();
            self.screen.write_err(&notes);
        }
    }

    /// What distinguishes the lines of a run below from those of others (001 §1).
    fn name(&self) -> String {
        let run_id = self.view.as_ref().and_then(RunView::run_id);
        let run_id = run_id.filter(|_| self.is_below);
        run_id.map_or_else(String::new, |run_id| format!("{run_id}  "))
    }
}
