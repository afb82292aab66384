//! The effects of an entry in the view of a run.

use super::RunView;
use crate::kernel::{Action, EffectRecord};
use crate::view::RequestPurpose;

impl RunView {
    pub(super) fn effect(&mut self, action: &Action, effect: &EffectRecord) {
        let at_ms = self.at_ms;
        match effect {
            EffectRecord::Infer {
                attempt,
                inference,
                target,
                ..
            } => {
                let what = (RequestPurpose::Attempt, *target, *attempt);
                self.requests
                    .send(&mut self.activities, *inference, what, action, at_ms);
                self.turns.attempt(*inference);
            }
            EffectRecord::Summarise {
                call,
                inference,
                target,
            } => {
                let what = (RequestPurpose::Summary(*call), *target, action.attempt);
                self.requests
                    .send(&mut self.activities, *inference, what, action, at_ms);
            }
            EffectRecord::Sample {
                call,
                inference,
                target,
            } => {
                let what = (RequestPurpose::Sampling(*call), *target, action.attempt);
                self.requests
                    .send(&mut self.activities, *inference, what, action, at_ms);
            }
            EffectRecord::Execute { call, id, name, .. } => {
                let which = (*call, id.as_str(), name.as_str());
                self.calls
                    .start(&self.requested, &mut self.activities, which, action, at_ms);
            }
            EffectRecord::Delegate { call, id, name, .. } => {
                let which = (*call, id.as_str(), name.as_str());
                self.calls
                    .delegate(&self.requested, &mut self.activities, which, action, at_ms);
            }
            // A server's unanswered question continues nowhere, so nothing cancels it: it ends with the run.
            EffectRecord::Cancel | EffectRecord::Finish => {
                self.requests.give_up(&mut self.activities, at_ms);
                // The ends of runs below are waited for until the end.
                let runs_too = *effect == EffectRecord::Finish;
                self.calls.give_up(&mut self.activities, at_ms, runs_too);
            }
            EffectRecord::Probe
            | EffectRecord::AwaitApproval { .. }
            | EffectRecord::Wait { .. } => {}
        }
    }
}
