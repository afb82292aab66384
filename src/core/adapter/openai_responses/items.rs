//! The output items of a response: text, reasoning and calls. Does not know the events around them.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::adapter::calls::{CallFields, GatheredCall};
use crate::adapter::draft::{Draft, MAX_PARTS, too_many_parts};
use crate::adapter::fold::Failure;
use crate::adapter::json::{Raw, elements, given, is_null, object, string, whole, wire};
use crate::adapter::members::other_members;
use crate::message::FailureCode;

pub(super) const OUTPUT: &str = "/output";
pub(super) const FIELDS: CallFields = CallFields {
    arguments: "/arguments",
    id: "/call_id",
    name: "/name",
};

/// The output of a response. The response's own list counts; where the end of a stream lacks it, the items as they
/// were done; where an item was never done, its pieces.
#[derive(Debug, Default)]
pub(super) struct Items {
    list: Option<Vec<String>>,
    pieces: BTreeMap<u64, Pieces>,
}

#[derive(Debug, Default)]
struct Pieces {
    arguments: String,
    item: Option<String>,
    refusal: String,
    text: String,
    thought: String,
    /// True if `item` is the finished item, and not its beginning.
    was_done: bool,
}

impl Items {
    /// Takes the list of a response object. An empty one at the end of a stream replaces nothing.
    pub(super) fn take_list(&mut self, raw: &RawValue) -> Result<(), Failure> {
        let (items, more) =
            elements(raw, MAX_PARTS).ok_or_else(|| Failure::new(FailureCode::BodyShape, OUTPUT))?;
        if more {
            return Err(too_many_parts(OUTPUT));
        }
        self.list = Some(items.into_iter().map(|raw| raw.get().to_owned()).collect());
        Ok(())
    }

    /// The text so far, if it is in one item.
    pub(super) fn only_text(&self) -> Option<&str> {
        let is_commentary = |pieces: &Pieces| {
            let item = pieces.item.as_deref().and_then(object);
            item.is_some_and(|item| is_commentary(&item))
        };
        let spoken = self.pieces.values().filter(|pieces| !is_commentary(pieces));
        let mut texts = spoken.map(|pieces| pieces.text.as_str());
        let mut texts = texts.by_ref().filter(|text| !text.is_empty());
        let first = texts.next()?;
        texts.next().is_none().then_some(first)
    }

    /// The reasoning so far, if it is in one item.
    pub(super) fn only_reasoning(&self) -> Option<&str> {
        let thoughts = self.pieces.values().map(|pieces| pieces.thought.as_str());
        let mut thoughts = thoughts.filter(|text| !text.is_empty());
        let first = thoughts.next()?;
        thoughts.next().is_none().then_some(first)
    }

    /// True if there is anything that a message could be built from.
    pub(super) fn is_known(&self) -> bool {
        self.list.is_some() || !self.pieces.is_empty()
    }

    /// Takes an event about an item. Events without a part of the message are ignored.
    pub(super) fn take_event(&mut self, kind: &str, event: &WireEvent<'_>) -> Result<(), Failure> {
        let Some(index) = whole(event.output_index) else {
            return Ok(());
        };
        if self.pieces.len() >= MAX_PARTS && !self.pieces.contains_key(&index) {
            return Err(too_many_parts(OUTPUT));
        }
        let pieces = self.pieces.entry(index).or_default();
        let delta = || string(event.delta).unwrap_or_default();
        match kind {
            "response.output_item.added" | "response.output_item.done" => {
                pieces.was_done = kind == "response.output_item.done";
                pieces.item = event.item.map(|raw| raw.get().to_owned());
            }
            "response.output_text.delta" => pieces.text.push_str(&delta()),
            "response.refusal.delta" => pieces.refusal.push_str(&delta()),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                pieces.thought.push_str(&delta());
            }
            "response.function_call_arguments.delta" => pieces.arguments.push_str(&delta()),
            "response.function_call_arguments.done" => {
                if let Some(arguments) = string(event.arguments) {
                    pieces.arguments = arguments;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// True if the message refuses.
    pub(super) fn hold_refusal(&self) -> bool {
        self.draft().is_ok_and(|draft| draft.has_refusal())
    }

    /// True if an item says that it is a message which is not whole.
    pub(super) fn hold_cut_message(&self) -> bool {
        let done = self.pieces.values().filter(|pieces| pieces.was_done);
        let done = done.filter_map(|pieces| pieces.item.as_deref());
        let mut items = self.list.iter().flatten().map(String::as_str).chain(done);
        items.any(|item| {
            let item: WireItem<'_> = object(item).unwrap_or_default();
            string(item.kind).as_deref() == Some("message")
                && string(item.status).as_deref() == Some("incomplete")
        })
    }

    /// The message that the items are.
    pub(super) fn draft(&self) -> Result<Draft, Failure> {
        let mut draft = Draft::default();
        let list = self.list.as_ref();
        if let Some(list) = list.filter(|list| !list.is_empty() || self.pieces.is_empty()) {
            let kinds = Kinds::of(list.iter().map(String::as_str));
            for (at, item) in list.iter().enumerate() {
                take_item(&mut draft, at, item, kinds)?;
            }
            return Ok(draft);
        }
        let items = self.pieces.values().filter_map(|p| p.item.as_deref());
        let kinds = Kinds::of(items);
        for (at, pieces) in self.pieces.values().enumerate() {
            match &pieces.item {
                Some(item) if pieces.was_done => take_item(&mut draft, at, item, kinds)?,
                _ => take_pieces(&mut draft, at, pieces)?,
            }
        }
        Ok(draft)
    }
}

/// The kinds of items in an output, as far as they decide how the others are read.
#[derive(Clone, Copy, Debug, Default)]
struct Kinds {
    /// True if the provider itself ran the shell calls: then the output holds their results.
    ran_shell: bool,
    /// True if a call waits for its result.
    calls: bool,
    /// True if reasoning does not go back: the provider would look for it beside the items that name it by their ids.
    loses_reasoning: bool,
}

impl Kinds {
    fn of<'a>(items: impl Iterator<Item = &'a str>) -> Self {
        let mut kinds = Self::default();
        for item in items {
            let item: WireItem<'_> = object(item).unwrap_or_default();
            let kind = string(item.kind);
            kinds.ran_shell |= kind.as_deref() == Some("shell_call_output");
            kinds.calls |= kind.as_deref() == Some("function_call");
            kinds.loses_reasoning |= kind.as_deref() == Some("reasoning") && !goes_back(&item);
        }
        kinds
    }

    /// The members of an item that go back with it.
    fn members(self, text: &str, held: &[&str]) -> String {
        let id = self.loses_reasoning.then_some("id");
        let held: Vec<&str> = held.iter().copied().chain(id).collect();
        other_members(text, &held)
    }
}

/// True if reasoning holds what it is made of: encrypted, or its text. An id alone names what the provider did not store.
fn goes_back(item: &WireItem<'_>) -> bool {
    let is_encrypted = string(item.encrypted_content).is_some_and(|data| !data.is_empty());
    is_encrypted || item.content.is_some_and(|raw| raw.get() != "[]")
}

/// True if a message is the model's talk on the way to its answer.
fn is_commentary(item: &WireItem<'_>) -> bool {
    string(item.phase).as_deref() == Some("commentary")
}

/// Takes an item. Commentary is text beside calls; in a message without calls it is reasoning, so no answer begins with it.
fn take_item(draft: &mut Draft, at: usize, text: &str, kinds: Kinds) -> Result<(), Failure> {
    let pointer = format!("{OUTPUT}/{at}");
    let item: WireItem<'_> =
        object(text).ok_or_else(|| Failure::new(FailureCode::BodyShape, pointer.as_str()))?;
    let kind = string(item.kind).unwrap_or_default();
    match kind.as_str() {
        "message" => {
            let mut said = String::new();
            for part in parts(item.content, &format!("{pointer}/content"))? {
                said.push_str(&string(part.text).unwrap_or_default());
                draft.refusal(&string(part.refusal).unwrap_or_default());
            }
            if !kinds.calls && is_commentary(&item) {
                draft.reasoning(&said);
                draft.block(text.to_owned());
            } else {
                draft.text(&said, kinds.members(text, &["type", "role", "content"]));
            }
        }
        "reasoning" => {
            for field in [item.summary, item.content] {
                for part in parts(field, &pointer)? {
                    draft.reasoning(&string(part.text).unwrap_or_default());
                }
            }
            if goes_back(&item) {
                draft.block(text.to_owned());
            }
        }
        "function_call" => {
            let members = kinds.members(text, &["type", "call_id", "name", "arguments"]);
            draft.call(call_of(&item, pointer, None), members);
        }
        // Calls that wait for an answer, of tools that were not offered.
        "apply_patch_call"
        | "computer_call"
        | "custom_tool_call"
        | "local_shell_call"
        | "mcp_approval_request" => {
            return Err(Failure::new(FailureCode::CallUnexpected, pointer));
        }
        "shell_call" if !kinds.ran_shell => {
            return Err(Failure::new(FailureCode::CallUnexpected, pointer));
        }
        "tool_search_call" if string(item.execution).as_deref() == Some("client") => {
            return Err(Failure::new(FailureCode::CallUnexpected, pointer));
        }
        // Tools of the provider's own, and items that are not known yet.
        _ => {}
    }
    Ok(())
}

/// An item that began and was never done, of what its pieces gave.
fn take_pieces(draft: &mut Draft, at: usize, pieces: &Pieces) -> Result<(), Failure> {
    draft.text(&pieces.text, String::new());
    draft.refusal(&pieces.refusal);
    draft.reasoning(&pieces.thought);
    let pointer = format!("{OUTPUT}/{at}");
    let item: WireItem<'_> = pieces.item.as_deref().and_then(object).unwrap_or_default();
    if string(item.kind).as_deref() == Some("function_call") {
        draft.call(
            call_of(&item, pointer, Some(&pieces.arguments)),
            String::new(),
        );
    } else if !pieces.arguments.is_empty() {
        return Err(Failure::new(FailureCode::CallShape, pointer));
    }
    Ok(())
}

fn call_of(item: &WireItem<'_>, pointer: String, pieces: Option<&str>) -> GatheredCall {
    let own = item.arguments.map(|raw| match string(Some(raw)) {
        Some(text) => text,
        None => raw.get().to_owned(),
    });
    let pieces = pieces.filter(|pieces| !pieces.is_empty());
    // The item's own word that it was cut, even where what came of it reads as an object.
    let flaw = if string(item.status).as_deref() == Some("incomplete") {
        Some(FailureCode::ArgsInvalidJson)
    } else {
        let has_none = pieces.is_none() && is_null(item.arguments);
        has_none.then_some(FailureCode::ArgsNotObject)
    };
    GatheredCall {
        arguments: match pieces {
            Some(pieces) => pieces.to_owned(),
            None => own.unwrap_or_default(),
        },
        flaw: flaw.map(|code| (code, FIELDS.arguments)),
        id: string(item.call_id)
            .filter(|id| !id.is_empty())
            .or_else(|| string(item.id))
            .unwrap_or_default(),
        name: string(item.name).unwrap_or_default(),
        pointer,
    }
}

/// The parts of a field: an array, a bare text, or nothing.
fn parts<'a>(raw: Raw<'a>, pointer: &str) -> Result<Vec<WirePart<'a>>, Failure> {
    let Some(raw) = raw else {
        return Ok(Vec::new());
    };
    if raw.get().starts_with('"') {
        return Ok(vec![WirePart {
            text: Some(raw),
            ..WirePart::default()
        }]);
    }
    let shape = || Failure::new(FailureCode::BodyShape, pointer);
    let (parts, more) = elements(raw, MAX_PARTS).ok_or_else(shape)?;
    if more {
        return Err(too_many_parts(pointer));
    }
    parts
        .into_iter()
        .map(|part| object(part.get()).ok_or_else(shape))
        .collect()
}

wire! {
    /// A response object, or one event of a stream.
    pub(super) struct WireEvent {
        arguments, delta, error, incomplete_details, item, model, output, output_index,
        response, status, usage, kind = "type",
    }

    /// An item of the output.
    pub(super) struct WireItem {
        arguments: "given", call_id, content, encrypted_content, execution, id, name, phase,
        status, summary, kind = "type",
    }

    /// A part of a message's content, or of a reasoning item.
    pub(super) struct WirePart {
        refusal, text,
    }

    pub(super) struct WireUsage {
        input_tokens, input_tokens_details, output_tokens,
    }

    pub(super) struct WireDetails {
        cached_tokens, reason,
    }
}
