//! A provider, a tool server or a queue of the layers, in the form of a contract file.

use std::collections::BTreeSet;

use monolith_core::contract::{
    Definition, DefinitionKind, FromLayer, KNOBS, LayerKey, LayerMapping, ReportFormat,
    placeholders,
};
use serde_json::{Map, Value, json};

use super::builder::Builder;
use super::fault::{DefinitionFault, NO_PLACE};
use super::layer::{is_name, is_unused};
use super::merged::Merged;

/// A definition in the form of a contract file.
pub(super) fn definition(
    mut builder: Builder<'_>,
    wanted: DefinitionKind,
    merged: &Merged,
) -> Result<Definition, DefinitionFault> {
    if let Merged::Leaf { layer, .. } = merged {
        return Err(DefinitionFault {
            variable: None,
            key: String::new(),
            layer: *layer,
            rule: "it is no JSON object".to_owned(),
        });
    }
    match wanted {
        DefinitionKind::Provider => builder.provider(merged)?,
        DefinitionKind::Openapi => builder.each_declared(wanted, merged)?,
        DefinitionKind::RestTool => builder.rest_tool(merged)?,
        DefinitionKind::Server => builder.server(merged)?,
        DefinitionKind::Price => builder.price(merged)?,
        DefinitionKind::Queue => builder.queue(merged)?,
    }
    Ok(builder.finish())
}

impl Builder<'_> {
    fn server(&mut self, given: &Merged) -> Result<(), DefinitionFault> {
        let kind = match given.member("type") {
            Some(value) => {
                let (expanded, _) = self.expanded("type", value)?;
                let word = expanded.as_str().map(str::to_owned);
                word.map(|word| (value.layer(), word))
            }
            None => None,
        };
        let kind = kind.as_ref().map(|(layer, word)| (*layer, word.as_str()));
        let by_url = given.member("url").is_some() && given.member("command").is_none();
        let over_http = match kind {
            None => by_url,
            Some((_, "stdio" | "local")) => false,
            Some((_, "http" | "remote" | "sse" | "websocket")) => true,
            Some((layer, other)) => {
                let is_written =
                    given.member("type").and_then(Merged::text) == Some((layer, other));
                let shown = if is_written {
                    format!("{other:?}")
                } else {
                    "the value of a variable".to_owned()
                };
                let rule = format!("{shown} is none; there are stdio, http, sse and websocket");
                return Err(DefinitionFault::of("type", layer, &rule));
            }
        };
        for (key, value) in given.members() {
            match key.as_str() {
                "enabled" => {
                    let rule = match value.value() {
                        Value::Bool(true) | Value::Null => continue,
                        Value::Bool(false) => "the server is switched off",
                        _ => "expected true or false, without quotes",
                    };
                    return Err(DefinitionFault {
                        variable: None,
                        key: key.clone(),
                        layer: value.layer(),
                        rule: rule.to_owned(),
                    });
                }
                "healthProbe" | "health_probe" => self.probe(key, value)?,
                "command" if !over_http => self.command(given, value)?,
                "args" if !over_http => {
                    if !matches!(
                        given.member("command").map(Merged::value),
                        Some(Value::Array(_))
                    ) {
                        self.arguments(value.value(), value)?;
                    }
                }
                "env" if !over_http => self.later("env", value),
                "url" if over_http => self.put(key, key, value)?,
                "headers" if over_http => self.later("headers", value),
                "type" if matches!(kind, Some((_, "sse" | "websocket"))) => {
                    self.put(key, key, value)?;
                }
                // Of the other kind of server, judged above, or of no meaning here.
                "command" | "args" | "env" | "url" | "headers" | "type" | "toolSchemas" => {}
                "sandbox" | "roots" if over_http => return Err(refused(key, value)),
                other if is_unused("mcpServers.*", other) => {}
                _ => self.declared(DefinitionKind::Server, key, value)?,
            }
        }
        Ok(())
    }

    /// The probe, whose words are written otherwise in a contract file.
    fn probe(&mut self, key: &str, value: &Merged) -> Result<(), DefinitionFault> {
        let (mut expanded, origin) = self.expanded(key, value)?;
        if expanded == json!("listTools") {
            expanded = json!("list_tools");
        }
        self.insert("health_probe", expanded, origin);
        Ok(())
    }

    /// A command may be a list: the program, then its arguments.
    fn command(&mut self, given: &Merged, value: &Merged) -> Result<(), DefinitionFault> {
        let (expanded, origin) = self.expanded("command", value)?;
        let Value::Array(expanded) = expanded else {
            let located = self.beside_layer(value.layer(), expanded);
            self.insert("command", located, origin);
            return Ok(());
        };
        let Some((program, expanded)) = expanded.split_first() else {
            return Err(DefinitionFault {
                variable: None,
                key: "command".to_owned(),
                layer: value.layer(),
                rule: "it is empty".to_owned(),
            });
        };
        let program = self.beside_layer(value.layer(), program.clone());
        self.insert("command", program, origin);
        let args = given.member("args");
        let beside = args.is_none_or(|args| args.layer() == value.layer());
        let mut words = match value.value() {
            Value::Array(words) if beside => words.into_iter().skip(1).collect(),
            // The variables of two layers may differ.
            _ => expanded.to_vec(),
        };
        if let Some(Value::Array(more)) = args.map(Merged::value) {
            words.extend(more);
        }
        self.arguments(Value::Array(words), args.unwrap_or(value))
    }

    /// The arguments of a command as they are written. The variables in them are looked up where the server is started, so no value
    /// of one is in a contract; one that is set nowhere is refused here.
    fn arguments(&mut self, words: Value, value: &Merged) -> Result<(), DefinitionFault> {
        let (_, origin) = self.expanded("args", value)?;
        let words = match words {
            Value::Array(words) => {
                let words = words.into_iter();
                let located = words.map(|word| self.beside_layer(value.layer(), word));
                located.collect()
            }
            other => other,
        };
        let texts = words.as_array().into_iter().flatten();
        let texts: Vec<&str> = texts.filter_map(Value::as_str).collect();
        let named = texts.iter().flat_map(|text| placeholders(text));
        let variables: BTreeSet<&str> = named.filter(|name| is_name(name)).collect();
        if variables.is_empty() {
            self.insert("args", words, origin);
            return Ok(());
        }
        let variables = json!(variables);
        self.named("args", value.layer(), words);
        self.named("arg_variables", value.layer(), variables);
        Ok(())
    }

    fn rest_tool(&mut self, given: &Merged) -> Result<(), DefinitionFault> {
        for (key, value) in given.members() {
            match key.as_str() {
                "streaming" => self.streaming(key, value)?,
                other if is_unused("restTools.*", other) => {}
                _ => self.declared(DefinitionKind::RestTool, key, value)?,
            }
        }
        // Other programs need none; the name of the tool says the rest.
        if !self.members.contains_key("description") {
            let method = self.members.get("method").and_then(Value::as_str);
            let method = method.unwrap_or_default().to_ascii_uppercase();
            let text = format!("A {method} request to a web service.");
            self.members.insert("description".to_owned(), json!(text));
        }
        Ok(())
    }

    /// Every key of a definition that is taken as its declaration says.
    fn each_declared(
        &mut self,
        kind: DefinitionKind,
        given: &Merged,
    ) -> Result<(), DefinitionFault> {
        let mut members = given.members().iter();
        members.try_for_each(|(key, value)| self.declared(kind, key, value))
    }

    /// A key that is taken as its declaration says; one that layers do not have is refused.
    pub(super) fn declared(
        &mut self,
        kind: DefinitionKind,
        key: &str,
        value: &Merged,
    ) -> Result<(), DefinitionFault> {
        let found = LayerMapping::Definition(kind).key(key);
        let LayerKey { name, taken } = found.ok_or_else(|| refused(key, value))?;
        match taken {
            FromLayer::AsIs => self.put(name, key, value),
            FromLayer::Later => {
                self.later(name, value);
                Ok(())
            }
            FromLayer::Located => self.located(name, key, value),
            FromLayer::Names => self.names(name, key, value),
            FromLayer::Parameters => self.renamed(name, key, value),
            FromLayer::Variable => {
                self.named(name, value.layer(), value.value());
                Ok(())
            }
        }
    }

    /// Parses the way to read a stream. There is one mode, which a contract does not name.
    fn streaming(&mut self, key: &str, given: &Merged) -> Result<(), DefinitionFault> {
        let mut streaming = Map::new();
        for (below, value) in given.members() {
            let at = format!("{key}.{below}");
            let (expanded, origin) = self.expanded(&at, value)?;
            match (below.as_str(), LayerMapping::Streaming.key(below)) {
                ("mode", _) if expanded == json!("json-stream") => {}
                (_, Some(LayerKey { name, .. })) => {
                    streaming.insert(name.to_owned(), expanded);
                    self.from(&format!("streaming.{name}"), origin);
                }
                (other, None) if is_unused("restTools.*.streaming", other) => {}
                _ => return Err(refused(&at, value)),
            }
        }
        self.members
            .insert("streaming".to_owned(), Value::Object(streaming));
        Ok(())
    }

    /// Parses the prices of a model. There is one currency.
    fn price(&mut self, given: &Merged) -> Result<(), DefinitionFault> {
        for (key, value) in given.members() {
            match key.as_str() {
                "currency" if value.value() == json!("USD") => {}
                "currency" => {
                    let rule = "prices are in US dollars";
                    return Err(DefinitionFault::of(key, value.layer(), rule));
                }
                _ => self.declared(DefinitionKind::Price, key, value)?,
            }
        }
        for (name, key) in [("input", "prompt"), ("output", "completion")] {
            if !self.members.contains_key(name) {
                let rule = format!("the key `{key}` is missing");
                return Err(DefinitionFault::of("", given.layer(), &rule));
            }
        }
        Ok(())
    }

    /// Names of tools. One of them may stand without the list (001 §6).
    fn names(&mut self, name: &str, key: &str, value: &Merged) -> Result<(), DefinitionFault> {
        let (expanded, origin) = self.expanded(key, value)?;
        let names = match expanded {
            one @ Value::String(_) => json!([one]),
            names => names,
        };
        self.insert(name, names, origin);
        Ok(())
    }

    fn queue(&mut self, given: &Merged) -> Result<(), DefinitionFault> {
        for (key, value) in given.members() {
            let (expanded, origin) = self.expanded(key, value)?;
            // A variable gives text.
            let number = expanded.as_str().and_then(|text| text.parse::<u64>().ok());
            let expanded = number.map_or(expanded, Value::from);
            self.insert(key, expanded, origin);
        }
        Ok(())
    }
}

/// The fault of a key that a contract has no place for.
pub(super) fn refused(key: &str, value: &Merged) -> DefinitionFault {
    DefinitionFault {
        variable: None,
        key: key.to_owned(),
        layer: value.layer(),
        rule: NO_PLACE.to_owned(),
    }
}

/// The key of forms by where results are shown, and this program's place in it.
const FORMATS: (&str, &str) = ("formats", "cli");
/// The keys of the form of reports.
const FORMAT: [&str; 2] = ["outputFormat", "format"];

/// Keys of `defaults` that only other programs read: how they write their logs and start their servers.
const OF_OTHERS: [&str; 8] = [
    "maxConcurrentTools",
    "mcpInitConcurrency",
    "traceLLM",
    "traceMCP",
    "traceSdk",
    "traceSlack",
    "traceTools",
    "verbose",
];

/// The defaults in the form of a contract file.
pub(super) fn defaults(
    mut builder: Builder<'_>,
    merged: &Merged,
) -> Result<Definition, DefinitionFault> {
    for (key, value) in merged.members() {
        // The form of a report is a default of agents alone: a contract file has a report only where it says so.
        let is_form = key == FORMATS.0 || FORMAT.contains(&key.as_str());
        if is_form || OF_OTHERS.contains(&key.as_str()) {
            continue;
        }
        let refuse = |rule: &str| DefinitionFault {
            variable: None,
            key: key.clone(),
            layer: value.layer(),
            rule: rule.to_owned(),
        };
        let known = KNOBS.iter().find(|(name, _)| name == key);
        let Some((_, path)) = known else {
            return Err(refuse(NO_PLACE));
        };
        let (expanded, origin) = builder.expanded(key, value)?;
        if expanded.is_object() || expanded.is_array() {
            return Err(refuse("it is no single value"));
        }
        let (section, name) = path.split_once('.').unwrap_or(("", path));
        let place = match section {
            "" => &mut builder.members,
            section => {
                let section = builder.members.entry(section).or_insert_with(|| json!({}));
                let Some(section) = section.as_object_mut() else {
                    continue;
                };
                section
            }
        };
        if place.insert(name.to_owned(), expanded).is_some() {
            return Err(refuse("maxTurns and maxToolTurns are one and the same"));
        }
        builder.from(path, origin);
    }
    Ok(builder.finish())
}

/// The form of an agent's report: that of the command line, else the one for every place.
///
/// # Errors
/// A form that is no word.
pub(super) fn report_format(
    builder: &Builder<'_>,
    merged: &Merged,
) -> Result<Option<String>, DefinitionFault> {
    let by_place = merged.member(FORMATS.0);
    let by_place = by_place.and_then(|formats| formats.member(FORMATS.1));
    let by_place = by_place.map(|value| (FORMATS.0, value));
    let everywhere = FORMAT.into_iter();
    let mut everywhere = everywhere.filter_map(|key| Some((key, merged.member(key)?)));
    let Some((key, value)) = by_place.or_else(|| everywhere.next()) else {
        return Ok(None);
    };
    let (expanded, _) = builder.expanded(key, value)?;
    let known = expanded.as_str().filter(|word| {
        let mut all = ReportFormat::ALL.into_iter();
        all.any(|format| format.as_str() == *word)
    });
    match known {
        Some(word) => Ok(Some(word.to_owned())),
        None => Err(DefinitionFault {
            variable: None,
            key: key.to_owned(),
            layer: value.layer(),
            rule: format!(
                "it is none of {}",
                ReportFormat::ALL.map(ReportFormat::as_str).join(", ")
            ),
        }),
    }
}
