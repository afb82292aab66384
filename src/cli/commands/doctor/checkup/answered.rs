//! The answer of a model server to a request for its models, judged for one provider of a contract. Asks no server.

use serde_json::Value;

use super::finding::{Finding, missing, ok, wrong};
use monolith_core::contract::ProviderType;
use monolith_host::inference::ServerAnswer;

const NAME: &str = "contract";
/// The most models that are named.
const MOST: usize = 8;
/// The most characters of a server's own words, and of a model's name.
const MOST_CHARS: usize = 120;

/// The demands of a contract on a provider.
#[derive(Clone, Debug)]
pub(super) struct ProviderNeeds<'c> {
    /// Its address, without anything that may be secret.
    pub(super) address: String,
    /// Its wire protocol.
    pub(super) kind: ProviderType,
    /// The models that its targets name.
    pub(super) models: Vec<&'c str>,
    pub(super) provider: &'c str,
    /// True if a run sends it a key; the doctor's request had none.
    pub(super) sends_key: bool,
    /// The variable of its key, where that is not set.
    pub(super) unset_key: Option<&'c str>,
}

impl ProviderNeeds<'_> {
    /// The finding on the answer to the list of models; `answer` is `None` if none came in time.
    pub(super) fn judge(&self, answer: Option<&ServerAnswer>) -> Finding {
        let provider = self.provider;
        let Some(answer) = answer else {
            let detail = format!("provider {provider}: its server gave no whole answer in time");
            return wrong(NAME, detail, "look at the server; it may still be loading");
        };
        let said = words(answer);
        let status = answer.status;
        let detail = format!("provider {provider}: its server answers HTTP {status}{said}");
        match status {
            200..300 => self.judge_list(answer),
            401 | 403 if self.sends_key => ok(
                NAME,
                format!(
                    "provider {provider}: its server answers, and wants the key, which is sent only by a run"
                ),
            ),
            401 | 403 if let Some(variable) = self.unset_key => wrong(
                NAME,
                detail,
                format!("it wants a key: export {variable}, which api_key_env names"),
            ),
            401 | 403 => wrong(
                NAME,
                detail,
                "it wants a key: name the variable that holds it with api_key_env",
            ),
            404 if said.to_lowercase().contains("model") => wrong(
                NAME,
                detail,
                "let the server load the model, or correct `model` of the target",
            ),
            404 if let Some(end) = self.kind.lacking_end(&self.address) => {
                let address = &self.address;
                wrong(
                    NAME,
                    format!("{detail} at {address}, which does not end in {end}"),
                    format!("correct base_url, which mostly ends in {end}"),
                )
            }
            503 => wrong(NAME, detail, "wait until it has loaded its model"),
            500.. => wrong(NAME, detail, "look at the server's own log"),
            _ => missing(
                NAME,
                format!("{detail} at {} where its models are listed", self.address),
                "not every server lists them; else correct base_url",
            ),
        }
    }

    /// A list of models, or something that is none.
    fn judge_list(&self, answer: &ServerAnswer) -> Finding {
        let provider = self.provider;
        let document = serde_json::from_slice::<Value>(&answer.body).ok();
        let Some(document) = document.filter(Value::is_object) else {
            let kind = match answer.content_type.split(';').next() {
                None | Some("") => "something without a content type".to_owned(),
                Some(kind) => short(kind),
            };
            return wrong(
                NAME,
                format!("provider {provider}: its server answers with {kind}, no JSON"),
                "correct base_url: it leads to something else than the model's API, which is mostly below /v1",
            );
        };
        let answers = format!("provider {provider}: its server answers");
        let listed = document.get("data").or_else(|| document.get("models"));
        let listed = listed.and_then(Value::as_array);
        let entries = || listed.into_iter().flatten();
        let names: Vec<&str> = entries().filter_map(name_of).collect();
        // A llama-server with one model mostly answers under every name; a proxy may speak as one and refuse.
        let is_llama = entries()
            .any(|model| model.get("owned_by").and_then(Value::as_str) == Some("llamacpp"));
        let any_name = is_llama && names.len() == 1;
        let is_there = |wanted: &str| {
            let tagged = format!("{wanted}:latest");
            let below = format!("models/{wanted}");
            let same = |name: &&str| *name == wanted || *name == tagged || *name == below;
            names.iter().any(same)
        };
        let lacking: Vec<&str> = self
            .models
            .iter()
            .copied()
            .filter(|wanted| !is_there(wanted))
            .collect();
        let held = listed_names(&names);
        if names.is_empty() || lacking.is_empty() {
            return ok(NAME, answers);
        }
        if any_name {
            return ok(
                NAME,
                format!(
                    "{answers}, and lists {held} alone; such a server mostly takes any name. Where a run says that the model does not exist, correct `model` of the target"
                ),
            );
        }
        let lacking = listed_names(&lacking);
        wrong(
            NAME,
            format!("{answers}, but does not list the model {lacking}; it lists {held}"),
            "correct `model` of the target, or let the server load it",
        )
    }
}

fn name_of(model: &Value) -> Option<&str> {
    let name = model.get("id").or_else(|| model.get("name"))?;
    name.as_str()
}

fn listed_names(names: &[&str]) -> String {
    let first = names.iter().take(MOST).map(|name| short(name));
    let mut text = first.collect::<Vec<_>>().join(", ");
    if let Some(more) = names.len().checked_sub(MOST).filter(|more| *more > 0) {
        text = format!("{text} and {more} more");
    }
    text
}

/// The server's own words of a fault, after a colon; empty where it has none.
fn words(answer: &ServerAnswer) -> String {
    let document = serde_json::from_slice::<Value>(&answer.body).ok();
    let error = document.as_ref().and_then(|document| document.get("error"));
    let message = error.and_then(|error| error.get("message").or(Some(error)));
    let message = message.and_then(Value::as_str).unwrap_or_default();
    if message.is_empty() {
        String::new()
    } else {
        format!(": {}", short(message))
    }
}

fn short(text: &str) -> String {
    text.chars().take(MOST_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::checkup::finding::Status;

    #[test]
    fn what_a_server_answers_is_judged_by_status_form_and_models() {
        let check = |sends_key: bool, status: u16, body: &str, expect: (Status, &str)| {
            let asked = ProviderNeeds {
                address: "http://h:1/v1".to_owned(),
                kind: ProviderType::Openai,
                models: vec!["m"],
                provider: "p",
                sends_key,
                unset_key: None,
            };
            let answer = ServerAnswer {
                body: body.as_bytes().to_vec(),
                content_type: "text/html; charset=utf-8".to_owned(),
                status,
            };
            let found = asked.judge(Some(&answer));
            assert_eq!(found.status, expect.0, "{found:?}");
            assert!(found.detail.contains(expect.1), "{found:?}");
        };
        let (good, bad) = (Status::Ok, Status::Wrong);
        check(false, 200, r#"{"data": [{"id": "m"}]}"#, (good, "answers"));
        check(
            false,
            200,
            r#"{"models": [{"name": "m:latest"}]}"#,
            (good, "answers"),
        );
        check(
            false,
            200,
            r#"{"data": [{"id": "a"}, {"id": "b"}]}"#,
            (bad, "does not list the model m; it lists a, b"),
        );
        check(
            false,
            200,
            r#"{"data": [{"id": "x.gguf", "owned_by": "llamacpp"}]}"#,
            (
                good,
                "lists x.gguf alone; such a server mostly takes any name",
            ),
        );
        check(
            false,
            200,
            r#"{"data": [{"id": "x", "owned_by": "llamacpp"}, {"id": "y", "owned_by": "llamacpp"}]}"#,
            (bad, "does not list the model m; it lists x, y"),
        );
        check(
            false,
            200,
            "<html>",
            (bad, "answers with text/html, no JSON"),
        );
        check(false, 401, "", (bad, "HTTP 401"));
        check(true, 401, "", (good, "wants the key"));
        check(
            false,
            503,
            r#"{"error": {"code": 503, "message": "Loading model"}}"#,
            (bad, "HTTP 503: Loading model"),
        );
        check(
            false,
            404,
            r#"{"error": {"message": "model 'm' not found"}}"#,
            (bad, "HTTP 404: model 'm' not found"),
        );
        check(
            false,
            404,
            "",
            (Status::Missing, "HTTP 404 at http://h:1/v1 where"),
        );
    }
}
