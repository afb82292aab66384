//! The parameters that an error report names as the ones a provider does not take, and requests without them. Knows words and
//! names; does not decide what follows.

use std::collections::BTreeSet;

use super::RequestBody;
use super::json::put;
use crate::message::{Members, Parameter};

/// Words with which servers refuse a parameter or its value, in lower case.
const REFUSAL_WORDS: &[&str] = &[
    "cannot both be",
    "can not both be",
    "cannot find field",
    "cannot be used",
    "deprecated",
    "does not support",
    "doesn't support",
    "extra inputs are not permitted",
    "extra fields not permitted",
    "extra_forbidden",
    "field required to be absent",
    "incompatible",
    "invalid",
    "is not enabled",
    "may not be",
    "may only be",
    "must be",
    "not allowed",
    "not permitted",
    "not recognized",
    "not supported",
    "only the default",
    "only supports",
    "should be",
    "too large",
    "unexpected",
    "unknown name",
    "unknown parameter",
    "unrecognized",
    "unsupported",
];
/// Names that are also plain words: they count only where the report marks them as names.
const PLAIN_WORDS: &[&str] = &[
    "include",
    "reasoning",
    "seed",
    "stop",
    "store",
    "think",
    "thinking",
];
/// Words before a name that is not in quotes.
const NAMING_WORDS: &[&str] = &[
    "parameter ",
    "parameters ",
    "argument ",
    "field ",
    "property ",
];
/// Words with which servers miss a member of a message.
const MISSING_WORDS: &[&str] = &["is missing", "missing in", "must be passed", "passed back"];
/// Objects of a request that hold parameters.
const CONTAINERS: &[&str] = &["generationConfig", "options"];
/// The new name of the limit of an answer.
const NEW_LIMIT: &str = "max_completion_tokens";
/// The old name.
const OLD_LIMIT: &str = "max_tokens";

/// The parameters that a report names: in its member `param`, else in its message, in the order in which they stand there.
pub(super) fn refused_parameters(param: Option<&str>, message: &str) -> Vec<Parameter> {
    let stated = param.map(|param| param.split(['.', '[']).next().unwrap_or(param));
    let mut found: Vec<Parameter> = stated.and_then(Parameter::named).into_iter().collect();
    let (message, instead) = without_advice(message);
    let words = message.to_ascii_lowercase();
    if found.is_empty() && REFUSAL_WORDS.iter().any(|phrase| words.contains(phrase)) {
        let misses = MISSING_WORDS.iter().any(|phrase| words.contains(phrase));
        for parameter in named_in(&message) {
            let is_missed = misses && parameter == Parameter::ProviderState;
            if !is_missed && !found.contains(&parameter) {
                found.push(parameter);
            }
        }
    }
    let names_old = stated == Some(OLD_LIMIT) || message.contains(OLD_LIMIT);
    if names_old && instead.contains(NEW_LIMIT) {
        return vec![Parameter::MaxTokensName];
    }
    found
}

/// The message without its advice `Use X instead`, and the advice.
fn without_advice(message: &str) -> (String, String) {
    let lower = message.to_ascii_lowercase();
    let advice = lower.find("instead").and_then(|end| {
        let start = lower.get(..end)?.rfind("use ")?;
        Some((
            message.get(..start)?,
            message.get(start..end)?,
            message.get(end..)?,
        ))
    });
    advice.map_or_else(
        || (message.to_owned(), String::new()),
        |(before, advice, after)| (format!("{before}{after}"), advice.to_owned()),
    )
}

/// The parameters whose names stand in a text.
fn named_in(text: &str) -> impl Iterator<Item = Parameter> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = text.get(at..)?;
            let start = at + rest.find(is_name)?;
            let word = text.get(start..)?;
            let end = word
                .find(|c| !is_name(c))
                .map_or(text.len(), |end| start + end);
            at = end;
            let name = text.get(start..end)?;
            let (before, after) = (text.get(..start)?, text.get(end..)?);
            let is_marked = !PLAIN_WORDS.contains(&name) || is_marked(before, after);
            if let Some(parameter) = Parameter::named(name).filter(|_| is_marked) {
                return Some(parameter);
            }
        }
    })
}

/// True if a text between these two is marked as a name: by quotes, by a word, or as a place at the beginning.
fn is_marked(before: &str, after: &str) -> bool {
    let begins = before.is_empty() && after.starts_with([':', '.']);
    let lower = before.to_ascii_lowercase();
    before.ends_with(['\'', '"', '`'])
        || NAMING_WORDS.iter().any(|word| lower.ends_with(word))
        || begins
}

impl RequestBody {
    /// The body without the parameters that its target refused.
    #[must_use]
    pub fn without(self, left_out: &BTreeSet<Parameter>) -> Self {
        if left_out.is_empty() {
            return self;
        }
        let text = std::str::from_utf8(&self.bytes).unwrap_or_default();
        match remaining(text, left_out, true) {
            Some(text) => Self::whole(text.into_bytes()),
            None => self,
        }
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
        if is_left_out(&key) {
            continue;
        }
        if out.len() > 1 {
            out.push(b',');
        }
        let is_old = renames && descends && key == OLD_LIMIT;
        put(&mut out, &if is_old { NEW_LIMIT } else { &key });
        out.push(b':');
        let inner = descends && CONTAINERS.contains(&key.as_str());
        let inner = inner.then(|| remaining(value.get(), left_out, false));
        let inner = inner.flatten();
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
    fn a_report_names_the_parameter_that_its_server_does_not_take() {
        let check = |param: Option<&str>, message: &str, expect: &[Parameter]| {
            assert_eq!(refused_parameters(param, message), expect, "{message}");
        };
        // OpenAI.
        check(
            Some("max_tokens"),
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            &[MaxTokensName],
        );
        check(
            Some("temperature"),
            "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) value is supported.",
            &[Temperature],
        );
        check(
            None,
            "Unsupported parameter: 'top_p' is not supported with this model.",
            &[TopP],
        );
        check(
            Some("reasoning.effort"),
            "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
            &[Reasoning],
        );
        check(
            Some("stream_options"),
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            &[StreamOptions],
        );
        check(
            Some("max_tokens"),
            "max_tokens is too large: 100000. This model supports at most 16384 completion tokens.",
            &[MaxOutputTokens],
        );
        // Anthropic.
        check(
            None,
            "`temperature` is deprecated for this model.",
            &[Temperature],
        );
        check(
            None,
            "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
            &[Temperature, TopP],
        );
        check(
            None,
            "temperature: Extra inputs are not permitted",
            &[Temperature],
        );
        check(
            None,
            "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.",
            &[Reasoning],
        );
        check(
            None,
            "Thinking may not be enabled when tool_choice forces tool use.",
            &[ToolChoice],
        );
        check(
            None,
            "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens, and must be less",
            &[MaxOutputTokens],
        );
        // Mistral, and other servers that check with pydantic.
        check(
            None,
            r#"{"detail":[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not permitted","input":0},{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}"#,
            &[Seed, StreamOptions],
        );
        check(
            None,
            "[{'type': 'extra_forbidden', 'loc': ('body', 'repeat_penalty'), 'msg': 'Extra inputs are not permitted'}]",
            &[RepeatPenalty],
        );
        // Gemini.
        check(
            None,
            "Invalid JSON payload received. Unknown name \"seed\" at 'generation_config': Cannot find field.",
            &[Seed],
        );
        check(
            None,
            "Unknown name \"thinkingConfig\" at 'generation_config': Cannot find field.",
            &[Reasoning],
        );
        // DeepSeek, Kimi, Groq, xAI, Fireworks, litellm.
        check(
            None,
            "deepseek-reasoner does not support this tool_choice",
            &[ToolChoice],
        );
        check(None, "\"temperature\" is not supported", &[Temperature]);
        check(
            None,
            "invalid temperature: only 1 is allowed for this model",
            &[Temperature],
        );
        check(
            None,
            "property 'stream_options' is unsupported, did you mean 'stream'?",
            &[StreamOptions],
        );
        check(
            None,
            "Model grok-4 does not support parameter stop.",
            &[Stop],
        );
        check(
            None,
            "Extra inputs are not permitted, field: 'seed', value: 0",
            &[Seed],
        );
        check(
            None,
            "litellm.UnsupportedParamsError: openai does not support parameters: ['temperature'], for model=gpt-5.",
            &[Temperature],
        );
    }

    #[test]
    fn a_member_of_a_message_that_is_refused_is_the_state_of_its_provider() {
        for message in [
            "Unknown parameter: 'messages[1].phase'.",
            "messages.2.reasoning_content: Extra inputs are not permitted",
        ] {
            let param = Some("messages[1].phase");
            assert_eq!(refused_parameters(None, message), [ProviderState]);
            assert_eq!(refused_parameters(param, message), [ProviderState]);
        }
    }

    #[test]
    fn a_plain_word_or_another_fault_names_no_parameter() {
        for message in [
            "",
            "messages: tool results must be in the store before they stop",
            "Invalid 'messages[0].content': a string is not supported",
            "the model does not support thinking",
            "temperature",
            "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
        ] {
            assert_eq!(refused_parameters(None, message), [], "{message}");
        }
        assert_eq!(refused_parameters(Some("tools[0].function"), "bad"), []);
    }

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
        check("[]", &[Seed], "[]");
    }
}
