//! Splits the reasoning off the beginning of a text. Knows `<think>` only; does not know calls.

use super::payload::Flaw;
use crate::message::FailureCode;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Where the reasoning at the beginning of a message ends: the reasoning, and where the text after it begins.
///
/// Templates of some servers write the opening tag themselves, so a closing tag without one ends a reasoning too, if it
/// comes before anything that `is_markup` finds.
pub(super) fn split(
    text: &str,
    is_markup: impl Fn(&str) -> bool,
) -> Result<(Option<&str>, usize), Flaw> {
    let after_open = text.trim_start().strip_prefix(OPEN);
    let inside = after_open.unwrap_or(text);
    let from = text.len() - inside.len();
    let Some(length) = inside.find(CLOSE) else {
        return match after_open {
            // What was cut inside its reasoning answered nothing and called nothing.
            Some(_) => Err(Flaw::new(FailureCode::StreamIncomplete)),
            None => Ok((None, 0)),
        };
    };
    let reasoning = inside.get(..length).unwrap_or_default();
    if after_open.is_none() && is_markup(reasoning) {
        return Ok((None, 0));
    }
    let after = inside.get(length + CLOSE.len()..).unwrap_or_default();
    let rest = after.trim_start();
    Ok((Some(reasoning.trim()), from + inside.len() - rest.len()))
}
