//! The parts of a contract that do not follow from the rest, found by letting the factory make it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::document::{Document, members};
use super::sampling::{settle_reasoning, settle_sampling};
use super::stated::stated;
use crate::contract::factory::adapter_of;
use crate::contract::spec::{CONTEXT_BUDGET, FILE, FileKeys, SAMPLING, TARGET};
use crate::contract::{
    AGENT_PREFIX, AgentDefinition, AgentSpec, BigCount, CapabilityManifest, ContractDraft,
    ContractFactory, ContractSpec, DelegationTerms, ExecutionContract, FactoryError, ProviderType,
    ServerCapability, ServerKind, ServerTerms, SpecErrors, TargetCapability, TargetTerms, Terms,
    TextProfile,
};
use crate::message::NoTokenizers;

/// A file that reproduces a recorded contract, and what bring-up found of its models.
pub(super) struct AuthorFile {
    pub(super) file: Document,
    pub(super) found: Vec<TargetCapability>,
}

/// The file of a recorded contract. A key is stated after those that its default follows from.
pub(super) fn author_file(
    recorded: &ExecutionContract,
    name: &str,
    task: Option<&str>,
) -> Result<AuthorFile, ChangedError> {
    let mut builder = Builder {
        found: recorded.targets.iter().map(found_in).collect(),
        file: stated(recorded, task),
        name,
        recorded,
    };
    settle_reasoning(&mut builder.file, recorded);
    let draft = builder.draft()?;
    builder.profiles(&draft);
    let draft = builder.draft()?;
    builder.plain(&draft);
    settle_sampling(&mut builder.file, &draft, recorded);
    builder.scripted_windows(&draft);
    let draft = builder.draft()?;
    builder.adapters(&draft);
    builder.windows(&draft);
    let draft = builder.draft()?;
    builder.sections(&draft);
    // The budget's window is that of every target of which nothing else is known.
    let draft = builder.draft()?;
    builder.windows(&draft);
    let draft = builder.draft()?;
    builder.derived(&draft);
    builder.grammar()?;
    Ok(AuthorFile {
        file: builder.file,
        found: builder.found,
    })
}

/// Facts from the header of a model's file, which no key holds.
fn found_in(target: &TargetTerms) -> TargetCapability {
    TargetCapability {
        facts: target.facts.clone(),
        fingerprint: Some(target.model_fingerprint.clone()),
        is_recorded: true,
        prompt_layout: target.prompt_layout,
        vocabulary: target.vocabulary,
        ..TargetCapability::default()
    }
}

struct Builder<'r> {
    file: Document,
    found: Vec<TargetCapability>,
    name: &'r str,
    recorded: &'r ExecutionContract,
}

impl Builder<'_> {
    fn draft(&self) -> Result<ContractDraft, ChangedError> {
        let mut spec = ContractSpec::parse(self.name, &self.file.text(), &[])?;
        with_recorded_agents(&mut spec, self.recorded);
        let mut draft = ContractFactory::draft(&spec, &self.found)?;
        draft.decide(spec.task.as_deref())?;
        Ok(draft)
    }

    /// The profile of the file where all targets have one that is not found by their names, else of those that do.
    fn profiles(&mut self, made: &Terms) {
        let ids = |terms: &Terms| -> Vec<String> {
            let ids = terms.targets.iter().map(|t| t.model_profile_id.clone());
            ids.collect()
        };
        let (was, made) = (ids(self.recorded), ids(made));
        if was == made {
            return;
        }
        let mut targets = self.recorded.targets.iter().zip(&was);
        // A target that only makes summaries has no separate entry.
        let summarizer = targets.rfind(|(target, _)| target.summarizer);
        let all_alike = was.windows(2).all(|pair| pair.first() == pair.last());
        let of_file = match summarizer {
            Some((_, id)) => Some(id),
            None => was.first().filter(|_| all_alike),
        };
        if let Some(id) = of_file {
            self.file.state(&[FILE.model_profile_id.name], json!(id));
        }
        if all_alike && of_file.is_some() {
            return;
        }
        for (index, id) in was.iter().enumerate() {
            if of_file.is_some() || made.get(index) != Some(id) {
                let key = TARGET.model_profile_id.name;
                self.file.state_at_target(index, &[key], json!(id));
            }
        }
    }

    /// Every key of the file that is a field of the contract of the same name and form.
    fn plain(&mut self, made: &Terms) {
        let (was, made) = (members(&**self.recorded), members(made));
        for key in FileKeys::every_name() {
            if OTHERWISE.contains(key) || was.get(*key) == made.get(*key) {
                continue;
            }
            if let Some(value) = was.get(*key) {
                self.file.state(&[key], value.clone());
            }
        }
    }

    /// A scripted model has no window that could be found: where it has the budget's, it has it from there.
    fn scripted_windows(&mut self, made: &Terms) {
        let budget = self.recorded.context_budget.context_window;
        let targets = self.recorded.targets.iter().zip(&made.targets);
        let follows = targets.enumerate().any(|(index, (was, made))| {
            self.type_of(index) == Some(ProviderType::Scripted)
                && was.context_window != made.context_window
                && was.context_window == budget
        });
        if follows {
            let path = [FILE.context_budget.name, CONTEXT_BUDGET.context_window.name];
            self.file.state(&path, json!(budget));
        }
    }

    /// States the encoding of a target's calls if it differs from the one that its provider and its profile lead to.
    fn adapters(&mut self, made: &Terms) {
        let targets = self.recorded.targets.iter().zip(&made.targets);
        for (index, (was, made)) in targets.enumerate() {
            let version = &was.adapter_version;
            if *version == made.adapter_version {
                continue;
            }
            let wire = self.type_of(index).map(adapter_of);
            let layered = TextProfile::of_version(version);
            let word = match layered.filter(|(below, _)| Some(*below) == wire) {
                Some((_, text)) => Some(text.as_str()),
                None => (wire == Some(version.as_str())).then_some("none"),
            };
            if let Some(word) = word {
                let key = TARGET.text_profile.name;
                self.file.state_at_target(index, &[key], json!(word));
            } else if let Some(found) = self.found.get_mut(index) {
                found.adapter_version = Some(version.clone());
            }
        }
    }

    /// Windows that follow from nothing else: of a scripted model the author's, of others what is known of the model.
    fn windows(&mut self, made: &Terms) {
        let targets = self.recorded.targets.iter().zip(&made.targets);
        for (index, (was, made)) in targets.enumerate() {
            if was.context_window == made.context_window {
                continue;
            }
            let scripted = self.type_of(index) == Some(ProviderType::Scripted);
            if scripted && !was.summarizer {
                let key = TARGET.context_window.name;
                self.file
                    .state_at_target(index, &[key], json!(was.context_window));
            } else if let Some(found) = self.found.get_mut(index) {
                found.context_window = Some(was.context_window);
            }
        }
    }

    /// The keys of sections whose fields have the same names.
    fn sections(&mut self, made: &Terms) {
        let (was, made) = (members(&**self.recorded), members(made));
        for section in [FILE.context_budget.name, FILE.tool_output_budget.name] {
            let (was, made) = (was.get(section), made.get(section));
            for (key, value) in was.and_then(Value::as_object).into_iter().flatten() {
                if made.and_then(|made| made.get(key)) != Some(value) {
                    self.file.state(&[section, key], value.clone());
                }
            }
        }
    }

    /// Keys whose defaults follow from others.
    fn derived(&mut self, made: &Terms) {
        let recorded = self.recorded;
        if recorded.max_inferences != made.max_inferences {
            let key = FILE.max_inferences.name;
            self.file.state(&[key], json!(recorded.max_inferences));
        }
        if recorded.token_gate != made.token_gate {
            let key = FILE.token_gate.name;
            self.file.state(&[key], json!(recorded.token_gate));
        }
    }

    /// The grammar, where it is not the one that is made from the tools.
    fn grammar(&mut self) -> Result<(), ChangedError> {
        let draft = self.draft()?;
        let offers = RecordedOffers::of(&draft.servers, self.recorded);
        let made = draft.complete(&offers.offered, None, &NoTokenizers)?;
        if let Some(grammar) = &self.recorded.grammar
            && made.grammar.as_ref() != Some(grammar)
        {
            self.file.state(&[FILE.grammar.name], json!(grammar));
        }
        Ok(())
    }

    fn type_of(&self, target: usize) -> Option<ProviderType> {
        let target = self.recorded.targets.get(target)?;
        let provider = self.recorded.providers.get(&target.provider)?;
        Some(provider.provider_type)
    }
}

/// Keys of the file that are no fields of the contract, or fields of another form, or follow from others.
static OTHERWISE: &[&str] = &[
    FILE.adapter_version.name,
    FILE.agents.name,
    FILE.context_budget.name,
    FILE.grammar.name,
    FILE.max_inferences.name,
    FILE.model_profile_id.name,
    FILE.prices.name,
    FILE.providers.name,
    FILE.sampling.name,
    FILE.targets.name,
    FILE.token_gate.name,
    FILE.tool_output_budget.name,
    FILE.tool_policy.name,
    FILE.tools.name,
];

/// Gives a file what no key of it holds of a recorded contract: what the files of its agents said, where its run stood, and whether its
/// requests carry defaults. A change that names other agents stays, and the factory refuses it: no one read them.
pub(super) fn with_recorded_agents(spec: &mut ContractSpec, recorded: &ExecutionContract) {
    let is_delegated = |own: &DelegationTerms| own.depth() > 0;
    let bounded = recorded.delegation.as_ref().is_some_and(is_delegated);
    let bound = SAMPLING.max_output_tokens.name;
    let mut defaulted = recorded
        .targets
        .iter()
        .flat_map(|target| &target.sampling.defaulted);
    spec.sends_defaults = defaulted.any(|key| !bounded || key != bound);
    let Some(delegation) = &recorded.delegation else {
        return;
    };
    spec.own = delegation.chain.last().cloned();
    // Of a run at the top, the file itself gives the terms.
    spec.delegation = (delegation.depth() > 0).then(|| delegation.clone());
    if spec.agents.is_empty() {
        spec.agents = agents_of(recorded);
    }
}

fn agents_of(recorded: &ExecutionContract) -> Vec<AgentSpec> {
    let count = |count: Option<BigCount>| count.map(|BigCount(count)| count);
    let agents = recorded.agents.iter().map(|(name, terms)| {
        let tool = recorded.tool(name);
        let timeout = terms.total_timeout_ms;
        let defined = tool.map(|tool| AgentDefinition {
            below: terms.below.clone(),
            description: tool.description.clone(),
            digest: terms.digest,
            id: terms.id.clone(),
            input_schema: tool.input_schema.clone(),
            least_tokens: terms.least_tokens,
            max_cost_micro_usd: count(terms.max_cost_micro_usd),
            max_tokens_consumed: count(terms.max_tokens_consumed),
            tool_name: name.strip_prefix(AGENT_PREFIX).unwrap_or(name).to_owned(),
            // Its own limit is not known where it is the contract's.
            total_timeout_ms: Some(timeout).filter(|stated| *stated != recorded.total_timeout_ms),
        });
        AgentSpec {
            defined,
            file: terms.file.clone(),
            grant: terms.grant.clone(),
        }
    });
    agents.collect()
}

/// The knowledge of a recorded contract about the servers of another one: the offer of each server that both reach in the same
/// way.
#[derive(Debug, Default)]
pub(super) struct RecordedOffers {
    pub(super) offered: BTreeMap<String, ServerCapability>,
    /// Servers of which nothing is known.
    pub(super) unknown: BTreeSet<String>,
}

impl RecordedOffers {
    pub(super) fn of(
        servers: &BTreeMap<String, ServerTerms>,
        recorded: &ExecutionContract,
    ) -> Self {
        let mut known = CapabilityManifest::recorded_in(recorded).servers;
        let mut offers = Self::default();
        for (name, server) in servers {
            let was = recorded.servers.get(name);
            let alike = server.kind == ServerKind::Builtin
                || was.is_some_and(|was| server.is_reached_like(was));
            match known.remove(name).filter(|_| alike) {
                Some(offer) => {
                    offers.offered.insert(name.clone(), offer);
                }
                None => {
                    offers.unknown.insert(name.clone());
                }
            }
        }
        offers
    }
}

/// The reason that no contract has those changes.
#[derive(Debug, thiserror::Error)]
pub enum ChangedError {
    /// The author of a change: no file may hold it.
    #[error(transparent)]
    Spec(#[from] SpecErrors),
    /// The author of a change: no contract can be made of it.
    #[error(transparent)]
    Factory(#[from] FactoryError),
}
