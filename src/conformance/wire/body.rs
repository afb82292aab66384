//! A message of a case as the body of a response, in any protocol. Reading bodies is for `adapter` alone.

use serde_json::Value;

use super::text::written;
use super::{anthropic, bedrock, gemini, local_hermes, ollama, openai_chat, openai_responses};
use crate::script::{MessageText, UsageText};
use monolith_core::adapter::Adapter;

/// What writes a message, what it used, and the model that wrote it as the body of a response; a list holds a line each.
type Dialect = fn(&MessageText, Option<UsageText>, &str) -> Value;

/// Every dialect, by what recordings call the protocol.
const DIALECTS: [(&str, Dialect); 8] = [
    ("anthropic-messages", anthropic::body),
    ("bedrock-converse", bedrock::body),
    ("gemini", gemini::body),
    ("local-hermes", local_hermes::body),
    ("ollama-chat", ollama::body),
    ("openai-chat", openai_chat::body),
    ("openai-responses", openai_responses::body),
    ("openrouter-chat", openai_chat::body),
];

/// The body of a response that holds `message`.
///
/// # Errors
/// The protocol has no dialect here, or its text profile no way to write calls.
pub(crate) fn body(
    adapter: Adapter,
    message: &MessageText,
    usage: Option<UsageText>,
    model: &str,
) -> Result<String, String> {
    let proto = adapter.proto();
    let dialect = DIALECTS.iter().find(|(name, _)| *name == proto);
    let (_, write) = dialect.ok_or_else(|| {
        format!("no dialect of {proto} to write messages in: src/conformance/wire")
    })?;
    let message = written(adapter.version(), message)?;
    Ok(match write(&message, usage, model) {
        Value::Array(lines) => lines
            .iter()
            .flat_map(|line| [line.to_string(), "\n".to_owned()])
            .collect(),
        document => document.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_adapter_has_a_dialect_that_it_reads_back() {
        use crate::script::{ArgumentsText, CallText, StopText};
        use monolith_core::adapter::{Decoded, ResponseMeta};
        let message = MessageText {
            content: "Let me look.".to_owned(),
            calls: vec![CallText {
                id: Some("c7".to_owned()),
                name: "read_file".to_owned(),
                arguments: ArgumentsText(r#"{"path":"LICENSE"}"#.to_owned()),
            }],
            reasoning: None,
            stop: StopText::End,
        };
        for adapter in Adapter::all() {
            let body = body(adapter, &message, None, "m").unwrap();
            let meta = ResponseMeta {
                status: 200,
                ..ResponseMeta::default()
            };
            let mut decoder = adapter.decoder(meta, "m");
            decoder.push(body.as_bytes());
            let Decoded::Message(result) = decoder.finish() else {
                panic!("{}: {body}", adapter.proto());
            };
            let read = result.canonical_message.expect("a message");
            assert_eq!(read.content, message.content, "{}", adapter.proto());
            let [call] = read.tool_calls.as_slice() else {
                panic!("{}: {:?}", adapter.proto(), read.tool_calls);
            };
            assert_eq!(call.name, "read_file");
            assert_eq!(call.arguments.as_str(), r#"{"path":"LICENSE"}"#);
        }
    }
}
