//! Reads calls between `<tool_call>` tags. Knows JSON and function payloads; does not know which tools are offered.

use super::function_calls::{FUNCTION, function, whole_length};
use super::lines::{LineStart, ProseScanner, first_in_prose};
use super::payload::{ArgumentsKey, CLOSE, Fix, Flaw, OPEN, ParsedText, call, value_at};
use crate::adapter::calls::{GatheredCall, MAX_CALLS};
use crate::adapter::fold::Rules;
use crate::adapter::invented::ResultScanner;
use crate::adapter::json::is_line_break;
use crate::adapter::parameter_types::ParameterTypes;
use crate::contract::TextProfile;
use crate::message::FailureCode;

/// Reads `<tool_call>` JSON `</tool_call>`, and everything outside as text. The JSON is read as JSON, so a tag inside a
/// string of it is part of the string. `from` is where the reasoning of the message ends.
pub(super) fn read(text: &str, from: usize, options: &ReadOptions<'_>) -> Result<ParsedText, Flaw> {
    let mut parsed = ParsedText::default();
    let mut prose = ProseScanner::default();
    let mut results = ResultScanner::default();
    let mut at = from;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let first = first_tag(rest);
        if options.functions().is_some() {
            let (start, begins) = if parsed.calls.is_empty() {
                (line_of(text, from), LineStart::New)
            } else {
                (at, LineStart::AfterCall)
            };
            let end = first.map_or(text.len(), |open| at + open);
            let piece = text.get(start..end).unwrap_or_default();
            if let Some(head) = prose.first(piece, FUNCTION, begins) {
                return Err(unopened(text, start, head, begins));
            }
        }
        let outside = first.map_or(rest, |open| rest.get(..open).unwrap_or_default());
        results.begin_line();
        results.push(outside);
        let Some(open) = first else {
            let names = parsed.calls.iter().map(|call| call.name.as_str());
            if results.has_found() && options.rules.may_answer(names) {
                return Err(Flaw::new(FailureCode::CallShape));
            }
            parsed.push_text(rest, false);
            return Ok(parsed);
        };
        if rest.get(open..).is_some_and(|tag| tag.starts_with(CLOSE)) {
            return Err(Flaw::new(FailureCode::CallShape));
        }
        parsed.push_text(outside, true);
        let inside = at + open + OPEN.len();
        let (read, to) = one(text, inside, options)?;
        let after = text.get(to..).unwrap_or_default();
        let trimmed = after.trim_start();
        let Some(beyond) = trimmed.strip_prefix(CLOSE) else {
            let flaw = Flaw::new(FailureCode::CallShape);
            let end = text.len();
            return Err(if trimmed.is_empty() {
                flaw.repaired_by(Fix {
                    range: end..end,
                    steps: vec!["call_closed"],
                    text: CLOSE.to_owned(),
                })
            } else {
                flaw
            });
        };
        parsed.calls.push(read);
        if parsed.calls.len() > MAX_CALLS {
            return Ok(parsed);
        }
        at = text.len() - beyond.len();
    }
}

/// Reads the call at `inside`, and where it ends.
fn one(
    text: &str,
    inside: usize,
    options: &ReadOptions<'_>,
) -> Result<(GatheredCall, usize), Flaw> {
    let payload = text.get(inside..).unwrap_or_default();
    let trimmed = payload.trim_start();
    if let Some(types) = options.functions()
        && trimmed.starts_with(FUNCTION)
    {
        let from = text.len() - trimmed.len();
        let found = function(trimmed, from, types)?;
        let call = GatheredCall {
            arguments: found.arguments,
            name: found.name,
            ..GatheredCall::default()
        };
        return Ok((call, from + found.length));
    }
    let found = value_at(payload).map_err(Flaw::new)?;
    let (from, to) = (inside + found.start, inside + found.end);
    let json = text.get(from..to).unwrap_or_default();
    let call = call(json, from..to, ArgumentsKey::Arguments, options.rules)?;
    Ok((call, to))
}

/// True if any part of the text is a call, or the beginning of one.
pub(super) fn is_markup(text: &str, options: &ReadOptions<'_>) -> bool {
    let has_function = || first_in_prose(text, FUNCTION).is_some();
    text.contains(OPEN) || options.functions().is_some() && has_function()
}

/// Returns the start of the line in which the reasoning has ended at `from`; `from` itself, if reasoning is on that line.
fn line_of(text: &str, from: usize) -> usize {
    let before = text.get(..from).unwrap_or_default();
    let indent = before.rsplit(is_line_break).next().unwrap_or_default();
    if indent.trim().is_empty() {
        from - indent.len()
    } else {
        from
    }
}

/// Returns the flaw of a function without the tags of a call, or without the first of them: `head` bytes after `start`, where
/// `begins` says what comes before. It can be repaired if it is whole and on a separate line.
fn unopened(text: &str, start: usize, head: usize, begins: LineStart) -> Flaw {
    let flaw = Flaw::new(FailureCode::CallShape);
    let at = start + head;
    let before = text.get(start..at).unwrap_or_default();
    if begins == LineStart::AfterCall && !before.contains(is_line_break) {
        return flaw;
    }
    let payload = text.get(at..).unwrap_or_default();
    let Some(length) = whole_length(payload) else {
        return flaw;
    };
    let (call, rest) = payload.split_at(length);
    let end = rest
        .trim_start()
        .strip_prefix(CLOSE)
        .map_or(at + length, |rest| text.len() - rest.len());
    flaw.repaired_by(Fix {
        range: at..end,
        steps: vec!["call_opened"],
        text: format!("{OPEN}\n{call}\n{CLOSE}"),
    })
}

/// The offset of the first tag of a call, opening or closing.
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

/// Options for reading.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadOptions<'a> {
    pub profile: TextProfile,
    pub rules: Rules,
    /// The parameter types of the offered tools, for values that are bare text.
    pub types: &'a ParameterTypes,
}

impl<'a> ReadOptions<'a> {
    /// Returns the types for values of calls that are written as functions; none if no call is.
    pub(super) fn functions(&self) -> Option<&'a ParameterTypes> {
        (self.profile == TextProfile::Qwen).then_some(self.types)
    }
}
