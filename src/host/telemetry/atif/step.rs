//! The parts of a step, as the format has them.

use serde_json::{Map, Value, json};

use monolith_core::message::AgentMessage;

pub(super) fn calls_of(step: &mut Map<String, Value>, message: &AgentMessage) {
    if message.tool_calls.is_empty() {
        return;
    }
    let calls = message.tool_calls.iter().map(|call| {
        json!({
            "tool_call_id": call.id,
            "function_name": call.name,
            "arguments": call.arguments.to_value(),
        })
    });
    step.insert("tool_calls".to_owned(), calls.collect());
    // A call has no extra of its own in the format. The arguments of these could not be read, and they were never run.
    let faults = message.tool_calls.iter().filter_map(|call| {
        let fault = call.fault?;
        Some((call.id.clone(), json!(fault)))
    });
    let faults: Map<String, Value> = faults.collect();
    if !faults.is_empty() {
        extra(step, "faults", json!(faults));
    }
}

pub(super) fn add_result(step: &mut Map<String, Value>, result: Value) {
    let observation = step
        .entry("observation")
        .or_insert_with(|| json!({"results": []}));
    if let Some(results) = observation.get_mut("results").and_then(Value::as_array_mut) {
        results.push(result);
    }
}

pub(super) fn extra(step: &mut Map<String, Value>, key: &str, value: Value) {
    let place = step.entry("extra").or_insert_with(|| json!({}));
    if let Some(place) = place.as_object_mut() {
        place.insert(key.to_owned(), value);
    }
}

/// An optional field of the format is left out rather than null. What tools and models wrote stays as it is.
pub(super) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            for (key, member) in members {
                if key != "arguments" && key != "parameters" {
                    drop_nulls(member);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "exact up to nine thousand million dollars, and for people only"
)]
pub(super) fn dollars(micro: u64) -> f64 {
    micro as f64 / 1_000_000.0
}
