//! The parameters that an error report names as the ones a provider does not take. Knows words and names; does not decide what
//! follows.

use crate::message::{Members, Parameter, ProviderFault};

/// Words with which servers refuse a parameter or its value, in lower case.
const REFUSAL_WORDS: &[&str] = &[
    "cannot both be",
    "can not both be",
    "cannot find field",
    "cannot be set",
    "cannot be used",
    "deprecated",
    "does not support",
    "doesn't support",
    "extra inputs are not permitted",
    "extra fields not permitted",
    "extra_forbidden",
    "field required to be absent",
    "has no support for",
    "incompatible",
    "invalid",
    "is not enabled",
    "may not be",
    "may only be",
    "must be",
    "must contain the word",
    "not allowed",
    "not implemented",
    "not permitted",
    "not recognized",
    "not supported",
    "only allowed when",
    "only available",
    "only supported when",
    "only the default",
    "only supports",
    "should be",
    "too large",
    "unavailable",
    "unexpected",
    "unknown field",
    "unknown name",
    "unknown parameter",
    "unrecognized",
    "unsupported",
    "不支持",
];
/// Words before a list of the names that the server does take.
const TAKEN_WORDS: &[&str] = &["expected one of"];
/// The further part of a response that requests to OpenAI's Responses ask for, in lower case.
const INCLUDED: &[&str] = &[
    "encrypted content is not supported",
    "reasoning.encrypted_content",
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
/// Names that messages and schemas contain, too: they count only in `param`.
const COMMON_NAMES: &[&str] = &["format", "text"];
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
/// The form of an answer, as reports of Anthropic, OpenAI's Responses and Ollama name it.
const OUTPUT_FORMATS: &[&str] = &[
    "output_config.format",
    "text.format",
    "JSON schema in format",
];
/// The new name of the limit of an answer.
pub(super) const NEW_LIMIT: &str = "max_completion_tokens";
/// The old name.
pub(super) const OLD_LIMIT: &str = "max_tokens";

/// The parameters that a report names: in its member `param`, else in its message, in the order in which they stand there.
pub(super) fn refused_parameters(param: Option<&str>, message: &str) -> Vec<Parameter> {
    let is_format = |text: &str| OUTPUT_FORMATS.iter().any(|name| text.contains(name));
    if param.is_some_and(is_format) || is_format(message) {
        return vec![Parameter::ResponseFormat];
    }
    let words = message.to_ascii_lowercase();
    if INCLUDED.iter().any(|phrase| words.contains(phrase)) {
        return vec![Parameter::Include];
    }
    if refuses_budget(&words) {
        return vec![Parameter::ReasoningForm];
    }
    let stated = param.map(|param| param.split(['.', '[']).next().unwrap_or(param));
    let mut found: Vec<Parameter> = stated.and_then(Parameter::named).into_iter().collect();
    let taken = TAKEN_WORDS.iter().filter_map(|phrase| words.find(phrase));
    let end = taken.min().unwrap_or(message.len());
    let (message, instead) = without_advice(message.get(..end).unwrap_or(message));
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

/// True if a message in lower case refuses a budget of tokens as the form of reasoning, and not its size.
fn refuses_budget(words: &str) -> bool {
    let is_of_form = |phrase: &&&str| !phrase.ends_with(" be") && **phrase != "invalid";
    let refusals = REFUSAL_WORDS.iter().filter(is_of_form);
    words.contains("thinking.type.enabled")
        || words.contains("budget_tokens") && refusals.copied().any(|phrase| words.contains(phrase))
}

/// The fault with the author's own members of requests among the refused parameters: its words name a key of `options`, an
/// object, and no parameter.
pub(crate) fn naming_options(mut fault: ProviderFault, options: &str) -> ProviderFault {
    let words = fault.message.to_ascii_lowercase();
    let is_refusal = fault.permanent
        && matches!(fault.status, Some(400 | 422))
        && REFUSAL_WORDS.iter().any(|phrase| words.contains(phrase));
    let members = serde_json::from_str(options).map(|Members(members)| members);
    let names_one = members.is_ok_and(|members| {
        let mut keys = members.iter().map(|(key, _)| key.as_str());
        keys.any(|key| !key.is_empty() && names(&fault.message, key))
    });
    if is_refusal && names_one && fault.parameters.is_empty() {
        fault.parameters = vec![Parameter::ProviderOptions];
    }
    fault
}

/// True if a text marks that word as a name.
fn names(text: &str, word: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(at + word.len()..).unwrap_or_default();
        !before.ends_with(is_name)
            && !after.starts_with(is_name)
            && (word.contains('_') || before.ends_with(": ") || is_marked(before, after))
    })
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
            let is_marked = is_marked && !COMMON_NAMES.contains(&name);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ProviderFaultClass;
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
            &[ReasoningForm],
        );
        check(
            None,
            "thinking.budget_tokens: Extra inputs are not permitted",
            &[ReasoningForm],
        );
        check(
            None,
            "max_tokens must be greater than thinking.budget_tokens",
            &[MaxOutputTokens, Reasoning],
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
        // The form of an answer: OpenAI, DeepSeek, Anthropic, Gemini.
        check(
            Some("text.format.schema"),
            "Invalid schema for response_format 'output'",
            &[ResponseFormat],
        );
        check(
            None,
            "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
            &[ResponseFormat],
        );
        check(
            None,
            "This response_format type is unavailable now",
            &[ResponseFormat],
        );
        check(
            None,
            "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
            &[ResponseFormat],
        );
        check(
            None,
            "Unknown name \"responseJsonSchema\" at 'generation_config': Cannot find field.",
            &[ResponseFormat],
        );
        check(
            None,
            "litellm.UnsupportedParamsError: openai does not support parameters: ['temperature'], for model=gpt-5.",
            &[Temperature],
        );
    }

    #[test]
    fn one_parameter_is_refused_in_many_words() {
        for message in [
            "Failed to deserialize the JSON body into the target type: unknown field `parallel_tool_calls`, expected one of `model`, `messages`, `temperature`",
            "parallel_tool_calls cannot be set for this model",
            "parallel_tool_calls is not implemented",
            "parallel_tool_calls is only supported when tools are provided",
            "This model has no support for parallel_tool_calls",
            "参数 parallel_tool_calls 不支持",
        ] {
            assert_eq!(
                refused_parameters(None, message),
                [ParallelToolCalls],
                "{message}"
            );
        }
        for message in [
            "Encrypted content is not supported with this model.",
            "reasoning.encrypted_content is only available for reasoning models",
        ] {
            assert_eq!(refused_parameters(None, message), [Include], "{message}");
        }
    }

    #[test]
    fn a_refused_member_of_the_authors_options_is_a_stated_parameter() {
        let check = |status: u16, message: &str, expect: &[Parameter]| {
            let fault = ProviderFault {
                permanent: true,
                status: Some(status),
                ..ProviderFault::new(ProviderFaultClass::Model, message)
            };
            let options = r#"{"foo":1,"service_tier":"x"}"#;
            assert_eq!(
                naming_options(fault, options).parameters,
                expect,
                "{message}"
            );
        };
        for message in [
            "Unrecognized request argument supplied: foo",
            "Unknown parameter: 'foo.bar'.",
            "service_tier is not supported",
        ] {
            check(400, message, &[ProviderOptions]);
            check(404, message, &[]);
        }
        for message in [
            "Unknown parameter: 'food'.",
            "the model is not supported, fool",
            "foo",
        ] {
            check(400, message, &[]);
        }
    }

    #[test]
    fn a_plain_word_or_another_fault_names_no_parameter() {
        for message in [
            "",
            "Invalid value: 'text'. Supported values are: 'input_text' and 'output_text'.",
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
}
