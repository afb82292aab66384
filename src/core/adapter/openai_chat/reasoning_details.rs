//! OpenRouter's reasoning details, gathered and sent back. Does not know what they mean.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::adapter::draft::MAX_PARTS;
use crate::adapter::json::{elements, object, string, whole, wire};
use crate::message::{AgentMessage, ReasoningPart, ReasoningText, ReasoningTrace};

/// OpenRouter's details of a message's reasoning, gathered from their pieces.
#[derive(Debug, Default)]
pub(super) struct ReasoningDetails(Vec<Detail>);

/// Written as it is sent back; what a detail did not have is left out.
#[derive(Debug, Default, Serialize)]
struct Detail {
    r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u64>,
}

wire! {
    struct WireDetail {
        data, format, id, index, signature, summary, text, kind = "type",
    }
}

impl ReasoningDetails {
    /// Takes the details of a message or of a delta. One of the last one's kind and index is a piece of it.
    pub(super) fn take(&mut self, raw: &RawValue) {
        let pieces = elements(raw, MAX_PARTS).map_or_else(Vec::new, |(pieces, _)| pieces);
        for piece in pieces {
            let wire: WireDetail<'_> = object(piece.get()).unwrap_or_default();
            let kind = string(wire.kind).unwrap_or_default();
            let index = whole(wire.index);
            let goes_on = self.0.last().is_some_and(|last| {
                last.r#type == kind && last.index == index && wire.data.is_none()
            });
            if !goes_on && self.0.len() < MAX_PARTS {
                self.0.push(Detail {
                    r#type: kind,
                    index,
                    ..Detail::default()
                });
            }
            let Some(last) = self.0.last_mut() else {
                continue;
            };
            for (slot, raw) in [
                (&mut last.text, wire.text),
                (&mut last.summary, wire.summary),
                (&mut last.data, wire.data),
            ] {
                if let Some(more) = string(raw) {
                    slot.get_or_insert_default().push_str(&more);
                }
            }
            for (slot, raw) in [
                (&mut last.signature, wire.signature),
                (&mut last.id, wire.id),
                (&mut last.format, wire.format),
            ] {
                *slot = string(raw).or(slot.take());
            }
        }
    }

    /// The trace of `message`, where any detail is signed or encrypted: the rest is worth nothing to the provider.
    pub(super) fn trace(
        &self,
        message: &AgentMessage,
        version: &str,
        model: &str,
    ) -> Option<ReasoningTrace> {
        let signed = |detail: &Detail| detail.signature.is_some() || detail.data.is_some();
        if !self.0.iter().any(signed) {
            return None;
        }
        let details = self.0.iter().filter_map(|detail| {
            let json = serde_json::to_string(detail).ok()?;
            Some(ReasoningPart::Block(json))
        });
        let text = ReasoningPart::Text(ReasoningText {
            bytes: u64::try_from(message.content.len()).unwrap_or(u64::MAX),
            signature: None,
        });
        let calls = message.tool_calls.iter().map(|_| ReasoningPart::Call(None));
        Some(ReasoningTrace {
            adapter_version: version.to_owned(),
            model: model.to_owned(),
            parts: details.chain([text]).chain(calls).collect(),
        })
    }
}
