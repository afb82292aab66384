use std::ops::Range;

use super::{json_calls, tagged_calls, thinking};
use crate::adapter::calls::{CallFields, GatheredCall, joined, judge};
use crate::adapter::marks;
use crate::adapter::parameter_types::ParameterTypes;
use crate::adapter::rules::Rules;
use crate::contract::TextProfile;
use crate::message::{FailureCode, Repair, ToolInvocation};

/// The most repairs of one message; one that needs more is rejected.
const MAX_REPAIRS: usize = 8;

/// What a family's form broke, and what would repair it.
#[derive(Debug)]
pub(super) struct Flaw {
    code: FailureCode,
    fix: Option<Fix>,
}

/// A repair of one place.
#[derive(Debug)]
pub(super) struct Fix {
    /// What is replaced, in bytes of the message's text.
    pub range: Range<usize>,
    /// The names under which it is recorded.
    pub steps: Vec<&'static str>,
    pub text: String,
}

impl Flaw {
    pub(super) fn new(code: FailureCode) -> Self {
        Self { code, fix: None }
    }

    pub(super) const fn has_fix(&self) -> bool {
        self.fix.is_some()
    }

    pub(super) fn repaired_by(self, fix: Fix) -> Self {
        Self {
            fix: Some(fix),
            ..self
        }
    }
}

/// A text taken apart: what was said, and what was called.
#[derive(Debug, Default)]
pub(super) struct Spoken {
    pub calls: Vec<GatheredCall>,
    /// Text outside of markup, a piece between two calls a line.
    pub text: String,
}

impl Spoken {
    /// Takes text outside of markup: as it stands, but for white space next to a call. `before_call`: one follows.
    pub(super) fn say(&mut self, piece: &str, before_call: bool) {
        let after_call = !self.calls.is_empty();
        let piece = if after_call {
            piece.trim_start()
        } else {
            piece
        };
        let piece = if before_call { piece.trim_end() } else { piece };
        if after_call && !piece.is_empty() && !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(piece);
    }
}

/// How a text is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner<'a> {
    pub profile: TextProfile,
    pub rules: Rules,
    /// What the offered tools take, for values that are bare text.
    pub types: &'a ParameterTypes,
}

impl<'a> Manner<'a> {
    /// What types the values of calls that are written as functions; none where no call is.
    pub(super) fn functions(&self) -> Option<&'a ParameterTypes> {
        (self.profile == TextProfile::Qwen).then_some(self.types)
    }
}

/// A text that was read.
#[derive(Debug)]
pub(super) struct Reading {
    pub calls: Vec<ToolInvocation>,
    pub content: String,
    pub reasoning: Option<String>,
    /// What had to be repaired, where something had to.
    pub repair: Option<Repair>,
}

/// Reads the text of a message; `model` is what the calls name as their source.
pub(super) fn read(text: &str, model: &str, manner: &Manner<'_>) -> Result<Reading, FailureCode> {
    let mut repaired: Option<String> = None;
    let mut steps: Vec<String> = Vec::new();
    let mut repairs = 0;
    loop {
        let current = repaired.as_deref().unwrap_or(text);
        let flaw = match as_it_stands(current, model, manner) {
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
        let allowed = repairs < MAX_REPAIRS && !manner.rules.is_cut;
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

fn as_it_stands(text: &str, model: &str, manner: &Manner<'_>) -> Result<Reading, Flaw> {
    let profile = manner.profile;
    let is_markup = |text: &str| match profile {
        TextProfile::Hermes | TextProfile::Qwen => tagged_calls::is_markup(text, manner),
        TextProfile::Llama3 => json_calls::is_markup(text),
    };
    let (reasoning, base) = thinking::split(text, is_markup)?;
    let rest = text.get(base..).unwrap_or_default();
    let spoken = match profile {
        TextProfile::Hermes | TextProfile::Qwen => tagged_calls::read(text, base, manner),
        TextProfile::Llama3 => json_calls::read(rest, base, manner.rules),
    }?;
    let mut calls = spoken.calls;
    for (place, call) in (1..).zip(&mut calls) {
        // Of a text that is rejected the whole text is named; a record names the call.
        call.pointer = format!("call_{place}");
    }
    let fields = CallFields {
        arguments: "",
        id: "",
        name: "",
    };
    let judged = judge(calls, &fields, model, manner.rules);
    let judged = judged.map_err(|failure| Flaw::new(failure.code))?;
    Ok(Reading {
        calls: judged.calls,
        content: plain(profile, &spoken.text),
        reasoning: reasoning.map(str::to_owned),
        repair: judged.repair,
    })
}

fn plain(profile: TextProfile, text: &str) -> String {
    match profile {
        TextProfile::Hermes | TextProfile::Qwen => marks::TAGGED.unescape(text).into_owned(),
        TextProfile::Llama3 => json_calls::unescape(text).into_owned(),
    }
}
