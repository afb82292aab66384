//! What a run begins with, as far as it follows from something else: estimates of tokens.

use super::Attribution;
use super::replayer::Replayer;
use crate::kernel::RunStarted;
use crate::message::{QuarterBytes, Role};
use crate::transcript::SealedEntry;

impl Replayer {
    /// Counts again what the system and the user say, and, where the contract names a tokenizer, the definitions of its tools. Without
    /// one these are estimated from what the server wrote, which the contract does not keep.
    ///
    /// A conversation that was taken over from another run keeps what that run counted.
    pub(super) fn check_opening(&mut self, entry: &SealedEntry, started: &RunStarted) {
        if started.parent.is_none() {
            self.check_messages(entry, started);
        }
        if self.contract.tokenizer.is_none() || started.tokenizer_fault.is_some() {
            return;
        }
        let Some(counter) = self.counts() else { return };
        let contract = self.contract.clone();
        for (pointer, tool, replayed) in contract.definitions_counted(counter.as_ref()) {
            if tool.schema_tokens != replayed {
                let (recorded, replayed) = (tool.schema_tokens.to_string(), replayed.to_string());
                self.differ_at(entry, &pointer, &recorded, &replayed, Attribution::Contract);
            }
        }
    }

    fn check_messages(&mut self, entry: &SealedEntry, started: &RunStarted) {
        for (index, message) in started.messages.iter().enumerate() {
            if !matches!(message.role, Role::System | Role::User) {
                continue;
            }
            // A process without the tokenizer estimated.
            let counter = match &started.tokenizer_fault {
                Some(_) => Some(QuarterBytes::counter()),
                None => self.counts(),
            };
            let Some(counter) = counter else { continue };
            let replayed = counter.count(&message.content);
            if replayed != message.tokens {
                let pointer = format!("/event/event/value/messages/{index}/tokens");
                let (recorded, replayed) = (message.tokens.to_string(), replayed.to_string());
                self.differ_at(entry, &pointer, &recorded, &replayed, Attribution::Tampered);
            }
        }
    }
}
