//! Calls that start before their message is complete, and what becomes of them once it is (semantics §7). Does
//! not know how a response arrives.

use super::early_call::{CallStreamed, EarlyCall, EarlyKey};
use super::edges::{FromInfer, Reply};
use super::guard::{Guard, holds};
use super::judge::{Judged, Judgement};
use super::machine::Machine;
use super::outbox::Outbox;
use super::stage::{Awaited, Stage};
use super::{CallOrder, Run};
use crate::message::{AgentMessage, CallSeq, Role, ToolInvocation, exact_sum};

impl Machine {
    /// Starts a call of the arriving message, if it may start.
    pub(super) fn call_streamed(
        &mut self,
        streamed: &CallStreamed,
        outbox: &mut Outbox,
    ) -> Reply<FromInfer> {
        if !self.starts_early(streamed) {
            return Reply::Defer;
        }
        let invocation = streamed.invocation.clone();
        let seq = CallSeq(exact_sum(self.last_call().0, self.next_place()).saturating_add(1));
        outbox.execute(CallOrder {
            arguments_hash: invocation.arguments.digest(),
            asked_by: None,
            call: seq,
            input: None,
            invocation: invocation.clone(),
        });
        self.early.push(EarlyCall { invocation, seq });
        Reply::Stay("a call started before its message was complete")
    }

    /// True if the call may start now: it only reads, every call before it has started, and the message so far would
    /// start it without asking anyone.
    fn starts_early(&self, streamed: &CallStreamed) -> bool {
        let terms = &self.contract;
        let call = &streamed.invocation;
        let may_start = terms.speculative_exec
            && streamed.index == self.next_place()
            && self.closing.is_none()
            && !self.gate_closed()
            && !holds(Guard::Suspended, self.suspended)
            && !self.nothing_starts();
        may_start
            && !holds(Guard::EarlyReads, !terms.reads_only(&call.name))
            && self.runs_beside_early(&call.name)
            && self.runs_unasked(call)
    }

    /// The place in the message of the next call that may start early.
    fn next_place(&self) -> u64 {
        u64::try_from(self.early.len()).unwrap_or(u64::MAX)
    }

    /// True if the contract lets a call of that tool run while the calls before it may still run.
    fn runs_beside_early(&self, tool: &str) -> bool {
        let terms = &self.contract;
        let mut before = self.early.iter().map(|one| &one.invocation.name);
        self.early.is_empty()
            || (terms.runs_in_parallel(tool) && before.all(|name| terms.runs_in_parallel(name)))
    }

    /// True if a message of the calls before it and this one would start all of them, without asking anyone.
    fn runs_unasked(&self, call: &ToolInvocation) -> bool {
        let calls = self.early.iter().map(|one| &one.invocation).chain([call]);
        let message = AgentMessage {
            tool_calls: calls.cloned().collect(),
            ..AgentMessage::text(Role::Assistant, "", 0)
        };
        let all = message.tool_calls.len();
        matches!(
            self.judge(&message),
            Judgement::Calls(judged)
                if judged.len() == all && judged.iter().all(|one| *one == Judged::Runs)
        )
    }

    /// Takes the calls that have started, if the message begins with them unchanged and lets them run. Discards them
    /// otherwise.
    pub(super) fn take_early(
        &mut self,
        message: &AgentMessage,
        judged: &[Judged],
        outbox: &mut Outbox,
    ) -> Vec<CallSeq> {
        let stands = |(at, early): (usize, &EarlyCall)| {
            let call = message.tool_calls.get(at);
            judged.get(at) == Some(&Judged::Runs) && call.is_some_and(|call| early.is(call))
        };
        let changed = !self.early.iter().enumerate().all(stands);
        if holds(Guard::EarlyUnchanged, changed) {
            self.discard_early(outbox);
        }
        let taken = std::mem::take(&mut self.early);
        taken.into_iter().map(|early| early.seq).collect()
    }

    /// Gives up the calls that have started: no message asks for them.
    pub(super) fn discard_early(&mut self, outbox: &mut Outbox) {
        if !self.early.is_empty() {
            self.forget_early(outbox);
            outbox.cancel();
        }
    }

    /// Records that the results of the calls that have started are discarded. They keep their numbers.
    pub(super) fn forget_early(&mut self, outbox: &mut Outbox) {
        self.discarded = exact_sum(self.discarded, self.next_place());
        let early = std::mem::take(&mut self.early);
        outbox
            .discarded
            .extend(early.into_iter().map(|one| one.seq));
    }

    /// The number of the last call that a message asked for, or that was discarded.
    pub(super) fn last_call(&self) -> CallSeq {
        CallSeq(exact_sum(self.counters.calls, self.discarded))
    }

    /// Returns the key of the early calls; `None` if there never was one that a later decision depends on.
    pub(super) fn early_key(&self) -> Option<EarlyKey> {
        let early = self.early.iter().map(|one| {
            let call = &one.invocation;
            let which = format!("{} {}", call.id, call.name);
            (one.seq, which, call.arguments.digest())
        });
        let key = (self.discarded, early.collect::<Vec<_>>());
        (key.0 > 0 || !key.1.is_empty()).then_some(key)
    }
}

impl Run {
    /// The number of the last call that a message asked for, or that was discarded.
    pub fn last_call(&self) -> CallSeq {
        self.storage().last_call()
    }

    /// Returns the calls that have started and whose message is not complete, in its order.
    pub(crate) fn early_calls(&self) -> impl ExactSizeIterator<Item = CallSeq> {
        self.storage().early.iter().map(|one| one.seq)
    }

    /// True if the machine starts that call now.
    pub(crate) fn starts_early(&self, streamed: &CallStreamed) -> bool {
        let awaited = matches!(
            self.stage(),
            Stage::Infer(Awaited::Inference(awaited)) if *awaited == streamed.inference
        );
        awaited && self.storage().starts_early(streamed)
    }
}
