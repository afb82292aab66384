//! Accounting lines (000 §4), one for each request and call. Reads a view; writes no file.
//!
//! Members that 000 names have its names; monolith's own are in snake_case, as everywhere else in the result.

use serde::Serialize;

use monolith_core::message::{RunId, StopReason, Usage};

/// The name here of a final report that came as a tag (000 §11). No tool has this name, and no call is meant.
pub(super) const FINAL_REPORT_XML: &str = "agent__final_report_xml";

/// One line of the accounting (000 §4): one for each request and one for each started call.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AccountingLine {
    /// A request to a model.
    Llm(LlmLine),
    /// A tool call.
    Tool(ToolLine),
}

/// The success or failure of a request or a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountingStatus {
    /// A canonical message, or a valid envelope that reports no error.
    Ok,
    /// Anything else; the line's `error` names it.
    Failed,
}

/// The source of a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CostSource {
    /// The provider reported it.
    Provider,
    /// The contract's price table.
    Prices,
}

/// The purpose of a request that was no attempt of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// To summarise a result that was too large.
    Summary,
    /// To answer a tool server that wanted a model.
    Sampling,
}

/// A request to a model (000 §4).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LlmLine {
    /// The provider's name in the contract.
    pub provider: String,
    /// The model's name at the provider.
    pub model: String,
    /// Success if a canonical message came back.
    pub status: AccountingStatus,
    /// Milliseconds from the request to its answer.
    pub latency: u64,
    /// The tokens used.
    pub tokens: AccountingTokens,
    /// The entry's number in the run's accounting, from 0: with the run's name it names the entry for good.
    pub index: u64,
    /// The turn that it belongs to.
    pub turn: u32,
    /// The attempt in that turn, from 1.
    pub attempt: u32,
    /// The purpose, if it was no attempt of a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Purpose>,
    /// The agent; absent of a run that is none's, calls none, and is no step of a workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The agents from the first one to this one, joined by colons; in a workflow behind its id and that of the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_path: Option<String>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub txn_id: Option<RunId>,
    /// The run that this one was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_txn_id: Option<RunId>,
    /// The first run of the line, where it is known; the run itself where it was not forked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin_txn_id: Option<RunId>,
    /// When it was sent, in milliseconds since 1970-01-01 UTC.
    pub timestamp: u64,
    /// The failure reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The cost in dollars, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The same, exactly, in millionths of a US dollar.
    #[serde(rename = "cost_micro_usd", skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<u64>,
    /// Who says so.
    #[serde(rename = "cost_source", skip_serializing_if = "Option::is_none")]
    pub cost_source: Option<CostSource>,
    /// Set where the provider reported a cost that is no amount of money: it counts for nothing, and a price of the contract
    /// stands in its place.
    #[serde(rename = "cost_fault", skip_serializing_if = "std::ops::Not::not")]
    pub cost_fault: bool,
    /// The reason why the model stopped, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
}

/// Tokens of one request (000 §4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountingTokens {
    /// Prompt tokens, without those read from the cache.
    pub input_tokens: u64,
    /// Generated tokens.
    pub output_tokens: u64,
    /// Prompt tokens read from the cache.
    pub cached_tokens: u64,
    /// Prompt tokens written into it; part of `input_tokens`.
    #[serde(rename = "cache_write_tokens", skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// All of them.
    pub total_tokens: u64,
    /// Set where the provider reported nothing and these are estimates.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

/// The form of a call, if it was not the provider's own (000 §11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallSource {
    /// As a tag of the XML tool transport.
    Xml,
}

/// A result that did not fit the context, and its replacement (000 §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DroppedTokens {
    /// Tokens of the result.
    pub original_tokens: u64,
    /// Tokens of the stub.
    pub replacement_tokens: u64,
}

/// A tool call, or a final report that came as a tag (000 §4, §11).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolLine {
    /// The server's name in the contract; `builtin` for tools inside monolith.
    pub mcp_server: String,
    /// The exposed tool name, as the conversation has it; `agent__final_report_xml` for a final report that came as a tag.
    pub command: String,
    /// Success if the tool reported it.
    pub status: AccountingStatus,
    /// Milliseconds that the call took.
    pub latency: u64,
    /// The entry's number in the run's accounting, from 0.
    pub index: u64,
    /// The turn that it belongs to.
    pub turn: u32,
    /// The attempt of that turn whose message asked for it, from 1.
    pub attempt: u32,
    /// The agent; absent of a run that is none's, calls none, and is no step of a workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The agents from the first one to this one, joined by colons; in a workflow behind its id and that of the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_path: Option<String>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub txn_id: Option<RunId>,
    /// The run that this one was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_txn_id: Option<RunId>,
    /// The first run of the line, where it is known; the run itself where it was not forked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin_txn_id: Option<RunId>,
    /// When it was started, in milliseconds since 1970-01-01 UTC.
    pub timestamp: u64,
    /// Size of the arguments in bytes of UTF-8.
    pub characters_in: u64,
    /// Size of the whole result in bytes of UTF-8.
    pub characters_out: u64,
    /// The form of the call, if it was not the provider's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<CallSource>,
    /// The size of its result, if that did not fit the context and was dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<DroppedTokens>,
    /// The failure reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl ToolLine {
    /// Returns true if it is a final report that came as a tag, which is no call.
    pub(super) fn is_report(&self) -> bool {
        self.command == FINAL_REPORT_XML
    }
}

impl From<&Usage> for AccountingTokens {
    fn from(usage: &Usage) -> Self {
        Self {
            input_tokens: usage.input,
            output_tokens: usage.output,
            cached_tokens: usage.cache_read,
            cache_write_tokens: usage.cache_write,
            total_tokens: usage.total(),
            estimated: usage.estimated,
        }
    }
}

impl AccountingLine {
    /// The entry's number in the run's accounting, from 0.
    #[must_use]
    pub const fn index(&self) -> u64 {
        match self {
            Self::Llm(line) => line.index,
            Self::Tool(line) => line.index,
        }
    }
}

/// Millionths of a US dollar as dollars.
#[expect(
    clippy::cast_precision_loss,
    reason = "exact up to nine thousand million dollars, and for people only"
)]
pub(super) fn usd(micro: u64) -> f64 {
    micro as f64 / 1_000_000.0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands the field over by reference"
)]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}
