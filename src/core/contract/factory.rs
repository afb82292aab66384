//! The factory of contracts: author's file and manifest in, contract out. Does no I/O.

use std::collections::BTreeMap;

use super::catalogue::{Catalogue, CatalogueEntry};
use super::delegates::{delegates, delegation};
use super::draft::{Adapters, ContractDraft, FileTerms};
use super::reached_servers::{queues, servers};
use super::redaction::{recorded_url, variables_of};
use super::sampling::{Layers, Model, model_of, states_limit};
use super::session_tools::{report_terms, session_tools};
use super::spec::{CONTEXT_BUDGET, FILE, PROFILE};
use super::{
    CONTRACT_FORMAT, CapabilityManifest, ContextBudget, ContractSpec, ExecutionContract,
    FactoryError, GrammarLanguage, IntentPolicyResolver, MAX_REPEATS, ModelProfile, ProviderSpec,
    ProviderTerms, ProviderType, SEMANTICS_VERSION, Setting, TargetCapability, TargetSpec,
    TargetTerms, Terms, TextProfile, ToolTransport, wire_version,
};
use crate::message::{BytesPerToken, Digest, MAX_EXACT, NoTokenizers};

/// Makes the contract of a run from what its author wrote and what bring-up found.
///
/// Pure: the same two give the same bytes. It fills in every default and refuses only what cannot be expressed as a
/// contract at all; a contract that contradicts itself is made, and refused by PRECHECK, where it leaves a transcript.
///
/// ```
/// use monolith_core::contract::{CapabilityManifest, ContractFactory, ContractSpec, TargetCapability};
///
/// let spec = ContractSpec::parse("clock.yaml", "
/// task: How late is it?
/// tool_policy: forbidden
/// targets: [{provider: demo, model: canned, context_window: 8192}]
/// providers: {demo: {type: openai, base_url: 'http://127.0.0.1:1/v1'}}
/// ", &[])?;
/// let found = CapabilityManifest {
///     targets: vec![TargetCapability::default()],
///     ..CapabilityManifest::default()
/// };
/// let contract = ContractFactory.make(&spec, &found, None)?;
/// assert_eq!(contract.contract_hash(), contract.rehash());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ContractFactory;

impl ContractFactory {
    /// Makes the contract in one step, where no tokenizer is at hand: definitions are estimated as bytes / 4. `parent` is the contract
    /// of the run that delegates to this one.
    ///
    /// # Errors
    /// [`FactoryError`], the first that applies.
    pub fn make(
        &self,
        spec: &ContractSpec,
        manifest: &CapabilityManifest,
        parent: Option<Digest>,
    ) -> Result<ExecutionContract, FactoryError> {
        let mut draft = Self::draft(spec, &manifest.targets)?;
        draft.decide(spec.task.as_deref())?;
        draft.complete(&manifest.servers, parent, &NoTokenizers)
    }

    /// Makes as much of the contract as is known before a tool server is started: `targets` is what is known of each target's model.
    ///
    /// # Errors
    /// [`FactoryError`], the first that applies. A policy that the author's own contradicts is one only together with another
    /// fault: [`ContractDraft::decide`] refuses it.
    pub fn draft(
        spec: &ContractSpec,
        found: &[TargetCapability],
    ) -> Result<ContractDraft, FactoryError> {
        let task = spec.task.as_deref();
        let resolution = IntentPolicyResolver::resolve(spec.page, spec.tool_policy, task);
        let stated = FileTerms::of(spec);
        let made = targets(spec, found);
        let (targets, adapters): (Vec<_>, Vec<_>) = match made {
            Ok(targets) => targets.into_iter().unzip(),
            Err(fault) => return Err(stated.disagreement(&resolution).unwrap_or(fault)),
        };
        let model_profile_id = targets
            .first()
            .map_or_else(String::new, |t| t.model_profile_id.clone());
        let profile = spec.profile(&model_profile_id);
        let tool_transport = tool_transport(spec, &adapters);
        let strict_mode = spec
            .strict_mode
            .or(profile.map(|p| p.strict_mode))
            .unwrap_or(PROFILE.strict_mode.default_value);
        let max_turns = spec.max_turns.unwrap_or(FILE.max_turns.default_value);
        let max_attempts_per_turn = spec
            .max_attempts_per_turn
            .unwrap_or(FILE.max_attempts_per_turn.default_value);
        let max_format_retries = spec
            .max_format_retries
            .or(profile.map(|p| p.max_format_retries))
            .unwrap_or(PROFILE.max_format_retries.default_value);
        let all_attempts = u64::from(max_turns) * u64::from(max_attempts_per_turn);
        // A request is repeated where its target refuses parameters that nobody stated.
        let repeats = u64::try_from(targets.iter().filter(|t| !t.summarizer).count())
            .unwrap_or(u64::MAX)
            .saturating_mul(MAX_REPEATS.into());
        let completion = spec.completion.unwrap_or(FILE.completion.default_value);
        let (final_report, response_format) = report_terms(&spec.final_report, completion);
        let session_tools = session_tools(
            final_report.as_ref(),
            spec.progress_report
                .unwrap_or(FILE.progress_report.default_value),
            spec.batch.unwrap_or(FILE.batch.default_value),
            &BytesPerToken,
        );
        let total_timeout_ms = spec
            .total_timeout_ms
            .unwrap_or(FILE.total_timeout_ms.default_value);
        let mut terms = Terms {
            agent: spec.agent.clone(),
            agents: delegates(spec, total_timeout_ms)?,
            context_budget: context_budget(spec, &targets),
            delegation: delegation(spec),
            final_report,
            format: CONTRACT_FORMAT.to_owned(),
            grammar_profile: grammar_profile(spec),
            max_format_retries,
            max_inferences: spec.max_inferences.unwrap_or(exact(
                all_attempts
                    .saturating_add(max_format_retries.into())
                    .saturating_add(repeats),
            )),
            model_profile_id,
            policy_decision: resolution.decision.clone(),
            providers: providers(spec),
            queues: queues(spec),
            response_format,
            semantics_version: SEMANTICS_VERSION,
            servers: servers(spec),
            session_tools,
            strict_mode,
            targets,
            tokenizer: spec.tokenizer_id(),
            tool_policy: resolution.decision.policy,
            tool_transport,
            ..Terms::default()
        };
        spec.record(&mut terms);
        spec.tool_output_budget
            .record(&mut terms.tool_output_budget);
        let mut draft = ContractDraft {
            agents: spec.agents_offer(),
            adapters,
            stated,
            terms,
        };
        draft.apply(resolution.decision);
        Ok(draft)
    }
}

/// Chooses the transport of calls. A model with calls in its text also has its report there: a tag as well would be a second
/// form.
fn tool_transport(spec: &ContractSpec, adapters: &[Adapters]) -> ToolTransport {
    let mut adapters = adapters.iter();
    let in_text = adapters.any(|of| TextProfile::of_version(&of.with_tools).is_some());
    let usual = spec.usual_transport.filter(|_| !in_text);
    let default_value = usual.unwrap_or(FILE.tool_transport.default_value);
    spec.tool_transport.unwrap_or(default_value)
}

/// The language of the gate's grammar: as given, and for an embedded model what the embedded engine reads.
fn grammar_profile(spec: &ContractSpec) -> Option<String> {
    let local = |target: &TargetSpec| {
        let provider = spec.providers.get(&target.provider);
        provider.is_some_and(|p| p.provider_type == ProviderType::Local)
    };
    let embedded = spec.targets.iter().any(local);
    let default_value = embedded.then(|| GrammarLanguage::Lark.profile().to_owned());
    spec.grammar_profile.clone().or(default_value)
}

/// The nearest count that a JSON number holds exactly (semantics §8).
fn exact(count: u64) -> u64 {
    count.min(MAX_EXACT)
}

/// The adapter for a provider's wire protocol. A script says itself which protocol it holds; one that
/// says nothing holds OpenAI chat.
pub(super) const fn adapter_of(provider_type: ProviderType) -> &'static str {
    match provider_type {
        ProviderType::Openai | ProviderType::Scripted => wire_version::OPENAI_CHAT,
        ProviderType::OpenaiResponses => wire_version::OPENAI_RESPONSES,
        ProviderType::Anthropic => wire_version::ANTHROPIC,
        ProviderType::Google => wire_version::GEMINI,
        ProviderType::Openrouter => wire_version::OPENROUTER_CHAT,
        ProviderType::Ollama => wire_version::OLLAMA,
        ProviderType::Local => wire_version::LOCAL_HERMES,
    }
}

/// The adapter of a target that is offered tools: its wire protocol's, or that of a text profile over it.
fn layered<'w>(
    target: &TargetSpec,
    (wire, provider_type): (&'w str, ProviderType),
    profile: &ModelProfile,
) -> Result<&'w str, FactoryError> {
    let layered = match target.text_profile {
        Setting::Off => None,
        Setting::Unset => profile
            .usual_text_profile()
            .and_then(|text| text.over(wire)),
        Setting::Value(text) => {
            let over = text.over(wire);
            Some(over.ok_or_else(|| FactoryError::TextProfileNotBuilt {
                provider: target.provider.clone(),
                provider_type,
                text_profile: text,
                wire: wire.to_owned(),
            })?)
        }
    };
    Ok(layered.unwrap_or(wire))
}

/// Each target with the adapters that it may get; which of them it gets depends on the policy.
fn targets(
    spec: &ContractSpec,
    found: &[TargetCapability],
) -> Result<Vec<(TargetTerms, Adapters)>, FactoryError> {
    let in_tags = spec.tool_transport == Some(ToolTransport::Xml);
    let one = |(index, target): (usize, &TargetSpec)| {
        let provider = &target.provider;
        let defined = spec.providers.get(provider);
        let given = defined.ok_or_else(|| FactoryError::ProviderUndefined {
            provider: provider.clone(),
            target: index,
        })?;
        let provider_type = given.provider_type;
        let found = found.get(index);
        let of_script = found.and_then(|t| t.adapter_version.as_deref());
        let of_script = of_script.filter(|_| provider_type == ProviderType::Scripted);
        let wire = of_script.unwrap_or_else(|| adapter_of(provider_type));
        let named = target
            .model_profile_id
            .as_ref()
            .or(spec.model_profile_id.as_ref());
        let profile = spec
            .profile_for(target)
            .ok_or_else(|| FactoryError::ProfileUnknown {
                id: named.cloned().unwrap_or_default(),
            })?;
        // A model that calls in tags needs no other form of calls in its text.
        let plain = in_tags && target.text_profile == Setting::Unset;
        let layered = layered(target, (wire, provider_type), profile)?;
        let stated = target
            .context_window
            .or(model_of(target, given).and_then(|model| model.context_window))
            .or(given.context_window)
            .or(found.and_then(|t| t.context_window));
        let known = known(spec, (target, given), found);
        let of_catalogue = known.as_ref().and_then(|entry| entry.context_window);
        // The run's own window caps every target, and stands for one that nothing else knows.
        let context_window = stated
            .or(of_catalogue)
            .or(spec.context_budget.context_window)
            .or(profile.context_window);
        let fingerprint = found.and_then(|t| t.fingerprint.clone());
        // Where no tool is offered nothing is rendered and nothing is read: text that looks like a call is text then.
        let adapters = Adapters {
            with_tools: (if plain { wire } else { layered }).to_owned(),
            without: wire.to_owned(),
        };
        let layers = Layers::of(target, given, &spec.sampling);
        let model = Model {
            facts: known.as_ref().map(|entry| &entry.facts),
            profile: &profile.sampling,
            profile_is_own: spec.model_profiles.iter().any(|own| own.id == profile.id),
        };
        let sampling = layers.resolved((target, given), &model, spec);
        if states_limit(provider_type) && sampling.max_output_tokens_unsent {
            return Err(FactoryError::OutputUnbounded {
                provider_type,
                target: index,
            });
        }
        let terms = TargetTerms {
            adapter_version: String::new(),
            context_window: exact(context_window.unwrap_or(0)),
            facts: known.and_then(|entry| entry.used(stated, &sampling)),
            left_out: BTreeMap::new(),
            model: target.model.clone(),
            model_fingerprint: fingerprint
                .unwrap_or_else(|| format!("{}:{}", provider_type.as_str(), target.model)),
            model_profile_id: profile.id.clone(),
            prompt_layout: found.and_then(|t| t.prompt_layout),
            provider: provider.clone(),
            sampling,
            summarizer: target.summarizer,
            vocabulary: found.and_then(|t| t.vocabulary),
        };
        Ok((terms, adapters))
    };
    spec.targets.iter().enumerate().map(one).collect()
}

/// Returns the facts about a target's model: those of a recorded contract, else those of this build's catalogue. A price that the
/// author states comes before the catalogue's.
fn known(
    spec: &ContractSpec,
    (target, given): (&TargetSpec, &ProviderSpec),
    found: Option<&TargetCapability>,
) -> Option<CatalogueEntry> {
    let mut entry = if let Some(found) = found.filter(|found| found.is_recorded) {
        CatalogueEntry::recorded(found.facts.clone()?)
    } else {
        let (provider, model) = (given.provider_type, &target.model);
        Catalogue::current().lookup(provider, address(given), model)?
    };
    let tables = spec.prices.as_ref().map(|table| &table.models);
    let models = tables.and_then(|models| models.get(&target.provider));
    let is_priced = models.is_some_and(|models| models.contains_key(&target.model));
    entry.facts.price = entry.facts.price.filter(|_| !is_priced);
    Some(entry)
}

/// The provider's address, where the file has it.
fn address(given: &ProviderSpec) -> Option<&str> {
    let in_file = given.base_url_env.is_none();
    let default_value = given.provider_type.usual_base_url().filter(|_| in_file);
    given.base_url.as_deref().or(default_value)
}

fn context_budget(spec: &ContractSpec, targets: &[TargetTerms]) -> ContextBudget {
    let given = &spec.context_budget;
    // Unless the author caps them, each target has its own window, and keeps room for its own longest answer.
    let widest = targets.iter().map(|t| t.context_window).max();
    let attempted = targets.iter().filter(|target| !target.summarizer);
    let shortest_output = attempted.map(|t| t.sampling.max_output_tokens).min();
    let mut budget = ContextBudget {
        buffer: buffer(spec).unwrap_or(CONTEXT_BUDGET.buffer.default_value),
        context_window: given.context_window.or(widest).unwrap_or(0),
        reserved_synthesis: given.reserved_synthesis.or(shortest_output).unwrap_or(0),
        ..ContextBudget::default()
    };
    given.record(&mut budget);
    budget
}

/// The tokens that every request keeps free: what the file says, else the most that a target wants (001 §6), else what is a default of the
/// layers.
fn buffer(spec: &ContractSpec) -> Option<u64> {
    let path = format!(
        "{}.{}",
        FILE.context_budget.name, CONTEXT_BUDGET.buffer.name
    );
    let given = spec.context_budget.buffer;
    if given.is_some() && !spec.origins.contains_key(&path) {
        return given;
    }
    let attempted = spec.targets.iter().filter(|target| !target.summarizer);
    let wanted = attempted.filter_map(|target| {
        let provider = spec.providers.get(&target.provider)?;
        let of_model = model_of(target, provider).and_then(|model| model.buffer);
        of_model.or(provider.buffer)
    });
    wanted.max().or(given)
}

fn providers(spec: &ContractSpec) -> BTreeMap<String, ProviderTerms> {
    let one = |(name, given): (&String, &ProviderSpec)| {
        let provider_type = given.provider_type;
        let address = address(given);
        let key_env = address.and_then(|address| provider_type.key_env_at(address));
        let terms = ProviderTerms {
            api_key_env: given
                .api_key_env
                .clone()
                .or_else(|| key_env.map(str::to_owned)),
            base_url: address.map(recorded_url),
            base_url_env: given.base_url_env.clone(),
            file: given.file.clone(),
            header_names: given.headers.keys().cloned().collect(),
            header_variables: variables_of(&given.headers),
            provider_options: given.provider_options.clone(),
            provider_type,
            tools_allowed: given.tools_allowed.clone(),
            tools_denied: given.tools_denied.clone(),
        };
        (name.clone(), terms)
    };
    spec.providers.iter().map(one).collect()
}
