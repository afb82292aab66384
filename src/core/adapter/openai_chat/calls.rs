//! Gathers the pieces of tool calls in OpenAI's chat protocol. Does not validate the calls.

use crate::adapter::calls::{CallFields, GatheredCall, MAX_CALLS, ValidCalls, validate};
use crate::adapter::fold::{Failure, Progress, Rules};
use crate::adapter::json::{Raw, object, string, whole, wire};
use crate::adapter::members::Members;
use crate::adapter::streamed_call::StreamedCall;
use crate::message::{FailureCode, StateMember};

const FIELDS: CallFields = CallFields {
    arguments: "/function/arguments",
    id: "/id",
    name: "/function/name",
};

/// The members of a call that the message holds.
const HELD: [&str; 4] = ["function", "id", "index", "type"];

/// The calls of a message, gathered from their pieces.
///
/// A piece belongs to the call of its `index`; without an index to that of its `id`; without either to the last one. It begins
/// a new call in four cases:
/// - There is no such call.
/// - It has a name and an id other than the call's: some servers number every call 0.
/// - It has a name and no id, and the call's arguments are whole: some servers send each call whole. With the same name and
///   blank arguments it repeats the head of the call.
/// - It has another name, neither index nor id, and the last call already has arguments.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<Parts>);

#[derive(Debug, Default)]
struct Parts {
    arguments: String,
    has_function: bool,
    id: String,
    index: Option<u64>,
    members: Members,
    name: String,
    nesting: Nesting,
}

/// The open brackets of an object's text as it arrives.
#[derive(Debug, Default)]
struct Nesting {
    depth: usize,
    in_string: bool,
    is_escape: bool,
    was_open: bool,
}

impl Nesting {
    fn push(&mut self, text: &str) {
        for byte in text.bytes() {
            match byte {
                _ if self.is_escape => self.is_escape = false,
                b'\\' => self.is_escape = self.in_string,
                b'"' => self.in_string = !self.in_string,
                b'{' | b'[' if !self.in_string => {
                    self.was_open = true;
                    self.depth = self.depth.saturating_add(1);
                }
                b'}' | b']' if !self.in_string => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// True if everything that was opened is closed.
    const fn is_closed(&self) -> bool {
        self.was_open && self.depth == 0 && !self.in_string
    }
}

impl Calls {
    /// Takes one element of `tool_calls`; `whole_call` if it is in a `message`, so that it is never a
    /// piece of another.
    pub(super) fn take(
        &mut self,
        text: &str,
        whole_call: bool,
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        let piece: WireCall<'_> = object(text)
            .ok_or_else(|| Failure::new(FailureCode::CallShape, pointer(self.0.len(), "")))?;
        let id = scalar(piece.id);
        let function: Option<WireFunction<'_>> = match piece.function {
            None => None,
            Some(raw) => Some(object(raw.get()).ok_or_else(|| {
                Failure::new(FailureCode::CallShape, pointer(self.0.len(), "/function"))
            })?),
        };
        let name = match function.as_ref().and_then(|f| f.name) {
            None => String::new(),
            Some(raw) => string(Some(raw)).ok_or_else(|| {
                Failure::new(
                    FailureCode::CallShape,
                    pointer(self.0.len(), "/function/name"),
                )
            })?,
        };
        let index = whole(piece.index).filter(|_| !whole_call);
        let arguments = function.as_ref().and_then(|function| function.arguments);
        let found = if whole_call {
            None
        } else {
            self.find(index, &id, &name, arguments)
        };
        let at = match found {
            Some(at) => at,
            None if self.0.len() == MAX_CALLS => {
                return Err(Failure::new(
                    FailureCode::TooManyCalls,
                    pointer(MAX_CALLS, ""),
                ));
            }
            None => {
                self.0.push(Parts {
                    index,
                    ..Parts::default()
                });
                self.0.len() - 1
            }
        };
        if string(piece.kind).is_some_and(|kind| !kind.is_empty() && kind != "function") {
            return Err(Failure::new(FailureCode::CallShape, pointer(at, "/type")));
        }
        if arguments.is_some_and(|raw| !raw.get().starts_with('"')) {
            let pointer = pointer(at, FIELDS.arguments);
            progress.tolerate("arguments_quoted", FailureCode::CallShape, &pointer)?;
        }
        match self.0.get_mut(at) {
            Some(parts) => {
                parts.members.take(text, &HELD);
                parts
                    .add(&id, &name, function.as_ref())
                    .map_err(|(code, below)| Failure::new(code, pointer(at, below)))
            }
            None => Ok(()),
        }
    }

    fn find(&self, index: Option<u64>, id: &str, name: &str, arguments: Raw<'_>) -> Option<usize> {
        let has_arguments =
            arguments.is_some_and(|raw| string(Some(raw)).is_none_or(|t| !t.trim().is_empty()));
        let begins = |parts: &Parts| {
            let other_id = !id.is_empty() && !parts.id.is_empty() && id != parts.id;
            let other_name = name != parts.name;
            let after_whole = parts.nesting.is_closed() && (other_name || has_arguments);
            let bare = index.is_none() && other_name && !parts.arguments.is_empty();
            !name.is_empty() && (other_id || id.is_empty() && (after_whole || bare))
        };
        let at = if index.is_some() {
            self.0.iter().rposition(|parts| parts.index == index)
        } else if id.is_empty() {
            self.0.len().checked_sub(1)
        } else {
            self.0
                .iter()
                .rposition(|parts| parts.id == id)
                .or_else(|| self.0.len().checked_sub(1).filter(|_| name.is_empty()))
        };
        at.filter(|at| self.0.get(*at).is_some_and(|parts| !begins(parts)))
    }

    /// The call at that place, if every bracket of its arguments is closed.
    pub(super) fn streamed(&self, at: usize) -> Option<StreamedCall<'_>> {
        let parts = self.0.get(at)?;
        let is_in_order = parts
            .index
            .is_none_or(|index| usize::try_from(index) == Ok(at));
        let is_whole = parts.has_function && parts.nesting.is_closed();
        (is_in_order && is_whole).then_some(StreamedCall {
            arguments: &parts.arguments,
            id: &parts.id,
            name: &parts.name,
        })
    }

    /// The calls in message order: by index where every call has one, else by first appearance. With each call the members of it
    /// that no call holds.
    pub(super) fn finish(
        mut self,
        model: &str,
        rules: Rules,
    ) -> Result<(ValidCalls, Vec<StateMember>), Failure> {
        if self.0.iter().all(|parts| parts.index.is_some()) {
            self.0.sort_by_key(|parts| parts.index);
        }
        let members = self.0.iter_mut();
        let members = members.map(|parts| std::mem::take(&mut parts.members).into_object());
        let members = members.map(StateMember::call).collect();
        let gathered = self
            .0
            .into_iter()
            .enumerate()
            .map(|(at, parts)| GatheredCall {
                arguments: parts.arguments,
                flaw: (!parts.has_function).then_some((FailureCode::CallShape, "/function")),
                id: parts.id,
                name: parts.name,
                pointer: pointer(at, ""),
            });
        let valid = validate(gathered.collect(), &FIELDS, model, rules)?;
        Ok((valid, members))
    }
}

impl Parts {
    fn add(
        &mut self,
        id: &str,
        name: &str,
        function: Option<&WireFunction<'_>>,
    ) -> Result<(), (FailureCode, &'static str)> {
        if self.id.is_empty() {
            id.clone_into(&mut self.id);
        }
        // Some servers repeat the head of a call in every piece.
        if name != self.name && self.arguments.is_empty() {
            self.name.push_str(name);
        } else if !name.is_empty() && name != self.name {
            return Err((FailureCode::CallShape, "/function/name"));
        }
        let Some(function) = function else {
            return Ok(());
        };
        self.has_function = true;
        if let Some(raw) = function.arguments {
            let piece = if raw.get().starts_with('"') {
                string(Some(raw)).ok_or((FailureCode::ArgsInvalidJson, FIELDS.arguments))?
            } else {
                // Arguments as JSON instead of text. Its text as it stood is validated like any other.
                raw.get().to_owned()
            };
            self.nesting.push(&piece);
            self.arguments.push_str(&piece);
        }
        Ok(())
    }
}

/// The RFC 6901 pointer to something of call `at`.
fn pointer(at: usize, below: &str) -> String {
    format!("{MESSAGE}/tool_calls/{at}{below}")
}

/// An id: a string, or a number as its text; anything else is none.
fn scalar(raw: Raw<'_>) -> String {
    string(raw)
        .or_else(|| whole(raw).map(|number| number.to_string()))
        .unwrap_or_default()
}

/// The pointer of the message in a blocking body, and by convention in a folded stream.
pub(super) const MESSAGE: &str = "/choices/0/message";

wire! {
    /// A blocking body, or one chunk of a stream.
    ///
    /// All fields are raw: servers disagree on types, and a wrong type in a field that does not matter must not cost the
    /// message.
    pub(super) struct WireChunk {
        choices, error, model, object, system_fingerprint, usage, x_groq,
    }

    pub(super) struct WireChoice {
        delta, error, finish_reason, index, message,
        /// The upstream's own word, where a server in between has another.
        native_finish_reason,
        usage,
    }

    /// `message` of a blocking body, `delta` of a chunk.
    pub(super) struct WireMessage {
        content, function_call, reasoning, reasoning_content, reasoning_details, refusal, role,
        tool_calls,
    }

    /// A part of a content array, or of an array of reasoning details.
    pub(super) struct WirePart {
        refusal, summary, text, thinking, kind = "type",
    }

    pub(super) struct WireCall {
        function, id, index, kind = "type",
    }

    pub(super) struct WireFunction {
        arguments, name,
    }
}
