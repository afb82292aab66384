use serde_json::value::RawValue;

use super::VERSION;
use super::wire::{WireBlock, WireEvent, WireUsage};
use crate::adapter::blocks::{BlockKind, Blocks, Piece};
use crate::adapter::calls::CallFields;
use crate::adapter::draft::{MAX_PARTS, Parties, too_many_parts};
use crate::adapter::error_report::ErrorReport;
use crate::adapter::fold::{self, Failure, Folded, Form, Progress, document};
use crate::adapter::json::{Raw, elements, object, string, whole};
use crate::adapter::usage::UsageReport;
use crate::message::{FailureCode, StopReason};

const CONTENT: &str = "/content";
const FIELDS: CallFields = CallFields {
    arguments: "/input",
    id: "/id",
    name: "/name",
};

/// A message, folded from a body or from the events of a stream.
#[derive(Debug)]
pub(in crate::adapter) struct Fold {
    blocks: Blocks,
    progress: Progress,
    saw_message: bool,
    stop_reason: Option<String>,
    usage: UsageReport,
}

impl Default for Fold {
    fn default() -> Self {
        Self {
            blocks: Blocks::at(CONTENT),
            progress: Progress::default(),
            saw_message: false,
            stop_reason: None,
            usage: UsageReport::default(),
        }
    }
}

impl fold::Fold for Fold {
    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }

    fn is_done(&self) -> bool {
        self.progress.done
    }

    fn take(&mut self, text: &str, form: Form) -> Result<(), Failure> {
        let event: WireEvent<'_> = document(text)?;
        let kind = string(event.kind).unwrap_or_default();
        if kind == "error" || event.error.is_some() {
            let own = event.error.and_then(ErrorReport::of_value);
            let report = own.unwrap_or_else(|| ErrorReport::of_body(text));
            self.progress.report(report);
            return Ok(());
        }
        match (form, kind.as_str()) {
            (Form::Whole, _) => self.message(&event),
            (Form::Piece, "message_start") => {
                if self.saw_message {
                    // A stream holds one message. A second one was spliced in, and neither can be trusted to be whole.
                    return Err(Failure::new(FailureCode::BodyShape, "/message_start"));
                }
                let message: WireEvent<'_> = part(event.message, "/message")?;
                self.message(&message)
            }
            (Form::Piece, "content_block_start") => {
                let block: WireBlock<'_> = part(event.content_block, CONTENT)?;
                let index = whole(event.index).unwrap_or(0);
                self.blocks.start(index, kind_of(&block, form))
            }
            (Form::Piece, "content_block_delta") => {
                let delta: WireBlock<'_> = part(event.delta, CONTENT)?;
                let index = whole(event.index).unwrap_or(0);
                piece_of(&delta, index)?.map_or(Ok(()), |piece| self.blocks.add(index, piece))
            }
            (Form::Piece, "content_block_stop") => {
                self.blocks.stop(whole(event.index).unwrap_or(0));
                Ok(())
            }
            (Form::Piece, "message_delta") => {
                let delta: WireBlock<'_> = part(event.delta, "/stop_reason")?;
                self.stopped(delta.stop_reason);
                self.meter(event.usage);
                Ok(())
            }
            (Form::Piece, "message_stop") => {
                self.progress.done = true;
                Ok(())
            }
            // Keep-alives, and events that are not known yet.
            (Form::Piece, _) => Ok(()),
        }
    }

    fn stop(&self) -> StopReason {
        match self.stop_reason.as_deref() {
            Some("end_turn" | "tool_use" | "stop_sequence") => StopReason::End,
            Some("max_tokens" | "model_context_window_exceeded") => StopReason::Length,
            Some("refusal") => StopReason::Refusal,
            _ => StopReason::Unknown,
        }
    }

    fn finish(mut self, form: Form, model: &str) -> Folded {
        if let Some(decided) = self.progress.decided() {
            return decided;
        }
        let fail = |code, pointer: &str| Folded::Rejected(Failure::new(code, pointer));
        if form == Form::Piece && !self.progress.done && self.stop_reason.is_none() {
            return fail(FailureCode::StreamIncomplete, "/stop_reason");
        }
        if !self.saw_message {
            return fail(FailureCode::BodyShape, CONTENT);
        }
        if let Some("pause_turn" | "compaction") = self.stop_reason.as_deref() {
            return fail(FailureCode::TurnPaused, "/stop_reason");
        }
        let cut = self.stop() == StopReason::Length;
        let parties = Parties {
            asked: model,
            answered: self.progress.model.as_deref(),
            repairs: self.progress.repairs,
            version: VERSION,
        };
        let draft = self.blocks.into_draft(cut, "", FIELDS.arguments);
        draft.finish(&FIELDS, &parties)
    }
}

impl Fold {
    /// What a body, or the beginning of a stream, says.
    fn message(&mut self, message: &WireEvent<'_>) -> Result<(), Failure> {
        self.progress.name_model(string(message.model));
        self.stopped(message.stop_reason);
        self.meter(message.usage);
        let shape = || Failure::new(FailureCode::BodyShape, CONTENT);
        let content = message.content.ok_or_else(shape)?;
        let (blocks, more) = elements(content, MAX_PARTS).ok_or_else(shape)?;
        if more {
            return Err(too_many_parts(CONTENT));
        }
        self.saw_message = true;
        for (index, raw) in (0..).zip(blocks) {
            let block: WireBlock<'_> = part(Some(raw), &format!("{CONTENT}/{index}"))?;
            self.blocks.start(index, kind_of(&block, Form::Whole))?;
            self.blocks.stop(index);
        }
        Ok(())
    }

    fn stopped(&mut self, reason: Raw<'_>) {
        if let Some(reason) = string(reason).filter(|reason| !reason.is_empty()) {
            self.stop_reason = Some(reason);
        }
    }

    /// Numbers of a stream grow; the last of each counts.
    fn meter(&mut self, raw: Raw<'_>) {
        let Some(wire) = raw.and_then(|raw| object::<WireUsage<'_>>(raw.get())) else {
            return;
        };
        let report = &mut self.usage;
        UsageReport::note(&mut report.cache_read, wire.cache_read_input_tokens);
        UsageReport::note(&mut report.cache_write, wire.cache_creation_input_tokens);
        UsageReport::note(&mut report.input, wire.input_tokens);
        UsageReport::note(&mut report.output, wire.output_tokens);
        self.progress.usage = report.usage();
    }
}

fn part<'a, T: serde::Deserialize<'a>>(raw: Raw<'a>, pointer: &str) -> Result<T, Failure> {
    raw.and_then(|raw| object(raw.get()))
        .ok_or_else(|| Failure::new(FailureCode::BodyShape, pointer))
}

fn kind_of(block: &WireBlock<'_>, form: Form) -> BlockKind {
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
                name: text(block.name),
                pieces: String::new(),
                whole: match (form, input) {
                    // A blocking call always has its input; no text at all is no object.
                    (Form::Whole, None) => Some(String::new()),
                    (_, input) => input.map(str::to_owned),
                },
            }
        }
        _ => BlockKind::Foreign,
    }
}

/// The piece that a delta is; none where it carries nothing of the message, such as a citation.
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
