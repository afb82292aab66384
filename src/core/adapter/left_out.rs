//! Requests without the parameters that their target refused. Knows the names of each protocol; does not know why.

use std::collections::BTreeSet;

use super::RequestBody;
use super::json::put;
use super::reasoning_form::with_effort;
use super::refused_parameters::{NEW_LIMIT, OLD_LIMIT};
use crate::message::{Members, Parameter};

/// Objects of a request that hold parameters.
const CONTAINERS: &[&str] = &["generationConfig", "options", OUTPUT_CONFIG];
/// The object of Anthropic's requests that holds the form of the answer and the effort of reasoning.
const OUTPUT_CONFIG: &str = "output_config";

impl RequestBody {
    /// The body without the parameters that its target refused.
    #[must_use]
    pub fn without(self, left_out: &BTreeSet<Parameter>) -> Self {
        if left_out.is_empty() {
            return self;
        }
        let text = std::str::from_utf8(&self.bytes).unwrap_or_default();
        let Some(text) = remaining(text, left_out, true) else {
            return self;
        };
        let reformed = left_out.contains(&Parameter::ReasoningForm);
        let reformed = reformed.then(|| with_effort(&text)).flatten();
        Self::whole(reformed.unwrap_or(text).into_bytes())
    }
}

/// The object without those parameters; `None` if the text is no object.
fn remaining(text: &str, left_out: &BTreeSet<Parameter>, descends: bool) -> Option<String> {
    let Members(members) = serde_json::from_str(text).ok()?;
    let is_left_out = |key: &str| {
        let parameter = Parameter::named(key);
        parameter.is_some_and(|parameter| left_out.contains(&parameter))
    };
    let renames = left_out.contains(&Parameter::MaxTokensName);
    let mut out = b"{".to_vec();
    for (key, value) in members {
        let inner = descends && CONTAINERS.contains(&key.as_str());
        let inner = inner.then(|| remaining(value.get(), left_out, false));
        let inner = inner.flatten();
        let is_emptied = inner.as_deref() == Some("{}") && value.get() != "{}";
        if is_left_out(&key) || is_emptied {
            continue;
        }
        if out.len() > 1 {
            out.push(b',');
        }
        let is_old = renames && descends && key == OLD_LIMIT;
        put(&mut out, &if is_old { NEW_LIMIT } else { &key });
        out.push(b':');
        out.extend_from_slice(inner.as_deref().unwrap_or(value.get()).as_bytes());
    }
    out.push(b'}');
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Parameter::*;

    #[test]
    fn a_body_loses_exactly_what_is_left_out() {
        let check = |body: &str, left_out: &[Parameter], expect: &str| {
            let body = RequestBody::whole(body.as_bytes().to_vec());
            let left_out = left_out.iter().copied().collect();
            let body = body.without(&left_out);
            assert_eq!(std::str::from_utf8(&body).unwrap(), expect);
            assert_eq!(body, RequestBody::whole(expect.as_bytes().to_vec()));
        };
        let body = r#"{"model":"m","messages":[{"temperature":1}],"max_tokens":4096,"temperature":0.70,"stream":true}"#;
        check(body, &[], body);
        check(
            body,
            &[Temperature, Seed],
            r#"{"model":"m","messages":[{"temperature":1}],"max_tokens":4096,"stream":true}"#,
        );
        check(
            body,
            &[MaxTokensName, Temperature],
            r#"{"model":"m","messages":[{"temperature":1}],"max_completion_tokens":4096,"stream":true}"#,
        );
        check(
            r#"{"contents":[],"generationConfig":{"temperature":1,"topP":0.5}}"#,
            &[TopP],
            r#"{"contents":[],"generationConfig":{"temperature":1}}"#,
        );
        check(
            r#"{"options":{"num_predict":1,"seed":0},"stream":false}"#,
            &[MaxOutputTokens],
            r#"{"options":{"seed":0},"stream":false}"#,
        );
        check(
            r#"{"output_config":{"effort":"low","format":{}},"stream":false}"#,
            &[ResponseFormat],
            r#"{"output_config":{"effort":"low"},"stream":false}"#,
        );
        check(
            r#"{"output_config":{"format":{}},"text":{"format":{}},"response_format":{},"format":"json"}"#,
            &[ResponseFormat],
            "{}",
        );
        check("[]", &[Seed], "[]");
        check(
            r#"{"max_tokens":8,"thinking":{"type":"enabled","budget_tokens":6}}"#,
            &[ReasoningForm],
            r#"{"max_tokens":8,"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}}"#,
        );
    }
}
