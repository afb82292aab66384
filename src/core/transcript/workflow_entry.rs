//! One entry of a workflow's transcript, chained as those of runs are. Knows what a chain needs of it; what it decides is `agent`'s.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Chain, Flaw, Link, canonical};
use crate::contract::WorkflowOutcome;
use crate::message::Digest;

/// One entry of a workflow as it is stored: the texts that were hashed, and the hash that chains them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedWorkflowEntry {
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

/// The parts of a workflow's action that a verification needs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct WorkflowHead {
    /// The state before.
    pub from: String,
    /// The kind of the entry.
    pub kind: String,
    /// Number of entries, on the seal.
    #[serde(default)]
    pub length: Option<u64>,
    /// The outcome, once it is decided.
    #[serde(default)]
    pub outcome: Option<WorkflowOutcome>,
    /// The entry's number.
    pub seq: u64,
    /// The state after.
    pub to: String,
}

/// The values that a workflow is bound to, as the event of entry 0 states them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct WorkflowBinding {
    /// The definition.
    pub definition_hash: Digest,
    /// The name.
    pub run_id: String,
    /// When it began.
    pub started_unix_ms: u64,
}

impl SealedWorkflowEntry {
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
}

impl<'e> Link<'e> {
    /// Builds the chain link of a workflow entry, without a model: a workflow asks none itself.
    #[must_use]
    pub const fn of_workflow(state: &'e str, event: &'e str, action: &'e str) -> Self {
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
    /// Chains an entry that the machine of workflows has decided, and advances the head to it.
    pub fn seal_workflow<A: Serialize, E: Serialize>(
        &mut self,
        seq: u64,
        state: &str,
        action: &A,
        event: Option<&E>,
    ) -> SealedWorkflowEntry {
        let action = canonical::text_of(action);
        let event = canonical::text_of(&event);
        let hash = self.extend(&Link::of_workflow(state, &event, &action));
        SealedWorkflowEntry {
            seq,
            state: state.to_owned(),
            event,
            action,
            hash,
        }
    }
}

/// The head of an action, and what entry 0 is bound to. The texts are canonical, whatever else stands in them.
pub(super) fn read_texts(
    event: &str,
    action: &str,
) -> Result<(WorkflowHead, Option<WorkflowBinding>), Flaw> {
    for (field, text) in [("action", action), ("event", event)] {
        let value: serde_json::Value = serde_json::from_str(text)
            .map_err(|fault| Flaw::tampered(field, "the text of a recorded value", fault))?;
        let dump = serde_json_canonicalizer::to_string(&value).unwrap_or_default();
        canonical::same(field, &dump, text)?;
    }
    let head = serde_json::from_str(action)
        .map_err(|fault| Flaw::tampered("action", "what a workflow did", fault))?;
    Ok((head, binding(event)))
}

fn binding(event: &str) -> Option<WorkflowBinding> {
    let event: serde_json::Value = serde_json::from_str(event).ok()?;
    let event = event.get("event")?;
    let started = event.get("kind")?.as_str()? == "started";
    let value = event.get("value").filter(|_| started)?;
    serde_json::from_value(value.clone()).ok()
}
