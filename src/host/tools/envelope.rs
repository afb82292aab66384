//! Makes the result envelope of a call: scrubbed, cut, with blobs. Does not know transports.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{BlobSink, CallTerms, Clock};
use monolith_core::kernel::CallOrder;
use monolith_core::message::{
    ContentBlock, EnvelopeError, EnvelopeFields, EnvelopeStatus, FileChanges, Scrubber,
    ToolEnvelope, char_prefix,
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
    /// The call's changes to workspace files.
    changes: FileChanges,
    failure: Option<Failure>,
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Failure {
    code: String,
    /// `None` if the tool's own words are its content.
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
            ..Self::default()
        }
    }

    /// The same, with what it did to files of the workspace.
    pub(super) fn with_changes(self, changes: FileChanges) -> Self {
        Self { changes, ..self }
    }

    /// Makes this a failure whose words are its content.
    pub(super) fn mark_failed(&mut self) {
        self.mark_failed_as(TOOL_ERROR.to_owned());
    }

    /// The same with a code of the tool's own.
    pub(super) fn mark_failed_as(&mut self, code: String) {
        self.failure = Some(Failure {
            code,
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
        let mut fields = EnvelopeFields {
            bytes_in: size(order.invocation.arguments.as_str().len()),
            bytes_out: 0,
            changes: scrubbed(self.changes, terms.scrub),
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
            fields.status = EnvelopeStatus::Error;
            let message = failure
                .message
                .map(|message| terms.scrub.owned_text(message));
            let message = message.unwrap_or_else(|| fields.text());
            fields.error = Some(EnvelopeError {
                code: terms.scrub.owned_text(failure.code),
                message,
            });
        }
        let whole = fields.text();
        fields.bytes_out = size(whole.len());
        if whole.len() > limit {
            fields.full = Some(terms.blobs.put(whole.into_bytes()));
            keep_text(&mut fields.content, limit);
        }
        if let Some(error) = &mut fields.error {
            let room = if fields.content.is_empty() {
                limit
            } else {
                limit.min(REPEATED_MESSAGE_BYTES)
            };
            error
                .message
                .truncate(char_prefix(&error.message, room).len());
        }
        ToolEnvelope::new(fields)
    }
}

/// The outcome of an agent call.
pub struct Delegated {
    /// The code of its failure, where it failed.
    pub failed: Option<String>,
    /// The text for the model.
    pub text: String,
}

impl Delegated {
    /// The code of an agent for whose call no run was begun.
    const NOT_BEGUN: &str = "AGENT_NOT_BEGUN";

    /// No run was begun.
    pub fn not_begun(reason: String) -> Self {
        Self {
            failed: Some(Self::NOT_BEGUN.to_owned()),
            text: reason,
        }
    }
}

/// The envelope of an agent's call, made as those of tools are: scrubbed, and cut to so many bytes.
pub(crate) fn delegated_envelope(
    result: Delegated,
    order: &CallOrder,
    (blobs, scrub, clock): (&dyn BlobSink, &dyn Scrubber, &dyn Clock),
    (started_at_ms, output_limit_bytes): (u64, u64),
) -> ToolEnvelope {
    let mut response = ToolResponse::of_text(result.text);
    if let Some(code) = result.failed {
        response.mark_failed_as(code);
    }
    let terms = CallTerms {
        blobs,
        cancel: &CancellationToken::new(),
        clock,
        exchanges: &Arc::default(),
        files: None,
        idempotency_key: "",
        output_limit_bytes,
        reports: None,
        scrub,
        timeout_ms: 0,
    };
    response.into_envelope(order, &terms, started_at_ms)
}

/// The parts, none of which shows a piece of a known secret that is spread over several of them. Texts that show one together become one
/// text without line feeds between them; where bytes are needed for it, nothing of the result is kept. What only looks like a
/// credential once texts are put together is none: it was never written. Known secrets come before that look, which may eat a part of one.
fn without_split_secrets(parts: Vec<Part>, scrub: &dyn Scrubber) -> Vec<Part> {
    let pieces = |part: &Part| match part {
        Part::Text(texts) => texts.len(),
        // The bytes and their media type.
        Part::Resource { .. } => 2,
    };
    if parts.iter().map(pieces).sum::<usize>() < 2 {
        return parts;
    }
    let dropped = || {
        vec![Part::Text(vec![scrub.marker(&joined(
            &parts,
            scrub,
            TypeOrder::Behind,
        ))])]
    };
    if spreads_over_bytes(&parts, scrub) {
        return dropped();
    }
    let (mut apart, mut text) = (Vec::new(), String::new());
    for part in &parts {
        if let Part::Text(texts) = part {
            for piece in texts {
                apart.extend_from_slice(&scrub.without_known(piece.as_bytes()));
                text.push_str(piece);
            }
        }
    }
    if !scrub.knows(&apart) {
        return parts;
    }
    let marker = dropped();
    let resources = parts
        .into_iter()
        .filter(|part| matches!(part, Part::Resource { .. }));
    let closed = Part::Text(vec![scrub.owned_text(text)]);
    let closed: Vec<Part> = [closed].into_iter().chain(resources).collect();
    // The redacted text is now next to other bytes than before.
    if spreads_over_bytes(&closed, scrub) {
        return marker;
    }
    closed
}

/// True if a known secret spans bytes and their neighbours.
fn spreads_over_bytes(parts: &[Part], scrub: &dyn Scrubber) -> bool {
    let has_bytes = parts
        .iter()
        .any(|part| matches!(part, Part::Resource { .. }));
    let orders = [TypeOrder::Absent, TypeOrder::Before, TypeOrder::Behind];
    has_bytes
        && orders
            .iter()
            .any(|order| scrub.knows(&joined(parts, scrub, *order)))
}

/// The position of a media type relative to its bytes, for a search over all parts.
#[derive(Clone, Copy)]
enum TypeOrder {
    Absent,
    Before,
    Behind,
}

/// All parts in their order, each without the known secrets that it holds by itself.
fn joined(parts: &[Part], scrub: &dyn Scrubber, types: TypeOrder) -> Vec<u8> {
    let mut all = Vec::new();
    for part in parts {
        match part {
            Part::Text(texts) => {
                let apart = texts
                    .iter()
                    .map(|text| scrub.without_known(text.as_bytes()));
                let together = apart.collect::<Vec<_>>().concat();
                all.extend_from_slice(&scrub.without_known(&together));
            }
            Part::Resource { bytes, mime_type } => {
                let bytes = scrub.without_known(bytes);
                let mime_type = scrub.without_known(mime_type.as_bytes());
                let order: &[&[u8]] = match types {
                    TypeOrder::Absent => &[&bytes],
                    TypeOrder::Before => &[&mime_type, &bytes],
                    TypeOrder::Behind => &[&bytes, &mime_type],
                };
                for piece in order {
                    all.extend_from_slice(piece);
                }
            }
        }
    }
    all
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

/// The changes, without secrets in their paths.
fn scrubbed(mut changes: FileChanges, scrub: &dyn Scrubber) -> FileChanges {
    for change in &mut changes.files {
        change.path = scrub.owned_text(std::mem::take(&mut change.path));
    }
    changes
}

fn size(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
