//! The contract of an agent that another agent delegates to: its inherited values and its inputs (001 §5, §8). Runs nothing.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::agent::MAX_TURNS;
use super::agent_file::expanded;
use super::contract_spec::InputSpec;
use super::delegated_models::inherit_models;
use super::form::{Facts, Stated, Visit};
use super::keys::{ContractSpec, FILE, SamplingKeys};
use super::origin::ValueOrigin;
use super::section::Keyed as _;
use crate::contract::execution_contract::canonical;
use crate::contract::{
    DelegationGrant, ExecutionContract, RedactionTerms, delegation_below, inexact_integer_at,
};

/// The run that delegates.
#[derive(Clone, Copy, Debug)]
pub struct Delegator<'p> {
    /// Its contract.
    pub contract: &'p ExecutionContract,
    /// The folder of its contract file.
    pub folder: &'p Path,
    /// Source of its contract.
    pub spec: &'p ContractSpec,
}

impl ContractSpec {
    /// The agent's file as it is run for a call of `tool`; `folder` is its own. What comes first counts: overrides of the command line, the
    /// agent's own file, what holds for the delegating run, `defaults` of configuration, what is built in (001 §8).
    ///
    /// Limits and sampling are inherited so, and models, with their providers and prices, where the agent's file names none. Tools, policy
    /// and the form of the report are its own.
    #[must_use]
    pub fn delegated(
        mut self,
        by: Delegator<'_>,
        (tool, folder): (&str, &Path),
        grant: &DelegationGrant,
        task: String,
    ) -> Self {
        self.inherit_limits(by.spec);
        let stated = self.inherit_sampling(by.spec);
        let limited = by.contract.max_cost_micro_usd.is_some();
        let limit = limited.then_some(by.contract);
        inherit_models(&mut self, &stated, (folder, by.folder), by.spec, limit);
        inherit_redaction(&mut self.redact, &by.spec.redact);
        // What must not reach a tool must not reach it through an agent.
        for rule in &by.contract.flow {
            if !self.flow.contains(rule) {
                self.flow.push(rule.clone());
            }
        }
        let stated = self.total_timeout_ms.unwrap_or(grant.total_timeout_ms);
        self.total_timeout_ms = Some(stated.min(grant.total_timeout_ms));
        self.max_tokens_consumed = Some(grant.max_tokens);
        self.max_cost_micro_usd = grant.max_cost_micro_usd;
        let mut below = delegation_below(by.contract, tool);
        // Its own file counts from its own run.
        if let Some(own) = self.max_delegation_depth {
            below.max_depth = below.max_depth.min(below.depth().saturating_add(own));
        }
        self.delegation = Some(below);
        let turns = self.max_turns.unwrap_or(FILE.max_turns.default_value);
        let value = |name: &str| (name == MAX_TURNS).then(|| turns.to_string());
        self.system = self.system.map(|system| expanded(&system, &value));
        self.task = Some(task);
        self
    }

    /// Limits that the agent's file does not state. The budget and the time for the whole run are given, not inherited.
    fn inherit_limits(&mut self, by: &Self) {
        let origins = std::mem::take(&mut self.origins);
        let inherit = |section| Inherit {
            origins: &origins,
            section,
        };
        self.visit(by, &mut inherit(""));
        let section = FILE.context_budget.name;
        self.context_budget
            .visit(&by.context_budget, &mut inherit(section));
        let section = FILE.tool_output_budget.name;
        self.tool_output_budget
            .visit(&by.tool_output_budget, &mut inherit(section));
        // Limits of single tools are about tools that only the one of the two has.
        self.max_calls.run = self.max_calls.run.or(by.max_calls.run);
        self.origins = origins;
    }

    /// Parameters that the agent's file does not state; what the command line says of every agent stays. Returns those that are its own.
    fn inherit_sampling(&mut self, by: &Self) -> Vec<&'static str> {
        let of_layers = SamplingKeys::every_name().iter().copied();
        let of_layers = of_layers.filter(|key| {
            let path = format!("{}.{key}", FILE.sampling.name);
            self.origins.contains_key(&path)
        });
        let of_layers: Vec<&str> = of_layers.collect();
        let mut own = self.sampling.without(&of_layers);
        let stated = own.written();
        let commanded = own.commanded.take();
        self.sampling = own.over(&by.sampling.effective());
        // Where it has their targets, what was commanded there comes before what those say.
        let theirs = by.sampling.commanded.as_deref();
        let theirs = theirs.filter(|_| self.targets.is_empty());
        let theirs = theirs.map(|theirs| theirs.without(&stated));
        self.sampling.commanded = match (commanded, theirs) {
            (Some(own), Some(theirs)) => Some(Box::new(own.over(&theirs))),
            (own, theirs) => own.or_else(|| theirs.map(Box::new)),
        };
        stated
    }
}

/// The task of a run that a call of an agent asks for: the text of its `prompt`, or the arguments as they are where its task is JSON.
#[must_use]
pub fn task_of(arguments: &str, input: Option<&InputSpec>) -> String {
    let Ok(value) = serde_json::from_str::<Value>(arguments) else {
        return arguments.to_owned();
    };
    let prompt = value.get("prompt").and_then(Value::as_str);
    match (input, prompt) {
        (None, Some(prompt)) => prompt.to_owned(),
        // A number that has no exact canonical form stays as it is written.
        _ if inexact_integer_at(&value).is_some() => arguments.to_owned(),
        _ => canonical(&value),
    }
}

/// Takes the value of the delegating run where the agent's own file states none. A value that `defaults` filled in is not the file's own.
struct Inherit<'o> {
    origins: &'o BTreeMap<String, ValueOrigin>,
    /// The section that has the keys; empty for the file.
    section: &'o str,
}

impl Visit for Inherit<'_> {
    fn visit<T: Stated>(&mut self, key: &Facts, own: &mut T, theirs: &T) {
        let path = match self.section {
            "" => key.name.to_owned(),
            section => format!("{section}.{}", key.name),
        };
        if key.inherited && (!own.is_stated() || self.origins.contains_key(&path)) {
            own.clone_from(theirs);
        }
    }
}

/// Adds the delegating run's redaction terms to the agent's own.
fn inherit_redaction(own: &mut RedactionTerms, theirs: &RedactionTerms) {
    for (own, theirs) in [
        (&mut own.env, &theirs.env),
        (&mut own.headers, &theirs.headers),
        (&mut own.patterns, &theirs.patterns),
    ] {
        let new = theirs.iter().filter(|text| !own.contains(text));
        let new: Vec<String> = new.cloned().collect();
        own.extend(new);
    }
}
