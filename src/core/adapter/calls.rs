//! Validates the calls of one message, the same for every protocol. Knows ids, names and argument text; does not know which
//! tools are offered.

use std::collections::HashSet;

use super::fold::{Failure, Rules};
use super::json::offset_of_line;
use super::repair::{Repairs, repair};
use crate::message::{FailureCode, ObjectFault, ObjectText, Repair, ToolInvocation};

/// The most calls of one message; one more rejects it.
pub(super) const MAX_CALLS: usize = 128;

/// The step of a call whose arguments could not be read.
pub(super) const CALL_DROPPED: &str = "call_dropped";

/// A call as its pieces gave it, before it is validated.
#[derive(Debug, Default)]
pub(super) struct GatheredCall {
    /// The text of the arguments; blank where the provider gave none.
    pub arguments: String,
    /// A rule of the protocol that the call broke, and the field below the call where it did.
    pub flaw: Option<(FailureCode, &'static str)>,
    /// Empty where the provider gave none.
    pub id: String,
    /// Empty where the provider gave none.
    pub name: String,
    /// The call's place: an RFC 6901 pointer.
    pub pointer: String,
}

/// The places of a call's fields in a protocol, below the call's own pointer.
#[derive(Debug)]
pub(super) struct CallFields {
    pub arguments: &'static str,
    pub id: &'static str,
    pub name: &'static str,
}

/// The calls of a message that passed.
#[derive(Debug, Default)]
pub(super) struct ValidCalls {
    pub calls: Vec<ToolInvocation>,
    /// The repairs and omissions, if there were any.
    pub repair: Option<Repair>,
}

/// The result of reading the text of a call's arguments.
enum Text {
    Read(ObjectText),
    Repaired(ObjectText, Vec<&'static str>),
    /// The intended arguments cannot be known. The message's other calls are still made.
    Dropped(FailureCode),
}

/// Validates the calls of a message, the same for every protocol: no id occurs twice, every call has a name, and its
/// arguments are the text of exactly one JSON object, after a repair where `rules` allow one, though never of the call at which
/// the output was cut. A call without id gets one. A call without arguments has none if the output ended normally.
///
/// Where `rules` let it, a call without such arguments is kept as one that is answered and never run, as long as another call
/// of the message is whole.
pub(super) fn validate(
    calls: Vec<GatheredCall>,
    fields: &CallFields,
    model: &str,
    rules: Rules,
) -> Result<ValidCalls, Failure> {
    if let Some(beyond) = calls.get(MAX_CALLS) {
        let pointer = beyond.pointer.as_str();
        let failure = Failure::new(FailureCode::TooManyCalls, pointer);
        return Err(failure.around(&beyond.arguments, 0));
    }
    let mut ids: HashSet<String> = HashSet::new();
    for call in &calls {
        if !call.id.is_empty() && !ids.insert(call.id.clone()) {
            let pointer = format!("{}{}", call.pointer, fields.id);
            let failure = Failure::new(FailureCode::CallIdDuplicate, pointer);
            return Err(failure.around(&call.id, 0));
        }
    }
    let mut validated = ValidCalls::default();
    let mut first_dropped = None;
    let last = calls.len().saturating_sub(1);
    for (at, call) in calls.into_iter().enumerate() {
        let pointer = format!("{}{}", call.pointer, fields.arguments);
        // The part of a call before the cut may be unambiguous, and still mean something else than the whole.
        let repairs = if rules.is_cut && at == last {
            Repairs::Never
        } else {
            rules.repairs
        };
        let mut raw_payload = None;
        let (arguments, fault) = match text_of(&call, fields, rules, repairs)? {
            Text::Read(arguments) => (arguments, None),
            Text::Repaired(arguments, steps) => {
                let repaired = arguments.as_str();
                note(
                    &mut validated.repair,
                    &pointer,
                    (&call.arguments, repaired),
                    &steps,
                );
                raw_payload = Some(call.arguments);
                (arguments, None)
            }
            Text::Dropped(code) => {
                note(
                    &mut validated.repair,
                    &pointer,
                    (&call.arguments, ""),
                    &[CALL_DROPPED],
                );
                first_dropped.get_or_insert_with(|| {
                    let at = fault_at(&call.arguments);
                    Failure::new(code, pointer).around(&call.arguments, at)
                });
                (ObjectText::empty(), Some(code))
            }
        };
        let id = if call.id.is_empty() {
            made_id(at, &mut ids)
        } else {
            call.id
        };
        validated.calls.push(ToolInvocation {
            arguments,
            fault,
            id,
            name: call.name,
            raw_payload,
            source_model: model.to_owned(),
        });
    }
    match first_dropped {
        Some(failure) if validated.calls.iter().all(|call| call.fault.is_some()) => Err(failure),
        _ => Ok(validated),
    }
}

/// Reads the text of a call's arguments.
fn text_of(
    call: &GatheredCall,
    fields: &CallFields,
    rules: Rules,
    repairs: Repairs,
) -> Result<Text, Failure> {
    let fail = |code, below: &str| {
        let failure = Failure::new(code, format!("{}{below}", call.pointer));
        failure.around(&call.arguments, fault_at(&call.arguments))
    };
    let (code, below) = match call.flaw {
        None | Some((FailureCode::ArgsNotObject, _)) if call.name.is_empty() => {
            return Err(fail(FailureCode::CallNameMissing, fields.name));
        }
        None if rules.has_ended && call.arguments.trim().is_empty() => {
            return Ok(Text::Read(ObjectText::empty()));
        }
        Some(flaw) => flaw,
        None => match ObjectText::parse(call.arguments.as_str()) {
            Ok(arguments) => return Ok(Text::Read(arguments)),
            Err(fault) if repairs == Repairs::Never => (code_of(fault), fields.arguments),
            Err(fault) => match repaired(fault, &call.arguments) {
                Some(repaired) => return Ok(repaired),
                None => (code_of(fault), fields.arguments),
            },
        },
    };
    let is_of_arguments = matches!(
        code,
        FailureCode::ArgsInvalidJson
            | FailureCode::ArgsNotObject
            | FailureCode::ArgsDuplicateKey
            | FailureCode::ArgsTooDeep
    );
    if rules.drop_calls() && is_of_arguments && !call.name.is_empty() {
        return Ok(Text::Dropped(code));
    }
    Err(fail(code, below))
}

/// The byte of an argument text at which it ceases to be JSON; its beginning, where something else is wrong with it.
fn fault_at(arguments: &str) -> usize {
    match ObjectText::parse(arguments) {
        Err(ObjectFault::InvalidJson { line, column }) => offset_of_line(arguments, line, column),
        Ok(_) | Err(_) => 0,
    }
}

fn repaired(fault: ObjectFault, text: &str) -> Option<Text> {
    let has_a_form = matches!(
        fault,
        ObjectFault::InvalidJson { .. } | ObjectFault::NotObject
    );
    let repaired = has_a_form.then(|| repair(text)).flatten()?;
    Some(Text::Repaired(repaired.object, repaired.steps))
}

/// Records what became of the text at `pointer`, as it came and as it was read; several calls share one record, a
/// line each, and every step names its place.
fn note(record: &mut Option<Repair>, pointer: &str, texts: (&str, &str), steps: &[&str]) {
    let record = record.get_or_insert_with(|| Repair {
        original: String::new(),
        repaired: String::new(),
        steps: Vec::new(),
    });
    if !record.steps.is_empty() {
        record.original.push('\n');
        record.repaired.push('\n');
    }
    record.original.push_str(texts.0);
    record.repaired.push_str(texts.1);
    let steps = steps.iter().map(|step| format!("{pointer}: {step}"));
    record.steps.extend(steps);
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
