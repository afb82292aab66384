//! One sealed entry as stored. Does not verify itself.

use serde::{Deserialize, Serialize};

use super::{Flaw, canonical};
use crate::kernel::{Action, Event, State};
use crate::message::Digest;

/// One entry of a transcript as it is stored: the texts that were hashed, and the hash that chains them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SealedEntry {
    /// The entry's number, from 0.
    pub seq: u64,
    /// The state after the entry.
    pub state: State,
    /// Canonical JSON of the event that began the step, or `null`.
    pub event: String,
    /// Canonical JSON of what the machine did.
    pub action: String,
    /// The head of the chain after this entry.
    pub hash: Digest,
}

impl SealedEntry {
    /// What the machine did, read back from its text.
    ///
    /// # Errors
    /// [`Flaw`] where the text is not the canonical text of an action.
    pub fn decode_action(&self) -> Result<Action, Flaw> {
        canonical::decode("action", &self.action)
    }

    /// The event that began the step, read back from its text; none if the entry carries none.
    ///
    /// # Errors
    /// [`Flaw`] where the text is neither `null` nor the canonical text of an event.
    pub fn decode_event(&self) -> Result<Option<Event>, Flaw> {
        canonical::decode("event", &self.event)
    }
}
