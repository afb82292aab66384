//! Reads the top level of a contract file. Fills in no default.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::agent_spec::OfferedAs;
use super::agent_values::Agents;
use super::contract_spec::{
    ContextBudgetSpec, ContractSpec, FinalReportSpec, Setting, TargetSpec, ToolOutputBudgetSpec,
    ToolsSpec,
};
use super::flow_values::FlowRules;
use super::form::{Read, Schemas};
use super::keys::{
    CONTEXT_BUDGET, FILE, FINAL_REPORT, MAX_CALLS, METADATA, PRICES, QUEUE, SERVER, TARGET,
    TOOL_OUTPUT_BUDGET, TOOLS,
};
use super::reader::Big;
use super::reporter::Reporter;
use super::section::Section;
use super::suggest::suggest;
use super::tree::{Kind, Node};
use super::words::TextForm;
use crate::contract::{CallLimits, ContractMetadata, PinnedOffers, QueueTerms};

/// Reads the whole file; None if it is no mapping. Every fault is in the findings.
pub(super) fn read_file(root: &Node, reporter: &Reporter<'_>) -> Option<ContractSpec> {
    Section::read(root, reporter, &FILE, |file| {
        // Those of faulty providers, too, so that a target is not blamed for them.
        let provider_names = names_below(file, FILE.providers.name);
        let mut targets = read_targets(file, &provider_names);
        let tool_output_budget = file.get(&FILE.tool_output_budget).unwrap_or_default();
        let tools = file.get(&FILE.tools).unwrap_or_default();
        add_summarizer(file, &tool_output_budget, &mut targets, &provider_names);
        add_samplers(file, &tools, &mut targets, &provider_names);
        refuse_unknown_prices(file, &provider_names);
        ContractSpec {
            adapter_version: file.get(&FILE.adapter_version),
            agents: file
                .get(&FILE.agents)
                .map_or_else(Vec::new, |Agents(agents)| agents),
            allowed_tools: file.get(&FILE.allowed_tools),
            approval: file.get(&FILE.approval).unwrap_or_default(),
            approval_timeout_ms: file.get(&FILE.approval_timeout_ms),
            approvers: file.get(&FILE.approvers).unwrap_or_default(),
            batch: file.get(&FILE.batch),
            checkpoint_every: file.get(&FILE.checkpoint_every),
            completion: file.get(&FILE.completion),
            context_budget: file.get(&FILE.context_budget).unwrap_or_default(),
            cycle_forbid: file.get(&FILE.cycle_forbid).unwrap_or_default(),
            final_report: file.get(&FILE.final_report).unwrap_or_default(),
            flow: file
                .get(&FILE.flow)
                .map_or_else(Vec::new, |FlowRules(rules)| rules),
            grammar: file.get(&FILE.grammar),
            grammar_profile: file.get(&FILE.grammar_profile),
            idempotent: file.get(&FILE.idempotent).unwrap_or_default(),
            labels: file.get(&FILE.labels).unwrap_or_default(),
            llm_timeout_ms: file.get(&FILE.llm_timeout_ms),
            logits_mask: file.get(&FILE.logits_mask),
            max_attempts_per_turn: file.get(&FILE.max_attempts_per_turn),
            max_calls: file.get(&FILE.max_calls).unwrap_or_default(),
            max_cost_micro_usd: file.get(&FILE.max_cost_micro_usd).map(|Big(n)| n),
            max_delegation_depth: file.get(&FILE.max_delegation_depth),
            max_format_retries: file.get(&FILE.max_format_retries),
            max_identical_calls: file.get(&FILE.max_identical_calls),
            max_inferences: file.get(&FILE.max_inferences),
            max_invalid_turns: file.get(&FILE.max_invalid_turns),
            max_resumes: file.get(&FILE.max_resumes),
            max_tokens_consumed: file.get(&FILE.max_tokens_consumed).map(|Big(n)| n),
            max_tool_calls_per_turn: file.get(&FILE.max_tool_calls_per_turn),
            max_turns: file.get(&FILE.max_turns),
            metadata: file.get(&FILE.metadata).unwrap_or_default(),
            model_profile_id: file.get(&FILE.model_profile_id),
            model_profiles: file.get(&FILE.model_profiles).unwrap_or_default(),
            page: file.get(&FILE.page),
            parallel_safe: file.get(&FILE.parallel_safe).unwrap_or_default(),
            parallel_tool_calls: file.get(&FILE.parallel_tool_calls),
            prices: file.get(&FILE.prices),
            progress_report: file.get(&FILE.progress_report),
            providers: file.get(&FILE.providers).unwrap_or_default(),
            queues: read_queues(file),
            redact: file.get(&FILE.redact).unwrap_or_default(),
            require_approval: file.get(&FILE.require_approval).unwrap_or_default(),
            sampling: file.get(&FILE.sampling).unwrap_or_default(),
            speculative_exec: file.get(&FILE.speculative_exec),
            step_timeout_ms: file.get(&FILE.step_timeout_ms),
            strict_mode: file.get(&FILE.strict_mode),
            system: file.get(&FILE.system),
            targets,
            task: file.get(&FILE.task),
            token_gate: file.get(&FILE.token_gate),
            tokenizer: file.or_off(&FILE.tokenizer),
            tool_output_budget,
            tool_policy: file.get(&FILE.tool_policy),
            tool_proof: file.get(&FILE.tool_proof),
            tool_timeout_ms: file.get(&FILE.tool_timeout_ms),
            tool_transport: file.get(&FILE.tool_transport),
            usual_transport: None,
            tools: file.get(&FILE.tools).unwrap_or_default(),
            total_timeout_ms: file.get(&FILE.total_timeout_ms),
            agent: None,
            line_prices: Vec::new(),
            named_tools: Vec::new(),
            clamped: Vec::new(),
            delegation: None,
            input: None,
            offered_as: OfferedAs::default(),
            own: None,
            profile: None,
            origins: BTreeMap::new(),
            pinned: PinnedOffers::default(),
            scripts: BTreeMap::new(),
            sessions_dir: None,
            files: Vec::new(),
            layer_values: Vec::new(),
        }
    })
}

/// The names of the entries of the mapping of that name.
fn names_below(file: &Section<'_, '_>, name: &str) -> Vec<String> {
    match file.peek(name).map(|node| &node.kind) {
        Some(Kind::Map(entries)) => entries.iter().map(|(key, _)| key.text.clone()).collect(),
        Some(Kind::Scalar { .. } | Kind::List(_)) | None => Vec::new(),
    }
}

/// The value of that name in a mapping.
fn child<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    match &node.kind {
        Kind::Map(entries) => {
            let found = entries.iter().find(|(known, _)| known.text == name);
            found.map(|(_, node)| node)
        }
        Kind::Scalar { .. } | Kind::List(_) => None,
    }
}

/// Prices may speak of the file's providers only.
fn refuse_unknown_prices(file: &Section<'_, '_>, providers: &[String]) {
    let prices = file.peek(FILE.prices.name);
    let models = prices.and_then(|prices| child(prices, PRICES.models.name));
    let Some(Kind::Map(entries)) = models.map(|models| &models.kind) else {
        return;
    };
    let reporter = file
        .reporter
        .below(FILE.prices.name)
        .below(PRICES.models.name);
    let unknown = |name: &str| !providers.iter().any(|known| known == name);
    for (key, value) in entries.iter().filter(|(key, _)| unknown(&key.text)) {
        let (rule, help) = no_such_provider(&key.text, providers);
        reporter.below(&key.text).refuse(value, rule, help);
    }
}

/// How the rule begins that a provider breaks which is nowhere.
pub(super) const NO_PROVIDER: &str = "no provider `";

fn no_such_provider(name: &str, providers: &[String]) -> (String, Option<String>) {
    let rule = format!("{NO_PROVIDER}{name}` is defined under `providers`");
    (rule, suggest(name, providers.iter().map(String::as_str)))
}

/// The queues; a server that names another than these or `default` is refused (000 §7).
fn read_queues(file: &mut Section<'_, '_>) -> BTreeMap<String, QueueTerms> {
    let names = names_below(file, FILE.queues.name);
    let tools = file.peek(FILE.tools.name);
    for section in [TOOLS.mcp.name, TOOLS.openapi.name, TOOLS.rest.name] {
        let servers = tools.and_then(|tools| child(tools, section));
        let Some(Kind::Map(servers)) = servers.map(|node| &node.kind) else {
            continue;
        };
        for (server, node) in servers {
            let Some(named_queue) = child(node, SERVER.queue.name) else {
                continue;
            };
            let Kind::Scalar { text, .. } = &named_queue.kind else {
                continue;
            };
            if named_queue.is_null() || text == QueueTerms::DEFAULT || names.contains(text) {
                continue;
            }
            let reporter = file.reporter.below(FILE.tools.name).below(section);
            let reporter = reporter.below(&server.text).below(SERVER.queue.name);
            let (missing, help) = if reporter.findings.is_hidden(&reporter.path) {
                ("of the name that a variable holds".to_owned(), None)
            } else {
                let help = suggest(text, names.iter().map(String::as_str));
                (format!("`{text}`"), help)
            };
            let rule = format!("no queue {missing} is defined under `queues`");
            reporter.refuse(named_queue, rule, help);
        }
    }
    file.get(&FILE.queues).unwrap_or_default()
}

impl Read for QueueTerms {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        Section::read(node, reporter, &QUEUE, |section| {
            let concurrent = section.get(&QUEUE.concurrent)?;
            if concurrent == 0 {
                let rule = "a queue runs at least 1 call";
                section.refuse_key(QUEUE.concurrent.name, rule, None);
            }
            Some(Self { concurrent })
        })?
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form(&QUEUE)
    }
}

fn read_targets(file: &mut Section<'_, '_>, providers: &[String]) -> Vec<TargetSpec> {
    let targets = file.get(&FILE.targets);
    let Some(Kind::List(items)) = file.peek(FILE.targets.name).map(|node| &node.kind) else {
        return Vec::new();
    };
    let reporter = file.reporter.below(FILE.targets.name);
    if items.is_empty() {
        file.refuse_key(FILE.targets.name, "at least one target is needed", None);
    }
    for (n, item) in items.iter().enumerate() {
        let Some(provider) = child(item, TARGET.provider.name) else {
            continue;
        };
        if let Kind::Scalar { text, .. } = &provider.kind
            && !providers.contains(text)
            && !file
                .reporter
                .findings
                .has_at(&format!("{}.{text}", FILE.providers.name))
        {
            let (rule, help) = no_such_provider(text, providers);
            reporter
                .below(&n.to_string())
                .below(TARGET.provider.name)
                .refuse(provider, rule, help);
        }
    }
    targets.unwrap_or_default()
}

/// Adds the target that makes summaries, where the file names one that is none of `targets` (semantics §6): a model of a provider.
fn add_summarizer(
    file: &mut Section<'_, '_>,
    budget: &ToolOutputBudgetSpec,
    targets: &mut Vec<TargetSpec>,
    providers: &[String],
) {
    let place = [
        FILE.tool_output_budget.name,
        TOOL_OUTPUT_BUDGET.summarizer_model.name,
    ];
    if let Some(named) = budget.summarizer_model.as_deref() {
        add_beside(file, (named, &place), targets, providers);
    }
}

/// Adds the targets that tool servers may have asked, where the file names them there alone.
fn add_samplers(
    file: &mut Section<'_, '_>,
    tools: &ToolsSpec,
    targets: &mut Vec<TargetSpec>,
    providers: &[String],
) {
    for (server, spec) in &tools.servers {
        let place = [
            FILE.tools.name,
            TOOLS.mcp.name,
            server.as_str(),
            SERVER.sampling.name,
        ];
        if let Some(named) = spec.terms.sampling.as_deref() {
            add_beside(file, (named, &place), targets, providers);
        }
    }
}

/// Adds the target of that name, to which no attempt goes, where it is not there yet. `place` is where the file names it.
fn add_beside(
    file: &mut Section<'_, '_>,
    (named, place): (&str, &[&str]),
    targets: &mut Vec<TargetSpec>,
    providers: &[String],
) {
    let known = |target: &TargetSpec| {
        named == target.model || named == format!("{}/{}", target.provider, target.model)
    };
    if targets.is_empty() || targets.iter().any(known) {
        return;
    }
    let of = |provider: &&String| {
        let model = named.strip_prefix(provider.as_str())?.strip_prefix('/')?;
        Some(model.to_owned()).filter(|model| !model.is_empty())
    };
    // A provider's name may hold a slash: the longest that fits is meant.
    let provider = providers.iter().filter(|name| of(name).is_some());
    let provider = provider.max_by_key(|name| name.len());
    let found = provider.and_then(|name| Some((name, of(&name)?)));
    let Some((provider, model)) = found else {
        let rule = format!("`{named}` is no model of `targets` and no `provider/model`");
        let help = Some(format!(
            "providers: {}",
            if providers.is_empty() {
                "none".to_owned()
            } else {
                providers.join(", ")
            }
        ));
        let (first, rest) = place.split_first().unwrap_or((&"", &[]));
        let mut node = file.peek(first);
        let mut reporter = file.reporter.below(first);
        for key in rest {
            node = node.and_then(|node| child(node, key));
            reporter = reporter.below(key);
        }
        if let Some(node) = node {
            reporter.refuse(node, rule, help);
        }
        return;
    };
    targets.push(TargetSpec {
        model,
        provider: provider.clone(),
        summarizer: true,
        ..TargetSpec::default()
    });
}

impl Read for TargetSpec {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        Section::read(node, reporter, &TARGET, |target| {
            let (model, provider) = (target.get(&TARGET.model), target.get(&TARGET.provider));
            let (context_window, model_profile_id, sampling) = (
                target.get(&TARGET.context_window),
                target.get(&TARGET.model_profile_id),
                target.get(&TARGET.sampling).unwrap_or_default(),
            );
            let text_profile = match target.get(&TARGET.text_profile) {
                None => Setting::Unset,
                Some(TextForm(None)) => Setting::Off,
                Some(TextForm(Some(profile))) => Setting::Value(profile),
            };
            Some(Self {
                context_window,
                model: model?,
                model_profile_id,
                provider: provider?,
                sampling,
                summarizer: false,
                text_profile,
            })
        })?
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form(&TARGET)
    }
}

impl Read for FinalReportSpec {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        Section::read(node, reporter, &FINAL_REPORT, |section| Self {
            format: section.get(&FINAL_REPORT.format),
            schema: section.get(&FINAL_REPORT.schema),
        })
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form(&FINAL_REPORT)
    }
}

impl Read for ContextBudgetSpec {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        Section::read(node, reporter, &CONTEXT_BUDGET, |section| Self {
            buffer: section.get(&CONTEXT_BUDGET.buffer),
            context_window: section.get(&CONTEXT_BUDGET.context_window),
            force_synthesis_at_ratio: section.get(&CONTEXT_BUDGET.force_synthesis_at_ratio),
            minimum_loop_margin: section.get(&CONTEXT_BUDGET.minimum_loop_margin),
            reserved_synthesis: section.get(&CONTEXT_BUDGET.reserved_synthesis),
            reserved_system: section.get(&CONTEXT_BUDGET.reserved_system),
        })
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form(&CONTEXT_BUDGET)
    }
}

impl Read for ToolOutputBudgetSpec {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        Section::read(node, reporter, &TOOL_OUTPUT_BUDGET, |section| Self {
            max_bytes_per_call: section.get(&TOOL_OUTPUT_BUDGET.max_bytes_per_call),
            summarizer_model: section.get(&TOOL_OUTPUT_BUDGET.summarizer_model),
            truncation_marker: section.get(&TOOL_OUTPUT_BUDGET.truncation_marker),
        })
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form(&TOOL_OUTPUT_BUDGET)
    }
}

impl Read for ContractMetadata {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        Section::read(node, reporter, &METADATA, |section| Self {
            cycle_exceptions: section.get(&METADATA.cycle_exceptions).unwrap_or_default(),
        })
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form(&METADATA)
    }
}

impl Read for CallLimits {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        if matches!(node.kind, Kind::Scalar { .. }) {
            return Some(Self {
                run: Some(u64::read(node, reporter)?),
                ..Self::default()
            });
        }
        Section::read(node, reporter, &MAX_CALLS, |section| Self {
            per_tool: section.get(&MAX_CALLS.per_tool).unwrap_or_default(),
            run: section.get(&MAX_CALLS.run),
        })
    }

    fn schema(definitions: &mut Schemas) -> Value {
        json!({"anyOf": [u64::schema(definitions), definitions.form(&MAX_CALLS)]})
    }
}
