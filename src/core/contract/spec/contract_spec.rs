//! Questions about a contract file that was read: profiles, the tokenizer. Decides nothing.

use std::collections::BTreeMap;

use serde_json::Value;

use super::form::Setting;
use super::keys::{ContractSpec, TargetSpec};
use super::origin::ValueOrigin;
use crate::contract::{
    AGENT_PREFIX, AgentId, ModelProfile, ProviderType, Tokenizer, ToolCapability,
};
use crate::message::{Digest, estimate_tokens};

impl ContractSpec {
    /// The profile of that id: the author's own, else the shipped one.
    #[must_use]
    pub fn profile(&self, id: &str) -> Option<&ModelProfile> {
        let own = self.model_profiles.iter().find(|profile| profile.id == id);
        own.or_else(|| ModelProfile::by_id(id))
    }

    /// The profile of a target: the one that is named, else the first that describes its model; none if there is no such
    /// profile, or no such provider.
    #[must_use]
    pub(in crate::contract) fn profile_for(&self, target: &TargetSpec) -> Option<&ModelProfile> {
        let named = target.model_profile_id.as_ref();
        if let Some(id) = named.or(self.model_profile_id.as_ref()) {
            return self.profile(id);
        }
        let provider = self.providers.get(&target.provider)?;
        self.profile_of(provider.provider_type, &target.model)
    }

    /// The tokenizer of the contract to be, as the contract will name it: the file's, else that of the first target's model at its
    /// provider, else its profile's; none also if the first setting is null. An unknown name stays as it is written, and PRECHECK refuses it.
    #[must_use]
    pub fn tokenizer_id(&self) -> Option<String> {
        let first = self.targets.first();
        let of_model = || {
            let provider = self.providers.get(&first?.provider)?;
            let model = provider.models.get(&first?.model);
            let own = model.map(|model| &model.tokenizer);
            let own = own.filter(|own| !matches!(own, Setting::Unset));
            Some(own.unwrap_or(&provider.tokenizer))
        };
        let written = match (&self.tokenizer, of_model()) {
            (Setting::Value(written), _) | (Setting::Unset, Some(Setting::Value(written))) => {
                written.clone()
            }
            (Setting::Off, _) | (Setting::Unset, Some(Setting::Off)) => return None,
            (Setting::Unset, Some(Setting::Unset) | None) => {
                self.profile_for(first?)?.tokenizer.clone()?
            }
        };
        let known = Tokenizer::named(&written);
        Some(known.map_or(written, |known| known.id().to_owned()))
    }

    /// Lets tokens be estimated wherever a layer of configuration states a tokenizer that `can_count` refuses (001 §6). Returns the
    /// tokenizer of the first target with the layer that states it, if it is one of them. The author's own word always counts.
    pub fn estimate_instead(
        &mut self,
        can_count: &dyn Fn(&str) -> bool,
    ) -> Option<(String, ValueOrigin)> {
        let is_free = self.tokenizer == Setting::Unset;
        let counted = self.tokenizer_id().filter(|id| is_free && !can_count(id));
        let (origins, mut stated) = (&self.origins, None);
        let mut switch = |own: &mut Setting<String>, path: String| {
            let (Some(origin), Setting::Value(written)) = (origins.get(&path), &*own) else {
                return;
            };
            let id = match Tokenizer::named(written) {
                Some(known) => known.id().to_owned(),
                None => written.clone(),
            };
            if can_count(&id) {
                return;
            }
            if counted.as_ref() == Some(&id) {
                stated.get_or_insert_with(|| origin.clone());
            }
            *own = Setting::Off;
        };
        for (name, provider) in &mut self.providers {
            let path = format!("providers.{name}");
            switch(&mut provider.tokenizer, format!("{path}.tokenizer"));
            for (model, own) in &mut provider.models {
                let path = format!("{path}.models.{model}.tokenizer");
                switch(&mut own.tokenizer, path);
            }
        }
        counted.zip(stated)
    }

    /// The first profile that describes a model, the author's own before the shipped ones.
    #[must_use]
    pub fn profile_of(&self, provider: ProviderType, model: &str) -> Option<&ModelProfile> {
        let own = self.model_profiles.iter();
        let mut own = own.filter(|profile| profile.describes(provider, model));
        own.next()
            .or_else(|| ModelProfile::describing(provider, model))
    }
}

/// Names that no tool of an agent may have: they belong to the session's own tools.
const TAKEN: [&str; 3] = ["batch", "final_report", "progress_report"];
/// The longest name: with its prefix it is the name of a tool.
pub(super) const MOST_NAME_CHARS: usize = 64 - AGENT_PREFIX.len();

/// An agent that a file names under `agents`.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentSpec {
    /// Content of its file; `None` if that was not read.
    pub defined: Option<AgentDefinition>,
    /// Its file, as the author names it: from the folder of the naming file, or absolute.
    pub file: String,
    /// Tools that its runs may have, as patterns of exposed names; `None` if its own file names them.
    pub grant: Option<Vec<String>>,
}

/// An agent's own description for an agent that may delegate to it.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentDefinition {
    /// The agents below it: the digests of their texts, by their files as they are found from its folder.
    pub below: BTreeMap<String, Digest>,
    /// Description of the tool.
    pub description: String,
    /// BLAKE3 over the text of its file, everything included.
    pub digest: Digest,
    /// The id that its file states.
    pub id: Option<AgentId>,
    /// JSON Schema of what it is called with.
    pub input_schema: Value,
    /// Its prompt as it is written, estimated.
    pub(crate) least_tokens: u64,
    /// The limits that its file states.
    pub max_cost_micro_usd: Option<u64>,
    /// Limit of tokens.
    pub max_tokens_consumed: Option<u64>,
    /// Limit of time, in milliseconds.
    pub total_timeout_ms: Option<u64>,
    /// The name of its tool, without the prefix.
    pub tool_name: String,
}

/// A task in JSON (001 §2).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputSpec {
    /// JSON Schema of it.
    pub schema: Option<Value>,
}

/// The tool that an agent's file is offered as, if the file says so itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfferedAs {
    /// Tokens of the prompt as it is written.
    pub prompt_tokens: u64,
    /// The key `toolName`.
    pub tool_name: Option<String>,
}

impl AgentSpec {
    /// The exposed name of its tool; `None` if its file was not read.
    #[must_use]
    pub fn tool(&self) -> Option<String> {
        let defined = self.defined.as_ref()?;
        Some(format!("{AGENT_PREFIX}{}", defined.tool_name))
    }
}

impl AgentDefinition {
    /// The tool that it is.
    #[must_use]
    pub fn capability(&self) -> ToolCapability {
        let mut tool = ToolCapability {
            annotations: Value::Null,
            description: self.description.clone(),
            input_schema: self.input_schema.clone(),
            name: self.tool_name.clone(),
            schema_tokens: 0,
        };
        tool.schema_tokens = estimate_tokens(&tool.definition());
        tool
    }
}

/// Returns why a text cannot name an agent's tool, and the fix.
pub(super) fn tool_name_fault(name: &str) -> Option<(String, String)> {
    if TAKEN.contains(&name) {
        let rule = format!("`{AGENT_PREFIX}{name}` is a tool of monolith's own");
        return Some((rule, "give it another `toolName`".to_owned()));
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if (1..=MOST_NAME_CHARS).contains(&name.len()) && name.chars().all(fits) {
        return None;
    }
    let rule = format!("expected 1 to {MOST_NAME_CHARS} letters, digits, `.`, `_` and `-`");
    Some((rule, "such as web.search".to_owned()))
}
