//! The keys of the file itself, with types, defaults and meanings. Data only.

use std::collections::BTreeMap;

use crate::contract::spec::agent_values::Agents;
use crate::contract::spec::contract_spec::{
    ContextBudgetSpec, FinalReportSpec, ProviderSpec, SamplingSpec, TargetSpec,
    ToolOutputBudgetSpec, ToolsSpec,
};
use crate::contract::spec::flow_values::FlowRules;
use crate::contract::spec::form::{DefaultText, NEEDED, form};
use crate::contract::spec::reader::Big;
use crate::contract::{
    ApprovalRule, CallLimits, Completion, ContractMetadata, DEFAULT_MAX_DEPTH, LabelRule,
    ModelProfile, Page, PriceTable, QueueTerms, RedactionTerms, ToolPolicy, ToolProof,
    ToolTransport,
};

form! {
    /// The file itself.
    FILE: FileKeys, "file", "monolith contract file";
    "asked": {
        task: String, DefaultText = DefaultText("none; `--task` gives one"),
        "What the run is to do. An input of the run, not part of the contract.";
        system: String, DefaultText = DefaultText("empty"),
        "The system prompt. Part of the contract.";
        targets: Vec<TargetSpec>, DefaultText = NEEDED,
        "Models in the order of attempts: each failed attempt goes on to the next, in a circle. At least one." => needed, at_least_one;
        providers: BTreeMap<String, ProviderSpec>, DefaultText = NEEDED,
        "Where models are, by a name of your choice.";
        sampling: SamplingSpec, DefaultText = DefaultText("see below"),
        "Parameters for every target.";
        model_profile_id: String, DefaultText = DefaultText("found by the model's name"),
        "Profile of every target that names none: window, format retries, whether it knows tools." => nullable;
        model_profiles: Vec<ModelProfile>, DefaultText = DefaultText("none"),
        "Profiles of your own, before those that are shipped ([models.md](models.md)). The contract holds them whole, so its hash covers them.";
        adapter_version: String, DefaultText = DefaultText("chosen by the provider's type"),
        "Stated, it must be the one that is chosen, such as `openai-chat/1`.";
        tokenizer: String, DefaultText = DefaultText("the model's at its provider, the profile's, else bytes / 4"),
        "What tokens are estimated with: `o200k_base`, `cl100k_base`, `model`, or the name of a model that is known to use one, \
         such as `gpt-4o`; null: bytes / 4, whatever the model or the profile says ([models.md](models.md#tokenizers))." => or_off;
    }
    "tools-of-the-file": {
        tools: ToolsSpec, DefaultText = DefaultText("none"),
        "Where tools come from: `builtin`, `mcp`, `workspace`.";
        tool_policy: ToolPolicy, DefaultText = DefaultText("`optional`, or chosen by `page`"),
        "`required`: no success without an executed call. `forbidden`: any call is a violation.";
        page: Page, DefaultText = DefaultText("none"),
        "`chat` forbids tools; `code` requires them where the task shows intent to act on files, commands or a workspace, and else \
         leaves them optional." => nullable;
        tool_proof: ToolProof, ToolProof = ToolProof::Executed,
        "`succeeded`: only calls that reported no error are proof. `lineage`: only those of tools that are no agents, in this run or below it.";
        allowed_tools: Vec<String>, DefaultText = DefaultText("null"),
        "Names that may be called. null: all that are offered; an empty list: none." => nullable;
        max_tool_calls_per_turn: u64, u64 = 10,
        "Calls of one message that run; the others are answered with an error.";
        max_calls: CallLimits, DefaultText = DefaultText("no limit"),
        "A number for the run, or {`run`, `per_tool`: {name: number}}." => nullable;
        max_identical_calls: u64, DefaultText = DefaultText("no limit"),
        "The same tool with the same arguments, over the run." => nullable;
        cycle_forbid: Vec<(String, String)>, DefaultText = DefaultText("none"),
        "Ordered pairs `[from, to]` of tools that may not follow one another.";
        metadata: ContractMetadata, DefaultText = DefaultText("none"),
        "`cycle_exceptions`: a list of {`from`, `to`, `max`} that lets a forbidden pair occur so often.";
        require_approval: Vec<String>, DefaultText = DefaultText("none"),
        "Tools whose calls wait for a person. The person at the terminal of the run is asked, and `monolith approve RUN` answers \
         from elsewhere; without an answer the call is denied after `approval_timeout_ms`.";
        approval: Vec<ApprovalRule>, DefaultText = DefaultText("none"),
        "Rules about calls before they start: a list of {`tool`, `arguments`, `action`}. The first that a call falls under decides; \
         `require_approval` comes behind them ([approvals.md](approvals.md)).";
        approvers: Vec<String>, DefaultText = DefaultText("everyone who may write to the state folder"),
        "Public keys as `NAME+ID+BASE64`: only answers that one of them has signed count.";
        labels: Vec<LabelRule>, DefaultText = DefaultText("by the kind of tool"),
        "What results are: a list of {`tool`, `labels`}, the first that takes a tool's name decides. Without one: `echo` and `clock` trusted; \
         tools of the workspace private; what comes from the network untrusted; every other tool both ([information-flow.md](information-flow.md)).";
        flow: FlowRules, DefaultText = DefaultText("none"),
        "What the model may not do with what it has seen: a list of {`from`, `to`, `action`}, or `trifecta`: once it saw private and \
         untrusted results, a person is asked before any call that may send ([information-flow.md](information-flow.md)).";
        parallel_tool_calls: bool, bool = false,
        "Whether adjacent calls of `parallel_safe` run beside each other.";
        parallel_safe: Vec<String>, DefaultText = DefaultText("none"),
        "Tools that may.";
        idempotent: Vec<String>, DefaultText = DefaultText("none"),
        "Tools that may run again when a process died before their answer was recorded; the same idempotency key is sent.";
        tool_transport: ToolTransport, ToolTransport = ToolTransport::Native,
        "How calls travel: the provider's form; `xml-final`: the report as a tag; `xml`: everything as tags. See [session.md](session.md).";
        batch: bool, bool = false,
        "Offers `agent__batch`: several calls in one.";
        progress_report: bool, bool = false,
        "Offers `agent__progress_report`.";
        tool_output_budget: ToolOutputBudgetSpec, DefaultText = DefaultText("see below"),
        "What an answer may weigh in the conversation.";
        agents: Agents, DefaultText = DefaultText("none"),
        "Agents that the model may call as tools: a list of files, each a path or {`file`, `tools`}. The model sees `agent__<toolName>`." => nullable;
        queues: BTreeMap<String, QueueTerms>, DefaultText = DefaultText("none"),
        "Queues of calls by name, each with `concurrent`.";
    }
    "limits": {
        max_turns: u32, u32 = 10,
        "Turns, the closing one included. `required` needs at least 2.";
        max_attempts_per_turn: u32, u32 = 3,
        "Attempts of one turn, whatever they fail of.";
        max_format_retries: u32, DefaultText = DefaultText("the profile's, else 1"),
        "Malformed answers that are asked for again, over the whole run. At most 1 under `strict_mode`, else at most 3.";
        max_invalid_turns: u32, u32 = 3,
        "Turns in a row of which every call is refused for its name or its arguments. At least 1.";
        max_inferences: u64, DefaultText = DefaultText("turns × attempts + format retries"),
        "Requests of the run.";
        max_tokens_consumed: Big, u64 = 1_000_000,
        "Input, output and cache reads of every attempt.";
        max_cost_micro_usd: Big, DefaultText = DefaultText("none"),
        "Millionths of a US dollar: what providers report, else what `prices` make of it." => nullable;
        prices: PriceTable, DefaultText = DefaultText("none"),
        "What models cost. See below." => nullable;
        max_delegation_depth: u32, u32 = DEFAULT_MAX_DEPTH,
        "How many runs below this one may stand one below the other, where agents call agents. 0: none may be called.";
        max_resumes: u32, u32 = 8,
        "How often the run may be resumed after its process died.";
        llm_timeout_ms: u64, u64 = 600_000,
        "Time without a byte after which an inference has failed.";
        tool_timeout_ms: u64, u64 = 300_000,
        "Time for one call; the model sees it.";
        approval_timeout_ms: u64, u64 = 86_400_000,
        "Time for a person's answer.";
        step_timeout_ms: u64, u64 = 1_800_000,
        "Time for one turn, waits included; but it stands still while a call waits for an approval, here or in a run below.";
        total_timeout_ms: u64, u64 = 3_600_000,
        "Time for the run; it stands still in the same way.";
        context_budget: ContextBudgetSpec, DefaultText = DefaultText("see below"),
        "When the model is made to answer with what it has.";
    }
    "judged": {
        strict_mode: bool, DefaultText = DefaultText("the profile's, else true"),
        "Nothing is repaired; one fault of form rejects the whole message.";
        token_gate: bool, DefaultText = DefaultText("true under `strict_mode` and `required`"),
        "Text is held back until a call has been validated.";
        completion: Completion, Completion = Completion::Message,
        "What ends the run well: the model's last message, or a `final_report`. See [session.md](session.md).";
        final_report: FinalReportSpec, DefaultText = DefaultText("Markdown"),
        "What the report must be, with that completion.";
        grammar_profile: String, DefaultText = DefaultText("`lark/1` with an embedded model"),
        "The language of the token gate's grammar. `gbnf/1` is what a llama-server reads: it is sent in the field `grammar` to targets \
         with `text_profile: hermes` or `qwen` ([local.md](local.md#a-llama-server-instead))." => nullable;
        grammar: String, DefaultText = DefaultText("made from the tools"),
        "The grammar of the closed gate." => nullable;
        logits_mask: Vec<f64>, DefaultText = DefaultText("none"),
        "One number for each token of an embedded model's vocabulary, added to its logits; −1e9 bans a token. Of another length, or \
         not finite: `profile_incompatible`." => nullable;
        speculative_exec: bool, bool = false,
        "`true` is `profile_incompatible` ([local.md](local.md) says why).";
        redact: RedactionTerms, DefaultText = DefaultText("none"),
        "What else must not be recorded.";
        checkpoint_every: u64, u64 = 256,
        "A signed checkpoint at least every so many entries, and at the end.";
    }
}
