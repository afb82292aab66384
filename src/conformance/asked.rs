//! The expectations of a case about the requests that a run sent.

use serde::Deserialize;
use serde_json::Value;

use super::model::with_nonce;
use super::part_of::part_of;
use monolith_core::message::Digest;

/// The expected body of one request; omitted parts are not compared. `NONCE` stands for the nonce of the run.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct AskText {
    /// Members of the body; of mappings only those that are given.
    body: Option<Value>,
    contains: Vec<String>,
    never: Vec<String>,
    /// The names of the tools that it offers, in order.
    offers: Option<Vec<String>>,
    /// The roles of its messages, in order.
    roles: Option<Vec<String>>,
}

impl AskText {
    /// Everything in which the body of request `n`, from 1, differs.
    pub(super) fn differences(&self, n: usize, body: &[u8], genesis: &Digest) -> Vec<String> {
        let mut found = Vec::new();
        let text = String::from_utf8_lossy(body);
        let holds = |part: &&String| text.contains(&with_nonce(part, genesis));
        for part in self.contains.iter().filter(|part| !holds(part)) {
            found.push(format!("request {n} holds no {part:?}: {text}"));
        }
        for part in self.never.iter().filter(holds) {
            found.push(format!("request {n} holds {part:?}"));
        }
        let document: Value = serde_json::from_slice(body).unwrap_or_default();
        if let Some(expected) = &self.body {
            found.extend(part_of(expected, &document, &format!("request {n}: ")));
        }
        let mut compare = |what: &str, expected: Option<&Vec<String>>, got: Vec<String>| {
            if let Some(expected) = expected.filter(|expected| **expected != got) {
                found.push(format!(
                    "request {n}: {what}: expected {expected:?}, got {got:?}"
                ));
            }
        };
        let offers = texts(document.get("tools"), &["/function/name", "/name"]);
        compare("offers", self.offers.as_ref(), offers);
        compare(
            "roles",
            self.roles.as_ref(),
            texts(document.get("messages"), &["/role"]),
        );
        found
    }
}

/// The text at the first of `pointers` that leads to one, for each item of a list.
fn texts(list: Option<&Value>, pointers: &[&str]) -> Vec<String> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    let text = |item: &Value| {
        let mut found = pointers.iter().filter_map(|at| item.pointer(at)?.as_str());
        found.next().unwrap_or_default().to_owned()
    };
    items.map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = r#"{"messages":[{"content":"a NONCE","role":"system"},{"role":"user"}],
        "temperature":0.5,"tools":[{"function":{"name":"echo"}},{"name":"clock"}]}"#;

    fn check(ask: &str, expect: &[&str]) {
        let ask: AskText = serde_saphyr::from_str(ask).unwrap();
        let genesis = Digest::of(b"genesis");
        let body = with_nonce(BODY, &genesis);
        let found = ask.differences(2, body.as_bytes(), &genesis);
        assert_eq!(found.len(), expect.len(), "{found:?}");
        for (found, expect) in found.iter().zip(expect) {
            assert!(found.starts_with(expect), "{found}");
        }
    }

    #[test]
    fn a_request_that_is_as_it_should_be_differs_in_nothing() {
        check(
            "{contains: [a NONCE], never: [b], offers: [echo, clock], roles: [system, user], body: {temperature: 0.5}}",
            &[],
        );
        check("{}", &[]);
    }

    #[test]
    fn whatever_differs_is_named_with_its_request() {
        check("{contains: [b]}", &["request 2 holds no \"b\""]);
        check("{never: [a NONCE]}", &["request 2 holds \"a NONCE\""]);
        check("{offers: [clock, echo]}", &["request 2: offers: expected"]);
        check("{roles: [system]}", &["request 2: roles: expected"]);
        check(
            "{body: {temperature: 1}}",
            &["request 2: /temperature: expected 1, got 0.5"],
        );
    }
}
