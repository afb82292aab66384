//! Answers a server that asks for input, as the contract grants it. Reaches no person itself.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reqwest::Url;
use rmcp::model::InputResponses;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::sampling::{self, Noted, SAMPLE};
use crate::tools::envelope::ToolResponse;
use crate::tools::{AwaitedInput, ExchangeLog};
use monolith_core::contract::{Elicitation, McpTerms};
use monolith_core::message::{InputAnswer, InputExchange, ObjectText, Scrubber};

/// The method of a request for input.
pub(super) const ELICIT: &str = "elicitation/create";
/// The method of the question for the folders that a server may work in.
const ROOTS: &str = "roots/list";

/// The code of a call that needs what the contract does not grant.
pub(super) const INPUT_NOT_GRANTED: &str = "INPUT_NOT_GRANTED";
/// The code of a call that needs an inference which was not made.
const SAMPLING_REFUSED: &str = "SAMPLING_REFUSED";
/// Bytes of a question that a person is asked; a longer one is declined.
const QUESTION_BYTES: usize = 16 << 10;
/// Bytes of a round that is recorded while a person is asked.
const ROUND_BYTES: usize = 64 << 10;

/// The input that a server needs for a call (MCP schema 2026-07-28, `InputRequiredResult`).
#[derive(Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct InputRequired {
    #[serde(default, rename = "inputRequests")]
    requests: BTreeMap<String, InputRequest>,
    /// Returned unchanged.
    #[serde(default, rename = "requestState")]
    state: Option<String>,
}

#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct InputRequest {
    method: String,
    #[serde(default)]
    params: Value,
}

/// The refusal of a request for input, which ends the call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The contract does not grant the request of that method.
    NotGranted(String),
    /// A model cannot be asked that, and why.
    Prompt(&'static str),
    /// No model was asked, or nothing came of it.
    NoInference,
}

impl Refused {
    /// The result of its call.
    pub(super) fn response(&self) -> ToolResponse {
        match self {
            Self::NotGranted(method) => ToolResponse::failed(
                INPUT_NOT_GRANTED,
                format!("the server asks for {method}, which the contract does not grant"),
            ),
            Self::Prompt(why) => ToolResponse::failed(
                SAMPLING_REFUSED,
                format!("the server wants a model to be asked what it is not: {why}"),
            ),
            Self::NoInference => ToolResponse::failed(
                SAMPLING_REFUSED,
                "the server wants a model to be asked: none was, or nothing came of it",
            ),
        }
    }
}

/// The requests of one result and the answers to them so far.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Round {
    answers: InputResponses,
    /// Number of the round in its call, from 1.
    pub(super) number: usize,
    required: InputRequired,
}

impl Round {
    pub(super) fn new(number: usize, required: InputRequired) -> Self {
        Self {
            answers: InputResponses::new(),
            number,
            required,
        }
    }

    /// Answers requests in order until one needs a person or a model; returns that question.
    ///
    /// # Errors
    /// The request that is refused.
    pub(super) fn fill(
        &mut self,
        terms: &McpTerms,
        noted: Noted<'_>,
    ) -> Result<Option<AwaitedInput>, Refused> {
        for (key, request) in &self.required.requests {
            if self.answers.contains_key(key) {
                continue;
            }
            let answer = match (request.method.as_str(), terms.elicitation) {
                (ROOTS, _) if !terms.roots.is_empty() => json!({"roots": roots(terms)}),
                (ELICIT, Elicitation::Defaults) if !noted.0.is_full() => {
                    elicited(&request.params, noted)
                }
                (ELICIT, Elicitation::Ask) if !noted.0.is_full() => {
                    match question(&request.params, noted.1) {
                        Some(question) => return Ok(Some(AwaitedInput::Person(question))),
                        None => answered(&request.params, None, noted),
                    }
                }
                (SAMPLE, _) if terms.sampling.is_some() && !noted.0.is_full() => {
                    let asked = sampling::asked(&request.params, noted.1);
                    return asked
                        .map(|asked| Some(AwaitedInput::Model(asked)))
                        .map_err(Refused::Prompt);
                }
                (method, _) => return Err(Refused::NotGranted(method.to_owned())),
            };
            self.answers.insert(key.clone(), answer);
        }
        Ok(None)
    }

    /// Takes the answer to the last question of [`Self::fill`].
    ///
    /// # Errors
    /// [`Refused::NoInference`] if no model answered: the protocol has no refusal for that.
    pub(super) fn give(
        &mut self,
        content: Option<&ObjectText>,
        noted: Noted<'_>,
    ) -> Result<(), Refused> {
        let open = |(key, _): &(&String, &InputRequest)| !self.answers.contains_key(*key);
        if let Some((key, request)) = self.required.requests.iter().find(open) {
            let answer = if request.method == SAMPLE {
                let result = sampling::sampled(&request.params, content, noted);
                result.ok_or(Refused::NoInference)?
            } else {
                answered(&request.params, content, noted)
            };
            self.answers.insert(key.clone(), answer);
        }
        Ok(())
    }

    /// The state from which a later process can resume; `None` if it must not be recorded.
    pub(super) fn resume(&self, scrub: &dyn Scrubber) -> Option<String> {
        let text = serde_json::to_string(self).ok()?;
        let clean = text.len() <= ROUND_BYTES && matches!(scrub.text(&text), Cow::Borrowed(_));
        clean.then_some(text)
    }

    /// The answers and the state that is returned with them.
    pub(super) fn into_input(self) -> (InputResponses, Option<String>) {
        (self.answers, self.required.state)
    }
}

/// The question for a person; `None` if a person cannot answer it here: its answer belongs at an address, or it is too long.
pub(super) fn question(params: &Value, scrub: &dyn Scrubber) -> Option<ObjectText> {
    if params.get("url").is_some() {
        return None;
    }
    let mut question = Map::new();
    for key in ["message", "requestedSchema"] {
        if let Some(value) = params.get(key) {
            question.insert(key.to_owned(), value.clone());
        }
    }
    let text = scrub.owned_text(Value::Object(question).to_string());
    let text = ObjectText::parse(text).ok()?;
    (text.as_str().len() <= QUESTION_BYTES).then_some(text)
}

/// Makes and notes the answer of a person, or a refusal.
pub(super) fn answered(params: &Value, content: Option<&ObjectText>, noted: Noted<'_>) -> Value {
    let content = content.map(ObjectText::to_value);
    let text = |name: &str| params.get(name).and_then(Value::as_str).map(str::to_owned);
    let schema = params.get("requestedSchema");
    let (log, scrub) = noted;
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

/// The answer to a request for input: the defaults of its fields, where that is enough. It is noted.
pub(super) fn elicited(params: &Value, noted: Noted<'_>) -> Value {
    // Input at an address needs a person there.
    let schema = params.get("requestedSchema");
    let schema = schema.filter(|_| params.get("url").is_none());
    let content = schema.and_then(with_defaults).map(Value::Object);
    let content = content.and_then(|content| ObjectText::parse(content.to_string()).ok());
    answered(params, content.as_ref(), noted)
}

/// The default of every field that has one; `None` if a field that is needed has none.
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

    /// The log of the call that began first: a request does not name its call.
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
        AwaitedInput, Elicitation, ExchangeLog, InputAnswer, InputRequired, McpTerms, ObjectText,
        OpenCalls, Refused, Round, elicited, roots, with_defaults,
    };
    use monolith_core::message::NoSecrets;

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
        let answers = |required: InputRequired, elicitation| {
            let mut round = Round::new(1, required);
            let question = round.fill(&granting(elicitation), (&log, &NoSecrets));
            assert_eq!(question?, None);
            Ok::<_, Refused>(round.into_input())
        };
        assert_eq!(
            answers(asked("elicitation/create"), Elicitation::Denied),
            Err(Refused::NotGranted("elicitation/create".to_owned()))
        );
        let (granted, state) = answers(asked("elicitation/create"), Elicitation::Defaults).unwrap();
        assert_eq!(granted["a"], json!({"action": "accept", "content": {}}));
        assert_eq!(state.as_deref(), Some("s"));
        for other in ["sampling/createMessage", "roots/list", "made/up"] {
            for granted in [Elicitation::Ask, Elicitation::Defaults] {
                let refused = Refused::NotGranted(other.to_owned());
                assert_eq!(answers(asked(other), granted), Err(refused));
            }
        }
        // Without a schema there is nothing to fill in.
        let bare = json!({"inputRequests": {"a": {"method": "elicitation/create"}}});
        let bare: InputRequired = serde_json::from_value(bare).unwrap();
        let (declined, _) = answers(bare, Elicitation::Defaults).unwrap();
        assert_eq!(declined["a"], json!({"action": "decline"}));
        assert_eq!(log.take().len(), 2);
    }

    #[test]
    fn a_person_is_asked_one_thing_after_the_other_also_by_a_later_process() {
        let asked =
            |message: &str| json!({"method": "elicitation/create", "params": {"message": message}});
        let required = json!({
            "inputRequests": {"a": asked("A?"), "b": asked("B?"), "c": {"method": "elicitation/create", "params": {"message": "C", "url": "https://h/"}}},
            "requestState": "s",
        });
        let log = ExchangeLog::default();
        let noted = (&log, &NoSecrets as &dyn monolith_core::message::Scrubber);
        let terms = granting(Elicitation::Ask);
        let mut round = Round::new(1, serde_json::from_value(required).unwrap());
        let first = round.fill(&terms, noted).unwrap().unwrap();
        let question = |text: &str| AwaitedInput::Person(ObjectText::parse(text).unwrap());
        assert_eq!(first, question(r#"{"message":"A?"}"#));
        let content = ObjectText::parse(r#"{"n":1}"#).unwrap();
        round.give(Some(&content), noted).unwrap();
        assert_eq!(
            round.fill(&terms, noted).unwrap().unwrap(),
            question(r#"{"message":"B?"}"#)
        );
        let kept = round.resume(&NoSecrets).unwrap();
        let mut round: Round = serde_json::from_str(&kept).unwrap();
        round.give(None, noted).unwrap();
        assert_eq!(round.fill(&terms, noted), Ok(None));
        let (answers, state) = round.into_input();
        let declined = json!({"action": "decline"});
        assert_eq!(
            answers["a"],
            json!({"action": "accept", "content": {"n": 1}})
        );
        assert_eq!((&answers["b"], &answers["c"]), (&declined, &declined));
        assert_eq!(state.as_deref(), Some("s"));
        let noted: Vec<_> = log
            .take()
            .into_iter()
            .map(|one| (one.message, one.url))
            .collect();
        assert_eq!(noted[2], ("C".to_owned(), Some("https://h/".to_owned())));
    }

    #[test]
    fn an_exchange_is_noted_and_what_is_to_be_entered_at_an_address_is_declined() {
        let log = ExchangeLog::default();
        let schema = json!({"type": "object", "properties": {"name": {"default": "J"}}});
        let form = json!({"message": "Who?", "requestedSchema": schema});
        elicited(&form, (&log, &NoSecrets));
        let address = json!({"mode": "url", "message": "Pay", "url": "https://h/pay", "requestedSchema": schema});
        assert_eq!(
            elicited(&address, (&log, &NoSecrets)),
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
        let (calls, logs) = (
            OpenCalls::default(),
            [(); 2].map(|()| std::sync::Arc::default()),
        );
        assert!(calls.first().is_none());
        let first = calls.open(&logs[0]);
        let _second = calls.open(&logs[1]);
        assert!(std::sync::Arc::ptr_eq(&calls.first().unwrap(), &logs[0]));
        drop(first);
        assert!(std::sync::Arc::ptr_eq(&calls.first().unwrap(), &logs[1]));
    }
}
