//! The result envelope of a tool call. Plain data; does not cut or scrub it.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

use super::{Digest, FileChanges, ObjectText};

/// The status that the tool reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvelopeStatus {
    /// The tool did what it was asked.
    Ok,
    /// The tool ran and reported an error.
    Error,
}

/// One block of a tool's result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    tag = "kind",
    content = "value",
    rename_all = "snake_case"
)]
pub enum ContentBlock {
    /// Text, as the model will see it; at most the output budget's bytes over all blocks.
    Text(String),
    /// Anything else: kept by hash, described to the model in one line.
    Resource {
        /// BLAKE3 of the bytes in the blob store.
        blob: Digest,
        /// Size in bytes.
        bytes: u64,
        /// Its media type, such as `image/png`.
        mime_type: String,
    },
}

/// A tool's own report of its failure.
///
/// ```
/// use monolith_core::message::{EnvelopeError, EnvelopeFields, EnvelopeStatus};
///
/// fn fail(result: &mut EnvelopeFields, message: String) {
///     result.status = EnvelopeStatus::Error;
///     result.error = Some(EnvelopeError { code: "TOOL_ERROR".to_owned(), message });
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvelopeError {
    /// A short code; `TOOL_ERROR` where the tool gave none.
    pub code: String,
    /// The tool's own words; at most the output budget's bytes.
    pub message: String,
}

/// The fields of a [`ToolEnvelope`]. They hold a result while it is being made, and can be changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvelopeFields {
    /// Size of the argument text in bytes.
    pub bytes_in: u64,
    /// Size of the whole text result in bytes, also where `content` holds only its beginning.
    pub bytes_out: u64,
    /// Changes to workspace files by the call; omitted if none are known.
    #[serde(default, skip_serializing_if = "FileChanges::is_none")]
    pub changes: FileChanges,
    /// The result. Text beyond the output budget is not here but in `full`.
    pub content: Vec<ContentBlock>,
    /// Duration of the call in milliseconds.
    pub duration_ms: u64,
    /// Present exactly when `status` is `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<EnvelopeError>,
    /// BLAKE3 of the whole text result in the blob store, where it did not fit the output budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full: Option<Digest>,
    /// When the call began, in milliseconds since the run began.
    pub started_at_ms: u64,
    /// Status that the tool reported.
    pub status: EnvelopeStatus,
    /// Estimated tokens of the observation made of this, stamped outside the machine.
    pub tokens: u64,
    /// The exposed tool name.
    pub tool: String,
    /// The call that this answers.
    pub tool_call_id: String,
}

/// The result of one executed call, immutable once made (semantics §6, 003 INV-TOOL-002).
///
/// Its fields are read as those of [`EnvelopeFields`]:
///
/// ```
/// use monolith_core::message::{EnvelopeFields, EnvelopeStatus, ToolEnvelope};
///
/// fn failed(envelope: &ToolEnvelope) -> bool {
///     envelope.status == EnvelopeStatus::Error
/// }
/// ```
///
/// They cannot be assigned to:
///
/// ```compile_fail,E0594
/// use monolith_core::message::{EnvelopeStatus, ToolEnvelope};
///
/// fn pretend(envelope: &mut ToolEnvelope) {
///     envelope.status = EnvelopeStatus::Ok;
/// }
/// ```
///
/// Nor can what is in them be changed in place:
///
/// ```compile_fail,E0596
/// use monolith_core::message::ToolEnvelope;
///
/// fn forget(envelope: &mut ToolEnvelope) {
///     envelope.content.clear();
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolEnvelope(EnvelopeFields);

/// Reading alone: there is no `DerefMut`.
impl Deref for ToolEnvelope {
    type Target = EnvelopeFields;

    fn deref(&self) -> &EnvelopeFields {
        &self.0
    }
}

impl ToolEnvelope {
    /// The result with these fields.
    #[must_use]
    pub const fn new(fields: EnvelopeFields) -> Self {
        Self(fields)
    }

    /// Its fields, to make another result of them.
    #[must_use]
    pub fn into_fields(self) -> EnvelopeFields {
        self.0
    }

    /// The same result, counted: what makes a result does not count its tokens.
    #[must_use]
    pub fn counted(self, tokens: u64) -> Self {
        Self(EnvelopeFields { tokens, ..self.0 })
    }
}

impl EnvelopeFields {
    /// The text the model is shown before any cut: text blocks joined by line feeds, other blocks as one
    /// line each, the error's message where the tool failed and gave no content.
    #[must_use]
    pub fn text(&self) -> String {
        let mut lines: Vec<String> = Vec::with_capacity(self.content.len());
        for block in &self.content {
            lines.push(match block {
                ContentBlock::Text(text) => text.clone(),
                ContentBlock::Resource {
                    bytes, mime_type, ..
                } => format!("[{mime_type}, {bytes} bytes, kept in the transcript's blobs]"),
            });
        }
        match (&self.error, lines.is_empty()) {
            (Some(error), true) => error.message.clone(),
            _ => lines.join("\n"),
        }
    }
}

/// A tool server's question to a person before a call continues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputQuestion {
    /// The text that the person sees and that binds the answer: `message`, and `requestedSchema` if there are fields.
    pub question: ObjectText,
    /// State from which the tool's host continues, in its own words; absent if the server waits for the answer within the call.
    /// The question then ends with the process that made the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
}

/// A tool server's request to ask a model before a call continues (MCP sampling).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SamplingRequest {
    /// Size of the prompt in bytes.
    pub bytes: u64,
    /// The most tokens that the server wants for an answer.
    pub max_tokens: u64,
    /// The blob that holds the prompt: system prompt and messages as JSON.
    pub prompt: Digest,
    /// As [`InputQuestion::resume`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
}

/// The end of a started call, or its question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    tag = "kind",
    content = "value",
    rename_all = "snake_case"
)]
pub enum ToolOutcome {
    /// A valid envelope came back: the call is executed, ok or error.
    Returned(ToolEnvelope),
    /// The answer does not decode as the tool protocol's result: FAILED_VALIDATION(tool_envelope).
    Malformed {
        /// Description of the fault; at most 2,048 bytes.
        detail: String,
        /// The answer as received, where there was one.
        raw_hash: Option<Digest>,
    },
    /// It continues once a person has answered or refused its server's question.
    InputRequired(InputQuestion),
    /// It continues once a model has answered its server's request, or the request was refused.
    SamplingRequired(SamplingRequest),
    /// `tool_timeout_ms` passed; whether the tool acted is unknown.
    TimedOut,
    /// The tool's transport closed before an answer; whether the tool acted is unknown.
    ConnectionLost {
        /// The transport's error; at most 2,048 bytes.
        detail: String,
    },
    /// Cancelled by monolith; whether the tool acted is unknown.
    Cancelled,
    /// Not started: the server no longer offers the tool that the contract pins.
    ToolChanged {
        /// Difference, if known; at most 2,048 bytes.
        detail: String,
    },
    /// Not started: the server is down, and its next start is waited for.
    RestartInProgress,
    /// Not started: the server was down, and did not come up again.
    RestartFailed {
        /// Reason; at most 2,048 bytes.
        detail: String,
    },
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;

    use super::*;

    /// Accepts `text`, and nothing with a key more at its top, or at the top of its value.
    fn check<T: DeserializeOwned>(text: &str) {
        let read = |text: &str| serde_json::from_str::<T>(text).map(drop);
        assert!(read(text).is_ok(), "{text}");
        let outer = text.replacen('{', r#"{"x":1,"#, 1);
        assert!(read(&outer).is_err(), "{outer}");
        if let Some((head, value)) = text.split_once(r#""value":{"#) {
            let inner = format!(r#"{head}"value":{{"x":1,{value}"#);
            assert!(read(&inner).is_err(), "{inner}");
        }
    }

    #[test]
    fn a_recorded_result_has_the_keys_it_has_and_no_other() {
        let blob = Digest::ZERO;
        check::<ContentBlock>(r#"{"kind":"text","value":"a"}"#);
        check::<ContentBlock>(&format!(
            r#"{{"kind":"resource","value":{{"blob":"{blob}","bytes":1,"mime_type":"a/b"}}}}"#
        ));
        check::<ToolOutcome>(r#"{"kind":"timed_out"}"#);
        check::<ToolOutcome>(r#"{"kind":"restart_failed","value":{"detail":"a"}}"#);
        check::<ToolOutcome>(r#"{"kind":"tool_changed","value":{"detail":"a"}}"#);
        check::<ToolOutcome>(r#"{"kind":"malformed","value":{"detail":"a","raw_hash":null}}"#);
        check::<ToolOutcome>(r#"{"kind":"connection_lost","value":{"detail":"a"}}"#);
    }
}
