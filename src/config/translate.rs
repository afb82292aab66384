//! From the keys of a layer (001 §6) to those of a contract file.

use std::cell::Cell;

use serde_json::{Map, Value, json};

use super::env_file::is_name;
use super::layers::Layers;
use super::merged::Merged;
use crate::contract::{Definition, VariableScope, Wanted};

/// What is wrong with a definition: where, and whose.
pub(super) struct Fault {
    pub(super) key: String,
    pub(super) layer: usize,
    pub(super) rule: String,
}

/// Names of parameters in a layer that are written otherwise in a contract file.
const PARAMETERS: [(&str, &str); 5] = [
    ("maxOutputTokens", "max_output_tokens"),
    ("reasoningTokens", "reasoning_tokens"),
    ("repeatPenalty", "repeat_penalty"),
    ("topP", "top_p"),
    ("contextWindow", "context_window"),
];

/// Other keys of a definition that may be written in two ways.
const KEYS: [(&str, &str); 2] = [("apiKey", "api_key_env"), ("baseUrl", "base_url")];

/// What `defaults` may say, and where it stands in a contract file.
const DEFAULTS: [(&str, &str); 17] = [
    ("caching", "sampling.caching"),
    ("contextWindowBufferTokens", "context_budget.buffer"),
    ("llmTimeout", "llm_timeout_ms"),
    ("maxOutputTokens", "sampling.max_output_tokens"),
    ("maxRetries", "max_attempts_per_turn"),
    ("maxToolCallsPerTurn", "max_tool_calls_per_turn"),
    ("maxToolTurns", "max_turns"),
    ("maxTurns", "max_turns"),
    ("parallelToolCalls", "parallel_tool_calls"),
    ("reasoning", "sampling.reasoning"),
    ("reasoningTokens", "sampling.reasoning_tokens"),
    ("repeatPenalty", "sampling.repeat_penalty"),
    ("stream", "sampling.stream"),
    ("temperature", "sampling.temperature"),
    (
        "toolResponseMaxBytes",
        "tool_output_budget.max_bytes_per_call",
    ),
    ("toolTimeout", "tool_timeout_ms"),
    ("topP", "sampling.top_p"),
];
/// What `defaults` may say and nobody reads here: how other programs write their logs, and what they show where.
const OF_OTHERS: [&str; 7] = [
    "formats",
    "traceLLM",
    "traceMCP",
    "traceSdk",
    "traceSlack",
    "traceTools",
    "verbose",
];

/// The one name of a key of a definition.
pub(super) fn term(key: &str) -> &str {
    let mut known = PARAMETERS.iter().chain(&KEYS);
    known
        .find(|(written, _)| *written == key)
        .map_or(key, |(_, name)| name)
}

/// The one name of a key of `defaults`.
pub(super) fn default_term(key: &str) -> &str {
    let mut known = DEFAULTS.iter();
    known
        .find(|(written, _)| *written == key)
        .map_or(key, |(_, path)| path)
}

/// The defaults in the form of a contract file.
pub(super) fn defaults(layers: &Layers, merged: &Merged) -> Result<Definition, Fault> {
    let mut making = Making {
        definition: Definition::default(),
        layers,
        made: Map::new(),
        expansions: Cell::new(0),
    };
    for (key, value) in merged.members() {
        if OF_OTHERS.contains(&key.as_str()) {
            continue;
        }
        let refuse = |rule: &str| Fault {
            key: key.clone(),
            layer: value.layer(),
            rule: rule.to_owned(),
        };
        let known = DEFAULTS.iter().find(|(name, _)| name == key);
        let Some((_, path)) = known else {
            return Err(match key.as_str() {
                "format" | "outputFormat" => {
                    refuse("the form of a report is said by final_report.format of the contract")
                }
                _ => refuse("a contract has no place for it"),
            });
        };
        let expanded = making.expanded_as(path, key, value)?;
        if expanded.is_object() || expanded.is_array() {
            return Err(refuse("it is no single value"));
        }
        let (section, name) = path.split_once('.').unwrap_or(("", path));
        let place = match section {
            "" => &mut making.made,
            section => {
                let section = making.made.entry(section).or_insert_with(|| json!({}));
                let Some(section) = section.as_object_mut() else {
                    continue;
                };
                section
            }
        };
        if place.insert(name.to_owned(), expanded).is_some() {
            return Err(refuse("maxTurns and maxToolTurns are one and the same"));
        }
        making.from(path, value.layer());
    }
    let text = Value::Object(making.made).to_string();
    Ok(Definition {
        text,
        ..making.definition
    })
}

/// A definition in the form of a contract file.
pub(super) fn definition(
    layers: &Layers,
    wanted: Wanted,
    merged: &Merged,
) -> Result<Definition, Fault> {
    if let Merged::Leaf { layer, .. } = merged {
        return Err(Fault {
            key: String::new(),
            layer: *layer,
            rule: "it is no JSON object".to_owned(),
        });
    }
    let mut making = Making {
        definition: Definition::default(),
        layers,
        made: Map::new(),
        expansions: Cell::new(0),
    };
    match wanted {
        Wanted::Provider => making.provider(merged)?,
        Wanted::Server => making.server(merged)?,
        Wanted::Queue => making.queue(merged)?,
    }
    let text = Value::Object(making.made).to_string();
    Ok(Definition {
        text,
        ..making.definition
    })
}

struct Making<'l> {
    definition: Definition,
    layers: &'l Layers,
    made: Map<String, Value>,
    /// How many placeholders have been expanded.
    expansions: Cell<usize>,
}

impl Making<'_> {
    fn provider(&mut self, given: &Merged) -> Result<(), Fault> {
        let kind = given.member("type").and_then(Merged::text);
        let kind = kind.map_or("", |(_, kind)| kind);
        for (key, value) in given.members() {
            match key.as_str() {
                "type" | "file" | "reasoning" => self.put(key, key, value)?,
                "baseUrl" | "base_url" => self.put("base_url", key, value)?,
                "apiKey" => self.key(value)?,
                "api_key_env" => self.named("api_key_env", value),
                "headers" => self.later("headers", value),
                "overrides" => self.renamed("overrides", key, value)?,
                "models" => self.models(value)?,
                "custom" => {
                    for (below, value) in value.members() {
                        let at = format!("{key}.{below}");
                        if below != "providerOptions" {
                            return Err(refused(&at, value));
                        }
                        // Other programs keep them under the provider's type.
                        let own = value.member(kind).unwrap_or(value);
                        self.put("provider_options", &at, own)?;
                    }
                }
                _ => return Err(refused(key, value)),
            }
        }
        Ok(())
    }

    /// The key itself never stands in a contract, so it must be a variable here.
    fn key(&mut self, value: &Merged) -> Result<(), Fault> {
        let (layer, text) = match value {
            Merged::Leaf {
                value: Value::Null, ..
            } => return Ok(()),
            value => value.text().unwrap_or((value.layer(), "")),
        };
        let name = text
            .strip_prefix("${")
            .and_then(|rest| rest.strip_suffix('}'));
        let Some(name) = name.filter(|name| is_name(name)) else {
            return Err(Fault {
                key: "apiKey".to_owned(),
                layer,
                rule: "a key is written as ${NAME} and stands in the .ai-agent.env beside the file, or in the environment"
                    .to_owned(),
            });
        };
        let named = Merged::Leaf {
            layer,
            value: json!(name),
        };
        self.named("api_key_env", &named);
        Ok(())
    }

    /// The name of a variable, which is looked up when it is needed.
    fn named(&mut self, key: &str, value: &Merged) {
        self.made.insert(key.to_owned(), value.value());
        self.from(key, value.layer());
        self.scope(key, value.layer());
    }

    fn models(&mut self, given: &Merged) -> Result<(), Fault> {
        let mut models = Map::new();
        for (model, terms) in given.members() {
            let mut own = Map::new();
            for (key, value) in terms.members() {
                let at = format!("models.{model}.{key}");
                let name = match key.as_str() {
                    "overrides" | "reasoning" | "tokenizer" => key.as_str(),
                    "contextWindow" | "context_window" => "context_window",
                    _ => return Err(refused(&at, value)),
                };
                let expanded = self.expanded_as(&format!("models.{model}.{name}"), &at, value)?;
                let expanded = if name == "overrides" {
                    snake(expanded)
                } else {
                    expanded
                };
                own.insert(name.to_owned(), expanded);
                self.from(&format!("models.{model}.{name}"), value.layer());
            }
            models.insert(model.clone(), Value::Object(own));
        }
        self.made.insert("models".to_owned(), Value::Object(models));
        Ok(())
    }

    fn server(&mut self, given: &Merged) -> Result<(), Fault> {
        let kind = given.member("type").and_then(Merged::text);
        let by_url = given.member("url").is_some() && given.member("command").is_none();
        let over_http = match kind {
            None => by_url,
            Some((_, "stdio" | "local")) => false,
            Some((_, "http" | "remote")) => true,
            Some((layer, other)) => {
                return Err(Fault {
                    key: "type".to_owned(),
                    layer,
                    rule: format!("{other:?} is not built; stdio and http are"),
                });
            }
        };
        for (key, value) in given.members() {
            match key.as_str() {
                "enabled" => {
                    if value.value() == json!(false) {
                        return Err(Fault {
                            key: key.clone(),
                            layer: value.layer(),
                            rule: "the server is switched off".to_owned(),
                        });
                    }
                }
                "toolsAllowed" | "toolsDenied" => {
                    let everything = key == "toolsAllowed" && value.value() == json!(["*"]);
                    let nothing = value.value() == json!([]) && key == "toolsDenied";
                    if !(everything || nothing) {
                        return Err(Fault {
                            key: key.clone(),
                            layer: value.layer(),
                            rule:
                                "which tools may be called is said by allowed_tools of the contract"
                                    .to_owned(),
                        });
                    }
                }
                "command" if !over_http => self.command(given, value)?,
                "args" if !over_http => {
                    if !matches!(
                        given.member("command").map(Merged::value),
                        Some(Value::Array(_))
                    ) {
                        self.put(key, key, value)?;
                    }
                }
                "env" if !over_http => self.later("env", value),
                "url" if over_http => self.put(key, key, value)?,
                "headers" if over_http => self.later("headers", value),
                // Of the other kind of server, judged above, or of no meaning here.
                "command" | "args" | "env" | "url" | "headers" | "type" | "toolSchemas"
                | "shared" | "healthProbe" => {}
                "queue" | "pin" => self.put(key, key, value)?,
                _ => return Err(refused(key, value)),
            }
        }
        Ok(())
    }

    /// A command may be a list: the program, then its arguments.
    fn command(&mut self, given: &Merged, value: &Merged) -> Result<(), Fault> {
        let expanded = self.expanded_as("command", "command", value)?;
        let Value::Array(mut words) = expanded else {
            return self.put("command", "command", value);
        };
        if words.is_empty() {
            return Err(Fault {
                key: "command".to_owned(),
                layer: value.layer(),
                rule: "it is empty".to_owned(),
            });
        }
        let program = words.remove(0);
        if let Some(args) = given.member("args")
            && let Value::Array(more) = self.expanded_as("args", "args", args)?
        {
            words.extend(more);
        }
        if self.definition.expanded.contains("command") {
            self.definition.expanded.insert("args".to_owned());
        }
        self.made.insert("command".to_owned(), program);
        self.made.insert("args".to_owned(), Value::Array(words));
        self.from("command", value.layer());
        self.from("args", value.layer());
        Ok(())
    }

    fn queue(&mut self, given: &Merged) -> Result<(), Fault> {
        for (key, value) in given.members() {
            self.put(key, key, value)?;
        }
        Ok(())
    }

    /// Takes a value over, its placeholders expanded.
    fn put(&mut self, name: &str, key: &str, value: &Merged) -> Result<(), Fault> {
        let expanded = self.expanded_as(name, key, value)?;
        self.made.insert(name.to_owned(), expanded);
        self.from(name, value.layer());
        Ok(())
    }

    /// The same for parameters, whose names differ.
    fn renamed(&mut self, name: &str, key: &str, value: &Merged) -> Result<(), Fault> {
        let expanded = self.expanded_as(name, key, value)?;
        self.made.insert(name.to_owned(), snake(expanded));
        self.from(name, value.layer());
        Ok(())
    }

    /// Takes a mapping over as it is: its placeholders are expanded where it is used, with the variables of each value's layer.
    fn later(&mut self, name: &str, value: &Merged) {
        for (key, value) in value.members() {
            let at = format!("{name}.{key}");
            self.from(&at, value.layer());
            self.scope(&at, value.layer());
        }
        self.made.insert(name.to_owned(), value.value());
    }

    fn from(&mut self, path: &str, layer: usize) {
        let origin = self.layers.origin(layer);
        self.definition.origins.insert(path.to_owned(), origin);
    }

    fn scope(&mut self, path: &str, layer: usize) {
        let variables = self.layers.layer(layer);
        let scope = VariableScope {
            origin: self.layers.origin(layer),
            variables: variables
                .map(|layer| layer.variables.clone())
                .unwrap_or_default(),
        };
        self.definition.scopes.insert(path.to_owned(), scope);
    }

    /// A value with its placeholders expanded, and a note of the place where a variable's value then stands.
    fn expanded_as(&mut self, name: &str, key: &str, merged: &Merged) -> Result<Value, Fault> {
        let before = self.expansions.get();
        let expanded = self.expanded(key, merged)?;
        if self.expansions.get() > before {
            self.definition.expanded.insert(name.to_owned());
        }
        Ok(expanded)
    }

    fn expanded(&self, key: &str, merged: &Merged) -> Result<Value, Fault> {
        Ok(match merged {
            Merged::Map(members) => {
                let mut expanded = Map::new();
                for (name, member) in members {
                    let at = format!("{key}.{name}");
                    expanded.insert(name.clone(), self.expanded(&at, member)?);
                }
                Value::Object(expanded)
            }
            Merged::Leaf { layer, value } => self.expanded_value(key, *layer, value)?,
        })
    }

    fn expanded_value(&self, key: &str, layer: usize, value: &Value) -> Result<Value, Fault> {
        Ok(match value {
            Value::String(text) => Value::String(self.expanded_text(key, layer, text)?),
            Value::Array(items) => {
                let all = items.iter();
                let all = all.map(|item| self.expanded_value(key, layer, item));
                Value::Array(all.collect::<Result<_, _>>()?)
            }
            Value::Object(members) => {
                let all = members.iter();
                let all = all
                    .map(|(name, item)| Ok((name.clone(), self.expanded_value(key, layer, item)?)));
                Value::Object(all.collect::<Result<_, _>>()?)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        })
    }

    /// Replaces each `${NAME}`: by the variable beside the layer, else by that of the process. What is no name, such as
    /// `${parameters.x}`, stays.
    fn expanded_text(&self, key: &str, layer: usize, text: &str) -> Result<String, Fault> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            out.push_str(before);
            let named = after.split_once('}').filter(|(name, _)| is_name(name));
            let Some((name, tail)) = named else {
                out.push_str("${");
                rest = after;
                continue;
            };
            let beside = self.layers.layer(layer);
            let beside = beside.and_then(|layer| layer.variables.get(name).cloned());
            let value = beside.or_else(|| self.layers.environment.raw(name));
            let value = value.ok_or_else(|| Fault {
                key: key.to_owned(),
                layer,
                rule: format!("the variable {name} is set neither in the .ai-agent.env beside the file nor in the environment"),
            })?;
            self.expansions.set(self.expansions.get() + 1);
            out.push_str(&value);
            rest = tail;
        }
        out.push_str(rest);
        Ok(out)
    }
}

fn refused(key: &str, value: &Merged) -> Fault {
    Fault {
        key: key.to_owned(),
        layer: value.layer(),
        rule: "a contract has no place for it".to_owned(),
    }
}

/// Parameters by the names that a contract file has for them.
fn snake(value: Value) -> Value {
    let Value::Object(members) = value else {
        return value;
    };
    let renamed = members.into_iter().map(|(key, value)| {
        let known = PARAMETERS.iter().find(|(camel, _)| *camel == key);
        (known.map_or(key, |(_, name)| (*name).to_owned()), value)
    });
    Value::Object(renamed.collect())
}
