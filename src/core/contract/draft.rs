//! A contract in the making: what the author's file and the models behind its targets decide, before a tool server is started.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Deref;

use super::execution_contract::{canonical, check_document_size};
use super::manifest::ServerCapability;
use super::offered_tools::tools;
use super::server_terms::BUILTIN;
use super::session_tools::weight_of_session_tool;
use super::{
    AGENTS, Completion, ContractSpec, ExecutionContract, FactoryError, GateGrammar,
    GrammarLanguage, IntentPolicyResolver, PROGRESS_REPORT, PolicyDecision, Resolution, ServerKind,
    ServerTerms, Terms, ToolPin, ToolPolicy, Validators,
};
use crate::message::{Digest, TokenCounters};

/// A contract without the offers of its tool servers. It takes two steps: [`Self::decide`] fixes the policy by the task,
/// [`Self::complete`] adds the tools and seals it. Until then its servers count as unavailable.
#[derive(Clone, Debug)]
pub struct ContractDraft {
    /// The offer of the agents that it may delegate to; `None` if it has none.
    pub(super) agents: Option<ServerCapability>,
    /// One for each target.
    pub(super) adapters: Vec<Adapters>,
    pub(super) stated: FileTerms,
    pub(super) terms: Terms,
}

/// The adapter of a target, which depends on whether requests offer tools.
#[derive(Clone, Debug)]
pub(super) struct Adapters {
    pub(super) with_tools: String,
    pub(super) without: String,
}

/// Terms of the author's file that the contract holds only in another form.
#[derive(Clone, Debug)]
pub(super) struct FileTerms {
    adapter_version: Option<String>,
    builtin: Vec<String>,
    token_gate: Option<bool>,
    tool_policy: Option<ToolPolicy>,
}

impl FileTerms {
    pub(super) fn of(spec: &ContractSpec) -> Self {
        Self {
            adapter_version: spec.adapter_version.clone(),
            builtin: spec.tools.builtin.clone(),
            token_gate: spec.token_gate,
            tool_policy: spec.tool_policy,
        }
    }

    /// The fault of a file whose own policy is not the one that its page decides.
    pub(super) fn disagreement(&self, resolution: &Resolution) -> Option<FactoryError> {
        let given = self.tool_policy?;
        (given != resolution.decision.policy).then(|| FactoryError::PolicyDisagrees {
            resolution: resolution.clone(),
            given,
        })
    }
}

/// The terms as far as they are known.
impl Deref for ContractDraft {
    type Target = Terms;

    fn deref(&self) -> &Terms {
        &self.terms
    }
}

impl ContractDraft {
    /// Fixes the policy, and what follows from it, by the task as it is recorded; returns the words of the task that led to it.
    ///
    /// # Errors
    /// [`FactoryError::PolicyDisagrees`], [`FactoryError::AdapterDisagrees`].
    pub fn decide(&mut self, task: Option<&str>) -> Result<Vec<String>, FactoryError> {
        let resolution =
            IntentPolicyResolver::resolve(self.terms.page, self.stated.tool_policy, task);
        if let Some(fault) = self.stated.disagreement(&resolution) {
            return Err(fault);
        }
        if resolution.decision != self.terms.policy_decision {
            self.apply(resolution.decision);
        }
        let given = self.stated.adapter_version.as_ref();
        match given.filter(|given| **given != self.terms.adapter_version) {
            Some(given) => Err(FactoryError::AdapterDisagrees {
                chosen: self.terms.adapter_version.clone(),
                given: given.clone(),
            }),
            None => Ok(resolution.matched),
        }
    }

    /// Fills in what depends on the policy.
    pub(super) fn apply(&mut self, decision: PolicyDecision) {
        let terms = &mut self.terms;
        let own = terms.completion == Completion::FinalReport
            || terms.session_tool(PROGRESS_REPORT).is_some();
        let allows_none = terms.allowed_tools.as_ref().is_some_and(Vec::is_empty);
        let offers_tools = own || (decision.policy != ToolPolicy::Forbidden && !allows_none);
        for (target, adapters) in terms.targets.iter_mut().zip(&self.adapters) {
            let chosen = if offers_tools {
                &adapters.with_tools
            } else {
                &adapters.without
            };
            target.adapter_version.clone_from(chosen);
        }
        let first = terms.targets.first();
        terms.adapter_version = first.map_or_else(String::new, |t| t.adapter_version.clone());
        let default_value = terms.strict_mode && decision.policy == ToolPolicy::Required;
        terms.token_gate = self.stated.token_gate.unwrap_or(default_value);
        terms.tool_policy = decision.policy;
        terms.policy_decision = decision;
    }

    /// The contract, with what its servers offer. Definitions of tools are counted by the tokenizer that it names, where that is
    /// among `tokenizers`: else it is not the contract that it would be elsewhere, and nothing may be begun with it. `parent` is
    /// the contract of the run that delegates to this one.
    ///
    /// # Errors
    /// [`FactoryError`], the first tool that no contract can hold.
    pub fn complete(
        self,
        offered: &BTreeMap<String, ServerCapability>,
        parent: Option<Digest>,
        tokenizers: &dyn TokenCounters,
    ) -> Result<ExecutionContract, FactoryError> {
        let Self {
            agents,
            stated,
            mut terms,
            ..
        } = self;
        let counter = terms.tokenizer.as_deref();
        let counter = counter.and_then(|name| tokenizers.counter(name).ok());
        let counter = counter.as_deref();
        let mut offered = taken(&terms.servers, offered);
        if let Some(agents) = agents {
            // Their files say what they offer, whichever servers were started.
            offered.to_mut().insert(AGENTS.to_owned(), agents);
        }
        let offered = offered.as_ref();
        for (name, server) in &mut terms.servers {
            let found = offered.get(name).filter(|found| found.available);
            reach(name, server, found, &stated.builtin);
        }
        let outside = terms.servers.iter();
        let outside = outside.filter(|(_, server)| server.kind != ServerKind::Builtin);
        let outside = outside.map(|(name, server)| (name.as_str(), server.kind));
        let tools = tools(&stated.builtin, outside, offered, counter)?;
        terms.tools = tools;
        if let Some(counter) = counter {
            for tool in &mut terms.session_tools {
                let schema = canonical(&tool.input_schema);
                tool.schema_tokens =
                    weight_of_session_tool(&tool.name, &tool.description, &schema, counter);
            }
        }
        terms.parent_contract_hash = parent;
        let validators = Validators::compile(&terms);
        terms.leave_out_tools(&validators);
        if terms.grammar.is_none() {
            terms.grammar = gate_grammar(&terms);
        }
        let contract = ExecutionContract::seal_with(terms, validators);
        check_document_size(&contract.canonical_text()).map_err(FactoryError::TooLarge)?;
        Ok(contract)
    }
}

/// Returns the servers' offers, without the tools that the contract does not take.
fn taken<'o>(
    servers: &BTreeMap<String, ServerTerms>,
    offered: &'o BTreeMap<String, ServerCapability>,
) -> Cow<'o, BTreeMap<String, ServerCapability>> {
    let mut taken = Cow::Borrowed(offered);
    for (name, terms) in servers.iter().filter(|(_, terms)| !terms.takes_all_tools()) {
        if let Some(server) = taken.to_mut().get_mut(name) {
            server.tools.retain(|tool| terms.takes_tool(&tool.name));
        }
    }
    taken
}

/// Sets whether a server is available, and its pin, from its offer. The built-in one is available if it has every tool that the
/// file names.
fn reach(
    name: &str,
    server: &mut ServerTerms,
    found: Option<&ServerCapability>,
    builtin: &[String],
) {
    if server.kind != ServerKind::Builtin {
        server.available = found.is_some();
        let origin = server.kind.origin(name);
        server.pin = found.map(|found| found.pin(&origin));
        return;
    }
    let offers =
        |name: &String| found.is_some_and(|found| found.tools.iter().any(|t| t.name == *name));
    server.available = builtin.iter().all(offers);
    server.pin = found.filter(|_| server.available).map(|found| {
        let tools = found.tools.iter();
        let tools = tools.filter(|tool| builtin.contains(&tool.name));
        ToolPin::of_server(tools.map(|tool| ToolPin::of(BUILTIN, tool)).collect())
    });
}

/// The text of the closed gate; None if there is none to be made, and where none can be: PRECHECK then says why.
fn gate_grammar(terms: &Terms) -> Option<String> {
    let language = GrammarLanguage::by_profile(terms.grammar_profile.as_deref()?)?;
    let grammar = GateGrammar::closed(terms, language).ok();
    grammar.filter(|_| terms.needs_grammar()).map(|g| g.text)
}
