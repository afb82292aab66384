//! The verdict of an adapter over one response (002 §4.2). Plain data; does not know any protocol.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{AgentMessage, Digest, FailureCode, ServedBy, TokenCounter, Usage, exact_sum};

/// The adapter's verdict on a response (002 §4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdapterStatus {
    /// The response was canonical as it came.
    Native,
    /// The response is canonical after a recorded repair; never under `strict_mode`.
    Recovered,
    /// The response is not a canonical message.
    Rejected,
}

/// The model's stop reason, as far as the machine may know. It never proves that a call exists or is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It came to an end: stop, end of turn, tool calls.
    End,
    /// The output was cut by a length limit.
    Length,
    /// The model or the provider refused.
    Refusal,
    /// A content filter stopped the output.
    ContentFilter,
    /// The provider gave no reason, or one that the adapter does not know.
    Unknown,
}

/// Text that the token gate holds back (002 Invariant F): its bytes are in no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Withheld {
    /// True if the message was white space only. Texts of a repair, which are withheld with it, do not count.
    pub blank: bool,
    /// Size of the text in bytes.
    pub bytes: u64,
    /// BLAKE3 over the text; its bytes lie in the blob store under this name.
    pub hash: Digest,
    /// Size of the arguments of the final report that is held back with it, where one is: the last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report_bytes: Option<u64>,
}

/// The reason why a tag of the XML transport (000 §11) is ignored, or counts although it is incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TagFlaw {
    /// The attributes after the slot are not `name="value"`, or one occurs twice.
    Attributes,
    /// It has no attribute `tool`, or an empty one.
    NoTool,
    /// The slot is used by an earlier tag of the message.
    SlotUsed,
    /// The message has more tags than are read; this one and all after it are left out.
    TooMany,
    /// Its closing tag is missing.
    Unclosed,
    /// A final report whose closing tag is missing. It counts all the same: the model had come to its end.
    UnclosedReport,
    /// No such slot is offered.
    UnknownSlot,
    /// A closing tag that closes nothing.
    Unopened,
    /// The slot belongs to another tool.
    WrongTool,
}

impl TagFlaw {
    /// The flaw in words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Attributes => "attributes",
            Self::NoTool => "no tool",
            Self::SlotUsed => "slot used",
            Self::TooMany => "too many",
            Self::Unclosed => "unclosed",
            Self::UnclosedReport => "unclosed report",
            Self::UnknownSlot => "unknown slot",
            Self::Unopened => "unopened",
            Self::WrongTool => "wrong tool",
        }
    }
}

/// A tag of the XML transport that was ignored, or that counts although it is not closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TagWarning {
    /// Cause.
    pub flaw: TagFlaw,
    /// Its slot: `FINAL`, `PROGRESS`, or a number of at most ten digits. `None` if the tag names no such slot, and while the
    /// token gate is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
}

impl fmt::Display for TagWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tag ")?;
        if let Some(slot) = &self.slot {
            write!(f, "{slot} ")?;
        }
        let end = match self.flaw {
            TagFlaw::UnclosedReport => "accepted",
            TagFlaw::Attributes
            | TagFlaw::NoTool
            | TagFlaw::SlotUsed
            | TagFlaw::TooMany
            | TagFlaw::Unclosed
            | TagFlaw::UnknownSlot
            | TagFlaw::Unopened
            | TagFlaw::WrongTool => "ignored",
        };
        write!(f, "{end}: {}", self.flaw.as_str())
    }
}

/// The change of a repair: recorded with every recovered message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repair {
    /// The payload as it came; empty, as `repaired`, where the token gate holds back what was said.
    pub original: String,
    /// The payload after the repair.
    pub repaired: String,
    /// The steps taken, in order.
    pub steps: Vec<String>,
}

/// An adapter's verdict on one raw response (002 §4.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProtocolAdapterResult {
    /// The version of the adapter that judged, such as `openai-chat/1`.
    pub adapter_version: String,
    /// The message; null if rejected.
    pub canonical_message: Option<AgentMessage>,
    /// The text where the fault lies, at most 200 bytes, escaped; only when rejected, and none if it must be held back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// The reason; null unless rejected.
    pub failure_code: Option<FailureCode>,
    /// Place of the fault in the response: an RFC 6901 pointer into the raw body or folded stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// BLAKE3 over the bytes as received.
    pub raw_hash: Digest,
    /// The repair, exactly when recovered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair: Option<Repair>,
    /// The server's description of itself in the answer, beyond what the contract holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served_by: Option<ServedBy>,
    /// The verdict.
    pub status: AdapterStatus,
    /// The model's stop reason.
    pub stop: StopReason,
    /// The provider's word for a stop reason that the adapter does not know, or for a call that did not come; at most 64 bytes
    /// before escapes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_word: Option<String>,
    /// The tags of the XML transport that were ignored, or that count although they are not closed, in order; at most 130.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tag_warnings: Vec<TagWarning>,
    /// Usage that the provider reported, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Set where the text of the message is held back by the token gate; its `content` is then empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
}

impl ProtocolAdapterResult {
    /// Returns the usage of the inference: the provider's numbers, or an estimate marked as such. The estimate covers the
    /// expected prompt and the received message, as `counter` counts it.
    #[must_use]
    pub fn usage_or_estimate(&self, expected_tokens: u64, counter: &dyn TokenCounter) -> Usage {
        self.usage.unwrap_or_else(|| Usage {
            cache_read: 0,
            cache_write: 0,
            cost_fault: false,
            cost_micro_usd: None,
            estimated: true,
            input: expected_tokens,
            output: self
                .canonical_message
                .as_ref()
                .map_or(0, |message| estimate_message(message, counter)),
        })
    }
}

fn estimate_message(message: &AgentMessage, counter: &dyn TokenCounter) -> u64 {
    let calls = message.tool_calls.iter().map(|call| {
        exact_sum(
            counter.count(&call.name),
            counter.count(call.arguments.as_str()),
        )
    });
    let reasoning = message.reasoning.as_deref();
    let reasoning = reasoning.map_or(0, |text| counter.count(text));
    calls.fold(
        exact_sum(counter.count(&message.content), reasoning),
        exact_sum,
    )
}
