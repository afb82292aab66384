//! Folds Gemini's documents into one message. Does not know requests or transport.

use serde_json::value::RawValue;

use super::partial_args::PartialArgs;
use super::wire::{
    WireCall, WireCandidate, WireChunk, WireContent, WireFeedback, WirePart, WireUsage,
};
use crate::adapter::blocks::UsageReport;
use crate::adapter::calls::{CallFields, GatheredCall};
use crate::adapter::draft::{Draft, MAX_PARTS, ResponseOrigin, too_many_parts};
use crate::adapter::error_report::ErrorReport;
use crate::adapter::fold::{self, Failure, Folded, Form, Framing, Progress, document};
use crate::adapter::json::{Raw, append, elements, object, string, whole};
use crate::adapter::members::other_members;
use crate::message::FailureCode;

const PARTS: &str = "/candidates/0/content/parts";
const REASON: &str = "/candidates/0/finishReason";
/// The most candidates that are looked at; only the one of index 0 counts.
const MAX_CANDIDATES: usize = 128;
const FIELDS: CallFields = CallFields {
    arguments: "/functionCall/args",
    id: "/functionCall/id",
    name: "/functionCall/name",
};

/// A message, folded from a body or from the chunks of a stream.
#[derive(Debug, Default)]
pub(in crate::adapter) struct Fold {
    draft: Draft,
    /// True if no text followed the last call.
    ends_in_call: bool,
    /// The call whose arguments still arrive.
    open: Option<OpenCall>,
    parts: usize,
    progress: Progress,
    saw_candidate: bool,
    usage: UsageReport,
}

#[derive(Debug)]
struct OpenCall {
    args: PartialArgs,
    call: GatheredCall,
    /// The members that no call holds.
    members: String,
}

impl fold::Fold for Fold {
    const FRAMING: Framing = Framing::Array;
    const STOP: &'static str = REASON;

    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }

    /// Usage may follow the finish reason.
    fn is_done(&self) -> bool {
        self.progress.done
    }

    fn text(&self) -> Option<&str> {
        Some(self.draft.content())
    }

    fn reasoning(&self) -> Option<&str> {
        Some(self.draft.thoughts())
    }

    fn take(&mut self, text: &str, _: Form) -> Result<(), Failure> {
        let chunk: WireChunk<'_> = document(text)?;
        self.note(&chunk);
        let Some(candidates) = chunk.candidates else {
            return Ok(());
        };
        let (candidates, _) = elements(candidates, MAX_CANDIDATES)
            .ok_or_else(|| Failure::new(FailureCode::BodyShape, "/candidates"))?;
        for (position, raw) in (0..).zip(candidates) {
            let candidate: WireCandidate<'_> = part(Some(raw), &format!("/candidates/{position}"))?;
            let index = candidate
                .index
                .map_or(Some(position), |raw| whole(Some(raw)));
            if index == Some(0) {
                self.candidate(&candidate)?;
            }
        }
        Ok(())
    }

    fn finish(mut self, _: Form, model: &str) -> Folded {
        if let Some(decided) = self.progress.decided() {
            return decided;
        }
        let fail = |code, pointer: &str| Folded::Rejected(Failure::new(code, pointer));
        if !self.saw_candidate {
            return fail(FailureCode::BodyShape, "/candidates");
        }
        if let Some(mut open) = self.open.take() {
            open.call.flaw = Some((FailureCode::StreamIncomplete, "/functionCall/willContinue"));
            self.draft.call(open.call, open.members);
        }
        if self.ends_in_call && self.progress.rules.is_cut {
            // Arguments come parsed here, so one that was cut would look like a whole one.
            self.draft.cut_last_call(FIELDS.arguments);
        }
        let origin = ResponseOrigin {
            requested: model,
            answered: self.progress.model.as_deref(),
            rules: self.progress.rules,
        };
        self.draft.finish(&FIELDS, &origin)
    }
}

impl Fold {
    /// The members of a chunk beside its candidates.
    fn note(&mut self, chunk: &WireChunk<'_>) {
        if let Some(report) = chunk.error.and_then(ErrorReport::of_value) {
            self.progress.report(report);
        }
        self.progress.name_model(string(chunk.model_version));
        let feedback: WireFeedback<'_> = chunk
            .prompt_feedback
            .and_then(|raw| object(raw.get()))
            .unwrap_or_default();
        if let Some(reason) = string(feedback.block_reason).filter(|reason| !reason.is_empty()) {
            let words = string(feedback.block_reason_message).unwrap_or_default();
            let text = format!("the prompt was blocked: {reason} {words}");
            self.progress
                .report(ErrorReport::of_text(&text).named("content_filter"));
        }
        let Some(wire) = chunk
            .usage_metadata
            .and_then(|raw| object::<WireUsage<'_>>(raw.get()))
        else {
            return;
        };
        let report = &mut self.usage;
        report.input_holds_cache = true;
        UsageReport::note(&mut report.cache_read, wire.cached_content_token_count);
        UsageReport::note(&mut report.beside, wire.tool_use_prompt_token_count);
        UsageReport::note(&mut report.input, wire.prompt_token_count);
        UsageReport::note(&mut report.output, wire.candidates_token_count);
        UsageReport::note(&mut report.reasoning, wire.thoughts_token_count);
        self.progress.usage = report.usage();
    }

    fn candidate(&mut self, candidate: &WireCandidate<'_>) -> Result<(), Failure> {
        self.saw_candidate = true;
        if let Some(reason) = candidate.finish_reason.and_then(reason) {
            self.progress.stopped(Some(reason));
        }
        let Some(raw) = candidate.content else {
            return Ok(());
        };
        let content: WireContent<'_> = part(Some(raw), "/candidates/0/content")?;
        let Some(raw) = content.parts else {
            return Ok(());
        };
        let (parts, more) =
            elements(raw, MAX_PARTS).ok_or_else(|| Failure::new(FailureCode::BodyShape, PARTS))?;
        if more || self.parts >= MAX_PARTS {
            return Err(too_many_parts(PARTS));
        }
        for raw in parts {
            let pointer = format!("{PARTS}/{}", self.parts);
            let part: WirePart<'_> = part(Some(raw), &pointer)?;
            self.parts += 1;
            self.part(&part, raw.get(), &pointer)?;
        }
        Ok(())
    }

    /// Takes a part, whose text is `whole`. A signature may be on a part of every kind, and on one without anything else.
    fn part(&mut self, part: &WirePart<'_>, whole: &str, pointer: &str) -> Result<(), Failure> {
        let signature = string(part.thought_signature).filter(|text| !text.is_empty());
        if let Some(raw) = part.function_call {
            self.ends_in_call = true;
            return self.call(raw, whole, pointer);
        }
        let is_thought = part.thought.is_some_and(|raw| raw.get() == "true");
        let members = || match signature {
            Some(_) => other_members(whole, &["text", "thought"]),
            None => String::new(),
        };
        let Some(raw) = part.text else {
            let alone = other_members(whole, &["thought", "thoughtSignature"]).is_empty();
            match (alone, &signature) {
                (true, _) => self.draft.text("", members()),
                (false, Some(_)) => self.draft.block(whole.to_owned()),
                // Parts of the provider's own tools.
                (false, None) => {}
            }
            return Ok(());
        };
        let text = string(Some(raw))
            .ok_or_else(|| Failure::new(FailureCode::BodyShape, format!("{pointer}/text")))?;
        self.ends_in_call &= text.is_empty();
        if is_thought {
            self.draft.reasoning(&text);
            if signature.is_some() {
                self.draft.block(whole.to_owned());
            }
        } else {
            self.draft.text(&text, members());
        }
        Ok(())
    }

    fn call(&mut self, raw: &RawValue, whole: &str, pointer: &str) -> Result<(), Failure> {
        let shape = |below: &str| Failure::new(FailureCode::CallShape, format!("{pointer}{below}"));
        let piece: WireCall<'_> = object(raw.get()).ok_or_else(|| shape("/functionCall"))?;
        let name = string(piece.name).unwrap_or_default();
        let goes_on = piece.will_continue.is_some_and(|raw| raw.get() == "true");
        let mut open = match self.open.take() {
            Some(open) if name.is_empty() => open,
            Some(_) => return Err(shape("/functionCall/name")),
            // The end of a call that was whole already.
            None if name.is_empty() && piece.args.is_none() && piece.partial_args.is_none() => {
                return Ok(());
            }
            None => OpenCall {
                args: PartialArgs::default(),
                call: GatheredCall {
                    id: string(piece.id).unwrap_or_default(),
                    name,
                    pointer: pointer.to_owned(),
                    ..GatheredCall::default()
                },
                members: call_members(raw, whole),
            },
        };
        if let Some(raw) = piece.partial_args
            && !open.args.take(raw)
        {
            return Err(shape("/functionCall/partialArgs"));
        }
        if let Some(raw) = piece.args {
            raw.get().clone_into(&mut open.call.arguments);
        }
        if goes_on {
            self.open = Some(open);
            return Ok(());
        }
        if open.call.arguments.is_empty() {
            // The dialect's rule: a call without arguments leaves the field out.
            open.call.arguments = open.args.text();
        }
        self.draft.call(open.call, open.members);
        Ok(())
    }
}

/// The members of a call's part that no call holds. Its id is one of them: a call without an id gets one of ours, which looks alike.
fn call_members(call: &RawValue, part: &str) -> String {
    const HELD: [&str; 4] = ["name", "args", "partialArgs", "willContinue"];
    let own = other_members(call.get(), &HELD);
    let mut out = other_members(part, &["functionCall"]).into_bytes();
    if !own.is_empty() {
        if out.is_empty() {
            out.extend_from_slice(b"{}");
        }
        append(&mut out, [("functionCall", &own)]);
    }
    String::from_utf8(out).unwrap_or_default()
}

fn part<'a, T: serde::Deserialize<'a>>(raw: Raw<'a>, pointer: &str) -> Result<T, Failure> {
    raw.and_then(|raw| object(raw.get()))
        .ok_or_else(|| Failure::new(FailureCode::BodyShape, pointer))
}

/// A finish reason by name; clients that pass the protocol's numbers on are understood too.
fn reason(raw: &RawValue) -> Option<String> {
    let named = match whole(Some(raw)) {
        None => return string(Some(raw)).filter(|reason| !reason.is_empty()),
        Some(1) => "STOP",
        Some(2) => "MAX_TOKENS",
        Some(3) => "SAFETY",
        Some(4) => "RECITATION",
        Some(7) => "BLOCKLIST",
        Some(8) => "PROHIBITED_CONTENT",
        Some(9) => "SPII",
        Some(10) => "MALFORMED_FUNCTION_CALL",
        Some(0) => return None,
        Some(_) => "OTHER",
    };
    Some(named.to_owned())
}
