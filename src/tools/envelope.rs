//! Makes the result envelope of a call: scrubbed, cut, with blobs. Does not know transports.

use super::CallTerms;
use crate::kernel::CallOrder;
use crate::message::{
    ContentBlock, EnvelopeError, EnvelopeStatus, Scrubber, ToolEnvelope, char_prefix,
};

/// The code of a failure without one of the tool's own.
pub(super) const TOOL_ERROR: &str = "TOOL_ERROR";
/// Bytes of `error.message` where the content has the same words.
const REPEATED_MESSAGE_BYTES: usize = 2_048;
/// Longest media type that is taken over; RFC 6838 §4.2 allows 127 + 1 + 127.
const MIME_TYPE_BYTES: usize = 255;

/// The response of a tool, before it is cut to the output budget.
#[derive(Debug, Default)]
pub(super) struct ToolResponse {
    failure: Option<Failure>,
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Failure {
    code: String,
    /// None if the tool's words are its content.
    message: Option<String>,
}

#[derive(Debug)]
enum Part {
    /// Texts that follow each other: one block, joined by line feeds.
    Text(Vec<String>),
    Resource {
        bytes: Vec<u8>,
        mime_type: String,
    },
}

impl ToolResponse {
    /// A success that is one text.
    pub(super) fn of_text(text: String) -> Self {
        let mut response = Self::default();
        response.push_text(text);
        response
    }

    /// A failure with nothing but its message.
    pub(super) fn failed(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            failure: Some(Failure {
                code: code.into(),
                message: Some(message.into()),
            }),
            parts: Vec::new(),
        }
    }

    /// Makes this a failure whose words are its content.
    pub(super) fn mark_failed(&mut self) {
        self.failure = Some(Failure {
            code: TOOL_ERROR.to_owned(),
            message: None,
        });
    }

    /// Adds a text; it is joined to a text before it by a line feed, so the number of blocks stays small.
    pub(super) fn push_text(&mut self, text: String) {
        if let Some(Part::Text(before)) = self.parts.last_mut() {
            before.push(text);
        } else {
            self.parts.push(Part::Text(vec![text]));
        }
    }

    /// Adds bytes that are not text. A media type that no header could carry becomes `application/octet-stream`.
    pub(super) fn push_resource(&mut self, bytes: Vec<u8>, mime_type: &str) {
        let sound = !mime_type.is_empty()
            && mime_type.len() <= MIME_TYPE_BYTES
            && mime_type.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
        let mime_type = if sound {
            mime_type
        } else {
            "application/octet-stream"
        };
        self.parts.push(Part::Resource {
            bytes,
            mime_type: mime_type.to_owned(),
        });
    }

    /// The immutable envelope: text within the budget, the whole text and every other block in the blob store.
    pub(super) fn into_envelope(
        self,
        order: &CallOrder,
        terms: &CallTerms<'_>,
        started_at_ms: u64,
    ) -> ToolEnvelope {
        let limit = usize::try_from(terms.output_limit_bytes).unwrap_or(usize::MAX);
        let content: Vec<ContentBlock> = without_split_secrets(self.parts, terms.scrub)
            .into_iter()
            .map(|part| match part {
                Part::Text(texts) => ContentBlock::Text(terms.scrub.owned_text(texts.join("\n"))),
                Part::Resource { bytes, mime_type } => {
                    let bytes = terms.scrub.owned_bytes(bytes);
                    ContentBlock::Resource {
                        bytes: size(bytes.len()),
                        blob: terms.blobs.put(bytes),
                        mime_type: terms.scrub.owned_text(mime_type),
                    }
                }
            })
            .collect();
        let mut envelope = ToolEnvelope {
            bytes_in: size(order.invocation.arguments.as_str().len()),
            bytes_out: 0,
            content,
            duration_ms: terms.clock.run_ms().saturating_sub(started_at_ms),
            error: None,
            full: None,
            started_at_ms,
            status: EnvelopeStatus::Ok,
            tokens: 0,
            tool: order.invocation.name.clone(),
            tool_call_id: order.invocation.id.clone(),
        };
        if let Some(failure) = self.failure {
            envelope.status = EnvelopeStatus::Error;
            let message = failure
                .message
                .map(|message| terms.scrub.owned_text(message));
            let message = message.unwrap_or_else(|| envelope.text());
            envelope.error = Some(EnvelopeError {
                code: terms.scrub.owned_text(failure.code),
                message,
            });
        }
        let whole = envelope.text();
        envelope.bytes_out = size(whole.len());
        if whole.len() > limit {
            envelope.full = Some(terms.blobs.put(whole.into_bytes()));
            keep_text(&mut envelope.content, limit);
        }
        if let Some(error) = &mut envelope.error {
            let room = if envelope.content.is_empty() {
                limit
            } else {
                limit.min(REPEATED_MESSAGE_BYTES)
            };
            error
                .message
                .truncate(char_prefix(&error.message, room).len());
        }
        envelope
    }
}

/// The parts, none of which shows a piece of a known secret that is spread over several of them. Texts that show one together become one
/// text without line feeds between them; where bytes are needed for it, nothing of the result is kept. What only looks like a
/// credential once texts are put together is none: nobody wrote it.
fn without_split_secrets(parts: Vec<Part>, scrub: &dyn Scrubber) -> Vec<Part> {
    let pieces = |part: &Part| match part {
        Part::Text(texts) => texts.len(),
        Part::Resource { .. } => 1,
    };
    if parts.iter().map(pieces).sum::<usize>() < 2 {
        return parts;
    }
    let mut text = String::new();
    for part in &parts {
        if let Part::Text(texts) = part {
            for piece in texts {
                text += &scrub.text(piece);
            }
        }
    }
    let parts = if scrub.knows(text.as_bytes()) {
        let resources = parts
            .into_iter()
            .filter(|part| matches!(part, Part::Resource { .. }));
        let closed = Part::Text(vec![scrub.owned_text(text)]);
        [closed].into_iter().chain(resources).collect()
    } else {
        parts
    };
    let mut all = Vec::new();
    for part in &parts {
        match part {
            Part::Text(texts) => texts
                .iter()
                .for_each(|piece| all.extend_from_slice(scrub.text(piece).as_bytes())),
            Part::Resource { bytes, .. } => all.extend_from_slice(&scrub.bytes(bytes)),
        }
    }
    if scrub.knows(&all) {
        vec![Part::Text(vec![scrub.marker(&all)])]
    } else {
        parts
    }
}

/// Keeps `limit` bytes of text over all blocks, rounded down to a character; blocks that would be empty go.
fn keep_text(content: &mut Vec<ContentBlock>, limit: usize) {
    let mut room = limit;
    content.retain_mut(|block| match block {
        ContentBlock::Resource { .. } => true,
        ContentBlock::Text(text) => {
            let kept = char_prefix(text, room).len();
            // A cut block is the last one that gets anything: later text must not close up to it.
            room = if kept < text.len() { 0 } else { room - kept };
            text.truncate(kept);
            kept > 0
        }
    });
}

fn size(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
