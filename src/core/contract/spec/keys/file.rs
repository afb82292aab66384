//! The keys of the file itself, with types, defaults and meanings. Data only.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::models::{ProviderSpec, SamplingSpec, TargetSpec};
use super::tools::{ContextBudgetSpec, FinalReportSpec, ToolOutputBudgetSpec, ToolsEntry};
use crate::contract::spec::agent_values::{AgentFile, Agents, ToolPatterns};
use crate::contract::spec::contract_spec::{AgentSpec, InputSpec, OfferedAs};
use crate::contract::spec::declare::form;
use crate::contract::spec::flow_values::FlowRules;
use crate::contract::spec::form::{DefaultText, NEEDED};
use crate::contract::spec::origin::{FileTrust, LayerValue, ValueOrigin};
use crate::contract::spec::transport::ToolsSpec;
use crate::contract::spec::words::Text;
use crate::contract::{
    AgentLink, AgentProfile, AgentTerms, ApprovalRule, CallLimits, Completion, ContractMetadata,
    DEFAULT_MAX_DEPTH, DelegationTerms, FlowRule, LabelRule, ModelProfile, Page, PinnedOffers,
    PriceTable, QueueTerms, RedactionTerms, RunPrices, Terms, ToolPolicy, ToolProof, ToolTransport,
};

form! {
    /// The file itself.
    FILE: FileKeys, "file", "monolith contract file" [
        /// The keys of the author's file, before any default is filled in. `None` is a key that was left out.
        ///
        /// It may hold secrets (values of headers and of environment variables): the shell needs them, the contract never
        /// sees them, and `Debug` does not print them.
        ///
        /// ```
        /// use monolith_core::contract::ContractSpec;
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
        pub struct ContractSpec {
            /// The agent whose contract it is; the file has no key for it.
            pub agent: Option<AgentTerms>,
            /// Notes about values that are taken otherwise than they are written, such as a number at its limit.
            pub clamped: Vec<String>,
            /// The place of its run in the chain of delegations; `None` if it was not delegated.
            pub delegation: Option<DelegationTerms>,
            /// The files that must be trusted for it: found layers that something was taken from and, of a found contract, itself and its agents.
            pub files: Vec<FileTrust>,
            /// The form of the task, where an agent's file states one; an input of the run, not a field of the contract.
            pub input: Option<InputSpec>,
            /// The values of its layers that may be secrets, whether or not it takes them.
            pub layer_values: Vec<LayerValue>,
            /// Prices of a delegated run and of each of its parents, its own first. They hold for the runs below it.
            pub line_prices: Vec<RunPrices>,
            /// Single tools that an agent's file names: server and tool.
            pub named_tools: Vec<(String, String)>,
            /// The tool that it is for agents that may call it.
            pub offered_as: OfferedAs,
            /// Origins of the values that the contract's own file does not hold, by dotted path.
            pub origins: BTreeMap<String, ValueOrigin>,
            /// Its own file, by which agents that delegate know it.
            pub own: Option<AgentLink>,
            /// The contract of the whole workflow, where this is that of one step: its secrets are kept out of the step's record, too.
            pub part_of: Option<Box<ContractSpec>>,
            /// Offers of servers when their pins were taken, where the caller knows them.
            pub pinned: PinnedOffers,
            /// The profile, where the file is an agent's.
            pub profile: Option<Box<AgentProfile>>,
            /// True if requests carry the defaults of 001 for parameters that no one states, as those of agent files do.
            pub sends_defaults: bool,
            /// The folder of snapshots that its layers of configuration name; `None` if it takes nothing from them.
            pub sessions_dir: Option<PathBuf>,
            /// The transport of calls where the author states none and no model takes another form; `None` for the default of a contract file.
            pub usual_transport: Option<ToolTransport>,
        } judged -> Terms
    ];
    "asked": {
        task: String, DefaultText = DefaultText("none; `--task` gives one"),
        "What the run is to do. An input of the run, not part of the contract.";
        description: Text as String, DefaultText = DefaultText("none"),
        "What it does, for people and for agents that may call it: the tool that they see. Not part of its own contract.";
        usage: Text as String, DefaultText = DefaultText("none"),
        "How it is called, for the same agents.";
        #[recorded]
        system: String, DefaultText = DefaultText("empty"),
        "The system prompt. Part of the contract.";
        targets: Vec<TargetSpec> => or_empty, DefaultText = NEEDED,
        "Models in the order of attempts: after a failed attempt the next one is tried, and after the last the first. At least one." => needed, at_least_one;
        providers: BTreeMap<String, ProviderSpec> => or_empty, DefaultText = NEEDED,
        "Where models are, by a name of your choice.";
        sampling: SamplingSpec => or_empty, DefaultText = DefaultText("see below"),
        "Parameters for every target.";
        model_profile_id: String, DefaultText = DefaultText("found by the model's name"),
        "Profile of every target that names none: window, format retries, whether it knows tools." => nullable;
        #[recorded]
        model_profiles: Vec<ModelProfile> => or_empty, DefaultText = DefaultText("none"),
        "Profiles of your own, before those that are shipped ([models.md](models.md)). The contract holds them whole, so its hash covers them.";
        adapter_version: String, DefaultText = DefaultText("chosen by the provider's type"),
        "Stated, it must be the one that is chosen, such as `openai-chat/1`.";
        tokenizer: String => or_off, DefaultText = DefaultText("the model's at its provider, the profile's, else bytes / 4"),
        "What tokens are estimated with: `o200k_base`, `cl100k_base`, `model`, or the name of a model that is known to use one, \
         such as `gpt-4o`; null: bytes / 4, whatever the model or the profile says ([models.md](models.md#tokenizers)).";
    }
    "tools-of-the-file": {
        tools: ToolsEntry as ToolsSpec => or_empty, DefaultText = DefaultText("none"),
        "Where tools come from: `builtin`, `mcp`, `workspace`.";
        tool_policy: ToolPolicy, DefaultText = DefaultText("`optional`, or chosen by `page`"),
        "`required`: no success without an executed call. `forbidden`: any call is a violation.";
        #[recorded]
        page: Page, DefaultText = DefaultText("none"),
        "`chat` forbids tools; `code` requires them where the task shows intent to act on files, commands or a workspace, and else \
         leaves them optional." => nullable;
        #[recorded]
        tool_proof: ToolProof, ToolProof = ToolProof::Executed,
        "`succeeded`: only calls that reported no error are proof. `lineage`: only those of tools that are no agents, in this run or below it.";
        #[recorded]
        allowed_tools: Vec<String>, DefaultText = DefaultText("null"),
        "Names that may be called. null: all that are offered; an empty list: none." => nullable;
        #[recorded]
        max_tool_calls_per_turn: u64, u64 = 10,
        "Calls of one message that run; the others are answered with an error." => inherited, front(&["maxToolCallsPerTurn"]);
        #[recorded]
        max_calls: CallLimits => or_empty, DefaultText = DefaultText("no limit"),
        "A number for the run, or {`run`, `per_tool`: {name: number}}." => nullable;
        #[recorded]
        max_identical_calls: u64, DefaultText = DefaultText("no limit"),
        "The same tool with the same arguments, over the run." => nullable, inherited;
        #[recorded]
        cycle_forbid: Vec<(String, String)> => or_empty, DefaultText = DefaultText("none"),
        "Ordered pairs `[from, to]` of tools that may not follow one another.";
        #[recorded]
        metadata: ContractMetadata => or_empty, DefaultText = DefaultText("none"),
        "`cycle_exceptions`: a list of {`from`, `to`, `max`} that lets a forbidden pair occur so often.";
        #[recorded]
        require_approval: Vec<String> => or_empty, DefaultText = DefaultText("none"),
        "Tools whose calls wait for a person. The person at the terminal of the run is asked, and `monolith approve RUN` answers \
         from elsewhere; without an answer the call is denied after `approval_timeout_ms`.";
        #[recorded]
        approval: Vec<ApprovalRule> => or_empty, DefaultText = DefaultText("none"),
        "Rules about calls before they start: a list of {`tool`, `arguments`, `action`}. The first that a call falls under decides; \
         `require_approval` comes behind them ([approvals.md](approvals.md)).";
        #[recorded]
        approvers: Vec<String> => or_empty, DefaultText = DefaultText("everyone who may write to the state folder"),
        "Public keys as `NAME+ID+BASE64`: only answers that one of them has signed count.";
        #[recorded]
        labels: Vec<LabelRule> => or_empty, DefaultText = DefaultText("by the kind of tool"),
        "What results are: a list of {`tool`, `labels`}, the first that takes a tool's name decides. Without one: `echo` and `clock` trusted; \
         tools of the workspace private; what comes from the network untrusted; every other tool both ([information-flow.md](information-flow.md)).";
        #[recorded]
        flow: FlowRules as Vec<FlowRule> => or_empty, DefaultText = DefaultText("none"),
        "What the model may not do with what it has seen: a list of {`from`, `to`, `action`}, or `trifecta`: once it saw private and \
         untrusted results, a person is asked before any call that may send ([information-flow.md](information-flow.md)).";
        #[recorded]
        parallel_tool_calls: bool, bool = false,
        "Whether adjacent calls of `parallel_safe` run beside each other." => inherited, front(&["parallelToolCalls"]);
        #[recorded]
        parallel_safe: Vec<String> => or_empty, DefaultText = DefaultText("none"),
        "Tools that may.";
        #[recorded]
        idempotent: Vec<String> => or_empty, DefaultText = DefaultText("none"),
        "Tools that may run again when a process died before their answer was recorded; the same idempotency key is sent.";
        tool_transport: ToolTransport, ToolTransport = ToolTransport::Native,
        "How calls travel: the provider's form; `xml-final`: the report as a tag; `xml`: everything as tags. See [session.md](session.md).";
        batch: bool, bool = false,
        "Offers `agent__batch`: several calls in one.";
        progress_report: bool, bool = false,
        "Offers `agent__progress_report`.";
        tool_output_budget: ToolOutputBudgetSpec => or_empty, DefaultText = DefaultText("see below"),
        "What an answer may weigh in the conversation.";
        agents: Agents as Vec<AgentSpec> => or_empty, DefaultText = DefaultText("none"),
        "Agents that the model may call as tools: a list of files, each a path or {`file`, `tools`}. The model sees `agent__<toolName>`." => nullable;
        queues: BTreeMap<String, QueueTerms> => or_empty, DefaultText = DefaultText("none"),
        "Queues of calls by name, each with `concurrent`.";
    }
    "limits": {
        #[recorded]
        max_turns: u32, u32 = 10,
        "Turns, the closing one included. `required` needs at least 2." => inherited, front(&["maxToolTurns", "maxTurns"]);
        #[recorded]
        max_attempts_per_turn: u32, u32 = 3,
        "Attempts of one turn, whatever they fail of." => inherited, front(&["maxRetries"]);
        max_format_retries: u32, DefaultText = DefaultText("the profile's, else 1"),
        "Malformed answers that are asked for again, over the whole run. At most 1 under `strict_mode`, else at most 3." => inherited;
        #[recorded]
        max_invalid_turns: u32, u32 = 3,
        "Turns in a row of which every call is refused for its name or its arguments. At least 1." => inherited;
        max_inferences: u64, DefaultText = DefaultText("turns × attempts + format retries + 3 × targets"),
        "Requests of the run." => inherited;
        #[recorded]
        max_tokens_consumed: u64, u64 = 1_000_000,
        "Input, output and cache reads of every attempt.";
        #[recorded]
        max_cost_micro_usd: u64, DefaultText = DefaultText("none"),
        "Millionths of a US dollar: what providers report, else what `prices` make of it." => nullable;
        #[recorded]
        prices: PriceTable, DefaultText = DefaultText("none"),
        "What models cost. See below." => nullable;
        max_delegation_depth: u32, u32 = DEFAULT_MAX_DEPTH,
        "How many runs below this one may stand one below the other, where agents call agents. 0: none may be called." => front(&["maxDepth"]);
        #[recorded]
        max_resumes: u32, u32 = 8,
        "How often the run may be resumed after its process died." => inherited;
        #[recorded]
        llm_timeout_ms: u64, u64 = 600_000,
        "Time without a byte after which an inference has failed." => inherited, front(&["llmTimeout"]);
        #[recorded]
        tool_timeout_ms: u64, u64 = 300_000,
        "Time for one call; the model sees it." => inherited, front(&["toolTimeout"]);
        #[recorded]
        approval_timeout_ms: u64, u64 = 86_400_000,
        "Time for a person's answer." => inherited;
        #[recorded]
        step_timeout_ms: u64, u64 = 1_800_000,
        "Time for one turn, waits included; but it stands still while a call waits for an approval, here or in a run below." => inherited;
        #[recorded]
        total_timeout_ms: u64, u64 = 3_600_000,
        "Time for the run; it stands still in the same way.";
        context_budget: ContextBudgetSpec => or_empty, DefaultText = DefaultText("see below"),
        "When the model is made to answer with what it has.";
    }
    "judged": {
        strict_mode: bool, DefaultText = DefaultText("the profile's, else true"),
        "Nothing is repaired; one fault of form rejects the whole message.";
        token_gate: bool, DefaultText = DefaultText("true under `strict_mode` and `required`"),
        "Text is held back until a call has been validated.";
        #[recorded]
        completion: Completion, Completion = Completion::Message,
        "What ends the run well: the model's last message, or a `final_report`. See [session.md](session.md).";
        final_report: FinalReportSpec => or_empty, DefaultText = DefaultText("Markdown"),
        "What the report must be, with that completion. With completion `message`, `format: json` is the form of the last message.";
        grammar_profile: String, DefaultText = DefaultText("`lark/1` with an embedded model"),
        "The language of the token gate's grammar. `gbnf/1` is what a llama-server reads: it is sent in the field `grammar` to targets \
         with `text_profile: hermes` or `qwen` ([local.md](local.md#a-llama-server-instead))." => nullable;
        #[recorded]
        grammar: String, DefaultText = DefaultText("made from the tools"),
        "The grammar of the closed gate." => nullable;
        #[recorded]
        logits_mask: Vec<f64>, DefaultText = DefaultText("none"),
        "One number for each token of an embedded model's vocabulary, added to its logits; −1e9 bans a token. Of another length, or \
         not finite: `profile_incompatible`." => nullable;
        #[recorded]
        speculative_exec: bool, bool = false,
        "`true`: a call that only reads starts before its message is complete, where the answer is streamed, the tool is `idempotent`, \
         and its server says `readOnlyHint: true` ([how](design/speculative-exec.md)).";
        #[recorded]
        redact: RedactionTerms => or_empty, DefaultText = DefaultText("none"),
        "What else must not be recorded.";
        #[recorded]
        checkpoint_every: u64, u64 = 256,
        "A signed checkpoint at least every so many entries, and at the end.";
    }
}

form! {
    /// One entry of `agents`, where it is more than a path.
    AGENT: AgentKeys, "agent", "an agent that may be called" [pub(in crate::contract) struct AgentEntry by hand];
    "agents": {
        file: AgentFile as String => needed, DefaultText = NEEDED,
        "Its file: a `.ai` file, a profile or a contract file. A relative path begins in the folder of the file that names it.";
        tools: ToolPatterns as Vec<String>, DefaultText = DefaultText("those that its own file names"),
        "Which tools it may have, and the agents below it, as patterns of the names that a model sees: `fs__*`, `agent__*`. A call of an agent that \
         has others is refused." => nullable;
    }
}
