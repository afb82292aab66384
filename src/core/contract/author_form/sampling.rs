//! The sampling keys that a recorded contract needs in a file. Does not know protocols.

use serde_json::{Value, json};

use super::document::Document;
use crate::contract::spec::{FILE, MODEL, PROVIDER, SAMPLING, SamplingKeys, TARGET};
use crate::contract::{ExecutionContract, Sampling, TargetTerms, Terms};

/// Levels of reasoning, in the order in which a file maps them.
const LEVELS: [&str; 4] = ["minimal", "low", "medium", "high"];

/// States what levels of reasoning are, as far as targets use them: the others keep their own names.
pub(super) fn settle_reasoning(file: &mut Document, recorded: &ExecutionContract) {
    for target in &recorded.targets {
        let sampling = &target.sampling;
        let (Some(level), Some(value)) = (&sampling.reasoning, &sampling.reasoning_value) else {
            continue;
        };
        let path = [
            FILE.providers.name,
            &target.provider,
            PROVIDER.models.name,
            &target.model,
            MODEL.reasoning.name,
        ];
        let known = file.get(&path).cloned().unwrap_or_else(|| json!(LEVELS));
        let known = known.as_array().into_iter().flatten().zip(LEVELS);
        let map = known.map(|(known, of)| {
            if of == level.as_str() {
                json!(value)
            } else {
                known.clone()
            }
        });
        let map = map.collect();
        file.state(&path, map);
    }
}

/// States the parameters that are not the usual ones: for the file where all targets have the same value, else for each target. A default
/// that was sent is not stated: it would no longer be one.
pub(super) fn settle_sampling(file: &mut Document, made: &Terms, recorded: &ExecutionContract) {
    for key in SamplingKeys::every_name() {
        let was = values(&recorded.targets, key);
        let made = values(&made.targets, key);
        if was == made {
            continue;
        }
        if let Some(first) = was.first()
            && first.is_stated
            && was.iter().all(|value| value == first)
        {
            file.state(&[FILE.sampling.name, key], first.value.clone());
            continue;
        }
        for (index, (target, was)) in recorded.targets.iter().zip(was).enumerate() {
            if made.get(index) == Some(&was) || !was.is_stated {
                continue;
            }
            if target.summarizer {
                // It has no separate entry; its model has.
                let providers = FILE.providers.name;
                let (models, overrides) = (PROVIDER.models.name, MODEL.overrides.name);
                let (provider, model) = (&target.provider, &target.model);
                let path = [providers, provider, models, model, overrides, key];
                file.state(&path, was.value);
            } else {
                file.state_at_target(index, &[TARGET.sampling.name, key], was.value);
            }
        }
    }
}

/// A parameter of one target.
#[derive(PartialEq)]
struct Parameter {
    is_stated: bool,
    /// As a file writes it.
    value: Value,
}

/// A parameter of every target.
fn values(targets: &[TargetTerms], key: &str) -> Vec<Parameter> {
    let of = |target: &TargetTerms| Parameter {
        is_stated: target.sampling.is_stated(key),
        value: value(&target.sampling, key),
    };
    targets.iter().map(of).collect()
}

fn value(sampling: &Sampling, key: &str) -> Value {
    if key == SAMPLING.max_output_tokens.name && sampling.max_output_tokens_unsent {
        return json!("off");
    }
    let terms = serde_json::to_value(sampling).unwrap_or_default();
    terms.get(key).cloned().unwrap_or(Value::Null)
}
