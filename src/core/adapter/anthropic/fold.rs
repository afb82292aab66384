//! Folds Anthropic's messages or events into one message. Does not know requests or transport.

use serde_json::value::RawValue;

use crate::adapter::blocks::{BlockKind, BlockMessage, Piece, UsageReport};
use crate::adapter::calls::CallFields;
use crate::adapter::draft::ResponseOrigin;
use crate::adapter::error_report::ErrorReport;
use crate::adapter::fold;
use crate::adapter::fold::{Failure, Folded, Form, Progress, document, part};
use crate::adapter::json::{Raw, given, string, whole, wire};
use crate::adapter::members::other_members;
use crate::adapter::streamed_call::StreamedCall;
use crate::message::FailureCode;

const CONTENT: &str = "/content";
const FIELDS: CallFields = CallFields {
    arguments: "/input",
    id: "/id",
    name: "/name",
};

/// A message, folded from a body or from the events of a stream.
#[derive(Debug)]
pub(in crate::adapter) struct Fold(BlockMessage);

impl Default for Fold {
    fn default() -> Self {
        Self(BlockMessage::at(CONTENT))
    }
}

impl fold::Fold for Fold {
    const STOP: &'static str = "/stop_reason";

    fn progress(&mut self) -> &mut Progress {
        &mut self.0.progress
    }

    fn is_done(&self) -> bool {
        self.0.progress.done
    }

    fn text(&self) -> Option<&str> {
        self.0.blocks.only_text()
    }

    fn reasoning(&self) -> Option<&str> {
        self.0.blocks.only_reasoning()
    }

    fn call(&self, at: usize) -> Option<StreamedCall<'_>> {
        self.0.blocks.call(at)
    }

    fn take(&mut self, text: &str, form: Form) -> Result<(), Failure> {
        let event: WireEvent<'_> = document(text)?;
        let kind = string(event.kind).unwrap_or_default();
        if kind == "error" || event.error.is_some() {
            let own = event.error.and_then(ErrorReport::of_value);
            let report = own.unwrap_or_else(|| ErrorReport::of_body(text));
            self.0.progress.report(report);
            return Ok(());
        }
        match (form, kind.as_str()) {
            (Form::Whole, _) => self.message(&event),
            (Form::Piece, "message_start") => {
                if self.0.saw_message {
                    // A stream holds one message. A second one was spliced in, and neither can be trusted to be whole.
                    return Err(Failure::new(FailureCode::BodyShape, "/message_start"));
                }
                let message: WireEvent<'_> = part(event.message, "/message")?;
                self.message(&message)
            }
            (Form::Piece, "content_block_start") => {
                let block: WireBlock<'_> = part(event.content_block, CONTENT)?;
                let index = whole(event.index).unwrap_or(0);
                let raw = event.content_block.map_or("", RawValue::get);
                self.0.blocks.start(index, kind_of(&block, raw, form))
            }
            (Form::Piece, "content_block_delta") => {
                let delta: WireBlock<'_> = part(event.delta, CONTENT)?;
                let index = whole(event.index).unwrap_or(0);
                piece_of(&delta, index)?.map_or(Ok(()), |piece| self.0.blocks.add(index, piece))
            }
            (Form::Piece, "content_block_stop") => {
                self.0.blocks.stop(whole(event.index).unwrap_or(0));
                Ok(())
            }
            (Form::Piece, "message_delta") => {
                let delta: WireBlock<'_> = part(event.delta, "/stop_reason")?;
                self.0.progress.stopped(string(delta.stop_reason));
                self.meter(event.usage);
                Ok(())
            }
            (Form::Piece, "message_stop") => {
                self.0.progress.done = true;
                self.0.progress.ended = true;
                Ok(())
            }
            // Keep-alives, and events that are not known yet.
            (Form::Piece, _) => Ok(()),
        }
    }

    fn finish(mut self, _: Form, model: &str) -> Folded {
        if let Some(decided) = self.0.progress.decided() {
            return decided;
        }
        let fail = |code, pointer: &str| Folded::Rejected(Failure::new(code, pointer));
        if !self.0.saw_message {
            return fail(FailureCode::BodyShape, CONTENT);
        }
        let cut = self.0.progress.rules.is_cut;
        let origin = ResponseOrigin {
            requested: model,
            answered: self.0.progress.model.as_deref(),
            rules: self.0.progress.rules,
        };
        let draft = self.0.blocks.into_draft(cut, "", FIELDS.arguments);
        draft.finish(&FIELDS, &origin)
    }
}

impl Fold {
    /// Takes the fields of a body, or of the beginning of a stream.
    fn message(&mut self, message: &WireEvent<'_>) -> Result<(), Failure> {
        self.0.progress.name_model(string(message.model));
        self.0.progress.stopped(string(message.stop_reason));
        self.0.progress.role(message.role, "assistant", "/role")?;
        self.meter(message.usage);
        let kind = |block: &WireBlock<'_>, raw: &str| kind_of(block, raw, Form::Whole);
        self.0.take_whole(message.content, kind)
    }

    fn meter(&mut self, raw: Raw<'_>) {
        self.0.meter(raw, |report, wire: &WireUsage<'_>| {
            UsageReport::note(&mut report.cache_read, wire.cache_read_input_tokens);
            UsageReport::note(&mut report.cache_write, wire.cache_creation_input_tokens);
            UsageReport::note(&mut report.input, wire.input_tokens);
            UsageReport::note(&mut report.output, wire.output_tokens);
        });
    }
}

fn kind_of(block: &WireBlock<'_>, raw: &str, form: Form) -> BlockKind {
    let text = |raw| string(raw).unwrap_or_default();
    match string(block.kind).as_deref() {
        Some("text") => BlockKind::Text(text(block.text)),
        Some("thinking") => BlockKind::Thinking {
            signature: text(block.signature),
            text: text(block.thinking),
        },
        Some("redacted_thinking") => BlockKind::Redacted(text(block.data)),
        Some("tool_use") => {
            let input = block.input.map(RawValue::get);
            BlockKind::ToolUse {
                id: text(block.id),
                members: other_members(raw, &["type", "id", "name", "input"]),
                name: text(block.name),
                pieces: String::new(),
                whole: match (form, input) {
                    // A blocking call always has its input; no text at all is no object.
                    (Form::Whole, None) => Some(String::new()),
                    // What begins a stream may hold null in place of the arguments that come after it.
                    (Form::Piece, Some("null")) => None,
                    (_, input) => input.map(str::to_owned),
                },
            }
        }
        _ => BlockKind::Foreign,
    }
}

/// The piece that a delta is; none if it carries nothing of the message, such as a citation.
fn piece_of(delta: &WireBlock<'_>, index: u64) -> Result<Option<Piece>, Failure> {
    let field = |raw: Raw<'_>, code| {
        let text = string(raw);
        text.ok_or_else(|| Failure::new(code, format!("{CONTENT}/{index}")))
    };
    let shape = FailureCode::BodyShape;
    Ok(match string(delta.kind).as_deref() {
        Some("text_delta") => Some(Piece::Text(field(delta.text, shape)?)),
        Some("thinking_delta") => Some(Piece::Thinking(field(delta.thinking, shape)?)),
        Some("signature_delta") => Some(Piece::Signature(field(delta.signature, shape)?)),
        Some("input_json_delta") => {
            let code = FailureCode::ArgsInvalidJson;
            Some(Piece::Arguments(field(delta.partial_json, code)?))
        }
        _ => None,
    })
}

wire! {
    /// A blocking body, or one event of a stream; all fields raw, see the chat dialect.
    pub(super) struct WireEvent {
        content, content_block, delta, error, index, message, model, role, stop_reason, usage,
        kind = "type",
    }

    /// A content block, or the delta of one.
    pub(super) struct WireBlock {
        data, id, input: "given", name, partial_json, signature, stop_reason, text, thinking,
        kind = "type",
    }

    #[expect(clippy::struct_field_names, reason = "the names are the protocol's")]
    pub(super) struct WireUsage {
        cache_creation_input_tokens, cache_read_input_tokens, input_tokens, output_tokens,
    }
}
