//! The canonical text of our own recorded values. Does not canonicalise foreign JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Flaw;
use crate::kernel::{Event, EventKind};
use crate::message::inexact_integer;

/// Usual size of a recorded value's text.
const USUAL_BYTES: usize = 1024;

/// The stored text of one of our own recorded values: plain serialisation, which is RFC 8785 already because fields
/// are declared in sorted order, keys are ASCII and numbers are integers.
pub(super) fn text_of<T: Serialize>(value: &T) -> String {
    dump_of(value, USUAL_BYTES)
}

/// [`text_of`] for a value whose text is expected to have that length: the memory for it is asked for once.
fn dump_of<T: Serialize>(value: &T, length: usize) -> String {
    let mut dump = Vec::with_capacity(length);
    // Recorded types hold no map and no float, the two things that serialising can fail on.
    if serde_json::to_writer(&mut dump, value).is_err() {
        return String::new();
    }
    // The serializer writes UTF-8 alone.
    String::from_utf8(dump).unwrap_or_default()
}

/// Reads a recorded value back, and refuses a text that is not byte for byte what would be written for it.
pub(super) fn decode<T: Serialize + DeserializeOwned>(field: &str, text: &str) -> Result<T, Flaw> {
    let value: T = serde_json::from_str(text)
        .map_err(|fault| Flaw::tampered(field, "the text of a recorded value", fault))?;
    same(field, &dump_of(&value, text.len()), text)?;
    if let Some(number) = inexact_integer(text) {
        return Err(Flaw::tampered(
            field,
            "only integers below 2^53 (RFC 8785)",
            number,
        ));
    }
    Ok(value)
}

/// Reads an event of a run back. A verdict has either a message or a failure code (002 §4.2).
pub(super) fn decode_event(text: &str) -> Result<Option<Event>, Flaw> {
    let event: Option<Event> = decode("event", text)?;
    if let Some(Event {
        event: EventKind::InferenceReturned(returned),
        ..
    }) = &event
    {
        let result = &returned.result;
        let (message, code) = (&result.canonical_message, &result.failure_code);
        if message.is_some() == code.is_some() {
            let actual = if code.is_some() { "both" } else { "neither" };
            return Err(Flaw::tampered(
                "event",
                "canonical_message or failure_code",
                actual,
            ));
        }
    }
    Ok(event)
}

/// Refuses a text that differs from its canonical dump, and shows both from the first difference on.
pub(super) fn same(field: &str, dump: &str, text: &str) -> Result<(), Flaw> {
    if dump == text {
        return Ok(());
    }
    let at = dump
        .bytes()
        .zip(text.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let from = |whole: &str| {
        let tail = whole.as_bytes().get(at..).unwrap_or_default();
        let shown = String::from_utf8_lossy(tail.get(..40.min(tail.len())).unwrap_or_default());
        format!("{shown:?} at byte {at}")
    };
    Err(Flaw::tampered(
        field,
        format!("its canonical dump, {}", from(dump)),
        from(text),
    ))
}
