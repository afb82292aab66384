//! One entry of a machine other than that of runs, chained as those of runs are. Knows what a chain needs of
//! it; what the machine decides is for `agent` and `work`.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Chain, Flaw, Link, SealedOutcome, TranscriptKind, canonical};
use crate::contract::{WORK_FORMAT, WorkOutcome, WorkState, WorkStatus, WorkflowOutcome};
use crate::message::Digest;

/// The state of a workflow that has ended.
const TERMINATE: &str = "TERMINATE";

/// One entry of a workflow or of a work item as it is stored: the texts that were hashed, and the hash that
/// chains them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedMachineEntry {
    /// The entry's number, from 0.
    pub seq: u64,
    /// The state after the entry.
    pub state: String,
    /// Canonical JSON of the event that began the step, or `null`.
    pub event: String,
    /// Canonical JSON of what the machine did.
    pub action: String,
    /// The head of the chain after this entry.
    pub hash: Digest,
}

/// The parts of an action that a verification needs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct MachineHead {
    /// The end of a work item, on its seal.
    #[serde(default)]
    end: Option<StatedEnd>,
    /// The state before.
    pub from: String,
    /// The kind of the entry.
    pub kind: String,
    /// Number of entries, on the seal.
    #[serde(default)]
    pub length: Option<u64>,
    /// The outcome of a workflow, once it is decided.
    #[serde(default)]
    outcome: Option<WorkflowOutcome>,
    /// The entry's number.
    pub seq: u64,
    /// The state after.
    pub to: String,
}

/// The status that the end of a work item states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct StatedEnd {
    pub(super) status: WorkStatus,
}

/// The values that a machine is bound to, as the event of entry 0 states them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineBinding {
    /// The hash of the document.
    pub document_hash: Digest,
    /// The machine.
    pub kind: TranscriptKind,
    /// The name.
    pub run_id: String,
    /// The time of its beginning.
    pub started_unix_ms: u64,
}

/// The document of a work item. A verification needs its hash alone.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ItemDocument {
    contract_hash: Digest,
    format: String,
    item: Value,
}

impl ItemDocument {
    /// The document of an item under a contract.
    pub(super) fn new(contract_hash: Digest, item: Value) -> Self {
        Self {
            contract_hash,
            format: WORK_FORMAT.to_owned(),
            item,
        }
    }

    /// BLAKE3 of its canonical text.
    pub(super) fn hash(&self) -> Digest {
        Digest::of(&serde_json_canonicalizer::to_vec(self).unwrap_or_default())
    }

    /// Reads a stored document.
    ///
    /// # Errors
    /// [`Flaw`] where the text is not the canonical text of one.
    pub(super) fn decode(text: &str) -> Result<Self, Flaw> {
        let read: Self = serde_json::from_str(text)
            .map_err(|fault| Flaw::tampered("contract", "a work item with its contract", fault))?;
        let dump = serde_json_canonicalizer::to_string(&read).unwrap_or_default();
        canonical::same("contract", &dump, text)?;
        Ok(read)
    }
}

impl MachineHead {
    /// The machine that has such states.
    #[must_use]
    pub fn machine(&self) -> TranscriptKind {
        match WorkState::parse(&self.to) {
            Some(_) => TranscriptKind::Work,
            None => TranscriptKind::Workflow,
        }
    }

    /// True if the machine has ended with this entry.
    #[must_use]
    pub fn is_end(&self) -> bool {
        match WorkState::parse(&self.to) {
            Some(state) => state.is_end(),
            None => self.to == TERMINATE,
        }
    }

    /// The outcome that the entry states.
    #[must_use]
    pub fn outcome(&self) -> Option<SealedOutcome> {
        match self.machine() {
            TranscriptKind::Work => Some(SealedOutcome::from(WorkOutcome {
                class: self.end?.status,
                code: WorkState::parse(&self.from)?,
            })),
            TranscriptKind::Run | TranscriptKind::Workflow => self.outcome.map(SealedOutcome::from),
        }
    }
}

impl SealedMachineEntry {
    /// Decodes the action of the machine from its text.
    ///
    /// # Errors
    /// [`Flaw`] where the text is not the canonical text of an action.
    pub fn decode_action<T: Serialize + DeserializeOwned>(&self) -> Result<T, Flaw> {
        canonical::decode("action", &self.action)
    }

    /// The event that began the step; none if the entry carries none.
    ///
    /// # Errors
    /// [`Flaw`] where the text is neither `null` nor the canonical text of an event.
    pub fn decode_event<T: Serialize + DeserializeOwned>(&self) -> Result<Option<T>, Flaw> {
        canonical::decode("event", &self.event)
    }

    /// The outcome, if this is the seal.
    ///
    /// # Errors
    /// The reason why the entry is not of the kind that it says it is.
    pub fn sealed_outcome(&self) -> Result<Option<SealedOutcome>, String> {
        let head: MachineHead =
            serde_json::from_str(&self.action).map_err(|fault| fault.to_string())?;
        match (head.is_end(), head.kind == "seal", head.outcome()) {
            (true, true, Some(outcome)) => Ok(Some(outcome)),
            (true, true, None) => Err("a seal without an outcome".to_owned()),
            (true, false, _) => Err("an end without its seal".to_owned()),
            (false, ..) => Ok(None),
        }
    }
}

impl<'e> Link<'e> {
    /// Builds the chain link of an entry of a machine that asks no model itself.
    #[must_use]
    pub const fn of_machine(state: &'e str, event: &'e str, action: &'e str) -> Self {
        Self {
            action,
            adapter_version: "",
            event,
            model_fingerprint: "",
            model_profile_id: "",
            state,
        }
    }
}

impl Chain {
    /// Chains an entry that a machine other than that of runs has decided, and advances the head to it.
    pub fn seal_machine<A: Serialize, E: Serialize>(
        &mut self,
        seq: u64,
        state: &str,
        action: &A,
        event: Option<&E>,
    ) -> SealedMachineEntry {
        // A work item holds JSON of its author, so plain serialisation is not canonical.
        let action = serde_json_canonicalizer::to_string(action).unwrap_or_default();
        let event = serde_json_canonicalizer::to_string(&event).unwrap_or_default();
        let hash = self.extend(&Link::of_machine(state, &event, &action));
        SealedMachineEntry {
            seq,
            state: state.to_owned(),
            event,
            action,
            hash,
        }
    }
}

/// The blob that an event names: the output of the tests of a work item.
pub(super) fn named_blob(event: &str) -> Option<Digest> {
    let event: Value = serde_json::from_str(event).ok()?;
    let event = event.get("event")?;
    let is_tested = event.get("kind")?.as_str()? == "tested";
    let value = event.get("value").filter(|_| is_tested)?;
    Digest::deserialize(value.get("output_blob")?).ok()
}

/// The head of an action, and what entry 0 is bound to. The texts are canonical, whatever else stands in
/// them.
pub(super) fn read_texts(
    event: &str,
    action: &str,
) -> Result<(MachineHead, Option<MachineBinding>), Flaw> {
    for (field, text) in [("action", action), ("event", event)] {
        let value: Value = serde_json::from_str(text)
            .map_err(|fault| Flaw::tampered(field, "the text of a recorded value", fault))?;
        let dump = serde_json_canonicalizer::to_string(&value).unwrap_or_default();
        canonical::same(field, &dump, text)?;
    }
    let head = serde_json::from_str(action)
        .map_err(|fault| Flaw::tampered("action", "what a machine did", fault))?;
    Ok((head, MachineBinding::read(event)))
}

impl MachineBinding {
    /// Reads the event of entry 0; none for another event.
    fn read(event: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct WorkflowStart {
            definition_hash: Digest,
            run_id: String,
            started_unix_ms: u64,
        }
        #[derive(Deserialize)]
        struct ItemStart {
            contract_hash: Digest,
            item: Value,
            started_unix_ms: u64,
            work_id: String,
        }
        let event: Value = serde_json::from_str(event).ok()?;
        let event = event.get("event")?;
        let is_start = event.get("kind")?.as_str()? == "started";
        let value = event.get("value").filter(|_| is_start)?;
        if let Ok(item) = ItemStart::deserialize(value) {
            return Some(Self {
                document_hash: ItemDocument::new(item.contract_hash, item.item).hash(),
                kind: TranscriptKind::Work,
                run_id: item.work_id,
                started_unix_ms: item.started_unix_ms,
            });
        }
        let workflow = WorkflowStart::deserialize(value).ok()?;
        Some(Self {
            document_hash: workflow.definition_hash,
            kind: TranscriptKind::Workflow,
            run_id: workflow.run_id,
            started_unix_ms: workflow.started_unix_ms,
        })
    }
}
