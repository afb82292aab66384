//! A tool server's request for input during a call, and the answer. Plain data; does not decide the answer.

use serde::{Deserialize, Serialize};

use super::char_prefix;

/// Bytes of a question, and of an address, that are recorded.
const TEXT_BYTES: usize = 2_048;
/// Bytes of a schema, and of what was handed over, that are recorded.
const JSON_BYTES: usize = 8_192;

/// The answer to a server's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputAnswer {
    /// It did.
    Accept,
    /// It was refused.
    Decline,
}

/// A request of a tool server for input during a call (MCP elicitation), and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputExchange {
    /// Answer to the request.
    pub answer: InputAnswer,
    /// Content that was handed over, as JSON; at most 8,192 bytes. Absent if refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The server's own words; at most 2,048 bytes.
    pub message: String,
    /// The method of the request, such as `elicitation/create`.
    pub method: String,
    /// The fields that it asked for, as a JSON Schema; at most 8,192 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_schema: Option<String>,
    /// Address where a person was to enter something, if it asked for that; at most 2,048 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl InputExchange {
    /// Every text of it, given to `change`.
    pub fn change_texts(&mut self, mut change: impl FnMut(&str) -> String) {
        let texts = [&mut self.content, &mut self.requested_schema, &mut self.url];
        for text in texts.into_iter().flatten().chain([&mut self.message]) {
            *text = change(text);
        }
    }

    /// The same, no text longer than what is recorded.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        let cut = |text: &mut String, most| text.truncate(char_prefix(text, most).len());
        cut(&mut self.message, TEXT_BYTES);
        for (text, most) in [
            (&mut self.url, TEXT_BYTES),
            (&mut self.content, JSON_BYTES),
            (&mut self.requested_schema, JSON_BYTES),
        ] {
            if let Some(text) = text {
                cut(text, most);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exchange_is_cut_at_characters() {
        let exchange = InputExchange {
            answer: InputAnswer::Accept,
            content: Some("é".repeat(5_000)),
            message: format!("x{}", "é".repeat(2_000)),
            method: "elicitation/create".to_owned(),
            requested_schema: Some("{}".to_owned()),
            url: None,
        };
        let bounded = exchange.bounded();
        assert_eq!(bounded.content.unwrap().len(), JSON_BYTES);
        assert_eq!(bounded.message.len(), TEXT_BYTES - 1);
        assert_eq!(bounded.requested_schema.as_deref(), Some("{}"));
    }

    #[test]
    fn a_refusal_has_no_content() {
        let text = r#"{"answer":"decline","message":"Who?","method":"elicitation/create","url":"https://h/"}"#;
        let read: InputExchange = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}
