//! The effects that the machine requests. Does not know how a request is written or a call is run.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::texts::summary_preamble;
use super::{ClosingReason, EntryDraft, Outcome};
use crate::contract::{DelegationGrant, Label, RulePlace};
use crate::message::{
    AgentMessage, CallSeq, Digest, InferenceSeq, ObjectText, Parameter, Role, ToolInvocation,
    estimate_tokens,
};

/// The effects that the session must carry out, in the machine's order.
///
/// [`Effect::Append`] always comes first, and no other effect may start before its entries are durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Make these entries durable, as one batch.
    Append(Vec<EntryDraft>),
    /// Ask every target whether it answers; raise `Probed`.
    Probe,
    /// Send a request; raise `InferenceReturned` or `InferenceFailed`.
    Infer(InferRequest),
    /// Start a call, or continue one whose server has its answer; raise `ToolReturned`.
    Execute(CallOrder),
    /// Start a child run for a call of an agent, or resume the existing one; raise `ToolReturned` with its end.
    Delegate(DelegateOrder),
    /// Ask for a summary of a result; raise `InferenceReturned` or `InferenceFailed`.
    Summarise(SummaryRequest),
    /// Ask what the server of a call wants a model to be asked; raise `InferenceReturned` or `InferenceFailed`.
    Sample(SampleRequest),
    /// Ask a person, about the call or what its server asks for; raise `ApprovalGiven` or `ApprovalDenied`.
    AwaitApproval(CallOrder),
    /// Raise nothing but `TimerFired` at [`Run::next_deadline`](super::Run::next_deadline).
    Wait {
        /// The end of the wait, in milliseconds since the run began.
        until_ms: u64,
    },
    /// Give up what is in flight; its results no longer matter.
    Cancel,
    /// The run is over: sign, answer, stop.
    Finish(Outcome),
}

/// A request to one target. The conversation is the run's own; this says what goes with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InferRequest {
    /// The attempt in this turn, from 1.
    pub attempt: u32,
    /// Reason for the closing turn, if this is one.
    pub closing: Option<ClosingReason>,
    /// Prompt tokens that the machine expects: context + pending + schema.
    pub expected_tokens: u64,
    /// Number of the inference in the run.
    pub inference: InferenceSeq,
    /// Parameters that the request leaves out: its target refused them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub left_out: BTreeSet<Parameter>,
    /// Messages after the conversation, in this request only.
    pub notices: Vec<AgentMessage>,
    /// Index into the contract's targets.
    pub target: usize,
    /// Exposure of tools in the request.
    pub tools: ToolExposure,
    /// The turn, from 1.
    pub turn: u32,
    /// Tags to look for in the answer, and their description in the request; `None` under the native transport.
    pub xml: Option<XmlOffer>,
}

/// The offer of one request under the XML tool transport (000 §11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct XmlOffer {
    /// True in the closing turn.
    pub closing: bool,
    /// The number of the first free slot: slots go on over the turns.
    pub first_slot: u32,
    /// `H_0` of the run; the nonce is its first 8 digits.
    pub genesis: Digest,
    /// Number of slots for calls.
    pub slots: u32,
}

/// The exposure of tools in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolExposure {
    /// No tools: forbidden, or the closing turn.
    Withheld,
    /// The contract's exposed tools, the model chooses.
    Auto,
    /// The contract's exposed tools, and a call is asked for (token gate closed).
    Forced,
}

/// A call to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallOrder {
    /// BLAKE3 over the argument text.
    pub arguments_hash: Digest,
    /// Of an order that a person is asked about: the rule of the contract that has it so; none for its list `require_approval`, and for a
    /// server's question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<RulePlace>,
    /// Call number in the run.
    pub call: CallSeq,
    /// Answer to continue with, if its server asked for something. In an order about which a person is asked, it is set if the
    /// question is the server's; the question then replaces the arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Box<GivenInput>>,
    /// The call itself.
    pub invocation: ToolInvocation,
}

impl CallOrder {
    /// True if its server asks within the call, so that the question ends with the process that made it.
    pub fn asks_within_the_call(&self) -> bool {
        let question = self.input.as_ref();
        question.is_some_and(|question| question.resume.is_none())
    }
}

/// The answer to what a server asked for during a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenInput {
    /// Input of a person; `None` if they refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ObjectText>,
    /// [`InputQuestion::resume`](crate::message::InputQuestion::resume), as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
}

/// A request for a summary. Its text is not the machine's: the whole result lies in the blob store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryRequest {
    /// The call whose result it is.
    pub call: CallSeq,
    /// The blob that holds the whole of the result.
    pub full: Digest,
    /// The fields shared with other requests: no notices, no tools.
    pub request: InferRequest,
    /// Maximum size of the summary in bytes.
    pub room_bytes: u64,
    /// The exposed name of the tool.
    pub tool: String,
}

/// A request that the server of a call wants a model to be sent. Its messages are not the machine's: they lie in the blob store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleRequest {
    /// The call.
    pub call: CallSeq,
    /// The most tokens of the answer.
    pub max_tokens: u64,
    /// The blob that holds the messages.
    pub prompt: Digest,
    /// The fields shared with other requests: no notices, no tools.
    pub request: InferRequest,
}

impl SummaryRequest {
    /// The whole conversation of the request, given the text of the result.
    #[must_use]
    pub fn conversation(&self, result: &str) -> Vec<Arc<AgentMessage>> {
        let instruction = format!("{}{result}", summary_preamble(&self.tool, self.room_bytes));
        let tokens = estimate_tokens(&instruction);
        vec![Arc::new(AgentMessage::text(
            Role::User,
            instruction,
            tokens,
        ))]
    }
}

/// A call of an agent: a child run starts for it, or resumes if one of that name exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelegateOrder {
    /// Its limits.
    pub grant: DelegationGrant,
    /// The labels that the model had seen when it asked for the call: the task carries them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<Label>,
    /// The call.
    pub order: CallOrder,
}
