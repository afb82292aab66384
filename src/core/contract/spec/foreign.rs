//! Reads the author's provider options: free JSON members of a request. Does not know protocols.

use serde_json::{Value, json};

use super::form::{Read, Schemas};
use super::reporter::Reporter;
use super::secrets::is_secret_key;
use super::tree::{Kind, Node};

/// Members of a request that are the machine's own: an author who could replace them would ask something else than what
/// the transcript says was asked.
const OWNED: &[&str] = &[
    "contents",
    "function_call",
    "functions",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tokens",
    "messages",
    "model",
    "n",
    "parallel_tool_calls",
    "previous_response_id",
    "stream",
    "stream_options",
    "system",
    "systemInstruction",
    "system_instruction",
    "toolConfig",
    "tool_choice",
    "tool_config",
    "tools",
];

/// The same inside the objects that protocols keep parameters in.
const OWNED_BELOW: &[(&str, &str)] = &[
    ("generationConfig", "candidateCount"),
    ("generationConfig", "maxOutputTokens"),
    ("options", "num_predict"),
];

/// A mapping that goes to a provider as it is: JSON text with the author's own order of keys and digits.
pub(in crate::contract) struct ProviderOptions;

impl Read for ProviderOptions {
    type Output = String;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        let Kind::Map(entries) = &node.kind else {
            reporter.expected(node, "a mapping");
            return None;
        };
        let refuse = |reporter: &Reporter<'_>, value: &Node, key: &str| {
            let rule = format!("`{key}` of a request is the machine's own");
            let help = "the contract's own keys say what is asked".to_owned();
            reporter.refuse(value, rule, Some(help));
        };
        let mut whole = true;
        for (key, value) in entries {
            let reporter = reporter.below(&key.text);
            if OWNED.contains(&key.text.as_str()) {
                refuse(&reporter, value, &key.text);
                whole = false;
            }
            let Kind::Map(below) = &value.kind else {
                continue;
            };
            for (inner, value) in below {
                if OWNED_BELOW.contains(&(key.text.as_str(), inner.text.as_str())) {
                    refuse(&reporter.below(&inner.text), value, &inner.text);
                    whole = false;
                }
            }
        }
        let mut text = String::new();
        write(node, reporter, &mut text)?;
        whole.then_some(text)
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"type": "object", "propertyNames": {"not": {"enum": OWNED}}})
    }
}

/// Appends the JSON text of a node; None if a finding says what has none.
fn write(node: &Node, reporter: &Reporter<'_>, text: &mut String) -> Option<()> {
    match &node.kind {
        Kind::Scalar {
            text: word,
            plain: true,
        } => {
            if node.is_null() {
                text.push_str("null");
            } else if matches!(word.as_str(), "true" | "false") || is_json_number(word) {
                text.push_str(word);
            } else if word.parse::<f64>().is_ok() || word.starts_with(['+', '.']) {
                let rule = format!("`{word}` is no number of JSON");
                let help = "write it as JSON does, or in quotes where it is text".to_owned();
                reporter.refuse(node, rule, Some(help));
                return None;
            } else {
                text.push_str(&quoted(word));
            }
        }
        Kind::Scalar { text: word, .. } => text.push_str(&quoted(word)),
        Kind::List(items) => {
            text.push('[');
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    text.push(',');
                }
                write(item, &reporter.below(&n.to_string()), text)?;
            }
            text.push(']');
        }
        Kind::Map(entries) => {
            text.push('{');
            for (n, (key, value)) in entries.iter().enumerate() {
                let reporter = reporter.below(&key.text);
                if is_secret_key(&key.text) {
                    let rule = format!("`{}` may hold a secret", key.text);
                    let help = "write `api_key_env` or `headers` of the provider".to_owned();
                    reporter.refuse(value, rule, Some(help));
                    return None;
                }
                if n > 0 {
                    text.push(',');
                }
                text.push_str(&quoted(&key.text));
                text.push(':');
                write(value, &reporter, text)?;
            }
            text.push('}');
        }
    }
    Some(())
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// RFC 8259 §6, however large or long.
fn is_json_number(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    starts && serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
}
