use std::collections::BTreeMap;

use super::contract_spec::{
    ContextBudgetSpec, ContractSpec, FinalReportSpec, Setting, TargetSpec, ToolOutputBudgetSpec,
};
use super::prices::read_prices;
use super::reach::{read_providers, read_redact, read_tools};
use super::reader::{Big, Choice, Out, Read, Section};
use super::suggest::suggest;
use super::tree::{Kind, Node};
use crate::contract::{
    CallLimits, Completion, ContractMetadata, CycleException, Page, QueueTerms, ReportFormat,
    TextProfile, ToolPolicy, ToolProof, ToolTransport,
};

/// The queue of every server that names none; it is there by itself.
pub(super) const DEFAULT_QUEUE: &str = "default";

impl Choice for Page {
    const WORDS: &'static [(&'static str, Self)] = &[("chat", Self::Chat), ("code", Self::Code)];
}

impl Choice for ToolPolicy {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("required", Self::Required),
        ("optional", Self::Optional),
        ("forbidden", Self::Forbidden),
    ];
}

impl Choice for Completion {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("message", Self::Message),
        ("final_report", Self::FinalReport),
    ];
}

impl Choice for ToolProof {
    const WORDS: &'static [(&'static str, Self)] =
        &[("executed", Self::Executed), ("succeeded", Self::Succeeded)];
}

impl Choice for ToolTransport {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("native", Self::Native),
        ("xml-final", Self::XmlFinal),
        ("xml", Self::Xml),
    ];
}

/// A text profile, or `none` where the author wants no calls in text.
#[derive(Clone, Copy)]
struct TextForm(Option<TextProfile>);

impl Choice for TextForm {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("hermes", Self(Some(TextProfile::Hermes))),
        ("llama3", Self(Some(TextProfile::Llama3))),
        ("qwen", Self(Some(TextProfile::Qwen))),
        ("none", Self(None)),
    ];
}

/// Reads the whole file; None where it is no mapping. Whatever is wrong stands in the findings.
pub(super) fn read_file(root: &Node, out: &Out<'_>) -> Option<ContractSpec> {
    Section::read(root, out, |file| {
        let providers = file.node("providers");
        let (providers, provider_names) = providers
            .map(|node| read_providers(node, &file.out.below("providers")))
            .unwrap_or_default();
        let mut targets = read_targets(file, &provider_names);
        let tool_output_budget = file.section("tool_output_budget", read_tool_output_budget);
        targets.extend(summarizer(
            file,
            &tool_output_budget,
            &targets,
            &provider_names,
        ));
        let prices = file.node("prices").filter(|node| !node.is_null());
        let prices =
            prices.and_then(|node| read_prices(node, &file.out.below("prices"), &provider_names));
        ContractSpec {
            adapter_version: file.get("adapter_version"),
            allowed_tools: file.nullable("allowed_tools"),
            approval_timeout_ms: file.get("approval_timeout_ms"),
            batch: file.get("batch"),
            checkpoint_every: file.get("checkpoint_every"),
            completion: file.get("completion"),
            context_budget: file.section("context_budget", read_context_budget),
            cycle_forbid: file.get("cycle_forbid").unwrap_or_default(),
            final_report: file.section("final_report", read_final_report),
            grammar: file.nullable("grammar"),
            grammar_profile: file.nullable("grammar_profile"),
            idempotent: file.get("idempotent").unwrap_or_default(),
            llm_timeout_ms: file.get("llm_timeout_ms"),
            logits_mask: file.nullable("logits_mask"),
            max_attempts_per_turn: file.get("max_attempts_per_turn"),
            max_calls: file.nullable("max_calls").unwrap_or_default(),
            max_cost_micro_usd: file.nullable("max_cost_micro_usd").map(|Big(n)| n),
            max_format_retries: file.get("max_format_retries"),
            max_identical_calls: file.nullable("max_identical_calls"),
            max_inferences: file.get("max_inferences"),
            max_resumes: file.get("max_resumes"),
            max_tokens_consumed: file.get("max_tokens_consumed").map(|Big(n)| n),
            max_tool_calls_per_turn: file.get("max_tool_calls_per_turn"),
            max_turns: file.get("max_turns"),
            metadata: file.section("metadata", |section| ContractMetadata {
                cycle_exceptions: section.get("cycle_exceptions").unwrap_or_default(),
            }),
            model_profile_id: file.nullable("model_profile_id"),
            model_profiles: file.get("model_profiles").unwrap_or_default(),
            page: file.nullable("page"),
            parallel_safe: file.get("parallel_safe").unwrap_or_default(),
            parallel_tool_calls: file.get("parallel_tool_calls"),
            prices,
            progress_report: file.get("progress_report"),
            providers,
            queues: read_queues(file),
            redact: file.section("redact", read_redact),
            require_approval: file.get("require_approval").unwrap_or_default(),
            sampling: file.get("sampling").unwrap_or_default(),
            speculative_exec: file.get("speculative_exec"),
            step_timeout_ms: file.get("step_timeout_ms"),
            strict_mode: file.get("strict_mode"),
            system: file.get("system"),
            targets,
            task: file.get("task"),
            token_gate: file.get("token_gate"),
            tokenizer: file.or_off("tokenizer"),
            tool_output_budget,
            tool_policy: file.get("tool_policy"),
            tool_proof: file.get("tool_proof"),
            tool_timeout_ms: file.get("tool_timeout_ms"),
            tool_transport: file.get("tool_transport"),
            tools: file.section("tools", read_tools),
            total_timeout_ms: file.get("total_timeout_ms"),
            origins: BTreeMap::new(),
        }
    })
}

/// The queues; a server that names another than these or `default` is refused (000 §7).
fn read_queues(file: &mut Section<'_, '_>) -> BTreeMap<String, QueueTerms> {
    let names: Vec<String> = match file.peek("queues").map(|node| &node.kind) {
        Some(Kind::Map(entries)) => entries.iter().map(|(key, _)| key.text.clone()).collect(),
        Some(Kind::Scalar { .. } | Kind::List(_)) | None => Vec::new(),
    };
    let child = |node: &Node, key: &str| match &node.kind {
        Kind::Map(entries) => {
            let found = entries.iter().find(|(known, _)| known.text == key);
            found.map(|(_, node)| node.clone())
        }
        Kind::Scalar { .. } | Kind::List(_) => None,
    };
    let servers = file.peek("tools").and_then(|tools| child(tools, "mcp"));
    if let Some(Kind::Map(servers)) = servers.map(|node| node.kind) {
        for (server, node) in &servers {
            let Some(asked) = child(node, "queue") else {
                continue;
            };
            let Kind::Scalar { text, .. } = &asked.kind else {
                continue;
            };
            if asked.is_null() || text == DEFAULT_QUEUE || names.contains(text) {
                continue;
            }
            let out = file.out.below("tools").below("mcp").below(&server.text);
            let out = out.below("queue");
            let (missing, help) = if out.findings.is_hidden(&out.path) {
                ("of the name that a variable holds".to_owned(), None)
            } else {
                let help = suggest(text, names.iter().map(String::as_str));
                (format!("`{text}`"), help)
            };
            let rule = format!("no queue {missing} stands under `queues`");
            out.refuse(&asked, rule, help);
        }
    }
    file.get("queues").unwrap_or_default()
}

impl Read for QueueTerms {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        Section::read(node, out, |section| {
            let concurrent: u32 = section.required("concurrent")?;
            if concurrent == 0 {
                section.refuse_key("concurrent", "a queue runs at least 1 call", None);
            }
            Some(Self { concurrent })
        })?
    }
}

fn read_targets(file: &mut Section<'_, '_>, providers: &[String]) -> Vec<TargetSpec> {
    let targets: Option<Vec<TargetSpec>> = file.required("targets");
    let Some(Kind::List(items)) = file.peek("targets").map(|node| &node.kind) else {
        return Vec::new();
    };
    let out = file.out.below("targets");
    if items.is_empty() {
        file.refuse_key("targets", "at least one target is needed", None);
    }
    for (n, item) in items.iter().enumerate() {
        let Kind::Map(entries) = &item.kind else {
            continue;
        };
        for (key, value) in entries {
            let Kind::Scalar { text, .. } = &value.kind else {
                continue;
            };
            if key.text == "provider" && !providers.contains(text) {
                let rule = format!("no provider `{text}` stands under `providers`");
                let help = suggest(text, providers.iter().map(String::as_str));
                out.below(&n.to_string())
                    .below("provider")
                    .refuse(value, rule, help);
            }
        }
    }
    targets.unwrap_or_default()
}

/// The target that makes summaries, where the file names one that is none of `targets` (semantics §6): a model of a provider.
fn summarizer(
    file: &mut Section<'_, '_>,
    budget: &ToolOutputBudgetSpec,
    targets: &[TargetSpec],
    providers: &[String],
) -> Option<TargetSpec> {
    let named = budget.summarizer_model.as_deref()?;
    let known = |target: &TargetSpec| {
        named == target.model || named == format!("{}/{}", target.provider, target.model)
    };
    if targets.is_empty() || targets.iter().any(known) {
        return None;
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
        let child = |node: &Node| match &node.kind {
            Kind::Map(entries) => {
                let found = entries
                    .iter()
                    .find(|(key, _)| key.text == "summarizer_model");
                found.map(|(_, node)| node.clone())
            }
            Kind::Scalar { .. } | Kind::List(_) => None,
        };
        if let Some(node) = file.peek("tool_output_budget").and_then(child) {
            let out = file
                .out
                .below("tool_output_budget")
                .below("summarizer_model");
            out.refuse(&node, rule, help);
        }
        return None;
    };
    Some(TargetSpec {
        model,
        provider: provider.clone(),
        summarizer: true,
        ..TargetSpec::default()
    })
}

impl Read for TargetSpec {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        Section::read(node, out, |target| {
            let (model, provider) = (target.required("model"), target.required("provider"));
            let (context_window, model_profile_id, sampling) = (
                target.get("context_window"),
                target.nullable("model_profile_id"),
                target.get("sampling").unwrap_or_default(),
            );
            let text_profile = match target.get("text_profile") {
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
}

fn read_final_report(section: &mut Section<'_, '_>) -> FinalReportSpec {
    FinalReportSpec {
        format: section.get("format"),
        schema: section.nullable("schema"),
    }
}

impl Choice for ReportFormat {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("json", Self::Json),
        ("markdown", Self::Markdown),
        ("markdown+mermaid", Self::MarkdownMermaid),
        ("pipe", Self::Pipe),
        ("slack-block-kit", Self::SlackBlockKit),
        ("sub-agent", Self::SubAgent),
        ("text", Self::Text),
        ("tty", Self::Tty),
    ];
}

fn read_context_budget(section: &mut Section<'_, '_>) -> ContextBudgetSpec {
    ContextBudgetSpec {
        buffer: section.get("buffer"),
        context_window: section.get("context_window"),
        force_synthesis_at_ratio: section.get("force_synthesis_at_ratio"),
        minimum_loop_margin: section.get("minimum_loop_margin"),
        reserved_synthesis: section.get("reserved_synthesis"),
        reserved_system: section.get("reserved_system"),
    }
}

fn read_tool_output_budget(section: &mut Section<'_, '_>) -> ToolOutputBudgetSpec {
    ToolOutputBudgetSpec {
        max_bytes_per_call: section.get("max_bytes_per_call"),
        summarizer_model: section.nullable("summarizer_model"),
        truncation_marker: section.get("truncation_marker"),
    }
}

impl Read for CallLimits {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        if matches!(node.kind, Kind::Scalar { .. }) {
            return Some(Self {
                run: Some(u64::read(node, out)?),
                ..Self::default()
            });
        }
        Section::read(node, out, |section| Self {
            per_tool: section.get("per_tool").unwrap_or_default(),
            run: section.nullable("run"),
        })
    }
}

impl Read for CycleException {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        Section::read(node, out, |section| {
            let (from, to) = (section.required("from"), section.required("to"));
            let max = section.required("max");
            Some(Self {
                from: from?,
                max: max?,
                to: to?,
            })
        })?
    }
}
