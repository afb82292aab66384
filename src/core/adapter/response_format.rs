//! The form that a request asks for, of the message that ends a run (001 §2). Knows the members of each protocol; judges no answer.
//!
//! A schema is sent as the author wrote it. A target that refuses it is asked without a form, as for any parameter that no one stated.

use serde::Serialize;
use serde_json::Value;

use crate::contract::{TargetTerms, Terms};

/// The name of the schema, which OpenAI's protocols want.
const NAME: &str = "output";

/// A form of OpenAI's protocols: `response_format` of the older one, `text.format` of the newer one.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum OpenaiFormat<S> {
    /// Any object.
    JsonObject,
    /// A value that fits the schema.
    JsonSchema(S),
}

/// The schema below a separate member.
#[derive(Serialize)]
pub(super) struct ChatSchema<'a> {
    json_schema: NamedSchema<'a>,
}

/// A schema and its name.
#[derive(Serialize)]
pub(super) struct NamedSchema<'a> {
    name: &'static str,
    schema: &'a Value,
    /// OpenAI's strict form takes only some schemas.
    strict: bool,
}

/// The member `text`.
#[derive(Serialize)]
pub(super) struct TextMember<'a> {
    format: OpenaiFormat<NamedSchema<'a>>,
}

/// The form of Anthropic's protocol, which takes no JSON without a schema.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum AnthropicFormat<'a> {
    /// A value that fits the schema.
    JsonSchema { schema: &'a Value },
}

const fn named(schema: &Value) -> NamedSchema<'_> {
    NamedSchema {
        name: NAME,
        schema,
        strict: false,
    }
}

impl<'a> OpenaiFormat<ChatSchema<'a>> {
    pub(super) fn of_chat(terms: &'a Terms, target: &TargetTerms) -> Option<Self> {
        let schema = terms.asked_format(target)?.schema.as_ref();
        Some(schema.map_or(Self::JsonObject, |schema| {
            Self::JsonSchema(ChatSchema {
                json_schema: named(schema),
            })
        }))
    }
}

impl<'a> TextMember<'a> {
    pub(super) fn of(terms: &'a Terms, target: &TargetTerms) -> Option<Self> {
        let schema = terms.asked_format(target)?.schema.as_ref();
        let format = schema.map_or(OpenaiFormat::JsonObject, |schema| {
            OpenaiFormat::JsonSchema(named(schema))
        });
        Some(Self { format })
    }
}

impl<'a> AnthropicFormat<'a> {
    pub(super) fn of(terms: &'a Terms, target: &TargetTerms) -> Option<Self> {
        let schema = terms.asked_format(target)?.schema.as_ref()?;
        Some(Self::JsonSchema { schema })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::adapter::fixture::{encode, terms, text_message};
    use crate::contract::{Terms, wire_version};
    use crate::kernel::ToolExposure;
    use crate::message::Role;

    fn asking(version: &str, schema: &Value) -> Terms {
        terms(|value| {
            value["targets"][0]["adapter_version"] = json!(version);
            value["response_format"] = json!({"format": "json", "schema": schema});
        })
    }

    fn body(terms: &Terms, tools: ToolExposure) -> Value {
        let body = encode(terms, &[text_message(Role::User, "hi")], tools);
        serde_json::from_str(&body).unwrap()
    }

    /// 001/2.file.18
    #[test]
    fn a_request_asks_for_json_where_its_protocol_can() {
        let schema = json!({"type": "object", "required": ["a"]});
        let check = |version: &str, pointer: &str, any: &Value, fitting: &Value| {
            for (schema, expect) in [(&Value::Null, any), (&schema, fitting)] {
                let body = body(&asking(version, schema), ToolExposure::Withheld);
                let got = body.pointer(pointer).unwrap_or(&Value::Null);
                assert_eq!(got, expect, "{version}: {body}");
            }
        };
        let named = json!({"name": "output", "schema": schema, "strict": false});
        let any = json!({"type": "json_object"});
        let chat = json!({"type": "json_schema", "json_schema": named});
        check(wire_version::OPENAI_CHAT, "/response_format", &any, &chat);
        check(
            wire_version::OPENROUTER_CHAT,
            "/response_format",
            &any,
            &chat,
        );
        let flat =
            json!({"type": "json_schema", "name": "output", "schema": schema, "strict": false});
        check(wire_version::OPENAI_RESPONSES, "/text/format", &any, &flat);
        let claude = json!({"type": "json_schema", "schema": schema});
        let pointer = "/output_config/format";
        check(wire_version::ANTHROPIC, pointer, &Value::Null, &claude);
        let mime = json!("application/json");
        let pointer = "/generationConfig/responseMimeType";
        check(wire_version::GEMINI, pointer, &mime, &mime);
        let pointer = "/generationConfig/responseJsonSchema";
        check(wire_version::GEMINI, pointer, &Value::Null, &schema);
        check(wire_version::OLLAMA, "/format", &json!("json"), &schema);
    }

    /// These two bind every answer to the form, so a model that is offered tools could call none.
    #[test]
    fn a_request_with_tools_asks_for_no_form_where_that_would_keep_from_calling() {
        for version in [wire_version::GEMINI, wire_version::OLLAMA] {
            let body = body(&asking(version, &Value::Null), ToolExposure::Auto);
            let text = body.to_string();
            assert!(text.contains("\"tools\""), "{text}");
            assert!(
                !text.contains("json\"") && !text.contains("responseMime"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_model_that_writes_its_calls_as_text_is_asked_for_no_form() {
        let mut terms = asking(wire_version::OPENAI_CHAT, &Value::Null);
        terms.tool_transport = crate::contract::ToolTransport::Xml;
        assert_eq!(terms.asked_format(&terms.targets[0]), None);
    }
}
