//! Puts a text profile over a wire protocol's fold. Knows neither the wire format nor the profile's form.

use std::marker::PhantomData;

use super::read::{Reading, read};
use super::tagged_calls::ReadOptions;
use crate::adapter::fold::{Failure, Fold, Folded, Form, Framing, Progress};
use crate::adapter::repair::Repairs;
use crate::contract::TextProfile;
use crate::message::{AgentMessage, FailureCode, StopReason};

/// A wire protocol's fold under a text profile: the message that it gives is read as text.
#[derive(Debug, Default)]
pub(in crate::adapter) struct Layer<F, P> {
    family: PhantomData<P>,
    wire: F,
}

impl<F: Fold, P: Family> Fold for Layer<F, P> {
    const CALLS: &'static str = F::CALLS;
    const DONE_ENDS: bool = F::DONE_ENDS;
    const FRAMING: Framing = F::FRAMING;
    const STOP: &'static str = F::STOP;
    const TEXT: &'static str = F::TEXT;
    /// The profile reads it.
    const THINKS: bool = false;

    fn progress(&mut self) -> &mut Progress {
        self.wire.progress()
    }

    fn is_done(&self) -> bool {
        self.wire.is_done()
    }

    fn take(&mut self, text: &str, form: Form) -> Result<(), Failure> {
        self.wire.take(text, form)
    }

    fn take_named(&mut self, kind: &str, text: &str) -> Result<(), Failure> {
        self.wire.take_named(kind, text)
    }

    fn reasoning(&self) -> Option<&str> {
        self.wire.reasoning()
    }

    fn refuses(&self) -> bool {
        self.wire.refuses()
    }

    fn stop(&mut self) -> StopReason {
        self.wire.stop()
    }

    fn is_cut(&self) -> bool {
        self.wire.is_cut()
    }

    fn finish(mut self, form: Form, model: &str) -> Folded {
        let stop = self.wire.stop();
        let progress = self.wire.progress();
        let named = progress.model.clone();
        let rules = progress.rules;
        // No call is awaited on the wire, so none there is repaired.
        progress.rules.repairs = Repairs::Never;
        let types = std::mem::take(&mut progress.types);
        let options = ReadOptions {
            profile: P::PROFILE,
            rules,
            types: &types,
        };
        match self.wire.finish(form, model) {
            Folded::Message(message) | Folded::Recovered(message, _) => {
                layered::<F>(message, stop, named.as_deref().unwrap_or(model), &options)
            }
            other => other,
        }
    }
}

fn layered<F: Fold>(
    message: AgentMessage,
    stop: StopReason,
    model: &str,
    options: &ReadOptions<'_>,
) -> Folded {
    if !message.tool_calls.is_empty() {
        // No tool was offered on the wire, so a call there is none of ours.
        let failure = Failure::new(FailureCode::CallUnexpected, F::CALLS);
        return Folded::Rejected(failure);
    }
    // The provider's or the model's words for why there is no answer are no answer and no call.
    if matches!(stop, StopReason::Refusal | StopReason::ContentFilter) {
        return Folded::Message(message);
    }
    let Reading {
        calls,
        content,
        reasoning,
        repair,
    } = match read(&message.content, model, options) {
        Ok(reading) => reading,
        Err(code) => return Folded::Rejected(Failure::new(code, F::TEXT)),
    };
    let parts: Vec<String> = [message.reasoning, reasoning]
        .into_iter()
        .flatten()
        .collect();
    let joined = parts.join("\n");
    let mut state = message.state;
    if let Some(state) = &mut state {
        state.drop_parts();
    }
    let message = AgentMessage {
        content,
        reasoning: Some(joined).filter(|text| !text.is_empty()),
        state,
        tool_calls: calls,
        ..AgentMessage::text(message.role, "", message.tokens)
    };
    Folded::of(message, repair)
}

/// A text profile as a type: folds are made without arguments.
pub(in crate::adapter) trait Family: Default + std::fmt::Debug + Send {
    /// The profile.
    const PROFILE: TextProfile;
}

/// `<tool_call>` tags, results as JSON between `<tool_response>` tags.
#[derive(Debug, Default)]
pub(in crate::adapter) struct Hermes;

/// A JSON object as the whole message, or after `<|python_tag|>`.
#[derive(Debug, Default)]
pub(in crate::adapter) struct Llama3;

/// `<tool_call>` tags, results as plain text between `<tool_response>` tags.
#[derive(Debug, Default)]
pub(in crate::adapter) struct Qwen;

impl Family for Hermes {
    const PROFILE: TextProfile = TextProfile::Hermes;
}

impl Family for Llama3 {
    const PROFILE: TextProfile = TextProfile::Llama3;
}

impl Family for Qwen {
    const PROFILE: TextProfile = TextProfile::Qwen;
}
