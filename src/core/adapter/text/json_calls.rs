//! Reads calls that are bare JSON objects or follow a tag. Does not know the offered tools or the wire protocol.

use std::borrow::Cow;

use super::payload::{ArgumentsKey, Flaw, ParsedText, call, is_call, value_at};
use crate::adapter::calls::MAX_CALLS;
use crate::adapter::fold::Rules;
use crate::adapter::marks::LLAMA3;
use crate::message::FailureCode;

pub(super) const TAG: &str = "<|python_tag|>";

/// Reads calls that are JSON objects, separated by `;`: the whole message, or what follows the tag. `base` is the
/// offset of `text` in the whole message.
pub(super) fn read(text: &str, base: usize, rules: Rules) -> Result<ParsedText, Flaw> {
    let mut parsed = ParsedText::default();
    let mut at = 0;
    if !opens_a_call(text) {
        let Some(tag) = text.find(TAG) else {
            parsed.push_text(text, false);
            return Ok(parsed);
        };
        parsed.push_text(text.get(..tag).unwrap_or_default(), true);
        at = tag + TAG.len();
    }
    loop {
        let found = value_at(text.get(at..).unwrap_or_default()).map_err(Flaw::new)?;
        let (from, to) = (at + found.start, at + found.end);
        let json = text.get(from..to).unwrap_or_default();
        let range = base + from..base + to;
        let read = call(json, range, ArgumentsKey::Parameters, rules)?;
        parsed.calls.push(read);
        if parsed.calls.len() > MAX_CALLS {
            return Ok(parsed);
        }
        let after = text.get(to..).unwrap_or_default().trim_start();
        let Some(next) = after.strip_prefix(';') else {
            return if after.is_empty() {
                Ok(parsed)
            } else {
                Err(Flaw::new(FailureCode::CallShape))
            };
        };
        if next.trim().is_empty() {
            return Ok(parsed);
        }
        at = text.len() - next.len();
    }
}

/// True if a call begins in the text.
pub(super) fn is_markup(text: &str) -> bool {
    opens_a_call(text) || text.contains(TAG)
}

/// True if a message without tag is calls: it begins with an object that has exactly the two keys of a call, or with one that
/// was cut after its first key. Any other object is an answer in JSON.
fn opens_a_call(text: &str) -> bool {
    let text = text.trim_start();
    if !text.starts_with('{') {
        return false;
    }
    if let Ok(found) = value_at(text) {
        let json = text.get(found).unwrap_or_default();
        return is_call(json, ArgumentsKey::Parameters);
    }
    let key = text.strip_prefix('{').map(str::trim_start);
    let colon = key.and_then(|key| key.strip_prefix("\"name\""));
    colon.is_some_and(|rest| rest.trim_start().starts_with(':'))
}

/// An assistant's text without markup: markers escaped, and a backslash before an object that would be a call.
pub(super) fn escape(text: &str) -> Cow<'_, str> {
    let escaped = LLAMA3.escape(text);
    if led(&escaped, 0) {
        Cow::Owned(format!("\\{escaped}"))
    } else {
        escaped
    }
}

/// The text that [`escape`] made this of.
pub(super) fn unescape(text: &str) -> Cow<'_, str> {
    let text = if led(text, 1) {
        text.get(1..).unwrap_or_default()
    } else {
        text
    };
    LLAMA3.unescape(text)
}

/// True if `text` is a call after at least `least` backslashes.
fn led(text: &str, least: usize) -> bool {
    let bare = text.trim_start_matches('\\');
    text.len() - bare.len() >= least && opens_a_call(bare)
}
