//! The terms of a contract. Plain data; the factory decides them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::approval_rule::ApprovalRule;
use super::compiled_schema::HexDigest;
use super::{
    AgentTerms, BigCount, DelegateTerms, DelegationTerms, FinalReportTerms, FlowRule, LabelRule,
    ModelProfile, ParameterOrigin, PriceTable, ProviderTerms, RedactionTerms, ServerTerms,
    TargetTerms,
};
use crate::message::{Digest, Parameter};

/// The contract format this build writes.
pub const CONTRACT_FORMAT: &str = "monolith-contract/1";
/// The version of the machine's decisions that this build implements.
pub const SEMANTICS_VERSION: u32 = 1;

/// The obligation to call tools: the run must, may or must not (002 §4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolPolicy {
    /// Success needs at least one validated and executed call.
    Required,
    /// Calls are allowed and not needed.
    #[default]
    Optional,
    /// Any requested call violates the contract.
    Forbidden,
}

/// The page a request came from; it selects the tool policy where given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Page {
    /// Conversation: tools are forbidden.
    Chat,
    /// Work on a workspace: required with explicit intent, optional otherwise.
    Code,
}

/// The successful end of a run (semantics §2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// A canonical assistant message without calls.
    #[default]
    Message,
    /// An accepted `agent__final_report`.
    FinalReport,
}

/// The executed calls that prove tool use under `required`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolProof {
    /// Any call with a valid envelope, ok or error.
    #[default]
    Executed,
    /// Only calls whose envelope is ok: of an agent, a run that completed.
    Succeeded,
    /// Only ok envelopes of tools that are no agents, in this run or below it.
    Lineage,
}

/// The transport of calls between model and adapter (000 §11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ToolTransport {
    /// The provider's own tool calls.
    #[default]
    Native,
    /// Native calls, the final report as XML.
    XmlFinal,
    /// Everything as XML.
    Xml,
}

/// Context accounting limits, all in tokens (002 §4.1, semantics §5).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextBudget {
    /// Safety margin subtracted from every window.
    pub buffer: u64,
    /// Maximum window of any target; 0 where neither file nor profile knows one.
    pub context_window: u64,
    /// Share of the window above which the closing turn begins; 0 to 1.
    pub force_synthesis_at_ratio: f64,
    /// Minimum number of tokens that must remain to start the loop.
    pub minimum_loop_margin: u64,
    /// Reserved for the final answer, in every request to a target whose own answers are shorter.
    pub reserved_synthesis: u64,
    /// The least that the system prompt counts as.
    pub reserved_system: u64,
}

impl ContextBudget {
    /// `force_synthesis_at_ratio` in millionths.
    #[must_use]
    pub fn ratio_ppm(&self) -> u64 {
        // 0 ≤ ratio ≤ 1 is checked by PRECHECK; the cast saturates for anything else.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "float-to-int casts saturate"
        )]
        let ppm = (self.force_synthesis_at_ratio * 1_000_000.0).round() as u64;
        ppm
    }
}

/// Limits on a tool result in the conversation (002 §4.1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolOutputBudget {
    /// Bytes of one observation, the marker included.
    pub max_bytes_per_call: u64,
    /// Model that summarises oversized results, as `provider/model` or by its name alone; null: they are cut.
    pub summarizer_model: Option<String>,
    /// Text put before a cut result; `{original}` and `{kept}` are replaced.
    pub truncation_marker: String,
}

/// Limits on the number of calls; null means none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallLimits {
    /// Calls of one tool over the run.
    pub per_tool: BTreeMap<String, u64>,
    /// Calls of the run.
    pub run: Option<u64>,
}

/// An allowed occurrence of a pair that `cycle_forbid` names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CycleException {
    /// The first tool of the pair.
    pub from: String,
    /// Maximum occurrences of the pair in the run.
    pub max: u64,
    /// The second tool of the pair.
    pub to: String,
}

/// Contract metadata that the machine reads (002 §4.1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContractMetadata {
    /// Exceptions to `cycle_forbid`.
    pub cycle_exceptions: Vec<CycleException>,
}

/// The reason for the resolver's policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grounds {
    /// No page: the file's own `tool_policy`.
    Given,
    /// No page and no policy: optional.
    #[default]
    Default,
    /// Page chat.
    ChatPage,
    /// Page code and a word of explicit file, command or workspace intent.
    CodeIntent,
    /// Page code without such a word.
    CodeConceptual,
}

/// The traceable decision of the IntentPolicyResolver (002 Phase 2b).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyDecision {
    /// Reason.
    pub grounds: Grounds,
    /// The chosen policy.
    pub policy: ToolPolicy,
    /// BLAKE3 of the rule set's file.
    #[schemars(with = "HexDigest")]
    pub rules_hash: Digest,
    /// Version of the rule set.
    pub rules_version: u32,
}

/// A queue of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueTerms {
    /// Calls of its servers that run at once.
    pub concurrent: u32,
}

impl QueueTerms {
    /// The queue of every server that names none; it is there by itself.
    pub const DEFAULT: &str = "default";
}

/// A tool as the contract pins it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolTerms {
    /// The tool's own hints, as its server gave them.
    pub annotations: serde_json::Value,
    /// Its own description.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: serde_json::Value,
    /// The name the model sees: the tool's own, or `<server>__<tool>` for MCP.
    pub name: String,
    /// `builtin` or `mcp:<server>`.
    pub origin: String,
    /// BLAKE3 over the RFC 8785 form of {annotations, description, inputSchema, name, origin}.
    #[schemars(with = "HexDigest")]
    pub pin: Digest,
    /// Estimated tokens of its definition in a request.
    pub schema_tokens: u64,
}

/// Every field of an execution contract but its id and its hash (002 §4.1, semantics §4).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "002 §4.1 names each of them as a separate flag"
)]
pub struct Terms {
    /// Version of the adapter of the first target.
    pub adapter_version: String,
    /// The agent whose contract it is; left out where it is none's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentTerms>,
    /// The agents that may be delegated to, by the exposed names of their tools; left out where there is none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, DelegateTerms>,
    /// Exposed names that may be called; null means all, empty means none.
    pub allowed_tools: Option<Vec<String>>,
    /// Rules about calls before they start, the first that fits first; left out where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approval: Vec<ApprovalRule>,
    /// Maximum wait for an approval.
    pub approval_timeout_ms: u64,
    /// Public keys, as `NAME+ID+BASE64`, of those whose answers count; left out where every answer does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<String>,
    /// A signed checkpoint is written at least every so many entries.
    pub checkpoint_every: u64,
    /// Successful end of the run.
    pub completion: Completion,
    /// Context accounting limits.
    pub context_budget: ContextBudget,
    /// Ordered pairs of tool names that may not follow each other.
    pub cycle_forbid: Vec<(String, String)>,
    /// Place of the run in a tree of delegated runs; omitted if it neither delegates nor was delegated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegation: Option<DelegationTerms>,
    /// Requirements on the final report; present exactly if `completion` is `final_report`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_report: Option<FinalReportTerms>,
    /// Flows of data that need a person, or may not be; left out where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flow: Vec<FlowRule>,
    /// Format of this document.
    pub format: String,
    /// Compiled grammar of the closed token gate, where a profile has one.
    pub grammar: Option<String>,
    /// Grammar profile, where the model profile has one.
    pub grammar_profile: Option<String>,
    /// Exposed names of tools that may be run again with the same idempotency key.
    pub idempotent: Vec<String>,
    /// Labels for tool results; omitted if kinds of tools say enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<LabelRule>,
    /// Time without a chunk after which an inference has failed.
    pub llm_timeout_ms: u64,
    /// Token mask for local targets.
    pub logits_mask: Option<Vec<f64>>,
    /// Attempts in one turn, whatever they fail of.
    pub max_attempts_per_turn: u32,
    /// Limits on calls.
    pub max_calls: CallLimits,
    /// Cost limit in millionths of a US dollar.
    pub max_cost_micro_usd: Option<BigCount>,
    /// Format retries of the run, never refilled.
    pub max_format_retries: u32,
    /// Maximum number of calls in the run with the same tool and the same arguments.
    pub max_identical_calls: Option<u64>,
    /// Inferences of the run.
    pub max_inferences: u64,
    /// Consecutive turns of which every call was refused for its name or its arguments.
    pub max_invalid_turns: u32,
    /// Maximum number of resumes after a crash.
    pub max_resumes: u32,
    /// Tokens of the run: input, output and cache reads of every attempt.
    pub max_tokens_consumed: BigCount,
    /// Calls of one message that are executed.
    pub max_tool_calls_per_turn: u64,
    /// Turns of the run, the closing one included.
    pub max_turns: u32,
    /// Data the machine reads beside the fields above.
    pub metadata: ContractMetadata,
    /// Profile of the first target.
    pub model_profile_id: String,
    /// Profiles of the author's own, whole; they come before those that are shipped. Left out where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model_profiles: Vec<ModelProfile>,
    /// The page the request came from.
    pub page: Option<Page>,
    /// True if adjacent calls named in `parallel_safe` may run together.
    pub parallel_tool_calls: bool,
    /// Exposed names of tools that may run beside each other.
    pub parallel_safe: Vec<String>,
    /// The contract of the run that delegated, where one did.
    #[schemars(with = "Option<HexDigest>")]
    pub parent_contract_hash: Option<Digest>,
    /// Origin of `tool_policy`.
    pub policy_decision: PolicyDecision,
    /// Prices of models; omitted if the author states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<PriceTable>,
    /// Providers by name.
    pub providers: BTreeMap<String, ProviderTerms>,
    /// Queues of calls by name; left out where there is none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<String, QueueTerms>,
    /// Additional redaction of the transcript, besides the built-in redaction; omitted if the author asks for none.
    #[serde(default, skip_serializing_if = "RedactionTerms::is_empty")]
    pub redact: RedactionTerms,
    /// Exposed names of tools whose calls wait for an approval.
    pub require_approval: Vec<String>,
    /// Form of the message that ends the run, under completion `message`; left out where any text will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_format: Option<FinalReportTerms>,
    /// Version of the machine's decisions.
    pub semantics_version: u32,
    /// Tool servers by name.
    pub servers: BTreeMap<String, ServerTerms>,
    /// The session's own tools, sorted by name; left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub session_tools: Vec<ToolTerms>,
    /// True if a call may start while its message is still streaming.
    pub speculative_exec: bool,
    /// Time for one turn, waits included.
    pub step_timeout_ms: u64,
    /// True if nothing is repaired and any format error rejects the whole message.
    pub strict_mode: bool,
    /// The system prompt, unexpanded.
    pub system: String,
    /// Models to ask, in the order of attempts.
    pub targets: Vec<TargetTerms>,
    /// True if text is withheld until a call has been validated (Invariant F).
    pub token_gate: bool,
    /// Tokenizer that estimates are made with; null is bytes / 4.
    pub tokenizer: Option<String>,
    /// Limits on a tool result.
    pub tool_output_budget: ToolOutputBudget,
    /// Obligation to call tools: must, may or must not.
    pub tool_policy: ToolPolicy,
    /// Executed calls that count as proof.
    pub tool_proof: ToolProof,
    /// Time for one call.
    pub tool_timeout_ms: u64,
    /// Transport of calls.
    pub tool_transport: ToolTransport,
    /// Every tool the servers offered, sorted by name.
    pub tools: Vec<ToolTerms>,
    /// Time for the run.
    pub total_timeout_ms: u64,
}

/// Maximum number of requests to one target that are repeated because it refused parameters that nobody stated.
pub(crate) const MAX_REPEATS: u32 = 3;

impl Terms {
    /// Origin of a parameter in the requests to a target; `None` if they do not carry it.
    #[must_use]
    pub fn parameter_origin(&self, index: usize, parameter: Parameter) -> Option<ParameterOrigin> {
        let target = self.targets.get(index)?;
        if parameter == Parameter::ResponseFormat && self.asked_format(target).is_none() {
            return None;
        }
        let options = self.options_of(index);
        let mut names = parameter.names().iter();
        if names.any(|name| options.contains(&format!("\"{name}\""))) {
            return Some(ParameterOrigin::Stated);
        }
        target.sampling.origin(parameter)
    }

    /// Counts the targets for attempts: all except the one that only makes summaries.
    #[must_use]
    pub fn attempt_targets(&self) -> usize {
        self.targets
            .iter()
            .filter(|target| !target.summarizer)
            .count()
    }

    /// True if attempts go to a model. Otherwise the run makes one call, which is an input of the run, and ends with it.
    #[must_use]
    pub fn asks_model(&self) -> bool {
        self.attempt_targets() > 0
    }

    /// The target that makes summaries of results; none if there is to be none.
    #[must_use]
    pub fn summarizer(&self) -> Option<usize> {
        let named = self.tool_output_budget.summarizer_model.as_deref()?;
        self.targets
            .iter()
            .position(|target| target.is_named(named))
    }

    /// The target that the server of that tool may have asked; none if the contract grants it none.
    #[must_use]
    pub fn sampler(&self, tool: &str) -> Option<usize> {
        let origin = &self.tool(tool)?.origin;
        let server = origin.strip_prefix("mcp:").unwrap_or(origin);
        let server = self.servers.get(server)?;
        let named = server.sampling.as_deref()?;
        self.targets
            .iter()
            .position(|target| target.is_named(named))
    }

    /// The pinned tool of that exposed name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&ToolTerms> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// True if `allowed_tools` permits calls of that exposed name.
    #[must_use]
    pub fn allows(&self, name: &str) -> bool {
        self.allowed_tools
            .as_ref()
            .is_none_or(|allowed| allowed.iter().any(|a| a == name))
    }

    /// True if a grammar may have to keep a model from talking instead of acting: the token gate (semantics §7).
    #[must_use]
    pub fn needs_grammar(&self) -> bool {
        self.token_gate && self.tool_policy == ToolPolicy::Required
    }

    /// The tools a request offers outside the closing turn: none under `forbidden`, and none that every target leaves out.
    pub fn exposed_tools(&self) -> impl Iterator<Item = &ToolTerms> {
        let none = self.tool_policy == ToolPolicy::Forbidden;
        let exposed = self.tools.iter();
        exposed.filter(move |tool| !none && self.allows(&tool.name) && !self.is_left_out(tool))
    }
}

/// A rule that a contract's terms break, and the value of the author's file that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermFault {
    /// The dotted paths of other values that the rule is about.
    pub also: &'static [&'static str],
    /// The dotted path of the value; `None` if the rule is about no value of the file.
    pub path: Option<String>,
    /// The rule, as a check records it.
    pub text: String,
    /// The tool that the rule is about, where the contract names one that no server offers.
    pub tool: Option<String>,
}

impl TermFault {
    /// A fault of the value at that path.
    pub(super) fn at(path: impl Into<String>, text: String) -> Self {
        Self {
            also: &[],
            path: Some(path.into()),
            text,
            tool: None,
        }
    }

    /// The same, about these values of the file, too.
    pub(super) const fn and(mut self, also: &'static [&'static str]) -> Self {
        self.also = also;
        self
    }

    /// A fault of something that is not in the file, such as a tool that a server offers.
    pub(super) const fn elsewhere(text: String) -> Self {
        Self {
            also: &[],
            path: None,
            text,
            tool: None,
        }
    }
}
