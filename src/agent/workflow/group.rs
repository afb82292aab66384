//! Steps that may run at the same time (INV-PE-001…003): who begins, and what follows from a failure.

use super::books::{Group, Member, Phase};
use super::value::Value;
use super::walk::{Around, End, Flow, Walker};
use crate::contract::{Dependencies, FailureStrategy, Parallel, Step};

impl Walker<'_> {
    /// Goes on with a group, as far as it comes.
    pub(super) fn group(
        &mut self,
        step: &Step,
        held: &Parallel,
        group: &mut Group,
        around: Around<'_>,
    ) -> Flow {
        let place = format!("{}{}/", around.place, step.id);
        if let Phase::Forward = group.phase
            && let Some(flow) = self.forward(held, group, &place, around)
        {
            return flow;
        }
        let Phase::Back(rollback) = &mut group.phase else {
            return Flow::Ended(End::Failed);
        };
        if !self.roll_back(rollback) {
            return Flow::Pending;
        }
        let end = if around.halting {
            End::Halted
        } else {
            End::Failed
        };
        Flow::Ended(end)
    }

    /// Does the steps; none where they are to be undone.
    fn forward(
        &mut self,
        held: &Parallel,
        group: &mut Group,
        place: &str,
        around: Around<'_>,
    ) -> Option<Flow> {
        let goes_on = held.on_failure == FailureStrategy::ContinueOnError;
        let mut at = 0;
        while let Some(step) = held.steps.get(at) {
            let inner = Around {
                halting: around.halting || (group.failed && !goes_on),
                place,
                ..around
            };
            if let Some(Member::Active(active)) = group.members.get_mut(at) {
                let flow = self.go_on(step, active, inner);
                self.settle(group, at, flow, goes_on, place);
            }
            at = at.saturating_add(1);
        }
        let waits = |member: &Member| matches!(member, Member::Waiting);
        let some_wait = group.members.iter().any(waits);
        // A definition that was judged has an order.
        let dependencies = some_wait.then(|| Dependencies::of(&held.steps).ok());
        let dependencies = dependencies.flatten();
        loop {
            let halting = around.halting || (group.failed && !goes_on);
            if halting || self.books.suspended {
                break;
            }
            let needed = |step| dependencies.as_ref().map_or(&[][..], |d| d.of_step(step));
            let Some(next) = next(group, held.max_concurrency, &needed) else {
                break;
            };
            let Some(step) = held.steps.get(next) else {
                break;
            };
            let inner = Around {
                halting,
                place,
                ..around
            };
            let flow = match self.begin(step, inner) {
                None => Flow::Ended(End::Failed),
                Some(mut active) => {
                    let flow = self.go_on(step, &mut active, inner);
                    if let Some(member) = group.members.get_mut(next) {
                        *member = Member::Active(active);
                    }
                    flow
                }
            };
            self.settle(group, next, flow, goes_on, place);
        }
        self.over(held, group, place, around, goes_on)
    }

    /// Notes how far a step of the group came.
    fn settle(&mut self, group: &mut Group, at: usize, flow: Flow, goes_on: bool, place: &str) {
        let Flow::Ended(end) = flow else { return };
        let (member, failed) = match end {
            End::Completed { ok, .. } => {
                group.with_errors |= !ok;
                (Member::Completed, false)
            }
            End::Failed => (Member::Failed, true),
            End::Halted => (Member::Halted, false),
        };
        if let Some(of) = group.members.get_mut(at) {
            *of = member;
        }
        if failed && !std::mem::replace(&mut group.failed, true) && !goes_on {
            self.end_all(place);
        }
    }

    /// What the group comes to, once nothing of it is under way; none where it is to be undone.
    fn over(
        &mut self,
        held: &Parallel,
        group: &mut Group,
        place: &str,
        around: Around<'_>,
        goes_on: bool,
    ) -> Option<Flow> {
        let under_way = |member: &Member| matches!(member, Member::Active(_));
        if group.members.iter().any(under_way) {
            return Some(Flow::Pending);
        }
        let halting = around.halting || (group.failed && !goes_on);
        let waits = |member: &Member| matches!(member, Member::Waiting);
        if group.members.iter().any(waits) {
            if !halting {
                return Some(Flow::Pending);
            }
            for member in group.members.iter_mut().filter(|member| waits(member)) {
                *member = Member::Skipped;
            }
        }
        if around.halting {
            return Some(Flow::Ended(End::Halted));
        }
        if group.failed && held.on_failure == FailureStrategy::Rollback {
            group.phase = Phase::Back(self.undone_below(place));
            return None;
        }
        if group.failed && !goes_on {
            return Some(Flow::Ended(End::Failed));
        }
        let members = held.steps.iter().zip(&group.members);
        let completed = members.filter(|(_, member)| matches!(member, Member::Completed));
        let completed = completed.filter_map(|(step, _)| {
            let bound = self.books.bound(&step.id)?;
            Some((step.id.clone(), bound.value.clone()))
        });
        let value = Value::Members(completed.collect());
        let ok = !group.failed && !group.with_errors;
        Some(Flow::Ended(End::Completed { ok, value }))
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
