//! The keys of a workflow's file, of a step and of a condition, and their readers. Does not judge what a step refers to.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::contract::spec::agent_file::ContractDefaults;
use crate::contract::spec::declare::form;
use crate::contract::spec::delegated_models::{add_beside, is_called};
use crate::contract::spec::form::{Choice, DefaultText, NEEDED, Read, Schemas, Setting};
use crate::contract::spec::keys::{
    ContextBudgetSpec, ContractSpec, FinalReportSpec, SamplingSpec, TargetSpec,
    ToolOutputBudgetSpec,
};
use crate::contract::spec::reporter::Reporter;
use crate::contract::spec::section::{Judge, Keyed as _, Section};
use crate::contract::spec::transport::{McpSpec, ToolsSpec};
use crate::contract::spec::tree::{Kind, Node};
use crate::contract::{
    AGENT_PREFIX, AgentId, Completion, Condition, ContractMetadata, Delegate, FailureStrategy,
    ForEach, If, Parallel, ServerKind, Step, StepId, Test, ToolPolicy, ToolProof, ToolUse, While,
    Work, WorkflowDefinition,
};
use crate::message::Digest;

form! {
    /// A workflow.
    WORKFLOW_FILE: WorkflowFileKeys, "workflow-file", "monolith workflow" [pub(in crate::contract) struct WorkflowEntry by hand];
    "workflow": {
        workflow: AgentId => needed, DefaultText = NEEDED,
        "What it is called: lower-case letters and digits, with hyphens between them.";
        input: String, DefaultText = DefaultText("empty"),
        "What `${input}` stands for where the caller gives nothing.";
        contract: ContractDefaults as (), DefaultText = DefaultText("none; needed by prompts"),
        "Any keys of a contract file: the contract of every prompt and tool.";
        limits: Limits => or_empty, DefaultText = DefaultText("as below"),
        "What the whole workflow may use. Each step run also has the budgets in its contract.";
        on_failure: FailureStrategy, DefaultText = DefaultText("failFast"),
        "What the failure of a step means that no group takes: `failFast` or `rollback`.";
        steps: Vec<StepEntry> as Vec<Step> => needed, DefaultText = NEEDED,
        "The steps, done in this order.";
        compensations: Vec<StepEntry> as Vec<Step> => or_empty, DefaultText = DefaultText("none"),
        "Steps that undo others: a prompt, a tool or a delegate each.";
    }
}

form! {
    /// The limits of a workflow.
    WORKFLOW_LIMITS: WorkflowLimitKeys, "workflow-limits", "Limits of a workflow" [#[derive(Default)] pub(in crate::contract) struct Limits];
    "limits": {
        max_steps: u64, u64 = WorkflowDefinition::MAX_STEPS,
        "How many step runs it begins at most, compensations left out.";
        total_timeout_ms: u64, u64 = WorkflowDefinition::TOTAL_TIMEOUT_MS,
        "How long it may be driven, in milliseconds. Compensations may go on after that.";
    }
}

form! {
    /// A step.
    WORKFLOW_STEP: WorkflowStepKeys, "workflow-step", "A step of a workflow" [pub(in crate::contract) struct StepEntry judged];
    "steps": {
        id: StepId, DefaultText = NEEDED,
        "Its name, which no other step has." => needed;
        prompt: String, DefaultText = DefaultText("none"),
        "A step that asks a model: the text.";
        tool: String, DefaultText = DefaultText("none"),
        "A step that is one call: the tool by its exposed name, such as `files__read_text_file`.";
        arguments: Arguments as Value, DefaultText = DefaultText("none"),
        "Of a tool: its arguments. Placeholders stand in their texts.";
        delegate: String, DefaultText = DefaultText("none"),
        "A step that gives a task to another agent: its file, `.ai`, a profile or a contract file.";
        task: String, DefaultText = DefaultText("none"),
        "Of a delegate: the task.";
        if_ as "if": Condition, DefaultText = DefaultText("none"),
        "A step that takes `then` where the condition holds, else `else`.";
        then: Vec<StepEntry> as Vec<Step>, DefaultText = DefaultText("none"),
        "Of an `if`: the steps where it holds.";
        else_ as "else": Vec<StepEntry> as Vec<Step>, DefaultText = DefaultText("none"),
        "Of an `if`: the steps where it does not.";
        for_each: String, DefaultText = DefaultText("none"),
        "A step that does `steps` for each item of a JSON array, such as `${steps.ID.output}`.";
        while_ as "while": Condition, DefaultText = DefaultText("none"),
        "A step that does `steps` as long as the condition holds; it is judged before each time.";
        steps: Vec<StepEntry> as Vec<Step>, DefaultText = DefaultText("none"),
        "Of `for_each` and `while`: the steps.";
        max_iterations: u32, DefaultText = DefaultText("none; needed by loops"),
        "Of `for_each` and `while`: how often at most.";
        parallel: Vec<StepEntry> as Vec<Step>, DefaultText = DefaultText("none"),
        "A step whose steps may be under way at the same time.";
        max_concurrency: u32 => or_default, u32 = WorkflowDefinition::MAX_CONCURRENCY,
        "Of `parallel`: how many at most.";
        on_failure: FailureStrategy, DefaultText = DefaultText("failFast"),
        "Of `parallel`: `failFast`, `continueOnError` or `rollback`.";
        depends_on: Vec<StepId> => or_empty, DefaultText = DefaultText("none"),
        "Inside of `parallel`: the steps of the group that must have completed before.";
        compensate: StepId, DefaultText = DefaultText("none"),
        "The compensation that undoes it.";
    }
}

form! {
    /// A condition.
    WORKFLOW_CONDITION: WorkflowConditionKeys, "workflow-condition", "A question about a step" [pub(in crate::contract) struct ConditionEntry by hand];
    "conditions": {
        step: StepId, DefaultText = NEEDED,
        "The step that is asked about." => needed;
        equals: String, DefaultText = DefaultText("none"),
        "Its output is this text.";
        not_equals: String, DefaultText = DefaultText("none"),
        "Its output is another text.";
        contains: String, DefaultText = DefaultText("none"),
        "This text is in its output.";
        not_contains: String, DefaultText = DefaultText("none"),
        "This text is not in its output.";
        matches: String, DefaultText = DefaultText("none"),
        "This regular expression finds something in its output.";
        succeeded: bool, DefaultText = DefaultText("none"),
        "Whether it has completed.";
    }
}

/// The arguments of a tool.
pub(in crate::contract) struct Arguments;

impl Choice for FailureStrategy {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("failFast", Self::FailFast),
        ("continueOnError", Self::ContinueOnError),
        ("rollback", Self::Rollback),
    ];
}

impl Read for Condition {
    type Output = Self;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        Section::read(node, reporter, &WORKFLOW_CONDITION, |section| {
            let entry = ConditionEntry::from_section(section)?;
            let tests = [
                entry.equals.map(Test::Equals),
                entry.not_equals.map(Test::NotEquals),
                entry.contains.map(Test::Contains),
                entry.not_contains.map(Test::NotContains),
                entry.matches.map(Test::Matches),
                entry.succeeded.map(Test::Succeeded),
            ];
            let mut tests = tests.into_iter().flatten();
            if let (Some(test), None) = (tests.next(), tests.next()) {
                let step = entry.step?;
                return Some(Self { step, test });
            }
            let rule = "expected one question about the step";
            let help = "one of equals, not_equals, contains, not_contains, matches, succeeded";
            section.refuse(rule, Some(help.to_owned()));
            None
        })?
    }

    fn schema(definitions: &mut Schemas) -> Value {
        let mut schema = definitions.form(&WORKFLOW_CONDITION);
        if let Some(schema) = schema.as_object_mut() {
            // The step, and one question.
            schema.insert("minProperties".to_owned(), json!(2));
            schema.insert("maxProperties".to_owned(), json!(2));
        }
        schema
    }
}

impl Read for Arguments {
    type Output = Value;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        if matches!(node.kind, Kind::Map(_)) {
            return Value::read(node, reporter);
        }
        reporter.expected(node, "a mapping");
        None
    }

    fn schema(_: &mut Schemas) -> Value {
        serde_json::json!({"type": "object"})
    }
}

impl Judge for StepEntry {
    type Output = Step;

    fn judge(self, section: &Section<'_, '_>) -> Option<Step> {
        let work = match kind(section)? {
            "prompt" => Work::Prompt(self.prompt?),
            "tool" => Work::Tool(ToolUse {
                arguments: self.arguments.unwrap_or_else(|| json!({})),
                tool: self.tool?,
            }),
            "delegate" => Work::Delegate(Delegate {
                agent: self.delegate?,
                // The caller reads the file.
                agent_digest: Digest::ZERO,
                task: self.task?,
            }),
            "if" => Work::If(If {
                condition: self.if_?,
                otherwise: self.else_.unwrap_or_default(),
                then: self.then?,
            }),
            "for_each" => Work::ForEach(ForEach {
                items: self.for_each?,
                max_iterations: self.max_iterations?,
                steps: self.steps?,
            }),
            "while" => Work::While(While {
                condition: self.while_?,
                max_iterations: self.max_iterations?,
                steps: self.steps?,
            }),
            _ => Work::Parallel(Parallel {
                max_concurrency: self.max_concurrency,
                on_failure: self.on_failure.unwrap_or(FailureStrategy::FailFast),
                steps: self.parallel?,
            }),
        };
        Some(Step {
            compensate: self.compensate,
            depends_on: self.depends_on,
            id: self.id?,
            work,
        })
    }
}

/// The kinds of steps: the key that makes one, and the keys that go with it, each with whether it is needed.
const KINDS: [(&str, &[(&str, bool)]); 7] = [
    ("prompt", &[("compensate", false)]),
    ("tool", &[("arguments", false), ("compensate", false)]),
    ("delegate", &[("task", true), ("compensate", false)]),
    ("if", &[("then", true), ("else", false)]),
    ("for_each", &[("steps", true), ("max_iterations", true)]),
    ("while", &[("steps", true), ("max_iterations", true)]),
    (
        "parallel",
        &[("max_concurrency", false), ("on_failure", false)],
    ),
];

/// Keys of every step.
const ALWAYS: [&str; 2] = ["id", "depends_on"];

/// Returns the step's kind, if it has the keys of one.
pub(super) fn kind(section: &Section<'_, '_>) -> Option<&'static str> {
    let made: Vec<_> = KINDS.iter().filter(|(key, _)| section.has(key)).collect();
    let all = || KINDS.map(|(key, _)| key).join(", ");
    let (kind, own) = match made.as_slice() {
        [] => {
            let rule = "nothing says what the step does";
            section.refuse(rule, Some(format!("one of {}", all())));
            return None;
        }
        [(kind, own)] => (*kind, *own),
        [_, (second, _), ..] => {
            let rule = "a step does one thing";
            section.refuse_key(second, rule, Some(format!("one of {}", all())));
            return None;
        }
    };
    for (needed, _) in own.iter().filter(|(_, needed)| *needed) {
        if !section.has(needed) {
            section.refuse(format!("the key `{needed}` is missing"), None);
        }
    }
    let others = KINDS.iter().flat_map(|(_, keys)| keys.iter());
    let goes_with = |key: &str| own.iter().any(|(known, _)| *known == key);
    let mut strange: Vec<&str> = others.map(|(key, _)| *key).collect();
    strange.sort_unstable();
    strange.dedup();
    for key in strange {
        // `steps` of a loop is no key of an `if`.
        if section.has(key) && !goes_with(key) && !ALWAYS.contains(&key) {
            section.refuse_key(key, format!("a step with `{kind}` has no `{key}`"), None);
        }
    }
    Some(kind)
}

/// True if a tool of that name, or a pattern of such names, is the server's.
fn serves(name: &str, server: &McpSpec, tool: &str) -> bool {
    match server.transport.kind() {
        ServerKind::Rest => tool == name,
        kind => tool.starts_with(&kind.prefix(name)),
    }
}

/// Returns the contract of a step that calls one tool: the terms of `contract` for tools and people, and no model to ask. The call is an
/// input of the run. Of the servers, only the one of the tool is in it.
///
/// No model reads the result, so what limits a conversation does not hold: a result of up to `most_bytes` is kept whole.
pub fn tool_spec(contract: &ContractSpec, tool: &str, most_bytes: u64) -> ContractSpec {
    let (used, others): (BTreeMap<_, _>, BTreeMap<_, _>) = contract
        .tools
        .servers
        .clone()
        .into_iter()
        .partition(|(name, server)| serves(name, server, tool));
    let tools = ToolsSpec {
        servers: used,
        ..contract.tools.clone()
    };
    // A rule about a tool of another server says nothing of this call.
    let is_ours = |named: &String| {
        let mut others = others.iter();
        !others.any(|(name, server)| serves(name, server, named))
    };
    let is_agent = tool.starts_with(AGENT_PREFIX);
    let ours = |names: &[String]| names.iter().filter(|name| is_ours(name)).cloned().collect();
    let flow = contract.flow.iter();
    // The run of an agent obeys all of them.
    let flow = flow.filter(|rule| is_agent || rule.to.as_ref().is_none_or(is_ours));
    let labels = contract.labels.iter();
    let labels = labels.filter(|rule| is_agent || is_ours(&rule.tool));
    let approval = contract.approval.iter().filter(|rule| is_ours(&rule.tool));
    let mut max_calls = contract.max_calls.clone();
    max_calls.per_tool.retain(|name, _| is_ours(name));
    let samplers = tools.servers.values();
    let samplers: Vec<&str> = samplers
        .filter_map(|server| server.terms.sampling.as_deref())
        .collect();
    // What is asked of models meanwhile, by an agent or for a server, counts in the budgets of the contract.
    let asks_models = is_agent || !samplers.is_empty();
    let targets = contract.targets.iter();
    let targets = targets.filter(|target| samplers.iter().any(|named| is_called(target, named)));
    let targets = targets.map(|target| TargetSpec {
        summarizer: true,
        ..target.clone()
    });
    let mut spec = ContractSpec {
        adapter_version: None,
        allowed_tools: Some(vec![tool.to_owned()]),
        approval: approval.cloned().collect(),
        batch: None,
        completion: Some(Completion::Message),
        context_budget: ContextBudgetSpec::default(),
        cycle_forbid: Vec::new(),
        final_report: FinalReportSpec::default(),
        flow: flow.cloned().collect(),
        grammar: None,
        grammar_profile: None,
        idempotent: ours(&contract.idempotent),
        labels: labels.cloned().collect(),
        logits_mask: None,
        max_calls,
        max_cost_micro_usd: contract.max_cost_micro_usd.filter(|_| asks_models),
        max_inferences: contract.max_inferences.filter(|_| asks_models),
        max_invalid_turns: Some(1),
        max_tokens_consumed: contract.max_tokens_consumed.filter(|_| asks_models),
        max_turns: Some(1),
        metadata: ContractMetadata::default(),
        model_profile_id: None,
        page: None,
        parallel_safe: Vec::new(),
        part_of: Some(Box::new(contract.clone())),
        prices: contract.prices.clone().filter(|_| !samplers.is_empty()),
        progress_report: None,
        require_approval: ours(&contract.require_approval),
        sampling: SamplingSpec::default(),
        sends_defaults: false,
        system: None,
        targets: targets.collect(),
        task: Some(format!("call {tool}")),
        token_gate: Some(false),
        tokenizer: Setting::Off,
        tool_output_budget: ToolOutputBudgetSpec {
            max_bytes_per_call: Some(most_bytes),
            ..ToolOutputBudgetSpec::default()
        },
        tool_policy: Some(ToolPolicy::Required),
        tool_proof: Some(match contract.tool_proof {
            Some(ToolProof::Lineage) => ToolProof::Lineage,
            Some(ToolProof::Executed | ToolProof::Succeeded) | None => ToolProof::Succeeded,
        }),
        tool_transport: None,
        tools,
        usual_transport: None,
        ..contract.clone()
    };
    add_beside(&mut spec);
    let targets = &spec.targets;
    let is_asked = |name: &String| targets.iter().any(|target| target.provider == *name);
    spec.providers.retain(|name, _| is_asked(name));
    spec
}
