//! The decision about one event in every state. Writes no entry.

use super::{Decision, MAX_ATTEMPTS, MAX_MOVES, Stop, Work};
use crate::message::{Digest, char_prefix};
use crate::work::{
    AgentEnd, Capsule, Denial, MAX_WORK_REASON_BYTES, OnConflict, RunLimit, TestEnd, ToolErrors,
    WorkEffect, WorkEnd, WorkEventKind, WorkPath, WorkState, WorkStatus, admit,
};

impl Work {
    pub(super) fn decide(&mut self, event: &WorkEventKind) -> Decision {
        let is_due = self.next_deadline().is_some_and(|due| self.at_ms >= due);
        if is_due {
            self.stop = Some(Stop::Deadline);
        }
        match self.answer(event) {
            // The event did not end the effect under way.
            Decision::Noted | Decision::Ignored if is_due => Decision::Stop,
            decision => decision,
        }
    }

    fn answer(&mut self, event: &WorkEventKind) -> Decision {
        match (event, self.under_way.clone()) {
            (
                WorkEventKind::DependencyEnded {
                    id,
                    receipt_id,
                    status,
                },
                _,
            ) => self.unblock(id, receipt_id.as_ref(), *status),
            (WorkEventKind::StopRequested, _) => self.request_stop(),
            (WorkEventKind::Resumed, Some(effect)) => self.resume(effect),
            (WorkEventKind::Resumed, None) => Decision::Noted,
            (
                WorkEventKind::Prepared {
                    before,
                    missing_inputs,
                },
                Some(WorkEffect::Prepare { attempt }),
            ) => self.prepared(*before, missing_inputs, attempt),
            (WorkEventKind::Refused(denial), Some(WorkEffect::Prepare { .. })) => {
                denied(denial.clone())
            }
            (WorkEventKind::AlreadyDone { receipt_id }, Some(WorkEffect::Prepare { .. })) => {
                Decision::End(WorkEnd {
                    receipt_id: Some(receipt_id.clone()),
                    ..ended(WorkStatus::Success, None)
                })
            }
            (WorkEventKind::RunSuspended, Some(WorkEffect::Run { .. })) => {
                self.stopped().unwrap_or(Decision::Noted)
            }
            (WorkEventKind::RunEnded(end), Some(WorkEffect::Run { .. })) => self.run_ended(end),
            (WorkEventKind::Compared(capsule), Some(WorkEffect::Compare)) => self.compared(capsule),
            (WorkEventKind::Tested(tests), Some(WorkEffect::Test { .. })) => self.tested(tests),
            (WorkEventKind::Moved, Some(WorkEffect::Publish)) => self.moved(),
            (
                WorkEventKind::Conflict { paths },
                Some(WorkEffect::Publish | WorkEffect::Test { .. }),
            ) => self.conflict(paths),
            (WorkEventKind::Published { after }, Some(WorkEffect::Publish)) => {
                self.published = Some(*after);
                Decision::End(ended(WorkStatus::Success, None))
            }
            (WorkEventKind::PublishFailed { reason }, Some(WorkEffect::Publish)) => {
                self.publish_error = Some(cut(reason));
                Decision::Next(WorkState::RolledBack, WorkEffect::RollBack)
            }
            (WorkEventKind::RolledBack, Some(WorkEffect::RollBack)) => {
                Decision::End(ended(WorkStatus::Failure, self.publish_error.clone()))
            }
            (WorkEventKind::RollBackFailed { reason }, Some(WorkEffect::RollBack)) => {
                Decision::End(WorkEnd {
                    rollback_failed: true,
                    ..failure(format!("rollback_failed: {}", cut(reason)))
                })
            }
            // A change that is partly published has its own events.
            (WorkEventKind::HostFailed { reason }, Some(effect))
                if effect != WorkEffect::RollBack =>
            {
                self.stopped()
                    .unwrap_or_else(|| Decision::End(failure(cut(reason))))
            }
            // There is one start, and everything else answers no effect under way.
            _ => Decision::Ignored,
        }
    }

    fn unblock(&mut self, id: &str, receipt: Option<&String>, status: WorkStatus) -> Decision {
        if self.state != WorkState::Blocked || !self.blocked_by.contains(id) {
            return Decision::Ignored;
        }
        if status != WorkStatus::Success {
            if !self.started.item.reconciles {
                return Decision::End(failure(format!("dependency_failed: {id}")));
            }
            self.reconciled.extend(receipt.cloned());
        }
        self.blocked_by.remove(id);
        if self.blocked_by.is_empty() {
            return Decision::Next(WorkState::Queued, WorkEffect::Prepare { attempt: 1 });
        }
        Decision::Noted
    }

    /// Publishing is not interrupted, but nothing else begins after it.
    fn request_stop(&mut self) -> Decision {
        if self.stop.is_some() {
            return Decision::Ignored;
        }
        let decision = match self.state {
            WorkState::Blocked | WorkState::Queued => Decision::End(failure(STOPPED.to_owned())),
            WorkState::Running | WorkState::Testing => Decision::Stop,
            WorkState::Publishing => Decision::Noted,
            _ => return Decision::Ignored,
        };
        self.stop = Some(Stop::Requested);
        decision
    }

    fn prepared(&mut self, before: Digest, missing: &[WorkPath], attempt: u32) -> Decision {
        self.before = Some(before);
        if let Some(path) = missing.first() {
            return Decision::End(failure(format!("input file missing: {path}")));
        }
        let timeout_ms = self.started.item.constraints.timeout_ms;
        self.deadline_ms = Some(self.at_ms.saturating_add(timeout_ms));
        Decision::Next(WorkState::Running, self.run_effect(attempt))
    }

    /// Begins the effect under way again. A run or a test that was to be stopped has ended with its process.
    fn resume(&self, effect: WorkEffect) -> Decision {
        let is_stopped = matches!(self.state, WorkState::Running | WorkState::Testing);
        if let (true, Some(stopped)) = (is_stopped, self.stopped()) {
            return stopped;
        }
        match effect {
            WorkEffect::Run { attempt, .. } => Decision::Next(self.state, self.run_effect(attempt)),
            WorkEffect::Test { is_merged, .. } => self.test(is_merged),
            effect => Decision::Next(self.state, effect),
        }
    }

    const fn run_effect(&self, attempt: u32) -> WorkEffect {
        let timeout_ms = self.left_ms();
        WorkEffect::Run {
            attempt,
            timeout_ms,
        }
    }

    /// Milliseconds until the deadline.
    const fn left_ms(&self) -> u64 {
        match self.deadline_ms {
            Some(due) => due.saturating_sub(self.at_ms),
            None => 0,
        }
    }

    fn run_ended(&mut self, ended: &AgentEnd) -> Decision {
        self.run = Some(ended.clone());
        if let Some(stopped) = self.stopped() {
            return stopped;
        }
        if let Some(tool) = &ended.calls.interrupted {
            // Nobody knows what is in the scratch tree: the next attempt begins on a fresh one.
            let reason = format!("interrupted: {tool}");
            return self
                .next_attempt()
                .unwrap_or_else(|| Decision::End(failure(cut(&reason))));
        }
        if ended.head.is_none() {
            let reason = ended
                .failure
                .as_deref()
                .unwrap_or("the run could not begin");
            return Decision::End(failure(cut(reason)));
        }
        Decision::Next(WorkState::Running, WorkEffect::Compare)
    }

    /// Judges the attempt: its run, the rules of admission, its calls, and its output files.
    fn compared(&mut self, capsule: &Capsule) -> Decision {
        self.capsule = Some(capsule.clone());
        if let Some(stopped) = self.stopped() {
            return stopped;
        }
        let Some(run) = &self.run else {
            return Decision::Ignored;
        };
        let item = &self.started.item;
        match (run.calls.limit, &run.failure) {
            (Some(RunLimit::Time), _) => return timed_out(),
            (None, Some(outcome)) => return Decision::End(failure(cut(outcome))),
            (Some(RunLimit::Calls), _) | (None, None) => {}
        }
        if let Err(denial) = admit(&item.constraints, capsule, &run.calls) {
            return denied(denial);
        }
        if let (ToolErrors::Fail, Some(tool)) = (item.tool_errors, &run.calls.failed) {
            return Decision::End(failure(format!("tool failed: {tool}")));
        }
        if let Some(missing) = capsule.missing_outputs.first() {
            return Decision::End(failure(format!("output file missing: {missing}")));
        }
        if item.test_command.is_some() {
            return self.test(false);
        }
        Decision::Next(WorkState::Publishing, WorkEffect::Publish)
    }

    fn test(&self, is_merged: bool) -> Decision {
        let timeout_ms = self.left_ms();
        let effect = WorkEffect::Test {
            is_merged,
            timeout_ms,
        };
        Decision::Next(WorkState::Testing, effect)
    }

    fn tested(&mut self, tests: &TestEnd) -> Decision {
        self.tests = Some(tests.clone());
        if let Some(stopped) = self.stopped() {
            return stopped;
        }
        if !tests.is_pass() {
            return Decision::End(failure("Tests failed".to_owned()));
        }
        Decision::Next(WorkState::Publishing, WorkEffect::Publish)
    }

    fn moved(&mut self) -> Decision {
        if let Some(stopped) = self.stopped() {
            return stopped;
        }
        self.moves = self.moves.saturating_add(1);
        if self.moves > MAX_MOVES {
            let reason =
                format!("the work tree changed more than {MAX_MOVES} times while the item ran");
            return Decision::End(failure(reason));
        }
        if self.left_ms() == 0 {
            return timed_out();
        }
        if self.started.item.test_command.is_some() {
            return self.test(true);
        }
        Decision::Next(WorkState::Publishing, WorkEffect::Publish)
    }

    fn conflict(&mut self, paths: &[WorkPath]) -> Decision {
        if let Some(stopped) = self.stopped() {
            return stopped;
        }
        let serializes = self.started.item.on_conflict == OnConflict::Serialize;
        let next = serializes.then(|| self.next_attempt()).flatten();
        next.unwrap_or_else(|| {
            Decision::End(WorkEnd {
                conflicts: paths.to_vec(),
                ..failure("conflict".to_owned())
            })
        })
    }

    /// Begins the next attempt, which knows nothing of this one; `None` if it was the last one.
    fn next_attempt(&mut self) -> Option<Decision> {
        if self.attempt >= MAX_ATTEMPTS {
            return None;
        }
        self.attempt = self.attempt.saturating_add(1);
        self.moves = 0;
        (self.before, self.run, self.capsule, self.tests) = (None, None, None, None);
        let attempt = self.attempt;
        Some(Decision::Next(
            WorkState::Queued,
            WorkEffect::Prepare { attempt },
        ))
    }

    /// The end of an item whose run or tests were stopped.
    fn stopped(&self) -> Option<Decision> {
        match self.stop? {
            Stop::Deadline => Some(timed_out()),
            Stop::Requested => Some(Decision::End(failure(STOPPED.to_owned()))),
        }
    }
}

const STOPPED: &str = "stopped by a person";

const fn ended(status: WorkStatus, error: Option<String>) -> WorkEnd {
    WorkEnd {
        conflicts: Vec::new(),
        denial: None,
        error,
        receipt_id: None,
        rollback_failed: false,
        status,
    }
}

const fn failure(error: String) -> WorkEnd {
    ended(WorkStatus::Failure, Some(error))
}

fn timed_out() -> Decision {
    let error = Some("the deadline passed".to_owned());
    Decision::End(ended(WorkStatus::Timeout, error))
}

fn denied(denial: Denial) -> Decision {
    Decision::End(WorkEnd {
        denial: Some(denial),
        ..ended(WorkStatus::Denied, None)
    })
}

/// A reason cut to its limit at a character.
fn cut(reason: &str) -> String {
    char_prefix(reason, MAX_WORK_REASON_BYTES).to_owned()
}
