//! One entry as the view takes it, decoded. Does not verify it.

use crate::kernel::{Action, EntryDraft, Event};
use crate::message::Digest;
use crate::transcript::{Flaw, SealedEntry};

/// An entry as the view takes it.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'e> {
    /// The action of the machine.
    pub action: &'e Action,
    /// The event that began the step, where the entry carries it.
    pub event: Option<&'e Event>,
    /// The head of the chain after the entry.
    pub hash: Digest,
}

/// A stored entry, read back from its texts.
#[derive(Clone, Debug)]
pub struct DecodedEntry {
    action: Action,
    event: Option<Event>,
    hash: Digest,
}

impl<'e> Entry<'e> {
    /// An entry that has just been made and sealed.
    #[must_use]
    pub fn sealed(draft: &'e EntryDraft, hash: Digest) -> Self {
        Self {
            action: &draft.action,
            event: draft.event.as_ref(),
            hash,
        }
    }
}

impl DecodedEntry {
    /// Reads a stored entry.
    ///
    /// # Errors
    /// [`Flaw`] where one of its texts is not what it must be.
    pub fn read(entry: &SealedEntry) -> Result<Self, Flaw> {
        Ok(Self {
            action: entry.decode_action()?,
            event: entry.decode_event()?,
            hash: entry.hash,
        })
    }

    /// The entry as the view takes it.
    pub const fn entry(&self) -> Entry<'_> {
        Entry {
            action: &self.action,
            event: self.event.as_ref(),
            hash: self.hash,
        }
    }

    /// The event that began the step, where the entry carries it.
    pub fn into_event(self) -> Option<Event> {
        self.event
    }
}
