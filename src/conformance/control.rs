//! What people, clocks and processes do in a case.

use super::drive::Drive;
use super::script::{ResumedText, ToolResult, Word};
use crate::kernel::{Approval, EventKind, Interrupter, LostEffect, Resumed, State};
use crate::message::Digest;

impl Drive {
    pub(super) fn word(&mut self, word: Word) -> Result<(), String> {
        let event = match word {
            Word::Stop => EventKind::StopRequested,
            Word::Abort => EventKind::Interrupted(Interrupter::Abort),
            Word::Shutdown => EventKind::Interrupted(Interrupter::Shutdown),
            Word::Parent => EventKind::Interrupted(Interrupter::Parent),
            Word::Approve => EventKind::ApprovalGiven(self.approval(false)?),
            Word::ApproveOther => EventKind::ApprovalGiven(self.approval(true)?),
            Word::Deny => EventKind::ApprovalDenied(self.approval(false)?),
            Word::Timer => {
                let due = self.played.run.next_deadline();
                return self.fire(due.ok_or("the machine waits for no moment")?);
            }
            Word::Probed if self.flight.probe => return self.probed(),
            Word::Probed => return Err("no probe is in flight".to_owned()),
            Word::Timeout | Word::Lost | Word::Cancelled | Word::Changed | Word::WrongId => {
                return self.tool(None, &ToolResult::Word(word));
            }
        };
        self.push(event)
    }

    fn approval(&self, of_other_arguments: bool) -> Result<Approval, String> {
        let waiting = self.flight.awaiting.as_ref();
        let order = waiting.ok_or("no call waits for an approval")?;
        Ok(Approval {
            arguments_hash: if of_other_arguments {
                Digest::of(b"other arguments")
            } else {
                order.arguments_hash
            },
            call: order.call,
        })
    }

    pub(super) fn resumed(&mut self, resumed: &ResumedText) -> Result<(), String> {
        let hash = self.played.contract.rehash();
        let flight = std::mem::take(&mut self.flight);
        self.push(EventKind::Resumed(Resumed {
            contract_hash: if resumed.contract_changed {
                Digest::of(b"another contract")
            } else {
                hash
            },
            tools_changed: resumed.tools_changed.clone(),
        }))?;
        let asked = flight.inference.map(|asked| asked.request.inference);
        let lost = flight
            .probe
            .then_some(LostEffect::Probe)
            .into_iter()
            .chain(asked.map(LostEffect::Inference))
            .chain(flight.wait.then_some(LostEffect::Wait))
            .chain(flight.calls.iter().map(|c| LostEffect::Call(c.order.call)));
        for effect in lost {
            if self.played.run.state() != State::Terminate {
                self.push(EventKind::EffectLost(effect))?;
            }
        }
        if self.flight.awaiting.is_none() && self.played.run.state() == State::Execute {
            self.flight.awaiting = flight.awaiting;
        }
        Ok(())
    }
}
