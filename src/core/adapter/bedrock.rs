//! Amazon Bedrock converse, `bedrock-converse`: responses only, for recordings. No provider type leads here.
//!
//! A body, or binary frames (`vnd.amazon.eventstream`) as they are or in base64, as recordings keep them. Dialect rules:
//! - Calls, and cuts at the end of the output, are validated as in the Anthropic protocol.
//! - A stream is whole with its `messageStop`; a damaged frame and a cut one are a provider's fault.
//! - `guardrail_intervened` and `content_filtered` are messages that were stopped for their content;
//!   `malformed_tool_use` and `malformed_model_output` are `CALL_MALFORMED`.
//! - An exception in the stream is a provider's fault.

#[cfg(test)]
mod payload_tests;

use serde_json::value::RawValue;

use crate::adapter::blocks::{BlockKind, BlockMessage, Piece, UsageReport};
use crate::adapter::calls::CallFields;
use crate::adapter::draft::{MAX_PARTS, ResponseOrigin};
use crate::adapter::error_report::ErrorReport;
use crate::adapter::fold;
use crate::adapter::fold::{Failure, Folded, Form, Framing, Progress, document, part};
use crate::adapter::json::{Raw, elements, given, object, string, whole, wire};
use crate::contract::wire_version;
use crate::message::FailureCode;

/// The adapter's name in contracts and results.
pub(in crate::adapter) const VERSION: &str = wire_version::BEDROCK;

const CONTENT: &str = "/output/message/content";
const FIELDS: CallFields = CallFields {
    arguments: "/input",
    id: "/toolUseId",
    name: "/name",
};

/// A message, folded from a body or from the frames of a stream.
#[derive(Debug)]
pub(in crate::adapter) struct Fold(BlockMessage);

impl Default for Fold {
    fn default() -> Self {
        Self(BlockMessage::at(CONTENT))
    }
}

impl fold::Fold for Fold {
    const FRAMING: Framing = Framing::Frames;
    const STOP: &'static str = "/stopReason";

    fn progress(&mut self) -> &mut Progress {
        &mut self.0.progress
    }

    /// The report of usage follows the end of the message.
    fn is_done(&self) -> bool {
        self.0.progress.done
    }

    fn take(&mut self, text: &str, _: Form) -> Result<(), Failure> {
        let body: WireDocument<'_> = document(text)?;
        self.0.progress.stopped(string(body.stop_reason));
        self.meter(body.usage);
        let Some(output) = body.output else {
            if body.message.is_some() {
                self.0.progress.report(ErrorReport::of_body(text));
                return Ok(());
            }
            return Err(Failure::new(FailureCode::BodyShape, "/output"));
        };
        let output: WireOutput<'_> = part(Some(output), "/output")?;
        let message: WireMessage<'_> = part(output.message, "/output/message")?;
        let kind = |block: &WireBlock<'_>| kind_of(block, true);
        self.0.take_whole(message.content, kind)
    }

    fn take_named(&mut self, kind: &str, text: &str) -> Result<(), Failure> {
        let event: WireDocument<'_> = document(text)?;
        let index = whole(event.content_block_index).unwrap_or(0);
        match kind {
            "messageStart" => self.0.saw_message = true,
            "contentBlockStart" => {
                let block: WireBlock<'_> = part(event.start, CONTENT)?;
                self.0.blocks.start(index, kind_of(&block, false))?;
            }
            "contentBlockDelta" => {
                let delta: WireBlock<'_> = part(event.delta, CONTENT)?;
                for piece in pieces_of(&delta) {
                    self.0.blocks.add(index, piece)?;
                }
            }
            "contentBlockStop" => self.0.blocks.stop(index),
            "messageStop" => self.0.progress.stopped(string(event.stop_reason)),
            "metadata" => self.meter(event.usage),
            _ => {}
        }
        Ok(())
    }

    fn finish(mut self, _: Form, model: &str) -> Folded {
        if let Some(decided) = self.0.progress.decided() {
            return decided;
        }
        let fail = |code, pointer: &str| Folded::Rejected(Failure::new(code, pointer));
        if !self.0.saw_message {
            return fail(FailureCode::BodyShape, "/output/message");
        }
        let cut = self.0.progress.rules.is_cut;
        let origin = ResponseOrigin {
            requested: model,
            answered: None,
            rules: self.0.progress.rules,
            version: self.0.progress.version,
        };
        let draft = self.0.blocks.into_draft(cut, "/toolUse", FIELDS.arguments);
        draft.finish(&FIELDS, &origin)
    }
}

impl Fold {
    fn meter(&mut self, raw: Raw<'_>) {
        self.0.meter(raw, |report, wire: &WireUsage<'_>| {
            UsageReport::note(&mut report.cache_read, wire.cache_read_input_tokens);
            UsageReport::note(&mut report.cache_write, wire.cache_write_input_tokens);
            UsageReport::note(&mut report.input, wire.input_tokens);
            UsageReport::note(&mut report.output, wire.output_tokens);
        });
    }
}

fn kind_of(block: &WireBlock<'_>, is_whole: bool) -> BlockKind {
    let text = |raw| string(raw).unwrap_or_default();
    let tool: Option<WireToolUse<'_>> = block.tool_use.and_then(|raw| object(raw.get()));
    if let Some(tool) = tool {
        if string(tool.kind).is_some_and(|kind| kind != "tool_use") {
            return BlockKind::Foreign;
        }
        let input = tool.input.map(RawValue::get);
        return BlockKind::ToolUse {
            id: text(tool.tool_use_id),
            name: text(tool.name),
            pieces: String::new(),
            whole: match input {
                // A blocking call always has its input; no text at all is no object.
                None if is_whole => Some(String::new()),
                Some("null") if !is_whole => None,
                input => input.map(str::to_owned),
            },
        };
    }
    let reasoning: Option<WireReasoning<'_>> =
        block.reasoning_content.and_then(|raw| object(raw.get()));
    if let Some(reasoning) = reasoning {
        let content: WireReasoning<'_> = reasoning
            .reasoning_text
            .and_then(|raw| object(raw.get()))
            .unwrap_or_default();
        return match string(reasoning.redacted_content) {
            Some(data) => BlockKind::Redacted(data),
            None => BlockKind::Thinking {
                signature: text(content.signature),
                text: text(content.text),
            },
        };
    }
    if block.text.is_some() {
        return BlockKind::Text(text(block.text));
    }
    let cited: Option<WireCitations<'_>> =
        block.citations_content.and_then(|raw| object(raw.get()));
    let cited = cited.and_then(|cited| elements(cited.content?, MAX_PARTS));
    match cited {
        Some((parts, _)) => BlockKind::Text(
            parts
                .into_iter()
                .filter_map(|part| string(object::<WireBlock<'_>>(part.get())?.text))
                .collect(),
        ),
        None => BlockKind::Foreign,
    }
}

fn pieces_of(delta: &WireBlock<'_>) -> Vec<Piece> {
    let tool: WireToolUse<'_> = delta
        .tool_use
        .and_then(|raw| object(raw.get()))
        .unwrap_or_default();
    let reasoning: WireReasoning<'_> = delta
        .reasoning_content
        .and_then(|raw| object(raw.get()))
        .unwrap_or_default();
    [
        string(delta.text).map(Piece::Text),
        string(tool.input).map(Piece::Arguments),
        string(reasoning.text).map(Piece::Thinking),
        string(reasoning.signature).map(Piece::Signature),
        string(reasoning.redacted_content).map(Piece::Redacted),
    ]
    .into_iter()
    .flatten()
    .collect()
}

wire! {
    /// A blocking body, or the payload of one event.
    #[serde(rename_all = "camelCase")]
    struct WireDocument {
        content_block_index, delta, message, output, start, stop_reason, usage,
    }

    struct WireOutput {
        message,
    }

    struct WireMessage {
        content,
    }

    /// A content block, its start, or a delta of it: one of these is set.
    #[serde(rename_all = "camelCase")]
    struct WireBlock {
        citations_content, reasoning_content, text, tool_use,
    }

    #[serde(rename_all = "camelCase")]
    struct WireToolUse {
        input: "given", name, tool_use_id, kind = "type",
    }

    /// Reasoning: nested in a whole block, flat in a delta.
    #[serde(rename_all = "camelCase")]
    struct WireReasoning {
        reasoning_text, redacted_content, signature, text,
    }

    struct WireCitations {
        content,
    }

    #[expect(clippy::struct_field_names, reason = "the names are the protocol's")]
    #[serde(rename_all = "camelCase")]
    struct WireUsage {
        cache_read_input_tokens, cache_write_input_tokens, input_tokens, output_tokens,
    }
}
