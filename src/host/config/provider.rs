//! A provider of the layers in the form of a contract file: its type, key, backend options and models.

use monolith_core::contract::{DefinitionKind, FromLayer, LayerKey, LayerMapping};
use serde_json::{Map, Value, json};

use super::builder::Builder;
use super::definition::refused;
use super::fault::DefinitionFault;
use super::layer::{is_name, is_unused, snake};
use super::merged::Merged;

/// The keys that state the address of a provider.
const ADDRESS: [&str; 3] = ["baseUrl", "base_url", "base_url_env"];

impl Builder<'_> {
    pub(super) fn provider(&mut self, given: &Merged) -> Result<(), DefinitionFault> {
        for (key, value) in given.members() {
            match key.as_str() {
                "type" => self.provider_type(given, value)?,
                // Judged with the type.
                "openaiMode" => {}
                "apiKey" => self.key(value)?,
                "models" => self.models(value)?,
                "custom" => self.custom(given, value)?,
                // A note says that they mean nothing.
                other if is_unused("providers.*", other) => {}
                _ => self.declared(DefinitionKind::Provider, key, value)?,
            }
        }
        Ok(())
    }

    /// The type of a provider. Layers also have ai-agent's words for scripts and for the two protocols of OpenAI.
    fn provider_type(&mut self, given: &Merged, value: &Merged) -> Result<(), DefinitionFault> {
        let (expanded, origin) = self.expanded("type", value)?;
        let is_responses = self.is_responses(given)?;
        let word = match expanded.as_str() {
            Some("test-llm") => Some("scripted"),
            Some("openai-compatible") => {
                let is_stated = |key: &&str| {
                    let stated = given.member(key);
                    stated.is_some_and(|stated| !stated.value().is_null())
                };
                if !ADDRESS.iter().any(is_stated) {
                    // Its key and its requests would go to OpenAI.
                    let rule = "openai-compatible needs a baseUrl";
                    return Err(DefinitionFault::of("type", value.layer(), rule));
                }
                Some("openai")
            }
            Some("openai") if is_responses => Some("openai_responses"),
            _ => None,
        };
        self.insert("type", word.map_or(expanded, Value::from), origin);
        Ok(())
    }

    /// True if `openaiMode` asks for the protocol of responses.
    fn is_responses(&self, given: &Merged) -> Result<bool, DefinitionFault> {
        let Some(mode) = given.member("openaiMode") else {
            return Ok(false);
        };
        match self.expanded("openaiMode", mode)?.0.as_str() {
            Some("responses") => Ok(true),
            Some("chat") => Ok(false),
            _ => {
                let rule = "expected chat or responses";
                Err(DefinitionFault::of("openaiMode", mode.layer(), rule))
            }
        }
    }

    /// The key itself never stands in a contract, so it must be a variable here.
    fn key(&mut self, value: &Merged) -> Result<(), DefinitionFault> {
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
            return Err(DefinitionFault {variable: None,
                key: "apiKey".to_owned(),
                layer,
                rule: "a key is written as ${NAME} and belongs in the .ai-agent.env beside the file, or in the environment"
                    .to_owned(),
            });
        };
        self.named("api_key_env", layer, json!(name));
        Ok(())
    }

    /// Options of the backend. Other programs keep them under the provider's type, and the routing of OpenRouter beside them.
    fn custom(&mut self, given: &Merged, custom: &Merged) -> Result<(), DefinitionFault> {
        let kind = given.member("type").and_then(Merged::text);
        let kind = kind.map_or("", |(_, kind)| kind);
        let routes = kind == "openrouter";
        for (key, value) in custom.members() {
            let at = format!("custom.{key}");
            match key.as_str() {
                "providerOptions" => {
                    let own = value.member(kind).unwrap_or(value);
                    self.put("provider_options", &at, own)?;
                }
                "provider" if routes => {}
                other if is_unused("providers.*.custom", other) => {}
                _ => return Err(refused(&at, value)),
            }
        }
        if let Some(routing) = custom.member("provider").filter(|_| routes) {
            let (routing, origin) = self.expanded("custom.provider", routing)?;
            let options = self.members.entry("provider_options");
            if let Value::Object(options) = options.or_insert_with(|| json!({})) {
                options.insert("provider".to_owned(), routing);
            }
            self.from("provider_options.provider", origin);
        }
        Ok(())
    }

    fn models(&mut self, given: &Merged) -> Result<(), DefinitionFault> {
        let mut models = Map::new();
        for (model, terms) in given.members() {
            let mut own = Map::new();
            for (key, value) in terms.members() {
                if is_unused("providers.*.models.*", key) {
                    continue;
                }
                let at = format!("models.{model}.{key}");
                let found = LayerMapping::Model.key(key);
                let LayerKey { name, taken } = found.ok_or_else(|| refused(&at, value))?;
                let (expanded, origin) = self.expanded(&at, value)?;
                let expanded = if taken == FromLayer::Parameters {
                    snake(expanded)
                } else {
                    expanded
                };
                own.insert(name.to_owned(), expanded);
                self.from(&format!("models.{model}.{name}"), origin);
            }
            models.insert(model.clone(), Value::Object(own));
        }
        self.members
            .insert("models".to_owned(), Value::Object(models));
        Ok(())
    }
}
