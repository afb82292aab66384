//! The machine of one item: one event in, one entry and at most one effect out. It has no clock and no I/O; the host owns those.

mod decide;

use std::collections::BTreeSet;

use super::{
    AgentEnd, Capsule, TestEnd, WorkAction, WorkEffect, WorkEnd, WorkEntryKind, WorkEvent,
    WorkEventKind, WorkStarted, WorkState,
};
use crate::message::Digest;
use crate::transcript::{Chain, SealedMachineEntry};

/// An entry as the machine decided it. Every event has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkDraft {
    /// The machine's action.
    pub action: WorkAction,
    /// The event.
    pub event: WorkEvent,
}

impl WorkDraft {
    /// Chains the entry, and advances the head to it.
    pub fn seal(&self, chain: &mut Chain) -> SealedMachineEntry {
        let action = &self.action;
        chain.seal_machine(action.seq, action.to.as_str(), action, Some(&self.event))
    }
}

/// The most attempts at an item that runs again after a conflict or an interrupted call.
pub const MAX_ATTEMPTS: u32 = 3;
/// The most times that an attempt is tested and published again because the work tree changed.
pub const MAX_MOVES: u32 = 8;

/// A work item, from its start to its end.
///
/// `step` never fails: an event that answers no effect under way is written down as ignored. After the end nothing is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    at_ms: u64,
    attempt: u32,
    /// The tree hash of the snapshot.
    before: Option<Digest>,
    /// Dependencies that have not succeeded yet; for an item that reconciles, that have not ended.
    blocked_by: BTreeSet<String>,
    capsule: Option<Capsule>,
    /// The deadline of agent and tests.
    deadline_ms: Option<u64>,
    end: Option<WorkEnd>,
    entries: u64,
    moves: u32,
    /// The error that made a partly published change go back.
    publish_error: Option<String>,
    published: Option<Digest>,
    /// The receipts of the dependencies whose ends it reconciles.
    reconciled: Vec<String>,
    run: Option<AgentEnd>,
    started: WorkStarted,
    state: WorkState,
    stop: Option<Stop>,
    tests: Option<TestEnd>,
    /// The effect that is under way.
    under_way: Option<WorkEffect>,
}

/// The reason that an item ends early. The greater one decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stop {
    Requested,
    Deadline,
}

/// The decision about one event.
enum Decision {
    /// The state, with the effect that begins.
    Next(WorkState, WorkEffect),
    /// The effect under way is ended.
    Stop,
    Noted,
    Ignored,
    End(WorkEnd),
}

impl Work {
    /// Begins an item.
    #[must_use]
    pub fn start(started: WorkStarted) -> (Self, WorkDraft) {
        let blocked_by: BTreeSet<_> = started.dependencies.iter().cloned().collect();
        let is_blocked = !blocked_by.is_empty();
        let state = if is_blocked {
            WorkState::Blocked
        } else {
            WorkState::Queued
        };
        let effect = (!is_blocked).then_some(WorkEffect::Prepare { attempt: 1 });
        let mut work = Self {
            at_ms: 0,
            attempt: 1,
            before: None,
            blocked_by,
            capsule: None,
            deadline_ms: None,
            end: None,
            entries: 0,
            moves: 0,
            publish_error: None,
            published: None,
            reconciled: Vec::new(),
            run: None,
            started: started.clone(),
            state,
            stop: None,
            tests: None,
            under_way: effect.clone(),
        };
        let event = WorkEvent {
            at_ms: 0,
            event: WorkEventKind::Started(Box::new(started)),
        };
        let draft = work.draft(event, state, WorkEntryKind::Start, effect);
        (work, draft)
    }

    /// Takes an event. None once the item has ended.
    pub fn step(&mut self, event: WorkEvent) -> Option<WorkDraft> {
        if self.end.is_some() {
            return None;
        }
        let from = self.state;
        self.at_ms = self.at_ms.max(event.at_ms);
        let decision = self.decide(&event.event);
        let (kind, effect) = match decision {
            Decision::Next(state, effect) => {
                self.state = state;
                self.under_way = Some(effect.clone());
                (WorkEntryKind::Transition, Some(effect))
            }
            Decision::Stop => (WorkEntryKind::Transition, Some(WorkEffect::Stop)),
            Decision::Noted => (WorkEntryKind::Noted, None),
            Decision::Ignored => (WorkEntryKind::Ignored, None),
            Decision::End(end) => {
                self.state = end.status.state();
                self.under_way = None;
                self.end = Some(end);
                (WorkEntryKind::Seal, None)
            }
        };
        Some(self.draft(event, from, kind, effect))
    }

    /// The state.
    #[must_use]
    pub const fn state(&self) -> WorkState {
        self.state
    }

    /// The start data.
    #[must_use]
    pub const fn started(&self) -> &WorkStarted {
        &self.started
    }

    /// The effect under way; none for a blocked or ended item.
    #[must_use]
    pub const fn under_way(&self) -> Option<&WorkEffect> {
        self.under_way.as_ref()
    }

    /// The time at which [`WorkEventKind::TimerFired`] is due, on the clock of the events; none if no deadline runs.
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        let runs = matches!(self.state, WorkState::Running | WorkState::Testing);
        self.deadline_ms
            .filter(|_| runs && self.stop < Some(Stop::Deadline))
    }

    /// The end; none before it.
    #[must_use]
    pub const fn end(&self) -> Option<&WorkEnd> {
        self.end.as_ref()
    }

    /// The tree hash of the snapshot.
    #[must_use]
    pub const fn before(&self) -> Option<Digest> {
        self.before
    }

    /// The changes of the last attempt.
    #[must_use]
    pub const fn capsule(&self) -> Option<&Capsule> {
        self.capsule.as_ref()
    }

    /// The end of the agent's run in the last attempt.
    #[must_use]
    pub const fn run(&self) -> Option<&AgentEnd> {
        self.run.as_ref()
    }

    /// The end of the last tests.
    #[must_use]
    pub const fn tests(&self) -> Option<&TestEnd> {
        self.tests.as_ref()
    }

    /// The tree hash of the work tree after publishing.
    #[must_use]
    pub const fn published(&self) -> Option<Digest> {
        self.published
    }

    /// The receipts of the dependencies that ended without success, for an item that reconciles.
    #[must_use]
    pub fn reconciled(&self) -> &[String] {
        &self.reconciled
    }

    /// Milliseconds from the start to the last event.
    #[must_use]
    pub const fn elapsed_ms(&self) -> u64 {
        self.at_ms
    }

    /// Everything that later decisions depend on, the time as the one that is left.
    #[cfg(test)]
    pub(super) fn decision_key(&self) -> String {
        let key = Self {
            at_ms: 0,
            deadline_ms: self.deadline_ms.map(|due| due.saturating_sub(self.at_ms)),
            entries: 0,
            ..self.clone()
        };
        format!("{key:?}")
    }

    fn draft(
        &mut self,
        event: WorkEvent,
        from: WorkState,
        kind: WorkEntryKind,
        effect: Option<WorkEffect>,
    ) -> WorkDraft {
        let seq = self.entries;
        self.entries = seq.saturating_add(1);
        let action = WorkAction {
            effect,
            end: self.end.clone(),
            from,
            kind,
            length: self.end.is_some().then_some(self.entries),
            seq,
            to: self.state,
        };
        WorkDraft { action, event }
    }
}
