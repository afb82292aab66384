//! The accounting file of a run that is followed.

use super::Following;
use monolith_core::kernel::EventKind;
use monolith_core::view::{Entry, RunView};
use monolith_host::telemetry::{AccountingLine, BillingFault};

impl Following {
    /// Writes the lines that have become final. What cannot be written now is tried again with the next.
    pub(super) fn bill(&mut self) {
        // After a fault a part of the lines may stand there.
        let billed = if self.billing_fault.is_some() {
            self.catch_up()
        } else {
            self.bill_ended()
        };
        match billed {
            Ok(()) => self.billing_fault = None,
            Err(fault) => {
                if self.billing_fault.is_none() {
                    self.warn_of(&fault);
                }
                self.billing_fault = Some(fault);
            }
        }
    }

    fn bill_ended(&mut self) -> Result<(), BillingFault> {
        let (Some((file, billed)), Some(view)) = (&mut self.billing, &self.view) else {
            return Ok(());
        };
        file.append(&AccountingLine::of_ended(view, *billed))?;
        *billed = view.ended().len();
        // What has ended is not resumed: nothing would add these lines again.
        if view.outcome().is_some() {
            file.sync()?;
        }
        Ok(())
    }

    /// An agent that the run called has ended: a snapshot of the whole session has it (001 §12).
    pub(super) fn keep_snapshot(&mut self, entry: Entry<'_>) {
        let Some(EventKind::ToolReturned(returned)) = entry.event.map(|event| &event.event) else {
            return;
        };
        let run_id = self.view.as_ref().and_then(RunView::run_id);
        let (Some(snapshots), Some(run_id), Some(_)) = (&self.snapshots, run_id, &returned.child)
        else {
            return;
        };
        if let Err(fault) = snapshots.keep_of(run_id) {
            let text = format!("warning: {}; the run goes on\n", fault.summary());
            self.screen
                .write_err(&monolith_service::text::escape::text(&text));
        }
    }

    pub(super) fn warn_of(&self, fault: &BillingFault) {
        let line =
            format!("warning: {fault}; the run goes on, and its transcript keeps everything\n");
        self.screen
            .write_err(&monolith_service::text::escape::text(&line));
    }

    /// Writes those lines of a run begun by another process that it did not live to write.
    pub(super) fn catch_up(&mut self) -> Result<(), BillingFault> {
        let (Some((file, billed)), Some(view)) = (&mut self.billing, &self.view) else {
            return Ok(());
        };
        let Some(run_id) = view.run_id() else {
            return Ok(());
        };
        let there = file.entries_of(run_id)?;
        let mut lines = AccountingLine::of_ended(view, 0);
        lines.retain(|line| !there.contains(&line.index()));
        file.append(&lines)?;
        *billed = view.ended().len();
        Ok(())
    }
}
