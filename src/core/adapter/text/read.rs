//! Reads a whole text under a profile and repairs what the rules allow. Does not know how the text arrived.

use super::payload::{Fix, Flaw};
use super::tagged_calls::ReadOptions;
use super::{json_calls, tagged_calls};
use crate::adapter::calls::{CallFields, validate};
use crate::adapter::marks;
use crate::adapter::repair::joined;
use crate::adapter::thinking::split;
use crate::contract::TextProfile;
use crate::message::{FailureCode, Repair, ToolInvocation};

/// The most repairs of one message; one that needs more is rejected.
const MAX_REPAIRS: usize = 8;

/// A text that was read.
#[derive(Debug)]
pub(super) struct Reading {
    pub calls: Vec<ToolInvocation>,
    pub content: String,
    pub reasoning: Option<String>,
    /// The repairs, if there were any.
    pub repair: Option<Repair>,
}

/// Reads the text of a message; `model` is what the calls name as their source.
pub(super) fn read(
    text: &str,
    model: &str,
    options: &ReadOptions<'_>,
) -> Result<Reading, FailureCode> {
    let mut repaired: Option<String> = None;
    let mut steps: Vec<String> = Vec::new();
    let mut repairs = 0;
    loop {
        let current = repaired.as_deref().unwrap_or(text);
        let flaw = match as_it_stands(current, model, options) {
            Ok(reading) => {
                let repair = repaired.map(|repaired| Repair {
                    original: text.to_owned(),
                    repaired,
                    steps,
                });
                let repair = joined(repair, reading.repair);
                return Ok(Reading { repair, ..reading });
            }
            Err(flaw) => flaw,
        };
        // What is missing at the end of an output that was cut is not only the form.
        let allowed = repairs < MAX_REPAIRS && !options.rules.is_cut;
        let fix = flaw.fix.filter(|_| allowed);
        let Some(fix) = fix else {
            return Err(flaw.code);
        };
        let Fix { range, text, .. } = fix;
        let before = current.get(..range.start).unwrap_or_default();
        let after = current.get(range.end..).unwrap_or_default();
        let next = [before, &text, after].concat();
        steps.extend(fix.steps.into_iter().map(str::to_owned));
        repairs += 1;
        repaired = Some(next);
    }
}

fn as_it_stands(text: &str, model: &str, options: &ReadOptions<'_>) -> Result<Reading, Flaw> {
    let profile = options.profile;
    let is_markup = |text: &str| match profile {
        TextProfile::Hermes | TextProfile::Qwen => tagged_calls::is_markup(text, options),
        TextProfile::Llama3 => json_calls::is_markup(text),
    };
    let (reasoning, base) = split(text, is_markup);
    let rest = text.get(base..).unwrap_or_default();
    let parsed = match profile {
        TextProfile::Hermes | TextProfile::Qwen => tagged_calls::read(text, base, options),
        TextProfile::Llama3 => json_calls::read(rest, base, options.rules),
    }?;
    let mut calls = parsed.calls;
    for (index, call) in (1..).zip(&mut calls) {
        // Of a text that is rejected the whole text is named; a record names the call.
        call.pointer = format!("call_{index}");
    }
    let fields = CallFields {
        arguments: "",
        id: "",
        name: "",
    };
    let validated = validate(calls, &fields, model, options.rules);
    let validated = validated.map_err(|failure| Flaw::new(failure.code))?;
    Ok(Reading {
        calls: validated.calls,
        content: plain(profile, &parsed.text),
        reasoning: reasoning.map(str::to_owned),
        repair: validated.repair,
    })
}

fn plain(profile: TextProfile, text: &str) -> String {
    match profile {
        TextProfile::Hermes | TextProfile::Qwen => marks::TAGGED.unescape(text).into_owned(),
        TextProfile::Llama3 => json_calls::unescape(text).into_owned(),
    }
}
