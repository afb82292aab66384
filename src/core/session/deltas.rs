//! Text and thinking of a response, shown while they arrive, without secrets: withholds text that a later byte could
//! turn into part of one.

use super::output::Output;
use crate::kernel::EventKind;
use crate::message::{InferenceSeq, Scrubber};

/// Text that is held back is looked at again when it has doubled, once it is longer than this many bytes.
const EAGER_BYTES: usize = 4_096;

/// The released parts of an arriving response.
#[derive(Debug, Default)]
pub(super) struct Deltas {
    answer: Released,
    thinking: Released,
}

/// The part of a response that has arrived, as far as it is known.
pub(super) struct Arrived<'a> {
    pub(super) reasoning: Option<&'a str>,
    pub(super) text: Option<&'a str>,
}

impl Deltas {
    /// Returns the unreleased parts of the growing texts that can be released now. Thinking ends where text begins.
    pub(super) fn next(
        &mut self,
        inference: InferenceSeq,
        arrived: &Arrived<'_>,
        scrubber: Option<&dyn Scrubber>,
    ) -> impl Iterator<Item = Output> + use<> {
        let is_spoken = arrived.text.is_some_and(|text| !text.is_empty());
        let thinking = arrived.reasoning.and_then(|text| {
            if is_spoken {
                self.thinking.close(inference, text, scrubber)
            } else {
                self.thinking.next(inference, text, scrubber)
            }
        });
        let answer = arrived.text;
        let answer = answer.and_then(|text| self.answer.next(inference, text, scrubber));
        outputs(inference, thinking, answer)
    }

    /// The rest of both, once the response is judged and may be shown.
    pub(super) fn last(&mut self, event: &EventKind) -> impl Iterator<Item = Output> + use<> {
        let before = std::mem::take(self);
        let returned = match event {
            EventKind::InferenceReturned(returned) => Some(returned),
            _ => None,
        };
        let inference = returned.map_or(InferenceSeq(0), |returned| returned.inference);
        let message = returned.and_then(|returned| returned.result.canonical_message.as_ref());
        // What the gate holds back of a response is not thought aloud either.
        let shown = message.filter(|_| returned.is_some_and(|returned| !returned.gated));
        let thinking = shown.and_then(|message| message.reasoning.as_deref());
        let thinking = thinking.and_then(|whole| before.thinking.last(inference, whole));
        let answer = message.and_then(|message| before.answer.last(inference, &message.content));
        outputs(inference, thinking, answer)
    }
}

fn outputs(
    inference: InferenceSeq,
    thinking: Option<String>,
    answer: Option<String>,
) -> impl Iterator<Item = Output> {
    let thinking = thinking.map(|text| Output::Thinking { inference, text });
    let answer = answer.map(|text| Output::Delta { inference, text });
    thinking.into_iter().chain(answer)
}

/// The released part of a text.
#[derive(Debug, Default)]
struct Released {
    inference: Option<InferenceSeq>,
    /// True if nothing more of it is released.
    closed: bool,
    /// Released length of the text as it arrives.
    done: usize,
    /// When the rest is looked at again, by its length.
    next_look: usize,
    /// Released text, scrubbed.
    text: String,
}

impl Released {
    fn begin(&mut self, inference: InferenceSeq) {
        if self.inference != Some(inference) {
            *self = Self {
                inference: Some(inference),
                ..Self::default()
            };
        }
    }

    /// Returns the unreleased part of the growing `text` that can be released now.
    fn next(
        &mut self,
        inference: InferenceSeq,
        text: &str,
        scrubber: Option<&dyn Scrubber>,
    ) -> Option<String> {
        self.begin(inference);
        let rest = text.get(self.done..).filter(|_| !self.closed)?;
        if rest.len() < self.next_look {
            return None;
        }
        let settled = scrubber.map_or(rest.len(), |scrubber| scrubber.settled(rest));
        let held = rest.len() - settled;
        self.next_look = if held > EAGER_BYTES { 2 * held } else { 0 };
        self.release(rest.get(..settled)?, scrubber)
    }

    /// Returns the whole unreleased part: the text is complete. If it still grows, the rest is never released:
    /// it could be the second half of a secret.
    fn close(
        &mut self,
        inference: InferenceSeq,
        text: &str,
        scrubber: Option<&dyn Scrubber>,
    ) -> Option<String> {
        self.begin(inference);
        let rest = text.get(self.done..).filter(|_| !self.closed)?;
        self.closed = true;
        self.release(rest, scrubber)
    }

    fn release(&mut self, ready: &str, scrubber: Option<&dyn Scrubber>) -> Option<String> {
        if ready.is_empty() {
            return None;
        }
        let text = scrubber.map_or(ready.into(), |scrubber| scrubber.text(ready));
        let text = text.into_owned();
        self.done += ready.len();
        self.text.push_str(&text);
        Some(text)
    }

    /// The rest of the text, of which the response holds `whole`.
    fn last(self, inference: InferenceSeq, whole: &str) -> Option<String> {
        let before = if self.inference == Some(inference) {
            if self.closed {
                return None;
            }
            self.text
        } else {
            String::new()
        };
        // What was released is the beginning of what the message holds; else nothing more is.
        let rest = whole.strip_prefix(&before)?;
        (!rest.is_empty()).then(|| rest.to_owned())
    }
}
