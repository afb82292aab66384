//! What servers want models to be asked (semantics §6).

use super::*;

impl Oracle {
    /// The model is asked where the contract grants it and the next request keeps its place in every budget; else the server is refused,
    /// and its call goes on.
    pub(super) fn sample(&mut self, at: usize, call: u64, bytes: u64, live: bool) -> Reaction {
        let expected = bytes.div_ceil(4);
        let waiting = |c: &Call| match c.slot {
            Slot::Told { expected, .. } | Slot::Sampled { expected, .. } => expected,
            _ => 0,
        };
        let in_flight: u64 = self.facts.batch.iter().map(waiting).sum();
        let next = self.projected(Wish::Turn) + self.results();
        let target = self.sampler(&self.facts.batch[at].name);
        let asks = target.is_some_and(|target| {
            self.facts.inferences + 2 <= self.terms.max_inferences
                && self.facts.tokens + in_flight + expected + next
                    <= self.terms.max_tokens_consumed.0
                && expected <= self.limit(target)
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

    fn sampler(&self, tool: &str) -> Option<usize> {
        let tool = self.terms.tools.iter().find(|t| t.name == tool)?;
        let server = self.terms.servers.get(&tool.origin)?;
        let named = server.sampling.as_ref()?;
        let target = self.terms.targets.iter().position(|t| t.model == *named)?;
        (!self.facts.dropped.contains(&target)).then_some(target)
    }

    /// The target that is asked for that inference, where a server waits for it.
    pub(super) fn sampler_of(&self, n: u64) -> Option<usize> {
        let waits = |c: &&Call| matches!(c.slot, Slot::Sampled { inference, .. } if inference == n);
        let call = self.facts.batch.iter().find(waits)?;
        self.sampler(&call.name)
    }

    /// An answer came, or none will: the call goes on. None where no server waits for that inference.
    pub(super) fn sample_ended(&mut self, n: u64) -> Option<Reaction> {
        let nothing_starts = self.nothing_starts().is_some();
        let (suspended, place) = (self.facts.suspended, self.facts.place);
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
            call.slot = Slot::Said(failed("interrupted, effect unknown"));
            return Some(self.rest());
        }
        // A call that waits with its question keeps waiting, and is lost with its process.
        let keeps_waiting = suspended && live;
        call.answered |= !keeps_waiting;
        call.slot = match suspended && !live {
            true => Slot::Ready(seq),
            false => Slot::Running(seq),
        };
        Some(if suspended {
            Reaction::Noted
        } else {
            Reaction::Starts(vec![seq])
        })
    }
}
