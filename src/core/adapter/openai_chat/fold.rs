//! Folds the documents of OpenAI's chat protocol into one message. Does not know requests or transport.

use serde_json::value::RawValue;

use super::calls::{
    Calls, MESSAGE, WireCall, WireChoice, WireChunk, WireFunction, WireMessage, WirePart,
};
use super::usage::usage;
use crate::adapter::calls::{MAX_CALLS, ValidCalls};
use crate::adapter::draft::state_of;
use crate::adapter::error_report::ErrorReport;
use crate::adapter::fold::{self, Failure, Folded, Form, Progress, document};
use crate::adapter::json::{Raw, elements, object, string, whole};
use crate::adapter::members::{Members, joined_parts};
use crate::adapter::streamed_call::StreamedCall;
use crate::message::{AgentMessage, FailureCode, Role, StateMember, StatePlace, StopReason};

/// The most choices of one chunk that are looked at; only the one of index 0 counts.
const MAX_CHOICES: usize = 128;
/// The words by which the kind of a part tells that it is no text.
const MEDIA: [&str; 4] = ["audio", "file", "image", "video"];
/// The most parts of one content array.
const MAX_PARTS: usize = 65_536;

/// A response, folded from its documents. A blocking body goes through it as a stream of one chunk, so both give the
/// same message.
#[derive(Debug, Default)]
pub(in crate::adapter) struct Fold {
    calls: Calls,
    content: String,
    /// Members of the message that no message holds.
    members: Members,
    /// The parts of the content, in their order.
    parts: Vec<StateMember>,
    progress: Progress,
    reasoning: String,
    refusal: String,
    saw_message: bool,
}

impl fold::Fold for Fold {
    const CALLS: &'static str = "/choices/0/message/tool_calls";
    const DONE_ENDS: bool = true;
    const STOP: &'static str = "/choices/0/finish_reason";
    const TEXT: &'static str = "/choices/0/message/content";

    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }

    fn text(&self) -> Option<&str> {
        Some(&self.content)
    }

    fn reasoning(&self) -> Option<&str> {
        Some(&self.reasoning)
    }

    fn call(&self, at: usize) -> Option<StreamedCall<'_>> {
        self.calls.streamed(at)
    }

    /// Pieces may follow a finish reason, usage at least; nothing follows `[DONE]`.
    fn is_done(&self) -> bool {
        self.progress.done
    }

    fn take(&mut self, text: &str, form: Form) -> Result<(), Failure> {
        let chunk: WireChunk<'_> = document(text)?;
        self.note(&chunk, text);
        let Some(choices) = chunk.choices else {
            return Ok(());
        };
        let (choices, _) = elements(choices, MAX_CHOICES)
            .ok_or_else(|| Failure::new(FailureCode::BodyShape, "/choices"))?;
        for (position, choice) in choices.into_iter().enumerate() {
            let choice: WireChoice<'_> = object(choice.get()).ok_or_else(|| {
                Failure::new(FailureCode::BodyShape, format!("/choices/{position}"))
            })?;
            let index = choice
                .index
                .map_or(Some(position as u64), |raw| whole(Some(raw)));
            if index == Some(0) {
                self.choice(&choice, form)?;
            }
        }
        Ok(())
    }

    fn refuses(&self) -> bool {
        !self.refusal.trim().is_empty()
    }

    /// The verdict. A stream is whole if it had a finish reason or `[DONE]`.
    fn finish(mut self, _: Form, model: &str) -> Folded {
        if let Some(decided) = self.progress.decided() {
            return decided;
        }
        // Azure leaves the message out where its filter stopped the whole of it.
        if !self.saw_message && self.stop() != StopReason::ContentFilter {
            return Folded::Rejected(Failure::new(FailureCode::BodyShape, MESSAGE));
        }
        let answered = self.progress.model.as_deref().unwrap_or(model);
        let finished = self.calls.finish(answered, self.progress.rules);
        let (ValidCalls { calls, repair }, of_calls) = match finished {
            Ok(validated) => validated,
            Err(failure) => return Folded::Rejected(failure),
        };
        // Calls and content are members of their own here: there is no order between them.
        let has_content = |parts: &[StateMember]| parts.iter().any(StateMember::has_content);
        let [of_calls, parts] = [of_calls, self.parts].map(|mut parts| {
            if !has_content(&parts) {
                parts.clear();
            }
            parts
        });
        let state = state_of(self.members, [parts, of_calls].concat());
        let message = AgentMessage {
            // Some models give nothing but a refusal. It is for people and never counts as an answer.
            content: if self.content.is_empty() {
                self.refusal
            } else {
                self.content
            },
            reasoning: Some(self.reasoning).filter(|reasoning| !reasoning.is_empty()),
            state,
            tool_calls: calls,
            ..AgentMessage::text(Role::Assistant, "", 0)
        };
        Folded::of(message, repair)
    }
}

impl Fold {
    /// The members of a chunk beside its choices.
    fn note(&mut self, chunk: &WireChunk<'_>, text: &str) {
        let own = chunk.error.and_then(ErrorReport::of_value);
        let bare = || (string(chunk.object)? == "error").then(|| ErrorReport::of_body(text));
        if let Some(report) = own.or_else(bare) {
            self.progress.report(report);
        }
        self.progress.name_model(string(chunk.model));
        self.progress.fingerprint(string(chunk.system_fingerprint));
        let groq = || object::<WireChunk<'_>>(chunk.x_groq?.get())?.usage;
        self.meter(chunk.usage.or_else(groq));
    }

    /// The last report with a number counts: some servers report with every chunk, growing.
    fn meter(&mut self, raw: Raw<'_>) {
        if let Some(usage) = raw.and_then(usage) {
            self.progress.usage = Some(usage);
        }
    }

    fn choice(&mut self, choice: &WireChoice<'_>, form: Form) -> Result<(), Failure> {
        if let Some(report) = choice.error.and_then(ErrorReport::of_value) {
            self.progress.report(report);
        }
        self.progress.stopped(string(choice.finish_reason));
        let upstream = string(choice.native_finish_reason);
        self.progress.stopped_upstream(upstream);
        if self.progress.usage.is_none() {
            self.meter(choice.usage);
        }
        // Where a chunk of a stream has both, `message` is what came so far and `delta` what is new.
        let (whole_message, raw) = match (form, choice.message, choice.delta) {
            (Form::Whole, Some(message), _) | (_, Some(message), None) => (true, message),
            (_, _, Some(delta)) => (false, delta),
            (_, None, None) => return Ok(()),
        };
        let message: WireMessage<'_> =
            object(raw.get()).ok_or_else(|| Failure::new(FailureCode::MessageShape, MESSAGE))?;
        self.saw_message = true;
        self.members.take(raw.get(), &HELD);
        self.message(&message, whole_message)
    }

    fn message(&mut self, message: &WireMessage<'_>, whole_message: bool) -> Result<(), Failure> {
        self.progress
            .role(message.role, "assistant", &format!("{MESSAGE}/role"))?;
        let mut thinking = String::new();
        if let Some(content) = message.content {
            self.content(content, &mut thinking)?;
        }
        if let Some(refusal) = string(message.refusal) {
            self.refusal.push_str(&refusal);
        }
        // Servers that send more than one of these send the same text in each.
        let reasoning = [message.reasoning_content, message.reasoning]
            .into_iter()
            .filter_map(string)
            .find(|text| !text.is_empty())
            .or_else(|| Some(details(message.reasoning_details?)).filter(|text| !text.is_empty()))
            .unwrap_or(thinking);
        self.reasoning.push_str(&reasoning);
        if let Some(raw) = message.function_call {
            legacy(raw)?;
        }
        let Some(raw) = message.tool_calls else {
            return Ok(());
        };
        let (calls, _) = elements(raw, MAX_CALLS + 1)
            .ok_or_else(|| Failure::new(FailureCode::CallShape, format!("{MESSAGE}/tool_calls")))?;
        for call in calls {
            if whole_message || !is_blank(call) {
                self.calls
                    .take(call.get(), whole_message, &mut self.progress)?;
            }
        }
        Ok(())
    }

    fn speak(&mut self, text: &str) {
        self.content.push_str(text);
        match self.parts.last_mut() {
            Some(last) if last.continues_as_text() => last.lengthen(text.len()),
            _ if text.is_empty() => {}
            _ => self
                .parts
                .push(StateMember::text(text.len(), String::new())),
        }
    }

    /// Takes a part of the content that is thinking; pieces of one follow each other.
    fn think(&mut self, part: &RawValue) {
        match self.parts.last_mut() {
            Some(last) if last.place == StatePlace::Block => {
                last.bytes = joined_parts(&last.bytes, part.get());
            }
            _ => self.parts.push(StateMember::block(part.get().to_owned())),
        }
    }

    /// Text, or an array of parts: text, thinking, refusal; parts of other kinds carry no text.
    fn content(&mut self, raw: &RawValue, thinking: &mut String) -> Result<(), Failure> {
        let at = |code, below: String| Failure::new(code, format!("{MESSAGE}/content{below}"));
        if raw.get().starts_with('"') {
            let text =
                string(Some(raw)).ok_or_else(|| at(FailureCode::BodyInvalidJson, String::new()))?;
            self.speak(&text);
            return Ok(());
        }
        let (parts, more) =
            elements(raw, MAX_PARTS).ok_or_else(|| at(FailureCode::MessageShape, String::new()))?;
        if more {
            return Err(at(FailureCode::TooLarge, format!("/{MAX_PARTS}")));
        }
        for (position, raw) in parts.into_iter().enumerate() {
            if raw.get().starts_with('"') {
                let text = string(Some(raw))
                    .ok_or_else(|| at(FailureCode::BodyInvalidJson, format!("/{position}")))?;
                self.speak(&text);
                continue;
            }
            let part: WirePart<'_> = object(raw.get())
                .ok_or_else(|| at(FailureCode::MessageShape, format!("/{position}")))?;
            match string(part.kind).as_deref() {
                None | Some("text" | "output_text") => {
                    if let Some(raw) = part.text {
                        let text = string(Some(raw)).ok_or_else(|| {
                            at(FailureCode::BodyInvalidJson, format!("/{position}/text"))
                        })?;
                        self.speak(&text);
                    }
                }
                Some("thinking" | "reasoning") => {
                    self.think(raw);
                    thinking.push_str(&part.thinking.map(spoken).unwrap_or_default());
                    thinking.push_str(&string(part.text).unwrap_or_default());
                }
                Some("refusal") => {
                    self.refusal
                        .push_str(&string(part.refusal).unwrap_or_default());
                }
                Some(kind) if MEDIA.iter().any(|media| kind.contains(media)) => {
                    let pointer = format!("{MESSAGE}/content/{position}");
                    let code = FailureCode::MessageShape;
                    self.progress.tolerate("part_dropped", code, &pointer)?;
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

/// The members of a message that it holds, and those that only a server sends.
const HELD: [&str; 13] = [
    "annotations",
    "audio",
    "content",
    "executed_tools",
    "function_call",
    "images",
    "index",
    "name",
    "prefix",
    "refusal",
    "role",
    "tool_call_id",
    "tool_calls",
];

/// The text of reasoning details: `reasoning.text` and `reasoning.summary`; encrypted ones hold none.
fn details(raw: &RawValue) -> String {
    elements(raw, MAX_PARTS)
        .map_or_else(Vec::new, |(parts, _)| parts)
        .into_iter()
        .filter_map(|part| object::<WirePart<'_>>(part.get()))
        .filter_map(|part| string(part.text).or_else(|| string(part.summary)))
        .collect()
}

/// The text of a thinking part: a string, or parts with text.
fn spoken(raw: &RawValue) -> String {
    string(Some(raw)).unwrap_or_else(|| details(raw))
}

/// The call of the dialect before tools. Nothing that we send asks for one, so a named one is no call of ours; servers that
/// serialise every field they know send an empty one.
fn legacy(raw: &RawValue) -> Result<(), Failure> {
    let empty = object::<WireFunction<'_>>(raw.get()).is_some_and(|function| {
        let blank = |raw| string(raw).unwrap_or_default().trim().is_empty();
        blank(function.name) && blank(function.arguments)
    });
    if empty {
        Ok(())
    } else {
        Err(Failure::new(
            FailureCode::CallShape,
            format!("{MESSAGE}/function_call"),
        ))
    }
}

/// True if a piece of a stream is empty: null, or an object without id and function.
fn is_blank(raw: &RawValue) -> bool {
    raw.get() == "null"
        || object::<WireCall<'_>>(raw.get())
            .is_some_and(|call| call.function.is_none() && call.id.is_none())
}
