use std::ops::Range;

use super::function_calls::{FUNCTION, bare, function};
use super::payload::{ArgumentsKey, call, value_at};
use super::read::{Fix, Flaw, Manner, Spoken};
use crate::adapter::calls::{GatheredCall, MAX_CALLS};
use crate::message::FailureCode;

pub(super) const OPEN: &str = "<tool_call>";
pub(super) const CLOSE: &str = "</tool_call>";

/// Reads `<tool_call>` JSON `</tool_call>`, and what stands outside as text. The JSON is read as JSON, so a tag inside a
/// string of it is part of the string. `base` is where `text` stands in the whole message.
pub(super) fn read(text: &str, base: usize, manner: &Manner<'_>) -> Result<Spoken, Flaw> {
    let mut spoken = Spoken::default();
    let mut at = 0;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let first = first_tag(rest);
        if let Some(types) = manner.functions()
            && let Some((from, length)) = bare(
                rest.get(..first.unwrap_or(rest.len())).unwrap_or_default(),
                types,
            )
        {
            return Err(unopened(rest, base + at, from..from + length));
        }
        let Some(open) = first else {
            spoken.say(rest, false);
            return Ok(spoken);
        };
        if rest.get(open..).is_some_and(|tag| tag.starts_with(CLOSE)) {
            return Err(Flaw::new(FailureCode::CallShape));
        }
        spoken.say(rest.get(..open).unwrap_or_default(), true);
        let inside = at + open + OPEN.len();
        let (read, to) = one(text, inside, base, manner)?;
        let after = text.get(to..).unwrap_or_default();
        let trimmed = after.trim_start();
        let Some(beyond) = trimmed.strip_prefix(CLOSE) else {
            let flaw = Flaw::new(FailureCode::CallShape);
            let end = base + text.len();
            return Err(if trimmed.is_empty() {
                flaw.repaired_by(Fix {
                    range: end..end,
                    step: "call_closed",
                    text: CLOSE.to_owned(),
                })
            } else {
                flaw
            });
        };
        spoken.calls.push(read);
        if spoken.calls.len() > MAX_CALLS {
            return Ok(spoken);
        }
        at = text.len() - beyond.len();
    }
}

/// Reads the call that stands at `inside`, and where it ends.
fn one(
    text: &str,
    inside: usize,
    base: usize,
    manner: &Manner<'_>,
) -> Result<(GatheredCall, usize), Flaw> {
    let begun = text.get(inside..).unwrap_or_default();
    let trimmed = begun.trim_start();
    if let Some(types) = manner.functions()
        && trimmed.starts_with(FUNCTION)
    {
        let from = text.len() - trimmed.len();
        let found = function(trimmed, base + from, types)?;
        let call = GatheredCall {
            arguments: found.arguments,
            name: found.name,
            ..GatheredCall::default()
        };
        return Ok((call, from + found.length));
    }
    let found = value_at(begun).map_err(Flaw::new)?;
    let (from, to) = (inside + found.start, inside + found.end);
    let json = text.get(from..to).unwrap_or_default();
    let range = base + from..base + to;
    let call = call(json, range, ArgumentsKey::Arguments, manner.rules)?;
    Ok((call, to))
}

/// A function that stands at `found` in `text` without the tags of a call, or without the first of them.
fn unopened(text: &str, base: usize, found: Range<usize>) -> Flaw {
    let after = text.get(found.end..).unwrap_or_default().trim_start();
    let end = after
        .strip_prefix(CLOSE)
        .map_or(found.end, |rest| text.len() - rest.len());
    let call = text.get(found.clone()).unwrap_or_default();
    Flaw::new(FailureCode::CallShape).repaired_by(Fix {
        range: base + found.start..base + end,
        step: "call_opened",
        text: format!("{OPEN}\n{call}\n{CLOSE}"),
    })
}

/// Where the first tag of a call stands, opening or closing.
fn first_tag(text: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.find('<')?;
        let rest = text.get(at..)?;
        if rest.starts_with(OPEN) || rest.starts_with(CLOSE) {
            return Some(at);
        }
        from = at + 1;
    }
}
