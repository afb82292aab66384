//! The model requests of servers (semantics §6).

use super::*;
use crate::message::SamplingRequest;

impl Oracle {
    /// Handles a server's model request during a call; `None` if nothing continues with an answer.
    pub(super) fn sampling_required(
        &mut self,
        at: usize,
        call: u64,
        asked: &SamplingRequest,
    ) -> Option<Reaction> {
        let too_often = self.facts.batch[at].questions == crate::kernel::execute::MOST_QUESTIONS;
        if too_often || self.nothing_starts().is_some() {
            return None;
        }
        self.facts.batch[at].questions += 1;
        let (bytes, live) = (asked.bytes, asked.resume.is_none());
        if self.facts.suspended {
            // One that waits in its process ends there, or is lost with it.
            self.facts.batch[at].slot = if live {
                Slot::Running(call)
            } else {
                Slot::Unsampled { call, bytes }
            };
            return Some(Reaction::Noted);
        }
        Some(self.sample(at, call, bytes, live))
    }

    /// Issues the server's request that is due after a resume, if the call can continue with the answer.
    pub(super) fn sample_due(&mut self, at: usize) -> Option<Reaction> {
        let due = match self.facts.batch[at].slot {
            Slot::Unsampled { call, bytes } => (call, bytes),
            _ => return None,
        };
        if self.nothing_starts().is_none() {
            return Some(self.sample(at, due.0, due.1, false));
        }
        self.facts.batch[at].slot = Slot::Answered(failed("interrupted, effect unknown"));
        None
    }

    /// Asks the model if the contract grants it and the next request still fits every budget; otherwise the server is refused,
    /// and its call continues.
    pub(super) fn sample(&mut self, at: usize, call: u64, bytes: u64, live: bool) -> Reaction {
        let expected = bytes.div_ceil(4);
        let in_flight = self.prompts_in_flight();
        let next = self.projected(Wish::Turn) + self.results();
        let target = self.sampler(&self.facts.batch[at].name);
        let asks = target.is_some_and(|target| {
            self.may_ask(target)
                && self.facts.inferences + 2 <= self.terms.max_inferences
                && self.used() + self.promised() + in_flight + expected + next
                    <= self.terms.max_tokens_consumed.0
                && expected <= self.side_limit(target)
        });
        if !asks {
            self.facts.batch[at].answered = true;
            self.facts.batch[at].slot = Slot::Running(call);
            return Reaction::Starts(vec![call]);
        }
        self.facts.inferences += 1;
        let inference = self.facts.inferences;
        self.facts.batch[at].slot = Slot::Sampled {
            call,
            inference,
            expected,
            live,
        };
        Reaction::Samples(inference)
    }

    /// Tokens of the prompts whose answers are waited for.
    pub(super) fn prompts_in_flight(&self) -> u64 {
        let waiting = |c: &Call| match c.slot {
            Slot::Told { expected, .. } | Slot::Sampled { expected, .. } => expected,
            _ => 0,
        };
        let unwanted = self.facts.unwanted.values().map(|(expected, _)| expected);
        self.facts.batch.iter().map(waiting).sum::<u64>() + unwanted.sum::<u64>()
    }

    /// Handles a server that continues without the answer it awaited in its call: the inference is still awaited.
    pub(super) fn leave_sampling(&mut self, n: u64) {
        for at in 0..self.facts.batch.len() {
            if let Slot::Sampled {
                call,
                inference,
                expected,
                live: true,
            } = self.facts.batch[at].slot
                && call == n
            {
                let target = self.sampler(&self.facts.batch[at].name);
                self.facts.unwanted.insert(inference, (expected, target));
                self.facts.batch[at].slot = Slot::Running(n);
            }
        }
    }

    fn sampler(&self, tool: &str) -> Option<usize> {
        let tool = self.terms.tools.iter().find(|t| t.name == tool)?;
        let server = self.terms.servers.get(&tool.origin)?;
        let named = server.sampling.as_ref()?;
        self.terms.targets.iter().position(|t| t.model == *named)
    }

    /// The target that is asked for that inference, where a server waits for it.
    pub(super) fn sampler_of(&self, n: u64) -> Option<usize> {
        if let Some((_, target)) = self.facts.unwanted.get(&n) {
            return *target;
        }
        let waits = |c: &&Call| matches!(c.slot, Slot::Sampled { inference, .. } if inference == n);
        let call = self.facts.batch.iter().find(waits)?;
        self.sampler(&call.name)
    }

    /// Handles an answer, or its absence: the call continues. `None` if no server waits for that inference.
    pub(super) fn sample_ended(&mut self, n: u64) -> Option<Reaction> {
        let nothing_starts = self.nothing_starts().is_some();
        let (suspended, place) = (self.facts.suspended, self.facts.place);
        if place == Place::Tools && self.facts.unwanted.remove(&n).is_some() {
            let asks = |c: &Call| matches!(c.slot, Slot::Question { .. });
            let asks = self.facts.batch.iter().any(asks);
            return Some(if asks && !nothing_starts {
                Reaction::Noted
            } else {
                self.rest()
            });
        }
        let waits =
            |c: &&mut Call| matches!(c.slot, Slot::Sampled { inference, .. } if inference == n);
        let call = self.facts.batch.iter_mut().find(waits)?;
        let Slot::Sampled {
            call: seq, live, ..
        } = call.slot
        else {
            return None;
        };
        if place != Place::Tools {
            return None;
        }
        if nothing_starts {
            call.slot = Slot::Answered(failed("interrupted, effect unknown"));
            return Some(self.rest());
        }
        // A call that waits with its question keeps waiting, and is lost with its process.
        let keeps_waiting = suspended && live;
        call.answered |= !keeps_waiting;
        call.slot = if suspended && !live {
            Slot::Ready(seq)
        } else {
            Slot::Running(seq)
        };
        Some(if suspended {
            Reaction::Noted
        } else {
            Reaction::Starts(vec![seq])
        })
    }
}

pub(super) fn estimate(text: &str) -> u64 {
    (text.len() as u64).div_ceil(4)
}

pub(super) fn failed(reason: &str) -> String {
    format!("(tool failed: {reason})")
}
