use super::payload::{ArgumentsKey, call, value_at};
use super::read::{Fix, Flaw, Spoken};
use crate::adapter::calls::MAX_CALLS;
use crate::message::FailureCode;

pub(super) const OPEN: &str = "<tool_call>";
pub(super) const CLOSE: &str = "</tool_call>";

/// Reads `<tool_call>` JSON `</tool_call>`, and what stands outside as text. The JSON is read as JSON, so a tag inside a
/// string of it is part of the string. `base` is where `text` stands in the whole message.
pub(super) fn read(text: &str, base: usize) -> Result<Spoken, Flaw> {
    let mut spoken = Spoken::default();
    let mut at = 0;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let Some(open) = first_tag(rest) else {
            spoken.say(rest, false);
            return Ok(spoken);
        };
        if rest.get(open..).is_some_and(|tag| tag.starts_with(CLOSE)) {
            return Err(Flaw::new(FailureCode::CallShape));
        }
        spoken.say(rest.get(..open).unwrap_or_default(), true);
        let inside = at + open + OPEN.len();
        let found = value_at(text.get(inside..).unwrap_or_default()).map_err(Flaw::new)?;
        let (from, to) = (inside + found.start, inside + found.end);
        let json = text.get(from..to).unwrap_or_default();
        let read = call(json, base + from..base + to, ArgumentsKey::Arguments)?;
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
