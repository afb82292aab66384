//! Builds entries from the machine in a state and the parts that handlers put into the outbox.

use super::machine::Machine;
use super::outbox::Outbox;
use super::stage::StageView;
use super::{Action, EntryDraft, EntryKind, Outcome, State};

impl Outbox {
    /// Entry of a transition.
    pub(super) fn transition(&mut self, machine: &mut Machine, from: State, to: StageView<'_>) {
        self.write(machine, EntryKind::Transition, from, to, None);
    }

    /// Entry of an event that changed no state.
    pub(super) fn note(&mut self, machine: &mut Machine, at: StageView<'_>, note: &str) {
        self.note = Some(note.to_owned());
        self.write(machine, EntryKind::Noted, at.state(), at, None);
    }

    /// Entry of an event that changed nothing.
    pub(super) fn write_ignored(&mut self, machine: &mut Machine, at: StageView<'_>) {
        self.write(machine, EntryKind::Ignored, at.state(), at, None);
    }

    /// Entry 0.
    pub(super) fn write_start(&mut self, machine: &mut Machine) {
        let at = StageView::Precheck;
        self.write(machine, EntryKind::Start, at.state(), at, None);
    }

    /// The last entry.
    pub(super) fn write_seal(&mut self, machine: &mut Machine, outcome: Outcome) {
        let length = machine.seq + 1;
        let at = StageView::Terminate(outcome);
        self.write(machine, EntryKind::Seal, at.state(), at, Some(length));
    }

    fn write(
        &mut self,
        machine: &mut Machine,
        kind: EntryKind,
        from: State,
        to: StageView<'_>,
        length: Option<u64>,
    ) {
        let target_index = machine.turn.target();
        let target = machine.contract.targets.get(target_index);
        // The call of such a run has no attempt, so no adapter and no model stand behind it.
        let target = target.filter(|_| machine.contract.asks_model());
        let action = Action {
            adapter_version: target.map_or_else(String::new, |t| t.adapter_version.clone()),
            attempt: machine.turn.attempt,
            blocked: std::mem::take(&mut self.blocked),
            checks: std::mem::take(&mut self.checks),
            closing: machine.closing,
            context: self.context.take(),
            conversation_digest: machine.conversation.digest(),
            counters: machine.counters,
            discarded: std::mem::take(&mut self.discarded),
            dropped_targets: std::mem::take(&mut self.dropped),
            effects: std::mem::take(&mut self.records),
            flow: std::mem::take(&mut self.flow),
            from,
            kind,
            length,
            model_fingerprint: target.map_or_else(String::new, |t| t.model_fingerprint.clone()),
            model_profile_id: target.map_or_else(String::new, |t| t.model_profile_id.clone()),
            note: self.note.take(),
            outcome: to.outcome(),
            policy: self.policy.take(),
            predicate: self.predicate.take(),
            report: self.report.take(),
            seq: machine.seq,
            state_digest: machine.state_digest(to),
            step_id: machine.turn.number,
            target: u32::try_from(target_index).unwrap_or(u32::MAX),
            to: to.state(),
        };
        machine.seq += 1;
        self.entries.push(EntryDraft {
            action,
            event: None,
        });
    }
}
