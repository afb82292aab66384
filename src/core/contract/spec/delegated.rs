//! What an agent's file comes to where another agent delegates to it: what it inherits, and what it is given (001 §5, §8). Runs nothing.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::agent::MAX_TURNS;
use super::agent_file::expanded;
use super::contract_spec::{ContractSpec, InputSpec};
use super::delegated_models::inherit_models;
use super::keys::{CONTEXT_BUDGET, FILE, SamplingKeys, TOOL_OUTPUT_BUDGET};
use super::origin::ValueOrigin;
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
    /// What its contract was made of.
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
        inherit_models(&mut self, &stated, (folder, by.folder), by.spec, limited);
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
        let origins = &self.origins;
        macro_rules! inherit {
            ($($field:ident),+) => {
                $(inherit(origins, FILE.$field.name, &mut self.$field, by.$field.as_ref());)+
            };
        }
        inherit!(
            approval_timeout_ms,
            llm_timeout_ms,
            max_attempts_per_turn,
            max_format_retries,
            max_identical_calls,
            max_inferences,
            max_invalid_turns,
            max_resumes,
            max_tool_calls_per_turn,
            max_turns,
            parallel_tool_calls,
            step_timeout_ms,
            tool_timeout_ms
        );
        // Limits of single tools are about tools that only the one of the two has.
        self.max_calls.run = self.max_calls.run.or(by.max_calls.run);
        let path = |section: &str, key: &str| format!("{section}.{key}");
        let (section, keys) = (FILE.context_budget.name, &CONTEXT_BUDGET);
        let (own, theirs) = (&mut self.context_budget, &by.context_budget);
        let buffer = path(section, keys.buffer.name);
        inherit(origins, &buffer, &mut own.buffer, theirs.buffer.as_ref());
        let ratio = path(section, keys.force_synthesis_at_ratio.name);
        inherit(
            origins,
            &ratio,
            &mut own.force_synthesis_at_ratio,
            theirs.force_synthesis_at_ratio.as_ref(),
        );
        let margin = path(section, keys.minimum_loop_margin.name);
        inherit(
            origins,
            &margin,
            &mut own.minimum_loop_margin,
            theirs.minimum_loop_margin.as_ref(),
        );
        let key = TOOL_OUTPUT_BUDGET.max_bytes_per_call.name;
        inherit(
            origins,
            &path(FILE.tool_output_budget.name, key),
            &mut self.tool_output_budget.max_bytes_per_call,
            by.tool_output_budget.max_bytes_per_call.as_ref(),
        );
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

/// Takes what holds for the delegating run where the agent's own file states nothing: a value that `defaults` filled in is none of it.
fn inherit<T: Clone>(
    origins: &BTreeMap<String, ValueOrigin>,
    path: &str,
    own: &mut Option<T>,
    theirs: Option<&T>,
) {
    if own.is_none() || origins.contains_key(path) {
        *own = theirs.cloned();
    }
}

/// What must not be recorded of the one must not be recorded of the other.
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
