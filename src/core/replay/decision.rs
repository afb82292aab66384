//! An entry's decision, apart from what follows from the contract alone: for comparing runs under two contracts.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::contract::ExecutionContract;
use crate::kernel::{Action, Check, EffectRecord};

/// Fields of an action that differ under another contract whatever is decided.
const BY_NATURE: [&str; 9] = [
    "adapter_version",
    "context",
    "conversation_digest",
    "length",
    "model_fingerprint",
    "model_profile_id",
    "note",
    "policy",
    "state_digest",
];

/// Returns the entry's decision as JSON text that two entries share exactly when they decide the same.
pub(super) fn decision(action: &Action) -> String {
    // An action holds strings, integers and booleans only: serialising it cannot fail.
    let mut value = serde_json::to_value(action).unwrap_or(Value::Null);
    if let Some(fields) = value.as_object_mut() {
        for field in BY_NATURE {
            fields.remove(field);
        }
        if !action.checks.is_empty() {
            let verdict = |check: &Check| json!({"name": check.name, "ok": check.ok});
            let verdicts = action.checks.iter().map(verdict);
            fields.insert("checks".to_owned(), verdicts.collect());
        }
    }
    value.to_string()
}

/// Describes the entry's decision in words; if it gives no reason, adds what the rest of its step says.
pub(super) fn in_words(action: &Action, rest: &[&Action], contract: &ExecutionContract) -> String {
    let mut out = if action.from == action.to {
        format!("stays in {}", action.to)
    } else {
        format!("{} → {}", action.from, action.to)
    };
    if let Some(predicate) = action.predicate {
        let _ = write!(out, ", {}", predicate.name.describe());
    }
    if let Some(outcome) = action.outcome {
        let _ = write!(out, ", {outcome}");
    }
    for effect in &action.effects {
        let _ = write!(out, ", {}", effect_in_words(effect, contract));
    }
    let decided = rest.iter().find(|action| action.predicate.is_some());
    if let (None, Some(decided)) = (action.predicate, decided) {
        let _ = write!(out, "; then {}", in_words(decided, &[], contract));
    }
    out
}

/// Describes an effect in words.
pub(super) fn effect_in_words(effect: &EffectRecord, contract: &ExecutionContract) -> String {
    match effect {
        EffectRecord::Probe => "asks whether the models answer".to_owned(),
        EffectRecord::Infer {
            inference,
            target,
            tools,
            ..
        } => {
            let target = usize::try_from(*target).unwrap_or(usize::MAX);
            let name = contract.targets.get(target).map_or_else(
                || format!("target {target}"),
                |target| format!("{}/{}", target.provider, target.model),
            );
            let tools = if *tools { "" } else { " without tools" };
            format!("sends request {inference} to {name}{tools}")
        }
        EffectRecord::Execute { call, name, .. } => format!("starts call {call} of {name}"),
        EffectRecord::Delegate {
            call, grant, name, ..
        } => format!(
            "delegates call {call} to {name}, with {} tokens",
            grant.max_tokens
        ),
        EffectRecord::Summarise {
            call, inference, ..
        } => format!("asks for a summary of call {call} by request {inference}"),
        EffectRecord::Sample {
            call, inference, ..
        } => format!("asks for the server of call {call} by request {inference}"),
        EffectRecord::AwaitApproval { call, .. } => format!("waits for an approval of call {call}"),
        EffectRecord::Wait { until_ms } => format!("waits until {until_ms} ms"),
        EffectRecord::Cancel => "gives up what is in flight".to_owned(),
        EffectRecord::Finish => "ends the run".to_owned(),
    }
}

/// True if both effects are the same: notices are part of the request body, which is compared itself.
pub(super) fn same_effect(left: &EffectRecord, right: &EffectRecord) -> bool {
    match (left, right) {
        (
            EffectRecord::Infer {
                inference, target, ..
            },
            EffectRecord::Infer {
                inference: other,
                target: other_target,
                ..
            },
        ) => (inference, target) == (other, other_target),
        _ => left == right,
    }
}
