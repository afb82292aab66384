use std::collections::HashSet;

use super::fold::{Failure, MESSAGE};
use super::wire::{Raw, WireCall, WireFunction, object, string, whole};
use crate::message::{FailureCode, ObjectFault, ObjectText, ToolInvocation};

/// The most calls of one message; one more rejects it.
pub(super) const MAX_CALLS: usize = 128;

/// The calls of a message, gathered from their pieces.
///
/// Which call a piece belongs to: the one of its `index`; without an index the one of its `id`; without either the last
/// one. A piece begins a call where there is no such call, where it brings a name and an id other than the call's (servers
/// that number every call 0), and where it brings a name and neither index nor id while the last call already has
/// arguments (servers that send each call whole).
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<Parts>);

#[derive(Debug, Default)]
struct Parts {
    arguments: String,
    has_function: bool,
    id: String,
    index: Option<u64>,
    name: String,
}

impl Calls {
    /// Takes one element of `tool_calls`; `whole_call` where it stands in a `message`, so that it is never a
    /// piece of another.
    pub(super) fn take(&mut self, text: &str, whole_call: bool) -> Result<(), Failure> {
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
        let found = if whole_call {
            None
        } else {
            self.find(index, &id, &name)
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
        match self.0.get_mut(at) {
            Some(parts) => parts
                .add(&id, &name, function.as_ref())
                .map_err(|(code, below)| Failure::new(code, pointer(at, below))),
            None => Ok(()),
        }
    }

    fn find(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let begins = |parts: &Parts| {
            let other_id = !id.is_empty() && !parts.id.is_empty() && id != parts.id;
            let bare = index.is_none() && id.is_empty() && !parts.arguments.is_empty();
            !name.is_empty() && (other_id || bare)
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

    /// The calls in message order: by index where every call has one, else by first appearance.
    pub(super) fn finish(mut self, model: &str) -> Result<Vec<ToolInvocation>, Failure> {
        if self.0.iter().all(|parts| parts.index.is_some()) {
            self.0.sort_by_key(|parts| parts.index);
        }
        let mut ids: HashSet<String> = HashSet::new();
        for (at, parts) in self.0.iter().enumerate() {
            if !parts.id.is_empty() && !ids.insert(parts.id.clone()) {
                return Err(Failure::new(
                    FailureCode::CallIdDuplicate,
                    pointer(at, "/id"),
                ));
            }
        }
        let mut calls = Vec::with_capacity(self.0.len());
        for (at, parts) in self.0.into_iter().enumerate() {
            if !parts.has_function {
                return Err(Failure::new(
                    FailureCode::CallShape,
                    pointer(at, "/function"),
                ));
            }
            if parts.name.is_empty() {
                return Err(Failure::new(
                    FailureCode::CallNameMissing,
                    pointer(at, "/function/name"),
                ));
            }
            let arguments = ObjectText::parse(parts.arguments).map_err(|fault| {
                Failure::new(code_of(fault), pointer(at, "/function/arguments"))
            })?;
            let id = if parts.id.is_empty() {
                made_id(at, &mut ids)
            } else {
                parts.id
            };
            calls.push(ToolInvocation {
                arguments,
                id,
                name: parts.name,
                raw_payload: None,
                source_model: model.to_owned(),
            });
        }
        Ok(calls)
    }
}

impl Parts {
    fn add(
        &mut self,
        id: &str,
        name: &str,
        function: Option<&WireFunction<'_>>,
    ) -> Result<(), (FailureCode, &'static str)> {
        // Some servers repeat the head of a call, with its id, in every piece.
        let repeated = name == self.name && (!id.is_empty() && id == self.id);
        if self.id.is_empty() {
            id.clone_into(&mut self.id);
        }
        if self.arguments.is_empty() {
            if !repeated {
                self.name.push_str(name);
            }
        } else if !name.is_empty() && name != self.name {
            return Err((FailureCode::CallShape, "/function/name"));
        }
        let Some(function) = function else {
            return Ok(());
        };
        self.has_function = true;
        if let Some(raw) = function.arguments {
            if raw.get().starts_with('"') {
                let piece = string(Some(raw))
                    .ok_or((FailureCode::ArgsInvalidJson, "/function/arguments"))?;
                self.arguments.push_str(&piece);
            } else {
                // Dialect: arguments as JSON instead of text. Its text as it stood is judged like any other.
                self.arguments.push_str(raw.get());
            }
        }
        Ok(())
    }
}

/// The RFC 6901 pointer to something of call `at`.
fn pointer(at: usize, below: &str) -> String {
    format!("{MESSAGE}/tool_calls/{at}{below}")
}

/// `call_<n>`, n the call's place in the message from 1, or the next number that no call of the message has.
fn made_id(at: usize, taken: &mut HashSet<String>) -> String {
    let mut n = at + 1;
    loop {
        let id = format!("call_{n}");
        if taken.insert(id.clone()) {
            return id;
        }
        n += 1;
    }
}

const fn code_of(fault: ObjectFault) -> FailureCode {
    match fault {
        ObjectFault::InvalidJson { .. } => FailureCode::ArgsInvalidJson,
        ObjectFault::NotObject => FailureCode::ArgsNotObject,
        ObjectFault::DuplicateKey => FailureCode::ArgsDuplicateKey,
        ObjectFault::TooDeep => FailureCode::ArgsTooDeep,
    }
}

/// An id: a string, or a number as its text; anything else is none.
fn scalar(raw: Raw<'_>) -> String {
    string(raw)
        .or_else(|| whole(raw).map(|number| number.to_string()))
        .unwrap_or_default()
}
