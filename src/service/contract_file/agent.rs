//! A contract file that is an agent's: how it is run, and what its profile puts into the prompt. Decides nothing of either.

use std::cell::RefCell;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::agent::{Beside, agent_form, text_of};
use crate::contract_file::ContractFile;
use crate::contract_file::prompt::{PROMPT_NAME, Prompt};
use crate::error::ServiceError;
use crate::error::agent::AgentFault;
use crate::error::contract::ContractFault;
use crate::found::built_in::built_in_names;
use crate::service::Service;
use monolith_core::agent::{Ability, injected, matched, standard};
use monolith_core::contract::{
    AgentForm, AgentId, AgentProfile, AgentSelection, AgentTerms, BrokenIncludes, ContractSpec,
    IncludedText, NO_MODEL, OF_PROVIDERS, PROFILE_SET, SpecErrors, with_includes,
};

/// The folder beside a profile that holds its abilities.
const ABILITIES: &str = "abilities";
/// The advice for two texts without a model.
const TWO_TEXTS: &str = "name one: --models PROVIDER/MODEL. Two texts are a system prompt and a task; a task is one argument: put it in quotes";
/// The override that says which agent is run, and how it was selected.
const CHOSEN: &str = "profile.chosen=";
/// The override that says which abilities the task matched.
const MATCHED: &str = "profile.matched=";

/// An agent that is run by its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChosenAgent {
    /// Id of the agent.
    pub id: AgentId,
    /// `None` if it was named.
    pub selection: Option<AgentSelection>,
}

impl ContractFile {
    /// The agent that is always there.
    pub(crate) fn standard_agent(service: &Service, sets: Vec<String>) -> Self {
        let (_, prompt) = standard();
        Self::prompt(service, Prompt::text(prompt.to_owned()), sets)
    }

    /// The same, as the agent that was chosen. A resume knows it, too.
    pub(crate) fn of_agent(mut self, chosen: &ChosenAgent) -> Result<Self, ServiceError> {
        let chosen = serde_json::to_string(chosen).map_err(std::io::Error::from)?;
        self.sets.push(format!("{CHOSEN}{chosen}"));
        Ok(self)
    }

    /// The faults of a system prompt that was typed: a task without quotes is two texts, too.
    pub(super) fn as_two_texts(&self, mut errors: SpecErrors) -> SpecErrors {
        let is_chosen = self.sets.iter().any(|set| set.starts_with(CHOSEN));
        if self.prompt.is_some() && !is_chosen {
            for error in errors.errors.iter_mut().filter(|e| e.rule == NO_MODEL) {
                error.help = Some(TWO_TEXTS.to_owned());
            }
            let undefined = |help: &Option<String>| help.as_deref() == Some(OF_PROVIDERS);
            for error in errors.errors.iter_mut().filter(|e| undefined(&e.help)) {
                let known: Vec<&str> = built_in_names().collect();
                let known = known.join(", ");
                error.help = Some(format!("{OF_PROVIDERS}. Without that there are {known}"));
            }
        }
        errors
    }

    /// The text of an agent's file with everything that it includes.
    pub(super) fn whole(&self, text: &str) -> Result<IncludedText, ContractFault> {
        let whole = self.includes(text);
        whole.map_err(|broken| ContractFault::Include(Box::new(broken)))
    }

    /// The file itself and every file that it includes, where it holds that text.
    pub(super) fn sources(&self, text: &str) -> Vec<PathBuf> {
        let own = self.prompt.is_none().then(|| self.path.clone());
        let whole = self.form().and_then(|_| self.includes(text).ok());
        let parts = whole.into_iter().flat_map(|whole| whole.parts);
        let included = parts.filter_map(|part| Some(self.base_dir.join(part.file?)));
        own.into_iter().chain(included).collect()
    }

    /// The same, with what is left where something cannot be included.
    pub(super) fn includes(&self, text: &str) -> Result<IncludedText, BrokenIncludes> {
        let beside = self.beside();
        let whole = match &self.prompt {
            Some(prompt) => prompt.whole(&self.base_dir, PROMPT_NAME, &beside),
            None => with_includes(&self.path, text, &beside),
        };
        match whole {
            Ok(whole) => Ok(self.as_named(whole)),
            Err(broken) => Err(BrokenIncludes {
                whole: self.as_named(broken.whole),
                ..broken
            }),
        }
    }

    /// With its files as messages name them.
    fn as_named(&self, mut whole: IncludedText) -> IncludedText {
        for part in &mut whole.parts {
            let name = part
                .file
                .as_ref()
                .map(|file| file.strip_prefix(&self.base_dir));
            if let Some(Ok(name)) = name {
                part.file = Some(name.to_owned());
            }
        }
        whole
    }

    /// The files beside an agent's.
    pub(super) fn beside(&self) -> Beside<'_> {
        Beside {
            cwd: &self.base_dir,
            folder: self.folder(),
            schemas: RefCell::default(),
        }
    }

    /// The form of the agent in it; `None` if it is a contract file.
    pub(super) fn form(&self) -> Option<AgentForm> {
        match self.prompt {
            Some(_) => Some(AgentForm::Text),
            None => agent_form(&self.path),
        }
    }

    /// The profile of the file, which must be whole.
    pub fn profile(&self, service: &Service) -> Result<AgentProfile, ServiceError> {
        let form = self.form().ok_or_else(|| AgentFault::NotAnAgent {
            path: self.name.clone(),
        })?;
        let layers = self.layers(service)?;
        let name = self.name.display().to_string();
        let (text, beside) = (self.whole(&self.text()?)?, self.beside());
        let source = self.placeholders.source((&name, form), &text, &beside);
        let profile = ContractSpec::agent_profile(&source, &layers)?;
        let core = self.abilities(&profile.core_abilities)?;
        self.abilities(&profile.abilities)?;
        // Those of a task fit into what the core abilities leave, or are left out.
        injected(&profile, &core, &[], "").map_err(AgentFault::Ability)?;
        Ok(profile)
    }

    /// Returns the spec with the abilities that its task matches. A resume has the same ones.
    pub fn with_abilities(
        &mut self,
        service: &Service,
        spec: ContractSpec,
    ) -> Result<ContractSpec, ServiceError> {
        if !self.match_abilities(&spec)? {
            return Ok(spec);
        }
        let read = self.read(service)?;
        let task = spec.task;
        Ok(ContractSpec { task, ..read })
    }

    /// Fixes which abilities the task matches; whether there is anything to match, so that the file is to be read again.
    fn match_abilities(&mut self, spec: &ContractSpec) -> Result<bool, ServiceError> {
        let Some(profile) = &spec.profile else {
            return Ok(false);
        };
        let is_fixed = self.sets.iter().any(|set| set.starts_with(MATCHED));
        let task = spec.task.as_deref().unwrap_or_default();
        if is_fixed || profile.abilities.is_empty() || task.is_empty() {
            return Ok(false);
        }
        let names = matched(task, &self.abilities(&profile.abilities)?);
        let names = serde_json::to_string(&names).map_err(std::io::Error::from)?;
        self.sets.push(format!("{MATCHED}{names}"));
        Ok(true)
    }

    /// Puts what the profile asks for into the prompt, and the agent into the contract (semantics §4).
    pub(super) fn give_agent(&self, spec: &mut ContractSpec) -> Result<(), ServiceError> {
        let chosen: Option<ChosenAgent> = self.fixed(CHOSEN)?;
        let matched: Vec<AgentId> = self.fixed(MATCHED)?.unwrap_or_default();
        let profile = match (&spec.profile, &chosen) {
            (_, Some(_)) if self.prompt.is_some() => standard().0,
            (Some(profile), _) => (**profile).clone(),
            (None, _) => return Ok(()),
        };
        if !profile.enabled {
            return Err(AgentFault::Disabled { id: profile.id }.into());
        }
        if chosen.is_none() && !profile.is_injected() {
            return Ok(());
        }
        let core = self.abilities(&profile.core_abilities)?;
        let matched = self.abilities(&matched)?;
        let system = spec.system.take().unwrap_or_default();
        let given = injected(&profile, &core, &matched, &system).map_err(AgentFault::Ability)?;
        spec.system = Some(given.system).filter(|system| !system.is_empty());
        spec.clamped.extend(given.warnings);
        spec.agent = Some(AgentTerms {
            abilities: given.terms,
            digest: profile.digest,
            id: profile.id,
            selection: chosen.and_then(|chosen| chosen.selection),
            version: profile.version,
        });
        Ok(())
    }

    /// Returns the value that an override fixes for this agent's run.
    fn fixed<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<Option<T>, ServiceError> {
        let mut of_agent = self.sets.iter().filter(|set| set.starts_with(PROFILE_SET));
        if let Some(unknown) = of_agent
            .clone()
            .find(|set| !set.starts_with(CHOSEN) && !set.starts_with(MATCHED))
        {
            let set = unknown.clone();
            let rule = "it is no key of an agent".to_owned();
            return Err(AgentFault::Set { rule, set }.into());
        }
        let Some(set) = of_agent.find(|set| set.starts_with(name)) else {
            return Ok(None);
        };
        let value = set.get(name.len()..).unwrap_or_default();
        let read = serde_json::from_str(value).map_err(|fault| AgentFault::Set {
            rule: fault.to_string(),
            set: set.clone(),
        })?;
        Ok(Some(read))
    }

    /// The abilities of these names, from the files beside the profile.
    fn abilities(&self, names: &[AgentId]) -> Result<Vec<Ability>, ServiceError> {
        let folder = self.folder().join(ABILITIES);
        let read = names.iter().map(|name| {
            let path = folder.join(format!("{name}.md"));
            let text = text_of(&path).map_err(|reason| AgentFault::NoAbility {
                name: name.clone(),
                path,
                reason,
            })?;
            Ok(Ability::read(name.clone(), &text).map_err(AgentFault::Ability)?)
        });
        read.collect()
    }
}
