use std::collections::HashSet;

use super::fold::Failure;
use crate::message::{FailureCode, ObjectFault, ObjectText, ToolInvocation};

/// The most calls of one message; one more rejects it.
pub(super) const MAX_CALLS: usize = 128;

/// A call as its pieces gave it, before it is judged.
#[derive(Debug, Default)]
pub(super) struct GatheredCall {
    /// The text of the arguments; where a protocol has a rule for a call without arguments, that rule has been applied.
    pub arguments: String,
    /// A rule of the protocol that the call broke, and the field below the call where it did.
    pub flaw: Option<(FailureCode, &'static str)>,
    /// Empty where the provider gave none.
    pub id: String,
    /// Empty where the provider gave none.
    pub name: String,
    /// Where the call stands: an RFC 6901 pointer.
    pub pointer: String,
}

/// Where a protocol keeps what of a call, below the call's own pointer.
#[derive(Debug)]
pub(super) struct CallFields {
    pub arguments: &'static str,
    pub id: &'static str,
    pub name: &'static str,
}

/// Judges the calls of a message, the same for every protocol: no id stands twice, every call has a name, and its
/// arguments are the text of exactly one JSON object. A call without id gets one.
pub(super) fn judge(
    calls: Vec<GatheredCall>,
    fields: &CallFields,
    model: &str,
) -> Result<Vec<ToolInvocation>, Failure> {
    if let Some(beyond) = calls.get(MAX_CALLS) {
        let pointer = beyond.pointer.as_str();
        return Err(Failure::new(FailureCode::TooManyCalls, pointer));
    }
    let mut ids: HashSet<String> = HashSet::new();
    for call in &calls {
        if !call.id.is_empty() && !ids.insert(call.id.clone()) {
            let pointer = format!("{}{}", call.pointer, fields.id);
            return Err(Failure::new(FailureCode::CallIdDuplicate, pointer));
        }
    }
    let mut judged = Vec::with_capacity(calls.len());
    for (at, call) in calls.into_iter().enumerate() {
        let fail = |code, below: &str| Failure::new(code, format!("{}{below}", call.pointer));
        if let Some((code, below)) = call.flaw {
            return Err(fail(code, below));
        }
        if call.name.is_empty() {
            return Err(fail(FailureCode::CallNameMissing, fields.name));
        }
        let arguments = match ObjectText::parse(call.arguments) {
            Ok(arguments) => arguments,
            Err(fault) => return Err(fail(code_of(fault), fields.arguments)),
        };
        let id = if call.id.is_empty() {
            made_id(at, &mut ids)
        } else {
            call.id
        };
        judged.push(ToolInvocation {
            arguments,
            id,
            name: call.name,
            raw_payload: None,
            source_model: model.to_owned(),
        });
    }
    Ok(judged)
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
