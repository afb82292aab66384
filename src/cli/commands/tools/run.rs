//! `monolith tools`: the tools that a contract offers, with servers, schemas and pins. Calls none of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use super::args::ToolsArgs;
use crate::commands::contract::{preview_of, report_gaps, report_warnings};
use crate::context::app::App;
use crate::context::reach::{of_agent, unconfined_notes};
use crate::ui::screen::{Screen, Style};
use monolith_core::contract::{
    ApprovalAction, DelegateTerms, ExecutionContract, SandboxTerms, ServerKind, ServerTerms,
    ToolTerms, tool_warnings,
};
use monolith_core::message::Digest;
use monolith_host::driver::{Preview, shown_words};
use monolith_service::contract_file::{ContractFile, look_for_agent_file};
use monolith_service::error::ServiceError;
use monolith_service::error::contract::ContractFault;
use monolith_service::exit::Exit;
use monolith_service::text::escape::{brief, flowing, line};
use monolith_service::text::numbers::counted;
use monolith_service::workflow::options::as_written;

/// Characters of a description that one line shows.
const DESCRIPTION_CHARS: usize = 100;
/// Characters of a type, or of one value of an argument.
const KIND_CHARS: usize = 40;
/// Characters of all values of an argument.
const VALUES_CHARS: usize = 72;
/// Hexadecimal digits of a pin that one line shows.
const PIN_DIGITS: usize = 12;

#[derive(Serialize)]
struct Listing<'c> {
    /// Servers that did not come up and tools that are left out, and why, by server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    faults: Vec<ListedFault<'c>>,
    servers: BTreeMap<&'c str, ListedServer<'c>>,
    tools: Vec<ListedTool<'c>>,
    /// What a reader of the definitions should know.
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct ListedFault<'c> {
    detail: &'c str,
    server: &'c str,
}

#[derive(Serialize)]
struct ListedServer<'c> {
    kind: ServerKind,
    available: bool,
    pin: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'c str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<&'c SandboxTerms>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'c str>,
}

#[derive(Serialize)]
struct ListedTool<'c> {
    name: &'c str,
    origin: &'c str,
    /// Whether the model is offered it.
    exposed: bool,
    /// The providers whose models are not offered it; absent where there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kept_from: Vec<&'c str>,
    /// What is done with its calls before they start, the first that fits first; absent where they start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    approval: Vec<ListedRule>,
    pin: Digest,
    schema_tokens: u64,
    /// Its terms, where it is an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'c DelegateTerms>,
    description: &'c str,
    input_schema: &'c Value,
    annotations: &'c Value,
}

/// A rule about the calls of a tool.
#[derive(Serialize)]
struct ListedRule {
    /// Where the contract says so.
    rule: String,
    action: ApprovalAction,
    /// Whether it is about some arguments only.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    some: bool,
}

fn rules(contract: &ExecutionContract, tool: &ToolTerms) -> Vec<ListedRule> {
    let rules = contract.rules_of(&tool.name).into_iter();
    let rules = rules.map(|(rule, action, some)| ListedRule {
        rule: rule.to_string(),
        action,
        some,
    });
    rules.collect()
}

/// The same in words: `calls: allow by approval.0 for some arguments, then ask by approval.1`.
fn ruled(contract: &ExecutionContract, tool: &ToolTerms) -> Option<String> {
    let rules = rules(contract, tool).into_iter();
    let words = rules.map(|ListedRule { rule, action, some }| {
        let some = if some { " for some arguments" } else { "" };
        format!("{} by {rule}{some}", action.name())
    });
    let words = words.collect::<Vec<_>>().join(", then ");
    (!words.is_empty()).then(|| format!("calls: {words}"))
}

/// `monolith tools`.
pub(crate) fn tools(app: &App, args: &ToolsArgs) -> Result<Exit, ServiceError> {
    let (file, sets) = (args.file.clone(), args.sets.clone());
    if file.is_none() {
        look_for_agent_file(app, None, "tools FILE")?;
    }
    let file = ContractFile::given_or_found(app, file, sets);
    let spec = if args.file.is_some() && file.is_workflow() {
        let name = file.name().display().to_string();
        as_written(&name, args.sets.iter().map(|set| format!("--set {set}")))?;
        // Each agent that a step delegates to has tools of its own.
        let workflow = file.read_workflow(app)?;
        app.judge_workflow(&file, &workflow)?;
        let contract = workflow.contract;
        let path = file.name().to_owned();
        contract.ok_or(ContractFault::Workflow { path })?
    } else {
        app.read_contract(&file)?
    };
    let preview = preview_of(app, &file, spec, true)?;
    let contract = &preview.contract;
    if args.json {
        app.screen.out_json(&listing(&preview))?;
    } else {
        app.screen.out(&shown(app.screen, contract, args.schemas))?;
        report_warnings(app, &tool_warnings(contract));
        report_gaps(app, &preview);
    }
    let notes = unconfined_notes(&preview.confinement, contract, false);
    app.screen.write_err(&notes);
    let all_up = contract.servers.values().all(|server| server.available);
    Ok(if all_up { Exit::OK } else { Exit::SETUP })
}

fn is_exposed(contract: &ExecutionContract, tool: &ToolTerms) -> bool {
    contract
        .exposed_tools()
        .any(|other| other.name == tool.name)
}

/// The providers whose models are not offered that tool.
fn kept_from<'c>(contract: &'c ExecutionContract, tool: &ToolTerms) -> Vec<&'c str> {
    let targets = contract.targets.iter().enumerate();
    let kept = targets.filter(|(index, _)| !contract.offers_to(*index, tool));
    let names: BTreeSet<&str> = kept.map(|(_, target)| target.provider.as_str()).collect();
    names.into_iter().collect()
}

fn listing(preview: &Preview) -> Listing<'_> {
    let contract = &preview.contract;
    let faults = preview.faults.iter().map(|fault| ListedFault {
        detail: &fault.detail,
        server: &fault.server,
    });
    let servers = contract.servers.iter().map(|(name, server)| {
        let listed = ListedServer {
            kind: server.kind,
            available: server.available,
            pin: server.pin,
            command: server.command.as_deref(),
            sandbox: server.sandbox.as_ref(),
            url: server.url.as_deref(),
        };
        (name.as_str(), listed)
    });
    let tools = contract.tools.iter().map(|tool| ListedTool {
        name: &tool.name,
        origin: &tool.origin,
        exposed: is_exposed(contract, tool),
        kept_from: kept_from(contract, tool),
        approval: rules(contract, tool),
        pin: tool.pin,
        schema_tokens: tool.schema_tokens,
        agent: contract.agents.get(&tool.name),
        description: &tool.description,
        input_schema: &tool.input_schema,
        annotations: &tool.annotations,
    });
    Listing {
        faults: faults.collect(),
        servers: servers.collect(),
        tools: tools.collect(),
        warnings: tool_warnings(contract),
    }
}

/// A server a paragraph, a tool a line, an argument a line below it.
fn shown(screen: Screen, contract: &ExecutionContract, schemas: bool) -> String {
    let mut out = String::new();
    for (name, server) in &contract.servers {
        let pin = server.pin.map_or_else(
            || screen.paint_out(Style::Bad, "did not come up"),
            |pin| format!("pin {}", pin.short(PIN_DIGITS)),
        );
        let heading = screen.paint_out(Style::Bold, &line(name));
        let _ = writeln!(out, "{heading}  {}  {pin}", line(&reached_by(server)));
        if let Some(sandbox) = &server.sandbox {
            let _ = writeln!(out, "  {}", line(&sandbox.to_string()));
        }
        let origin = server.kind.origin(name);
        let own = contract.tools.iter().filter(|tool| tool.origin == origin);
        for tool in own {
            let kept_from = kept_from(contract, tool);
            let offered = if !is_exposed(contract, tool) {
                " (not in allowed_tools)".to_owned()
            } else if kept_from.is_empty() {
                String::new()
            } else {
                format!(
                    " (not offered to models of {})",
                    line(&kept_from.join(", "))
                )
            };
            let _ = writeln!(
                out,
                "  {}{offered}  {}  {}",
                screen.paint_out(Style::Good, &line(&tool.name)),
                flowing(&tool.description, DESCRIPTION_CHARS),
                screen.paint_out(
                    Style::Dim,
                    &format!(
                        "pin {}, {}",
                        tool.pin.short(PIN_DIGITS),
                        counted(tool.schema_tokens, "token")
                    )
                ),
            );
            if let Some(agent) = contract.agents.get(&tool.name) {
                let _ = writeln!(out, "    {}", line(&of_agent(agent)));
            }
            if let Some(ruled) = ruled(contract, tool) {
                let _ = writeln!(out, "    {ruled}");
            }
            if schemas {
                let _ = writeln!(out, "    {}", line(&tool.input_schema.to_string()));
            } else {
                parameters(&mut out, &tool.input_schema);
            }
        }
    }
    if contract.servers.is_empty() {
        out.push_str("this contract has no tools\n");
    }
    out
}

fn reached_by(server: &ServerTerms) -> String {
    match (&server.command, &server.url) {
        (None, Some(url)) if let Some(rest) = &server.rest => {
            format!("{} {url}", rest.method.as_str())
        }
        _ if let Some(openapi) = &server.openapi => match &openapi.base_url {
            Some(url) => format!("{} at {url}", openapi.spec),
            None => openapi.spec.clone(),
        },
        (Some(command), _) => {
            shown_words(&[&[command.clone()][..], &server.args].concat()).join(" ")
        }
        (None, Some(url)) => url.clone(),
        (None, None) if server.kind == ServerKind::Agents => "runs of their own".to_owned(),
        (None, None) => "inside monolith".to_owned(),
    }
}

/// The arguments at the top of a schema, by name and type.
fn parameters(out: &mut String, schema: &Value) {
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let mark = if is_required(name) { "" } else { "?" };
        let says = property["description"].as_str().unwrap_or_default();
        let text = format!(
            "    {}{mark}: {}  {}",
            line(name),
            kind_of(property),
            flowing(says, DESCRIPTION_CHARS)
        );
        let _ = writeln!(out, "{}", text.trim_end());
    }
}

/// The values that an argument may have, as far as they fit; else its type. It is escaped.
fn kind_of(property: &Value) -> String {
    if let Some(only) = property.get("const") {
        return short(only);
    }
    if let Some(values) = property["enum"].as_array().filter(|all| !all.is_empty()) {
        let mut kind = String::new();
        for (at, value) in values.iter().enumerate() {
            let value = short(value);
            if at > 0 && kind.chars().count() + value.chars().count() > VALUES_CHARS {
                kind.push_str(" | …");
                break;
            }
            let bar = if at > 0 { " | " } else { "" };
            kind.push_str(bar);
            kind.push_str(&value);
        }
        return kind;
    }
    match &property["type"] {
        Value::String(kind) => brief(kind, KIND_CHARS),
        Value::Null => "any".to_owned(),
        other => brief(&other.to_string(), KIND_CHARS),
    }
}

/// A value as JSON, cut where it is long.
fn short(value: &Value) -> String {
    brief(&value.to_string(), KIND_CHARS)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_argument_is_shown_with_the_values_that_it_may_have() {
        let check = |property: Value, expect: &str| {
            let mut out = String::new();
            let schema = json!({"properties": {"at": property}, "required": ["at"]});
            parameters(&mut out, &schema);
            assert_eq!(out, format!("    at: {expect}\n"));
        };
        check(
            json!({"type": "string", "description": "Where\nit is"}),
            "string  Where it is",
        );
        check(json!({}), "any");
        check(json!({"type": ["string", "null"]}), "[\"string\",\"null\"]");
        let cities = json!({"type": "string", "enum": ["New York", "Chicago", "Los Angeles"]});
        check(cities, "\"New York\" | \"Chicago\" | \"Los Angeles\"");
        check(
            json!({"enum": [1, null], "description": "How"}),
            "1 | null  How",
        );
        check(json!({"const": "a\u{1b}\nb"}), "\"a\\u001b\\nb\"");
        let many: Vec<usize> = (10..99).collect();
        let shown = (10..25).map(|n| n.to_string()).collect::<Vec<_>>();
        check(json!({"enum": many}), &format!("{} | …", shown.join(" | ")));
        let long = "x".repeat(99);
        check(
            json!({"enum": [long, 1]}),
            &format!("\"{}… | 1", "x".repeat(39)),
        );
    }
}
