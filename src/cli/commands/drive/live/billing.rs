//! The accounting file of a run that is followed.

use super::Following;
use crate::telemetry::{AccountingLine, BillingFault};

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

    pub(super) fn warn_of(&self, fault: &BillingFault) {
        let line =
            format!("warning: {fault}; the run goes on, and its transcript keeps everything\n");
        self.screen.write_err(&crate::cli::ui::escape::text(&line));
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
