//! Signed or encrypted reasoning that a provider wants back. Opaque here.

use serde::{Deserialize, Serialize};

/// The part of a provider's reasoning that it wants back: signed or encrypted blocks, and their positions in the message.
///
/// Only the model that made it can use it. An encoder sends it unchanged to the same model of the same
/// provider, and leaves it out of every other request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReasoningTrace {
    /// The adapter that read it, such as `anthropic-messages/1`.
    pub adapter_version: String,
    /// The model that was asked.
    pub model: String,
    /// The message's parts in their order.
    pub parts: Vec<ReasoningPart>,
}

/// One part of a message, as the trace keeps it: texts and calls by reference, the rest verbatim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum ReasoningPart {
    /// The JSON text of a part that is no text and no call.
    Block(String),
    /// The next call of the message, and the signature attached to it.
    #[serde(rename = "trace_call", with = "signature_alone")]
    Call(Option<String>),
    /// The next bytes of the message's text.
    #[serde(rename = "trace_text")]
    Text(ReasoningText),
}

/// A stretch of a message's text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReasoningText {
    /// Length in bytes.
    pub bytes: u64,
    /// The attached signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// A signature that may be missing, as an object: nothing that is recorded is null where it can be left out.
mod signature_alone {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Alone<T> {
        #[serde(default = "none", skip_serializing_if = "Option::is_none")]
        signature: Option<T>,
    }

    const fn none<T>() -> Option<T> {
        None
    }

    #[expect(clippy::ref_option, reason = "serde hands the field over by reference")]
    pub(super) fn serialize<S: Serializer>(
        signature: &Option<String>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let signature = signature.as_deref();
        Alone { signature }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<String>, D::Error> {
        Alone::deserialize(deserializer).map(|alone: Alone<String>| alone.signature)
    }
}
