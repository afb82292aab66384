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

/// States the parameters that are not the usual ones: for the file where all targets have the same value, else for each target.
pub(super) fn settle_sampling(file: &mut Document, made: &Terms, recorded: &ExecutionContract) {
    for key in SamplingKeys::every_name() {
        let was: Vec<_> = values(&recorded.targets, key);
        let made = values(&made.targets, key);
        if was == made {
            continue;
        }
        if let Some(first) = was.first()
            && was.iter().all(|value| value == first)
        {
            file.state(&[FILE.sampling.name, key], first.clone());
            continue;
        }
        for (index, (target, value)) in recorded.targets.iter().zip(was).enumerate() {
            if made.get(index) == Some(&value) {
                continue;
            }
            if target.summarizer {
                // It has no separate entry; its model has.
                let providers = FILE.providers.name;
                let (models, overrides) = (PROVIDER.models.name, MODEL.overrides.name);
                let (provider, model) = (&target.provider, &target.model);
                let path = [providers, provider, models, model, overrides, key];
                file.state(&path, value);
            } else {
                file.state_at_target(index, &[TARGET.sampling.name, key], value);
            }
        }
    }
}

/// A parameter of every target, as a file writes it.
fn values(targets: &[TargetTerms], key: &str) -> Vec<Value> {
    let targets = targets.iter();
    targets.map(|target| value(&target.sampling, key)).collect()
}

fn value(sampling: &Sampling, key: &str) -> Value {
    if key == SAMPLING.max_output_tokens.name && sampling.max_output_tokens_unsent {
        return json!("off");
    }
    let terms = serde_json::to_value(sampling).unwrap_or_default();
    terms.get(key).cloned().unwrap_or(Value::Null)
}
