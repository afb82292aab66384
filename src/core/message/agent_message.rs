//! Messages and tool calls of the canonical conversation (002 §4.3). Knows no wire format.

use serde::{Deserialize, Serialize};

use super::{FailureCode, ObjectText, OpeningState, ProviderState, is_blank};

/// Who speaks (002 §4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Instructions of the contract.
    System,
    /// The task, and what monolith says in the conversation.
    User,
    /// The model.
    Assistant,
    /// The observation of one tool call.
    Tool,
}

/// A message of the canonical conversation (002 §4.3). The runtime executes nothing else.
///
/// ```
/// use monolith_core::message::{AgentMessage, Role};
///
/// let task = AgentMessage::text(Role::User, "How late is it?", 4);
/// assert!(task.tool_calls.is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentMessage {
    /// The text; empty where there is none.
    pub content: String,
    /// On role `tool`, if results are rendered as text: how the call ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Observed>,
    /// Reasoning that the model reported; never an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Who speaks.
    pub role: Role,
    /// The state that goes back to the provider with this message. The record holds it beside the message, in the event that brought
    /// it.
    #[serde(skip)]
    pub state: Option<Box<ProviderState>>,
    /// Estimated tokens of this message, stamped outside the machine.
    pub tokens: u64,
    /// On role `tool`: the call that this answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The calls it requests, in order; empty unless the role is `assistant`. A record always states them.
    #[serde(default)]
    pub tool_calls: Vec<ToolInvocation>,
}

/// The end of a call, as the model sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observed {
    /// Duration in milliseconds; 0 if nothing was started.
    pub duration_ms: u64,
    /// Success or failure of the call.
    pub status: ObservedStatus,
}

/// The success or failure of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObservedStatus {
    /// A result came back that reports no error.
    Ok,
    /// Anything else.
    Failed,
}

/// A requested tool call (002 §4.4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolInvocation {
    /// The arguments exactly as the model wrote them: the text of one JSON object.
    pub arguments: ObjectText,
    /// Reason why its arguments cannot be read. They are then empty, and the call is answered and never run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<FailureCode>,
    /// The provider's id, or one made deterministically by the adapter.
    pub id: String,
    /// The exposed tool name, byte for byte as the model wrote it.
    pub name: String,
    /// Payload from which the adapter repaired this call, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_payload: Option<String>,
    /// The model that asked, as the provider named it.
    pub source_model: String,
}

impl AgentMessage {
    /// A message of `role` with text only.
    #[must_use]
    pub fn text(role: Role, content: impl Into<String>, tokens: u64) -> Self {
        Self {
            content: content.into(),
            observed: None,
            reasoning: None,
            role,
            state: None,
            tokens,
            tool_call_id: None,
            tool_calls: Vec::new(),
        }
    }

    /// The observation that answers the call `tool_call_id`.
    #[must_use]
    pub fn observation(
        tool_call_id: impl Into<String>,
        content: impl Into<String>,
        tokens: u64,
    ) -> Self {
        Self {
            tool_call_id: Some(tool_call_id.into()),
            ..Self::text(Role::Tool, content, tokens)
        }
    }

    /// Takes the states off the messages of a conversation, for the record.
    #[must_use]
    pub fn take_states(messages: &mut [Self]) -> Vec<OpeningState> {
        let messages = (0..).zip(messages);
        let taken = messages.filter_map(|(message, said)| {
            let provider_state = *said.state.take()?;
            Some(OpeningState {
                message,
                provider_state,
            })
        });
        taken.collect()
    }

    /// True if the text holds only white space and invisible characters.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        is_blank(&self.content)
    }

    /// True if the model reported reasoning that is more than white space.
    #[must_use]
    pub fn has_reasoning(&self) -> bool {
        self.reasoning
            .as_deref()
            .is_some_and(|r| !r.trim().is_empty())
    }
}
