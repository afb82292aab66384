//! Time, and faults of providers: holds, drops and parameters that are left out (semantics §4).

use super::*;
use crate::contract::ParameterOrigin;
use crate::message::ProviderFault;

/// The consequence of a fault for its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    None,
    Repeat,
    Dropped,
    Stated,
}

/// Moments, which are no part of the facts.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    /// Each target's consecutive faults, and the end of its hold.
    pub(super) holds: BTreeMap<usize, (u32, u64)>,
    pub(super) at: u64,
    pub(super) parked: u64,
    pub(super) parked_since: Option<u64>,
    pub(super) turn_began: u64,
    pub(super) until: u64,
}

impl Clock {
    pub(super) fn unpark(&mut self) {
        if let Some(since) = self.parked_since.take() {
            self.parked += self.at - since;
        }
    }
}

impl Oracle {
    /// The target that is asked beside the attempts, by that inference.
    pub(super) fn side_target(&self, n: u64) -> Option<usize> {
        if self.awaits_summary(n) {
            let named = self.terms.tool_output_budget.summarizer_model.as_ref()?;
            return self.terms.targets.iter().position(|t| t.model == *named);
        }
        let is_awaited = self.facts.place == Place::Tools;
        is_awaited.then(|| self.sampler_of(n)).flatten()
    }

    /// The consequences of a fault for its target.
    pub(super) fn fault(&mut self, target: usize, fault: &ProviderFault) -> Fate {
        let origin = |p: &Parameter| self.terms.parameter_origin(target, *p);
        let (known, times) = self
            .facts
            .left_out
            .get(&target)
            .cloned()
            .unwrap_or_default();
        let refused = fault.parameters.iter();
        let is_new =
            |p: &&Parameter| origin(p) == Some(ParameterOrigin::Default) && !known.contains(*p);
        let mut new: Vec<Parameter> = refused.filter(is_new).copied().collect();
        if !new.is_empty() && times < 3 {
            let others = self.terms.dispensable(target);
            new.extend(others.filter(|p| times == 2 && is_new(&p)));
            let left_out = known.into_iter().chain(new).collect();
            self.facts.left_out.insert(target, (left_out, times + 1));
            return Fate::Repeat;
        }
        let states = |p: &Parameter| origin(p) == Some(ParameterOrigin::Stated);
        let is_stated = fault.parameters.iter().any(states);
        let drops = is_stated || fault.unknown_model || fault.permanent;
        let passes = match fault.class {
            Fault::RateLimit | Fault::Timeout | Fault::Network => true,
            Fault::Model | Fault::InvalidResponse => {
                fault.status.is_none_or(|status| status / 100 != 4)
            }
            _ => false,
        };
        let asked = fault.retry_after_ms.filter(|ms| *ms > 0);
        if asked.is_some() || (passes && !drops) {
            let (faults, _) = self.clock.holds.get(&target).copied().unwrap_or_default();
            let wait = asked.unwrap_or_else(|| self.backoff(target, faults));
            let hold = (faults + 1, (self.clock.at + wait).min(MAX_EXACT));
            for same in self.same_model(target) {
                self.clock.holds.insert(same, hold);
            }
        }
        if is_stated {
            self.facts.dropped.insert(target);
            return Fate::Stated;
        }
        if fault.unknown_model {
            self.facts.dropped.insert(target);
            return Fate::Dropped;
        }
        if fault.permanent {
            self.facts.dropped_in_turn.insert(target);
            return Fate::Dropped;
        }
        Fate::None
    }

    /// The targets with the provider and the model of that one.
    fn same_model(&self, target: usize) -> Vec<usize> {
        let targets = self.terms.targets.iter().enumerate();
        let own = &self.terms.targets[target];
        targets
            .filter(|(_, t)| t.provider == own.provider && t.model == own.model)
            .map(|(at, _)| at)
            .collect()
    }

    /// A target answered.
    pub(super) fn end_hold(&mut self, target: Option<usize>) {
        let same = target.map_or_else(Vec::new, |target| self.same_model(target));
        for target in same {
            self.clock.holds.remove(&target);
        }
    }

    /// `min(1000 × 2^k, 60000)` ms, and up to half of it more: the first 8 bytes of a hash, modulo.
    fn backoff(&self, target: usize, k: u32) -> u64 {
        let plain = (1_000 << k.min(6)).min(60_000_u64);
        let mut hasher = blake3::Hasher::new_derive_key("monolith retry jitter v1");
        for field in [
            self.run_id.as_bytes(),
            &(target as u64).to_le_bytes(),
            &u64::from(k).to_le_bytes(),
        ] {
            hasher.update(&(field.len() as u64).to_le_bytes());
            hasher.update(field);
        }
        let drawn = u64::from_le_bytes(hasher.finalize().as_bytes()[..8].try_into().unwrap());
        plain + drawn % (plain / 2 + 1)
    }

    /// The end of a target's hold, if it is on hold.
    pub(super) fn hold(&self, target: usize) -> Option<u64> {
        let (_, until) = self.clock.holds.get(&target)?;
        (*until > self.clock.at).then_some(*until)
    }

    /// True if a request beside the attempts may go to a target.
    pub(super) fn may_ask(&self, target: usize) -> bool {
        let f = &self.facts;
        !f.dropped.contains(&target)
            && !f.dropped_in_turn.contains(&target)
            && self.hold(target).is_none()
    }

    /// The wait before the request that would follow.
    pub(super) fn wait_before(&self, wish: Wish) -> Option<u64> {
        match wish {
            Wish::Again | Wish::Closing(ClosingReason::Stop) => None,
            Wish::Elsewhere | Wish::Retry | Wish::Turn | Wish::Closing(_) => {
                self.hold(self.target_of(wish))
            }
        }
    }

    /// A wait that ends after a deadline is not begun: the deadline that comes first, if it is one.
    pub(super) fn waits_too_long(&self, wish: Wish) -> Option<Code> {
        let wait = self.wait_before(wish)? - self.clock.at;
        let now = self.run_ms();
        let in_step = match wish {
            Wish::Again | Wish::Elsewhere | Wish::Retry => now - self.clock.turn_began,
            Wish::Turn | Wish::Closing(_) => 0,
        };
        let total = self.terms.total_timeout_ms.saturating_sub(now);
        let step = self.terms.step_timeout_ms.saturating_sub(in_step);
        (wait > total.min(step)).then_some(if step < total {
            Code::StepTimeout
        } else {
            Code::TotalTimeout
        })
    }
}
