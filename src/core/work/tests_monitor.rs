//! The rules of 004 for one item, judged from events and entries. Knows nothing of the machine.

use std::collections::BTreeSet;

use super::*;

/// The part of an event that the rules speak about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    /// The dependency of that name has succeeded, or has ended for an item that reconciles.
    Needed(&'static str),
    /// A snapshot was taken.
    Snapshot,
    /// The run ended in a way that allows publishing, or not.
    Run { is_sound: bool },
    /// The run ended at its deadline.
    RunLate,
    /// The effect of a call is not known: the attempt is over, and another one may begin.
    RunInterrupted,
    /// The changes are within every limit, and every output is there, or not.
    Changes { are_sound: bool },
    /// The tests ended with exit code 0, or not.
    Tests { are_green: bool },
    /// The work tree has changed meanwhile.
    Moved,
    /// The work tree has the changes.
    Published,
    /// Publishing failed part of the way.
    PublishFailed,
    /// The work tree was brought back, or could not be.
    RolledBack,
    /// An equal item has succeeded.
    AlreadyDone,
    /// The attempt is over: another one may begin.
    Conflict,
    /// A person wants it to end.
    Stop,
    /// Another process continues.
    Resumed,
    /// Something else.
    Other,
}

/// Something that holds from an event on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    /// The deadline passed while agent or tests worked.
    Late,
    /// The run of this attempt ended at its deadline.
    LateRun,
    /// The changes of this attempt are admitted.
    SoundChanges,
    /// The run of this attempt allows publishing.
    SoundRun,
    /// A person stopped the item.
    Stopped,
    /// The tests passed on the tree that would be published.
    Green,
}

/// The state of the rules.
#[derive(Clone, Debug)]
pub(super) struct Monitor {
    /// The deadline of agent and tests.
    due_ms: Option<u64>,
    entries: u64,
    is_ended: bool,
    marks: BTreeSet<Mark>,
    /// Dependencies that keep it from beginning.
    needs: BTreeSet<String>,
    /// The effect that was begun and not answered.
    open: Option<WorkEffect>,
    state: WorkState,
    /// Time for agent and tests.
    timeout_ms: u64,
    wants_tests: bool,
}

fn rule(holds: bool, text: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(text.to_owned()) }
}

impl Monitor {
    pub(super) fn start(started: &WorkStarted, first: &WorkDraft) -> Result<Self, String> {
        let needs: BTreeSet<_> = started.dependencies.iter().cloned().collect();
        let monitor = Self {
            due_ms: None,
            entries: 1,
            is_ended: false,
            marks: BTreeSet::new(),
            needs,
            open: first.action.effect.clone(),
            state: first.action.to,
            timeout_ms: started.item.constraints.timeout_ms,
            wants_tests: started.item.test_command.is_some(),
        };
        let is_blocked = !monitor.needs.is_empty();
        rule(
            is_blocked == (monitor.state == WorkState::Blocked),
            "blocked while it has dependencies",
        )?;
        rule(
            first.action.seq == 0 && first.action.kind == WorkEntryKind::Start,
            "entry 0 is the start",
        )?;
        rule(
            is_blocked == monitor.open.is_none(),
            "a blocked item does nothing",
        )?;
        Ok(monitor)
    }

    /// Judges one step.
    pub(super) fn take(
        &mut self,
        fact: Fact,
        at_ms: u64,
        draft: Option<&WorkDraft>,
    ) -> Result<(), String> {
        let Some(draft) = draft else {
            return rule(self.is_ended, "every event before the end has an entry");
        };
        rule(!self.is_ended, "nothing follows the end")?;
        let action = &draft.action;
        rule(
            action.seq == self.entries,
            "entries are numbered without a gap",
        )?;
        rule(
            action.from == self.state,
            "a state begins where the last one ended",
        )?;
        self.entries += 1;
        let before = self.open.clone();
        self.note(fact, at_ms);
        self.state = action.to;
        if let Some(effect) = &action.effect {
            self.begins(fact, before.as_ref(), effect)?;
        }
        let Some(end) = &action.end else {
            rule(!action.to.is_end(), "an ended state has an end")?;
            let is_idle = self.open.is_none();
            return rule(
                is_idle != self.needs.is_empty(),
                "something is under way unless it is blocked",
            );
        };
        self.is_ended = true;
        rule(
            action.length == Some(self.entries),
            "the seal has the length",
        )?;
        self.ends(fact, before.as_ref(), end)
    }

    fn has(&self, mark: Mark) -> bool {
        self.marks.contains(&mark)
    }

    fn set(&mut self, mark: Mark, holds: bool) {
        if holds {
            self.marks.insert(mark);
        } else {
            self.marks.remove(&mark);
        }
    }

    /// Takes the event into account. An answer to no open effect means nothing.
    fn note(&mut self, fact: Fact, at_ms: u64) {
        let open = self.open.clone();
        let is_judged = match open {
            Some(WorkEffect::Run { .. } | WorkEffect::Compare | WorkEffect::Test { .. }) => true,
            // Tests would run again.
            Some(WorkEffect::Publish) => fact == Fact::Moved,
            _ => false,
        };
        if is_judged && self.due_ms.is_some_and(|due| at_ms >= due) {
            self.set(Mark::Late, true);
        }
        match (fact, &open) {
            (Fact::Needed(id), _) => {
                self.needs.remove(id);
            }
            (Fact::Snapshot, Some(WorkEffect::Prepare { .. })) => {
                self.due_ms = Some(at_ms.saturating_add(self.timeout_ms));
            }
            (Fact::Run { is_sound }, Some(WorkEffect::Run { .. })) => {
                self.set(Mark::SoundRun, is_sound);
            }
            (Fact::RunLate, Some(WorkEffect::Run { .. })) => self.set(Mark::LateRun, true),
            (Fact::Changes { are_sound }, Some(WorkEffect::Compare)) => {
                self.set(Mark::SoundChanges, are_sound);
            }
            (Fact::Tests { are_green }, Some(WorkEffect::Test { .. })) => {
                self.set(Mark::Green, are_green);
            }
            (Fact::Moved, Some(WorkEffect::Publish)) => self.set(Mark::Green, false),
            (Fact::Stop, Some(effect)) if *effect != WorkEffect::RollBack => {
                self.set(Mark::Stopped, true);
            }
            (Fact::Conflict, Some(WorkEffect::Publish | WorkEffect::Test { .. }))
            | (Fact::RunInterrupted, Some(WorkEffect::Run { .. })) => {
                let of_attempt = [Mark::SoundRun, Mark::SoundChanges, Mark::Green];
                self.marks.retain(|mark| !of_attempt.contains(mark));
                self.due_ms = None;
            }
            _ => {}
        }
    }

    fn begins(
        &mut self,
        fact: Fact,
        before: Option<&WorkEffect>,
        effect: &WorkEffect,
    ) -> Result<(), String> {
        if *effect == WorkEffect::Stop {
            let is_working = matches!(self.state, WorkState::Running | WorkState::Testing);
            rule(is_working, "only a run and tests are stopped")?;
            return rule(
                self.has(Mark::Late) || self.has(Mark::Stopped),
                "a stop has a reason",
            );
        }
        rule(
            self.needs.is_empty(),
            "nothing begins before the dependencies allow it",
        )?;
        let is_again = fact == Fact::Resumed;
        let finishes = match effect {
            WorkEffect::RollBack => true,
            WorkEffect::Publish => is_again,
            _ => false,
        };
        let is_over = self.has(Mark::Stopped) || self.has(Mark::Late);
        rule(
            finishes || !is_over,
            "nothing begins after a stop or the deadline",
        )?;
        match effect {
            WorkEffect::Prepare { .. } => {
                let is_first = matches!(fact, Fact::Needed(_));
                rule(
                    is_first || is_again || matches!(fact, Fact::Conflict | Fact::RunInterrupted),
                    "an attempt begins once",
                )?;
            }
            WorkEffect::Run { .. } => {
                rule(
                    fact == Fact::Snapshot || is_again,
                    "a run begins after a snapshot",
                )?;
            }
            WorkEffect::Compare => {
                let is_run = matches!(fact, Fact::Run { .. } | Fact::RunLate);
                rule(is_run || is_again, "changes are those of a run")?;
            }
            WorkEffect::Test { .. } => {
                rule(self.wants_tests, "tests run if there are any")?;
                rule(
                    self.has(Mark::SoundChanges) && self.has(Mark::SoundRun),
                    "only admitted changes are tested",
                )?;
            }
            WorkEffect::Publish => {
                rule(
                    self.has(Mark::SoundRun),
                    "only the changes of a sound run are published",
                )?;
                rule(
                    self.has(Mark::SoundChanges),
                    "only admitted changes are published",
                )?;
                rule(
                    self.has(Mark::Green) || !self.wants_tests,
                    "only changes with green tests are published",
                )?;
            }
            WorkEffect::RollBack => {
                let failed = fact == Fact::PublishFailed && before == Some(&WorkEffect::Publish);
                rule(failed || is_again, "a rollback follows a failed publishing")?;
            }
            WorkEffect::Stop => {}
        }
        self.open = Some(effect.clone());
        Ok(())
    }

    fn ends(&self, fact: Fact, before: Option<&WorkEffect>, end: &WorkEnd) -> Result<(), String> {
        rule(end.status.state() == self.state, "the state is the status")?;
        let texts = (end.error.is_some(), end.denial.is_some());
        match end.status {
            WorkStatus::Success => {
                rule(texts == (false, false), "a success has no error")?;
                let is_published = fact == Fact::Published && before == Some(&WorkEffect::Publish);
                let is_done = fact == Fact::AlreadyDone && end.receipt_id.is_some();
                rule(is_published || is_done, "a success is published")?;
            }
            WorkStatus::Failure => rule(texts == (true, false), "a failure has an error")?,
            WorkStatus::Timeout => {
                rule(texts == (true, false), "a timeout has an error")?;
                let is_late = self.has(Mark::Late) || self.has(Mark::LateRun);
                rule(is_late, "a timeout is after the deadline")?;
            }
            WorkStatus::Denied => {
                rule(texts == (false, true), "a denial has a reason")?;
                let is_before = !matches!(before, Some(WorkEffect::Publish | WorkEffect::RollBack));
                rule(is_before, "changes are judged before they are published")?;
            }
        }
        // The work tree is never left half changed.
        let is_half = before == Some(&WorkEffect::RollBack);
        rule(
            !is_half || fact == Fact::RolledBack,
            "a rollback ends with its answer",
        )?;
        let was_failing = fact == Fact::PublishFailed && before == Some(&WorkEffect::Publish);
        rule(!was_failing, "a failed publishing is rolled back")
    }
}
