//! What people, clocks and processes do in a case.

use super::drive::Drive;
use super::script::{ResumedText, ToolResult, Word};
use monolith_core::kernel::{Approval, EventKind, Resumed, State};
use monolith_core::message::Digest;
use monolith_core::session::{Control, Input};

impl Drive {
    pub(super) fn word(&mut self, word: Word) -> Result<(), String> {
        let control = match word {
            Word::Stop => Control::Stop,
            Word::Abort => Control::Abort,
            Word::Suspend => Control::Suspend,
            Word::Parent => Control::Parent,
            Word::Approve => Control::Approve(self.approval(false)?),
            Word::ApproveOther => Control::Approve(self.approval(true)?),
            Word::Deny => Control::Deny(self.approval(false)?),
            Word::Timer => {
                let due = self.due();
                return self.fire(due.ok_or("the machine waits for no moment")?);
            }
            Word::Probed if self.flight.probe => return self.probed(),
            Word::Probed => return Err("no probe is in flight".to_owned()),
            Word::Timeout | Word::Lost | Word::Cancelled | Word::Changed | Word::WrongId => {
                return self.tool(None, &ToolResult::Word(word));
            }
        };
        self.hand_in(Input::Control(control))
    }

    fn approval(&self, of_other_arguments: bool) -> Result<Approval, String> {
        let waiting = self.flight.awaiting.as_ref();
        let order = waiting.ok_or("no call waits for an approval")?;
        let hash = if of_other_arguments {
            Digest::of(b"other arguments")
        } else {
            order.arguments_hash
        };
        Ok(Approval::to(order.call, hash))
    }

    pub(super) fn resumed(&mut self, resumed: &ResumedText) -> Result<(), String> {
        let flight = std::mem::take(&mut self.flight);
        if resumed.contract_changed {
            // No session says so of its own contract: this is one that was changed under it.
            self.push(EventKind::Resumed(Resumed {
                addresses: Vec::new(),
                bring_up: Vec::new(),
                confinement: Vec::new(),
                contract_hash: Digest::of(b"another contract"),
                tool_servers: Vec::new(),
                tools_changed: resumed.tools_changed.clone(),
            }))?;
        } else {
            self.hand_in(Input::Resumed {
                addresses: Vec::new(),
                bring_up: Vec::new(),
                confinement: Vec::new(),
                tool_servers: Vec::new(),
                tools_changed: resumed.tools_changed.clone(),
            })?;
        }
        if self.flight.awaiting.is_none() && self.state() == State::Execute {
            self.flight.awaiting = flight.awaiting;
        }
        Ok(())
    }
}
