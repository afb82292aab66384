//! Checks over a whole contract: terms that contradict each other. Does not change them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::approval_check::{approval_faults, approval_warnings};
use super::big_count::inexact_integer_at;
use super::delegation_check::{delegation_faults, delegation_warnings};
use super::flow_check::{flow_faults, flow_warnings};
use super::hidden_characters::hidden_characters;
use super::model_check::{refused_parameters, retiring_models, unknown_prices};
use super::offered_tools::not_offered;
use super::schema_bounds::SchemaFault;
use super::terms::TermFault;
use super::tool_filter::is_wildcard;
use super::tool_hints::early_start_warning;
use super::{
    Completion, Elicitation, ReportFormat, ServerTerms, Terms, ToolPolicy, ToolProof, ToolTerms,
    ToolTransport, Validators,
};

/// Reasons that the pinned tools cannot be used (semantics §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolFault {
    /// A server or a tool is not there: FAILED_PREFLIGHT(tool_unavailable).
    Unavailable,
    /// A server offers something else than the author pinned: FAILED_PREFLIGHT(tool_changed).
    Changed,
}

/// Returns the contradictions in the terms: FAILED_PREFLIGHT(contract_invalid). All at once; empty is good.
#[must_use]
pub fn structure_faults(terms: &Terms) -> Vec<TermFault> {
    let mut faults = zeros(terms);
    faults.extend(rules_of_two(terms));
    let mut rule = |broken: bool, path: &str, text: String| {
        if broken {
            faults.push(TermFault::at(path, text));
        }
    };
    let required = terms.tool_policy == ToolPolicy::Required;
    let retries = terms.max_format_retries;
    rule(
        retries > 3,
        "max_format_retries",
        format!("max_format_retries is at most 3, got {retries}"),
    );
    rule(
        required && terms.servers.is_empty(),
        "tool_policy",
        "tool_policy required needs a tool, but the contract names no server".to_owned(),
    );
    rule(
        required && terms.allowed_tools.as_ref().is_some_and(Vec::is_empty),
        "tool_policy",
        "tool_policy required needs a tool, but allowed_tools is empty".to_owned(),
    );
    let budget = &terms.context_budget;
    let ratio = budget.force_synthesis_at_ratio;
    rule(
        !(0.0..=1.0).contains(&ratio),
        "context_budget.force_synthesis_at_ratio",
        format!("context_budget.force_synthesis_at_ratio is from 0 to 1, got {ratio}"),
    );
    let unknown_window = "the catalogue does not know the model; add its window at the target, such as `context_window: 32768`";
    rule(
        budget.context_window == 0 && terms.asks_model(),
        "context_budget.context_window",
        format!("context_budget.context_window is 0: {unknown_window}"),
    );
    for (n, target) in terms.targets.iter().enumerate() {
        let output = target.sampling.max_output_tokens;
        rule(
            target.context_window == 0 && budget.context_window != 0,
            &format!("targets.{n}.context_window"),
            format!("targets.{n}.context_window is 0: {unknown_window}"),
        );
        rule(
            output == 0,
            &format!("targets.{n}.sampling.max_output_tokens"),
            format!("targets.{n}.sampling.max_output_tokens is 0"),
        );
        rule(
            !terms.providers.contains_key(&target.provider),
            &format!("targets.{n}.provider"),
            format!(
                "targets.{n}.provider names `{}`, which is no provider",
                target.provider
            ),
        );
    }
    let attempted = terms.targets.iter().take(terms.attempt_targets());
    rule(
        attempted.into_iter().any(|target| target.summarizer),
        "targets",
        "a target that only makes summaries is the last of several".to_owned(),
    );
    if let Some(first) = terms.targets.first() {
        rule(
            first.adapter_version != terms.adapter_version,
            "adapter_version",
            "adapter_version is not the first target's".to_owned(),
        );
        rule(
            first.model_profile_id != terms.model_profile_id,
            "model_profile_id",
            "model_profile_id is not the first target's".to_owned(),
        );
    }
    if let Some(report) = &terms.final_report {
        rule(
            terms.completion != Completion::FinalReport,
            "final_report",
            "final_report needs completion final_report".to_owned(),
        );
        rule(
            report.schema.is_some() && report.format != ReportFormat::Json,
            "final_report.schema",
            format!(
                "final_report.schema needs format json, got {}",
                report.format
            ),
        );
        if let Some(fault) = report.schema.as_ref().and_then(Validators::fault_of) {
            let (pointer, why) = (fault.pointer, fault.rule);
            let text = format!("final_report.schema at {pointer:?}: {why}");
            rule(true, "final_report.schema", text);
        }
    } else {
        rule(
            terms.completion == Completion::FinalReport,
            "completion",
            "completion final_report says nothing of the report".to_owned(),
        );
    }
    if let Some(form) = &terms.response_format {
        rule(
            terms.completion != Completion::Message || form.format != ReportFormat::Json,
            "response_format",
            "response_format needs completion message and format json".to_owned(),
        );
        if let Some(fault) = form.schema.as_ref().and_then(Validators::fault_of) {
            let (pointer, why) = (fault.pointer, fault.rule);
            let text = format!("final_report.schema at {pointer:?}: {why}");
            rule(true, "final_report.schema", text);
        }
    }
    rule(
        terms.tool_transport == ToolTransport::XmlFinal
            && terms.completion != Completion::FinalReport,
        "tool_transport",
        "tool_transport xml-final needs completion final_report".to_owned(),
    );
    rule(
        terms.policy_decision.policy != terms.tool_policy,
        "tool_policy",
        "tool_policy is not what policy_decision says".to_owned(),
    );
    rule(
        !terms.tools.is_sorted_by(|a, b| a.name < b.name),
        "tools",
        "tools is not sorted by name, or names one twice".to_owned(),
    );
    faults.extend(unknown_prices(terms));
    faults.extend(unknown_names(terms));
    faults.extend(approval_faults(terms));
    faults.extend(flow_faults(terms));
    faults.extend(delegation_faults(terms));
    faults
}

/// Returns errors for missing targets and meaningless values of 0. Without a target a run makes the one call that it is given, and only
/// its ok result is a success.
fn zeros(terms: &Terms) -> Vec<TermFault> {
    let is_call = terms.tool_policy == ToolPolicy::Required
        && terms.tool_proof != ToolProof::Executed
        && terms.completion == Completion::Message;
    let none = || TermFault::at("targets", "targets names no model to ask".to_owned());
    let none = (!terms.asks_model() && !is_call).then(none);
    let zero = positive(terms).into_iter().filter(|(_, value)| *value == 0);
    let zero = zero.map(|(field, _)| TermFault::at(field, format!("{field} is 0")));
    none.into_iter().chain(zero).collect()
}

/// Values that do not go together: either may be the one to change.
fn rules_of_two(terms: &Terms) -> Vec<TermFault> {
    let required = terms.tool_policy == ToolPolicy::Required;
    let retries = terms.max_format_retries;
    let mut faults = Vec::new();
    let asks = terms.asks_model();
    if required && asks && terms.max_turns == 1 {
        let text = "tool_policy required needs max_turns of at least 2, got 1".to_owned();
        faults.push(TermFault::at("tool_policy", text).and(&["max_turns"]));
    }
    if required && asks && terms.max_inferences == 1 {
        let text = "tool_policy required needs max_inferences of at least 2, got 1".to_owned();
        faults.push(TermFault::at("tool_policy", text).and(&["max_inferences"]));
    }
    if terms.strict_mode && (2..=3).contains(&retries) {
        let text = format!("strict_mode allows max_format_retries of at most 1, got {retries}");
        faults.push(TermFault::at("strict_mode", text).and(&["max_format_retries"]));
    }
    faults
}

/// The targets of which it is unknown how many tokens they take in.
#[must_use]
pub fn unknown_windows(terms: &Terms) -> Vec<usize> {
    let targets = terms.targets.iter().enumerate();
    let unknown = targets.filter(|(_, target)| target.context_window == 0);
    unknown.map(|(n, _)| n).collect()
}

/// Terms that are allowed and hardly intended: no check fails for them.
#[must_use]
pub fn contract_warnings(terms: &Terms) -> Vec<String> {
    let (turns, invalid) = (terms.max_turns, terms.max_invalid_turns);
    let required = terms.tool_policy == ToolPolicy::Required;
    let never = required && terms.asks_model() && turns <= invalid;
    let warning = format!(
        "max_turns {turns} is not above max_invalid_turns {invalid}: under tool_policy required invalid calls then end the run by its \
         turns, never as FAILED_VALIDATION(arguments)"
    );
    let mut warnings: Vec<String> = never.then_some(warning).into_iter().collect();
    warnings.extend(refused_parameters(terms));
    warnings.extend(retiring_models(terms));
    warnings.extend(tool_warnings(terms));
    warnings.extend(flow_warnings(terms));
    warnings.extend(delegation_warnings(terms));
    warnings.extend(early_start_warning(terms));
    warnings
}

/// Warns about terms of tools that are hardly intended.
#[must_use]
pub fn tool_warnings(terms: &Terms) -> Vec<String> {
    let mut warnings = hidden_characters(&terms.tools);
    warnings.extend(approval_warnings(terms));
    warnings.extend(terms.servers.iter().flat_map(|(name, server)| {
        let missing = missing_tools(terms, name, server).into_iter();
        let place = server.kind.place(name);
        let missing = missing.map(|tool| {
            format!("{place}.tools_allowed names `{tool}`, which the server does not offer")
        });
        let missing: Vec<String> = missing.collect();
        let none = leaves_none(terms, name, server).filter(|_| missing.is_empty());
        missing.into_iter().chain(none)
    }));
    let without = terms.targets_without_tools().into_iter();
    let optional = without.filter(|_| terms.tool_policy != ToolPolicy::Required);
    warnings.extend(optional.filter_map(|target| without_tools(terms, target)));
    warnings
}

/// Reports that the filters of an available server leave none of its tools.
fn leaves_none(terms: &Terms, name: &str, server: &ServerTerms) -> Option<String> {
    let key = match &server.tools_allowed {
        Some(_) if server.tools_denied.is_empty() => "tools_allowed leaves",
        Some(_) => "tools_allowed and tools_denied leave",
        None if server.tools_denied.is_empty() => return None,
        None => "tools_denied leaves",
    };
    let prefix = server.kind.prefix(name);
    let is_taken = terms
        .tools
        .iter()
        .any(|tool| tool.name.starts_with(&prefix));
    let place = server.kind.place(name);
    (server.available && !is_taken).then(|| format!("{place}: {key} no tool of the server"))
}

/// Reports that the models of a target are offered no tool: a filter leaves none, or requests leave them out.
fn without_tools(terms: &Terms, target: usize) -> Option<String> {
    let name = &terms.targets.get(target)?.provider;
    let provider = terms.providers.get(name)?;
    let key = match provider.tools_allowed {
        Some(_) if provider.tools_denied.is_empty() => "tools_allowed",
        Some(_) => "tools_allowed and tools_denied",
        None if !provider.tools_denied.is_empty() => "tools_denied",
        None => {
            let text = format!("targets.{target} is offered no tool: its requests leave them out");
            return Some(text);
        }
    };
    Some(format!(
        "targets.{target} is offered no tool: that is what {key} of the provider `{name}` leaves of them"
    ))
}

/// Returns the tools that a contract wants from an available server and the server does not offer.
fn missing_tools<'t>(terms: &Terms, name: &str, server: &'t ServerTerms) -> Vec<&'t str> {
    let allowed = server.tools_allowed.iter().flatten();
    let allowed = allowed.filter(|tool| server.available && !is_wildcard(tool));
    let prefix = server.kind.prefix(name);
    let own_name = |tool: &ToolTerms| tool.name.strip_prefix(&prefix).map(str::to_ascii_lowercase);
    let offered: BTreeSet<String> = terms.tools.iter().filter_map(own_name).collect();
    let missing = allowed.filter(|tool| {
        // What is denied is not there, whether it is offered or not.
        server.takes_tool(tool) && !offered.contains(&tool.to_ascii_lowercase())
    });
    missing.map(String::as_str).collect()
}

/// Fields that mean nothing when they are 0.
fn positive(terms: &Terms) -> [(&'static str, u64); 13] {
    [
        ("approval_timeout_ms", terms.approval_timeout_ms),
        ("checkpoint_every", terms.checkpoint_every),
        ("llm_timeout_ms", terms.llm_timeout_ms),
        ("max_attempts_per_turn", terms.max_attempts_per_turn.into()),
        ("max_inferences", terms.max_inferences),
        ("max_invalid_turns", terms.max_invalid_turns.into()),
        ("max_tokens_consumed", terms.max_tokens_consumed.0),
        ("max_tool_calls_per_turn", terms.max_tool_calls_per_turn),
        ("max_turns", terms.max_turns.into()),
        ("step_timeout_ms", terms.step_timeout_ms),
        (
            "tool_output_budget.max_bytes_per_call",
            terms.tool_output_budget.max_bytes_per_call,
        ),
        ("tool_timeout_ms", terms.tool_timeout_ms),
        ("total_timeout_ms", terms.total_timeout_ms),
    ]
}

/// Rules about tools that name no tool. Not judged while a server is missing: its tools are unknown then.
fn unknown_names(terms: &Terms) -> Vec<TermFault> {
    if terms.servers.values().any(|server| !server.available) {
        return Vec::new();
    }
    let pairs = terms.cycle_forbid.iter().flat_map(|(from, to)| [from, to]);
    let exceptions = &terms.metadata.cycle_exceptions;
    let excepted = exceptions.iter().flat_map(|e| [&e.from, &e.to]);
    let named = [
        ("cycle_forbid", pairs.collect::<BTreeSet<_>>()),
        ("idempotent", terms.idempotent.iter().collect()),
        (
            "max_calls.per_tool",
            terms.max_calls.per_tool.keys().collect(),
        ),
        ("metadata.cycle_exceptions", excepted.collect()),
        ("parallel_safe", terms.parallel_safe.iter().collect()),
        ("require_approval", terms.require_approval.iter().collect()),
    ];
    let mut faults = Vec::new();
    for (field, names) in named {
        for name in names.into_iter().filter(|name| terms.tool(name).is_none()) {
            let text = format!("{field} names {}", not_offered(terms, name));
            faults.push(TermFault::at(field, text));
        }
    }
    // One person is asked one thing at a time.
    for name in &terms.parallel_safe {
        let server = terms.tool(name).and_then(|tool| terms.server_of(tool));
        if server.is_some_and(|(_, server)| server.elicitation == Elicitation::Ask) {
            let text = format!("parallel_safe names `{name}`, whose server may ask a person");
            faults.push(TermFault::at("parallel_safe", text));
        }
        if server.is_some_and(|(_, server)| server.sampling.is_some()) {
            let text = format!("parallel_safe names `{name}`, whose server may have a model asked");
            faults.push(TermFault::at("parallel_safe", text));
        }
    }
    for e in exceptions {
        if !terms
            .cycle_forbid
            .iter()
            .any(|(from, to)| *from == e.from && *to == e.to)
        {
            let pair = format!("{} → {}", e.from, e.to);
            let text = format!(
                "metadata.cycle_exceptions names {pair}, which cycle_forbid does not forbid"
            );
            faults.push(TermFault::at("metadata.cycle_exceptions", text));
        }
    }
    faults
}

/// Returns the pinned tools that cannot be used: FAILED_PREFLIGHT(tool_unavailable | tool_changed), missing before changed.
///
/// Compiles no schema again that `validators` know already: those of the same terms know everything.
#[must_use]
pub fn tool_faults_with(terms: &Terms, validators: &Validators) -> Vec<(ToolFault, TermFault)> {
    let mut faults = Vec::new();
    for (name, server) in &terms.servers {
        if !server.available {
            let text = format!("the tool server `{name}` is not available");
            let fault = TermFault::at(server.kind.place(name), text);
            faults.push((ToolFault::Unavailable, fault));
        } else if let Some(expected) = server.expected_pin
            && server.pin != Some(expected)
        {
            let found = server
                .pin
                .map_or_else(|| "none".to_owned(), |pin| pin.to_string());
            let text = format!("the tool server `{name}` has the pin {found}, expected {expected}");
            let fault = TermFault::at(format!("{}.pin", server.kind.place(name)), text);
            faults.push((ToolFault::Changed, fault));
        }
    }
    for name in terms.allowed_tools.iter().flatten() {
        if terms.tool(name).is_none() {
            let text = format!("allowed_tools names {}", not_offered(terms, name));
            let fault = TermFault {
                tool: Some(name.clone()),
                ..TermFault::at("allowed_tools", text)
            };
            faults.push((ToolFault::Unavailable, fault));
        }
    }
    let none = terms.exposed_tools().next().is_none();
    if faults.is_empty() && none && terms.tool_policy == ToolPolicy::Required {
        let text = "tool_policy required, but no server offers a tool".to_owned();
        let fault = TermFault::at("tool_policy", text);
        faults.push((ToolFault::Unavailable, fault));
    }
    if faults.is_empty() && terms.tool_policy == ToolPolicy::Required {
        let without = terms.targets_without_tools().into_iter();
        faults.extend(without.filter_map(|target| {
            let text = format!(
                "{}, but tool_policy is required",
                without_tools(terms, target)?
            );
            let fault = TermFault::at(format!("targets.{target}"), text);
            Some((ToolFault::Unavailable, fault))
        }));
    }
    let inexact = |value: &Value| {
        let rule = "an integer of 2^53 or more has no exact canonical form".to_owned();
        inexact_integer_at(value).map(|pointer| SchemaFault { pointer, rule })
    };
    let exposed: BTreeSet<&str> = terms.exposed_tools().map(|t| t.name.as_str()).collect();
    for tool in &terms.tools {
        // Two definitions that differ in such an integer have one pin, so none is accepted, exposed or not.
        let annotations = inexact(&tool.annotations);
        let exposed = exposed.contains(tool.name.as_str());
        let schema = inexact(&tool.input_schema)
            .or_else(|| exposed.then(|| validators.fault(tool)).flatten());
        for (what, fault) in [("annotations", annotations), ("input schema", schema)] {
            if let Some(SchemaFault { pointer, rule }) = fault {
                let text = format!("the {what} of `{}` at {pointer:?}: {rule}", tool.name);
                faults.push((ToolFault::Unavailable, TermFault::elsewhere(text)));
            }
        }
    }
    faults.sort_by_key(|(fault, _)| *fault);
    faults
}

/// Checks that the reserves leave room for a loop: otherwise FAILED_PREFLIGHT(context_infeasible).
///
/// # Errors
/// The sum that does not fit.
pub fn context_feasible(terms: &Terms) -> Result<(), TermFault> {
    let budget = &terms.context_budget;
    let (system, synthesis) = (budget.reserved_system, budget.reserved_synthesis);
    let margin = budget.minimum_loop_margin;
    let attempted = terms.targets.iter().filter(|target| !target.summarizer);
    let widest = attempted.map(|target| target.context_window).max();
    let window = widest.unwrap_or(0).min(budget.context_window);
    let needed = system.saturating_add(synthesis).saturating_add(margin);
    if needed <= window || !terms.asks_model() {
        return Ok(());
    }
    // The author does not write the reserve for the last answer: it follows from another key, which is the one to change.
    let text = format!(
        "reserved_system {system} + reserved_synthesis {synthesis} + minimum_loop_margin {margin} \
         = {needed} tokens, but the largest context window has {window}; raise context_window, or lower \
         sampling.max_output_tokens, which reserved_synthesis follows where it is not written"
    );
    Err(TermFault::at("context_budget", text).and(&["sampling.max_output_tokens"]))
}
