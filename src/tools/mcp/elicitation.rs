//! Answers a server that asks for input, as the contract grants it. Asks no person.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reqwest::Url;
use rmcp::model::InputResponses;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::contract::{Elicitation, McpTerms};
use crate::message::{InputAnswer, InputExchange, Scrubber};
use crate::tools::ExchangeLog;

/// The method of a request for input.
pub(super) const ELICIT: &str = "elicitation/create";
/// The method of the question for the folders that a server may work in.
const ROOTS: &str = "roots/list";

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
    pub(super) fn answers(
        &self,
        terms: &McpTerms,
        (log, scrub): (&ExchangeLog, &dyn Scrubber),
    ) -> Result<InputResponses, &str> {
        let mut answers = InputResponses::new();
        for (key, request) in &self.requests {
            let answer = match request.method.as_str() {
                ROOTS if !terms.roots.is_empty() => json!({"roots": roots(terms)}),
                ELICIT if terms.elicitation == Elicitation::Defaults && !log.is_full() => {
                    elicited(&request.params, log, scrub)
                }
                method => return Err(method),
            };
            answers.insert(key.clone(), answer);
        }
        Ok(answers)
    }
}

/// The answer to a request for input: the defaults of its fields, where that is enough. It is noted.
pub(super) fn elicited(params: &Value, log: &ExchangeLog, scrub: &dyn Scrubber) -> Value {
    let text = |name: &str| params.get(name).and_then(Value::as_str).map(str::to_owned);
    let schema = params.get("requestedSchema");
    // What is to be entered at an address needs a person there.
    let content = schema.filter(|_| params.get("url").is_none());
    let content = content.and_then(with_defaults).map(Value::Object);
    log.add(
        InputExchange {
            answer: if content.is_some() {
                InputAnswer::Accept
            } else {
                InputAnswer::Decline
            },
            content: content.as_ref().map(Value::to_string),
            message: text("message").unwrap_or_default(),
            method: ELICIT.to_owned(),
            requested_schema: schema.map(Value::to_string),
            url: text("url"),
        },
        scrub,
    );
    content.map_or_else(
        || json!({"action": "decline"}),
        |content| json!({"action": "accept", "content": content}),
    )
}

/// The default of every field that has one; none where a field that is needed has none.
fn with_defaults(schema: &Value) -> Option<Map<String, Value>> {
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

/// The addresses of those folders of the contract that are there now (MCP, `Root`).
pub(super) fn roots(terms: &McpTerms) -> Vec<Value> {
    let there = terms.roots.iter().filter_map(|folder| {
        let folder = std::fs::canonicalize(folder).ok()?;
        Url::from_file_path(folder).ok()
    });
    there
        .map(|folder| json!({"uri": folder.as_str()}))
        .collect()
}

/// The calls in flight on a connection: what its server asks for meanwhile is noted with one of them.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenCalls(Arc<Mutex<Vec<Arc<ExchangeLog>>>>);

impl OpenCalls {
    /// A call that is in flight as long as this is kept.
    pub(super) fn open(&self, log: &Arc<ExchangeLog>) -> OpenCall {
        self.logs().push(Arc::clone(log));
        OpenCall {
            calls: self.clone(),
            log: Arc::clone(log),
        }
    }

    /// That of the call that a request belongs to: a request does not name its call, so of several the one that began first.
    pub(super) fn first(&self) -> Option<Arc<ExchangeLog>> {
        self.logs().first().cloned()
    }

    fn logs(&self) -> MutexGuard<'_, Vec<Arc<ExchangeLog>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call in flight.
#[derive(Debug)]
pub(super) struct OpenCall {
    calls: OpenCalls,
    log: Arc<ExchangeLog>,
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        let mut logs = self.calls.logs();
        if let Some(at) = logs.iter().position(|log| Arc::ptr_eq(log, &self.log)) {
            logs.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        Elicitation, ExchangeLog, InputAnswer, InputRequired, McpTerms, OpenCalls, elicited, roots,
        with_defaults,
    };
    use crate::message::NoSecrets;

    fn granting(elicitation: Elicitation) -> McpTerms {
        McpTerms {
            elicitation,
            ..McpTerms::default()
        }
    }

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
        let log = ExchangeLog::default();
        let answers = |asked: &InputRequired, granted| {
            let answers = asked.answers(&granting(granted), (&log, &NoSecrets));
            answers.map_err(str::to_owned)
        };
        let elicit = asked("elicitation/create");
        assert_eq!(elicit.state.as_deref(), Some("s"));
        assert_eq!(
            answers(&elicit, Elicitation::Denied),
            Err("elicitation/create".to_owned())
        );
        let granted = answers(&elicit, Elicitation::Defaults).unwrap();
        assert_eq!(granted["a"], json!({"action": "accept", "content": {}}));
        for other in ["sampling/createMessage", "roots/list", "made/up"] {
            assert_eq!(
                answers(&asked(other), Elicitation::Defaults),
                Err(other.to_owned())
            );
        }
        // Without a schema there is nothing to fill in.
        let bare = json!({"inputRequests": {"a": {"method": "elicitation/create"}}});
        let bare: InputRequired = serde_json::from_value(bare).unwrap();
        let declined = answers(&bare, Elicitation::Defaults).unwrap();
        assert_eq!(declined["a"], json!({"action": "decline"}));
        assert_eq!(log.take().len(), 2);
    }

    #[test]
    fn an_exchange_is_noted_and_what_is_to_be_entered_at_an_address_is_declined() {
        let log = ExchangeLog::default();
        let schema = json!({"type": "object", "properties": {"name": {"default": "J"}}});
        let form = json!({"message": "Who?", "requestedSchema": schema});
        elicited(&form, &log, &NoSecrets);
        let address = json!({"mode": "url", "message": "Pay", "url": "https://h/pay", "requestedSchema": schema});
        assert_eq!(
            elicited(&address, &log, &NoSecrets),
            json!({"action": "decline"})
        );
        let noted = log.take();
        assert_eq!(noted[0].answer, InputAnswer::Accept);
        assert_eq!(noted[0].message, "Who?");
        assert_eq!(noted[0].content.as_deref(), Some(r#"{"name":"J"}"#));
        assert_eq!(noted[1].answer, InputAnswer::Decline);
        assert_eq!(noted[1].content, None);
        assert_eq!(noted[1].url.as_deref(), Some("https://h/pay"));
    }

    #[test]
    fn of_the_folders_those_are_named_that_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let there = folder.path().join("a folder");
        std::fs::create_dir(&there).unwrap();
        let named = |folders: &[&std::path::Path]| {
            let roots_of = folders.iter().map(|path| path.display().to_string());
            roots(&McpTerms {
                roots: roots_of.collect(),
                ..McpTerms::default()
            })
        };
        let found = named(&[&there, &folder.path().join("gone")]);
        assert_eq!(found.len(), 1);
        let address = found[0]["uri"].as_str().unwrap();
        assert!(address.starts_with("file:///"), "{address}");
        assert!(address.ends_with("/a%20folder"), "{address}");
    }

    #[test]
    fn a_request_belongs_to_the_first_call_in_flight() {
        let (calls, logs) = (OpenCalls::default(), [(); 2].map(|()| Default::default()));
        assert!(calls.first().is_none());
        let first = calls.open(&logs[0]);
        let _second = calls.open(&logs[1]);
        assert!(std::sync::Arc::ptr_eq(&calls.first().unwrap(), &logs[0]));
        drop(first);
        assert!(std::sync::Arc::ptr_eq(&calls.first().unwrap(), &logs[1]));
    }
}
