//! `monolith tools`: the tools that a contract offers, with servers, schemas and pins. Calls none of them.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use super::contract::{report_gaps, report_warnings};
use crate::context::app::App;
use crate::context::reach::{of_agent, unconfined_notes};
use crate::context::runtime::runtime;
use crate::context::trust::trusting;
use crate::ui::screen::{Screen, Style};
use monolith_core::contract::{
    ExecutionContract, ServerKind, ServerTerms, ToolTerms, tool_warnings,
};
use monolith_host::driver::shown_words;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::text::escape::{brief, flowing, line};
use monolith_service::text::numbers::counted;
use monolith_service::tools::{
    self, ToolRule, ToolsDocument, ToolsRequest, is_exposed, kept_from, rules,
};

/// Characters of a description that one line shows.
const DESCRIPTION_CHARS: usize = 100;
/// Characters of a type, or of one value of an argument.
const KIND_CHARS: usize = 40;
/// Characters of all values of an argument.
const VALUES_CHARS: usize = 72;
/// Hexadecimal digits of a pin that one line shows.
const PIN_DIGITS: usize = 12;

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    /// The contract file (default: agent.yaml)
    ///
    /// YAML or JSON. Default: agent.yaml, else agent.yml, in the current folder. monolith starts its tool servers.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Change a value, such as max_turns=3
    ///
    /// KEY is the dotted key of a value in the file. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Print the full schema of the arguments
    #[arg(long)]
    pub(crate) schemas: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// `monolith tools`.
pub(crate) fn tools(app: &App, args: ToolsArgs) -> Result<Exit, ServiceError> {
    let request = ToolsRequest {
        file: args.file,
        sets: args.sets,
    };
    let runtime = runtime()?;
    let look = || runtime.block_on(tools::tools(app, &request));
    let preview = trusting(app, look)?;
    let contract = &preview.contract;
    if args.json {
        app.screen.out_json(&ToolsDocument::of(&preview))?;
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

/// The same in words: `calls: allow by approval.0 for some arguments, then ask by approval.1`.
fn ruled(contract: &ExecutionContract, tool: &ToolTerms) -> Option<String> {
    let rules = rules(contract, tool).into_iter();
    let words = rules.map(|ToolRule { rule, action, some }| {
        let some = if some { " for some arguments" } else { "" };
        format!("{} by {rule}{some}", action.name())
    });
    let words = words.collect::<Vec<_>>().join(", then ");
    (!words.is_empty()).then(|| format!("calls: {words}"))
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
        (None, None) if server.kind == ServerKind::Agents => "child runs".to_owned(),
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
