//! What the author's file states, before defaults. Does not decide anything.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use super::agent_spec::{AgentSpec, OfferedAs};
use super::origin::{FileTrust, LayerValue, ValueOrigin};
use super::transport::{McpSpec, Names};

use crate::contract::{
    AgentLink, AgentProfile, AgentTerms, ApprovalRule, CallLimits, Completion, ContractMetadata,
    DelegationTerms, FlowRule, HttpGetTerms, LabelRule, ModelProfile, Page, PinnedOffers,
    PriceTable, ProviderType, QueueTerms, ReasoningValue, RedactionTerms, ReportFormat,
    SandboxSpec, TextProfile, Tokenizer, ToolFilter, ToolPolicy, ToolProof, ToolTransport,
};

/// What the author's file says, before any default is filled in. `None` is what was left out.
///
/// It may hold secrets (values of headers and of environment variables): the shell needs them, the contract never
/// sees them, and `Debug` does not print them.
///
/// ```
/// use monolith::ContractSpec;
///
/// let text = "
/// task: How late is it?
/// targets: [{provider: demo, model: canned}]
/// providers: {demo: {type: openai, base_url: 'http://127.0.0.1:1/v1'}}
/// ";
/// let spec = ContractSpec::parse("clock.yaml", text, &["max_turns=3".to_owned()])?;
/// assert_eq!(spec.max_turns, Some(3));
///
/// let faults = ContractSpec::parse("clock.yaml", "tusk: How late is it?", &[]);
/// assert!(faults.is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "each field is the field of that name in Terms")]
pub struct ContractSpec {
    /// The adapter that the author expects; must be the one the factory chooses.
    pub adapter_version: Option<String>,
    /// The agent whose contract it is; the file has no key for it.
    pub agent: Option<AgentTerms>,
    /// The agents that it may delegate to.
    pub agents: Vec<AgentSpec>,
    pub allowed_tools: Option<Vec<String>>,
    pub approval: Vec<ApprovalRule>,
    pub approval_timeout_ms: Option<u64>,
    pub approvers: Vec<String>,
    /// Whether `agent__batch` is offered.
    pub batch: Option<bool>,
    pub checkpoint_every: Option<u64>,
    pub completion: Option<Completion>,
    pub context_budget: ContextBudgetSpec,
    pub cycle_forbid: Vec<(String, String)>,
    /// The place of its run in the chain of delegations; `None` if it was not delegated.
    pub delegation: Option<DelegationTerms>,
    pub final_report: FinalReportSpec,
    pub flow: Vec<FlowRule>,
    pub grammar: Option<String>,
    pub grammar_profile: Option<String>,
    pub idempotent: Vec<String>,
    /// What the task must be, where an agent's file says so; an input of the run, not a field of the contract.
    pub input: Option<InputSpec>,
    pub labels: Vec<LabelRule>,
    pub llm_timeout_ms: Option<u64>,
    pub logits_mask: Option<Vec<f64>>,
    pub max_attempts_per_turn: Option<u32>,
    pub max_calls: CallLimits,
    pub max_cost_micro_usd: Option<u64>,
    pub max_delegation_depth: Option<u32>,
    pub max_format_retries: Option<u32>,
    pub max_identical_calls: Option<u64>,
    pub max_inferences: Option<u64>,
    pub max_invalid_turns: Option<u32>,
    pub max_resumes: Option<u32>,
    pub max_tokens_consumed: Option<u64>,
    pub max_tool_calls_per_turn: Option<u64>,
    pub max_turns: Option<u32>,
    pub metadata: ContractMetadata,
    /// Profile of every target that names none.
    pub model_profile_id: Option<String>,
    /// Profiles of the author's own.
    pub model_profiles: Vec<ModelProfile>,
    /// How it is offered to agents that may call it.
    pub offered_as: OfferedAs,
    /// What it is known by where agents delegate: its own file.
    pub own: Option<AgentLink>,
    pub page: Option<Page>,
    pub parallel_safe: Vec<String>,
    pub parallel_tool_calls: Option<bool>,
    pub prices: Option<PriceTable>,
    /// Where its run was delegated: the prices of it and of each run above it, its own first. They hold for the runs below it.
    pub line_prices: Vec<RunPrices>,
    /// Whether `agent__progress_report` is offered.
    pub progress_report: Option<bool>,
    pub providers: BTreeMap<String, ProviderSpec>,
    pub queues: BTreeMap<String, QueueTerms>,
    pub redact: RedactionTerms,
    pub require_approval: Vec<String>,
    pub sampling: SamplingSpec,
    pub speculative_exec: Option<bool>,
    pub step_timeout_ms: Option<u64>,
    pub strict_mode: Option<bool>,
    pub system: Option<String>,
    /// At least one.
    pub targets: Vec<TargetSpec>,
    /// The user's request; an input of the run, not a field of the contract.
    pub task: Option<String>,
    pub token_gate: Option<bool>,
    pub tokenizer: Setting<String>,
    pub tool_output_budget: ToolOutputBudgetSpec,
    pub tool_policy: Option<ToolPolicy>,
    pub tool_proof: Option<ToolProof>,
    pub tool_timeout_ms: Option<u64>,
    pub tool_transport: Option<ToolTransport>,
    /// How calls travel where the author says nothing and no model takes another form; none for the default of a contract file.
    pub usual_transport: Option<ToolTransport>,
    pub tools: ToolsSpec,
    pub total_timeout_ms: Option<u64>,
    /// Where each value is from that the contract's own file does not hold, by its dotted path.
    pub origins: BTreeMap<String, ValueOrigin>,
    /// What is taken otherwise than it is written, such as a number at its limit, in words.
    pub clamped: Vec<String>,
    /// Single tools that an agent's file names: server and tool.
    pub named_tools: Vec<(String, String)>,
    /// The profile, where the file is an agent's.
    pub profile: Option<Box<AgentProfile>>,
    /// What servers offered when their pins were taken, where the caller knows that.
    pub pinned: PinnedOffers,
    /// Scripts of scripted providers that stand in no file, by provider.
    pub scripts: BTreeMap<String, String>,
    /// The folder of snapshots that its layers of configuration name; `None` if it takes nothing from them.
    pub sessions_dir: Option<PathBuf>,
    /// The files that must be trusted for it: found layers that something was taken from and, of a found contract, itself and its agents.
    pub files: Vec<FileTrust>,
    /// The values of its layers that may be secrets, whether or not it takes them.
    pub layer_values: Vec<LayerValue>,
}

impl ContractSpec {
    /// The profile of that id: the author's own, else the shipped one.
    #[must_use]
    pub fn profile(&self, id: &str) -> Option<&ModelProfile> {
        let own = self.model_profiles.iter().find(|profile| profile.id == id);
        own.or_else(|| ModelProfile::by_id(id))
    }

    /// The profile of a target: the one that is named, else the first that describes its model; none if there is no such
    /// profile, or no such provider.
    #[must_use]
    pub(in crate::contract) fn profile_for(&self, target: &TargetSpec) -> Option<&ModelProfile> {
        let named = target.model_profile_id.as_ref();
        if let Some(id) = named.or(self.model_profile_id.as_ref()) {
            return self.profile(id);
        }
        let provider = self.providers.get(&target.provider)?;
        self.profile_of(provider.provider_type, &target.model)
    }

    /// The tokenizer of the contract to be, as the contract will name it: the file's, else that of the first target's model at its
    /// provider, else its profile's; none also if the first setting is null. An unknown name stays as it is written, and PRECHECK refuses it.
    #[must_use]
    pub fn tokenizer_id(&self) -> Option<String> {
        let first = self.targets.first();
        let of_model = || {
            let provider = self.providers.get(&first?.provider)?;
            let model = provider.models.get(&first?.model);
            let own = model.map(|model| &model.tokenizer);
            let own = own.filter(|own| !matches!(own, Setting::Unset));
            Some(own.unwrap_or(&provider.tokenizer))
        };
        let written = match (&self.tokenizer, of_model()) {
            (Setting::Value(written), _) | (Setting::Unset, Some(Setting::Value(written))) => {
                written.clone()
            }
            (Setting::Off, _) | (Setting::Unset, Some(Setting::Off)) => return None,
            (Setting::Unset, Some(Setting::Unset) | None) => {
                self.profile_for(first?)?.tokenizer.clone()?
            }
        };
        let known = Tokenizer::named(&written);
        Some(known.map_or(written, |known| known.id().to_owned()))
    }

    /// The first profile that describes a model, the author's own before the shipped ones.
    #[must_use]
    pub fn profile_of(&self, provider: ProviderType, model: &str) -> Option<&ModelProfile> {
        let own = self.model_profiles.iter();
        let mut own = own.filter(|profile| profile.describes(provider, model));
        own.next()
            .or_else(|| ModelProfile::describing(provider, model))
    }
}

/// Prices of a run of a line of delegated ones.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPrices {
    /// Whether it has a limit of cost, so that what is below it makes none of them cheaper; false before it delegates.
    pub limited: bool,
    /// What it states itself, also of models that the runs below it have not.
    pub stated: Option<PriceTable>,
}

/// A task in JSON (001 §2).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputSpec {
    /// JSON Schema of it.
    pub schema: Option<serde_json::Value>,
}

/// The section `final_report`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FinalReportSpec {
    /// The form of the report.
    pub format: Option<ReportFormat>,
    /// JSON Schema of a report in JSON.
    pub schema: Option<serde_json::Value>,
}

/// One entry of `targets`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetSpec {
    /// This model's window, where the author states it.
    pub context_window: Option<u64>,
    /// The model's name at the provider.
    pub model: String,
    /// The profile, where the author names one.
    pub model_profile_id: Option<String>,
    /// A key of `providers`.
    pub provider: String,
    /// What differs from the file's `sampling` for this target.
    pub sampling: SamplingSpec,
    /// Whether it makes summaries and nothing else.
    pub summarizer: bool,
    /// How calls stand in the model's text; off: they do not.
    pub text_profile: Setting<TextProfile>,
}

/// One entry of `providers`.
#[derive(Clone, PartialEq)]
pub struct ProviderSpec {
    /// The variable that holds the key, where the author names one.
    pub api_key_env: Option<String>,
    /// Its address, where the author gives one.
    pub base_url: Option<String>,
    /// The variable that holds its address, where the author names one in its place.
    pub base_url_env: Option<String>,
    /// Tokens that are kept free in each request here, where the author says so.
    pub buffer: Option<u64>,
    /// The window of models here that state none.
    pub context_window: Option<u64>,
    /// The script of a scripted provider or the file of an embedded model, as written.
    pub file: Option<String>,
    /// Extra headers with their values, unexpanded.
    pub headers: BTreeMap<String, String>,
    /// What differs for models of that name here.
    pub models: BTreeMap<String, ModelSpec>,
    /// What differs from the file's `sampling` for every model here.
    pub overrides: SamplingSpec,
    /// Members of every request, as JSON text.
    pub provider_options: Option<String>,
    /// The wire protocol.
    pub provider_type: ProviderType,
    /// What each level of reasoning is here.
    pub reasoning: Option<ReasoningMap>,
    /// What tokens of models here are estimated with, that say nothing else.
    pub tokenizer: Setting<String>,
    /// Which tools of the contract its models are offered.
    pub tools: ToolFilter,
}

/// One entry of `providers.<name>.models` (001 §6).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelSpec {
    /// Tokens that are kept free in each request to it.
    pub buffer: Option<u64>,
    /// The model's window.
    pub context_window: Option<u64>,
    /// What differs for this model.
    pub overrides: SamplingSpec,
    /// What each level of reasoning is for it.
    pub reasoning: Option<ReasoningMap>,
    /// What its tokens are estimated with; off: bytes / 4, whatever its profile says.
    pub tokenizer: Setting<String>,
}

/// What the levels minimal, low, medium and high are; None switches one off (001 §6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReasoningMap(pub [Option<ReasoningValue>; 4]);

impl ReasoningMap {
    /// What a level is; None if it is off.
    #[must_use]
    pub fn of(&self, level: &str) -> Option<&ReasoningValue> {
        let Self([minimal, low, medium, high]) = self;
        let value = match level {
            "minimal" => minimal,
            "low" => low,
            "medium" => medium,
            _ => high,
        };
        value.as_ref()
    }
}

impl fmt::Debug for ProviderSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderSpec")
            .field("api_key_env", &self.api_key_env)
            .field("base_url", &self.base_url)
            .field("base_url_env", &self.base_url_env)
            .field("buffer", &self.buffer)
            .field("context_window", &self.context_window)
            .field("file", &self.file)
            .field("headers", &Names(&self.headers))
            .field("models", &self.models)
            .field("overrides", &self.overrides)
            .field("provider_options", &self.provider_options)
            .field("provider_type", &self.provider_type)
            .field("reasoning", &self.reasoning)
            .field("tokenizer", &self.tokenizer)
            .field("tools", &self.tools)
            .finish()
    }
}

/// The section `tools`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolsSpec {
    /// Built-in tools by name.
    pub builtin: Vec<String>,
    /// Variables of commands of the shell, as written.
    pub env: BTreeMap<String, String>,
    /// Tools of the program that embeds monolith, by the names that it registers them under.
    pub host: Vec<String>,
    /// Where `http_get` may ask; there exactly when that is one of them.
    pub http_get: Option<HttpGetTerms>,
    /// Tool servers by name: those that speak MCP, and web services under the name that their tools begin with.
    pub servers: BTreeMap<String, McpSpec>,
    /// What confines commands of the shell, where the author says.
    pub sandbox: Option<SandboxSpec>,
    /// The folder that file tools see, as written.
    pub workspace: Option<String>,
}

impl ToolsSpec {
    /// The built-in tool that runs commands.
    pub const SHELL: &str = "shell";

    /// Whether commands may be run.
    #[must_use]
    pub fn has_shell(&self) -> bool {
        self.builtin.iter().any(|name| name == Self::SHELL)
    }
}

/// A parameter that can be left out, switched off (never sent) or set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Setting<T> {
    /// Not mentioned: what lies below decides.
    #[default]
    Unset,
    /// `off`, `none`, `unset`, `default` or null: it is not sent.
    Off,
    /// This value.
    Value(T),
}

/// The section `sampling`, of the file or of one target. Numbers are clamped already (001 §2).
#[derive(Clone, Debug, Default, PartialEq)]
// Each field is the field of that name in Sampling.
pub struct SamplingSpec {
    pub caching: Setting<String>,
    /// The part from overrides of the command line; it comes before every other.
    pub commanded: Option<Box<SamplingSpec>>,
    pub max_output_tokens: Setting<u64>,
    pub reasoning: Setting<String>,
    pub reasoning_tokens: Setting<u64>,
    pub repeat_penalty: Setting<f64>,
    pub seed: Setting<u64>,
    pub stop: Setting<Vec<String>>,
    pub stream: Option<bool>,
    pub temperature: Setting<f64>,
    pub top_p: Setting<f64>,
}

impl SamplingSpec {
    /// The keys that are stated here or on the command line, switched off or not.
    pub fn written(&self) -> Vec<&'static str> {
        let keys = [
            ("caching", self.caching != Setting::Unset),
            (
                "max_output_tokens",
                self.max_output_tokens != Setting::Unset,
            ),
            ("reasoning", self.reasoning != Setting::Unset),
            ("reasoning_tokens", self.reasoning_tokens != Setting::Unset),
            ("repeat_penalty", self.repeat_penalty != Setting::Unset),
            ("seed", self.seed != Setting::Unset),
            ("stop", self.stop != Setting::Unset),
            ("stream", self.stream.is_some()),
            ("temperature", self.temperature != Setting::Unset),
            ("top_p", self.top_p != Setting::Unset),
        ];
        let own = keys.into_iter().filter(|(_, written)| *written);
        let commanded = self
            .commanded
            .iter()
            .flat_map(|sampling| sampling.written());
        own.map(|(key, _)| key).chain(commanded).collect()
    }
}

/// The section `context_budget`.
#[derive(Clone, Debug, Default, PartialEq)]
// Each field is the field of that name in ContextBudget.
pub struct ContextBudgetSpec {
    pub buffer: Option<u64>,
    pub context_window: Option<u64>,
    pub force_synthesis_at_ratio: Option<f64>,
    pub minimum_loop_margin: Option<u64>,
    pub reserved_synthesis: Option<u64>,
    pub reserved_system: Option<u64>,
}

/// The section `tool_output_budget`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
// Each field is the field of that name in ToolOutputBudget.
pub struct ToolOutputBudgetSpec {
    pub max_bytes_per_call: Option<u64>,
    pub summarizer_model: Option<String>,
    pub truncation_marker: Option<String>,
}
