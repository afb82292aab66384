//! Reads the JSON object of one call in a text. Knows the keys of the families; does not know their tags.

use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::adapter::calls::GatheredCall;
use crate::adapter::fold::Rules;
use crate::adapter::json::{given, object};
use crate::message::{FailureCode, ObjectText};

/// The opening tag of a call in Hermes' form and in Qwen's.
pub(super) const OPEN: &str = "<tool_call>";
/// The closing tag.
pub(super) const CLOSE: &str = "</tool_call>";

/// The key under which a family writes a call's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgumentsKey {
    Arguments,
    Parameters,
}

impl ArgumentsKey {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Arguments => "arguments",
            Self::Parameters => "parameters",
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Payload<'a> {
    #[serde(default, borrow, deserialize_with = "given")]
    name: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "given")]
    arguments: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "given")]
    parameters: Option<&'a RawValue>,
    /// `function`, as in the definitions that the prompt lists; some models copy it.
    #[serde(default, borrow, deserialize_with = "given")]
    r#type: Option<&'a RawValue>,
}

impl<'a> Payload<'a> {
    fn of(json: &'a str) -> Option<Self> {
        object::<Self>(json).filter(|payload| {
            let kind = payload.r#type.map(RawValue::get);
            kind.is_none_or(|kind| kind == "\"function\"")
        })
    }
}

/// The JSON value with which `rest` begins, after white space: its range in `rest`.
pub(super) fn value_at(rest: &str) -> Result<Range<usize>, FailureCode> {
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
    match values.next() {
        Some(Ok(raw)) => {
            let end = values.byte_offset();
            Ok(end - raw.get().len()..end)
        }
        Some(Err(_)) | None => Err(FailureCode::ArgsInvalidJson),
    }
}

/// True if an object has the two keys that make it a call under `key`.
pub(super) fn is_call(json: &str, key: ArgumentsKey) -> bool {
    Payload::of(json).is_some_and(|payload| {
        let (given, other) = match key {
            ArgumentsKey::Arguments => (payload.arguments, payload.parameters),
            ArgumentsKey::Parameters => (payload.parameters, payload.arguments),
        };
        payload.name.is_some() && given.is_some() && other.is_none()
    })
}

/// Reads the object of one call. `at` is its offset in the text, for a repair.
pub(super) fn call(
    json: &str,
    at: Range<usize>,
    key: ArgumentsKey,
    rules: Rules,
) -> Result<GatheredCall, Flaw> {
    let shape = || Flaw::new(FailureCode::CallShape);
    let payload = Payload::of(json).ok_or_else(shape)?;
    let (given, other) = match key {
        ArgumentsKey::Arguments => (payload.arguments, payload.parameters),
        ArgumentsKey::Parameters => (payload.parameters, payload.arguments),
    };
    let name_text = payload.name.map(RawValue::get);
    let rewritten = |arguments: &str, step| {
        let name = name_text.unwrap_or("\"\"");
        let key = key.as_str();
        Fix {
            range: at.clone(),
            steps: vec![step],
            text: format!("{{\"name\": {name}, \"{key}\": {arguments}}}"),
        }
    };
    let arguments = match (given, other) {
        (Some(arguments), None) => arguments.get(),
        // No arguments are none, if the output ended normally.
        (None, None) if name_text.is_some() => "",
        (None, Some(other)) => {
            return Err(shape().repaired_by(rewritten(other.get(), "arguments_key")));
        }
        _ => return Err(shape()),
    };
    let name = name_text.map_or(Ok(String::new()), |text| {
        serde_json::from_str(text).map_err(|_| shape())
    })?;
    let is_blank =
        |text: &&str| serde_json::from_str::<String>(text).is_ok_and(|t| t.trim().is_empty());
    let arguments = if is_blank(&arguments) { "" } else { arguments };
    let is_flawed = !arguments.is_empty() && !arguments.starts_with('{');
    let flaw = is_flawed.then(|| {
        let flaw = Flaw::new(FailureCode::ArgsNotObject);
        let inner = serde_json::from_str::<String>(arguments).ok();
        match inner.and_then(|text| ObjectText::parse(text).ok()) {
            Some(object) => flaw.repaired_by(rewritten(object.as_str(), "arguments_unquoted")),
            None => flaw,
        }
    });
    // One that nothing repairs is validated beside the other calls, where it need not take them with it.
    if let Some(flaw) = flaw.filter(|flaw| flaw.has_fix() || !rules.drop_calls()) {
        return Err(flaw);
    }
    Ok(GatheredCall {
        arguments: arguments.to_owned(),
        flaw: None,
        id: String::new(),
        name,
        // Of a text that is rejected, the whole text is named.
        pointer: String::new(),
    })
}

/// A violation of a family's form, and its possible repair.
#[derive(Debug)]
pub(super) struct Flaw {
    pub(super) code: FailureCode,
    pub(super) fix: Option<Fix>,
}

/// A repair of one place.
#[derive(Debug)]
pub(super) struct Fix {
    /// The replaced range, in bytes of the message's text.
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

/// A text taken apart into prose and calls.
#[derive(Debug, Default)]
pub(super) struct ParsedText {
    pub calls: Vec<GatheredCall>,
    /// Text outside of markup, a piece between two calls a line.
    pub text: String,
}

impl ParsedText {
    /// Takes text outside of markup unchanged, except for white space next to a call. `before_call`: one follows.
    pub(super) fn push_text(&mut self, piece: &str, before_call: bool) {
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
