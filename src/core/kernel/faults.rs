//! The consequences of a provider's fault for its target (semantics §4): a hold, a drop, or parameters that are left out.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::context::target_name;
use super::machine::Machine;
use super::outbox::Outbox;
use super::{DropReason, DroppedTarget};
use crate::contract::{MAX_REPEATS, ParameterOrigin};
use crate::message::{InferenceSeq, Parameter, ProviderFault};

/// The parameters that requests to each target leave out.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub(super) struct LeftOut(BTreeMap<usize, (BTreeSet<Parameter>, u32)>);

impl LeftOut {
    /// The parameters that requests to a target leave out.
    pub(super) fn of(&self, target: usize) -> BTreeSet<Parameter> {
        let of_target = self.0.get(&target);
        of_target.map_or_else(BTreeSet::new, |(parameters, _)| parameters.clone())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The consequence of a fault for the target's next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// No change, except perhaps a hold.
    Retry,
    /// The target is dropped.
    Dropped(DropReason),
    /// The same request without the parameters that the provider refused.
    Repeat,
}

impl Machine {
    /// Applies a fault to its target.
    pub(super) fn take_fault(
        &mut self,
        target: usize,
        fault: &ProviderFault,
        outbox: &mut Outbox,
    ) -> Remedy {
        if self.leave_out(target, &fault.parameters) {
            return Remedy::Repeat;
        }
        let states = |parameter: &Parameter| {
            self.contract.parameter_origin(target, *parameter) == Some(ParameterOrigin::Stated)
        };
        let reason = if fault.parameters.iter().any(states) {
            Some(DropReason::StatedParameter)
        } else if fault.unknown_model {
            Some(DropReason::UnknownModel)
        } else {
            fault.permanent.then_some(DropReason::PermanentFault)
        };
        let asked_ms = fault.retry_after_ms.filter(|ms| *ms > 0);
        if asked_ms.is_some() || (reason.is_none() && fault.is_retryable()) {
            self.hold(target, asked_ms);
        }
        let Some(reason) = reason else {
            return Remedy::Retry;
        };
        self.drop_target(target, reason, outbox);
        Remedy::Dropped(reason)
    }

    /// Puts a target on hold, and every other one that is the same model of the same provider.
    fn hold(&mut self, target: usize, asked_ms: Option<u64>) {
        let run_id = self.run_id.as_str();
        self.holds.begin(target, self.at_ms, asked_ms, run_id);
        for other in self.same_model(target) {
            self.holds.share(target, other);
        }
    }

    /// The targets that are the same model of the same provider as that one, itself included.
    fn same_model(&self, target: usize) -> Vec<usize> {
        let targets = &self.contract.targets;
        let model = |at: usize| targets.get(at).map(|one| (&one.provider, &one.model));
        let same = (0..targets.len()).filter(|other| model(*other) == model(target));
        same.collect()
    }

    /// Leaves out those of the parameters that are defaults, in all further requests to the target. Returns true if a request
    /// without them is another one. The last such request leaves out every default that it can do without.
    fn leave_out(&mut self, target: usize, refused: &[Parameter]) -> bool {
        let left_out = self.left_out.of(target);
        let is_default = |parameter: &&Parameter| {
            let origin = self.contract.parameter_origin(target, **parameter);
            origin == Some(ParameterOrigin::Default) && !left_out.contains(*parameter)
        };
        let mut defaults: Vec<Parameter> = refused.iter().filter(is_default).copied().collect();
        let repeats = self
            .left_out
            .0
            .get(&target)
            .map_or(0, |(_, repeats)| *repeats);
        let is_another = !defaults.is_empty() && repeats < MAX_REPEATS;
        if is_another {
            if repeats + 1 == MAX_REPEATS {
                let others = self.contract.dispensable(target);
                defaults.extend(others.filter(|other| is_default(&other)));
            }
            if self.is_granted() && defaults.contains(&Parameter::MaxOutputTokens) {
                // Only the window bounds an answer now.
                self.overran.insert(target);
            }
            let (parameters, repeats) = self.left_out.0.entry(target).or_default();
            parameters.extend(defaults);
            *repeats += 1;
        }
        is_another
    }

    /// Asks a target no more: in this turn where it did not take the request, else in this run.
    fn drop_target(&mut self, target: usize, reason: DropReason, outbox: &mut Outbox) {
        match reason {
            DropReason::PermanentFault => self.turn.drop_target(target),
            DropReason::FirstRequest | DropReason::StatedParameter | DropReason::UnknownModel => {
                self.dropped.insert(target);
            }
        }
        outbox.dropped.push(DroppedTarget {
            limit: None,
            projected: None,
            reason,
            target: target_name(&self.contract, target),
        });
    }

    /// The target of a request answered.
    pub(super) fn has_answered(&mut self, inference: InferenceSeq) {
        if let Some(target) = self.asked.get(&inference) {
            for same in self.same_model(*target) {
                self.holds.end(same);
            }
        }
    }

    /// True if a side request may go to a target: it is neither dropped nor on hold.
    pub(super) fn may_ask(&self, target: usize) -> bool {
        !self.dropped.contains(&target)
            && !self.turn.dropped().contains(&target)
            && self.holds.until(target, self.at_ms).is_none()
    }
}
