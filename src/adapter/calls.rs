use std::collections::HashSet;

use super::fold::Failure;
use super::repair::{Repaired, Repairs, repair};
use crate::message::{FailureCode, ObjectFault, ObjectText, Repair, ToolInvocation};

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

/// The calls of a message that passed.
#[derive(Debug, Default)]
pub(super) struct Judged {
    pub calls: Vec<ToolInvocation>,
    /// What had to be repaired, where something had to.
    pub repair: Option<Repair>,
}

/// Judges the calls of a message, the same for every protocol: no id stands twice, every call has a name, and its
/// arguments are the text of exactly one JSON object, after a repair where `repairs` allows one. A call without id gets one.
pub(super) fn judge(
    calls: Vec<GatheredCall>,
    fields: &CallFields,
    model: &str,
    repairs: Repairs,
) -> Result<Judged, Failure> {
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
    let mut judged = Judged::default();
    for (at, call) in calls.into_iter().enumerate() {
        let fail = |code, below: &str| Failure::new(code, format!("{}{below}", call.pointer));
        if let Some((code, below)) = call.flaw {
            return Err(fail(code, below));
        }
        if call.name.is_empty() {
            return Err(fail(FailureCode::CallNameMissing, fields.name));
        }
        let arguments = match ObjectText::parse(call.arguments.as_str()) {
            Ok(arguments) => arguments,
            Err(fault) => match repaired(fault, &call.arguments, repairs) {
                Some(mended) => {
                    let place = format!("{}{}", call.pointer, fields.arguments);
                    note(&mut judged.repair, &place, &call.arguments, mended)
                }
                None => return Err(fail(code_of(fault), fields.arguments)),
            },
        };
        let id = if call.id.is_empty() {
            made_id(at, &mut ids)
        } else {
            call.id
        };
        judged.calls.push(ToolInvocation {
            arguments,
            id,
            name: call.name,
            raw_payload: None,
            source_model: model.to_owned(),
        });
    }
    Ok(judged)
}

fn repaired(fault: ObjectFault, text: &str, repairs: Repairs) -> Option<Repaired> {
    let has_a_form = matches!(
        fault,
        ObjectFault::InvalidJson { .. } | ObjectFault::NotObject
    );
    let allowed = has_a_form && repairs == Repairs::Allowed;
    allowed.then(|| repair(text)).flatten()
}

/// Records a repair at `place`; those of several calls stand in one record, a line each, and every step names its place.
fn note(record: &mut Option<Repair>, place: &str, original: &str, mended: Repaired) -> ObjectText {
    let record = record.get_or_insert_with(|| Repair {
        original: String::new(),
        repaired: String::new(),
        steps: Vec::new(),
    });
    if !record.steps.is_empty() {
        record.original.push('\n');
        record.repaired.push('\n');
    }
    record.original.push_str(original);
    record.repaired.push_str(mended.object.as_str());
    let steps = mended.steps.iter().map(|step| format!("{place}: {step}"));
    record.steps.extend(steps);
    mended.object
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
