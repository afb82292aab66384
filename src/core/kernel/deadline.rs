//! When the machine wants to be woken. It never looks at a clock; the driver asks and obeys.

use super::ending::ENDS_TIMEOUT_MS;
use super::machine::Machine;
use super::stage::{Awaited, Stage};

impl Machine {
    /// The earliest moment at which `TimerFired` would change something, in milliseconds since the run began. A timeout is
    /// exceeded one millisecond after it has passed.
    pub(super) fn next_deadline(&self, stage: &Stage) -> Option<u64> {
        let wait = match stage {
            Stage::Terminate(_) => return None,
            Stage::Infer(Awaited::Wait { until_ms }) => Some(*until_ms),
            Stage::Precheck
            | Stage::Infer(Awaited::Inference(_) | Awaited::Due { .. })
            | Stage::ValidateCalls(_)
            | Stage::Execute(_)
            | Stage::Observe(_)
            | Stage::Commit => None,
        };
        if let (Stage::Execute(batch), Some(since)) = (stage, self.clock.parked_since())
            && batch.ending
        {
            return Some(after(since, ENDS_TIMEOUT_MS));
        }
        if let Some(since) = self.clock.parked_since() {
            // A parked run is outside step and total timeout.
            return Some(after(since, self.contract.approval_timeout_ms));
        }
        let parked_ms = self.clock.parked_ms(self.at_ms);
        let on_run_clock =
            |start: u64, timeout: u64| after(start, timeout).saturating_add(parked_ms);
        let total = on_run_clock(0, self.contract.total_timeout_ms);
        let step = (self.turn.number > 0)
            .then(|| on_run_clock(self.turn.started_ms, self.contract.step_timeout_ms));
        [Some(total), step, wait].into_iter().flatten().min()
    }
}

const fn after(start_ms: u64, timeout_ms: u64) -> u64 {
    start_ms.saturating_add(timeout_ms).saturating_add(1)
}
