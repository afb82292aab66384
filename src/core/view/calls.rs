//! Folds entries into the calls of a run. Does not know how they are displayed.

use std::collections::BTreeMap;

use super::requested_calls::RequestedCalls;
use super::turns::{Activities, Activity};
use super::{ApprovalEnd, Call, CallEnd, Execution};
use crate::contract::{ExecutionContract, RulePlace, pattern_takes};
use crate::kernel::{Action, DroppedResult, Event, EventKind, ToolReturned, judged_outcome};
use crate::message::{CallSeq, Digest, ToolOutcome};

/// The calls of a run, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Calls {
    all: BTreeMap<CallSeq, Call>,
    /// Number of executions with a valid result, and number of those with status ok.
    executed: (u64, u64),
    /// The first whose answer was no valid result.
    malformed: Option<(CallSeq, usize)>,
}

impl Calls {
    pub(super) const fn all(&self) -> &BTreeMap<CallSeq, Call> {
        &self.all
    }

    /// Returns the number of executions with a valid result, and the number of those with status ok.
    pub(super) const fn executed(&self) -> (u64, u64) {
        self.executed
    }

    /// The first execution whose answer was no valid result.
    pub(super) fn first_malformed(&self) -> Option<(&Call, &Execution)> {
        let (call, place) = self.malformed?;
        let call = self.all.get(&call)?;
        Some((call, call.executions.get(place)?))
    }

    /// An approval of the call is asked for.
    pub(super) fn await_approval(
        &mut self,
        contract: &ExecutionContract,
        requested: &mut RequestedCalls,
        (call, hash): (CallSeq, Digest),
        asked_by: Option<RulePlace>,
    ) {
        if self.all.contains_key(&call) {
            return;
        }
        let waits = |name: &str| match asked_by {
            Some(RulePlace::Approval(n)) => usize::try_from(n)
                .ok()
                .and_then(|n| contract.approval.get(n))
                .is_some_and(|rule| pattern_takes(&rule.tool, name)),
            // The entry that judged the message names its calls.
            Some(RulePlace::Flow(_)) => false,
            Some(RulePlace::RequireApproval) | None => {
                contract.require_approval.iter().any(|one| one == name)
            }
        };
        let requested = requested.awaiting(call, hash, waits).cloned();
        let known = requested.map_or_else(Call::unknown, |requested| Call {
            arguments: requested.arguments,
            requested_in: requested.inference,
            batch: requested.batch,
            id: requested.id,
            name: requested.name,
            ..Call::unknown()
        });
        let known = Call { asked_by, ..known };
        self.all.insert(call, known);
    }

    /// The approval of the call is settled.
    pub(super) fn settle(&mut self, call: CallSeq, end: ApprovalEnd, event: Option<&Event>) {
        let Some(call) = self.all.get_mut(&call) else {
            return;
        };
        call.approval = Some(end);
        if let Some(EventKind::ApprovalGiven(answer) | EventKind::ApprovalDenied(answer)) =
            event.map(|event| &event.event)
        {
            let answerer = answer.answerer.as_ref();
            call.answered_by = answerer.map(|answerer| answerer.key.clone());
            call.reason.clone_from(&answer.reason);
        }
    }

    /// The call of that id and name is started.
    pub(super) fn start(
        &mut self,
        requested: &RequestedCalls,
        activities: &mut Activities,
        (call, id, name): (CallSeq, &str, &str),
        action: &Action,
        at_ms: u64,
    ) {
        let known = self.all.entry(call).or_insert_with(Call::unknown);
        name.clone_into(&mut known.name);
        id.clone_into(&mut known.id);
        if known.requested_in.is_none()
            && let Some(requested) = requested.of_id(id)
        {
            known.arguments.clone_from(&requested.arguments);
            known.requested_in = requested.inference;
            known.batch.clone_from(&requested.batch);
        }
        let goes_on = known.delegated || known.question.is_some() || known.samples;
        if goes_on && known.is_running() {
            // The execution continues: its server has its answer, or another process resumes its run.
            return;
        }
        known.executions.push(Execution {
            attempt: action.attempt,
            began_at_ms: at_ms,
            child: None,
            dropped: None,
            end: None,
            ended_at_ms: None,
            exchanges: Vec::new(),
            late: None,
            number: activities.begin(Activity::Execution(call, known.executions.len())),
            turn: action.counters.turns,
        });
    }

    /// Starts or resumes a child run for the call.
    pub(super) fn delegate(
        &mut self,
        requested: &RequestedCalls,
        activities: &mut Activities,
        which: (CallSeq, &str, &str),
        action: &Action,
        at_ms: u64,
    ) {
        let known = self.all.entry(which.0).or_insert_with(Call::unknown);
        known.delegated = true;
        self.start(requested, activities, which, action, at_ms);
    }

    /// The tool of the call answered, or its process did in its place.
    pub(super) fn returned(
        &mut self,
        activities: &mut Activities,
        returned: &ToolReturned,
        at_ms: u64,
    ) {
        let ToolReturned {
            call,
            child,
            exchanges,
            outcome,
        } = returned;
        let Some(known) = self.all.get_mut(call) else {
            return;
        };
        let child = child.as_deref().filter(|_| known.delegated);
        if let Some(last) = known.executions.last_mut() {
            last.exchanges.extend_from_slice(exchanges);
            last.child = last.child.take().or_else(|| child.cloned());
        }
        if let ToolOutcome::InputRequired(asked) = outcome {
            known.question = Some(asked.question.to_string());
            return;
        }
        if let ToolOutcome::SamplingRequired(_) = outcome {
            known.samples = true;
            return;
        }
        let judged = judged_outcome(outcome, (&known.id, &known.name), child);
        let not_begun = match &*judged {
            ToolOutcome::Returned(envelope) if known.delegated && child.is_none() => {
                Some(CallEnd::NotBegun {
                    detail: envelope.text(),
                })
            }
            _ => None,
        };
        let end = not_begun.unwrap_or_else(|| CallEnd::of(outcome, &judged));
        let was_running = known.is_running();
        known.end(activities, end, at_ms);
        let place = known.executions.len().saturating_sub(1);
        let last = known.executions.last().filter(|_| was_running);
        if let Some(last) = last.filter(|last| last.result().is_some()) {
            let (executed, ok) = self.executed;
            self.executed = (
                executed.saturating_add(1),
                ok.saturating_add(u64::from(last.is_ok())),
            );
        }
        if was_running && matches!(*judged, ToolOutcome::Malformed { .. }) {
            self.malformed.get_or_insert((*call, place));
        }
    }

    /// The call was lost with its process.
    pub(super) fn lost(
        &mut self,
        activities: &mut Activities,
        (call, suspended): (CallSeq, bool),
        at_ms: u64,
    ) {
        if let Some(known) = self.all.get_mut(&call) {
            known.end(activities, CallEnd::Lost { suspended }, at_ms);
        }
    }

    /// The result of the call did not fit the context.
    pub(super) fn drop_result(&mut self, call: CallSeq, dropped: DroppedResult) {
        let last = self
            .all
            .get_mut(&call)
            .and_then(|c| c.executions.last_mut());
        if let Some(last) = last {
            last.dropped = Some(dropped);
        }
    }

    /// Gives up the running calls; delegated ones only if `runs_too`.
    pub(super) fn give_up(&mut self, activities: &mut Activities, at_ms: u64, runs_too: bool) {
        let given_up = |call: &&mut Call| call.is_running() && (runs_too || !call.delegated);
        for call in self.all.values_mut().filter(given_up) {
            call.end(activities, CallEnd::GivenUp, at_ms);
        }
    }
}

impl Call {
    /// A call whose message is not known.
    const fn unknown() -> Self {
        Self {
            approval: None,
            asked_by: None,
            answered_by: None,
            reason: None,
            arguments: String::new(),
            delegated: false,
            requested_in: None,
            batch: None,
            executions: Vec::new(),
            id: String::new(),
            name: String::new(),
            question: None,
            samples: false,
        }
    }

    /// Its last execution ended so; where it had ended before, that came late.
    fn end(&mut self, activities: &mut Activities, end: CallEnd, at_ms: u64) {
        let Some(last) = self.executions.last_mut() else {
            return;
        };
        if last.end.is_some() {
            last.late = Some(end);
            return;
        }
        last.end = Some(end);
        last.ended_at_ms = Some(at_ms);
        activities.end(last.number);
    }
}
