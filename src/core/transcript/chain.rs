//! The hash chain of one run. Hashes texts; does not decode them.

use serde::{Deserialize, Serialize};

use super::{Flaw, canonical};
use crate::kernel::{Action, EntryDraft, Event, State};
use crate::message::{Digest, DigestContext, RunId, genesis};

pub(super) static ENTRY_CONTEXT: DigestContext = DigestContext::new("monolith transcript v1 entry");

/// The hash chain of one run, at its head (semantics §9).
///
/// `H_0` commits to the contract and to the name of the run; the entry with number k carries `H_(k+1)`.
/// Extending costs the new bytes only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    contract_hash: Digest,
    head: Digest,
    length: u64,
}

/// The contribution of one entry to the chain: the stored bytes, and three names that the action states.
#[derive(Clone, Copy, Debug)]
pub struct Link<'a> {
    /// The stored text of the action.
    pub action: &'a str,
    /// Adapter version of the attempt's target.
    pub adapter_version: &'a str,
    /// The stored text of the event, or `null`.
    pub event: &'a str,
    /// Fingerprint of the attempt's target.
    pub model_fingerprint: &'a str,
    /// Profile of the attempt's target.
    pub model_profile_id: &'a str,
    /// The state after the entry, as 002 §5 writes it.
    pub state: &'a str,
}

impl<'e> Link<'e> {
    /// Returns the link of a stored entry, given its decoded action.
    #[must_use]
    pub fn of(entry: &'e SealedEntry, action: &'e Action) -> Self {
        Self {
            action: &entry.action,
            adapter_version: &action.adapter_version,
            event: &entry.event,
            model_fingerprint: &action.model_fingerprint,
            model_profile_id: &action.model_profile_id,
            state: action.to.as_str(),
        }
    }
}

impl Chain {
    /// The chain of a run that has no entry yet; its head is `H_0`.
    #[must_use]
    pub fn genesis(contract_hash: Digest, run_id: &RunId) -> Self {
        let head = genesis(contract_hash, run_id);
        Self {
            contract_hash,
            head,
            length: 0,
        }
    }

    /// The chain of a run that already has `length` entries, the last of which carries `head`.
    #[must_use]
    pub const fn resumed(contract_hash: Digest, head: Digest, length: u64) -> Self {
        Self {
            contract_hash,
            head,
            length,
        }
    }

    /// The contract that the chain is bound to.
    #[must_use]
    pub const fn contract_hash(&self) -> Digest {
        self.contract_hash
    }

    /// The hash of the last entry; `H_0` where there is none.
    #[must_use]
    pub const fn head(&self) -> Digest {
        self.head
    }

    /// Returns the number of its entries.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// Chains an entry that the machine has decided, and advances the head to it.
    pub fn seal(&mut self, draft: &EntryDraft) -> SealedEntry {
        let action = canonical::text_of(&draft.action);
        let event = canonical::text_of(&draft.event);
        let hash = self.extend(&Link {
            action: &action,
            adapter_version: &draft.action.adapter_version,
            event: &event,
            model_fingerprint: &draft.action.model_fingerprint,
            model_profile_id: &draft.action.model_profile_id,
            state: draft.action.to.as_str(),
        });
        SealedEntry {
            seq: draft.action.seq,
            state: draft.action.to,
            event,
            action,
            hash,
        }
    }

    /// Advances the head over stored bytes, and returns the hash that the entry must carry.
    pub fn extend(&mut self, link: &Link<'_>) -> Digest {
        self.head = ENTRY_CONTEXT.framed(&[
            self.head.as_bytes(),
            self.contract_hash.as_bytes(),
            link.state.as_bytes(),
            Digest::of(link.action.as_bytes()).as_bytes(),
            Digest::of(link.event.as_bytes()).as_bytes(),
            link.adapter_version.as_bytes(),
            link.model_profile_id.as_bytes(),
            link.model_fingerprint.as_bytes(),
        ]);
        self.length = self.length.saturating_add(1);
        self.head
    }
}

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
    /// Decodes the action from its text.
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
        canonical::decode_event(&self.event)
    }
}
