//! Text of a response that is shown while it arrives, without secrets: what a later byte could make a part of one is held back.

use super::output::Output;
use crate::kernel::EventKind;
use crate::message::{InferenceSeq, Scrubber};

/// Text that is held back is looked at again when it has doubled, once it is longer than this many bytes.
const EAGER_BYTES: usize = 4_096;

/// The released part of an arriving response.
#[derive(Debug, Default)]
pub(super) struct Deltas {
    inference: Option<InferenceSeq>,
    /// Released length of the text as it arrives.
    done: usize,
    /// When the rest is looked at again, by its length.
    next_look: usize,
    /// Released text, scrubbed.
    released: String,
}

impl Deltas {
    /// Returns the unreleased part of the growing `text` that can be released now.
    pub(super) fn next(
        &mut self,
        inference: InferenceSeq,
        text: &str,
        scrubber: Option<&dyn Scrubber>,
    ) -> Option<Output> {
        if self.inference != Some(inference) {
            *self = Self {
                inference: Some(inference),
                ..Self::default()
            };
        }
        let rest = text.get(self.done..)?;
        if rest.len() < self.next_look {
            return None;
        }
        let settled = scrubber.map_or(rest.len(), |scrubber| scrubber.settled(rest));
        let held = rest.len() - settled;
        self.next_look = if held > EAGER_BYTES { 2 * held } else { 0 };
        let ready = rest.get(..settled).filter(|ready| !ready.is_empty())?;
        let text = scrubber.map_or(ready.into(), |scrubber| scrubber.text(ready));
        let text = text.into_owned();
        self.done += settled;
        self.released.push_str(&text);
        Some(Output::Delta { inference, text })
    }

    /// The rest of the text, once the response is judged and may be shown.
    pub(super) fn last(&mut self, event: &EventKind) -> Option<Output> {
        let before = std::mem::take(self);
        let EventKind::InferenceReturned(returned) = event else {
            return None;
        };
        let message = returned.result.canonical_message.as_ref()?;
        let inference = returned.inference;
        let before = if before.inference == Some(inference) {
            before.released
        } else {
            String::new()
        };
        // What was released is the beginning of what the message holds; else nothing more is.
        let rest = message.content.strip_prefix(&before)?;
        (!rest.is_empty()).then(|| Output::Delta {
            inference,
            text: rest.to_owned(),
        })
    }
}
