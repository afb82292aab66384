//! Steps that may run at the same time (INV-PE-001…003): who begins, and what follows from a failure.

use super::interpreter::{Interpreter, Progress, Scope, StepEnd};
use super::memory::{Group, Member, Phase, Stop, Value};
use crate::contract::{FailureStrategy, Parallel, Step};

impl Interpreter<'_> {
    /// Advances a group as far as possible.
    pub(super) fn group(
        &mut self,
        step: &Step,
        held: &Parallel,
        group: &mut Group,
        scope: Scope<'_>,
    ) -> Progress {
        let place = format!("{}{}/", scope.place, step.id);
        if let Phase::Forward = group.phase
            && let Some(progress) = self.forward(held, group, &place, scope)
        {
            return progress;
        }
        let Phase::RollingBack(rollback) = &mut group.phase else {
            return Progress::Ended(StepEnd::Failed);
        };
        if !self.roll_back(rollback) {
            return Progress::Pending;
        }
        Progress::Ended(self.end_of_failed())
    }

    /// Returns the end of a group that has failed by itself: it has failed, even if the surrounding step halts, unless a person
    /// has stopped the workflow.
    fn end_of_failed(&self) -> StepEnd {
        if self.is_stopped() {
            StepEnd::Halted
        } else {
            StepEnd::Failed
        }
    }

    /// True if a person has requested the end of the workflow.
    fn is_stopped(&self) -> bool {
        self.memory.stop >= Some(Stop::Requested)
    }

    /// Does the steps; `None` if they are to be undone.
    fn forward(
        &mut self,
        held: &Parallel,
        group: &mut Group,
        place: &str,
        scope: Scope<'_>,
    ) -> Option<Progress> {
        let goes_on = held.on_failure == FailureStrategy::ContinueOnError;
        let mut at = 0;
        while let Some(step) = held.steps.get(at) {
            let inner = Scope {
                halting: scope.halting || (group.failed && !goes_on),
                place,
                ..scope
            };
            if let Some(Member::Active(active)) = group.members.get_mut(at) {
                let progress = self.advance(step, active, inner);
                self.member_ended(group, at, progress, goes_on, place);
            }
            at = at.saturating_add(1);
        }
        let dependencies = group.dependencies.clone();
        let needed = |step| dependencies.as_ref().map_or(&[][..], |d| d.of_step(step));
        loop {
            let halting = scope.halting || (group.failed && !goes_on);
            if halting || self.memory.suspended {
                break;
            }
            let Some(next) = next(group, held.max_concurrency, &needed) else {
                break;
            };
            let Some(step) = held.steps.get(next) else {
                break;
            };
            let inner = Scope {
                halting,
                place,
                ..scope
            };
            let progress = match self.begin(step, inner) {
                None => Progress::Ended(StepEnd::Failed),
                Some(mut active) => {
                    let progress = self.advance(step, &mut active, inner);
                    if let Some(member) = group.members.get_mut(next) {
                        *member = Member::Active(active);
                    }
                    progress
                }
            };
            self.member_ended(group, next, progress, goes_on, place);
        }
        self.over(held, group, place, scope, goes_on)
    }

    /// Notes how far a step of the group came.
    fn member_ended(
        &mut self,
        group: &mut Group,
        at: usize,
        progress: Progress,
        goes_on: bool,
        place: &str,
    ) {
        let Progress::Ended(end) = progress else {
            return;
        };
        let (member, failed) = match end {
            StepEnd::Completed { ok, .. } => {
                group.with_errors |= !ok;
                (Member::Completed, false)
            }
            StepEnd::Failed => (Member::Failed, true),
            StepEnd::Halted => (Member::Halted, false),
        };
        if let Some(of) = group.members.get_mut(at) {
            *of = member;
        }
        if failed && !std::mem::replace(&mut group.failed, true) && !goes_on {
            self.end_all(place);
        }
    }

    /// Returns the group's progress, ended once none of its steps is under way; `None` if it must be undone.
    fn over(
        &mut self,
        held: &Parallel,
        group: &mut Group,
        place: &str,
        scope: Scope<'_>,
        goes_on: bool,
    ) -> Option<Progress> {
        let under_way = |member: &Member| matches!(member, Member::Active(_));
        if group.members.iter().any(under_way) {
            return Some(Progress::Pending);
        }
        let halting = scope.halting || (group.failed && !goes_on);
        let waits = |member: &Member| matches!(member, Member::Waiting);
        if group.members.iter().any(waits) {
            if !halting {
                return Some(Progress::Pending);
            }
            for member in group.members.iter_mut().filter(|member| waits(member)) {
                *member = Member::Skipped;
            }
        }
        // What has failed before the end of all was requested has failed: another failure around it is no reason to leave it as it is.
        if group.failed && !goes_on {
            if held.on_failure == FailureStrategy::Rollback && !self.is_stopped() {
                group.phase = Phase::RollingBack(self.plan_rollback(place));
                return None;
            }
            return Some(Progress::Ended(self.end_of_failed()));
        }
        if scope.halting {
            return Some(Progress::Ended(StepEnd::Halted));
        }
        let members = held.steps.iter().zip(&group.members);
        let completed = members.filter(|(_, member)| matches!(member, Member::Completed));
        let completed = completed.filter_map(|(step, _)| {
            let binding = self.memory.binding(&step.id)?;
            Some((step.id.clone(), binding.value.clone()))
        });
        let value = Value::Members(completed.collect());
        let ok = !group.failed && !group.with_errors;
        Some(Progress::Ended(StepEnd::Completed { ok, value }))
    }
}

/// The first step in the order of the definition that can begin now; those that wait for what will never complete are skipped.
fn next<'n>(group: &mut Group, most: u32, needed: &dyn Fn(usize) -> &'n [usize]) -> Option<usize> {
    let mut next = None;
    for at in 0..group.members.len() {
        if !matches!(group.members.get(at), Some(Member::Waiting)) {
            continue;
        }
        let needs = needed(at)
            .iter()
            .filter_map(|need| group.members.get(*need));
        let needs: Vec<&Member> = needs.collect();
        let completed = |member: &&Member| matches!(member, Member::Completed);
        let never =
            |member: &&Member| matches!(member, Member::Failed | Member::Halted | Member::Skipped);
        if needs.iter().any(never) {
            if let Some(member) = group.members.get_mut(at) {
                *member = Member::Skipped;
            }
        } else if next.is_none() && needs.iter().all(completed) {
            next = Some(at);
        }
    }
    let under_way = group.members.iter();
    let under_way = under_way.filter(|member| matches!(member, Member::Active(_)));
    let fits = u32::try_from(under_way.count()).is_ok_and(|count| count < most);
    next.filter(|_| fits)
}
