//! The trait that folds the documents of a response into one message, and what all protocols share of it. Knows no wire format.

use super::error_report::ErrorReport;
use super::json::{Raw, object, offset_of_pointer, string};
use super::parameter_types::ParameterTypes;
use super::repair::{Repairs, joined};
use super::stop_words::{StopMeaning, meaning, names_call, weight};
use super::streamed_call::StreamedCall;
use super::surrogates::Halves;
use crate::contract::FINAL_REPORT;
use crate::message::{
    AgentMessage, BOM, Digest, FailureCode, ProviderFault, ProviderFaultClass, Repair, StopReason,
    Usage, char_prefix, excerpt,
};

/// Maximum bytes of an unknown stop reason in the result.
const MAX_WORD_BYTES: usize = 64;

/// The first rule that a response broke, and where.
#[derive(Debug)]
pub(super) struct Failure {
    pub code: FailureCode,
    /// The value there, as far as it is known already.
    pub excerpt: Option<String>,
    pub pointer: String,
}

impl Failure {
    pub(super) fn new(code: FailureCode, pointer: impl Into<String>) -> Self {
        Self {
            code,
            excerpt: None,
            pointer: pointer.into(),
        }
    }

    /// The failure with an excerpt of `text` around the byte `at`.
    pub(super) fn around(mut self, text: &str, at: usize) -> Self {
        self.excerpt.get_or_insert_with(|| excerpt(text, at));
        self
    }

    /// The excerpt at its pointer: of the document that the body is, else of the body's end.
    pub(super) fn shown(&self, whole: Option<&str>, tail: &[u8]) -> String {
        if let Some(shown) = &self.excerpt {
            return shown.clone();
        }
        if let Some(text) = whole {
            return excerpt(text, offset_of_pointer(text, &self.pointer));
        }
        let tail = String::from_utf8_lossy(tail);
        excerpt(&tail, tail.len())
    }

    /// The failure of a last event whose closing blank line is missing: text that does not parse was cut.
    pub(super) fn at_the_end(self) -> Self {
        match self.code {
            FailureCode::BodyInvalidJson if self.pointer.is_empty() => {
                Self::new(FailureCode::StreamIncomplete, "")
            }
            _ => self,
        }
    }

    /// The failure as a fault, if the server is to blame. Its words hold nothing of the response: it may be withheld.
    pub(super) fn of_server(&self, raw_hash: Digest, status: u16) -> ProviderFault {
        let what = match self.code {
            FailureCode::StreamIncomplete => "the response ended before the answer did",
            FailureCode::BodyInvalidJson => "the response is not JSON",
            _ => "the response holds no message of the protocol",
        };
        let words = match self.pointer.as_str() {
            "" => format!("{what} ({})", self.code),
            pointer => format!("{what} ({} at {pointer})", self.code),
        };
        ProviderFault {
            raw_hash: Some(raw_hash),
            status: Some(status),
            ..ProviderFault::new(ProviderFaultClass::InvalidResponse, words)
        }
    }

    /// The failure with an excerpt of the document at its pointer.
    pub(super) fn in_document(self, text: &str) -> Self {
        let at = offset_of_pointer(text, &self.pointer);
        self.around(text, at)
    }
}

/// The form of a document: a whole response or a piece of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The body of a blocking response: one chunk with `message`.
    Whole,
    /// One chunk of a stream, with `delta`.
    Piece,
}

/// The result of a fold.
#[derive(Debug)]
pub(super) enum Folded {
    /// A canonical message.
    Message(AgentMessage),
    /// A canonical message after a repair; a strict contract refuses it.
    Recovered(AgentMessage, Repair),
    /// A message that breaks a rule.
    Rejected(Failure),
    /// An error where a message should be.
    Fault(ErrorReport),
}

impl Folded {
    /// The message, after a repair where there was one.
    pub(super) fn of(message: AgentMessage, repair: Option<Repair>) -> Self {
        match repair {
            Some(repair) => Self::Recovered(message, repair),
            None => Self::Message(message),
        }
    }

    /// The same with the deviations that were allowed, if there were any.
    pub(super) fn tolerating(self, tolerated: Option<Repair>) -> Self {
        match self {
            Self::Message(message) => Self::of(message, tolerated),
            Self::Recovered(message, repair) => Self::of(message, joined(tolerated, Some(repair))),
            Self::Rejected(_) | Self::Fault(_) => self,
        }
    }
}

/// The state that every protocol keeps of an arriving response, whatever its wire shape.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// True if nothing that follows belongs to the message.
    pub done: bool,
    /// True if the protocol marked the end of the message.
    pub ended: bool,
    /// The first rule that was broken.
    pub failure: Option<Failure>,
    /// The first error that the provider reported.
    pub fault: Option<ErrorReport>,
    /// The `system_fingerprint` of OpenAI's protocol.
    pub fingerprint: Option<String>,
    /// The high halves of surrogate pairs at which strings of a stream ended.
    pub halves: Halves,
    /// The model as the provider names it.
    pub model: Option<String>,
    /// The decoder's rules.
    pub rules: Rules,
    /// The stop reason in the provider's word.
    pub stop_word: Option<String>,
    /// Deviations from the protocol that a contract without strict mode allows, each with its place.
    pub tolerated: Vec<String>,
    /// The parameter types of the offered tools, if the form of calls depends on them.
    pub types: ParameterTypes,
    /// The last report of usage.
    pub usage: Option<Usage>,
}

impl Progress {
    /// Records `failure` unless there is an earlier one: the first names the cause.
    pub(super) fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    pub(super) const fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Takes an error that the server reported, inside or outside a document of the protocol.
    pub(super) fn report(&mut self, report: ErrorReport) {
        self.fault.get_or_insert(report);
    }

    /// Takes the model's name where there is one; the first counts.
    pub(super) fn name_model(&mut self, name: Option<String>) {
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            self.model.get_or_insert(name);
        }
    }

    /// Takes the fingerprint of the server's system where there is one; the first counts.
    pub(super) fn fingerprint(&mut self, fingerprint: Option<String>) {
        if let Some(fingerprint) = fingerprint.filter(|text| !text.is_empty()) {
            self.fingerprint.get_or_insert(fingerprint);
        }
    }

    /// Takes a stop reason if there is one. The last one counts, except that no word takes back a cut, a filter or a
    /// fault. Some servers write null as a word.
    pub(super) fn stopped(&mut self, word: Option<String>) {
        if let Some(word) = word.filter(|word| !matches!(word.trim(), "" | "null")) {
            let known = self.stop_word.as_deref().map_or(0, weight);
            if weight(&word) >= known {
                self.stop_word = Some(word);
            }
        }
    }

    /// Takes the stop reason of an upstream, which a server in between translates: only a cut, a filter or a fault
    /// counts.
    pub(super) fn stopped_upstream(&mut self, word: Option<String>) {
        self.stopped(word.filter(|word| weight(word) > 0));
    }

    /// Returns the stop reason. Without a word only the protocol's mark is an end.
    pub(super) fn stop(&self) -> StopReason {
        match self.stop_word.as_deref() {
            None if self.ended => StopReason::End,
            None => StopReason::Unknown,
            Some(word) => match meaning(word) {
                Some(StopMeaning::Stopped(reason)) => reason,
                Some(StopMeaning::Fault | StopMeaning::Rejected(_)) | None => StopReason::Unknown,
            },
        }
    }

    /// Judges how the response ended: whether it is whole, and by the words with which the provider itself says that there is no
    /// answer. `at` is their place.
    pub(super) fn judge_end(&mut self, form: Form, at: &str) {
        if !self.halves.are_joined() {
            self.fail(Failure::new(FailureCode::BodyInvalidJson, ""));
        }
        if form == Form::Piece && !self.ended && self.stop_word.is_none() {
            self.fail(Failure::new(FailureCode::StreamIncomplete, at));
        }
        let word = self.stop_word.clone().unwrap_or_default();
        match meaning(&word) {
            Some(StopMeaning::Fault) => {
                let text = format!("the provider broke the answer off: stop reason {word:?}");
                self.report(ErrorReport::of_text(&text));
            }
            Some(StopMeaning::Rejected(code)) => self.fail(Failure::new(code, at)),
            Some(StopMeaning::Stopped(_)) | None => {}
        }
    }

    /// The provider's word for a stop reason that is unknown, as it may be recorded.
    pub(super) fn unknown_word(&self, stop: StopReason) -> Option<String> {
        let word = self.stop_word.as_deref()?;
        (stop == StopReason::Unknown).then(|| excerpt(char_prefix(word, MAX_WORD_BYTES), 0))
    }

    /// The words for a text without a call that ended at one: the call was lost.
    pub(super) fn lost_call(&self, stop: StopReason) -> Option<String> {
        let word = self.stop_word.as_deref()?;
        let ends_at_call = stop == StopReason::End && names_call(word);
        ends_at_call.then(|| format!("{}, but no call came", word.trim()))
    }

    /// The record of the deviations that were allowed, if there were any.
    pub(super) fn tolerated(&mut self) -> Option<Repair> {
        let steps = std::mem::take(&mut self.tolerated);
        (!steps.is_empty()).then(|| Repair {
            original: String::new(),
            repaired: String::new(),
            steps,
        })
    }

    /// Takes a deviation from the protocol that has one meaning.
    ///
    /// # Errors
    /// A failure of that code under strict mode.
    pub(super) fn tolerate(
        &mut self,
        step: &str,
        code: FailureCode,
        pointer: &str,
    ) -> Result<(), Failure> {
        if self.rules.repairs == Repairs::Never {
            return Err(Failure::new(code, pointer));
        }
        let step = format!("{pointer}: {step}");
        if !self.tolerated.contains(&step) {
            self.tolerated.push(step);
        }
        Ok(())
    }

    /// Takes the role of a message.
    ///
    /// # Errors
    /// A failure under strict mode if it is not `expected`.
    pub(super) fn role(&mut self, raw: Raw<'_>, expected: &str, at: &str) -> Result<(), Failure> {
        match string(raw) {
            Some(role) if !role.is_empty() && role != expected => {
                self.tolerate("role_replaced", FailureCode::MessageShape, at)
            }
            _ => Ok(()),
        }
    }

    /// Takes the verdict decided so far: an error outweighs a broken rule, and both outweigh a message.
    pub(super) fn decided(&mut self) -> Option<Folded> {
        let fault = self.fault.take().map(Folded::Fault);
        fault.or_else(|| self.failure.take().map(Folded::Rejected))
    }
}

/// The framing of a protocol's bodies, beyond one JSON document and server-sent events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// No further framing.
    Plain,
    /// A stream may be one JSON array that holds its pieces.
    Array,
    /// A stream is one JSON document after another, a line each.
    Lines,
    /// A stream is binary frames, as they are or in base64.
    Frames,
}

/// The response of one protocol, folded from its documents. A blocking body goes through it as a stream of one document,
/// so both give the same message.
pub(super) trait Fold: Default + std::fmt::Debug {
    /// The framing of its bodies.
    const FRAMING: Framing = Framing::Plain;

    /// The pointer of a message's calls. No text profile expects any below it.
    const CALLS: &'static str = "";
    /// The pointer of a message's stop reason.
    const STOP: &'static str;
    /// The pointer of a message's text.
    const TEXT: &'static str = "";
    /// True if the event `[DONE]` marks the end of a message.
    const DONE_ENDS: bool = false;
    /// True if `<think>` at the beginning of the text opens reasoning.
    const THINKS: bool = true;

    /// Returns the common state of all protocols.
    fn progress(&mut self) -> &mut Progress;

    /// Returns true if no later bytes can change the message.
    fn is_done(&self) -> bool;

    /// Takes one JSON document. Nothing of it is used where it is not of the protocol's shape.
    fn take(&mut self, text: &str, form: Form) -> Result<(), Failure>;

    /// Takes the document of a frame that names its kind beside the document.
    fn take_named(&mut self, kind: &str, text: &str) -> Result<(), Failure> {
        let _ = kind;
        self.take(text, Form::Piece)
    }

    /// Reads the body of a response with an error status as an error.
    fn error_body(text: &str) -> ErrorReport {
        ErrorReport::of_body(text)
    }

    /// The text of the message as far as it has arrived; none if only the whole response shows what of it is text.
    fn text(&self) -> Option<&str> {
        None
    }

    /// The reasoning as far as it has arrived, where it comes apart from the text and in one part.
    fn reasoning(&self) -> Option<&str> {
        None
    }

    /// The call at that place of the message, if its arguments seem to be whole.
    fn call(&self, at: usize) -> Option<StreamedCall<'_>> {
        let _ = at;
        None
    }

    /// True if the model refused in a field of the message, whatever the stop reason says.
    fn refuses(&self) -> bool {
        false
    }

    /// Returns the stop reason.
    fn stop(&mut self) -> StopReason {
        if self.refuses() {
            StopReason::Refusal
        } else {
            self.progress().stop()
        }
    }

    /// True if the output was cut before its end, whatever the stop reason says.
    fn is_cut(&self) -> bool {
        false
    }

    /// The verdict; `model` is the name that was asked for.
    fn finish(self, form: Form, model: &str) -> Folded;
}

/// Hands a document of a stream to its fold.
pub(super) fn take_piece<F: Fold>(fold: &mut F, text: &str) -> Result<(), Failure> {
    let before = fold.progress().halves.clone();
    let text = fold.progress().halves.join(text);
    fold.take(&text, Form::Piece).map_err(|failure| {
        fold.progress().halves = before;
        failure.in_document(&text)
    })
}

/// Reads `text` as one JSON object of the protocol.
pub(super) fn document<'a, T: serde::Deserialize<'a>>(text: &'a str) -> Result<T, Failure> {
    if !text.trim_start().starts_with('{') {
        let code = match serde_json::from_str::<serde::de::IgnoredAny>(text) {
            Ok(_) => FailureCode::BodyShape,
            Err(_) => FailureCode::BodyInvalidJson,
        };
        return Err(Failure::new(code, ""));
    }
    serde_json::from_str(text).map_err(|error| {
        let code = if error.is_data() {
            FailureCode::BodyShape
        } else {
            FailureCode::BodyInvalidJson
        };
        Failure::new(code, "")
    })
}

/// Reads a member as an object of the protocol.
pub(super) fn part<'a, T: serde::Deserialize<'a>>(
    raw: Raw<'a>,
    pointer: &str,
) -> Result<T, Failure> {
    raw.and_then(|raw| object(raw.get()))
        .ok_or_else(|| Failure::new(FailureCode::BodyShape, pointer))
}

/// The rules of a decoder: whether the contract lets it repair, how the output ended, and when the text of a message may be an
/// answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rules {
    pub beside_calls: BesideCalls,
    /// True if the output ended normally: then a call without arguments has none.
    pub has_ended: bool,
    /// True if the output is known to have been cut: then its last call is validated as it came.
    pub is_cut: bool,
    pub repairs: Repairs,
}

/// The rule for text next to calls as an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum BesideCalls {
    /// The calls are what the message is for.
    #[default]
    NoAnswer,
    /// The tools are withheld, so no call is executed and the text counts; beside a final report it does not.
    MayAnswer,
}

impl Rules {
    /// The same for an output that stopped for this reason; `is_cut` if it was cut all the same.
    pub(super) fn stopped(self, stop: StopReason, is_cut: bool) -> Self {
        let is_cut = is_cut || stop == StopReason::Length;
        Self {
            has_ended: stop == StopReason::End && !is_cut,
            is_cut: self.is_cut || is_cut,
            ..self
        }
    }

    /// True if a call with unreadable arguments is answered alone, so that the other calls can run.
    pub(super) fn drop_calls(self) -> bool {
        self.repairs == Repairs::Allowed
    }

    /// True if the text of a message with calls of these names may be an answer.
    pub(super) fn may_answer<'n>(self, mut calls: impl Iterator<Item = &'n str>) -> bool {
        match self.beside_calls {
            BesideCalls::NoAnswer => calls.next().is_none(),
            BesideCalls::MayAnswer => !calls.any(|name| name == FINAL_REPORT),
        }
    }
}

/// True if a body that is a document is the first of several.
pub(super) fn is_lines(body: &[u8], framing: Framing) -> bool {
    let body = body.strip_prefix(BOM).unwrap_or(body);
    framing == Framing::Lines && body.trim_ascii_start().first() == Some(&b'{')
}

/// Returns true if the body is a document (JSON, markup, binary frames) and not an event stream; `None` until a first byte that
/// is neither byte order mark nor white space has arrived. No field of an event stream begins like a document.
pub(super) fn is_document(body: &[u8], framing: Framing) -> Option<bool> {
    if body.len() < BOM.len() && BOM.starts_with(body) {
        return None;
    }
    let body = body.strip_prefix(BOM).unwrap_or(body);
    let first = body.iter().find(|byte| !byte.is_ascii_whitespace())?;
    let framed = framing == Framing::Frames && matches!(first, 0 | b'A');
    Some(framed || matches!(first, b'{' | b'[' | b'<'))
}
