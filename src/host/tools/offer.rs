//! The tools that one server offers, checked. Does not know the contract's policy.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use monolith_core::contract::{
    NAME_RULE, ToolCapability, ToolPin, inexact_integer_at, is_tool_name,
};
use monolith_core::message::{
    ToolOutcome, char_prefix, escaped_line, estimate_tokens, invisible_code_points,
};

/// Longest exposed name of an operation; what the strictest provider accepts.
pub(super) const NAME_BYTES: usize = 64;
/// Largest definition of one tool, as JSON text.
const DEFINITION_BYTES: usize = 256 * 1024;
/// Names that begin so are monolith's own.
const INTERNAL_PREFIX: &str = "agent__";

/// The origin that pins carry for built-in tools.
pub(super) const BUILTIN: &str = "builtin";

/// The tools that a server offers: the usable ones, and why the others cannot be used.
#[derive(Debug, Default)]
pub(super) struct Offer {
    /// The schemas of structured results, by tool.
    pub(super) outputs: BTreeMap<String, Arc<Value>>,
    /// Usable tools, in the server's order.
    pub(super) tools: Vec<ToolCapability>,
    /// One sentence for each tool that is left out, and for tools that cannot be listed.
    pub(super) unusable: Vec<String>,
}

/// A tool as its server describes it, not judged yet.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) annotations: Value,
    pub(super) description: String,
    pub(super) input_schema: Value,
    pub(super) name: String,
}

impl Described {
    /// The schema of arguments that are those properties and no others.
    pub(super) fn only(properties: &Value, required: &Value) -> Value {
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }
}

impl Offer {
    /// Judges a tool of the server whose exposed names begin with `prefix`, and takes it or notes why not.
    pub(super) fn add(&mut self, prefix: &str, tool: Described) {
        if let Err(reason) = self.check(prefix, &tool) {
            self.leave_out(&tool.name, &reason);
            return;
        }
        let definition = definition(&tool);
        self.tools.push(ToolCapability {
            schema_tokens: estimate_tokens(&definition),
            annotations: tool.annotations,
            description: tool.description,
            input_schema: tool.input_schema,
            name: tool.name,
        });
    }

    /// Notes that a tool cannot be used.
    pub(super) fn leave_out(&mut self, name: &str, reason: &str) {
        self.note(&format!("tool {} left out: {reason}", quoted(name)));
    }

    /// Notes that the schema of a tool's structured results cannot be used.
    pub(super) fn leave_unchecked(&mut self, name: &str, reason: &str) {
        let name = quoted(name);
        self.note(&format!(
            "results of tool {name} are not checked: its outputSchema cannot be used: {reason}"
        ));
    }

    /// Notes that tools cannot be used, in a sentence.
    pub(super) fn note(&mut self, sentence: &str) {
        self.unusable.push(sentence.to_owned());
    }

    fn check(&self, prefix: &str, tool: &Described) -> Result<(), String> {
        let exposed = format!("{prefix}{}", tool.name);
        if !is_tool_name(&exposed) {
            let hidden = invisible_code_points(&tool.name, |_| false);
            let hidden = hidden.map_or_else(String::new, |points| format!("; it holds {points}"));
            return Err(format!("its exposed name: {NAME_RULE}{hidden}"));
        }
        if tool.name.is_empty() {
            return Err("it has no name".to_owned());
        }
        if exposed.starts_with(INTERNAL_PREFIX) {
            return Err(format!(
                "names that begin with {INTERNAL_PREFIX} are monolith's own"
            ));
        }
        if self.tools.iter().any(|other| other.name == tool.name) {
            return Err("the server offers that name twice".to_owned());
        }
        if !tool.input_schema.is_object() {
            return Err("its inputSchema is not a JSON object".to_owned());
        }
        if !(tool.annotations.is_object() || tool.annotations.is_null()) {
            return Err("its annotations are not an object".to_owned());
        }
        for (what, value) in [
            ("inputSchema", &tool.input_schema),
            ("annotations", &tool.annotations),
        ] {
            if let Some(pointer) = inexact_integer_at(value) {
                return Err(format!(
                    "its {what} at {pointer:?}: an integer of 2^53 or more has no exact canonical form"
                ));
            }
        }
        let size = definition(tool).len();
        if size > DEFINITION_BYTES {
            return Err(format!(
                "its definition has {size} bytes, more than {DEFINITION_BYTES}"
            ));
        }
        Ok(())
    }
}

/// The name of a tool, as a server sends it, in a note.
fn quoted(name: &str) -> String {
    escaped_line(&format!("{:?}", char_prefix(name, 200)))
}

/// Pins of `tools` by the tools' own names.
pub(super) fn pins(origin: &str, tools: &[ToolCapability]) -> BTreeMap<String, ToolPin> {
    tools
        .iter()
        .map(|tool| (tool.name.clone(), ToolPin::of(origin, tool)))
        .collect()
}

/// The end of a call of a tool that is not the expected one; who knows the expected one says what differs.
pub(super) const fn changed() -> ToolOutcome {
    ToolOutcome::ToolChanged {
        detail: String::new(),
    }
}

fn definition(tool: &Described) -> String {
    json!({
        "description": tool.description,
        "name": tool.name,
        "parameters": tool.input_schema,
    })
    .to_string()
}
