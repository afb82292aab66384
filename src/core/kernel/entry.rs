//! The machine's record of each thing it did: an entry before it is chained. Hashes and canonical bytes belong to `transcript`.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Event, FlowRecord, Outcome, Predicate, State};
use crate::contract::{DelegationGrant, Label};
use crate::contract::{PolicyDecision, ReportFormat, RulePlace};
use crate::message::{CallSeq, Digest, InferenceSeq, Parameter};

/// One transcript entry as the machine decided it, before the transcript chains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryDraft {
    /// The machine's action.
    pub action: Action,
    /// The event that began the step; only the first entry of a step carries it.
    pub event: Option<Event>,
}

/// The kind of an entry (semantics §1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// Entry 0.
    Start,
    /// The machine went from one state to another.
    Transition,
    /// An event that changed no state.
    Noted,
    /// A late or unknown event; nothing changed but reported usage.
    Ignored,
    /// The last entry: outcome, counters, length.
    Seal,
}

/// The machine's action: the decision, its basis and its effects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// Adapter version of the attempt's target.
    pub adapter_version: String,
    /// The attempt in this turn, from 1; 0 in PRECHECK.
    pub attempt: u32,
    /// Content that did not fit the context: on the entry that drops a result, and on the entry before a request, for each target
    /// that does not hold it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked: Vec<ContextBlock>,
    /// The results of PRECHECK, on the entry that leaves it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// Reason for the closing turn, once it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closing: Option<ClosingReason>,
    /// The context account of the request that this entry issues, or of the result that it judges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextAccount>,
    /// Rolling digest of the conversation after this entry.
    pub conversation_digest: Digest,
    /// Counters after this entry.
    pub counters: Counters,
    /// Calls that started before their message was complete, and whose results are discarded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub discarded: Vec<CallSeq>,
    /// Targets that are not asked any more, on the entry that finds it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped_targets: Vec<DroppedTarget>,
    /// Effects, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<EffectRecord>,
    /// The calls that a rule of `flow` denied, or has a person asked about, on the entry that judges their message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flow: Vec<FlowRecord>,
    /// The state before.
    pub from: State,
    /// Kind of the entry.
    pub kind: EntryKind,
    /// Number of entries, this one included; only on the seal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// Fingerprint of the attempt's target.
    pub model_fingerprint: String,
    /// Profile of the attempt's target.
    pub model_profile_id: String,
    /// A machine-made sentence for people about this entry; never matched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The outcome, from the entry that decides it on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Origin of the tool policy, on the entry that leaves PRECHECK.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyRecord>,
    /// The predicate of semantics §2 that fired, on entries that leave COMMIT or PRECHECK.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicate: Option<Predicate>,
    /// The final report of the run, on the entry that ends it well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<ReportRecord>,
    /// The entry's number, from 0.
    pub seq: u64,
    /// Digest of the whole machine after this entry.
    pub state_digest: Digest,
    /// 0 in PRECHECK, then the turn.
    pub step_id: u32,
    /// Index of the attempt's target.
    pub target: u32,
    /// The state after: the `state` of the chain.
    pub to: State,
}

/// An entry's record of the run's final report; the words are in the response that brought it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportRecord {
    /// Size of its content in bytes.
    pub bytes: u64,
    /// The form that the contract asks for.
    pub format: ReportFormat,
    /// BLAKE3 over its content.
    pub hash: Digest,
    /// Its source.
    pub source: ReportSource,
    /// Changes and omissions by monolith.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The source of a final report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportSource {
    /// As text of the closing turn.
    Text,
    /// With `agent__final_report`.
    Tool,
}

/// One check of PRECHECK.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Findings, for people.
    pub detail: String,
    /// The check.
    pub name: CheckName,
    /// True if it passed.
    pub ok: bool,
}

/// The checks of PRECHECK, in their order (semantics §1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckName {
    /// The document's numbers and names make sense together.
    Structure,
    /// Id, hash and profile are present.
    Provenance,
    /// The hash is the document's.
    Hash,
    /// The format is one this build reads.
    Format,
    /// The semantics version is one this build implements.
    Semantics,
    /// Every needed tool is there and is the pinned one.
    Tools,
    /// The model profile goes with policy, grammar and transport.
    Profile,
    /// The reserves fit the window.
    Context,
    /// A target answers.
    Backend,
}

/// The origin of the tool policy (semantics §8).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyRecord {
    /// The contract's decision: the rule set and what it said.
    pub decision: PolicyDecision,
    /// The words of the task that the rules matched, in order of appearance.
    pub matched: Vec<String>,
}

/// The reason for the closing turn (semantics §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClosingReason {
    /// It is the last turn.
    MaxTurns,
    /// The context is used up.
    Context,
    /// Somebody asked the run to stop.
    Stop,
    /// The final report failed.
    FinalReportFailed,
    /// Two responses in a row were plain text where a final report is asked for.
    PlainText,
}

/// Tokens as the machine counts them (semantics §5; 000 §2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextAccount {
    /// Tokens committed by the last successful response.
    pub ctx: u64,
    /// `ctx + pending + schema`, on the entry of a request.
    pub expected: u64,
    /// Capacity of the target.
    pub limit: u64,
    /// Tokens of messages appended since, ephemeral notices included.
    pub pending: u64,
    /// Tokens compared with the limit.
    pub projected: u64,
    /// `limit - projected`, or 0.
    pub remaining: u64,
    /// Tokens of the exposed tools' definitions.
    pub schema: u64,
}

/// The overflowing content and its target (semantics §5; 000 §2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextBlock {
    /// The result that was dropped, where it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<DroppedResult>,
    /// The limit for the projection.
    pub limit: u64,
    /// `current + pending + new + schema`.
    pub projected: u64,
    /// Reason for the block.
    pub reason: BlockReason,
    /// `limit - projected`, or 0.
    pub remaining: u64,
    /// `provider/model` of the target that it does not fit.
    pub target: String,
}

/// A target that the run, or the turn, asks no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DroppedTarget {
    /// Capacity of the target, if the first request does not fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Need of the first request, if it does not fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projected: Option<u64>,
    /// Reason.
    pub reason: DropReason,
    /// `provider/model` of the target.
    pub target: String,
}

/// The reason for dropping a target (semantics §1, §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropReason {
    /// The first request does not fit it.
    FirstRequest,
    /// The same request would fail there again: dropped for the turn only.
    PermanentFault,
    /// The provider refuses a parameter that the author stated.
    StatedParameter,
    /// The provider has no such model.
    UnknownModel,
}

/// The tokens of a dropped result and of its stub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DroppedResult {
    /// Tokens of the result.
    pub original: u64,
    /// Tokens of its replacement.
    pub replacement: u64,
}

/// The check that found the context used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockReason {
    /// The provider said so.
    ProviderOverflow,
    /// Above `force_synthesis_at_ratio`.
    Ratio,
    /// A tool's result does not fit the largest target.
    ToolPreflight,
    /// The next request does not fit the target.
    TurnPreflight,
}

/// The usage counters (semantics §1, §4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counters {
    /// Executed calls of agents whose run completed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub agents_ok: u64,
    /// Cost of the runs below this one, in millionths of a US dollar.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub below_cost_micro_usd: u64,
    /// Tokens of the runs below this one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub below_tokens: u64,
    /// Ok results of tools that are no agents, in the runs below this one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub below_tools_ok: u64,
    /// Calls that were authorised.
    pub calls: u64,
    /// Cost in millionths of a US dollar, as far as providers report it.
    pub cost_micro_usd: u64,
    /// Calls that were executed: a valid envelope came back.
    pub executed: u64,
    /// Executed calls whose envelope is ok.
    pub executed_ok: u64,
    /// Format retries spent.
    pub format_retries: u32,
    /// Requests issued.
    pub inferences: u64,
    /// Times the run was resumed.
    pub resumes: u32,
    /// Prompt tokens read from a cache.
    pub tokens_cache_read: u64,
    /// Prompt tokens.
    pub tokens_in: u64,
    /// Generated tokens.
    pub tokens_out: u64,
    /// Turns begun.
    pub turns: u32,
}

impl Counters {
    /// All tokens of the run; saturating.
    #[must_use]
    pub const fn tokens(&self) -> u64 {
        self.tokens_in
            .saturating_add(self.tokens_out)
            .saturating_add(self.tokens_cache_read)
    }

    /// All tokens of the run and of those below it; saturating.
    #[must_use]
    pub const fn tree_tokens(&self) -> u64 {
        self.tokens().saturating_add(self.below_tokens)
    }

    /// Cost of the run and of those below it, in millionths of a US dollar; saturating.
    #[must_use]
    pub const fn tree_cost_micro_usd(&self) -> u64 {
        self.cost_micro_usd
            .saturating_add(self.below_cost_micro_usd)
    }

    /// Ok results of tools that are no agents, in the run and in those below it; saturating.
    #[must_use]
    pub const fn tree_tools_ok(&self) -> u64 {
        self.executed_ok
            .saturating_sub(self.agents_ok)
            .saturating_add(self.below_tools_ok)
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands the field over by reference"
)]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// An effect of an entry: enough to see and compare, small enough to hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    content = "value",
    rename_all = "snake_case",
    deny_unknown_fields
)]
pub enum EffectRecord {
    /// The targets are probed.
    Probe,
    /// A request is sent.
    Infer {
        /// The attempt in this turn.
        attempt: u32,
        /// The inference.
        inference: InferenceSeq,
        /// Parameters that the request leaves out: its target refused them.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        left_out: BTreeSet<Parameter>,
        /// Digests of the ephemeral notices in this one request.
        notices: Vec<Digest>,
        /// Index of the target.
        target: u32,
        /// True if tools are offered.
        tools: bool,
    },
    /// A call is started.
    Execute {
        /// BLAKE3 over its argument text.
        arguments_hash: Digest,
        /// The call.
        call: CallSeq,
        /// Its id in the message.
        id: String,
        /// The exposed tool name.
        name: String,
    },
    /// A child run starts or resumes for a call of an agent.
    Delegate {
        /// BLAKE3 over its argument text.
        arguments_hash: Digest,
        /// The call.
        call: CallSeq,
        /// Limits of the run.
        grant: DelegationGrant,
        /// Its id in the message.
        id: String,
        /// The labels that the task carries: those that the model had seen.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        labels: BTreeSet<Label>,
        /// The exposed tool name.
        name: String,
    },
    /// A summary of a result is asked for.
    Summarise {
        /// The call whose result it is.
        call: CallSeq,
        /// The inference.
        inference: InferenceSeq,
        /// Index of the target.
        target: u32,
    },
    /// A model is asked on behalf of a call's server.
    Sample {
        /// The call.
        call: CallSeq,
        /// The inference.
        inference: InferenceSeq,
        /// Index of the target.
        target: u32,
    },
    /// An approval is asked for.
    AwaitApproval {
        /// BLAKE3 over the argument text that must be approved.
        arguments_hash: Digest,
        /// The rule of the contract that has a person asked; none for its list `require_approval`, and for a server's question.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked_by: Option<RulePlace>,
        /// The call.
        call: CallSeq,
    },
    /// A wait: no request is sent before this moment, in milliseconds since the run began.
    Wait {
        /// The moment.
        until_ms: u64,
    },
    /// Effects in flight are given up.
    Cancel,
    /// The run is over.
    Finish,
}
