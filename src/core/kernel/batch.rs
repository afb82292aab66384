//! The calls of one accepted message, from authorisation to observation.

use super::child_run::{Delegated, Share};
use super::texts::FailedReason;
use super::{CallOrder, GivenInput};
use crate::contract::RulePlace;
use crate::message::{
    CallSeq, Digest, InferenceSeq, InputQuestion, SamplingRequest, ToolEnvelope, ToolInvocation,
};

/// The end of a call that needs nothing more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// Answered by monolith; never started, or its effect is unknown.
    Answered(FailedReason),
    /// Answered by monolith, and it is no failure.
    Acknowledged(String),
    /// A call of `agent__final_report`: answered once it is known whether the report counts.
    Report,
    /// Ended with an envelope that fits it.
    Returned {
        call: CallSeq,
        envelope: Box<ToolEnvelope>,
        shown: Shown,
    },
    /// Ended without one.
    Failed { call: CallSeq, end: FailedEnd },
}

/// The part of a result that the model sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// The result, cut where it is too large.
    Cut,
    /// No part of it: it did not fit the context.
    Nothing,
    /// A summary.
    Summary { text: String, tokens: u64 },
}

/// The end of a call without a valid envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailedEnd {
    Malformed,
    TimedOut,
    ConnectionLost,
    Cancelled,
    ToolChanged,
    RestartInProgress,
    RestartFailed,
}

/// The progress of one call of the message during EXECUTE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Settled(Settled),
    /// Authorised, not yet started.
    Pending(CallSeq),
    /// Authorised; a person is asked before it starts, since the contract says so there.
    ToAsk(CallSeq, RulePlace),
    /// Authorised, waits for a person.
    Awaiting(CallSeq, RulePlace),
    /// Authorised and approved, or started once and lost; not started, since the run is suspended.
    Approved(CallSeq),
    /// Started.
    Running(CallSeq),
    /// Started, and its server waits for a person.
    Asking {
        call: CallSeq,
        asked: Box<InputQuestion>,
    },
    /// Started, and its server wants a model to be asked, were the run not suspended.
    Unsampled {
        call: CallSeq,
        asked: Box<SamplingRequest>,
    },
    /// Started, and what its server wants a model to be asked is asked.
    Sampling {
        call: CallSeq,
        asked: Box<SamplingRequest>,
        inference: InferenceSeq,
    },
    /// Returned, and a summary of its result would be asked for, were the run not suspended.
    Unsummarised {
        call: CallSeq,
        envelope: Box<ToolEnvelope>,
    },
    /// Returned, and a summary of its result is waited for.
    Summarising {
        call: CallSeq,
        envelope: Box<ToolEnvelope>,
        inference: InferenceSeq,
    },
}

impl Settled {
    /// A result that is shown as it is, cut where it is too large.
    pub(super) const fn cut(call: CallSeq, envelope: Box<ToolEnvelope>) -> Self {
        Self::Returned {
            call,
            envelope,
            shown: Shown::Cut,
        }
    }
}

impl From<Settled> for Slot {
    fn from(settled: Settled) -> Self {
        Self::Settled(settled)
    }
}

impl From<FailedReason> for Settled {
    fn from(reason: FailedReason) -> Self {
        Self::Answered(reason)
    }
}

/// The place of a call in a container of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The container's id.
    pub(super) container: String,
    /// The model's name for it there.
    pub(super) label: String,
}

/// One call and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BatchCall<S> {
    pub(super) invocation: ToolInvocation,
    pub(super) arguments_hash: Digest,
    /// State of its run, if it calls an agent.
    pub(super) delegated: Option<Box<Delegated>>,
    /// Input to continue with, once its server had an answer.
    pub(super) input: Option<Box<GivenInput>>,
    /// Number of its server's questions to a person.
    pub(super) questions: u32,
    /// The entry that records its result; 0 before.
    pub(super) returned_in: u64,
    pub(super) slot: S,
    pub(super) part: Option<Part>,
}

impl<S> BatchCall<S> {
    fn with<T>(self, slot: impl FnOnce(S) -> T) -> BatchCall<T> {
        BatchCall {
            invocation: self.invocation,
            arguments_hash: self.arguments_hash,
            delegated: self.delegated,
            input: self.input,
            questions: self.questions,
            returned_in: self.returned_in,
            slot: slot(self.slot),
            part: self.part,
        }
    }

    /// The call as an effect carries it.
    pub(super) fn order(&self, call: CallSeq) -> CallOrder {
        CallOrder {
            arguments_hash: self.arguments_hash,
            asked_by: None,
            call,
            input: self.input.clone(),
            invocation: self.invocation.clone(),
        }
    }
}

impl BatchCall<Slot> {
    /// Its number, while it runs.
    fn running(&self) -> Option<CallSeq> {
        if let Slot::Running(seq) = self.slot {
            return Some(seq);
        }
        None
    }

    /// True if its server waits for a person.
    pub(super) const fn asks_for_input(&self) -> bool {
        matches!(self.slot, Slot::Asking { .. })
    }

    /// Returns the current question to a person about it, if any.
    pub(super) fn question(&self) -> Option<CallOrder> {
        match &self.slot {
            Slot::Awaiting(call, by) => Some(CallOrder {
                asked_by: Some(*by).filter(|by| *by != RulePlace::RequireApproval),
                ..self.order(*call)
            }),
            Slot::Asking { call, asked } => {
                let mut invocation = self.invocation.clone();
                invocation.arguments = asked.question.clone();
                Some(CallOrder {
                    arguments_hash: asked.question.digest(),
                    asked_by: None,
                    call: *call,
                    input: Some(Box::new(GivenInput {
                        content: None,
                        resume: asked.resume.clone(),
                    })),
                    invocation,
                })
            }
            Slot::Settled(_)
            | Slot::Pending(_)
            | Slot::ToAsk(..)
            | Slot::Approved(_)
            | Slot::Running(_)
            | Slot::Unsampled { .. }
            | Slot::Sampling { .. }
            | Slot::Unsummarised { .. }
            | Slot::Summarising { .. } => None,
        }
    }

    const fn settled(&self) -> Option<&Settled> {
        match &self.slot {
            Slot::Settled(settled) => Some(settled),
            Slot::Pending(_)
            | Slot::ToAsk(..)
            | Slot::Awaiting(..)
            | Slot::Approved(_)
            | Slot::Running(_)
            | Slot::Asking { .. }
            | Slot::Unsampled { .. }
            | Slot::Sampling { .. }
            | Slot::Unsummarised { .. }
            | Slot::Summarising { .. } => None,
        }
    }
}

/// The calls of one message that EXECUTE has begun with, in the message's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) calls: Vec<BatchCall<Slot>>,
    /// True if the run is to end and waits only for the ends of child runs.
    pub(super) ending: bool,
    /// Share of each agent call whose file states none.
    pub(super) share: Share,
    /// Inferences whose servers did not wait for the answer, each with the bytes of its prompt. What they use counts, so each is waited
    /// for.
    pub(super) unwanted: Vec<(InferenceSeq, u64)>,
}

/// The calls of one message, in its order, once none of them is in progress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) calls: Vec<BatchCall<Settled>>,
    /// True if EXECUTE was left before they had ended by themselves.
    pub(super) cut_short: bool,
}

impl Batch {
    fn is_running(&self) -> bool {
        self.running_calls().next().is_some()
    }

    /// The calls that were started and have not ended, in call order, which is the order of their start.
    pub(super) fn running_calls(&self) -> impl Iterator<Item = CallSeq> {
        self.calls.iter().filter_map(BatchCall::running)
    }

    /// Returns the running calls of agents.
    pub(super) fn delegations(&self) -> impl Iterator<Item = CallSeq> {
        let granted = self.calls.iter().filter(|call| call.grant().is_some());
        granted.filter_map(BatchCall::running)
    }

    /// Returns the running calls and the asking ones whose result ends with the process: nothing else could bring it.
    pub(super) fn bound_calls(&self) -> impl Iterator<Item = CallSeq> {
        self.calls.iter().filter_map(|call| match &call.slot {
            // A child run is resumed.
            Slot::Running(_) if call.grant().is_some() => None,
            Slot::Running(seq) => Some(*seq),
            Slot::Asking { call, asked } if asked.resume.is_none() => Some(*call),
            Slot::Sampling { call, asked, .. } if asked.resume.is_none() => Some(*call),
            Slot::Settled(_)
            | Slot::Pending(_)
            | Slot::ToAsk(..)
            | Slot::Awaiting(..)
            | Slot::Approved(_)
            | Slot::Asking { .. }
            | Slot::Unsampled { .. }
            | Slot::Sampling { .. }
            | Slot::Unsummarised { .. }
            | Slot::Summarising { .. } => None,
        })
    }

    /// The inferences that are waited for, in call order: of summaries, and what servers want asked.
    pub(super) fn inferences(&self) -> impl Iterator<Item = InferenceSeq> {
        let of_calls = self.calls.iter().filter_map(|call| match &call.slot {
            Slot::Summarising { inference, .. } | Slot::Sampling { inference, .. } => {
                Some(*inference)
            }
            Slot::Settled(_)
            | Slot::Pending(_)
            | Slot::ToAsk(..)
            | Slot::Awaiting(..)
            | Slot::Approved(_)
            | Slot::Running(_)
            | Slot::Asking { .. }
            | Slot::Unsampled { .. }
            | Slot::Unsummarised { .. } => None,
        });
        let unwanted = self.unwanted.iter().map(|(inference, _)| *inference);
        of_calls.chain(unwanted)
    }

    /// The summaries that are waited for, each with the result that it is of.
    pub(super) fn in_summary(&self) -> impl Iterator<Item = (InferenceSeq, &ToolEnvelope)> {
        self.calls.iter().filter_map(|call| match &call.slot {
            Slot::Summarising {
                envelope,
                inference,
                ..
            } => Some((*inference, envelope.as_ref())),
            Slot::Settled(_)
            | Slot::Pending(_)
            | Slot::ToAsk(..)
            | Slot::Awaiting(..)
            | Slot::Approved(_)
            | Slot::Running(_)
            | Slot::Asking { .. }
            | Slot::Unsampled { .. }
            | Slot::Sampling { .. }
            | Slot::Unsummarised { .. } => None,
        })
    }

    /// The call that waits for a person, where one does.
    pub(super) fn awaiting(&mut self) -> Option<&mut BatchCall<Slot>> {
        self.calls
            .iter_mut()
            .find(|c| matches!(c.slot, Slot::Awaiting(..) | Slot::Asking { .. }))
    }

    /// Returns the open question to a person.
    pub(super) fn awaited(&self) -> Option<CallOrder> {
        self.calls.iter().find_map(BatchCall::question)
    }

    /// The question of a server, where it does not end with the process that made the call.
    pub(super) fn resumable_question(&self) -> Option<CallOrder> {
        let question = self.awaited()?;
        let resumable = |input: &GivenInput| input.resume.is_some();
        question
            .input
            .as_deref()
            .is_some_and(resumable)
            .then_some(question)
    }

    /// True if a person is asked about one of them.
    pub(super) fn is_asking(&self) -> bool {
        let asks = |c: &BatchCall<Slot>| matches!(c.slot, Slot::Awaiting(..) | Slot::Asking { .. });
        self.calls.iter().any(asks)
    }

    /// The call of that number whose result is waited for.
    pub(super) fn running_call(&mut self, call: CallSeq) -> Option<&mut BatchCall<Slot>> {
        self.calls.iter_mut().find(|c| match &c.slot {
            Slot::Running(seq) => *seq == call,
            // Its server may end it without the answer.
            Slot::Asking { call: seq, asked } => *seq == call && asked.resume.is_none(),
            Slot::Sampling {
                call: seq, asked, ..
            } => *seq == call && asked.resume.is_none(),
            Slot::Settled(_)
            | Slot::Pending(_)
            | Slot::ToAsk(..)
            | Slot::Awaiting(..)
            | Slot::Approved(_)
            | Slot::Unsampled { .. }
            | Slot::Unsummarised { .. }
            | Slot::Summarising { .. } => false,
        })
    }

    /// Answers everything that has not been started with `reason`.
    pub(super) fn start_no_more(&mut self, reason: &FailedReason) {
        for call in &mut self.calls {
            match &call.slot {
                Slot::Pending(_) | Slot::ToAsk(..) | Slot::Awaiting(..) | Slot::Approved(_) => {
                    // A call that continues with an answer was started before.
                    let reason = match call.input {
                        Some(_) => &FailedReason::EffectUnknown,
                        None => reason,
                    };
                    call.slot = Settled::Answered(reason.clone()).into();
                }
                Slot::Asking { .. } | Slot::Unsampled { .. } => {
                    call.slot = Settled::Answered(FailedReason::EffectUnknown).into();
                }
                Slot::Unsummarised {
                    call: seq,
                    envelope,
                } => {
                    let (seq, envelope) = (*seq, envelope.clone());
                    call.slot = Settled::cut(seq, envelope).into();
                }
                Slot::Settled(_)
                | Slot::Running(_)
                | Slot::Sampling { .. }
                | Slot::Summarising { .. } => {}
            }
        }
    }

    /// True if something started and has not ended: a call, a summary of its result, or a model request by its server.
    pub(super) fn is_busy(&self) -> bool {
        self.is_running() || self.inferences().next().is_some()
    }

    /// Ends the wait for a summary: `shown` says what is made of the result. False where no such summary is waited for.
    pub(super) fn end_summary(
        &mut self,
        inference: InferenceSeq,
        shown: impl FnOnce(&ToolEnvelope) -> Shown,
    ) -> bool {
        for one in &mut self.calls {
            if let Slot::Summarising {
                call,
                envelope,
                inference: awaited,
            } = &one.slot
                && *awaited == inference
            {
                let settled = Settled::Returned {
                    call: *call,
                    shown: shown(envelope),
                    envelope: envelope.clone(),
                };
                one.slot = settled.into();
                return true;
            }
        }
        false
    }

    /// Takes out the calls once none of them is in progress.
    pub(super) fn settled(&mut self) -> Option<Ended> {
        if !self.unwanted.is_empty() {
            return None;
        }
        let settled: Option<Vec<&Settled>> = self.calls.iter().map(|call| call.settled()).collect();
        let settled: Vec<Settled> = settled?.into_iter().cloned().collect();
        let calls = self.calls.drain(..).zip(settled);
        let calls = calls
            .map(|(call, settled)| call.with(|_| settled))
            .collect();
        Some(Ended {
            calls,
            cut_short: self.ending,
        })
    }

    /// Ends everything but runs below that go on; whether there are any, whose ends are then waited for.
    pub(super) fn end_but_delegations(&mut self) -> bool {
        self.unwanted.clear();
        for call in &mut self.calls {
            if matches!(call.slot, Slot::Running(_)) && call.grant().is_some() {
                self.ending = true;
            } else {
                call.slot = Slot::Settled(given_up(call.slot.clone()));
            }
        }
        self.ending
    }

    /// Ends the batch now: what runs has an unknown effect, what does not is not started, no summary is waited for.
    pub(super) fn cut_short(&mut self) -> Ended {
        let calls = self.calls.drain(..).map(|call| call.with(given_up));
        Ended {
            calls: calls.collect(),
            cut_short: true,
        }
    }
}

/// Returns the result of a call that is given up.
fn given_up(slot: Slot) -> Settled {
    match slot {
        Slot::Settled(settled) => settled,
        Slot::Pending(_) | Slot::ToAsk(..) | Slot::Awaiting(..) | Slot::Approved(_) => {
            FailedReason::NotStartedCutShort.into()
        }
        Slot::Running(_) | Slot::Asking { .. } | Slot::Unsampled { .. } | Slot::Sampling { .. } => {
            FailedReason::EffectUnknown.into()
        }
        Slot::Unsummarised { call, envelope } | Slot::Summarising { call, envelope, .. } => {
            Settled::cut(call, envelope)
        }
    }
}
