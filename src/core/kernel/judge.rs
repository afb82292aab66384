//! Structural judgement of a message's calls: names, arguments, policy (semantics §2, §6). Changes nothing.

use std::collections::BTreeMap;

use super::OutcomeCode;
use super::guard::{Guard, holds};
use super::history::{CycleTrace, identity};
use super::machine::Machine;
use super::nearest::nearest;
use super::session::Unit;
use super::texts::FailedReason;
use crate::contract::{RulePlace, Ruling, StepsLeft, ToolPolicy, WireNames, signature};
use crate::message::{AgentMessage, Digest, ToolInvocation};

/// The verdict on a message's calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    /// The contract is broken; nothing runs.
    Violation(OutcomeCode),
    /// `strict_mode`, and a call is refused for its name or its arguments: nothing of the message runs. For each of the message's
    /// units in order what it is answered.
    Invalid(Vec<FailedReason>),
    /// A call limit would be passed; nothing runs.
    Limit(OutcomeCode),
    /// For each of the message's units in order: what becomes of it.
    Calls(Vec<Judged>),
}

/// The verdict on one call of a message that the contract lets run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// It runs.
    Runs,
    /// It runs once a person has allowed it: the contract says so there.
    IsAsked(RulePlace),
    /// It does not run, and is answered with this.
    Answered(FailedReason),
}

impl Judged {
    /// Returns why it does not run, if it does not.
    pub(super) const fn answer(&self) -> Option<&FailedReason> {
        match self {
            Self::Answered(reason) => Some(reason),
            Self::Runs | Self::IsAsked(_) => None,
        }
    }
}

impl Machine {
    /// Judges the calls of a message outside the closing turn.
    pub(super) fn judge(&self, message: &AgentMessage) -> Judgement {
        let terms = &self.contract;
        let units = self.units(message);
        if holds(
            Guard::ForbiddenCall,
            terms.tool_policy == ToolPolicy::Forbidden && !units.is_empty(),
        ) {
            return Judgement::Violation(OutcomeCode::ForbiddenCall);
        }
        let outside = |unit: &Unit<'_>| self.is_outside(&unit.invocation.name);
        let outside = terms.strict_mode && units.iter().any(outside);
        if holds(Guard::ToolNotAllowed, outside) {
            return Judgement::Violation(OutcomeCode::ToolNotAllowed);
        }
        let mut left = StepsLeft::WHOLE;
        let judged = units.iter().map(|unit| self.judge_unit(unit, &mut left));
        let judged: Vec<Judged> = judged.collect();
        let mut answers = judged.iter().filter_map(Judged::answer);
        let invalid = answers.any(FailedReason::is_invalid);
        if holds(Guard::StrictRefuses, terms.strict_mode && invalid) {
            let reason = |one: Judged| match one {
                Judged::Answered(reason) => reason,
                Judged::Runs | Judged::IsAsked(_) => FailedReason::NotStartedInvalid,
            };
            return Judgement::Invalid(judged.into_iter().map(reason).collect());
        }
        let judged = self.drop_excess(judged);
        let runnable = || {
            units.iter().zip(&judged).filter_map(|(unit, one)| {
                one.answer().is_none().then_some(unit.invocation.as_ref())
            })
        };
        if let Some(code) = self.limit_passed(runnable()) {
            return Judgement::Limit(code);
        }
        if holds(Guard::CycleForbidden, self.cycle_in(runnable())) {
            return Judgement::Violation(OutcomeCode::CycleForbidden);
        }
        if terms.strict_mode && runnable().any(|call| self.flow_denies(call)) {
            return Judgement::Violation(OutcomeCode::FlowForbidden);
        }
        Judgement::Calls(judged)
    }

    /// Judges one call by itself. Its checks spend the steps that earlier calls have left.
    fn judge_unit(&self, unit: &Unit<'_>, left: &mut StepsLeft) -> Judged {
        if let Some(reason) = self.fault_of(unit, left) {
            return Judged::Answered(reason);
        }
        let call = &unit.invocation;
        let ruling = self
            .contract
            .ruling_of(&self.validators, &call.name, &call.arguments, left);
        match ruling {
            Ruling::Deny(rule) if holds(Guard::RuleDenies, true) => {
                Judged::Answered(FailedReason::DeniedByRule(rule))
            }
            Ruling::Ask(rule) if holds(Guard::RuleAsks, true) => Judged::IsAsked(rule),
            Ruling::Allow | Ruling::Ask(_) | Ruling::Deny(_) => {
                self.flow_asks(call).map_or(Judged::Runs, Judged::IsAsked)
            }
        }
    }

    /// True if merely requesting these calls breaks the contract: a refusal in the same message does not excuse it.
    pub(super) fn violates_by_asking(&self, message: &AgentMessage) -> bool {
        match self.judge(message) {
            Judgement::Violation(OutcomeCode::ForbiddenCall) => true,
            Judgement::Violation(OutcomeCode::ToolNotAllowed) => self.closing.is_none(),
            Judgement::Violation(_)
            | Judgement::Invalid(_)
            | Judgement::Limit(_)
            | Judgement::Calls(_) => false,
        }
    }

    /// Returns the fault of one call, if any. Its check spends the steps that earlier calls have left.
    fn fault_of(&self, unit: &Unit<'_>, left: &mut StepsLeft) -> Option<FailedReason> {
        let call = &unit.invocation;
        let name = call.name.clone();
        if unit.refused.is_some() {
            return unit.refused.clone();
        }
        // Nothing of the session's own runs inside a container.
        if self.contract.session_tool(&name).is_some() {
            return Some(FailedReason::NotAllowed { name });
        }
        if self.contract.tool(&name).is_none() {
            let nearest = self.nearest_to(&name);
            return Some(FailedReason::NotFound { name, nearest });
        }
        if self.is_outside(&name) {
            let name = WireNames::of(&self.contract).wire(&name);
            return Some(FailedReason::NotAllowed { name });
        }
        if self.tools_changed.contains(&name) {
            return Some(FailedReason::ToolChanged);
        }
        if holds(Guard::UnreadableCall, call.fault.is_some()) {
            return Some(FailedReason::NotJson);
        }
        let fault = self
            .validators
            .validate_within(&name, &call.arguments, left);
        match fault {
            Err(fault) => {
                let takes = self
                    .contract
                    .tool(&name)
                    .map(|tool| signature(&tool.input_schema));
                let (pointer, rule) = (fault.pointer, fault.rule);
                let rule = format!("{rule}. Arguments: {}", takes.unwrap_or_default());
                Some(if self.agent(&name).is_some() {
                    FailedReason::InvalidParameters { pointer, rule }
                } else {
                    FailedReason::Invalid { pointer, rule }
                })
            }
            Ok(()) => self.delegation_fault(&name).or_else(|| {
                // Under strict mode such a call breaks the contract, once the message is judged as a whole.
                let strict = self.contract.strict_mode;
                (!strict).then(|| self.flow_denial(call)).flatten()
            }),
        }
    }

    /// True if the contract pins a tool of that name that the asked model may not call: `allowed_tools` lacks it, or the filter
    /// of the model's provider excludes it.
    fn is_outside(&self, name: &str) -> bool {
        let terms = &self.contract;
        let tool = terms.tool(name);
        tool.is_some_and(|tool| !terms.allows(name) || !terms.offers_to(self.turn.target(), tool))
    }

    /// The wire names that the model was offered and that are nearest to one that is in no manifest.
    fn nearest_to(&self, name: &str) -> Vec<String> {
        let names = WireNames::of(&self.contract);
        let offered = self.contract.offered_to(self.turn.target(), false);
        let offered = offered.filter(|tool| !self.tools_changed.contains(&tool.name));
        let offered: Vec<String> = offered.map(|tool| names.wire(&tool.name)).collect();
        nearest(name, offered.iter().map(String::as_str))
    }

    /// Of the calls that could run, the first `max_tool_calls_per_turn` do.
    fn drop_excess(&self, judged: Vec<Judged>) -> Vec<Judged> {
        let limit = self.contract.max_tool_calls_per_turn;
        let mut runnable = 0_u64;
        let drop_excess = |one: Judged| {
            if one.answer().is_some() {
                return one;
            }
            runnable += 1;
            if holds(Guard::ExcessCalls, runnable > limit) {
                return Judged::Answered(FailedReason::TooManyCalls { limit });
            }
            one
        };
        judged.into_iter().map(drop_excess).collect()
    }

    /// The call limit that these calls together would pass, if any.
    fn limit_passed<'a>(
        &self,
        calls: impl Iterator<Item = &'a ToolInvocation>,
    ) -> Option<OutcomeCode> {
        let limits = &self.contract.max_calls;
        let mut per_tool = BTreeMap::<&str, u64>::new();
        let mut identical = BTreeMap::<Digest, u64>::new();
        let (mut too_many, mut too_alike) = (false, false);
        for (run, call) in (self.counters.calls.saturating_add(1)..).zip(calls) {
            let of_tool = per_tool
                .entry(&call.name)
                .or_insert_with(|| self.history.per_tool.get(&call.name).copied().unwrap_or(0));
            *of_tool += 1;
            too_many |= limits.run.is_some_and(|max| run > max)
                || limits
                    .per_tool
                    .get(&call.name)
                    .is_some_and(|max| *of_tool > *max);
            if let Some(max) = self.contract.max_identical_calls {
                let id = identity(call);
                let alike = identical
                    .entry(id)
                    .or_insert_with(|| self.history.identical.get(&id).copied().unwrap_or(0));
                *alike += 1;
                too_alike |= *alike > max;
            }
        }
        if holds(Guard::CallLimit, too_many) {
            Some(OutcomeCode::MaxCalls)
        } else if holds(Guard::IdenticalCalls, too_alike) {
            Some(OutcomeCode::IdenticalCalls)
        } else {
            None
        }
    }

    /// True if these calls, after the run's last one, contain a forbidden pair without an exception.
    fn cycle_in<'a>(&self, calls: impl Iterator<Item = &'a ToolInvocation>) -> bool {
        let mut history = self.history.clone_for_cycles();
        for call in calls {
            match self.pair_allowed(&history, &call.name) {
                PairVerdict::Forbidden => return true,
                PairVerdict::Free => history.step(&call.name, false),
                PairVerdict::Excepted => history.step(&call.name, true),
            }
        }
        false
    }

    /// Judges the call `next` after its direct predecessor.
    pub(super) fn pair_allowed(&self, history: &CycleTrace, next: &str) -> PairVerdict {
        let Some(last) = history.last.as_deref() else {
            return PairVerdict::Free;
        };
        let forbidden = self
            .contract
            .cycle_forbid
            .iter()
            .any(|(from, to)| from == last && to == next);
        if !forbidden {
            return PairVerdict::Free;
        }
        let pair = (last.to_owned(), next.to_owned());
        let used = history.exceptions_used.get(&pair).copied().unwrap_or(0);
        let excepted = self
            .contract
            .metadata
            .cycle_exceptions
            .iter()
            .any(|e| e.from == last && e.to == next && used < e.max);
        if excepted {
            PairVerdict::Excepted
        } else {
            PairVerdict::Forbidden
        }
    }
}

/// The verdict of `cycle_forbid` on a pair of neighbouring calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PairVerdict {
    Free,
    Excepted,
    Forbidden,
}
