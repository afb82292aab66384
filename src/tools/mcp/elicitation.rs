//! Answers a server that asks for input during a call, as the contract grants it. Asks no person.

use std::collections::BTreeMap;

use rmcp::model::InputResponses;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::contract::Elicitation;

/// The method of a request for input.
const ELICIT: &str = "elicitation/create";

/// What a server needs before it goes on with a call (MCP schema 2026-07-28, `InputRequiredResult`).
#[derive(Debug, Deserialize, PartialEq)]
pub(super) struct InputRequired {
    #[serde(default, rename = "inputRequests")]
    requests: BTreeMap<String, InputRequest>,
    /// Goes back as it came.
    #[serde(default, rename = "requestState")]
    pub(super) state: Option<String>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct InputRequest {
    method: String,
    #[serde(default)]
    params: Value,
}

impl InputRequired {
    /// The answers that the contract grants.
    ///
    /// # Errors
    /// The method of a request that it does not grant.
    pub(super) fn answers(&self, granted: Elicitation) -> Result<InputResponses, &str> {
        let mut answers = InputResponses::new();
        for (key, request) in &self.requests {
            if granted == Elicitation::Denied || request.method != ELICIT {
                return Err(&request.method);
            }
            let schema = request.params.get("requestedSchema");
            let answer = schema.and_then(with_defaults).map_or_else(
                || json!({"action": "decline"}),
                |content| json!({"action": "accept", "content": content}),
            );
            answers.insert(key.clone(), answer);
        }
        Ok(answers)
    }
}

/// The default of every field that has one; none where a field that is needed has none.
pub(super) fn with_defaults(schema: &Value) -> Option<Map<String, Value>> {
    let fields = schema.get("properties").and_then(Value::as_object);
    let fields = fields.into_iter().flatten();
    let defaults = fields.filter_map(|(name, field)| Some((name, field.get("default")?)));
    let content: Map<String, Value> = defaults
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let needed = schema.get("required").and_then(Value::as_array);
    let mut needed = needed.into_iter().flatten().filter_map(Value::as_str);
    needed
        .all(|name| content.contains_key(name))
        .then_some(content)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Elicitation, InputRequired, with_defaults};

    #[test]
    fn defaults_are_filled_in_and_a_needed_field_without_one_refuses() {
        let fields = json!({
            "name": {"type": "string", "default": "J"}, "age": {"type": "integer"}, "ok": {"type": "boolean", "default": false},
        });
        let filled = |required| with_defaults(&json!({"properties": fields, "required": required}));
        let content = json!({"name": "J", "ok": false});
        assert_eq!(filled(json!(["name"])).as_ref(), content.as_object());
        assert_eq!(filled(json!(["age"])), None);
        assert_eq!(with_defaults(&json!({})), Some(serde_json::Map::new()));
    }

    #[test]
    fn what_the_contract_does_not_grant_is_named() {
        let asked = |method: &str| -> InputRequired {
            let request =
                json!({"method": method, "params": {"requestedSchema": {"properties": {}}}});
            serde_json::from_value(json!({"resultType": "input_required", "inputRequests": {"a": request}, "requestState": "s"}))
                .unwrap()
        };
        let elicit = asked("elicitation/create");
        assert_eq!(elicit.state.as_deref(), Some("s"));
        assert_eq!(
            elicit.answers(Elicitation::Denied),
            Err("elicitation/create")
        );
        let answers = elicit.answers(Elicitation::Defaults).unwrap();
        assert_eq!(answers["a"], json!({"action": "accept", "content": {}}));
        for other in ["sampling/createMessage", "roots/list", "made/up"] {
            assert_eq!(asked(other).answers(Elicitation::Defaults), Err(other));
        }
        // Without a schema there is nothing to fill in.
        let bare = json!({"inputRequests": {"a": {"method": "elicitation/create"}}});
        let bare: InputRequired = serde_json::from_value(bare).unwrap();
        let answers = bare.answers(Elicitation::Defaults).unwrap();
        assert_eq!(answers["a"], json!({"action": "decline"}));
    }
}
