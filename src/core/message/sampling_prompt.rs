//! A tool server's prompt for a model (MCP sampling): texts and their roles. It is stored in the blob store as JSON, so that a
//! request can be encoded from it again. Does not know who answers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{AgentMessage, Role, estimate_tokens};

/// The prompt of a tool server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SamplingPrompt {
    /// Who says what, in order.
    pub messages: Vec<SampledText>,
    /// System prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
}

/// One message of such a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampledText {
    /// User or assistant.
    pub role: Role,
    /// The text.
    pub text: String,
}

impl SamplingPrompt {
    /// The prompt of a blob. One that no server of ours wrote is a text of the user.
    pub fn read(blob: &[u8]) -> Self {
        serde_json::from_slice(blob).unwrap_or_else(|_| Self {
            messages: vec![SampledText {
                role: Role::User,
                text: String::from_utf8_lossy(blob).into_owned(),
            }],
            system: None,
        })
    }

    /// The bytes of its blob.
    pub fn to_blob(&self) -> Vec<u8> {
        // Texts and words alone: serialising them cannot fail.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The conversation of the request.
    pub fn conversation(&self) -> Vec<Arc<AgentMessage>> {
        let said =
            |role, text: &str| Arc::new(AgentMessage::text(role, text, estimate_tokens(text)));
        let system = self.system.iter().map(|text| said(Role::System, text));
        let messages = self.messages.iter();
        let messages = messages.map(|message| said(message.role, &message.text));
        system.chain(messages).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_comes_back_from_its_blob_as_a_conversation() {
        let prompt = SamplingPrompt {
            messages: vec![
                SampledText {
                    role: Role::User,
                    text: "How late?".to_owned(),
                },
                SampledText {
                    role: Role::Assistant,
                    text: "Noon.".to_owned(),
                },
            ],
            system: Some("Be brief.".to_owned()),
        };
        assert_eq!(SamplingPrompt::read(&prompt.to_blob()), prompt);
        let said: Vec<(Role, String)> = prompt
            .conversation()
            .iter()
            .map(|message| (message.role, message.content.clone()))
            .collect();
        let expect = [
            (Role::System, "Be brief."),
            (Role::User, "How late?"),
            (Role::Assistant, "Noon."),
        ];
        assert_eq!(said, expect.map(|(role, text)| (role, text.to_owned())));
    }

    #[test]
    fn what_is_no_prompt_is_a_text() {
        let read = SamplingPrompt::read(b"{\"a\": 1}");
        assert_eq!(read.messages[0].text, "{\"a\": 1}");
    }
}
